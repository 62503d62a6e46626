"""`FloatStorage` and the like: PyTorch's older names for the memory of tensors of one dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import dtypes
from .storage import TypedStorage

_DTYPES = {
    "BFloat16Storage": dtypes.bfloat16, "BoolStorage": dtypes.bool_, "ByteStorage": dtypes.uint8,
    "CharStorage": dtypes.int8, "ComplexDoubleStorage": dtypes.complex128,
    "ComplexFloatStorage": dtypes.complex64, "DoubleStorage": dtypes.float64, "FloatStorage": dtypes.float32,
    "HalfStorage": dtypes.float16, "IntStorage": dtypes.int32, "LongStorage": dtypes.int64,
    "ShortStorage": dtypes.int16,
}  # fmt: skip


class _OfOneDtype(type):
    """Storages of the right dtype are instances of such a class; what it makes is a TypedStorage."""

    dtype: Any

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, TypedStorage) and value.dtype == cls.dtype

    def __call__(cls, *args: Any) -> Any:
        given = args[0] if args else 0
        if isinstance(given, int):
            return TypedStorage(np.zeros(given, cls.dtype.np))
        values = given.tolist() if isinstance(given, TypedStorage) else given
        return TypedStorage(np.array(values, cls.dtype.np))

    def from_buffer(cls, buffer: Any, byte_order: str = "native") -> Any:
        """The elements in a piece of memory, copied; `byte_order` is native, little or big."""
        order = {"native": "=", "little": "<", "big": ">"}[byte_order]
        kind = cls.dtype.np if cls.dtype.np.kind == "V" else cls.dtype.np.newbyteorder(order)
        return TypedStorage(np.frombuffer(buffer, kind).astype(cls.dtype.np))

    _from_buffer = from_buffer  # the name that packed objects come by


TYPES = {
    name: _OfOneDtype(
        name,
        (),
        {
            "dtype": dtype,
            "__module__": __name__.partition(".")[0],  # where users and files find it
            "__doc__": f"As `TypedStorage`, of {dtype.name}: the older name.",
        },
    )
    for name, dtype in _DTYPES.items()
}
Storage = TYPES["FloatStorage"]  # the old name of numbers in the usual dtype
