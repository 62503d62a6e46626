"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .base.device import device as _device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.formats import memory_format as _memory_format
from .base.shapes import Size as _Size
from .core.tensor import Tensor as _Tensor
from .operators.random.generator import Generator as _Generator

from . import accelerator as accelerator
from . import amp as amp
from . import autograd as autograd
from . import backends as backends
from . import capture as capture
from . import cli as cli
from . import compiler as compiler
from . import cpu as cpu
from . import cuda as cuda
from . import data as data
from . import dezero as dezero
from . import distributed as distributed
from . import distributions as distributions
from . import export as export
from . import fft as fft
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from . import hub as hub
from . import io as io
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import mps as mps
from . import mtia as mtia
from . import multiprocessing as multiprocessing
from . import nested as nested
from . import nn as nn
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from . import profiler as profiler
from . import quasirandom as quasirandom
from . import random as random
from . import return_types as return_types
from . import serialization as serialization
from . import sparse as sparse
from . import special as special
from . import storage as storage
from . import testing as testing
from . import torch_version as torch_version
from . import types as types
from . import utils as utils
from . import version as version
from . import vision as vision
from . import xpu as xpu
from ._autocast_names import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from ._autocast_names import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from ._autocast_names import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from ._device_module import get_device_module as get_device_module
from ._loops import cond as cond
from ._loops import while_loop as while_loop
from ._lowrank import pca_lowrank as pca_lowrank
from ._lowrank import svd_lowrank as svd_lowrank
from ._symbols import SymBool as SymBool
from ._symbols import SymFloat as SymFloat
from ._symbols import SymInt as SymInt
from ._symbols import sym_float as sym_float
from ._symbols import sym_int as sym_int
from ._symbols import sym_ite as sym_ite
from ._symbols import sym_max as sym_max
from ._symbols import sym_min as sym_min
from ._symbols import sym_not as sym_not
from ._symbols import sym_sum as sym_sum
from .amp.autocast import autocast as autocast
from .amp.autocast import get_autocast_dtype as get_autocast_dtype
from .amp.autocast import is_autocast_enabled as is_autocast_enabled
from .amp.autocast import set_autocast_enabled as set_autocast_enabled
from .autograd.batched import vmap as vmap
from .base.device import device as device
from .base.device import get_default_device as get_default_device
from .base.device import set_default_device as set_default_device
from .base.dtypes import dtype as dtype
from .base.dtypes import finfo as finfo
from .base.dtypes import get_default_dtype as get_default_dtype
from .base.dtypes import iinfo as iinfo
from .base.dtypes import set_default_dtype as set_default_dtype
from .base.errors import AcceleratorError as AcceleratorError
from .base.errors import OutOfMemoryError as OutOfMemoryError
from .base.formats import layout as layout
from .base.formats import memory_format as memory_format
from .base.shapes import Size as Size
from .capture.compiled import compile as compile
from .cli.alias import as_torch as as_torch
from .core.hot import tracing as tracing
from .core.modes import enable_grad as enable_grad
from .core.modes import inference_mode as inference_mode
from .core.modes import is_anomaly_enabled as is_anomaly_enabled
from .core.modes import is_grad_enabled as is_grad_enabled
from .core.modes import is_inference_mode_enabled as is_inference_mode_enabled
from .core.modes import no_grad as no_grad
from .core.modes import set_grad_enabled as set_grad_enabled
from .core.overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .core.printing import set_printoptions as set_printoptions
from .core.tensor import Tensor as Tensor
from .cuda.streams import Event as Event
from .cuda.streams import Stream as Stream
from .futures import Future as Future
from .io.pth import load as load
from .io.pth import save as save
from .jit import ScriptFunction as ScriptFunction
from .jit import ScriptModule as ScriptModule
from .operators.memory.storage import TypedStorage as TypedStorage
from .operators.memory.storage import UntypedStorage as UntypedStorage
from .operators.random.generator import Generator as Generator
PyTorchFileReader: Any
class BFloat16Tensor(_Tensor): ...
class BoolTensor(_Tensor): ...
class ByteTensor(_Tensor): ...
class CharTensor(_Tensor): ...
class DoubleTensor(_Tensor): ...
class FloatTensor(_Tensor): ...
class HalfTensor(_Tensor): ...
class IntTensor(_Tensor): ...
class LongTensor(_Tensor): ...
class ShortTensor(_Tensor): ...

__version__: _b.str
bfloat16: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
channels_last: _memory_format
channels_last_3d: _memory_format
complex128: _dtype
complex32: _dtype
complex64: _dtype
contiguous_format: _memory_format
double: _dtype
e: _b.float
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
inf: _b.float
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
jagged: _layout
legacy_contiguous_format: _memory_format
long: _dtype
nan: _b.float
newaxis: None
pi: _b.float
preserve_format: _memory_format
short: _dtype
sparse_bsc: _layout
sparse_bsr: _layout
sparse_coo: _layout
sparse_csc: _layout
sparse_csr: _layout
strided: _layout
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype

def _assert(condition: _b.object, message: _b.str) -> None:
    """`assert` as a function."""
def _foreach_abs(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`abs` of every tensor of a list."""
def _foreach_abs_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`abs` of every tensor of a list, in place."""
def _foreach_acos(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`acos` of every tensor of a list."""
def _foreach_acos_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`acos` of every tensor of a list, in place."""
def _foreach_add(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`add` of every tensor of a list."""
def _foreach_add_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`add` of every tensor of a list, in place."""
def _foreach_addcdiv(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`addcdiv` of every tensor of a list."""
def _foreach_addcdiv_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`addcdiv` of every tensor of a list, in place."""
def _foreach_addcmul(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`addcmul` of every tensor of a list."""
def _foreach_addcmul_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`addcmul` of every tensor of a list, in place."""
def _foreach_asin(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`asin` of every tensor of a list."""
def _foreach_asin_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`asin` of every tensor of a list, in place."""
def _foreach_atan(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`atan` of every tensor of a list."""
def _foreach_atan_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`atan` of every tensor of a list, in place."""
def _foreach_ceil(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`ceil` of every tensor of a list."""
def _foreach_ceil_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`ceil` of every tensor of a list, in place."""
def _foreach_clamp_max(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`clamp_max` of every tensor of a list."""
def _foreach_clamp_max_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`clamp_max` of every tensor of a list, in place."""
def _foreach_clamp_min(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`clamp_min` of every tensor of a list."""
def _foreach_clamp_min_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`clamp_min` of every tensor of a list, in place."""
def _foreach_clone(self: Any, *, memory_format: _memory_format | None = None) -> _b.tuple[_Tensor, ...]:
    """A copy of every tensor of a list."""
def _foreach_copy_(self: Any, src: Any, non_blocking: _b.bool = False) -> Any:
    """Every tensor of a list takes the values of its partner."""
def _foreach_cos(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`cos` of every tensor of a list."""
def _foreach_cos_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`cos` of every tensor of a list, in place."""
def _foreach_cosh(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`cosh` of every tensor of a list."""
def _foreach_cosh_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`cosh` of every tensor of a list, in place."""
def _foreach_div(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`div` of every tensor of a list."""
def _foreach_div_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`div` of every tensor of a list, in place."""
def _foreach_erf(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`erf` of every tensor of a list."""
def _foreach_erf_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`erf` of every tensor of a list, in place."""
def _foreach_erfc(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`erfc` of every tensor of a list."""
def _foreach_erfc_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`erfc` of every tensor of a list, in place."""
def _foreach_exp(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`exp` of every tensor of a list."""
def _foreach_exp_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`exp` of every tensor of a list, in place."""
def _foreach_expm1(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`expm1` of every tensor of a list."""
def _foreach_expm1_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`expm1` of every tensor of a list, in place."""
def _foreach_floor(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`floor` of every tensor of a list."""
def _foreach_floor_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`floor` of every tensor of a list, in place."""
def _foreach_frac(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`frac` of every tensor of a list."""
def _foreach_frac_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`frac` of every tensor of a list, in place."""
def _foreach_lerp(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`lerp` of every tensor of a list."""
def _foreach_lerp_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`lerp` of every tensor of a list, in place."""
def _foreach_lgamma(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`lgamma` of every tensor of a list."""
def _foreach_lgamma_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`lgamma` of every tensor of a list, in place."""
def _foreach_log(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`log` of every tensor of a list."""
def _foreach_log10(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`log10` of every tensor of a list."""
def _foreach_log10_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`log10` of every tensor of a list, in place."""
def _foreach_log1p(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`log1p` of every tensor of a list."""
def _foreach_log1p_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`log1p` of every tensor of a list, in place."""
def _foreach_log2(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`log2` of every tensor of a list."""
def _foreach_log2_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`log2` of every tensor of a list, in place."""
def _foreach_log_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`log` of every tensor of a list, in place."""
def _foreach_max(self: Any) -> _b.tuple[_Tensor, ...]:
    """The largest element of every tensor of a list."""
def _foreach_maximum(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`maximum` of every tensor of a list."""
def _foreach_maximum_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`maximum` of every tensor of a list, in place."""
def _foreach_minimum(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`minimum` of every tensor of a list."""
def _foreach_minimum_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`minimum` of every tensor of a list, in place."""
def _foreach_mm(self: Any, mat2: Any) -> _b.tuple[_Tensor, ...]:
    """Products of matrices, pair by pair."""
def _foreach_mul(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`mul` of every tensor of a list."""
def _foreach_mul_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`mul` of every tensor of a list, in place."""
def _foreach_neg(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`neg` of every tensor of a list."""
def _foreach_neg_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`neg` of every tensor of a list, in place."""
def _foreach_norm(self: Any, ord: _b.float = 2, dtype: _dtype | None = None) -> _b.tuple[_Tensor, ...]:
    """The norm of every tensor of a list as if it were a vector."""
def _foreach_pow(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`pow` of every tensor of a list."""
def _foreach_pow_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`pow` of every tensor of a list, in place."""
def _foreach_powsum(self: Any, ord: _b.float = 2, dtype: _dtype | None = None) -> _b.tuple[_Tensor, ...]:
    """The sum of the powers of the sizes of each tensor's elements."""
def _foreach_reciprocal(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`reciprocal` of every tensor of a list."""
def _foreach_reciprocal_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`reciprocal` of every tensor of a list, in place."""
def _foreach_round(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`round` of every tensor of a list."""
def _foreach_round_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`round` of every tensor of a list, in place."""
def _foreach_rsqrt(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`rsqrt` of every tensor of a list."""
def _foreach_rsqrt_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`rsqrt` of every tensor of a list, in place."""
def _foreach_sigmoid(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sigmoid` of every tensor of a list."""
def _foreach_sigmoid_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`sigmoid` of every tensor of a list, in place."""
def _foreach_sign(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sign` of every tensor of a list."""
def _foreach_sign_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`sign` of every tensor of a list, in place."""
def _foreach_sin(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sin` of every tensor of a list."""
def _foreach_sin_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`sin` of every tensor of a list, in place."""
def _foreach_sinh(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sinh` of every tensor of a list."""
def _foreach_sinh_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`sinh` of every tensor of a list, in place."""
def _foreach_sqrt(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sqrt` of every tensor of a list."""
def _foreach_sqrt_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`sqrt` of every tensor of a list, in place."""
def _foreach_sub(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`sub` of every tensor of a list."""
def _foreach_sub_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`sub` of every tensor of a list, in place."""
def _foreach_tan(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`tan` of every tensor of a list."""
def _foreach_tan_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`tan` of every tensor of a list, in place."""
def _foreach_tanh(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`tanh` of every tensor of a list."""
def _foreach_tanh_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`tanh` of every tensor of a list, in place."""
def _foreach_trunc(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`trunc` of every tensor of a list."""
def _foreach_trunc_(self: Any, *args: Any, **kwargs: Any) -> _Tensor:
    """`trunc` of every tensor of a list, in place."""
def _foreach_zero_(self: Any) -> Any:
    """Every tensor of a list becomes zero."""
def _sample_dirichlet(input: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Points of the simplex along the last dim, of the concentrations that stand there."""
def _standard_gamma(input: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Gamma numbers of rate 1 whose shape parameters are the elements of `input`."""
def abs(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The distance of every element from zero."""
def abs_(input: _Tensor) -> _Tensor:
    """In-place version of `abs`."""
def absolute(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The distance of every element from zero."""
def absolute_(input: _Tensor) -> _Tensor:
    """In-place version of `absolute`."""
def acos(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse cosine."""
def acos_(input: _Tensor) -> _Tensor:
    """In-place version of `acos`."""
def acosh(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse hyperbolic cosine."""
def acosh_(input: _Tensor) -> _Tensor:
    """In-place version of `acosh`."""
def adaptive_avg_pool1d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None) -> _Tensor:
    """The mean over 1-d windows chosen so that the result has `output_size`."""
def adaptive_max_pool1d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]: ...
def add(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
    """`input + alpha * other`."""
def add_(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
    """In-place version of `add`."""
def addbmm(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
def addbmm_(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
    """In-place version of `addbmm`."""
def addcdiv(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1, out: Any = None) -> _Tensor:
    """`input + value * tensor1 / tensor2`."""
def addcdiv_(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1) -> _Tensor:
    """In-place version of `addcdiv`."""
def addcmul(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1, out: Any = None) -> _Tensor:
    """`input + value * tensor1 * tensor2`."""
def addcmul_(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1) -> _Tensor:
    """In-place version of `addcmul`."""
def addmm(input: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
def addmm_(input: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
    """In-place version of `addmm`."""
def addmv(input: _Tensor, mat: _Tensor, vec: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
def addmv_(input: _Tensor, mat: _Tensor, vec: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
    """In-place version of `addmv`."""
def addr(input: _Tensor, vec1: _Tensor, vec2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def addr_(input: _Tensor, vec1: _Tensor, vec2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
    """In-place version of `addr`."""
def adjoint(input: _Tensor) -> _Tensor:
    """The conjugate transpose of the last two dims."""
def alias_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `alias`, in new memory."""
def all(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
    """Whether all elements (over `dim`) are not zero."""
def allclose(input: _Tensor, other: _Tensor, rtol: _b.float = 1e-05, atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _b.bool:
    """Whether all elements are close."""
def alpha_dropout(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`alpha_dropout` of nn.functional, with the arguments of the top namespace."""
def alpha_dropout_(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`alpha_dropout` of nn.functional, with the arguments of the top namespace."""
def amax(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
    """The largest elements over `dim`; equal ones share the gradient."""
def amin(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
    """The smallest elements over `dim`; equal ones share the gradient."""
def aminmax(input: _Tensor, *, dim: _b.int | None = None, keepdim: _b.bool = False, out: Any = None) -> Any:
    """The smallest and the largest elements over `dim`."""
def angle(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The angle in radians: pi for negative real numbers, 0 for positive ones."""
def any(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
    """Whether any element (over `dim`) is not zero."""
def arange(*bounds: _b.complex, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """The numbers from `start` (0) to `end`, `end` excluded, in steps of `step` (1)."""
def arccos(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse cosine."""
def arccos_(input: _Tensor) -> _Tensor:
    """In-place version of `arccos`."""
def arccosh(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse hyperbolic cosine."""
def arccosh_(input: _Tensor) -> _Tensor:
    """In-place version of `arccosh`."""
def arcsin(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse sine."""
def arcsin_(input: _Tensor) -> _Tensor:
    """In-place version of `arcsin`."""
def arcsinh(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse hyperbolic sine."""
def arcsinh_(input: _Tensor) -> _Tensor:
    """In-place version of `arcsinh`."""
def arctan(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse tangent."""
def arctan2(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The angle of the vector (other, input)."""
def arctan2_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `arctan2`."""
def arctan_(input: _Tensor) -> _Tensor:
    """In-place version of `arctan`."""
def arctanh(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse hyperbolic tangent."""
def arctanh_(input: _Tensor) -> _Tensor:
    """In-place version of `arctanh`."""
def are_deterministic_algorithms_enabled() -> _b.bool:
    """Whether only deterministic kernels are allowed."""
def argmax(input: _Tensor, dim: _b.int | None = None, keepdim: _b.bool = False, *, out: Any = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """The index of the largest element, the first of equal ones."""
def argmin(input: _Tensor, dim: _b.int | None = None, keepdim: _b.bool = False, *, out: Any = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """The index of the smallest element, the first of equal ones."""
def argsort(input: _Tensor, dim: _b.int = -1, descending: _b.bool = False, stable: _b.bool = False, *, out: Any = None) -> _Tensor:
    """The indices that put the elements in order along `dim`."""
def argwhere(input: _Tensor) -> _Tensor:
    """The positions of the elements that are not zero, as rows."""
def as_strided(input: _Tensor, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
    """A view of `input`'s memory with the given sizes and strides (in elements)."""
def as_strided_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `as_strided`, in new memory."""
def as_strided_scatter(input: _Tensor, src: _Tensor, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
    """A copy of `input` with `src` where `as_strided` would show it."""
def as_tensor(data: Any, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """`data` as a tensor, sharing memory and history where it can."""
def asarray(obj: Any, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, copy: _b.bool | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """`obj` as a tensor; `copy=False` refuses to copy, `copy=True` always does."""
def asin(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse sine."""
def asin_(input: _Tensor) -> _Tensor:
    """In-place version of `asin`."""
def asinh(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse hyperbolic sine."""
def asinh_(input: _Tensor) -> _Tensor:
    """In-place version of `asinh`."""
def atan(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse tangent."""
def atan2(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The angle of the vector (other, input)."""
def atan2_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `atan2`."""
def atan_(input: _Tensor) -> _Tensor:
    """In-place version of `atan`."""
def atanh(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse hyperbolic tangent."""
def atanh_(input: _Tensor) -> _Tensor:
    """In-place version of `atanh`."""
def atleast_1d(*tensors: _Tensor) -> Any:
    """The tensors with dims of size 1 added up to 1."""
def atleast_2d(*tensors: _Tensor) -> Any:
    """The tensors with dims of size 1 added up to 2."""
def atleast_3d(*tensors: _Tensor) -> Any:
    """The tensors with dims of size 1 added up to 3."""
def avg_pool1d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _b.int | None = None) -> _Tensor:
    """The mean of every 1-d window."""
def baddbmm(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
def baddbmm_(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
    """In-place version of `baddbmm`."""
def bartlett_window(window_length: _b.int, periodic: _b.bool = True, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """A triangle."""
def batch_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, training: _b.bool, momentum: _b.float, eps: _b.float, cudnn_enabled: _b.bool = True) -> _Tensor:
    """`nn.functional.batch_norm` with the argument order of the top namespace."""
def bernoulli(input: _Tensor, p: Any = None, *, generator: _Generator | None = None, out: Any = None) -> _Tensor:
    """Ones and zeros; `input` holds the probability of a one, unless `p` gives it for all."""
def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """`input1 @ weight[o] @ input2 + bias[o]` for every output `o`."""
def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, pos_weight: _Tensor | None = None, reduction: Any = 1) -> _Tensor:
    """The form of the top namespace; `reduction` is 0 none, 1 mean, 2 sum."""
def bincount(input: _Tensor, weights: _Tensor | None = None, minlength: _b.int = 0) -> _Tensor:
    """How often each non-negative integer occurs (or the sum of its weights)."""
def binomial(count: _Tensor, prob: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """How many of `count` trials succeed when each does with probability `prob`."""
def bitwise_and(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input & other`."""
def bitwise_and_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `bitwise_and`."""
def bitwise_left_shift(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input << other`."""
def bitwise_left_shift_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `bitwise_left_shift`."""
def bitwise_not(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`~input`."""
def bitwise_not_(input: _Tensor) -> _Tensor:
    """In-place version of `bitwise_not`."""
def bitwise_or(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input | other`."""
def bitwise_or_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `bitwise_or`."""
def bitwise_right_shift(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input >> other`."""
def bitwise_right_shift_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `bitwise_right_shift`."""
def bitwise_xor(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input ^ other`."""
def bitwise_xor_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `bitwise_xor`."""
def blackman_window(window_length: _b.int, periodic: _b.bool = True, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """Two cosines that fall off faster than one."""
def block_diag(*tensors: _Tensor) -> _Tensor:
    """The matrices along the diagonal of a larger one that is zero elsewhere."""
def bmm(input: _Tensor, mat2: _Tensor, *, out: Any = None) -> _Tensor:
    """A batch of matrix products, one per entry of dim 0."""
def broadcast_shapes(*shapes: Any) -> _Size:
    """The shape several shapes broadcast to."""
def broadcast_tensors(*tensors: _Tensor) -> _b.tuple[_Tensor, ...]:
    """All tensors expanded to their common shape."""
def broadcast_to(input: _Tensor, size: _b.int | Sequence[_b.int]) -> _Tensor:
    """`input` expanded to `size`."""
def bucketize(input: _Tensor | _b.complex, boundaries: _Tensor, *, out_int32: _b.bool = False, right: _b.bool = False, out: Any = None) -> _Tensor:
    """The index of the bucket, between `boundaries`, that each value falls into."""
def can_cast(from_: Any, to: Any) -> _b.bool:
    """Whether a result of dtype `from_` may be written into a tensor of dtype `to`."""
def cartesian_prod(*tensors: _Tensor) -> _Tensor:
    """Every combination of one element from each vector, as rows."""
def cat(tensors: Sequence[_Tensor], dim: _b.int = 0, *, out: Any = None) -> _Tensor:
    """The tensors one after the other along an existing dim."""
def cdist(x1: _Tensor, x2: _Tensor, p: _b.float = 2.0, compute_mode: _b.str = 'use_mm_for_euclid_dist_if_necessary') -> _Tensor:
    """The p-norm distance of every row of `x1` to every row of `x2`, batch by batch."""
def ceil(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The smallest integer not below."""
def ceil_(input: _Tensor) -> _Tensor:
    """In-place version of `ceil`."""
def celu(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """x, or `alpha * (exp(x / alpha) - 1)` where x is negative."""
def celu_(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `celu`."""
def chain_matmul(*matrices: _Tensor, out: Any = None) -> _Tensor:
    """The old name of `linalg.multi_dot`, matrices given one by one."""
def channel_shuffle(input: _Tensor, groups: _b.int) -> _Tensor:
    """Deal the channels of (N, C, *) out to `groups` in turn."""
def cholesky(input: _Tensor, upper: _b.bool = False, *, out: Any = None) -> _Tensor:
    """The older spelling of `linalg.cholesky`."""
def cholesky_inverse(L: _Tensor, upper: _b.bool = False, *, out: Any = None) -> _Tensor:
    """The inverse of A from its Cholesky factor."""
def cholesky_solve(B: _Tensor, L: _Tensor, upper: _b.bool = False, *, out: Any = None) -> _Tensor:
    """X with `A X = B` from the Cholesky factor of A."""
def chunk(input: _Tensor, chunks: _b.int, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
    """At most `chunks` parts of equal length, the last one shorter."""
def clamp(input: _Tensor, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None, *, out: Any = None) -> _Tensor:
    """Every element moved into [min, max]; bounds are numbers or tensors."""
def clamp_(input: _Tensor, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None) -> _Tensor:
    """In-place version of `clamp`."""
def clamp_max(input: _Tensor, max: _Tensor | _b.complex | None, *, out: Any = None) -> _Tensor:
    """Every element moved down to at most `max`."""
def clamp_max_(input: _Tensor, max: _Tensor | _b.complex | None) -> _Tensor:
    """In-place version of `clamp_max`."""
def clamp_min(input: _Tensor, min: _Tensor | _b.complex | None, *, out: Any = None) -> _Tensor:
    """Every element moved up to at least `min`."""
def clamp_min_(input: _Tensor, min: _Tensor | _b.complex | None) -> _Tensor:
    """In-place version of `clamp_min`."""
def clip(input: _Tensor, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None, *, out: Any = None) -> _Tensor:
    """Every element moved into [min, max]; bounds are numbers or tensors."""
def clip_(input: _Tensor, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None) -> _Tensor:
    """In-place version of `clip`."""
def clone(input: _Tensor, *, memory_format: _memory_format | None = None) -> _Tensor:
    """A copy in new memory; gradients flow back to `input`."""
def column_stack(tensors: Sequence[_Tensor], *, out: Any = None) -> _Tensor:
    """Side by side, vectors as columns."""
def combinations(input: _Tensor, r: _b.int = 2, with_replacement: _b.bool = False) -> _Tensor:
    """Every choice of `r` elements of a vector, as rows."""
def complex(real: _Tensor, imag: _Tensor, *, out: Any = None) -> _Tensor:
    """`real + 1j * imag`."""
def concat(tensors: Sequence[_Tensor], dim: _b.int = 0, *, out: Any = None) -> _Tensor:
    """The tensors one after the other along an existing dim."""
def concatenate(tensors: Sequence[_Tensor], dim: _b.int = 0, *, out: Any = None) -> _Tensor:
    """The tensors one after the other along an existing dim."""
def conj(input: _Tensor) -> _Tensor:
    """The complex conjugate; a real tensor is its own."""
def conj_physical(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The complex conjugate, always computed."""
def conj_physical_(input: _Tensor) -> _Tensor:
    """In-place version of `conj_physical`."""
def constant_pad_nd(input: _Tensor, pad: Any, value: _Tensor | _b.complex = 0) -> _Tensor:
    """Constant padding under its old name."""
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """1-d cross-correlation of (N, C, ...) with a weight (O, C / groups, ...)."""
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """2-d cross-correlation of (N, C, ...) with a weight (O, C / groups, ...)."""
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """3-d cross-correlation of (N, C, ...) with a weight (O, C / groups, ...)."""
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: _b.int = 0) -> _Tensor:
    """1-d convolution of (time, batch, channels) with a weight (width, in, out)."""
def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """1-d transposed convolution with a weight (C, O / groups, ...)."""
def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """2-d transposed convolution with a weight (C, O / groups, ...)."""
def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """3-d transposed convolution with a weight (C, O / groups, ...)."""
def convolution(input: _Tensor, weight: _Tensor, bias: _Tensor | None, stride: _b.int | Sequence[_b.int] | None, padding: _b.int | Sequence[_b.int] | _b.str, dilation: _b.int | Sequence[_b.int], transposed: _b.bool, output_padding: _b.int | Sequence[_b.int], groups: _b.int) -> _Tensor:
    """Any of the six, the number of dims taken from the weight."""
def copysign(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The magnitude of `input` with the sign of `other`."""
def copysign_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `copysign`."""
def corrcoef(input: _Tensor) -> _Tensor:
    """The correlation coefficients of the rows of `input`."""
def cos(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The cosine."""
def cos_(input: _Tensor) -> _Tensor:
    """In-place version of `cos`."""
def cosh(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The hyperbolic cosine."""
def cosh_(input: _Tensor) -> _Tensor:
    """In-place version of `cosh`."""
def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _b.float = 0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: _b.int = 1, eps: _b.float = 1e-08) -> _Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms count as at least `eps`."""
def count_nonzero(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """How many elements (over `dim`) are not zero."""
def cov(input: _Tensor, *, correction: _b.int = 1, fweights: _Tensor | None = None, aweights: _Tensor | None = None) -> _Tensor:
    """The covariance of the rows of `input`, whose columns are observations."""
def cross(input: _Tensor, other: _Tensor, dim: _b.int | None = None, *, out: Any = None) -> _Tensor:
    """The cross product along `dim`, by default the first dim of size 3."""
def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: Any, target_lengths: Any, blank: _b.int = 0, reduction: Any = 1, zero_infinity: _b.bool = False) -> _Tensor:
    """The form of the top namespace; `reduction` is 0 none, 1 mean, 2 sum."""
def cummax(input: _Tensor, dim: _b.int, *, out: Any = None) -> Any:
    """The largest element up to each one along `dim`, and where it is."""
def cummin(input: _Tensor, dim: _b.int, *, out: Any = None) -> Any:
    """The smallest element up to each one along `dim`, and where it is."""
def cumprod(input: _Tensor, dim: _b.int, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
    """The product of the elements up to and including each one along `dim`."""
def cumprod_(input: _Tensor, dim: _b.int, *, dtype: _dtype | None = None) -> _Tensor:
    """In-place version of `cumprod`."""
def cumsum(input: _Tensor, dim: _b.int, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
    """The sum of the elements up to and including each one along `dim`."""
def cumsum_(input: _Tensor, dim: _b.int, *, dtype: _dtype | None = None) -> _Tensor:
    """In-place version of `cumsum`."""
def cumulative_trapezoid(y: _Tensor, x: Any = None, *, dx: Any = None, dim: _b.int = -1) -> _Tensor:
    """The running integral of `y` along `dim` by the trapezoid rule."""
def deg2rad(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Degrees to radians."""
def deg2rad_(input: _Tensor) -> _Tensor:
    """In-place version of `deg2rad`."""
def det(input: _Tensor) -> _Tensor:
    """The determinant of a square matrix, or of each in a batch."""
def detach(input: _Tensor) -> _Tensor:
    """The same memory, outside the graph; in-place changes are still noticed by both."""
def detach_(input: _Tensor) -> _Tensor:
    """Take this very tensor out of the graph."""
def detach_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `detach`, in new memory."""
def diag(input: _Tensor, diagonal: _b.int = 0, *, out: Any = None) -> _Tensor:
    """The matrix with a vector on its diagonal, or a copy of a matrix's diagonal."""
def diag_embed(input: _Tensor, offset: _b.int = 0, dim1: _b.int = -2, dim2: _b.int = -1) -> _Tensor:
    """Matrices whose diagonal is the last dim of `input`, and zero elsewhere."""
def diagflat(input: _Tensor, offset: _b.int = 0) -> _Tensor:
    """The matrix with all elements of `input` on its diagonal."""
def diagonal(input: _Tensor, offset: _b.int = 0, dim1: _b.int = 0, dim2: _b.int = 1) -> _Tensor:
    """A view of a diagonal of the matrices in dims `dim1` and `dim2`, as the last dim."""
def diagonal_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `diagonal`, in new memory."""
def diagonal_scatter(input: _Tensor, src: _Tensor, offset: _b.int = 0, dim1: _b.int = 0, dim2: _b.int = 1) -> _Tensor:
    """A copy of `input` with `src` on a diagonal."""
def diff(input: _Tensor, n: _b.int = 1, dim: _b.int = -1, prepend: _Tensor | None = None, append: _Tensor | None = None, *, out: Any = None) -> _Tensor:
    """The differences of neighbours along `dim`, taken `n` times."""
def digamma(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The derivative of `lgamma`."""
def digamma_(input: _Tensor) -> _Tensor:
    """In-place version of `digamma`."""
def dist(input: _Tensor, other: _Tensor, p: _b.float = 2) -> _Tensor:
    """The `p`-norm of `input - other`."""
def div(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None, out: Any = None) -> _Tensor:
    """`input / other`; `rounding_mode` 'trunc' or 'floor' rounds the quotient."""
def div_(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None) -> _Tensor:
    """In-place version of `div`."""
def divide(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None, out: Any = None) -> _Tensor:
    """`input / other`; `rounding_mode` 'trunc' or 'floor' rounds the quotient."""
def divide_(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None) -> _Tensor:
    """In-place version of `divide`."""
def dot(input: _Tensor, tensor: _Tensor, *, out: Any = None) -> _Tensor:
    """The inner product of two vectors."""
def dropout(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`dropout` of nn.functional, with the arguments of the top namespace."""
def dropout_(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`dropout` of nn.functional, with the arguments of the top namespace."""
def dsplit(input: _Tensor, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
    """Parts along dim 2: as `tensor_split`, but equal parts only."""
def dstack(tensors: Sequence[_Tensor], *, out: Any = None) -> _Tensor:
    """One behind the other: along dim 2."""
def einsum(equation: _b.str, *operands: Any) -> _Tensor:
    """`einsum('ij,jk->ik', a, b)`, or operands and index lists in turn."""
def embedding(weight: _Tensor, indices: _Tensor, padding_idx: _b.int = -1, scale_grad_by_freq: _b.bool = False, sparse: _b.bool = False) -> _Tensor:
    """`nn.functional.embedding` with the table first."""
def empty(*size: _b.int | Sequence[_b.int], out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None, names: Any = None, **keyword: Any) -> _Tensor:
    """A tensor whose values are whatever the memory held."""
def empty_like(input: _Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Uninitialised memory of the size of `input`."""
def empty_permuted(size: _b.int | Sequence[_b.int], physical_layout: Any, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Uninitialised dense memory whose dims lie there in the given order, outermost first."""
def empty_strided(size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Uninitialised memory with the given strides, in elements."""
def eq(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input == other`."""
def eq_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `eq`."""
def equal(input: _Tensor, other: _Tensor) -> _b.bool:
    """Whether shapes and all elements are the same."""
def erf(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The error function."""
def erf_(input: _Tensor) -> _Tensor:
    """In-place version of `erf`."""
def erfc(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`1 - erf(input)`, exact in the tail."""
def erfc_(input: _Tensor) -> _Tensor:
    """In-place version of `erfc`."""
def erfinv(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse of the error function."""
def erfinv_(input: _Tensor) -> _Tensor:
    """In-place version of `erfinv`."""
def exp(input: _Tensor, *, out: Any = None) -> _Tensor:
    """e to the power of every element."""
def exp2(input: _Tensor, *, out: Any = None) -> _Tensor:
    """2 to the power of every element."""
def exp2_(input: _Tensor) -> _Tensor:
    """In-place version of `exp2`."""
def exp_(input: _Tensor) -> _Tensor:
    """In-place version of `exp`."""
def expand_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `expand`, in new memory."""
def expm1(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`exp(input) - 1`, exact near zero."""
def expm1_(input: _Tensor) -> _Tensor:
    """In-place version of `expm1`."""
def eye(n: _b.int, m: _b.int | None = None, *, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Ones on the diagonal of an n x m matrix of zeros."""
def feature_alpha_dropout(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`feature_alpha_dropout` of nn.functional, with the arguments of the top namespace."""
def feature_alpha_dropout_(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`feature_alpha_dropout` of nn.functional, with the arguments of the top namespace."""
def feature_dropout(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`feature_dropout` of nn.functional, with the arguments of the top namespace."""
def feature_dropout_(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`feature_dropout` of nn.functional, with the arguments of the top namespace."""
def fill(input: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
    """A tensor like `input` with one value everywhere."""
def fill_(input: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
    """Write one value everywhere."""
def fix(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Without the fraction."""
def fix_(input: _Tensor) -> _Tensor:
    """In-place version of `fix`."""
def flatten(input: _Tensor, start_dim: _b.int = 0, end_dim: _b.int = -1) -> _Tensor:
    """Merge the dims from `start_dim` to `end_dim` into one."""
def flip(input: _Tensor, dims: _b.int | Sequence[_b.int] | None) -> _Tensor:
    """`input` backwards along `dims`."""
def fliplr(input: _Tensor) -> _Tensor:
    """Backwards along dim 1."""
def flipud(input: _Tensor) -> _Tensor:
    """Backwards along dim 0."""
def float_power(input: _Tensor | _b.complex, exponent: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input ** exponent` in double precision."""
def float_power_(input: _Tensor | _b.complex, exponent: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `float_power`."""
def floor(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The largest integer not above."""
def floor_(input: _Tensor) -> _Tensor:
    """In-place version of `floor`."""
def floor_divide(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input // other`, rounded towards minus infinity."""
def floor_divide_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `floor_divide`."""
def fmax(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The larger of two; nan loses."""
def fmin(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The smaller of two; nan loses."""
def fmod(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The remainder of `input / other` with the dividend's sign."""
def fmod_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `fmod`."""
def frac(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The fraction of every element, with its sign."""
def frac_(input: _Tensor) -> _Tensor:
    """In-place version of `frac`."""
def frexp(input: _Tensor, *, out: Any = None) -> Any:
    """Mantissas in [0.5, 1) and exponents with `input == mantissa * 2 ** exponent`."""
def from_dlpack(ext_tensor: Any, *, device: _device | _b.str | _b.int | None = None, copy: _b.bool | None = None) -> _Tensor:
    """A tensor over the memory of another library's array."""
def from_numpy(ndarray: np.ndarray) -> _Tensor:
    """A tensor over the memory of a NumPy array."""
def frombuffer(buffer: Any, *, dtype: _dtype | None, count: _b.int = -1, offset: _b.int = 0, requires_grad: _b.bool = False) -> _Tensor:
    """A 1-d tensor over the memory of an object with the buffer protocol."""
def full(size: _b.int | Sequence[_b.int], fill_value: _b.complex, *, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None) -> _Tensor:
    """A tensor filled with `fill_value`, whose kind decides the dtype when none is given."""
def full_like(input: _Tensor, fill_value: _b.complex, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """`fill_value` in the size of `input`."""
def gather(input: _Tensor, dim: _b.int, index: _Tensor, *, sparse_grad: _b.bool = False, out: Any = None) -> _Tensor:
    """`out[i][j] = input[index[i][j]][j]` for dim 0, and likewise for others."""
def gcd(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The greatest common divisor."""
def gcd_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `gcd`."""
def ge(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input >= other`."""
def ge_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `ge`."""
def ger(input: _Tensor, vec2: _Tensor, *, out: Any = None) -> _Tensor:
    """Every product of an element of `input` with one of `vec2`."""
def get_device(input: _Tensor) -> _b.int:
    """The index of the GPU `input` is on; -1 for the CPU."""
def get_float32_matmul_precision() -> _b.str:
    """How precise float32 products on the GPU are."""
def get_num_interop_threads() -> _b.int:
    """How many operations run at the same time: one."""
def get_num_threads() -> _b.int:
    """How many threads the CPU kernels use."""
def get_rng_state() -> _Tensor:
    """The state of the default CPU generator, as a ByteTensor."""
def gradient(input: _Tensor, *, spacing: Any = None, dim: _b.int | Sequence[_b.int] | None = None, edge_order: _b.int = 1) -> _b.tuple[_Tensor, ...]:
    """Central differences of a sampled function, one tensor per dim."""
def greater(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input > other`."""
def greater_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `greater`."""
def greater_equal(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input >= other`."""
def greater_equal_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `greater_equal`."""
def grid_sampler(input: _Tensor, grid: _Tensor, interpolation_mode: _b.int, padding_mode: _b.int, align_corners: _b.bool) -> _Tensor:
    """`grid_sample` with its modes as numbers."""
def group_norm(input: _Tensor, num_groups: _b.int, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _b.float = 1e-05, cudnn_enabled: _b.bool = True) -> _Tensor:
    """`nn.functional.group_norm` with the arguments of the top namespace."""
def gru(input: _Tensor, *args: Any) -> _b.tuple[_Tensor, _Tensor]:
    """`gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, or with `batch_sizes` after `input` for packed sequences."""
def gru_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """One step of a GRU."""
def gt(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input > other`."""
def gt_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `gt`."""
def hamming_window(window_length: _b.int, periodic: _b.bool = True, alpha: _b.float = 0.54, beta: _b.float = 0.46, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """A raised cosine `alpha - beta * cos` that stays above zero at the ends."""
def hann_window(window_length: _b.int, periodic: _b.bool = True, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """A raised cosine that reaches zero at the ends."""
def hardshrink(input: _Tensor, lambd: _b.float = 0.5, *, out: Any = None) -> _Tensor:
    """x outside [-lambd, lambd], 0 inside."""
def heaviside(input: _Tensor, values: _Tensor, *, out: Any = None) -> _Tensor:
    """0 below zero, 1 above, `values` at zero."""
def heaviside_(input: _Tensor, values: _Tensor) -> _Tensor:
    """In-place version of `heaviside`."""
def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: _b.float = 1.0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1."""
def histc(input: _Tensor, bins: _b.int = 100, min: _b.float = 0, max: _b.float = 0, *, out: Any = None) -> _Tensor:
    """How many elements fall into each of `bins` equal bins between `min` and `max`."""
def histogram(input: _Tensor, bins: Any, *, range: Any = None, weight: _Tensor | None = None, density: _b.bool = False, out: Any = None) -> Any:
    """The weight of the elements in each bin, and the edges of the bins."""
def hsplit(input: _Tensor, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
    """Parts along dim 1: as `tensor_split`, but equal parts only."""
def hstack(tensors: Sequence[_Tensor], *, out: Any = None) -> _Tensor:
    """Side by side: along dim 1, or along dim 0 for vectors."""
def hypot(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The length of the vector (input, other)."""
def hypot_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `hypot`."""
def i0(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The modified Bessel function of order 0."""
def i0_(input: _Tensor) -> _Tensor:
    """In-place version of `i0`."""
def igamma(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The regularised lower incomplete gamma function."""
def igamma_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `igamma`."""
def igammac(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The regularised upper incomplete gamma function."""
def igammac_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `igammac`."""
def imag(input: _Tensor) -> _Tensor:
    """The imaginary part of a complex tensor, a view."""
def index_add(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> _Tensor:
    """As `index_add_`, on a copy of `input`."""
def index_add_(input: _Tensor, dim: _b.int, index: _Tensor, source: _Tensor, *, alpha: _b.complex = 1) -> _Tensor:
    """Add `alpha * source` to the slices of `input` at `index`, duplicates counting."""
def index_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> _Tensor:
    """As `index_copy_`, on a copy of `input`."""
def index_copy_(input: _Tensor, dim: _b.int, index: _Tensor, source: _Tensor) -> _Tensor:
    """Write the slices of `source` at the positions `index` of `input`."""
def index_fill(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> _Tensor:
    """As `index_fill_`, on a copy of `input`."""
def index_fill_(input: _Tensor, dim: _b.int, index: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
    """Write one value into the slices of `input` at `index`."""
def index_put(input: _Tensor, indices: Any, values: _Tensor, accumulate: _b.bool = False) -> _Tensor:
    """A copy of `input` with `values` at the index tensors."""
def index_put_(input: _Tensor, indices: Any, values: _Tensor, accumulate: _b.bool = False) -> _Tensor:
    """Write `values` at the index tensors; with `accumulate` add them, duplicates included."""
def index_reduce(input: _Tensor, dim: _b.int, index: _Tensor, source: _Tensor, reduce: _b.str, *, include_self: _b.bool = True, out: Any = None) -> _Tensor:
    """`input` with the slices of `source` combined into those at `index`."""
def index_reduce_(input: _Tensor, dim: _b.int, index: _Tensor, source: _Tensor, reduce: _b.str, *, include_self: _b.bool = True) -> _Tensor:
    """In-place version of `index_reduce`."""
def index_select(input: _Tensor, dim: _b.int, index: _Tensor, *, out: Any = None) -> _Tensor:
    """The slices of `input` at the positions `index` along `dim`."""
def initial_seed() -> _b.int:
    """The seed the default generator was last restarted from."""
def inner(input: _Tensor, other: _Tensor, *, out: Any = None) -> _Tensor:
    """The sum of products over the last dims of both."""
def instance_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, use_input_stats: _b.bool, momentum: _b.float, eps: _b.float, cudnn_enabled: _b.bool = True) -> _Tensor:
    """`nn.functional.instance_norm` with the argument order of the top namespace."""
def inverse(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The other name of `linalg.inv`."""
def is_complex(input: _Tensor) -> _b.bool:
    """Whether the dtype is complex."""
def is_conj(input: _Tensor) -> _b.bool:
    """Whether the conjugate bit is set; conjugates here are never lazy."""
def is_deterministic_algorithms_warn_only_enabled() -> _b.bool:
    """Whether nondeterministic operations only warn."""
def is_floating_point(input: _Tensor) -> _b.bool:
    """Whether the dtype is a floating point one."""
def is_inference(input: _Tensor) -> _b.bool:
    """Whether the tensor was made in inference mode."""
def is_neg(input: _Tensor) -> _b.bool:
    """Whether the negative bit is set; negations here are never lazy."""
def is_nonzero(input: _Tensor) -> _b.bool:
    """Whether the one element is not zero."""
def is_same_size(input: _Tensor, other: _Tensor) -> _b.bool:
    """Whether the shapes are the same."""
def is_signed(input: _Tensor) -> _b.bool:
    """Whether the dtype can hold negative numbers."""
def is_storage(obj: Any) -> _b.bool:
    """Whether `obj` is a storage."""
def is_tensor(obj: Any) -> _b.bool:
    """Whether `obj` is a Tensor."""
def isclose(input: _Tensor, other: _Tensor, rtol: _b.float = 1e-05, atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _Tensor:
    """Where `|input - other| <= atol + rtol * |other|`."""
def isfinite(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Where neither infinite nor nan."""
def isin(elements: Any, test_elements: Any, *, assume_unique: _b.bool = False, invert: _b.bool = False, out: Any = None) -> _Tensor:
    """Where an element of `elements` is one of `test_elements`."""
def isinf(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Where infinite."""
def isnan(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Where not a number."""
def isneginf(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Where minus infinity."""
def isposinf(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Where plus infinity."""
def isreal(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Where the imaginary part is zero."""
def istft(input: _Tensor, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None, window: _Tensor | None = None, center: _b.bool = True, normalized: _b.bool = False, onesided: _b.bool | None = None, length: _b.int | None = None, return_complex: _b.bool = False) -> _Tensor:
    """The signal whose `stft` is nearest to `input`: frames are added up and divided by the windows' squares."""
def kaiser_window(window_length: _b.int, periodic: _b.bool = True, beta: _b.float = 12.0, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """A Bessel function whose `beta` trades the width of the middle against the sides."""
def kl_div(input: _Tensor, target: _Tensor, reduction: Any = 1, *, log_target: _b.bool = False) -> _Tensor:
    """The form of the top namespace; `reduction` is 0 none, 1 mean, 2 sum."""
def kron(input: _Tensor, other: _Tensor, *, out: Any = None) -> _Tensor:
    """The Kronecker product: a block of `other` for every element of `input`."""
def kthvalue(input: _Tensor, k: _b.int, dim: _b.int = -1, keepdim: _b.bool = False, *, out: Any = None) -> Any:
    """The `k`-th smallest element along `dim`, and where it is."""
def layer_norm(input: _Tensor, normalized_shape: _b.int | Sequence[_b.int], weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _b.float = 1e-05, cudnn_enable: _b.bool = True) -> _Tensor:
    """`nn.functional.layer_norm` with the arguments of the top namespace."""
def lcm(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The least common multiple."""
def lcm_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `lcm`."""
def ldexp(input: _Tensor, other: _Tensor, *, out: Any = None) -> _Tensor:
    """`input * 2 ** other`."""
def ldexp_(input: _Tensor, other: _Tensor) -> _Tensor:
    """In-place version of `ldexp`."""
def le(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input <= other`."""
def le_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `le`."""
def lerp(input: _Tensor, end: _Tensor, weight: Any, *, out: Any = None) -> _Tensor:
    """`input + weight * (end - input)`."""
def lerp_(input: _Tensor, end: _Tensor, weight: Any) -> _Tensor:
    """In-place version of `lerp`."""
def less(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input < other`."""
def less_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `less`."""
def less_equal(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input <= other`."""
def less_equal_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `less_equal`."""
def lgamma(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The logarithm of the absolute gamma function."""
def lgamma_(input: _Tensor) -> _Tensor:
    """In-place version of `lgamma`."""
def linspace(start: Any, end: Any, steps: _b.int, *, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
def log(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The natural logarithm."""
def log10(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The logarithm to base 10."""
def log10_(input: _Tensor) -> _Tensor:
    """In-place version of `log10`."""
def log1p(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`log(1 + input)`, exact near zero."""
def log1p_(input: _Tensor) -> _Tensor:
    """In-place version of `log1p`."""
def log2(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The logarithm to base 2."""
def log2_(input: _Tensor) -> _Tensor:
    """In-place version of `log2`."""
def log_(input: _Tensor) -> _Tensor:
    """In-place version of `log`."""
def log_softmax(input: _Tensor, dim: _b.int, dtype: _dtype | None = None, *, out: Any = None) -> _Tensor:
    """The logarithm of `softmax`, computed without leaving the representable range."""
def logaddexp(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`log(exp(input) + exp(other))`."""
def logaddexp2(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`log2(2 ** input + 2 ** other)`."""
def logcumsumexp(input: _Tensor, dim: _b.int, *, out: Any = None) -> _Tensor:
    """The logarithm of the running sum of exponentials along `dim`."""
def logdet(input: _Tensor) -> _Tensor:
    """The logarithm of the determinant; nan where it is negative."""
def logical_and(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where both are true (not zero)."""
def logical_and_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `logical_and`."""
def logical_not(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Where false (zero)."""
def logical_not_(input: _Tensor) -> _Tensor:
    """In-place version of `logical_not`."""
def logical_or(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where either is true (not zero)."""
def logical_or_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `logical_or`."""
def logical_xor(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where exactly one is true (not zero)."""
def logical_xor_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `logical_xor`."""
def logit(input: _Tensor, eps: _b.float | None = None, *, out: Any = None) -> _Tensor:
    """The inverse of sigmoid; `eps` clamps the input into [eps, 1 - eps]."""
def logit_(input: _Tensor, eps: _b.float | None = None) -> _Tensor:
    """In-place version of `logit`."""
def logspace(start: Any, end: Any, steps: _b.int, base: _b.float = 10.0, *, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """`steps` powers of `base`, their exponents evenly spaced from `start` to `end`."""
def logsumexp(input: _Tensor, dim: _b.int | Sequence[_b.int] | None, keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
    """The logarithm of the sum of exponentials over `dim`, without overflow."""
def lstm(input: _Tensor, *args: Any) -> _b.tuple[_Tensor, _Tensor, _Tensor]:
    """`lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`."""
def lstm_cell(input: _Tensor, hx: Sequence[_Tensor], w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _b.tuple[_Tensor, _Tensor]:
    """One step of an LSTM: (h, c) from `input` [B, F] and the state before."""
def lt(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input < other`."""
def lt_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `lt`."""
def lu_solve(b: _Tensor, LU_data: _Tensor, LU_pivots: _Tensor, *, out: Any = None) -> _Tensor:
    """The older spelling of `linalg.lu_solve`, the right-hand side first."""
def lu_unpack(LU_data: _Tensor, LU_pivots: _Tensor, unpack_data: _b.bool = True, unpack_pivots: _b.bool = True, *, out: Any = None) -> Any:
    """P, L and U from the packed result of `linalg.lu_factor`."""
def manual_seed(seed: _b.int) -> _Generator:
    """Restart the random numbers of every device from `seed`."""
def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _b.float = 0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
def masked_fill(input: _Tensor, mask: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
    """`input` with `value` where the mask is true."""
def masked_fill_(input: _Tensor, mask: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `masked_fill`."""
def masked_scatter(input: _Tensor, mask: _Tensor, source: _Tensor) -> _Tensor:
    """`input` with the elements where the mask is true taken from `source`, in order."""
def masked_scatter_(input: _Tensor, mask: _Tensor, source: _Tensor) -> _Tensor:
    """In-place version of `masked_scatter`."""
def masked_select(input: _Tensor, mask: _Tensor, *, out: Any = None) -> _Tensor:
    """The elements where the mask is true, in one dim."""
def matmul(input: _Tensor, other: _Tensor, *, out: Any = None) -> _Tensor:
    """The matrix product; vectors are rows or columns, leading dims are batches that broadcast."""
def matrix_exp(input: _Tensor) -> _Tensor:
    """The matrix exponential."""
def matrix_power(input: _Tensor, n: _b.int, *, out: Any = None) -> _Tensor:
    """The n-th power of a square matrix."""
def max(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None, other: _Tensor | _b.complex | None = None) -> Any:
    """The largest element; with `dim` values and indices; with a tensor the larger of each pair."""
def max_pool1d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """The maximum of every 1-d window; `return_indices` adds where it lies."""
def max_pool1d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]: ...
def max_pool2d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """The maximum of every 2-d window; `return_indices` adds where it lies."""
def max_pool3d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """The maximum of every 3-d window; `return_indices` adds where it lies."""
def maximum(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The larger of two; nan wins."""
def mean(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None, axis: _b.int | Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """The mean over `dim`, or of all elements."""
def median(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None) -> Any:
    """The lower median of all elements; with `dim` values and indices."""
def meshgrid(*tensors: _Tensor, indexing: _b.str | None = None) -> _b.tuple[_Tensor, ...]:
    """The coordinates of a grid; 'ij' (the default) numbers rows first, 'xy' columns."""
def min(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None, other: _Tensor | _b.complex | None = None) -> Any:
    """The smallest element; with `dim` values and indices; with a tensor the smaller of each pair."""
def minimum(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The smaller of two; nan wins."""
def mm(input: _Tensor, mat2: _Tensor, *, out: Any = None) -> _Tensor:
    """The product of two matrices."""
def mode(input: _Tensor, dim: _b.int = -1, keepdim: _b.bool = False, *, out: Any = None) -> Any:
    """The most frequent value along `dim`, the smallest of equally frequent ones, and where it is."""
def moveaxis(input: _Tensor, source: Any, destination: Any) -> _Tensor:
    """Move dims to new places, keeping the order of the others."""
def movedim(input: _Tensor, source: Any, destination: Any) -> _Tensor:
    """Move dims to new places, keeping the order of the others."""
def msort(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The elements in order along the first dim."""
def mul(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input * other`."""
def mul_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `mul`."""
def multinomial(input: _Tensor, num_samples: _b.int, replacement: _b.bool = False, *, generator: _Generator | None = None, out: Any = None) -> _Tensor:
    """Indices along the last dim, drawn with the weights that stand there."""
def multiply(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input * other`."""
def multiply_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `multiply`."""
def mv(input: _Tensor, vec: _Tensor, *, out: Any = None) -> _Tensor:
    """A matrix times a vector."""
def mvlgamma(input: _Tensor, p: _b.int, *, out: Any = None) -> _Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
def mvlgamma_(input: _Tensor, p: _b.int) -> _Tensor:
    """In-place version of `mvlgamma`."""
def nan_to_num(input: _Tensor, nan: _b.float | None = 0.0, posinf: Any = None, neginf: Any = None, *, out: Any = None) -> _Tensor:
    """nan, inf and -inf replaced, by default with 0 and the dtype's limits."""
def nan_to_num_(input: _Tensor, nan: _b.float | None = 0.0, posinf: Any = None, neginf: Any = None) -> _Tensor:
    """In-place version of `nan_to_num`."""
def nanmean(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
    """The mean over `dim` of the elements that are not nan."""
def nanmedian(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None) -> Any:
    """The lower median of the elements that are not nan; with `dim` values and indices."""
def nanquantile(input: _Tensor, q: Any, dim: _b.int | None = None, keepdim: _b.bool = False, *, interpolation: _b.str = 'linear', out: Any = None) -> _Tensor:
    """The `q`-quantiles along `dim` of the elements that are not nan."""
def nansum(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
    """The sum over `dim` with nan counted as 0."""
def narrow(input: _Tensor, dim: _b.int, start: Any, length: _b.int) -> _Tensor:
    """`length` positions of dim `dim` from `start` on."""
def narrow_copy(input: _Tensor, dim: _b.int, start: _b.int, length: _b.int) -> _Tensor:
    """A copy of `length` positions of dim `dim` from `start` on."""
def native_channel_shuffle(input: _Tensor, groups: _b.int) -> _Tensor:
    """Deal the channels of (N, C, *) out to `groups` in turn."""
def ne(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input != other`."""
def ne_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `ne`."""
def neg(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`-input`."""
def neg_(input: _Tensor) -> _Tensor:
    """In-place version of `neg`."""
def negative(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`-input`."""
def negative_(input: _Tensor) -> _Tensor:
    """In-place version of `negative`."""
def nextafter(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The next representable number from `input` towards `other`."""
def nextafter_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `nextafter`."""
def nonzero(input: _Tensor, *, out: Any = None, as_tuple: _b.bool = False) -> Any:
    """The positions of the elements that are not zero: as rows, or as one vector per dim."""
def nonzero_static(input: _Tensor, *, size: _b.int, fill_value: _b.int = -1, out: Any = None) -> _Tensor:
    """As `nonzero` with exactly `size` rows: cut off, or filled up."""
def norm(input: _Tensor, p: Any = 'fro', dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, out: Any = None, dtype: _dtype | None = None) -> _Tensor:
    """The norm of a tensor; `p` is a number, inf, -inf, 'fro' or 'nuc'."""
def normal(mean: Any, std: Any = 1.0, size: _b.int | Sequence[_b.int] | None = None, *, generator: _Generator | None = None, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Normal numbers with a mean and a deviation each, or `size` of them with one mean and std."""
def not_equal(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """Where `input != other`."""
def not_equal_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `not_equal`."""
def numel(input: _Tensor) -> _b.int:
    """How many elements `input` has."""
def ones(*size: _b.int | Sequence[_b.int], out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None, **keyword: Any) -> _Tensor:
    """A tensor of ones."""
def ones_like(input: _Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Ones of the size of `input`."""
def orgqr(input: _Tensor, input2: _Tensor, *, out: Any = None) -> _Tensor:
    """The other name of `linalg.householder_product`."""
def outer(input: _Tensor, vec2: _Tensor, *, out: Any = None) -> _Tensor:
    """Every product of an element of `input` with one of `vec2`."""
def pairwise_distance(x1: _Tensor, x2: _Tensor, p: _b.float = 2.0, eps: _b.float = 1e-06, keepdim: _b.bool = False) -> _Tensor:
    """The p-norm of `x1 - x2 + eps` along the last dim."""
def pdist(input: _Tensor, p: _b.float = 2) -> _Tensor:
    """The p-norm distances of all pairs of rows: the upper triangle of `cdist`, row by row."""
def permute(input: _Tensor, dims: _b.int | Sequence[_b.int] | None) -> _Tensor:
    """The dims of `input` in another order."""
def permute_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `permute`, in new memory."""
def pinverse(input: _Tensor, rcond: _b.float = 1e-15) -> _Tensor:
    """The older spelling of `linalg.pinv`."""
def pixel_shuffle(input: _Tensor, upscale_factor: _b.int) -> _Tensor:
    """(*, C r^2, H, W) to (*, C, H r, W r): channels become r x r blocks of pixels."""
def pixel_unshuffle(input: _Tensor, downscale_factor: _b.int) -> _Tensor:
    """(*, C, H r, W r) to (*, C r^2, H, W): the inverse of `pixel_shuffle`."""
def poisson(input: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Counts whose means are the elements of `input`."""
def polar(abs: _Tensor, angle: _Tensor, *, out: Any = None) -> _Tensor:
    """The complex numbers of these lengths and angles."""
def polygamma(n: _b.int, input: _Tensor, *, out: Any = None) -> _Tensor:
    """The n-th derivative of `digamma`."""
def positive(input: _Tensor) -> _Tensor:
    """`+input`: the tensor itself."""
def pow(input: _Tensor | _b.complex, exponent: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input ** exponent`."""
def pow_(input: _Tensor | _b.complex, exponent: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `pow`."""
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """x, or a learnt multiple of x where x is negative: one for all or one per channel."""
def prod(input: _Tensor, dim: _b.int | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
    """The product over `dim`, or of all elements; integers multiply in int64."""
def promote_types(type1: _dtype, type2: _dtype) -> _dtype:
    """The smallest dtype that holds both."""
def put(input: _Tensor, index: _Tensor, source: _Tensor, accumulate: _b.bool = False) -> _Tensor:
    """A copy of `input` with `source` at flat positions."""
def qr(input: _Tensor, some: _b.bool = True, *, out: Any = None) -> Any:
    """The older spelling of `linalg.qr`."""
def quantile(input: _Tensor, q: Any, dim: _b.int | None = None, keepdim: _b.bool = False, *, interpolation: _b.str = 'linear', out: Any = None) -> _Tensor:
    """The `q`-quantiles along `dim`, or of all elements."""
def rad2deg(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Radians to degrees."""
def rad2deg_(input: _Tensor) -> _Tensor:
    """In-place version of `rad2deg`."""
def rand(*size: _b.int | Sequence[_b.int], generator: _Generator | None = None, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None, **keyword: Any) -> _Tensor:
    """A tensor of numbers uniform on [0, 1)."""
def rand_like(input: _Tensor, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Numbers uniform on [0, 1), sized as `input`."""
def randint(*args: Any, low: Any = None, high: Any = None, size: _b.int | Sequence[_b.int] | None = None, generator: _Generator | None = None, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Integers of [low, high); `randint(high, size)` starts at 0."""
def randint_like(input: _Tensor, low: Any = None, high: Any = None, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Integers of [low, high) in the size and dtype of `input`."""
def randn(*size: _b.int | Sequence[_b.int], generator: _Generator | None = None, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None, **keyword: Any) -> _Tensor:
    """A tensor of numbers from the standard normal distribution."""
def randn_like(input: _Tensor, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Numbers from the standard normal distribution, sized as `input`."""
def randperm(n: _b.int, *, generator: _Generator | None = None, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """The numbers 0 .. n-1 in random order."""
def range(start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """The numbers from `start` to `end`, `end` included; PyTorch deprecates it for `arange`."""
def ravel(input: _Tensor) -> _Tensor:
    """`input` in one dimension."""
def real(input: _Tensor) -> _Tensor:
    """The real part, a view; a real tensor is its own."""
def reciprocal(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`1 / input`."""
def reciprocal_(input: _Tensor) -> _Tensor:
    """In-place version of `reciprocal`."""
def relu(input: _Tensor) -> _Tensor:
    """max(0, x)."""
def relu_(input: _Tensor) -> _Tensor:
    """In-place `relu`."""
def remainder(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The remainder of `input / other` with the divisor's sign."""
def remainder_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `remainder`."""
def renorm(input: _Tensor, p: _b.float, dim: _b.int, maxnorm: _b.float, *, out: Any = None) -> _Tensor:
    """Slices along `dim` whose p-norm is over `maxnorm` made shorter, to that norm."""
def renorm_(input: _Tensor, p: _b.float, dim: _b.int, maxnorm: _b.float) -> _Tensor:
    """In-place version of `renorm`."""
def repeat_interleave(input: _Tensor | _b.complex, repeats: _Tensor | _b.int | Sequence[_b.int] | None = None, dim: _b.int | None = None, *, output_size: _b.int | None = None) -> _Tensor:
    """Every element `repeats` times in a row; `repeats` may differ along `dim`."""
def reshape(input: _Tensor, shape: _b.int | Sequence[_b.int] | _dtype) -> _Tensor:
    """`input` in another shape; a view where possible, else a copy."""
def resize_as_(input: _Tensor, the_template: _Tensor, *, memory_format: _memory_format | None = None) -> _Tensor:
    """`resize_` to the size of another tensor."""
def resolve_conj(input: _Tensor) -> _Tensor:
    """The tensor itself: conjugates here are never lazy."""
def resolve_neg(input: _Tensor) -> _Tensor:
    """The tensor itself: negations here are never lazy."""
def result_type(tensor1: Any, tensor2: Any) -> _dtype:
    """The dtype that arithmetic of the two would give."""
def rms_norm(input: _Tensor, normalized_shape: _b.int | Sequence[_b.int], weight: _Tensor | None = None, eps: _b.float | None = None) -> _Tensor:
    """The last dims divided by their root mean square."""
def rnn_relu(input: _Tensor, *args: Any) -> _b.tuple[_Tensor, _Tensor]:
    """`rnn_relu(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, or with `batch_sizes` after `input` for packed sequences."""
def rnn_relu_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """One step of an RNN with relu."""
def rnn_tanh(input: _Tensor, *args: Any) -> _b.tuple[_Tensor, _Tensor]:
    """`rnn_tanh(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, or with `batch_sizes` after `input` for packed sequences."""
def rnn_tanh_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """One step of an RNN with tanh."""
def roll(input: _Tensor, shifts: Any, dims: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Elements shifted along `dims`, those pushed out at the end coming in at the front."""
def rot90(input: _Tensor, k: _b.int = 1, dims: _b.int | Sequence[_b.int] | None = ...) -> _Tensor:
    """Turned by `k` quarters in the plane of two dims, from the first towards the second."""
def round(input: _Tensor, *, decimals: _b.int = 0, out: Any = None) -> _Tensor:
    """The nearest integer, halves to even; or the nearest number of so many decimals."""
def round_(input: _Tensor, *, decimals: _b.int = 0) -> _Tensor:
    """In-place version of `round`."""
def row_stack(tensors: Sequence[_Tensor], *, out: Any = None) -> _Tensor:
    """One above the other: along dim 0, vectors as rows."""
def rrelu(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """leaky_relu with slopes drawn from [lower, upper] while training, their mean otherwise."""
def rrelu_(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `rrelu`."""
def rsqrt(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`1 / sqrt(input)`."""
def rsqrt_(input: _Tensor) -> _Tensor:
    """In-place version of `rsqrt`."""
def rsub(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
    """`other - alpha * input`."""
def scalar_tensor(s: Any, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """A 0-d tensor, of the default float dtype unless another is given."""
def scatter(input: _Tensor, dim: _b.int, index: _Tensor, src: Any = None, *, value: _Tensor | _b.complex | None = None, reduce: _b.str | None = None, out: Any = None) -> _Tensor:
    """A copy of `input` with `src` (or one value) written at `index` along `dim`."""
def scatter_(input: _Tensor, dim: _b.int, index: _Tensor, src: Any = None, *, value: _Tensor | _b.complex | None = None, reduce: _b.str | None = None) -> _Tensor:
    """In-place version of `scatter`."""
def scatter_add(input: _Tensor, dim: _b.int, index: _Tensor, src: _Tensor, *, out: Any = None) -> _Tensor:
    """A copy of `input` with `src` added at `index` along `dim`, duplicates counting."""
def scatter_add_(input: _Tensor, dim: _b.int, index: _Tensor, src: _Tensor) -> _Tensor:
    """In-place version of `scatter_add`."""
def scatter_reduce(input: _Tensor, dim: _b.int, index: _Tensor, src: _Tensor, reduce: _b.str, *, include_self: _b.bool = True, out: Any = None) -> _Tensor:
    """`input` with `src` combined into it at `index` along `dim`."""
def scatter_reduce_(input: _Tensor, dim: _b.int, index: _Tensor, src: _Tensor, reduce: _b.str, *, include_self: _b.bool = True) -> _Tensor:
    """In-place version of `scatter_reduce`."""
def searchsorted(sorted_sequence: _Tensor, input: _Tensor | _b.complex, *, out_int32: _b.bool = False, right: _b.bool = False, side: _b.str | None = None, sorter: _Tensor | None = None, out: Any = None) -> _Tensor:
    """Where each value would be inserted into its sorted sequence."""
def seed() -> _b.int:
    """Restart the random numbers from the operating system's entropy; returns the seed."""
def select(input: _Tensor, dim: _b.int, index: _b.int) -> _Tensor:
    """The slice at position `index` of dim `dim`, without that dim."""
def select_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `select`, in new memory."""
def select_scatter(input: _Tensor, src: _Tensor, dim: _b.int, index: _b.int) -> _Tensor:
    """A copy of `input` with `src` at one position of a dim."""
def selu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """elu with the constants of self-normalizing networks."""
def selu_(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `selu`."""
def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype and device by an old type; `set_default_dtype` is the new way."""
def set_float32_matmul_precision(precision: _b.str) -> None:
    """'high' and 'medium' allow TF32 in float32 products on the GPU; 'highest' does not."""
def set_flush_denormal(mode: _b.bool) -> _b.bool:
    """Whether denormal numbers could be set to flush to zero: not here, so False."""
def set_num_interop_threads(num: _b.int) -> None:
    """Refused: rushlight runs one operation at a time, so there is nothing to set but 1."""
def set_num_threads(num: _b.int) -> None:
    """Set how many threads the CPU kernels use."""
def set_rng_state(new_state: _Tensor) -> None:
    """Let the default CPU generator continue from `new_state`."""
def sgn(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`sign`, and for complex numbers the unit number of the same direction."""
def sgn_(input: _Tensor) -> _Tensor:
    """In-place version of `sgn`."""
def sigmoid(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`1 / (1 + exp(-input))`, without overflow."""
def sigmoid_(input: _Tensor) -> _Tensor:
    """In-place version of `sigmoid`."""
def sign(input: _Tensor, *, out: Any = None) -> _Tensor:
    """-1, 0 or 1 by the sign of every element."""
def sign_(input: _Tensor) -> _Tensor:
    """In-place version of `sign`."""
def signbit(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Whether the sign bit of every element is set; true for -0.0."""
def sin(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The sine."""
def sin_(input: _Tensor) -> _Tensor:
    """In-place version of `sin`."""
def sinc(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`sin(pi * input) / (pi * input)`, 1 at zero."""
def sinc_(input: _Tensor) -> _Tensor:
    """In-place version of `sinc`."""
def sinh(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The hyperbolic sine."""
def sinh_(input: _Tensor) -> _Tensor:
    """In-place version of `sinh`."""
def slice_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `slice`, in new memory."""
def slice_scatter(input: _Tensor, src: _Tensor, dim: _b.int = 0, start: _b.int | None = None, end: _b.int | None = None, step: _b.int = 1) -> _Tensor:
    """A copy of `input` with `src` in a range of a dim."""
def slogdet(input: _Tensor, *, out: Any = None) -> Any:
    """The sign and the logarithm of the absolute value of the determinant."""
def softmax(input: _Tensor, dim: _b.int, dtype: _dtype | None = None, *, out: Any = None) -> _Tensor:
    """exp of every element over the sum of exp along `dim`."""
def sort(input: _Tensor, dim: _b.int = -1, descending: _b.bool = False, stable: _b.bool = False, *, out: Any = None) -> Any:
    """The elements in order along `dim`, and where each one was; always stable."""
def sparse_coo_tensor(indices: Any, values: Any = None, size: _b.int | Sequence[_b.int] | None = None, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, check_invariants: Any = None, is_coalesced: _b.bool | None = None) -> _Tensor:
    """A sparse tensor of `values` at `indices` (sparse dims x values); an empty one from a size."""
def split(tensor: _Tensor, split_size_or_sections: Any, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]: ...
def split_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `split`, in new memory."""
def split_with_sizes(input: _Tensor, split_sizes: Any, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
    """Parts of the given lengths, which must add up to the whole."""
def split_with_sizes_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `split_with_sizes`, in new memory."""
def spmm(input: _Tensor | _b.complex, mat2: _Tensor) -> _Tensor:
    """The product of a matrix, sparse or dense, with a dense one."""
def sqrt(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The square root."""
def sqrt_(input: _Tensor) -> _Tensor:
    """In-place version of `sqrt`."""
def square(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`input * input`."""
def square_(input: _Tensor) -> _Tensor:
    """In-place version of `square`."""
def squeeze(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Without its dims of size 1, or without those of `dim` that are."""
def squeeze_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `squeeze`, in new memory."""
def stack(tensors: Sequence[_Tensor], dim: _b.int = 0, *, out: Any = None) -> _Tensor:
    """The tensors one after the other along a new dim."""
def std(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: Any = None) -> _Tensor:
    """The standard deviation over `dim`, with n - correction (default 1) degrees of freedom."""
def std_mean(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: Any = None) -> _b.tuple[_Tensor, _Tensor]:
    """The standard deviation and the mean over `dim`."""
def stft(input: _Tensor, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None, window: _Tensor | None = None, center: _b.bool = True, pad_mode: _b.str = 'reflect', normalized: _b.bool = False, onesided: _b.bool | None = None, return_complex: _b.bool | None = None, align_to_window: _b.bool | None = None) -> _Tensor:
    """The spectra of windows of a signal: (..., frequencies, frames)."""
def sub(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
    """`input - alpha * other`."""
def sub_(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
    """In-place version of `sub`."""
def subtract(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
    """`input - alpha * other`."""
def subtract_(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
    """In-place version of `subtract`."""
def sum(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None, axis: _b.int | Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """The sum over `dim`, or of all elements; integers add up in int64."""
def svd(input: _Tensor, some: _b.bool = True, compute_uv: _b.bool = True, *, out: Any = None) -> Any:
    """The older spelling of `linalg.svd`; it returns V, not its adjoint."""
def swapaxes(input: _Tensor, dim0: _b.int, dim1: _b.int) -> _Tensor:
    """`input` with two dims exchanged."""
def swapdims(input: _Tensor, dim0: _b.int, dim1: _b.int) -> _Tensor:
    """`input` with two dims exchanged."""
def t(input: _Tensor) -> _Tensor:
    """The transpose of a matrix; vectors and scalars stay as they are."""
def t_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `t`, in new memory."""
def take(input: _Tensor, index: _Tensor, *, out: Any = None) -> _Tensor:
    """The elements at flat positions."""
def take_along_dim(input: _Tensor, indices: _Tensor, dim: _b.int | None = None, *, out: Any = None) -> _Tensor:
    """As `gather`, with `input` and `indices` broadcast apart from `dim`."""
def tan(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The tangent."""
def tan_(input: _Tensor) -> _Tensor:
    """In-place version of `tan`."""
def tanh(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The hyperbolic tangent."""
def tanh_(input: _Tensor) -> _Tensor:
    """In-place version of `tanh`."""
def tensor(data: Any, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """A new tensor with a copy of `data`: numbers, nested sequences, an array or a tensor."""
def tensor_split(input: _Tensor, indices_or_sections: Any = None, dim: _b.int = 0, *, indices: Any = None, sections: Any = None) -> _b.tuple[_Tensor, ...]:
    """Parts cut at the given positions, or a given number of nearly equal parts."""
def tensordot(a: _Tensor, b: _Tensor, dims: _b.int | Sequence[_b.int] | None = 2, out: Any = None) -> _Tensor:
    """Contract the dims named in `dims`: a number of neighbouring ones, or a list for each."""
def threshold(input: _Tensor, threshold: _b.float, value: _b.float, *, out: Any = None) -> _Tensor:
    """The elements above the threshold; `value` in place of the others."""
def threshold_(input: _Tensor, threshold: _b.float, value: _b.float) -> _Tensor:
    """In-place version of `threshold`."""
def tile(input: _Tensor, dims: _b.int | Sequence[_b.int] | None) -> _Tensor:
    """As `repeat`, with `dims` filled up with ones on the left."""
def to_dlpack(tensor: _Tensor) -> Any:
    """A capsule of the tensor's memory; newer libraries take the tensor itself."""
def topk(input: _Tensor, k: _b.int, dim: _b.int = -1, largest: _b.bool = True, sorted: _b.bool = True, *, out: Any = None) -> Any:
    """The `k` largest (or smallest) elements along `dim` in order, and where they are."""
def trace(input: _Tensor) -> _Tensor:
    """The sum of a matrix's diagonal."""
def transpose(input: _Tensor, dim0: _b.int, dim1: _b.int) -> _Tensor:
    """`input` with two dims exchanged."""
def transpose_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `transpose`, in new memory."""
def trapezoid(y: _Tensor, x: Any = None, *, dx: Any = None, dim: _b.int = -1) -> _Tensor:
    """The integral of `y` along `dim` by the trapezoid rule."""
def trapz(y: _Tensor, x: Any = None, *, dx: Any = None, dim: _b.int = -1) -> _Tensor:
    """The integral of `y` along `dim` by the trapezoid rule."""
def triangular_solve(b: _Tensor, A: _Tensor, upper: _b.bool = True, transpose: _b.bool = False, unitriangular: _b.bool = False, *, out: Any = None) -> Any:
    """The older spelling of `linalg.solve_triangular`, the right-hand side first."""
def tril(input: _Tensor, diagonal: _b.int = 0, *, out: Any = None) -> _Tensor:
    """`input` with zeros above its `diagonal`-th diagonal."""
def tril_(input: _Tensor, diagonal: _b.int = 0) -> _Tensor:
    """In-place version of `tril`."""
def tril_indices(row: _b.int, col: _b.int, offset: _b.int = 0, *, dtype: _dtype | None = ..., device: _device | _b.str | _b.int | None = 'cpu', layout: _layout | None = None, pin_memory: _b.bool = False) -> _Tensor:
    """The rows and columns of the elements that `tril` keeps."""
def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: _b.float = 1.0, p: _b.float = 2, eps: _b.float = 1e-06, swap: _b.bool = False, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative))."""
def triu(input: _Tensor, diagonal: _b.int = 0, *, out: Any = None) -> _Tensor:
    """`input` with zeros below its `diagonal`-th diagonal."""
def triu_(input: _Tensor, diagonal: _b.int = 0) -> _Tensor:
    """In-place version of `triu`."""
def triu_indices(row: _b.int, col: _b.int, offset: _b.int = 0, *, dtype: _dtype | None = ..., device: _device | _b.str | _b.int | None = 'cpu', layout: _layout | None = None, pin_memory: _b.bool = False) -> _Tensor:
    """The rows and columns of the elements that `triu` keeps."""
def true_divide(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input / other`, always floating point."""
def true_divide_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `true_divide`."""
def trunc(input: _Tensor, *, out: Any = None) -> _Tensor:
    """Without the fraction."""
def trunc_(input: _Tensor) -> _Tensor:
    """In-place version of `trunc`."""
def typename(obj: Any) -> _b.str:
    """The name of an object's type; for tensors the old one."""
def unbind(input: _Tensor, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
    """All slices along dim `dim`, as views."""
def unbind_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `unbind`, in new memory."""
def unflatten(input: _Tensor, dim: _b.int, sizes: _b.int | Sequence[_b.int]) -> _Tensor:
    """Split dim `dim` into `sizes`."""
def unfold_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `unfold`, in new memory."""
def unique(input: _Tensor, sorted: _b.bool = True, return_inverse: _b.bool = False, return_counts: _b.bool = False, dim: _b.int | None = None) -> Any:
    """The different elements (or slices along `dim`) in order, and where and how often they are."""
def unique_consecutive(input: _Tensor, return_inverse: _b.bool = False, return_counts: _b.bool = False, dim: _b.int | None = None) -> Any:
    """`input` with all but the first of each run of equal elements (or slices) left out."""
def unravel_index(indices: _Tensor, shape: _b.int | Sequence[_b.int] | _dtype) -> _b.tuple[_Tensor, ...]:
    """The position in each dim of a tensor of `shape` that flat positions stand for."""
def unsafe_chunk(input: _Tensor, chunks: _b.int, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
    """At most `chunks` parts of equal length, the last one shorter."""
def unsafe_split(tensor: _Tensor, split_size_or_sections: Any, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]: ...
def unsafe_split_with_sizes(input: _Tensor, split_sizes: Any, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
    """Parts of the given lengths, which must add up to the whole."""
def unsqueeze(input: _Tensor, dim: _b.int) -> _Tensor:
    """A new dim of size 1 at `dim`."""
def unsqueeze_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `unsqueeze`, in new memory."""
def use_deterministic_algorithms(mode: _b.bool, *, warn_only: _b.bool = False) -> None:
    """Ask for kernels that give the same result every time."""
def vander(x: _Tensor, N: _b.int | None = None, increasing: _b.bool = False) -> _Tensor:
    """The powers of `x` as columns, falling from N - 1 unless `increasing`."""
def var(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: Any = None) -> _Tensor:
    """The variance over `dim`; the sum of squares is divided by n - correction (default 1)."""
def var_mean(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: Any = None) -> _b.tuple[_Tensor, _Tensor]:
    """The variance and the mean over `dim`."""
def vdot(input: _Tensor, other: _Tensor, *, out: Any = None) -> _Tensor:
    """The inner product of two vectors, the first one conjugated."""
def view_as_complex(input: _Tensor) -> _Tensor:
    """Real pairs in the last dim as complex numbers, a view."""
def view_as_real(input: _Tensor) -> _Tensor:
    """A complex tensor as real pairs in a new last dim, a view."""
def view_copy(input: _Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """As `view`, in new memory."""
def vsplit(input: _Tensor, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
    """Parts along dim 0: as `tensor_split`, but equal parts only."""
def vstack(tensors: Sequence[_Tensor], *, out: Any = None) -> _Tensor:
    """One above the other: along dim 0, vectors as rows."""
def where(condition: _Tensor, input: _Tensor | _b.complex | None = None, other: _Tensor | _b.complex | None = None, *, out: Any = None) -> Any:
    """`input` where the condition holds and `other` elsewhere; alone, the indices where it holds."""
def xlogy(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input * log(other)`, 0 where input is 0."""
def xlogy_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `xlogy`."""
def zero_(input: _Tensor) -> _Tensor:
    """Write zero everywhere."""
def zeros(*size: _b.int | Sequence[_b.int], out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None, **keyword: Any) -> _Tensor:
    """A tensor of zeros."""
def zeros_like(input: _Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Zeros of the size of `input`."""
