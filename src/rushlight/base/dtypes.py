"""Element types: their names, their NumPy counterparts and PyTorch's promotion lattice."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .config import settings

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)  # categories, in the order promotion climbs
_QUANTIZED = {"qint8": 1, "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1}  # bytes
_NARROW = [f"{kind}{n}" for kind in ("uint", "int") for n in range(1, 8)]
_NO_VALUES = frozenset(["complex32", *_NARROW, *_QUANTIZED])  # of `NAMED` below


class dtype:  # noqa: N801 - the name users print
    """The type of a tensor's elements: `torch.float32`, `torch.int64` and so on.

    Args:
        name: its name; there are no others than those of this module.
        itemsize: the bytes of one element.
        category: truth values, integers, floating point or complex numbers.
        signed: it has negative numbers.

    Example:
        >>> torch.float16.itemsize, torch.float16.is_floating_point
        (2, True)
    """

    __slots__ = ("name", "itemsize", "category", "is_signed", "_np")

    name: str
    itemsize: int
    category: int
    is_signed: bool
    _np: np.dtype | None

    def __init__(self, name: str, itemsize: int, category: int, signed: bool = True) -> None:
        self.name = name
        self.itemsize = itemsize
        self.category = category
        self.is_signed = signed
        late = name == "bfloat16" or "float8" in name or name in _NO_VALUES
        self._np = None if late else np.dtype(name)

    @property
    def np(self) -> np.dtype:
        """The NumPy dtype; bfloat16 and float8 come from ml_dtypes, imported on first use."""
        if self._np is None:
            if self.name in _NO_VALUES:
                raise NotImplementedError(
                    f"{self!r}: rushlight knows the name of this dtype, but makes no tensors of it. "
                    "Use one that is wider."
                )
            import ml_dtypes

            self._np = np.dtype(getattr(ml_dtypes, self.name))
        return self._np

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    def to_real(self) -> dtype:
        """The dtype of the parts of a complex number; real dtypes are their own.

        Example:
            >>> torch.complex64.to_real()
            torch.float32
        """
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex dtype whose parts have this one.

        Example:
            >>> torch.float64.to_complex()
            torch.complex128
        """
        return {"float32": complex64, "float64": complex128}.get(self.name, complex64)

    def __repr__(self) -> str:
        return f"{settings.module}.{self.name}"

    def __reduce__(self) -> Any:
        return (by_name, (self.name,))

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: dict) -> dtype:
        return self


bool_ = dtype("bool", 1, BOOL, signed=False)
uint8 = dtype("uint8", 1, INTEGRAL, signed=False)
int8 = dtype("int8", 1, INTEGRAL)
int16 = dtype("int16", 2, INTEGRAL)
int32 = dtype("int32", 4, INTEGRAL)
int64 = dtype("int64", 8, INTEGRAL)
uint16 = dtype("uint16", 2, INTEGRAL, signed=False)
uint32 = dtype("uint32", 4, INTEGRAL, signed=False)
uint64 = dtype("uint64", 8, INTEGRAL, signed=False)
float16 = dtype("float16", 2, FLOATING)
bfloat16 = dtype("bfloat16", 2, FLOATING)
float32 = dtype("float32", 4, FLOATING)
float64 = dtype("float64", 8, FLOATING)
complex64 = dtype("complex64", 8, COMPLEX)
complex128 = dtype("complex128", 16, COMPLEX)

ALL = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip

# Types to keep numbers in, which are cast before one computes with them.
FLOAT8 = tuple(
    [
        dtype(f"float8_{kind}", 1, FLOATING, signed=kind != "e8m0fnu")
        for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
    ]
)

# Types that libraries compare others with; no tensor has them.
NAMED = (
    dtype("complex32", 4, COMPLEX), *[dtype(n, 1, INTEGRAL, signed=n[0] == "i") for n in _NARROW],
    *[dtype(n, size, INTEGRAL) for n, size in _QUANTIZED.items()],
)  # fmt: skip

_by_name = {d.name: d for d in (*ALL, *FLOAT8, *NAMED)}
by_np: dict[np.dtype, dtype] = {d._np: d for d in ALL if d._np is not None}

# PyTorch's second names; `rushlight.float` is float32, `rushlight.long` is int64.
ALIASES = {
    "bool": bool_, "float": float32, "double": float64, "half": float16, "long": int64,
    "int": int32, "short": int16, "chalf": NAMED[0], "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip

# PyTorch's older names, of which "FloatTensor", "LongStorage" and the words of its messages are made.
TITLES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float",
    "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip

_C_NAMES = {
    "float32": "float", "float64": "double", "int64": "long int", "int32": "int", "int16": "short",
    "int8": "signed char", "uint8": "unsigned char", "bool": "bool", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip

_PYTHON_TYPES = {bool: bool_, int: int64, float: float64, complex: complex128}

_default = float32


def by_name(name: str) -> dtype:
    return _by_name[name]


def title(d: dtype) -> str:
    """`Float` for float32, as in "expected scalar type Float"."""
    return TITLES.get(d.name) or d.name.replace("uint", "UInt").replace("float", "Float")


def c_name(d: dtype) -> str:
    """`long int` for int64, as in "Input type (long int)"."""
    return _C_NAMES.get(d.name, d.name)


def from_np(np_dtype: Any) -> dtype:
    """Our dtype for a NumPy (or CuPy) dtype; TypeError in PyTorch's words when there is none."""
    found = by_np.get(np_dtype)
    if found is None:
        np_dtype = np.dtype(np_dtype)
        found = by_np.get(np_dtype)
        if found is None:
            if np_dtype.name == "bfloat16" or ("float8" in np_dtype.name and np_dtype.name in _by_name):
                found = _by_name[np_dtype.name]
                by_np[found.np] = found
            elif np_dtype.newbyteorder("=") in by_np:
                raise ValueError(
                    "given numpy array has byte order different from the native byte order. "
                    "Conversion between byte orders is currently not supported; "
                    "call .astype(arr.dtype.newbyteorder('=')) first."
                )
            else:
                raise TypeError(
                    f"can't convert np.ndarray of type numpy.{np_dtype}. The only supported types "
                    "are: float64, float32, float16, bfloat16, complex64, complex128, int64, int32,"
                    " int16, int8, uint64, uint32, uint16, uint8, and bool."
                )
    return found


def as_dtype(value: Any) -> dtype:
    """Accept what users pass as `dtype=`: ours, Python's float/int/bool/complex, NumPy's."""
    if type(value) is dtype:
        return value
    if value in _PYTHON_TYPES:
        return _PYTHON_TYPES[value]
    if isinstance(value, (np.dtype, type)) and not isinstance(value, str):
        return from_np(np.dtype(value))
    raise TypeError(f"dtype must be a {settings.module}.dtype, not {type(value).__name__}")


def get_default_dtype() -> dtype:
    """The dtype of Python floats and of creation functions without `dtype=`.

    Example:
        >>> torch.get_default_dtype()
        torch.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of Python floats and of creation functions without `dtype=`.

    Args:
        d: a floating point dtype.

    Raises:
        TypeError: for other dtypes.

    Example:
        >>> torch.set_default_dtype(torch.float64)
        >>> torch.tensor([1.0]).dtype
        torch.float64
        >>> torch.set_default_dtype(torch.float32)
    """
    global _default
    if type(d) is not dtype or d.category != FLOATING:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


_INT_RANK = {"uint8": 1, "int8": 1, "int16": 2, "int32": 3, "int64": 4}


@cache
def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest dtype that holds both, by PyTorch's table."""
    if a is b:
        return a
    if a.category != b.category:
        low, high = (a, b) if a.category < b.category else (b, a)
        if high.category == COMPLEX and low.category == FLOATING:
            return complex128 if low is float64 or high is complex128 else complex64
        return high
    if a.category == INTEGRAL:
        return _promote_integers(a, b)
    if a.category == FLOATING:
        if a in FLOAT8 or b in FLOAT8:
            raise RuntimeError(
                f"Promotion for Float8 Types is not supported, attempted to promote {title(a)} and {title(b)}"
            )
        if float64 in (a, b):
            return float64
        return float32  # float16 with bfloat16, or either with float32
    return complex128


def _promote_integers(a: dtype, b: dtype) -> dtype:
    if a.name not in _INT_RANK or b.name not in _INT_RANK:
        raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported: {a}, {b}")
    if uint8 in (a, b):
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    return a if _INT_RANK[a.name] >= _INT_RANK[b.name] else b


def scalar_dtype(value: Any) -> dtype:
    """The dtype a Python number stands for."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    if isinstance(value, (complex, np.complexfloating)):
        return _default.to_complex()
    raise TypeError(f"expected a number, got {type(value).__name__}")


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place write of `from_` into `to` is allowed."""
    if from_.category > to.category:
        return False
    return not (to.category == BOOL and from_.category != BOOL)


class finfo:  # noqa: N801
    """The limits of a floating point dtype: `bits`, `eps`, `max`, `min`, `tiny`, `resolution`.

    Args:
        d: the dtype; the default one if not given.

    Raises:
        TypeError: for other dtypes.

    Example:
        >>> torch.finfo(torch.float16).max
        65504.0
    """

    def __init__(self, d: dtype | None = None) -> None:
        d = _default if d is None else as_dtype(d)
        if d.category not in (FLOATING, COMPLEX):
            raise TypeError(
                f"{settings.module}.finfo() requires a floating point input type. Use "
                f"{settings.module}.iinfo to handle '{settings.module}.finfo'"
            )
        real = d.to_real()
        if real is bfloat16 or real in FLOAT8:
            import ml_dtypes

            info: Any = ml_dtypes.finfo(real.np)
        else:
            info = np.finfo(real.np)
        self.bits = real.itemsize * 8
        # PyTorch gives float8_e5m2fnuz the epsilon of the format with one bit more.
        self.eps = 0.125 if real.name == "float8_e5m2fnuz" else float(info.eps)
        self.max = float(info.max)
        self.min = float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = 1.0 if real in FLOAT8 else 10.0**-info.precision
        self.dtype = real.name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, "
            f"tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:  # noqa: N801
    """The limits of an integer dtype: `bits`, `max`, `min`.

    Args:
        d: the dtype.

    Raises:
        TypeError: for other dtypes.

    Example:
        >>> torch.iinfo(torch.int8).max
        127
    """

    def __init__(self, d: dtype) -> None:
        d = as_dtype(d)
        if d.category != INTEGRAL:
            raise TypeError(
                f"{settings.module}.iinfo() requires an integer input type. Use "
                f"{settings.module}.finfo to handle '{settings.module}.iinfo'"
            )
        info = np.iinfo(d.np)
        self.bits = info.bits
        self.max = int(info.max)
        self.min = int(info.min)
        self.dtype = d.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
