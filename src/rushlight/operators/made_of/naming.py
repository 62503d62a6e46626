"""The names PyTorch's messages use for dtypes."""

from __future__ import annotations

from ...base.dtypes import dtype

_TITLES = {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
           "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
           "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}  # fmt: skip

_C_NAMES = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int",
            "int16": "short", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
            "float16": "c10::Half", "bfloat16": "c10::BFloat16",
            "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}  # fmt: skip


def title(d: dtype) -> str:
    """`Float` for float32, as in "expected scalar type Float"."""
    return _TITLES.get(d.name, d.name)


def c_name(d: dtype) -> str:
    """`long int` for int64, as in "Input type (long int)"."""
    return _C_NAMES.get(d.name, d.name)
