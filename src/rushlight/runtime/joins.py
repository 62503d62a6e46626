"""What a device says about kernels that do the work of several: whether they fit it, and whether they pay.

Passes know programs and no device. Before one puts a joined kernel in the place of its parts, it asks here; the answers
are in `runtime/<device>/joins.py`, which needs no device to be there. An op that can be computed in parts asks here, too,
whether its device has one kernel for it (`Op.is_whole`, `Op.joins`), so that no function of users asks for a device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from . import devices
from .door import Kernel

# An instruction as these questions see it has `name`, `inputs`, `attrs` and `outputs`; what stands for an array in it
# has `shape`, `dtype`, `strides`, `size`, `nbytes` and `dense`.
Fits = Callable[[Any], bool]
Pays = Callable[[Any, Sequence[Any]], bool]


class Answer(NamedTuple):
    """For one joined kernel on one device."""

    fits: Fits  # whether the kernel can compute this: dtypes, tile sizes, shared memory
    pays: Pays  # whether it takes less time than the parts it stands for


_answers: dict[str, dict[str, Answer]] = {}  # by device type and joined kernel


def always(*_: Any) -> bool:
    """The answer of kernels that fit everything, or save something whatever the sizes."""
    return True


def declare(device_type: str, *names: str, fits: Fits = always, pays: Pays = always) -> None:
    """Say what a device joins, and when."""
    table = _answers.setdefault(device_type, {})
    for name in names:
        table[name] = Answer(fits, pays)


class Whole(NamedTuple):
    """Whether a device has one kernel for an op, and whether a recorder is shown it."""

    is_one: bool
    recorded: bool


def whole(device_type: str, kernel: Kernel) -> Whole:
    """Whether a kernel that could be computed in parts is one on a device: its record says so, or there is a body of its own."""
    recorded = (kernel.facts.one_kernel or {}).get(device_type)
    if recorded is not None:
        return Whole(True, recorded)
    return Whole(kernel.name in devices.overrides(device_type), False)


def _of(device_type: str) -> dict[str, Answer]:
    if device_type not in _answers:
        try:
            policy(device_type)
        except ModuleNotFoundError:  # shapes without memory and the like have nothing to say
            pass
    return _answers.setdefault(device_type, {})


def policy(device_type: str) -> Any:
    """A device's own file of answers: beside the joined kernels, how it fuses and how arrays lie best."""
    return import_module(f"{__package__}.{device_type}.joins")


def knows(device_type: str, name: str) -> bool:
    """Whether a device has anything to say about a joined kernel."""
    return name in _of(device_type)


def takes(device_type: str, made: Any, parts: Sequence[Any]) -> bool:
    """Whether `made` may stand for `parts` there: it fits and it pays."""
    found = _of(device_type).get(made.name)
    return found is not None and found.fits(made) and found.pays(made, parts)
