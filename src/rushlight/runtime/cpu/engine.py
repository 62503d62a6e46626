"""The CPU engine: which native library computes in front of the NumPy bodies, and how to change it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...base.config import settings
from .. import door
from . import threads

# Tried in this order by "auto"; "numpy" is always there. oneDNN exists on x86-64 only, and leaves to the
# native engine all that it does no better (benchmarks/results/xeon.md).
NAMES = ("onednn", "native")


class Engine(Protocol):
    """A library of kernels for NumPy arrays."""

    name: str

    def version(self) -> str: ...
    def instruction_set(self) -> str: ...
    def kernel(self, name: str, otherwise: Callable[..., Any]) -> Callable[..., Any] | None: ...
    def set_threads(self, n: int) -> None: ...

    def set_same_bits(self, on: bool) -> None: ...
    def stop(self) -> None: ...
    def watch(self, on: bool) -> None: ...
    def conversions(self) -> list[tuple[str, int, float, int]]: ...


class EngineInfo(NamedTuple):
    """What `rushlight devices` shows of the CPU."""

    name: str
    version: str
    instruction_set: str
    threads: int


class _InUse:
    """The engine that computes, once one was chosen."""

    engine: Engine | None = None
    chosen = False

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}  # why an engine could not be had, for error messages


_in_use = _InUse()


def active() -> Engine | None:
    """The engine in use, loaded on first call; None where NumPy computes alone."""
    if not _in_use.chosen:
        _change(_choose(settings.cpu_engine))
    return _in_use.engine


def _change(to: Engine | None) -> None:
    if _in_use.engine is not None:
        _in_use.engine.stop()
    _in_use.engine, _in_use.chosen = to, True
    threads.tell(to)


def _choose(name: str) -> Engine | None:
    if name == "numpy":
        return None
    if name == "auto":
        return next((e for e in map(_load, NAMES) if e is not None), None)
    if name not in NAMES:
        raise ValueError(f"no CPU engine {name!r}: choose one of auto, numpy, {', '.join(NAMES)}")
    found = _load(name)
    if found is None:
        raise RuntimeError(f"the CPU engine {name!r} cannot be used here: {_in_use.reasons[name]}")
    return found


def _load(name: str) -> Engine | None:
    try:
        return import_module(f"{__package__}.engine_{name}").load()
    except (ImportError, OSError, AttributeError) as error:  # the last: a library without a function
        _in_use.reasons[name] = str(error)
        return None


def reason_against(name: str) -> str | None:
    """Why an engine cannot be used on this machine, or None if it can."""
    used = active()
    if (used is not None and used.name == name) or _load(name) is not None:
        return None
    return _in_use.reasons[name]


def use(name: str) -> None:
    """Switch to another engine ("auto", "numpy", "native", "onednn") for everything from now on."""
    _change(_choose(name))
    settings.cpu_engine = name
    for kernel in door.KERNELS.values():  # bound again, to the new engine, on their next call
        kernel.impls.pop(np.ndarray, None)


def engine_info() -> EngineInfo:
    """Name, version, instruction set and threads of the engine in use."""
    engine = active()
    if engine is None:
        return EngineInfo("numpy", np.__version__, capability(), threads.get())
    return EngineInfo(engine.name, engine.version(), engine.instruction_set(), threads.get())


def capability() -> str:
    """The widest vector instructions that NumPy found, in PyTorch's words."""
    from numpy._core._multiarray_umath import __cpu_features__ as found

    for feature, name in (("AVX512_SKX", "AVX512"), ("AVX2", "AVX2"), ("SVE", "SVE")):
        if found.get(feature):
            return name
    return "DEFAULT"
