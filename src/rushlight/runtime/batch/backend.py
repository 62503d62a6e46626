"""What a kernel does with the arrays of samples: all samples at once where a rule says how, else one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.arrays import KernelBody, KernelLike
from ...base.device import CPU, device
from .. import devices
from ..door import Kernel, run
from ..thread import here
from . import layers, rules  # noqa: F401 - rules of layers register themselves
from .arrays import BatchedArray, Level, SharedWrite, ValuesWanted, compute, highest, make, samples
from .calls import MappedCall


class BatchedBackend(devices.OverOthers):
    """Binds every kernel to a call over all samples. It has no memory, and no name users could give."""

    type = "batched"
    array_type = BatchedArray

    def device_of(self, a: BatchedArray) -> device:
        return devices.device_of(a.held)

    def bind(self, kernel: KernelLike) -> KernelBody:
        return lambda *arrays, **attrs: over_samples(kernel, arrays, attrs)

    def to_host(self, a: BatchedArray) -> np.ndarray:
        every = compute("host_read", a.held)
        if a.level.size and np.array_equal(every, np.broadcast_to(every[:1], every.shape)):
            return every[0]  # whoever asks goes the same way for all samples
        raise ValuesWanted(
            "vmap: It looks like you're calling .item() on a Tensor, or using one in some data-dependent control "
            "flow. We don't support vmap over that, please try to rewrite what you're doing with other operations."
        )


_OF_MEMORY = frozenset(("lay_out", "resize"))


def over_samples(kernel: Any, arrays: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """A kernel's results for every sample."""
    if kernel.name == "host_read":
        return devices.backend_of_type(BatchedArray).to_host(arrays[0])
    level = highest(arrays)
    if level is None:  # memory for a new tensor beside one: of the device it names
        cls = devices.backend_of(attrs["device"]).array_type
        return kernel.resolve(cls)(*arrays, **attrs)
    if kernel.name in _OF_MEMORY:
        raise ValuesWanted(f"vmap: {kernel.name} reads memory as it lies, which is that of all samples")
    if kernel.name == "as_strided":
        return _strided_samples(level, arrays[0].held, **attrs)
    call = MappedCall(kernel, level, arrays, attrs)
    if (kernel.random and kernel.name != "check") or "stream" in attrs:
        return _drawn(call)
    if kernel.mutates:
        return _changed(call)
    rule = rules.rule_of(kernel)
    out = NotImplemented if rule is None else rule(call)
    return one_by_one(call) if out is NotImplemented else _made(level, out)


def _strided_samples(level: Level, held: Any, size: tuple, stride: tuple, offset: int, home: Any) -> Any:
    """A view of memory by strides, for every sample: the samples lie as they lie in the array of all."""
    step = held.strides[0] // held.dtype.itemsize
    whole = ((level.size, *home[0]), (step, *home[1]), home[2])
    out = compute("as_strided", held, size=(level.size, *size), stride=(step, *stride), offset=offset, home=whole)
    return make(level, out)


def _made(level: Level, out: Any) -> Any:
    if out.__class__ is tuple:
        return tuple([None if o is None else make(level, o) for o in out])
    return make(level, out)


def one_by_one(call: MappedCall, before_each: Callable[[], None] | None = None) -> Any:
    """A kernel that no rule is known for: each sample, and the results stacked."""
    results = []
    for i in range(call.level.size):
        if before_each is not None:
            before_each()
        results.append(compute(call.kernel, *call.sample(i), **call.attrs))
    if not results:
        raise RuntimeError(f"vmap: {call.kernel.name} of no sample")
    if not isinstance(results[0], tuple):
        return _joined(call.level, results)
    return tuple([_joined(call.level, column) for column in zip(*results)])


def _joined(level: Level, column: Sequence[Any]) -> Any:
    if column[0] is None:
        return None
    if any(a.shape != column[0].shape for a in column):
        raise ValuesWanted("vmap: the shape of a result depends on values, which differ between samples")
    return make(level, compute("stack", *column, dim=0))


def _changed(call: MappedCall) -> Any:
    """A kernel that writes into its first array."""
    target = call.arrays[0]
    level = call.level
    if not call.mapped[0]:
        raise SharedWrite(
            f"vmap: {call.kernel.name} is not possible: a tensor that all samples share would have to hold the values "
            "of each of them. Make it from a tensor that is mapped over, as by torch.zeros_like or new_zeros, or use an "
            "operation that does not change it.",
            target,
        )
    level.changed = True
    rule = rules.CHANGING.get(call.kernel.name)
    if rule is None:
        for i in range(level.size):
            compute(call.kernel, *call.sample(i), **call.attrs)
    else:
        rule(call)
    return target


def refuse_draws(level: Level) -> None:
    """Raise where a mapped function draws random numbers, and was not said to."""
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def _drawn(call: MappedCall) -> Any:
    """A kernel that draws beside arrays: the same numbers for all samples, or others for each."""
    refuse_draws(call.level)
    streams = [devices.backend_of(CPU).stream(CPU), *devices.open_streams("cuda")]
    if call.level.randomness == "different":
        return one_by_one(call)
    states = [s.get_state() for s in streams]

    def again() -> None:
        for stream, state in zip(streams, states):
            stream.set_state(state)

    return one_by_one(call, again)


def drawn(kernel: Kernel, cls: type, arrays: tuple, attrs: dict[str, Any]) -> Any:
    """New random numbers inside of mapped functions: for each sample, unless all of them share the same."""
    levels = [v for v in here.vmaps if v.randomness != "same"]
    for level in levels:
        refuse_draws(level)
    if not levels:
        return run(kernel, cls, arrays, attrs)
    if kernel.name == "randperm":
        out = _orders([v.size for v in levels], lambda: run(kernel, cls, arrays, attrs))
    else:
        size = (*[v.size for v in levels], *attrs["size"])
        out = run(kernel, cls, arrays, {**attrs, "size": size})
    for level in levels:  # the outermost has the lowest number, and its dim is the first
        out = make(level, out)
    return out


def _orders(sizes: list[int], draw: Callable[[], Any]) -> Any:
    if not sizes:
        return draw()
    return compute("stack", *[_orders(sizes[1:], draw) for _ in range(sizes[0])], dim=0)


devices.register_type(BatchedBackend())
samples.drawn = drawn
