"""rushlight: a small, quick deep-learning framework shaped like PyTorch."""

from __future__ import annotations

from .backend import cpu as _cpu  # noqa: F401 - registers the CPU
from .base.device import device, get_default_device, set_default_device  # noqa: F401
from .base.dtypes import dtype, finfo, iinfo  # noqa: F401
from .base.shapes import Size  # noqa: F401
from .core.tensor import Tensor  # noqa: F401
from . import ops as _ops  # noqa: F401
