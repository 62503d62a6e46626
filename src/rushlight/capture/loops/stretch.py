"""A stretch: what a recorder writes down of the kernels between two places of a loop, and what it lets run at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...core.tensor import Tensor
from ...core.values import HOST_READ
from ...runtime.door import Kernel
from ...runtime.thread import here
from ..program.refuse import breaks
from ..record.recorder import Recorder, RecorderRule, at_once, is_array, strange_use, values_decide

LONGEST = 20_000  # kernels of one stretch


class RuleOfStretches(RecorderRule):
    """Python will run again, so kernels that prepare what comes from outside run at once, and a kernel that cannot wait is a place.

    Everything that no kernel of the stretch made comes from outside, and is held until two stretches were compared.
    """

    def __init__(self, tracer: Any) -> None:
        self.tracer, self.quiet = tracer, tracer.quiet

    def meets(
        self, recorder: Recorder, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]
    ) -> Callable[[Callable[[], Any]], Any] | None:
        tracer = self.tracer
        why = strange_use(arrays)
        if why is None and is_transparent(kernel, arrays, attrs, recorder.made):
            return at_once
        if tracer.is_loose(kernel) and not any(map(recorder.made, arrays)):
            return at_once
        fits = partial(_fits, recorder)
        if why is None and is_place(kernel, arrays, recorder.waits, fits, attrs):
            return partial(tracer.at_kernel, kernel)
        if len(recorder.instructions) > LONGEST:
            why = f"has more than {LONGEST} kernels between two places"
        elif any(map(_has_tensor, attrs.values())):
            # a number given as a tensor: the kernel's own body will read it, and that is a place
            why = f"gives {kernel.name} a tensor in place of a number"
        if why is None:
            return None
        recorder.complain(why)
        tracer.interrupt(recorder.why)
        return at_once


def _fits(recorder: Recorder, a: Any, size: int) -> bool:
    """Whether positions are known to lie in [0, size), also in replays."""
    slot = recorder.slot_of(a) if is_array(a) else None
    return recorder.bounds.fits(slot, a, size, here.walk is not None)


def is_place(
    kernel: Kernel,
    arrays: Sequence[Any],
    is_made: Callable[[Any], bool],
    fits: Callable[[Any, int], bool] | None = None,
    attrs: dict[str, Any] | None = None,
) -> bool:
    """Whether a stretch ends in front of a kernel: the host, or the next kernel's shape, needs its values."""
    if kernel is HOST_READ or values_decide(kernel, arrays):
        return True
    if breaks(kernel, arrays, is_made, fits, attrs):
        return True
    return kernel.name == "move" and any(is_array(a) and not is_host(a) for a in arrays)


def is_transparent(
    kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], is_made: Callable[[Any], bool]
) -> bool:
    """Whether a kernel is always run at once, so that its result is one more input of the path.

    It brings the host's values to a device, or prepares indices and labels, whose values may have to be looked at.
    """
    if kernel.name == "move":
        to = attrs.get("to")
        away = getattr(to, "type", "cpu") not in ("cpu", "meta")
        return away and is_array(arrays[0]) and is_host(arrays[0]) and not is_made(arrays[0])
    found = [a for a in arrays if is_array(a)]
    if not found or not changes_nothing(kernel, attrs):
        return False
    return all(a.dtype.kind in "iub" and not is_made(a) for a in found)


def changes_nothing(kernel: Kernel, attrs: dict[str, Any]) -> bool:
    """Whether a kernel writes nowhere and draws no random numbers."""
    return not (kernel.mutates or kernel.random or "stream" in attrs)


def _has_tensor(value: Any) -> bool:
    if value.__class__ in (tuple, list):
        return any(map(_has_tensor, value))
    return isinstance(value, Tensor)


def is_host(a: Any) -> bool:
    return a.__class__.__module__ == "numpy"
