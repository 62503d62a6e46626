"""A product added to a tensor: addmm, addmv, addr, addbmm, baddbmm."""

from __future__ import annotations

from typing import Any

from ..core.public import into, public
from ..core.tensor import Tensor
from .matmul import add_product, bmm, mm, mv


@public(inplace=True)
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    for name, m in (("mat1", mat1), ("mat2", mat2)):
        if m._a.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {m._a.ndim}-D tensor")
    return into(out, add_product(input, mm(mat1, mat2), beta, alpha))


@public(inplace=True)
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
    a = mat._a.shape
    if len(a) == 2 and input._a.ndim == 1 and input._a.shape[0] not in (1, a[0]):
        raise RuntimeError(
            f"size mismatch, got input ({input._a.shape[0]}), mat ({a[0]}x{a[1]}), vec "
            f"({vec._a.shape[0]})"
        )
    return into(out, add_product(input, mv(mat, vec), beta, alpha))


@public(inplace=True)
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    if vec1._a.ndim != 1 or vec2._a.ndim != 1:
        raise RuntimeError(
            f"addr: Expected 1-D argument vec{1 if vec1._a.ndim != 1 else 2}, but got "
            f"{(vec1 if vec1._a.ndim != 1 else vec2)._a.ndim}-D"
        )
    return into(out, add_product(input, vec1.unsqueeze(1) * vec2, beta, alpha))


@public(inplace=True)
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
    return into(out, add_product(input, bmm(batch1, batch2), beta, alpha))


@public(inplace=True)
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    return into(out, add_product(input, bmm(batch1, batch2).sum(0), beta, alpha))
