"""rushlight: a small, quick deep-learning framework shaped like PyTorch."""

from __future__ import annotations

import math as _math
from typing import Any as _Any

from . import ops as _ops
from .backend import cpu as _cpu
from .base import dtypes as _dtypes
from .base import formats as _formats
from .base.device import device, get_default_device, set_default_device
from .base.dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from .base.formats import layout, memory_format
from .base.shapes import Size
from .core.modes import (
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .core.public import NAMESPACES as _NAMESPACES
from .core.tensor import Tensor

__version__ = "0.1.0"

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
newaxis = None

for _d in _dtypes.ALL:
    globals()[_d.name] = _d
globals().update(_dtypes.ALIASES)
for _f in (*_formats.FORMATS, _formats.strided):
    globals()[_f.name] = _f
globals().update(_NAMESPACES["torch"])
del _d, _f


def __getattr__(name: str) -> _Any:
    from .namespace import find

    return find(name)
