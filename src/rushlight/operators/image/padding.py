"""F.pad: constant, reflected, replicated or circular values around the last dims."""

from __future__ import annotations

from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.fits import storable
from ...base.shapes import several_whole
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import unsupported
from .resample_kernels import ResamplePlan, along_axes

Widths = tuple[tuple[int, int], ...]


def _pad_constant(xp: ArrayModule, x: Array, *, widths: Widths, value: Any) -> Any:
    """`value` around x, (before, after) per dim; a negative width cuts instead."""
    shape = [n + a + b for n, (a, b) in zip(x.shape, widths)]
    source = tuple([slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, widths)])
    target = tuple([slice(max(a, 0), n - max(b, 0)) for n, (a, b) in zip(shape, widths)])
    out = xp.zeros(shape, x.dtype) if value == 0 else xp.full(shape, value, x.dtype)
    out[target] = x[source]
    return out


pad_constant = Op(
    _pad_constant,
    "pad_constant",
    moves_only=True,
    grad_name="ConstantPadNdBackward0",
    meta=lambda x, *, widths, value: (tuple([n + a + b for n, (a, b) in zip(x.shape, widths)]), x.dtype),
    facts=Facts(vmap="pad", layout="image", aten="constant_pad_nd padded", onnx="pad"),
)
# The gradient is cut where padding was added, and gets zeros where a negative width cut.
pad_constant.derivative(x=lambda g, widths: pad_constant(g, widths=tuple([(-a, -b) for a, b in widths]), value=0))


def _by_dim(pad: tuple[int, ...], ndim: int) -> Widths:
    """PyTorch lists the last dim first."""
    given = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return ((0, 0),) * (ndim - len(given)) + tuple(reversed(given))


def _check(x: Tensor, pad: tuple[int, ...]) -> None:
    ndim = x._a.ndim
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {ndim}"
        )


def _check_mirrored(x: Tensor, pad: tuple[int, ...]) -> None:
    ndim, n = x._a.ndim, len(pad) // 2
    if n not in (1, 2, 3) or ndim not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    shape = x._a.shape
    if 0 in shape[1:] or (ndim == n + 1 and shape[0] == 0):
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )


def _check_side(shape: tuple[int, ...], axis: int, mode: str, before: int, after: int) -> None:
    n = shape[axis]
    if mode == "reflect" and max(before, after) >= n:
        raise RuntimeError(
            f"Argument #{4 + 2 * (len(shape) - 1 - axis)}: Padding size should be less than the corresponding input dimension, but "
            f"got: padding ({before}, {after}) at dimension {axis} of input {list(shape)}"
        )
    if mode == "circular" and max(before, after) > n:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if n + before + after < 1:
        raise RuntimeError(
            f"input (size {n} in dimension {axis}) is too small: the padding ({before}, {after}) "
            f"leaves {n + before + after} elements"
        )


@public("functional")
def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Add values around the last dimensions, or cut them.

    Args:
        input: any shape; for the modes other than "constant", 2 to 5 dimensions.
        pad: (left, right) of the last dimension, then of the one before it, and so on. Negative
            numbers cut.
        mode: "constant", "reflect" (mirrored, the border not repeated), "replicate" (the border) or
            "circular" (the other end).
        value: what is added in mode "constant"; 0 if None.

    Raises:
        RuntimeError: if a padding is too large for its mode, or does not fit the dimensions.

    Example:
        >>> x = torch.tensor([[1, 2, 3]])
        >>> F.pad(x, (1, 2))
        tensor([[0, 1, 2, 3, 0, 0]])
        >>> F.pad(x, (0, 0, 1, 0), value=9)
        tensor([[9, 9, 9],
                [1, 2, 3]])
        >>> F.pad(x.float(), (2, 2), mode="reflect")
        tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """
    widths = several_whole(tuple(pad), 1, "pad")
    _check(input, widths)
    by_dim = _by_dim(widths, input._a.ndim)
    if mode == "constant":
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
        value = 0 if value is None else value
        return _constant(input, by_dim, float(value) if isinstance(value, (int, float)) else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check_mirrored(input, widths)
    if mode == "replicate" and input._a.dtype.kind == "b":
        raise unsupported(f"replication_pad{len(widths) // 2}d", input.dtype)
    steps = []
    for axis, (before, after) in enumerate(by_dim):
        if (before, after) != (0, 0):
            n = input._a.shape[axis]
            _check_side(input._a.shape, axis, mode, before, after)
            steps.append((axis, ResamplePlan(mode, n, n + before + after, shift=before)))
    return along_axes(input, steps)


def _constant(x: Tensor, widths: Widths, value: Any) -> Tensor:
    for axis, (n, (a, b)) in enumerate(zip(x._a.shape, widths)):
        if n + a + b < 0 or n + min(a, 0) < 0 or n + min(b, 0) < 0:
            raise RuntimeError(
                f"narrow(): length must be non-negative. The input size {n}, plus negative padding "
                f"{a} and {b}, resulted in a negative output size at dimension {axis}."
            )
    if isinstance(value, Tensor):
        value = value.item()
    value = storable(value, x._a.dtype)
    return pad_constant(x, widths=widths, value=value)


@public("torch")
def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """As `nn.functional.pad` in mode "constant".

    Args:
        pad: (left, right) of the last dimension, and so on.
        value: what is added.
    """
    widths = several_whole(tuple(pad), 1, "pad")
    _check(input, widths)
    return _constant(input, _by_dim(widths, input._a.ndim), value)
