"""Usual calls by the C extension (`native/`), where it was built; each answers None where Python has to do it.

Usual is: the Functions that are listed below and Variables, Parameters and Weights themselves, as they were written. What
somebody has derived, or replaced in a class of ours, is called in Python.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..core.exposed import exposed
from ..core.gradients.tape import AccumulateGrad, numbers
from ..core.modes import switches
from ..runtime.door import KERNELS, run
from ..runtime.thread import CASTING, FOREIGN, GRAD, INFERENCE, PACKING, TRACED, WATCHED, here

native: Any
try:  # by its name: `from . import` would ask the package, which is not complete yet
    native = import_module(f"{__package__}._in_c")
except ImportError:  # not built here
    native = None
if getattr(native, "EDITION", 0) != 4:  # built before the latest functions were written
    native = None

VARIABLE, LINEAR, SINGLE, ENTROPY = range(4)
_FUNCTIONS = (
    "linear",
    "single",
    "entropy",
    "describe",
    "accept",
    "params",
    "cleargrads",
    "update",
)
# What Python itself adds, when it is asked for or an object is copied.
_NO_CHANGE = frozenset(
    ("__annotations__", "__annotations_cache__", "__annotate_func__", "__doc__", "__slotnames__")
)


def _not_here(*args: Any) -> None:
    """What every function answers without C."""


class Quick:
    """The functions in C, or such that leave everything to Python."""

    linear: Any
    single: Any
    entropy: Any
    describe: Any
    accept: Any
    params: Any
    cleargrads: Any
    update: Any

    def __init__(self) -> None:
        self.written: dict[type, dict[str, Any]] = {}  # classes as they were
        self.off()

    def off(self) -> None:
        """Do everything in Python."""
        for name in _FUNCTIONS:
            setattr(self, name, _not_here)

    def on(self) -> None:
        """Do in C what can be done there."""
        if native is not None and self.written:
            for name in _FUNCTIONS:
                setattr(self, name, getattr(native, name))

    def know(
        self, functions: list[tuple[type, int, Any]], variables: list[type], **names: Any
    ) -> None:
        """Everything is defined: classes are as they were written, from now on changes are somebody's."""
        if native is None:
            return
        for cls in [c for c, _, _ in functions] + variables:
            self.written.update({c: _body(c) for c in cls.__mro__[:-1]})
        native.setup(dict(_NAMES, as_written=self.as_written, **names))
        for cls in variables:
            native.know(cls, VARIABLE, None)
        for cls, kind, kernel in functions:
            native.know(cls, kind, kernel)
        self.on()

    def as_written(self, cls: type) -> bool:
        """Whether nothing of a class, or of those that it is derived from, has been replaced or added."""
        getattr(
            cls, "__init__", None
        )  # a look-up gives the class a number again, if it has lost that
        written = self.written
        return all(c in written and _is_same(_body(c), written[c]) for c in cls.__mro__[:-1])


def _body(cls: type) -> dict[str, Any]:
    return {k: v for k, v in vars(cls).items() if k not in _NO_CHANGE}


def _is_same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(v is b[k] for k, v in a.items())


_NAMES = {
    "here": here, "switches": switches, "exposed": exposed, "roots": exposed.roots, "numbers": numbers, "run": run, "AccumulateGrad": AccumulateGrad,
    "float32": np.dtype("f4"), "float64": np.dtype("f8"), "int64": np.dtype("l"), "ndarray": np.ndarray,
    "linear_kernel": KERNELS["linear"], "entropy_kernel": KERNELS["cross_entropy_fused"],
    "GRAD": GRAD, "INFERENCE": INFERENCE, "CASTING": CASTING, "WATCHED": WATCHED, "TRACED": TRACED,
    "FOREIGN": FOREIGN, "PACKING": PACKING,
}  # fmt: skip

quick = Quick()
