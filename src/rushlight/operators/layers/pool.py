"""Pooling as PyTorch spells it: max, average, power, adaptive pooling and unpooling, 1-d to 3-d."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...base.bounded import Bounded
from ...base.dtypes import title
from ...base.shapes import in_range, several_whole, whole
from ...core.public import into_same, publish
from ...core.tensor import Tensor
from ..made_of.checks import check_values
from ..made_of.guards import check_kind, remember, unsupported
from .conv_kernels import Dims
from .pool_adaptive import adaptive_max, averaged
from .pool_kernels import avg_pool, max_pool, max_pool_grad, pool_size
from .window_texts import indices_text, window_text

_MOST = 2**31 - 1  # a number of a window
_WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


# -- rules --------------------------------------------------------------------------------------


def _spread(value: Any, n: int, fn: str, name: str) -> Dims:
    values = several_whole(value, n, name)
    if len(values) != n:
        raise RuntimeError(f"{fn}: {name} must either be a single int, or a tuple of {_WORDS[n]}")
    if max(values) > _MOST:
        raise RuntimeError("value cannot be converted to type int without overflow")
    return values


def _batched(x: Tensor, n: int, fn: str) -> tuple[Tensor, bool]:
    """Input with a batch dim, and whether it had to be added."""
    shape = x._a.shape
    if len(shape) not in (n + 1, n + 2):
        if n == 1:
            raise RuntimeError(
                f"{fn}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
                f"input, but got:{list(shape)}"
            )
        raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    if 0 in shape[1:] or (len(shape) == n + 1 and shape[0] == 0):
        raise RuntimeError(
            f"{'max_pool1d: ' * (fn == 'max_pool1d')}Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim "
            f"batch size for input, but got:{list(shape)}"
        )
    return (x, False) if len(shape) == n + 2 else (x.unsqueeze(0), True)


def _check_window(fn: str, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims) -> None:
    if fn == "max_pool1d":  # by a kernel of its own, with words of its own
        (k,), (s,), (p,), (d,) = kernel, stride, padding, dilation
        for fine, words in (
            (k > 0, f"kernel_size must be greater than zero, but got {k}"),
            (s > 0, f"stride must be greater than zero, but got {s}"),
            (p >= 0, f"padding must be non-negative, but got {p}"),
            (p <= (max(d, 1) * (k - 1) + 1) // 2, f"padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"),
            (d > 0, f"dilation must be greater than zero, but got {d}"),
        ):  # fmt: skip
            if not fine:
                raise RuntimeError(f"max_pool1d() {words}")
    if min(stride) <= 0:
        raise RuntimeError("stride should not be zero" if 0 in stride else
                           "stride must be greater than zero, but got " + str(min(stride)))  # fmt: skip
    if min(kernel) <= 0:
        raise RuntimeError("kernel size should be greater than zero, but got " + _by(kernel))
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero, but got " + _by(dilation))
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={d}"
            )


def _by(values: Any) -> str:
    return "x".join(map(str, values))


def _check_result(shape: Dims, out: Dims) -> None:
    if min(out) < 1:
        raise RuntimeError(
            f"Given input size: ({_by(shape[1:])}). Calculated output size: "
            f"({_by((shape[1], *out))}). Output size is too small"
        )


def _window(
    n: int, fn: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1
) -> tuple[Dims, Dims, Dims, Dims]:
    kernel = _spread(kernel_size, n, fn, "kernel_size")
    if stride is None or (isinstance(stride, (list, tuple)) and not stride):
        step = kernel
    else:
        step = _spread(stride, n, fn, "stride")
    pad, gap = _spread(padding, n, fn, "padding"), _spread(dilation, n, fn, "dilation")
    _check_window(fn, kernel, step, pad, gap)
    return kernel, step, pad, gap


# -- max ----------------------------------------------------------------------------------------


# checked arguments -> the op's attributes
_checked: dict[tuple, dict[str, Any]] = Bounded(4096)


def _max(n: int, fn: str, x: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
         ceil_mode: bool) -> tuple[Tensor, Tensor]:  # fmt: skip
    key = (n, x._a.shape, kernel_size, stride, padding, dilation, ceil_mode)
    try:
        how = _checked.get(key)
    except TypeError:  # a list among the arguments
        how = None
    if how is None:
        return _max_checked(key, n, fn, x, kernel_size, stride, padding, dilation, ceil_mode)
    return max_pool(x, **how)


def _max_checked(key: tuple, n: int, fn: str, x: Tensor, kernel_size: Any, stride: Any,
                 padding: Any, dilation: Any, ceil_mode: bool) -> tuple[Tensor, Tensor]:  # fmt: skip
    kernel, step, pad, gap = _window(n, fn, kernel_size, stride, padding, dilation)
    x, alone = _batched(x, n, fn)
    shape = x._a.shape
    size = pool_size(shape[2:], kernel, step, pad, gap, ceil_mode)
    if n == 1 and size[0] <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {size[0]}")
    _check_result(shape, size)
    how: dict[str, Any] = {"kernel": kernel, "stride": step, "padding": pad, "dilation": gap}
    how["ceil_mode"] = bool(ceil_mode)
    if not alone:
        remember(_checked, key, how)
    pair = max_pool(x, **how)
    return (pair[0].squeeze(0), pair[1].squeeze(0)) if alone else pair


def _make_max(n: int) -> None:
    fn = f"max_pool{n}d"

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        pair = _max(n, fn, input, kernel_size, stride, padding, dilation, ceil_mode)
        return pair if return_indices else pair[0]

    def pool_with_indices(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return _max(n, fn, input, kernel_size, stride, padding, dilation, ceil_mode)

    pool.__doc__ = window_text("max_pool", n)
    pool_with_indices.__doc__ = indices_text("max_pool", n)
    _publish(fn, pool, "torch", "functional")
    _publish(fn + "_with_indices", pool_with_indices, "functional", *(["torch"] if n == 1 else []))


def _publish(name: str, fn: Callable, *places: str) -> None:
    fn.__name__ = fn.__qualname__ = name
    for place in places:
        publish(place, name, fn)


for _n in (1, 2, 3):
    _make_max(_n)


# -- unpool -------------------------------------------------------------------------------------


def _unpooled_size(x: Tensor, n: int, kernel: Dims, stride: Dims, padding: Dims, output_size: Any) -> Dims:
    size = x._a.shape[2:]
    default = tuple([(m - 1) * s - 2 * p + k for m, s, p, k in zip(size, stride, padding, kernel)])
    if output_size is None:
        return default
    wanted = tuple(output_size)
    if len(wanted) == n + 2:
        wanted = wanted[2:]
    if len(wanted) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
            f"length of '{len(wanted)}'"
        )
    for w, d, s in zip(wanted, default, stride):
        if not d - s < w < d + s:
            raise ValueError(f"invalid output_size {list(wanted)} (dim must be between {d - s} and {d + s})")
    return wanted


def _inside(index: Any, size: Dims) -> None:
    """A check: every position lies in the image that is made."""
    if index.size and not (0 <= int(index.min()) and int(index.max()) < prod(size)):
        wrong = int(index.flat[((index < 0) | (index >= prod(size))).argmax()])
        volume = "x".join(map(str, size if len(size) > 1 else (*size, 1)))
        raise RuntimeError(f"Found an invalid max index: {wrong} (output volumes are of size {volume})")


def _make_unpool(n: int) -> None:
    fn = f"max_unpool{n}d"

    def unpool(
        input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Tensor:
        if input._a.shape != indices._a.shape:
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor "
                f"({list(input._a.shape)}) but got indices tensor with shape: "
                f"{list(indices._a.shape)}"
            )
        if indices._a.dtype != np.int64:
            raise RuntimeError(f"elements in indices should be type int64 but got: {title(indices.dtype)}")
        check_kind(input, "fV", f"max_unpool{max(n, 2)}d")
        x, alone = _batched(input, n, fn)
        index = indices.unsqueeze(0) if alone else indices
        kernel = _spread(kernel_size, n, fn, "kernel_size")
        step = kernel if stride is None else _spread(stride, n, fn, "stride")
        size = _unpooled_size(x, n, kernel, step, _spread(padding, n, fn, "padding"), output_size)
        check_values(_inside, index, size)
        out = max_pool_grad(x, index, x_shape=(*x._a.shape[:2], *size), overlap=False)
        return out.squeeze(0) if alone else out

    unpool.__doc__ = window_text("max_unpool", n)
    _publish(fn, unpool, "functional")


for _n in (1, 2, 3):
    _make_unpool(_n)


# -- average ------------------------------------------------------------------------------------


def _avg(n: int, x: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
         include_pad: bool, divisor: int | None) -> Tensor:  # fmt: skip
    fn = f"avg_pool{n}d"
    if divisor is not None and whole(divisor, "divisor_override") == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, step, pad, gap = _window(n, fn, kernel_size, stride, padding)
    x, alone = _batched(x, n, fn)
    shape = x._a.shape
    _check_result(shape, pool_size(shape[2:], kernel, step, pad, gap, ceil_mode))
    if x._a.dtype.kind not in "fV" and x._a.dtype != np.int64:
        raise unsupported("avg_pool3d_out_frame" if n == 3 else "avg_pool2d", x.dtype)
    out = avg_pool(
        x, kernel=kernel, stride=step, padding=pad, ceil_mode=bool(ceil_mode),
        include_pad=bool(include_pad), divisor=divisor,
    )  # fmt: skip
    return out.squeeze(0) if alone else out


def _make_avg(n: int) -> None:
    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        out: Any = None,
    ) -> Tensor:
        made = _avg(n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return into_same(out, made)

    pool.__doc__ = window_text("avg_pool", n)
    _publish(f"avg_pool{n}d", pool, "functional", *(["torch"] if n == 1 else []))


for _n in (1, 2, 3):
    _make_avg(_n)


# -- power --------------------------------------------------------------------------------------


def _make_lp(n: int) -> None:
    def pool(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
        kernel = _spread(kernel_size, n, f"lp_pool{n}d", "kernel_size")
        count = 1
        for k in kernel:
            count *= k
        total = _avg(n, input.pow(norm_type), kernel, stride, 0, ceil_mode, True, None)
        return (total.sign() * total.abs().relu() * count).pow(1.0 / norm_type)

    pool.__doc__ = window_text("lp_pool", n)
    _publish(f"lp_pool{n}d", pool, "functional")


for _n in (1, 2, 3):
    _make_lp(_n)


# -- adaptive -----------------------------------------------------------------------------------


def _adaptive_input(x: Tensor, output_size: Any, n: int, fn: str) -> tuple[Tensor, bool, Dims]:
    shape, largest = x._a.shape, "max" in fn
    if n > 1 and isinstance(output_size, (list, tuple)) and len(shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if len(shape) not in (n + 1, n + 2):
        mark = ":" if largest else ""
        raise RuntimeError(f"{fn}(): Expected {n + 1}D or {n + 2}D tensor, but got{mark} {list(shape)}")
    if not isinstance(output_size, (list, tuple)):
        output_size = (output_size if output_size is None else whole(output_size, "output_size"),) * n
    if len(output_size) == 1:
        output_size = tuple(output_size) * n
    if len(output_size) != n:
        if n == 1:
            raise RuntimeError(f"{fn}() argument 'output_size' should contain one int (got {len(output_size)})")
        if largest:
            raise RuntimeError(f"{fn}(): internal error: output_size.size() must be {n}")
        raise RuntimeError(f"{fn}: output_size must be {n}")
    if output_size[0].__class__ is bool:
        raise TypeError(f"{fn}(): argument 'output_size' must be tuple of ints, not bool")
    size = in_range("output_size", tuple([s if o is None else o.__index__() for s, o in zip(shape[-n:], output_size)]))
    if min(size) < 0:
        if largest:
            made = [*shape[:-n], *((1,) if n == 1 else ()), *size]
            first = next(s for s in size if s < 0)
            raise RuntimeError(f"Trying to create tensor with negative dimension {first}: {made}")
        raise RuntimeError(
            f"{fn}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, size))}}}"
        )
    for i in range(n):
        if shape[i - n] == 0:
            raise RuntimeError(
                f"{fn}(): Expected input to have non-zero size for non-batch dimensions, but input "
                f"has sizes {list(shape)} with dimension {len(shape) - n + i} being empty"
            )
    return (x, False, size) if len(shape) == n + 2 else (x.unsqueeze(0), True, size)


def _make_adaptive(n: int) -> None:
    def average(input: Tensor, output_size: Any) -> Tensor:
        x, alone, size = _adaptive_input(input, output_size, n, f"adaptive_avg_pool{n}d")
        out = averaged(x, size)
        return out.squeeze(0) if alone else out

    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        x, alone, size = _adaptive_input(input, output_size, n, f"adaptive_max_pool{n}d")
        out, index = adaptive_max(x, size=size)
        return (out.squeeze(0), index.squeeze(0)) if alone else (out, index)

    def maximum(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        pair = with_indices(input, output_size)
        return pair if return_indices else pair[0]

    average.__doc__ = window_text("adaptive_avg_pool", n)
    maximum.__doc__ = window_text("adaptive_max_pool", n)
    with_indices.__doc__ = indices_text("adaptive_max_pool", n)
    top = ("torch",) if n == 1 else ()
    _publish(f"adaptive_avg_pool{n}d", average, "functional", *top)
    _publish(f"adaptive_max_pool{n}d_with_indices", with_indices, "functional")
    _publish(f"adaptive_max_pool{n}d", maximum, "functional")
    if n == 1:
        publish("torch", "adaptive_max_pool1d", with_indices)


for _n in (1, 2, 3):
    _make_adaptive(_n)
