# ruff: noqa: F401 - what is imported here is public
"""rushlight: a small, quick deep-learning framework shaped like PyTorch."""

from __future__ import annotations

import math as _math
import sys as _sys
from os import path as _files
from typing import Any as _Any

from . import operators as _ops  # defines every op
from .base import dtypes as _dtypes
from .base import formats as _formats
from .base.device import device, get_default_device, set_default_device
from .base.dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from .base.errors import AcceleratorError, OutOfMemoryError
from .base.formats import layout, memory_format, qscheme
from .base.shapes import Size
from .base.signatures import show_plainly as _show_plainly
from .base.spelling import modules as _modules
from .base.tracebacks import install as _shorten_tracebacks
from .core.compiling import meeting as _meeting
from .core.hot import bar as _bar
from .core.hot import meeting as _hot_loops
from .core.hot import trace_scripts as _trace_scripts
from .core.hot import tracing
from .core.modes import (
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .core.overriding import arming as _arming
from .core.public import NAMESPACES as _NAMESPACES
from .core.tensor import Tensor
from .runtime import cpu as _cpu  # registers the CPU
from .runtime.wrapped import answer as _wrapped
from .version import __version__

# PyTorch's names that are no engine lie apart in the source; a wheel has them in this folder.
_NAMES = _files.join(_files.dirname(_files.dirname(__file__)), "torch_names", "rushlight")
if _files.isdir(_NAMES):
    __path__.append(_NAMES)


class _Aliases:
    """Asked after everybody else: whether a module of ours is one more path to names that lie elsewhere."""

    @staticmethod
    def find_spec(name: str, path: _Any = None, target: _Any = None) -> _Any:
        if not name.startswith(f"{__spec__.name}."):
            return None
        from ._names.aliases import spec_of

        return spec_of(name)


def _load_classes() -> None:
    """Loads what asks `__torch_dispatch__` of classes, when the first tensor is made of others."""
    from ._aten import classes  # noqa: F401


def _compile(*args: _Any, **kwargs: _Any) -> _Any:
    """Loads `capture` when a module is compiled and nobody else has loaded it."""
    from .capture import compile

    return compile(*args, **kwargs)


def _arm(cls: _Any) -> None:
    """Loads what makes public functions ask their arguments' classes, for programs that have such a class."""
    from .core.arming import arm

    arm(cls)


def _tracer(watch: _Any) -> _Any:
    """Loads `capture` when a loop repeats, see core/hot.py; None where its part in C was not built."""
    from .capture.in_c import native

    if native is None:
        _bar("its part in C was not built here")
        return None
    from .capture.loops.tracer import Tracer

    return Tracer(watch)


def _load(path: str) -> _Any:
    """A module of this package, for who reads and writes names in files."""
    from pkgutil import resolve_name

    return resolve_name(f"{__spec__.name}.{path}".rstrip("."))


_sys.meta_path.append(_Aliases)  # type: ignore[arg-type]
_modules.load = _load
_shorten_tracebacks()
_hot_loops.tracer = _tracer
_trace_scripts()
_meeting.compile = _compile
_arming.arm = _arm
_wrapped.load = _load_classes

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
newaxis = None
legacy_contiguous_format = _formats.contiguous_format

# float32, int64, ...; `float`, `long`, ...; channels_last, ...; and what every op published.
_constants: tuple[_Any, ...] = (
    *_dtypes.ALL,
    *_dtypes.FLOAT8,
    *_dtypes.NAMED,
    *_formats.FORMATS,
    *_formats.LAYOUTS,
    *_formats.NAMED,
    *_formats.QSCHEMES.values(),
)
_collected = {c.name: c for c in _constants} | _dtypes.ALIASES | _NAMESPACES["torch"]
globals().update(_collected)
_show_plainly(
    (Tensor, device, no_grad, enable_grad, inference_mode, set_grad_enabled, set_default_dtype, set_default_device)
)


def __getattr__(name: str) -> _Any:
    from ._names.lookup import find

    return find(name)


def __dir__() -> list[str]:
    from ._names.lookup import listing

    return listing(globals())
