"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from .base.device import device as _device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.formats import qscheme as _qscheme
from .base.formats import memory_format as _memory_format
from .base.shapes import Size as _Size
from .core.tensor import Tensor as _Tensor
from .operators.random.generator import Generator as _Generator

class aminmax(NamedTuple):
    min: _Tensor
    max: _Tensor
class cummax(NamedTuple):
    values: _Tensor
    indices: _Tensor
class cummin(NamedTuple):
    values: _Tensor
    indices: _Tensor
class frexp(NamedTuple):
    mantissa: _Tensor
    exponent: _Tensor
class histogram(NamedTuple):
    hist: _Tensor
    bin_edges: _Tensor
class kthvalue(NamedTuple):
    values: _Tensor
    indices: _Tensor
class max(NamedTuple):
    values: _Tensor
    indices: _Tensor
class median(NamedTuple):
    values: _Tensor
    indices: _Tensor
class min(NamedTuple):
    values: _Tensor
    indices: _Tensor
class mode(NamedTuple):
    values: _Tensor
    indices: _Tensor
class nanmedian(NamedTuple):
    values: _Tensor
    indices: _Tensor
class sort(NamedTuple):
    values: _Tensor
    indices: _Tensor
class topk(NamedTuple):
    values: _Tensor
    indices: _Tensor
