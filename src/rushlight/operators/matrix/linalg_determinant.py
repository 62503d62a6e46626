"""Determinants of square matrices, and their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...core.op import Op
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import unsupported
from ..made_of.return_types import named
from ..pointwise.select import where
from ..shape.join import cat
from .linalg_rules import adjoint, check_square, eye_like
from .linalg_solve import inv_op
from .linalg_spectrum import svd

det_op = Op(
    lambda xp, x: xp.linalg.det(x), "linalg_det", grad_name="LinalgDetBackward0",
    meta=lambda x: (x.shape[:-2], x.dtype), facts=Facts(refuses=True, vmap="as_it_is", autocast={"cpu": "float32"}),
)  # fmt: skip


def _det_dx(g: Tensor, x: Tensor, out: Tensor) -> Tensor:
    value = out.conj() if out._a.dtype.kind == "c" else out
    if not x.is_meta and bool((out.detach() == 0).any()):
        return g[..., None, None] * adjoint(_adjugate(x))
    return (g * value)[..., None, None] * adjoint(inv_op(x))


def _adjugate(x: Tensor) -> Tensor:
    """det(A) times the inverse of A, also where neither exists: from the singular values."""
    u, s, vh = svd(x)
    n = x._a.shape[-1]
    columns = []
    for i in range(n):
        rest = [s[..., j] for j in range(n) if j != i]
        value = s[..., i] * 0 + 1
        for r in rest:
            value = value * r
        columns.append(value.unsqueeze(-1))
    sign = det_op(u.detach()) * det_op(vh.detach())
    scaled = adjoint(vh) * cat(columns, -1).unsqueeze(-2)
    return sign[..., None, None] * (scaled @ adjoint(u))


det_op.derivative(x=_det_dx)
det_op.viewed = ("x",)


@public("linalg")
def det(A: Tensor, *, out: Any = None) -> Tensor:
    """The determinant of a square matrix, or of each in a batch.

    Args:
        A: (*, n, n), floating point or complex.

    Raises:
        RuntimeError: if the matrices are not square.

    Example:
        >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
        tensor(-1.)
    """
    check_square(A, "linalg.det", halves=True)
    if A._a.dtype.itemsize == 2:
        if A._a.size:
            raise unsupported("lu_cpu", A.dtype)
        return into_same(out, A.new_ones(A._a.shape[:-2]))
    return into_same(out, det_op(A))


@public(name="det")
def _det(input: Tensor) -> Tensor:
    """As `torch.linalg.det`."""
    return det(input)


def _slogdet(xp: ArrayModule, x: Array) -> Any:
    sign, log = xp.linalg.slogdet(x)
    return xp.asarray(sign), xp.asarray(log)


def _real_dtype(dtype: Any) -> Any:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


slogdet_op = Op(
    _slogdet, "linalg_slogdet", grad_name="LinalgSlogdetBackward0",
    meta=lambda x: [(x.shape[:-2], x.dtype), (x.shape[:-2], _real_dtype(x.dtype))], facts=Facts(refuses=True, vmap="as_it_is", autocast={"cpu": "float32"}),
)  # fmt: skip
slogdet_op.viewed = ("x",)


@slogdet_op.backward
def _slogdet_backward(gs: list, x: Tensor, out: Tensor) -> tuple:
    factor = gs[1]
    if x._a.dtype.kind == "c" and gs[0] is not None:
        # d sign = i sign Im(tr(A^-1 dA)): the phase of the determinant turns.
        turn = (gs[0].conj() * out * 1j).real * 1j
        factor = turn if factor is None else factor + turn
    if factor is None:
        return (None,)
    return (factor[..., None, None] * adjoint(_inverse_or_infinity(x, out)),)


def _inverse_or_infinity(x: Tensor, sign: Tensor) -> Tensor:
    """The inverse; infinities and NaN, as the derivative of log 0 is, for a matrix that has none."""
    singular = (sign.detach() == 0)[..., None, None]
    if x.is_meta or not bool(singular.any()):
        return inv_op(x)
    safe = x.masked_fill(singular, 0) + eye_like(x, x._a.shape[-1]) * singular
    return where(singular, _adjugate(x) / 0, inv_op(safe))


_LINALG_SLOGDET = named("linalg_slogdet", "sign", "logabsdet")


@public("linalg")
def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """The sign of the determinant and the logarithm of its absolute value, which neither overflows nor vanishes.

    Args:
        A: (*, n, n), floating point or complex.

    Example:
        >>> sign, logabsdet = torch.linalg.slogdet(torch.eye(2) * 1e30)
        >>> sign, logabsdet
        (tensor(1.), tensor(138.1551))
    """
    check_square(A, "linalg.slogdet")
    return into_same(out, _LINALG_SLOGDET(*slogdet_op(A)))


_SLOGDET = named("slogdet", "sign", "logabsdet")


@public(name="slogdet")
def _torch_slogdet(input: Tensor, *, out: Any = None) -> Any:
    """As `torch.linalg.slogdet`."""
    check_square(input, "linalg.slogdet")
    return into_same(out, _SLOGDET(*slogdet_op(input)))


@public()
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant of a square matrix; nan where it is negative, minus infinity where it is 0.

    Example:
        >>> torch.logdet(torch.eye(2) * 2)
        tensor(1.3863)
    """
    check_square(input, "logdet")
    sign, log = slogdet_op(input)
    return log + sign.log() if input._a.dtype.kind == "c" else log + sign.detach().log()
