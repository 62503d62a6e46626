"""ArrayModule: the names that generic kernel bodies ask of `xp`, which NumPy and CuPy both have.

Read by type checkers, and by the test that looks for each name in both libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Attribute: TypeAlias = Callable[..., Any]  # a method or a function of an array library


class Ufunc(Protocol):
    """An elementwise function of an array module, with what it can do along an axis or at places."""

    def __call__(self, *operands: Any, **options: Any) -> Any: ...
    @property
    def at(self) -> Attribute: ...
    @property
    def reduce(self) -> Attribute: ...


class ArrayModule(Protocol):
    """The array module `xp` that a generic kernel body is given: every name that bodies ask of it, which NumPy and CuPy both have.

    A name that is missing here is a mistake in the body, or one to add after a look at both libraries.
    """

    abs: Ufunc
    add: Ufunc
    all: Attribute
    angle: Attribute
    any: Attribute
    arange: Attribute
    argpartition: Attribute
    argsort: Attribute
    array: Attribute
    asarray: Attribute
    ascontiguousarray: Attribute
    bincount: Attribute
    broadcast: Attribute
    broadcast_arrays: Attribute
    broadcast_to: Attribute
    clip: Attribute
    complex128: type[Any]
    complex64: type[Any]
    concatenate: Attribute
    copysign: Ufunc
    copyto: Attribute
    cos: Ufunc
    cumprod: Attribute
    cumsum: Attribute
    diagonal: Attribute
    diff: Attribute
    dot: Attribute
    empty: Attribute
    empty_like: Attribute
    equal: Ufunc
    exp: Ufunc
    exp2: Ufunc
    expand_dims: Attribute
    expm1: Ufunc
    eye: Attribute
    fft: Any
    flatnonzero: Attribute
    float32: type[Any]
    float64: type[Any]
    floor: Ufunc
    floor_divide: Ufunc
    fmax: Ufunc
    frexp: Ufunc
    from_dlpack: Attribute
    full: Attribute
    full_like: Attribute
    i0: Attribute
    inf: float
    int32: type[Any]
    int64: type[Any]
    int8: type[Any]
    isfinite: Ufunc
    isinf: Ufunc
    isnan: Ufunc
    ldexp: Ufunc
    lib: Any
    linalg: Any
    log: Ufunc
    log1p: Ufunc
    log2: Ufunc
    logaddexp: Ufunc
    matmul: Attribute
    maximum: Ufunc
    may_share_memory: Attribute
    minimum: Ufunc
    moveaxis: Attribute
    multiply: Ufunc
    nan: float
    negative: Ufunc
    nonzero: Attribute
    ones: Attribute
    ones_like: Attribute
    pi: float
    power: Ufunc
    random: Any
    reciprocal: Ufunc
    repeat: Attribute
    rint: Ufunc
    searchsorted: Attribute
    sign: Ufunc
    sin: Ufunc
    sort: Attribute
    sqrt: Ufunc
    stack: Attribute
    subtract: Ufunc
    take: Attribute
    take_along_axis: Attribute
    tan: Ufunc
    tanh: Ufunc
    true_divide: Ufunc
    trunc: Ufunc
    uint8: type[Any]
    unique: Attribute
    where: Attribute
    zeros: Attribute
    zeros_like: Attribute
