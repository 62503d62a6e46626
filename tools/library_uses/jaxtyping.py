"""Uses of jaxtyping: shapes and dtypes of tensors checked when functions are called."""
# ruff: noqa: F722 - names of dims, not of types

import torch
from jaxtyping import Float, Int, TypeCheckError, jaxtyped

try:
    from beartype import beartype as checked
except ImportError:  # typeguard from 3 on does not understand dims by name
    from typeguard import typechecked as checked

LIBRARY = "jaxtyping"
REQUIRES = ["beartype"]


@jaxtyped(typechecker=checked)
def _product(a: Float[torch.Tensor, "n k"], b: Float[torch.Tensor, "k m"]) -> Float[torch.Tensor, "n m"]:
    return a @ b


def checked_calls() -> object:
    refused = 0
    for a, b in [(torch.ones(2, 3), torch.ones(2, 3)), (torch.ones(2, 3).long(), torch.ones(3, 2))]:
        try:
            _product(a, b)
        except TypeCheckError:
            refused += 1
    return _product(torch.rand(2, 3), torch.rand(3, 4)), refused


def instances() -> object:
    kinds = (Float[torch.Tensor, "2 3"], Int[torch.Tensor, "..."], Float[torch.Tensor, "n n"])
    return [isinstance(x, k) for x in (torch.ones(2, 3), torch.ones(2).int(), torch.ones(2, 2)) for k in kinds]
