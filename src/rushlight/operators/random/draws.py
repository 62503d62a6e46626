"""New tensors of random numbers, drawn from a generator's stream on the device itself."""

from __future__ import annotations

import math
from typing import Any

from ...base import dtypes
from ...base.arrays import Array, ArrayModule, RandomStream
from ...base.device import as_device, device
from ...base.dtypes import as_dtype, dtype
from ...base.shapes import broadcast_shapes, whole
from ...core.op import Op
from ...core.public import into, public
from ...core.tensor import Tensor
from ...runtime import devices
from ...runtime.door import Kernel
from ...runtime.facts import Facts
from ...runtime.thread import here
from ..create.filled import create, dim_order, float_dtype, number, only_size, sizes
from ..made_of.checks import check_values
from .generator import stream_for

# -- kernels: the stream makes the array, in the device's own memory -------------------------------


def _size_meta(*, size: tuple, dtype: dtype, **attrs: Any) -> tuple:
    return size, dtype.np


def _draw(xp: ArrayModule, *, kind: str, size: tuple, dtype: dtype, args: tuple, stream: RandomStream,
          device: device) -> Any:  # fmt: skip
    if dtype.category == dtypes.COMPLEX:  # real and imaginary parts lie side by side
        real = getattr(stream, kind)((*size, 2), dtype.to_real().np, *args)
        return real.view(dtype.np).reshape(size)
    return getattr(stream, kind)(size, dtype.np, *args)


def _draw_over(xp: ArrayModule, t: Array, *, kind: str, args: tuple, stream: RandomStream) -> Any:
    xp.copyto(t, getattr(stream, kind)(t.shape, t.dtype, *args))
    return t


def _draw_integers(xp: ArrayModule, *, low: int, high: int, size: tuple, dtype: dtype, stream: RandomStream,
                   device: device) -> Any:  # fmt: skip
    return stream.randint(low, high, size, dtype.np)


def _draw_permutation(xp: ArrayModule, *, size: tuple, dtype: dtype, stream: Any, device: device) -> Any:
    return stream.randperm(size[0], dtype.np)


def _draw_coins(xp: ArrayModule, *, p: float, size: tuple, dtype: dtype, stream: RandomStream, device: device) -> Any:
    return stream.bernoulli(p, size, dtype.np)


RANDOM = Kernel("random", _draw, meta=_size_meta, random=True, facts=Facts(aten="rand made"))
DRAWN_OVER = Kernel(
    "drawn_over", _draw_over, meta=lambda t, **attrs: t, mutates=(0,), random=True, facts=Facts(refuses=True)
)
RANDINT = Kernel(
    "randint",
    _draw_integers,
    meta=_size_meta,
    random=True,
    facts=Facts(range=lambda attrs, shapes: (attrs["low"], attrs["high"] - 1)),
)
RANDPERM = Kernel(
    "randperm",
    _draw_permutation,
    meta=_size_meta,
    random=True,
    facts=Facts(range=lambda attrs, shapes: (0, attrs["size"][0] - 1)),
)
COINS = Kernel("bernoulli_scalar", _draw_coins, meta=_size_meta, random=True)


def draw(kernel: Kernel, generator: Any, d: Any, *options: Any, **attrs: Any) -> Tensor:
    """`create` with the stream of `generator` on device `d`."""
    where = as_device(d)
    backend = devices.backend_of(where)
    where = backend.check(where)
    stream = backend.stream(where) if generator is None else stream_for(generator, where)
    return create(kernel, where, *options, stream=stream, **attrs)


def floating(name: str, d: dtype) -> None:
    if d.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.title(d)}'")


def real(name: str, d: dtype) -> None:
    if d.category > dtypes.FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.title(d)}'")


# -- uniform and normal ----------------------------------------------------------------------------


def _define(name: str, kind: str, kernel_name: str, doc: str, first: str) -> None:
    """`rand` or `randn`, and its `_like` form."""

    def arguments(d: dtype) -> tuple:
        floating(kernel_name, d)
        # A complex normal of variance 1 has parts of variance 1/2.
        return (0.0, math.sqrt(0.5)) if kind == "normal" and d.is_complex else ()

    def make(
        *size: Any,
        generator: Any = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        names: Any = None,
        **keyword: Any,
    ) -> Tensor:
        shape = sizes(name, size, only_size(name, keyword) if keyword else None)
        d = out.dtype if out is not None and dtype is None else float_dtype(dtype)
        where = out.device if out is not None and device is None else device
        return draw(RANDOM, generator, where, requires_grad, out, pin_memory, layout, kind=kind,
                    size=shape, dtype=d, args=arguments(d))  # fmt: skip

    def make_like(
        input: Tensor,
        *,
        generator: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        d = input.dtype if dtype is None else as_dtype(dtype)
        where = input.device if device is None else device
        turned = kind == "normal" and dim_order(input._a, memory_format) is not None
        # PyTorch draws normals in blocks for contiguous tensors only.
        how = "normal_in_turn" if turned else kind
        t = draw(RANDOM, generator, where, False, None, pin_memory, layout, kind=how,
                 size=tuple(input._a.shape), dtype=d, args=arguments(d))  # fmt: skip
        t = ordered_like(t, input, memory_format)
        return t.requires_grad_() if requires_grad else t

    make.__name__, make_like.__name__ = name, f"{name}_like"
    make.__doc__ = f"""{doc}.

    Args:
        size: the size of every dimension, one by one or as a tuple.
        keyword: `size=`, the sizes as a keyword.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.{name}(2)
        {first}
    """
    make_like.__doc__ = f"""{doc}, in the shape of another tensor.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.{name}_like(torch.zeros(2))
        {first}
    """
    public("torch", name=name)(make)
    public("torch", name=f"{name}_like")(make_like)


def ordered_like(t: Tensor, input: Tensor, memory_format: Any) -> Tensor:
    """`t` in the dim order of `input`: PyTorch fills dense tensors in the order of memory."""
    order = dim_order(input._a, memory_format)
    if order is None:
        return t
    shape = [t._a.shape[i] for i in order]
    return t.reshape(shape).permute(sorted(range(len(order)), key=order.__getitem__)).detach()


_define(
    "rand", "uniform", "check_uniform_bounds",
    "Random numbers, equally likely between 0 and 1 (1 excluded)", "tensor([0.4963, 0.7682])",
)  # fmt: skip
_define(
    "randn", "normal", "normal_kernel_cpu",
    "Random numbers from the standard normal distribution", "tensor([ 1.5410, -0.2934])",
)  # fmt: skip


@public("torch")
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Random numbers from a normal distribution.

    Args:
        mean: the mean; a number or a tensor.
        std: the standard deviation; a number or a tensor.
        size: the shape, if mean and std are numbers.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.normal(torch.tensor([0.0, 100.0]), 1.0)
        tensor([ 1.5410, 99.7066])
    """
    if not isinstance(std, Tensor) and not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if size is not None:
        if isinstance(mean, Tensor) or isinstance(std, Tensor):
            raise TypeError("normal(): size goes with a number for mean and std, not with a Tensor")
        d = out.dtype if out is not None and dtype is None else float_dtype(dtype)
        floating("normal_kernel_cpu", d)
        return draw(RANDOM, generator, device, requires_grad, out, pin_memory, layout,
                    kind="normal", size=sizes("normal", (size,)), dtype=d,
                    args=(float(mean), float(std)))  # fmt: skip
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        raise TypeError(
            "normal() received an invalid combination of arguments: without a Tensor among mean and std it needs size"
        )
    if isinstance(std, Tensor) and not std.is_meta:
        _refuse_negative(std)
    if out is None:
        return _normal_around(mean, std, generator)
    if isinstance(std, Tensor):
        shapes = [v._a.shape for v in (mean, std) if isinstance(v, Tensor)]
        into(out, out.new_empty(broadcast_shapes(*shapes)))
        return out.normal_(generator=generator).mul_(std).add_(mean)
    return out.normal_(0, std, generator=generator).add_(mean)  # which keeps its shape


def _refuse_negative(std: Tensor) -> None:
    """On the CPU a kernel without results, so that compiled steps stay one program; a GPU's host waits, as in PyTorch."""
    said = "normal expects all elements of std >= 0.0"
    if std.is_cpu:
        check_values(_from_zero_on, std, said)
    elif not bool((std >= 0).all()):
        raise RuntimeError(said)


def _from_zero_on(a: Array, message: str) -> None:
    """A test: nan is not."""
    if not (a >= 0).all():
        raise RuntimeError(message)


def _normal_around(mean: Any, std: Any, generator: Any) -> Tensor:
    like = mean if isinstance(mean, Tensor) else std
    shape = broadcast_shapes(*[v._a.shape for v in (mean, std) if isinstance(v, Tensor)])
    floating("normal_kernel_cpu", like.dtype)
    unit = draw(RANDOM, generator, like.device, kind="normal", size=shape, dtype=like.dtype, args=())
    given = [v for v in (mean, std) if isinstance(v, Tensor)]
    mean, std = [v.detach() if isinstance(v, Tensor) else v for v in (mean, std)]
    made = unit * std + mean
    if here.grad and any(v.requires_grad for v in given):
        return _around(made, given[0], given[-1])
    return made


# Numbers that were drawn, in the graph of the mean and the deviation: PyTorch derives them to zero.
_around = Op(
    lambda xp, drawn, mean, std: drawn.copy(), "drawn_around", grad_name="NormalBackward0",
    meta=lambda drawn, mean, std: (drawn.shape, drawn.dtype),
)  # fmt: skip
_around.derivative(mean=lambda g, mean: mean.new_zeros(mean._a.shape), std=lambda g, std: std.new_zeros(std._a.shape))


# -- integers --------------------------------------------------------------------------------------


def check_span(low: int, high: int, d: dtype) -> None:
    """Whether there are whole numbers between two ends, and `d` holds both of them."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if d.category > dtypes.FLOATING:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if d.category == dtypes.BOOL:
        bottom, top = 0, 1
    else:
        limits: Any = dtypes.finfo(d) if d.category == dtypes.FLOATING else dtypes.iinfo(d)
        bottom, top = int(limits.min), int(limits.max)
    if low < bottom:
        raise RuntimeError(f"from is out of bounds for {d.name}: {low} < {bottom}")
    if high - 1 > top:
        raise RuntimeError(f"to - 1 is out of bounds for {d.name}: {high - 1} > {top}")


@public("torch")
def randint(
    *args: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Random whole numbers, each equally likely; called as `randint(high, size)` or `randint(low, high, size)`.

    Args:
        args: the numbers above, by position.
        low: the smallest number; 0 if not given.
        high: the number above the largest.
        size: a tuple with the size of every dimension.

    Raises:
        RuntimeError: if `high` is not above `low`.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.randint(10, (5,))
        tensor([4, 9, 3, 0, 3])
    """
    given = list(args)
    if size is None:
        if not given or not isinstance(given[-1], (tuple, list)):
            bad = type(given[-1]).__name__ if len(given) > 1 else "nothing"
            raise TypeError(f"randint(): argument 'size' (position 2) must be tuple of ints, not {bad}")
        size = given.pop()
    if high is None:
        if not given:
            raise TypeError('randint() missing 1 required positional arguments: "high"')
        high = given.pop()
    if low is None:
        low = given.pop() if given else 0
    if low.__class__ is not int or high.__class__ is not int:
        low, high = int(number(low)), int(number(high))
    low, high = whole(low, "low"), whole(high, "high")
    d = out.dtype if out is not None and dtype is None else as_dtype(dtype or dtypes.int64)
    if d is not dtypes.int64 or low >= high:
        check_span(low, high, d)
    where = out.device if out is not None and device is None else device
    return draw(RANDINT, generator, where, requires_grad, out, pin_memory, layout, low=low,
                high=high, size=sizes("randint", (size,)), dtype=d)  # fmt: skip


@public("torch")
def randint_like(
    input: Tensor,
    low: Any = None,
    high: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Random whole numbers in the shape and dtype of another tensor; `randint_like(x, high)` or `(x, low, high)`.

    Args:
        low: the smallest number.
        high: the number above the largest.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.randint_like(torch.zeros(3), 10)
        tensor([4., 9., 3.])
    """
    if high is None:
        low, high = 0, low
    if high.__class__ is bool or low.__class__ is bool:
        raise TypeError("randint_like(): argument 'high' must be int, not bool")
    d = input.dtype if dtype is None else as_dtype(dtype)
    where = input.device if device is None else device
    t = randint(0 if low is None else low, high, tuple(input._a.shape), dtype=d, device=where,
                generator=generator, pin_memory=pin_memory, layout=layout)  # fmt: skip
    t = ordered_like(t, input, memory_format)
    return t.requires_grad_() if requires_grad else t


@public("torch")
def randperm(
    n: int,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The numbers from 0 to n - 1 in random order.

    Args:
        n: how many.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.randperm(5)
        tensor([4, 0, 1, 3, 2])
    """
    d = out.dtype if out is not None and dtype is None else as_dtype(dtype or dtypes.int64)
    size = sizes("randperm", (whole(n, "n"),))
    _check_counted(size[0], d)
    return draw(RANDPERM, generator, device, requires_grad, out, pin_memory, layout, size=size, dtype=d)


def _check_counted(n: int, d: dtype) -> None:
    """Whether `d` holds every whole number below `n`."""
    if d.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise NotImplementedError(f"\"randperm\" not implemented for '{dtypes.title(d)}'")
    if d.category == dtypes.FLOATING:
        most = int(2 / float(dtypes.finfo(d).eps)) + 1
        if n > most and d is not dtypes.bfloat16:  # there PyTorch rounds
            raise RuntimeError(f"n cannot be greater than {most} for {dtypes.title(d)} type.")
    elif n - 1 > dtypes.iinfo(d).max:
        raise RuntimeError(f"value cannot be converted to type {d.name} without overflow")
