"""QR in LAPACK's packed form: `geqrf` makes the reflections, `ormqr` multiplies by their product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import NotYet
from ...core.op import Op
from ...core.public import into, into_same, public
from ...core.tensor import Tensor
from ..made_of.guards import unsupported
from ..made_of.return_types import named
from .linalg_rules import adjoint, eye_like

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule
    from ...base.protocols import Array, Shaped


def _geqrf_body(xp: ArrayModule, x: Array) -> Any:
    packed, tau = xp.linalg.qr(x, mode="raw")  # the packed matrix comes transposed
    return packed.swapaxes(-2, -1), tau


def _geqrf_meta(x: Shaped) -> list:
    *batch, m, n = x.shape
    return [((*batch, m, n), x.dtype), ((*batch, min(m, n)), x.dtype)]


_geqrf = Op(_geqrf_body, "geqrf", grad_name="GeqrfBackward0", meta=_geqrf_meta)


@_geqrf.backward
def _geqrf_backward(gs: list) -> tuple:
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


@public()
def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """A QR decomposition as LAPACK packs it: R, the reflections below its diagonal, and their factors.

    `torch.linalg.qr` gives Q and R themselves; `torch.linalg.householder_product` makes Q of this,
    `torch.ormqr` multiplies by it.

    Example:
        >>> a, tau = torch.geqrf(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> a.triu()
        tensor([[-5.0000, -2.2000],
                [ 0.0000,  0.4000]])
    """
    if input._a.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    if input._a.dtype.kind not in "fc" or input._a.dtype.itemsize < 4:
        raise unsupported("geqrf_cpu", input.dtype)
    if not (input.is_cpu or input.is_meta):
        raise NotYet("geqrf is on the CPU only; use torch.linalg.qr")
    return into_same(out, named("geqrf", "a", "tau")(*_geqrf(input)))


@public()
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False, *,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """The product of the whole (m, m) Q that `geqrf` packed and another matrix.

    Args:
        input: (*, m, k), the reflections below the diagonal.
        tau: (*, k), their factors.
        other: (*, m, n), or (*, n, m) if not `left`.
        left: `Q @ other`; False for `other @ Q`.
        transpose: Q's adjoint instead of Q.

    Example:
        >>> A = torch.tensor([[3.0], [4.0]])
        >>> torch.ormqr(*torch.geqrf(A), A, transpose=True)
        tensor([[-5.],
                [ 0.]])
    """
    _check_ormqr(input, tau, other, left)
    below, eye = input.tril(-1), eye_like(input, input._a.shape[-2])
    result = other
    # Q = H_1 H_2 ... H_k: from the left the last one comes first, its adjoint turns that around.
    order = range(tau._a.shape[-1])
    for i in order if bool(left) == bool(transpose) else reversed(order):
        v = below[..., i : i + 1] + eye[:, i : i + 1]
        factor = tau[..., i : i + 1].unsqueeze(-1)
        factor = factor.conj() if transpose else factor
        if left:
            result = result - factor * (v @ (adjoint(v) @ result))
        else:
            result = result - factor * ((result @ v) @ adjoint(v))
    return into(out, result.clone() if result is other else result)


def _check_ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    for t, name in ((input, "input"), (other, "other")):
        if t._a.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    side = -2 if left else -1
    m, k = input._a.shape[-2:]
    rows, dims = other._a.shape[side], input._a.ndim
    if rows != m:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau._a.shape[-1] != min(rows, k):
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        )
    if tau._a.ndim != dims - 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim "
            f"equal to {tau._a.ndim} and input.ndim is equal to {dims}"
        )
    if other._a.ndim != dims:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other._a.ndim} and input.ndim is equal to {dims}"
        )
    for t, name in ((tau, "tau"), (other, "other")):
        if t.dtype != input.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype "
                f"{input.dtype} and {name} has dtype {t.dtype}"
            )
