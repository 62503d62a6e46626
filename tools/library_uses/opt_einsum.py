"""Uses of opt_einsum on tensors."""

import opt_einsum
import torch

LIBRARY = "opt-einsum"


def a_chain_of_products() -> object:
    a, b, c = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5), torch.randn(5, 2)
    y = opt_einsum.contract("ij,jk,kl->il", a, b, c)
    y.sum().backward()
    return y, a.grad


def a_prepared_expression() -> object:
    planned = opt_einsum.contract_expression("bij,bjk->bik", (2, 3, 4), (2, 4, 5))
    return planned(torch.randn(2, 3, 4), torch.randn(2, 4, 5), backend="torch")
