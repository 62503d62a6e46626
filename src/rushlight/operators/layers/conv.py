"""Convolutions as PyTorch spells them: conv1d to conv3d and their transposed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.bounded import Bounded
from ...base.dtypes import c_name, title
from ...base.shapes import check_size, ntuple, several_whole, whole
from ...core.public import public, publish
from ...core.tensor import Tensor
from ...runtime.thread import here
from ..made_of.guards import remember
from .conv_kernels import Dims, conv_grad_input, conv_op
from .window_texts import window_text

# -- rules --------------------------------------------------------------------------------------


_FAR = 2**31 - 1  # what kernels count with


def spread(value: Any, n: int, name: str) -> Dims:
    """One int for every spatial dim, or one each."""
    values = several_whole(value, n, name)
    if len(values) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the "
            f"convolution dimensions, but got {name}={list(values)}"
        )
    return values


def _batched(x: Tensor, n: int, name: str) -> tuple[Tensor, bool]:
    if x._a.ndim == n + 2:
        return x, False
    if x._a.ndim == n + 1:
        return x.unsqueeze(0), True
    raise RuntimeError(
        f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of "
        f"size: {list(x._a.shape)}"
    )


def _check_numbers(stride: Dims, padding: Dims, dilation: Dims, groups: int) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero")


def _check_types(x: Tensor, w: Tensor, b: Tensor | None) -> None:
    if here.casting:  # autocast casts them to one dtype
        return
    if x._a.dtype != w._a.dtype:
        kind = "cuda." if x.is_cuda else ""
        raise RuntimeError(
            f"Input type (torch.{kind}{title(x.dtype)}Tensor) and weight type "
            f"(torch.{'cuda.' if w.is_cuda else ''}{title(w.dtype)}Tensor) should be the same"
        )
    if b is not None and b._a.dtype != x._a.dtype:
        raise RuntimeError(f"Input type ({c_name(x.dtype)}) and bias type ({c_name(b.dtype)}) should be the same")


def _check_weight(x: Tensor, w: Tensor, n: int, groups: int) -> None:
    shape, given = w._a.shape, x._a.shape
    if len(shape) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(shape) != n + 2:
        raise RuntimeError(
            f"Expected {len(shape)}-dimensional input for {len(shape)}-dimensional weight{list(shape)}, but got "
            f"{len(given)}-dimensional input of size {list(given)} instead"
        )
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of "
            f"size {list(shape)} instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
            f"got weight of size [{list(shape)}] instead"
        )


def _check_channels(x: Tensor, w: Tensor, b: Tensor | None, groups: int) -> None:
    shape, ws = x._a.shape, w._a.shape
    if shape[1] != ws[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(ws)}, expected input{list(shape)} to have "
            f"{ws[1] * groups} channels, but got {shape[1]} channels instead"
        )
    if b is not None and b._a.shape != (ws[0],):
        raise RuntimeError(
            f"Given weight of size {list(ws)}, expected bias to be 1-dimensional with {ws[0]} "
            f"elements, but got bias of size {list(b._a.shape)} instead"
        )


def _check_fits(size: Dims, kernel: Dims, padding: Dims, dilation: Dims) -> None:
    padded = [n + 2 * p for n, p in zip(size, padding)]
    check_size(padded)
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if any(n < k for n, k in zip(padded, reach)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel "
            f"size: ({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input "
            "size"
        )


def _same_padding(x: Tensor, kernel: Dims, dilation: Dims) -> tuple[Tensor, Dims]:
    """Padding that keeps the size; of an odd total the larger half is at the end, as in PyTorch."""
    totals = [d * (k - 1) for k, d in zip(kernel, dilation)]
    if any(t % 2 for t in totals):
        extra: list[int] = []
        for t in reversed(totals):
            extra += [0, t % 2]
        from ..image.padding import pad

        x = pad(x, extra)
    return x, tuple([t // 2 for t in totals])


def _padding(x: Tensor, padding: Any, kernel: Dims, stride: Dims, dilation: Dims) -> tuple[Tensor, Dims]:
    if not isinstance(padding, str):
        return x, spread(padding, len(kernel), "padding")
    if padding == "valid":
        return x, (0,) * len(kernel)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    return _same_padding(x, kernel, dilation)


# -- convolution --------------------------------------------------------------------------------


def convolve(n: int, x: Tensor, w: Tensor, b: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Tensor:
    """The n-d convolution behind conv1d, conv2d and conv3d."""
    shapes = (x._a.shape, w._a.shape, None if b is None else b._a.shape)
    key = (n, shapes, stride, padding, dilation, groups)
    try:
        how = _checked.get(key)
    except TypeError:  # a list among the arguments
        how = None
    if how is None:
        return _convolve_checked(key, n, x, w, b, stride, padding, dilation, groups)
    dtype = x._a.dtype
    if w._a.dtype != dtype or (b is not None and b._a.dtype != dtype):
        _check_types(x, w, b)
    return conv_op(x, w, b, **how)


# checked arguments -> the op's attributes
_checked: dict[tuple, dict[str, Any]] = Bounded(4096)


def _convolve_checked(
    key: tuple, n: int, x: Tensor, w: Tensor, b: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    name, given = f"conv{n}d", x
    x, alone = _batched(x, n, name)
    stride, dilation = spread(stride, n, "stride"), spread(dilation, n, "dilation")
    if whole(groups, "groups") <= 0:
        raise RuntimeError("non-positive groups is not supported")
    _check_weight(x, w, n, groups)
    kernel = w._a.shape[2:]
    x, padding = _padding(x, padding, kernel, stride, dilation)
    _check_numbers(stride, padding, dilation, groups)
    _check_channels(x, w, b, groups)
    _check_fits(x._a.shape[2:], kernel, padding, dilation)
    if max(*stride, *dilation) > _FAR:  # numbers that no window reaches
        extents = [n + 2 * p for n, p in zip(x._a.shape[2:], padding)]
        stride = tuple([min(s, n) for s, n in zip(stride, extents)])
        dilation = tuple([min(d, n) for d, n in zip(dilation, extents)])
    _check_types(x, w, b)
    how: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if x is given:
        remember(_checked, key, how)
    out = conv_op(x, w, b, **how)
    return out.squeeze(0) if alone else out


def _make_conv(n: int) -> Callable:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        return convolve(n, input, weight, bias, stride, padding, dilation, groups)

    conv.__doc__ = window_text("conv", n)
    return conv


# -- transposed convolution ---------------------------------------------------------------------


def _check_transposed(x: Tensor, w: Tensor, b: Tensor | None, groups: int) -> None:
    shape, ws = x._a.shape, w._a.shape
    if shape[1] != ws[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(ws)}, expected input{list(shape)} to have "
            f"{ws[0]} channels, but got {shape[1]} channels instead"
        )
    if b is not None and b._a.shape != (ws[1] * groups,):
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(ws)}, expected bias to be 1-dimensional with "
            f"{ws[1] * groups} elements, but got bias of size {list(b._a.shape)} instead"
        )


def _check_output_padding(extra: Dims, stride: Dims, dilation: Dims) -> None:
    if min(extra) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if all(e < s or e < d for e, s, d in zip(extra, stride, dilation)):
        return
    names = ("depth", "height", "width")[-len(extra) :] if len(extra) > 1 else ("length",)
    rows = (("output_padding", extra), ("stride", stride), ("dilation", dilation))
    said = [f"{row}_{name}: {v}" for row, values in rows for name, v in zip(names, values)]
    raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(said))


def _transposed_size(size: Dims, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims, extra: Dims) -> Dims:
    out = tuple(
        [
            (m - 1) * s - 2 * p + d * (k - 1) + e + 1
            for m, s, p, d, k, e in zip(size, stride, padding, dilation, kernel, extra)
        ]
    )
    if min(out) <= 0:
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, size))}). Calculated output size "
            f"per channel: ({' x '.join(map(str, out))}). Output size is too small"
        )
    return out


def convolve_transposed(
    n: int, x: Tensor, w: Tensor, b: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
) -> Tensor:
    """The n-d transposed convolution: what a convolution sends back to its input."""
    name = f"conv_transpose{n}d"
    x, alone = _batched(x, n, name)
    stride, dilation = spread(stride, n, "stride"), spread(dilation, n, "dilation")
    padding, extra = spread(padding, n, "padding"), spread(output_padding, n, "output_padding")
    _check_numbers(stride, padding, dilation, groups)
    _check_weight(x, w, n, groups)
    _check_transposed(x, w, b, groups)
    _check_output_padding(extra, stride, dilation)
    _check_types(x, w, b)
    size = _transposed_size(x._a.shape[2:], w._a.shape[2:], stride, padding, dilation, extra)
    shape = (x._a.shape[0], w._a.shape[1] * groups, *size)
    check_size(shape, x._a.itemsize)
    if max(size) > _FAR:
        raise RuntimeError("value cannot be converted to type int without overflow")
    out = conv_grad_input(x, w, x_shape=shape, stride=stride, padding=padding, dilation=dilation, groups=groups)
    if b is not None:
        out = out + b.reshape((1, -1) + (1,) * n)
    return out.squeeze(0) if alone else out


def _make_transposed(n: int) -> Callable:
    def conv_transpose(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        return convolve_transposed(n, input, weight, bias, stride, padding, output_padding, groups, dilation)

    conv_transpose.__doc__ = window_text("conv_transpose", n)
    return conv_transpose


def _publish(name: str, fn: Callable) -> Callable:
    fn.__name__ = fn.__qualname__ = name
    for place in ("torch", "functional"):
        publish(place, name, fn)
    return fn


conv1d, conv2d, conv3d = [_publish(f"conv{n}d", _make_conv(n)) for n in (1, 2, 3)]
conv_transpose1d, conv_transpose2d, conv_transpose3d = [
    _publish(f"conv_transpose{n}d", _make_transposed(n)) for n in (1, 2, 3)
]


@public("torch")
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """Convolve, or convolve transposed, in as many dimensions as the weight has.

    Args:
        input: (N, C, *), or without N.
        weight: (O, C / groups, *kernel); (C, O / groups, *kernel) if transposed.
        bias: (O,) or None.
        stride, padding, dilation: one number per spatial dimension.
        transposed: whether it is a transposed convolution.
        output_padding: used if transposed only.
        groups: groups of channels that do not see each other.

    Example:
        >>> x, w = torch.ones(1, 2, 5), torch.ones(3, 2, 2)
        >>> torch.convolution(x, w, None, [1], [0], [1], False, [0], 1).shape
        torch.Size([1, 3, 4])
    """
    n = weight._a.ndim - 2
    if min(ntuple(output_padding, n, "output_padding")) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if transposed:
        return convolve_transposed(n, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return convolve(n, input, weight, bias, stride, padding, dilation, groups)


@public("torch", "functional")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolve signals whose dimensions are time, batch and channels.

    Args:
        input: (T, N, C).
        weight: (kernel, C, O).
        bias: (O,).
        pad: zeros added at both ends.

    Returns:
        (T', N, O) with T' = T + 2 pad - kernel + 1.

    Example:
        >>> F.conv_tbc(torch.ones(5, 2, 3), torch.ones(2, 3, 4), torch.zeros(4)).shape
        torch.Size([4, 2, 4])
    """
    if input._a.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight._a.ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    out = convolve(1, input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad, 1, 1)
    return out.permute(2, 0, 1)
