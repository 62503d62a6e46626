"""NumPy or CuPy: which one an array belongs to, and the way from one to the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import cuda as _cuda
from ..core.tensor import wrap
from ._arrays import is_cupy
from ._bare import outside


def __getattr__(name: str) -> Any:
    """`gpu_enable` and `cupy`, found out when somebody asks: CuPy takes a second to import."""
    value: Any
    if name == "gpu_enable":
        value = _cuda.is_available()
    elif name in ("cupy", "cp"):
        if not _enabled():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}: CuPy is not here")
        import cupy

        value = cupy
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _enabled() -> bool:
    """`gpu_enable` as it is now; users may set it."""
    return globals()["gpu_enable"] if "gpu_enable" in globals() else __getattr__("gpu_enable")


def _data_of(x: Any) -> Any:
    from ._graph import Traced

    return x.data if isinstance(x, Traced) else x


def _kind_of(x: Any) -> Any:
    """The array whose kind is asked for; its values are not."""
    from ._graph import Traced

    return x._data if isinstance(x, Traced) else x


def get_array_module(x: Any) -> Any:
    """`cupy` for CuPy's arrays and Variables over them, `numpy` for everything else."""
    if is_cupy(_kind_of(x)):
        import cupy

        return cupy
    return np


def as_numpy(x: Any) -> np.ndarray:
    """The values as a NumPy array; one that is a NumPy array already is returned as it is."""
    x = _data_of(x)
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array(x)
    if is_cupy(x):
        import cupy

        return cupy.asnumpy(x)
    return np.asarray(x)


def as_cupy(x: Any) -> Any:
    """The values as a CuPy array on the current GPU."""
    x = _data_of(x)
    if not _enabled():
        raise Exception("CuPy cannot be loaded. Install CuPy!")
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        return outside(lambda: wrap(x).to("cuda")._a)
    import cupy

    return cupy.asarray(x)
