"""A product added to a tensor: addmm, addmv, addr, addbmm, baddbmm."""

from __future__ import annotations

from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import BOOL, promote_types
from ...base.fits import computable
from ...core.op import Op
from ...core.public import into, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.precision import in_float32, is_half
from ..pointwise.arithmetic import conj
from ..pointwise.number_first import also_number_first, number_first
from .matmul import add_product, bmm, mm, mm_nt, mm_tn, mv, product


@in_float32
def _addmm(xp: ArrayModule, b: Array, x: Array, y: Array, *, beta: Any, alpha: Any) -> Any:
    """`beta * b + alpha * (x @ y)`."""
    out = product(xp, x, y)
    if alpha != 1:
        out = out * alpha
    out += b if beta == 1 else b * beta
    return out


addmm_op = Op(
    _addmm,
    "addmm",
    meta=lambda b, x, y, *, beta, alpha: (b.shape, b.dtype),
    facts=Facts(vmap="add_product", autocast="low", onnx="addmm", one_kernel={"cpu": True}),
)
addmm_op.derivative(
    b=lambda g, beta: _times(g, beta),
    x=lambda g, y, alpha: _times(mm_nt(g, y), alpha),
    y=lambda g, x, alpha: _times(mm_tn(x, g), alpha),
)


_baddbmm_op = Op(
    _addmm, "baddbmm", meta=lambda b, x, y, *, beta, alpha: (b.shape, b.dtype), facts=Facts(vmap="add_product", one_kernel={"cpu": True})
)  # fmt: skip
_baddbmm_op.derivative(
    b=lambda g, beta: _times(g, beta),
    x=lambda g, y, alpha: _times(bmm(g, y.mT), alpha),
    y=lambda g, x, alpha: _times(bmm(x.mT, g), alpha),
)


def _times(g: Tensor, factor: Any) -> Tensor:
    return g if factor == 1 else g * conj(factor)


@public(inplace=True)
@also_number_first
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *old: Any, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`.

    Args:
        mat1: a matrix.
        mat2: a matrix.
        beta: a number; with 0 nothing of `input` counts, not even nan.
        alpha: a number.

    Example:
        >>> torch.addmm(torch.ones(2), torch.eye(2), torch.eye(2))
        tensor([[2., 1.],
                [1., 2.]])
    """
    if old:
        return number_first(addmm, ("beta", "alpha"), 2, (input, mat1, mat2, *old), out)
    x, y = mat1._a, mat2._a
    for name, m in (("mat1", x), ("mat2", y)):
        if m.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {m.ndim}-D tensor")
    same = input._a.dtype == x.dtype == y.dtype
    scaled = alpha != 1 or beta != 1
    if scaled and not addmm_op.joins(mat1):
        same = False
    if same and x.shape[1] == y.shape[0] and x.dtype.kind in "fcV" and beta != 0:
        shape = (x.shape[0], y.shape[1])
        if input._a.shape != shape:
            input = input.expand(shape)
        for factor in (beta, alpha):
            computable(factor, x.dtype)
        return into_same(out, addmm_op(input, mat1, mat2, beta=beta, alpha=alpha))
    return into_same(out, add_product(input, mm(mat1, mat2), beta, alpha))


@public(inplace=True)
@also_number_first
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *old: Any, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`.

    Args:
        mat: a matrix.
        vec: a vector.
        beta: a number; with 0 nothing of `input` counts, not even nan.
        alpha: a number.

    Example:
        >>> torch.addmv(torch.ones(2), torch.eye(2), torch.tensor([3.0, 4.0]))
        tensor([4., 5.])
    """
    if old:
        return number_first(addmv, ("beta", "alpha"), 2, (input, mat, vec, *old), out)
    a = mat._a.shape
    if len(a) == 2 and input._a.ndim == 1 and input._a.shape[0] not in (1, a[0]):
        raise RuntimeError(
            f"size mismatch, got input ({input._a.shape[0]}), mat ({a[0]}x{a[1]}), vec ({vec._a.shape[0]})"
        )
    return into_same(out, add_product(input, mv(mat, vec), beta, alpha))


@public(inplace=True)
@also_number_first
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *old: Any, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`.

    Args:
        vec1: a vector.
        vec2: a vector.
        beta: a number; with 0 nothing of `input` counts, not even nan.
        alpha: a number.

    Example:
        >>> torch.addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    if old:
        return number_first(addr, ("beta", "alpha"), 2, (input, vec1, vec2, *old), out)
    if vec1._a.ndim != 1 or vec2._a.ndim != 1:
        raise RuntimeError(
            f"addr: Expected 1-D argument vec{1 if vec1._a.ndim != 1 else 2}, but got "
            f"{(vec1 if vec1._a.ndim != 1 else vec2)._a.ndim}-D"
        )
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, float) and input._a.dtype.kind in "biu" and vec1._a.dtype.kind in "biu":
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    product = vec1.unsqueeze(1) * vec2
    wide = promote_types(input.dtype, product.dtype)
    if wide.category == BOOL:  # the factors, too, are only true or false
        beta, alpha = int(bool(beta)), int(bool(alpha))
        product = product if alpha else product.new_zeros(product._a.shape)
        return into(out, add_product(input, product, beta, 1))
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if factor.__class__ is bool:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    return into(out, add_product(input.to(wide), product.to(wide), beta, alpha))


@public(inplace=True)
@also_number_first
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *old: Any, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """As `addbmm`, but the products of a batch are not added up: beta * input + alpha * (batch1 @ batch2)."""
    if old:
        return number_first(baddbmm, ("beta", "alpha"), 2, (input, batch1, batch2, *old), out)
    x, y = batch1._a, batch2._a
    same = is_half(x) and input._a.dtype == x.dtype == y.dtype
    if same and beta != 0 and x.ndim == y.ndim == 3 and (
        x.shape[0] == y.shape[0] and x.shape[2] == y.shape[1]
    ) and _baddbmm_op.is_whole(batch1):  # fmt: skip
        # Half precision is rounded once, as PyTorch has it.
        input = input.expand(x.shape[0], x.shape[1], y.shape[2])
        for factor in (beta, alpha):
            computable(factor, x.dtype)
        return into_same(out, _baddbmm_op(input, batch1, batch2, beta=beta, alpha=alpha))
    return into_same(out, add_product(input, bmm(batch1, batch2), beta, alpha))


@public(inplace=True)
@also_number_first
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *old: Any, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`.

    Args:
        batch1: a batch of matrices.
        batch2: another.
        beta: a number; with 0 nothing of `input` counts, not even nan.
        alpha: a number.

    Example:
        >>> torch.addbmm(torch.zeros(2, 2), torch.ones(5, 2, 3), torch.ones(5, 3, 2))
        tensor([[15., 15.],
                [15., 15.]])
    """
    if old:
        return number_first(addbmm, ("beta", "alpha"), 2, (input, batch1, batch2, *old), out)
    return into_same(out, add_product(input, bmm(batch1, batch2).sum(0), beta, alpha))


for _fn in (addmm, addmv, baddbmm, addbmm):
    _fn.may_overlap = True  # type: ignore[attr-defined]
