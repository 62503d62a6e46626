"""The scaling of gradients for mixed precision: one launch per gradient, the flag stays on the GPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ....base.arrays import DeviceArray
from ....base.dtypes import from_np
from ...door import kernel_for
from ..code.compile import kernel, source
from ..code.generate import PRELUDE, TYPES


@lru_cache(64)
def source_for(name: str) -> str:
    """The kernel for one dtype."""
    return f"{PRELUDE}\ntypedef {TYPES[name][0]} S;\n{source('scaling.cu')}"


@kernel_for("cuda", "amp_unscale")
def _unscale(found: DeviceArray, inverse: DeviceArray, *grads: DeviceArray) -> Any:
    plain = all(g._c_contiguous and g.dtype.kind in "fV" for g in grads)
    if not plain or found.dtype != np.float32 or inverse.dtype != np.float32:
        return NotImplemented
    flag, by = found.data.ptr, inverse.data.ptr
    for g in grads:
        n = g.size
        if n:
            launch = kernel(source_for(from_np(g.dtype).name), "unscale")
            launch.go(min(-(-n // 256), 4096), 256, n, g.data.ptr, flag, by)
    return ()
