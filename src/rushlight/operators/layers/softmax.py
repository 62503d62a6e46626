"""softmax, log_softmax, softmin and softmax of masked scores: each one kernel forward and one kernel backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import as_dtype
from ...base.shapes import wrap_dim
from ...core.op import Op
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import FLOATS, unsupported
from ..made_of.pointwise import same_meta
from ..made_of.precision import in_float32
from ..made_of.reference import by_reference
from ..made_of.spelling import axis_for_dim
from ..memory.casting import cast_to


@in_float32
def _softmax_body(xp: ArrayModule, x: Array, *, dim: int) -> Any:
    if x.size == 0:
        return x.copy()
    z = x - x.max(axis=dim, keepdims=True)
    xp.exp(z, out=z)
    z /= z.sum(axis=dim, keepdims=True)
    return z


@in_float32
def _safe_softmax_body(xp: ArrayModule, x: Array, *, dim: int) -> Any:
    """Zeros where every score is minus infinity: all keys are masked."""
    if x.size == 0:
        return x.copy()
    top = x.max(axis=dim, keepdims=True)
    masked = top == -xp.inf
    z = xp.exp(x - xp.where(masked, 0, top))
    z /= z.sum(axis=dim, keepdims=True) + masked
    return z


@in_float32
def _softmax_grad_body(xp: ArrayModule, gy: Array, y: Array, *, dim: int) -> Any:
    out = gy * y
    out -= y * out.sum(axis=dim, keepdims=True)
    return out


@in_float32
def _log_softmax_body(xp: ArrayModule, x: Array, *, dim: int) -> Any:
    if x.size == 0:
        return x.copy()
    z = x - x.max(axis=dim, keepdims=True)
    z -= xp.log(xp.exp(z).sum(axis=dim, keepdims=True))
    return z


@in_float32
def _log_softmax_grad_body(xp: ArrayModule, gy: Array, y: Array, *, dim: int) -> Any:
    out = xp.exp(y)
    out *= gy.sum(axis=dim, keepdims=True)
    xp.subtract(gy, out, out=out)
    return out


softmax_grad = Op(
    _softmax_grad_body,
    "softmax_grad",
    meta=lambda gy, y, **_: (y.shape, y.dtype),
    facts=Facts(vmap="along", aten="_softmax_backward_data", family="row shares_back"),
)
by_reference(softmax_grad, lambda gy, y, dim: y * (gy - (gy * y).sum(dim, keepdim=True)))
log_softmax_grad = Op(
    _log_softmax_grad_body,
    "log_softmax_grad",
    meta=lambda gy, y, **_: (y.shape, y.dtype),
    facts=Facts(vmap="along", aten="_log_softmax_backward_data", family="row log_shares_back"),
)
by_reference(log_softmax_grad, lambda gy, y, dim: gy - y.exp() * gy.sum(dim, keepdim=True))

softmax_op = Op(
    _softmax_body,
    "softmax",
    meta=same_meta,
    facts=Facts(
        vmap="along",
        layout="plain",
        autocast={"cuda": "float32"},
        aten="_softmax ordered dim False",
        onnx="softmax",
        family="row shares",
    ),
)
softmax_op.derivative(x=lambda g, out, dim: softmax_grad(g, out, dim=dim))
_safe_softmax_op = Op(
    _safe_softmax_body,
    "_safe_softmax",
    meta=same_meta,
    facts=Facts(vmap="along", layout="plain", aten="_safe_softmax ordered dim"),
)
_safe_softmax_op.derivative(x=lambda g, out, dim: softmax_grad(g, out, dim=dim))
log_softmax_op = Op(
    _log_softmax_body,
    "log_softmax",
    meta=same_meta,
    facts=Facts(
        vmap="along",
        layout="plain",
        autocast={"cuda": "float32"},
        aten="_log_softmax ordered dim False",
        onnx="softmax",
        family="row log_shares",
    ),
)
log_softmax_op.derivative(x=lambda g, out, dim: log_softmax_grad(g, out, dim=dim))


def _along(op: Op, name: str, x: Tensor, dim: int, dtype: Any) -> Tensor:
    at = wrap_dim(dim, x._a.ndim)
    if dtype is not None:
        x = cast_to(x, as_dtype(dtype))
    if x._a.dtype.kind not in FLOATS:
        last = "lastdim_" if at == max(x._a.ndim, 1) - 1 else ""
        raise unsupported(f"{name}_{last}kernel_impl", x.dtype)
    if x._a.ndim == 0:
        return op(x.reshape(1), dim=0).reshape(())
    return op(x, dim=at)


def _shares(op: Op, what: str, sums: str, example: str) -> Callable[..., Tensor]:
    """`softmax` or `log_softmax`."""
    name = op.name

    def along(input: Tensor, dim: int, dtype: Any = None, *, out: Any = None) -> Tensor:
        return into_same(out, _along(op, name, input, dim, dtype))

    along.__name__ = along.__qualname__ = name
    along.__doc__ = f"""{what}

    Args:
        input: any shape.
        dim: the dimension along which {sums} sum to 1.
        dtype: the input is cast to it first.

    Example:
        >>> torch.{name}(torch.tensor([[0.0, 0.0], [1.0, 3.0]]), dim=1)
        {example}
    """
    return public()(axis_for_dim(along))


softmax = _shares(
    softmax_op, "Turn scores into shares that sum to 1: exp(x), divided by its sum along `dim`.", "results",
    """tensor([[0.5000, 0.5000],
                [0.1192, 0.8808]])""",
)  # fmt: skip
log_softmax = _shares(
    log_softmax_op, "The logarithm of `softmax`, computed so that nothing overflows.", "the exponentials of the results",
    """tensor([[-0.6931, -0.6931],
                [-2.1269, -0.1269]])""",
)  # fmt: skip


@public("torch")
def _safe_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """As `softmax`, but zeros instead of NaN where all scores are minus infinity."""
    return _along(_safe_softmax_op, "softmax", input, dim, dtype)


@public("aten")
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The derivative of `softmax` by its result."""
    return softmax_grad(grad_output, output, dim=wrap_dim(dim, output._a.ndim)).to(input_dtype)


@public("aten")
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The derivative of `log_softmax` by its result."""
    return log_softmax_grad(grad_output, output, dim=wrap_dim(dim, output._a.ndim)).to(input_dtype)


def guessed_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that a softmax without `dim=` is over; deprecated."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def _guessing(op: Op, example: str) -> None:
    """The form of `nn.functional`, which may be called without a dim."""
    name = op.name

    def along(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
        if dim is None:
            dim = guessed_dim(name, input.ndim, _stacklevel)
        return _along(op, name, input, dim, dtype)

    along.__name__ = along.__qualname__ = name
    along.__doc__ = f"""As `torch.{name}`; without `dim` it guesses one and warns.

    Example:
        >>> F.{name}(torch.tensor([1.0, 2.0]), dim=0)
        {example}
    """
    public("functional")(along)


_guessing(softmax_op, "tensor([0.2689, 0.7311])")
_guessing(log_softmax_op, "tensor([-1.3133, -0.3133])")


@public("functional")
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Softmax of `-input`: small elements get large shares.

    Args:
        input: any shape.
        dim: the dimension along which results sum to 1.
        dtype: the input is cast to it first.

    Example:
        >>> F.softmin(torch.tensor([1.0, 2.0]), dim=0)
        tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = guessed_dim("softmin", input.ndim, _stacklevel)
    return _along(softmax_op, "softmax", -input, dim, dtype)
