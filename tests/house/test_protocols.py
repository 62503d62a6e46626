"""What the Protocols of the inside promise: NumPy, CuPy and the device meta have each name, and importing rushlight costs nothing for them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from imports import modules
from rushlight.base import protocols
from rushlight.base.array_module import ArrayModule, Ufunc
from rushlight.runtime import devices
from rushlight.runtime.meta_array import MetaArray


def members(protocol: type) -> list[str]:
    """What a Protocol asks for, with its bases'."""
    return sorted(
        {
            n
            for c in protocol.__mro__
            if getattr(c, "_is_protocol", False)
            for n in (*vars(c), *vars(c).get("__annotations__", ()))
            if wanted(n)
        }
    )


def wanted(name: str) -> bool:
    own = name.startswith("__") and name not in ("__add__", "__getitem__", "__call__")
    return not own and not name.startswith("_abc") and name not in ("_is_protocol", "_is_runtime_protocol")


def missing(protocol: type, thing: object) -> list[str]:
    return [name for name in members(protocol) if not hasattr(thing, name)]


def test_numpy_is_what_bodies_ask_for():
    assert len(members(ArrayModule)) > 80 and len(members(protocols.Array)) > 30
    assert missing(ArrayModule, np) == []
    assert missing(protocols.Array, np.zeros(2)) == []
    assert missing(Ufunc, np.add) == []


def test_cupy_is_what_bodies_ask_for():
    cupy = pytest.importorskip("cupy", exc_type=ImportError)
    assert missing(ArrayModule, cupy) == []
    assert missing(protocols.DeviceArray, cupy.ndarray) == []
    assert missing(Ufunc, cupy.add) == []


def test_arrays_without_data_have_shapes_and_are_no_arrays_to_compute_with():
    made = MetaArray.of((2, 3), np.float32)
    assert missing(protocols.Shaped, made) == []
    assert "__add__" in missing(protocols.Array, made)


def test_streams_of_every_device_here_draw_alike():
    stream = devices.backend_of(devices.device("cpu")).stream(devices.device("cpu"))
    assert missing(protocols.RandomStream, stream) == []


def test_ufuncs_are_ufuncs():
    said = [n for n, kind in ArrayModule.__annotations__.items() if kind == "Ufunc"]
    assert len(said) > 20
    assert [n for n in said if not isinstance(getattr(np, n), np.ufunc)] == []


def test_import_does_not_pay_for_them():
    assert "rushlight.base.protocols" in modules() or "base.protocols" in modules()
    code = "import sys, rushlight; print([m for m in sys.modules if m.endswith(('protocols', 'array_module')) and 'rushlight' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
