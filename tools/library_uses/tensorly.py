"""Uses of tensorly: tensors as sums and products of smaller ones."""

import tensorly
import torch
from tensorly.decomposition import parafac, tensor_train, tucker

LIBRARY = "tensorly"
tensorly.set_backend("pytorch")


def factors() -> object:
    x = torch.randn(4, 5, 6)
    weights, found = parafac(x, rank=3, n_iter_max=20, init="svd", random_state=0)
    return tensorly.cp_to_tensor((weights, found)), tensorly.tucker_to_tensor(tucker(x, rank=[2, 3, 3], random_state=0))


def a_train_and_its_gradient() -> object:
    x = torch.randn(3, 4, 5, requires_grad=True)
    whole = tensorly.tt_to_tensor(tensor_train(x, rank=[1, 2, 2, 1]))
    unfolded = tensorly.unfold(x, 1)
    (unfolded @ unfolded.T).sum().backward()
    return whole, x.grad
