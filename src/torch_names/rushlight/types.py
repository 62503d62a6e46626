"""`torch.types`: names for what signatures accept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any

from .base.device import device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.shapes import Size as _Size
from .core.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number = int | float | bool
Device = device | str | int | None
FileLike = str | os.PathLike | IO[bytes]
Storage = Any

_TensorOrTensors = Tensor | Sequence[Tensor]
_size = _Size | list[int] | tuple[int, ...]
_int, _float, _bool, _complex = int, float, bool, complex
_device = device
_symbols = (_dtype, _layout)
