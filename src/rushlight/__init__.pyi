"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from .base.device import device as _device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.formats import qscheme as _qscheme
from .base.formats import memory_format as _memory_format
from .base.shapes import Size as _Size
from .core.tensor import Tensor as _Tensor
from . import return_types as _results
from .operators.random.generator import Generator as _Generator

from . import accelerator as accelerator
from . import amp as amp
from . import ao as ao
from . import autograd as autograd
from . import backends as backends
from . import capture as capture
from . import classes as classes
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
from . import functorch as functorch
from . import futures as futures
from . import fx as fx
from . import hub as hub
from . import io as io
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import masked as masked
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
from .ao import quantization as quantization
from . import quasirandom as quasirandom
from . import random as random
from . import return_types as return_types
from . import serialization as serialization
from . import signal as signal
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
from ._control_flow import cond as cond
from ._control_flow import while_loop as while_loop
from ._device_module import get_device_module as get_device_module
from ._fake_quantize import fake_quantize_per_channel_affine as fake_quantize_per_channel_affine
from ._fake_quantize import fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine
from ._inner_functions import segment_reduce as segment_reduce
from ._lowrank import pca_lowrank as pca_lowrank
from ._lowrank import svd_lowrank as svd_lowrank
from .amp.autocast import autocast as autocast
from .amp.autocast import clear_autocast_cache as clear_autocast_cache
from .amp.autocast import get_autocast_dtype as get_autocast_dtype
from .amp.autocast import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp.autocast import is_autocast_enabled as is_autocast_enabled
from .amp.autocast import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp.autocast import set_autocast_dtype as set_autocast_dtype
from .amp.autocast import set_autocast_enabled as set_autocast_enabled
from .amp.grad_scaler import GradScaler as GradScaler
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
from .base.formats import qscheme as qscheme
from .base.shapes import Size as Size
from .base.symbols import SymBool as SymBool
from .base.symbols import SymFloat as SymFloat
from .base.symbols import SymInt as SymInt
from .base.symbols import sym_float as sym_float
from .base.symbols import sym_int as sym_int
from .base.symbols import sym_ite as sym_ite
from .base.symbols import sym_max as sym_max
from .base.symbols import sym_min as sym_min
from .base.symbols import sym_not as sym_not
from .base.symbols import sym_sum as sym_sum
from .capture.compiled import compile as compile
from .cli.callbacks import Callback as Callback
from .cli.fit import Trainer as Trainer
from .cli.fit import fit as fit
from .cli.scripts.alias import as_torch as as_torch
from .cli.scripts.notebook import load_ipython_extension as load_ipython_extension
from .core.hot import tracing as tracing
from .core.modes import enable_grad as enable_grad
from .core.modes import inference_mode as inference_mode
from .core.modes import is_anomaly_enabled as is_anomaly_enabled
from .core.modes import is_grad_enabled as is_grad_enabled
from .core.modes import is_inference_mode_enabled as is_inference_mode_enabled
from .core.modes import no_grad as no_grad
from .core.modes import set_grad_enabled as set_grad_enabled
from .core.overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .core.shown.printing import set_printoptions as set_printoptions
from .core.tensor import Tensor as Tensor
from .cuda.streams import Event as Event
from .cuda.streams import Stream as Stream
from .futures import Future as Future
from .io.pth import load as load
from .io.pth import save as save
from .jit._scripted import ScriptFunction as ScriptFunction
from .jit._scripted import ScriptModule as ScriptModule
from .operators.memory.storage import TypedStorage as TypedStorage
from .operators.memory.storage import UntypedStorage as StorageBase
from .operators.memory.storage import UntypedStorage as UntypedStorage
from .operators.random.generator import Generator as Generator
AnyType: Any
BoolType: Any
ClassType: Any
ComplexType: Any
DeviceObjType: Any
DictType: Any
EnumType: Any
FloatType: Any
FutureType: Any
IntType: Any
InterfaceType: Any
ListType: Any
NoneType: Any
NumberType: Any
OptionalType: Any
PyObjectType: Any
PyTorchFileReader: Any
RRefType: Any
StreamObjType: Any
StringType: Any
TensorType: Any
TupleType: Any
UnionType: Any
class BFloat16Storage(_Tensor): ...
class BFloat16Tensor(_Tensor): ...
class BoolStorage(_Tensor): ...
class BoolTensor(_Tensor): ...
class ByteStorage(_Tensor): ...
class ByteTensor(_Tensor): ...
class CharStorage(_Tensor): ...
class CharTensor(_Tensor): ...
class ComplexDoubleStorage(_Tensor): ...
class ComplexFloatStorage(_Tensor): ...
class DoubleStorage(_Tensor): ...
class DoubleTensor(_Tensor): ...
class FloatStorage(_Tensor): ...
class FloatTensor(_Tensor): ...
class HalfStorage(_Tensor): ...
class HalfTensor(_Tensor): ...
class IntStorage(_Tensor): ...
class IntTensor(_Tensor): ...
class LongStorage(_Tensor): ...
class LongTensor(_Tensor): ...
class ScriptObject(_Tensor): ...
class ShortStorage(_Tensor): ...
class ShortTensor(_Tensor): ...

__version__: _b.str
bfloat16: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
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
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
jagged: _layout
legacy_contiguous_format: _memory_format
long: _dtype
nan: _b.float
newaxis: None
per_channel_affine: _qscheme
per_channel_affine_float_qparams: _qscheme
per_channel_symmetric: _qscheme
per_tensor_affine: _qscheme
per_tensor_symmetric: _qscheme
pi: _b.float
preserve_format: _memory_format
qint32: _dtype
qint8: _dtype
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
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
def _chunk_cat(tensors: Sequence[_Tensor], dim: _b.int, num_chunks: _b.int, *, out: _Tensor | None = None) -> _Tensor:
    """Cut each tensor into equal parts, the last filled up with zeros, and lay the parts of one number side by side."""
def _convert_indices_from_coo_to_csr(input: _Tensor, size: _b.int, *, out_int32: _b.bool = False) -> _Tensor:
    """Of row numbers in order, where each of `size` rows begins, and at the end how many there are."""
def _convert_indices_from_csr_to_coo(crow_indices: _Tensor, col_indices: _Tensor, *, out_int32: _b.bool = False, transpose: _b.bool = False) -> _Tensor:
    """The row and the column of each value, from where rows begin and the columns."""
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
def _grouped_mm(self: _Tensor, mat2: _Tensor, offs: _Tensor | None = None, bias: _Tensor | None = None, out_dtype: Any = None) -> _Tensor: ...
def _native_batch_norm_legit(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, *rest: Any, out: _Tensor | Sequence[_Tensor] | None = None, **named: Any) -> Any:
    """As `native_batch_norm`; the running statistics may be left out."""
def _safe_softmax(input: _Tensor, dim: _b.int, dtype: _dtype | None = None) -> _Tensor:
    """As `softmax`, but zeros instead of NaN where all scores are minus infinity."""
def _sample_dirichlet(input: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Points of the simplex along the last dim, of the concentrations that stand there."""
def _standard_gamma(input: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Gamma numbers of rate 1 whose shape parameters are the elements of `input`."""
def _unsafe_masked_index(input: _Tensor, mask: _Tensor, indices: Any, fill: Any) -> _Tensor:
    """`input[indices]` where the mask is set, `fill` elsewhere, at whatever positions."""
def _unsafe_masked_index_put_accumulate(input: _Tensor, mask: _Tensor, indices: Any, values: _Tensor) -> _Tensor:
    """`input` with `values` added at `indices` where the mask is set."""
def abs(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The distance of every element from zero."""
def abs_(input: _Tensor) -> _Tensor:
    """In-place version of `abs`: the result is written into this tensor."""
def absolute(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The distance of every element from zero."""
def acos(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The angle, in radians, whose cosine every element is."""
def acos_(input: _Tensor) -> _Tensor:
    """In-place version of `acos`: the result is written into this tensor."""
def acosh(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The number whose hyperbolic cosine every element is; nan below 1."""
def acosh_(input: _Tensor) -> _Tensor:
    """In-place version of `acosh`: the result is written into this tensor."""
def adaptive_avg_pool1d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None) -> _Tensor:
    """Take means of signals over windows chosen so that the output has a given size."""
def adaptive_max_pool1d(input: _Tensor, output_size: _b.int | Sequence[_b.int | None] | None, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.adaptive_max_pool1d` with `return_indices=True`: the maxima, and where they were found."""
def add(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input + alpha * other`, element by element; shapes broadcast."""
def addbmm(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
def addcdiv(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input + value * tensor1 / tensor2`, element by element."""
def addcmul(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input + value * tensor1 * tensor2`, element by element."""
def addmm(input: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
def addmv(input: _Tensor, mat: _Tensor, vec: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
def addmv_(input: _Tensor, mat: _Tensor, vec: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
    """In-place version of `addmv`: the result is written into this tensor."""
def addr(input: _Tensor, vec1: _Tensor, vec2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def adjoint(input: _Tensor) -> _Tensor:
    """The last two dimensions exchanged and complex numbers conjugated."""
def alias_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `alias`, but the result is a copy and not a view."""
def all(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Whether all elements, or all along dimensions, are true (not zero)."""
def allclose(input: _Tensor, other: _Tensor, rtol: _b.float = 1e-05, atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _b.bool:
    """Whether all elements of two tensors are close, in the sense of `isclose`."""
def alpha_dropout(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """Dropout for networks of SELU, which keeps mean and variance."""
def alpha_dropout_(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """Dropout for networks of SELU, which keeps mean and variance."""
def amax(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The largest elements over dimensions, without their positions; equal ones share the gradient."""
def amin(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The smallest elements over dimensions, without their positions; equal ones share the gradient."""
def aminmax(input: _Tensor, *, dim: _b.int | None = None, keepdim: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.aminmax:
    """The smallest and the largest elements over a dimension, or of all."""
def angle(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The angle of every number in radians: 0 for positive real ones, pi for negative ones."""
def any(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Whether at least one element, or one along dimensions, is true (not zero)."""
def arange(*bounds: _b.complex, start: _b.float | _Tensor | None = None, end: _b.float | _Tensor | None = None, step: _b.float | _Tensor | None = None, out: _Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Numbers in equal steps; the end is not included."""
def arccos(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The angle, in radians, whose cosine every element is."""
def arccos_(input: _Tensor) -> _Tensor:
    """In-place version of `arccos`: the result is written into this tensor."""
def arccosh(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The number whose hyperbolic cosine every element is; nan below 1."""
def arccosh_(input: _Tensor) -> _Tensor:
    """In-place version of `arccosh`: the result is written into this tensor."""
def arcsin(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The angle, in radians, whose sine every element is."""
def arcsin_(input: _Tensor) -> _Tensor:
    """In-place version of `arcsin`: the result is written into this tensor."""
def arcsinh(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The number whose hyperbolic sine every element is."""
def arcsinh_(input: _Tensor) -> _Tensor:
    """In-place version of `arcsinh`: the result is written into this tensor."""
def arctan(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The angle, in radians, whose tangent every element is."""
def arctan2(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The angle of the point (x=other, y=input) in radians, from -pi to pi."""
def arctan_(input: _Tensor) -> _Tensor:
    """In-place version of `arctan`: the result is written into this tensor."""
def arctanh(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The number whose hyperbolic tangent every element is; nan outside of [-1, 1]."""
def arctanh_(input: _Tensor) -> _Tensor:
    """In-place version of `arctanh`: the result is written into this tensor."""
def are_deterministic_algorithms_enabled() -> _b.bool:
    """Whether `use_deterministic_algorithms` was switched on."""
def argmax(input: _Tensor, dim: _b.int | None = None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Where the largest element is; of equal ones the first."""
def argmin(input: _Tensor, dim: _b.int | None = None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Where the smallest element is; of equal ones the first."""
def argsort(input: _Tensor, dim: _b.int = -1, descending: _b.bool = False, stable: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The positions that put the elements in order along a dimension."""
def argwhere(input: _Tensor) -> _Tensor:
    """The positions of the elements that are not zero, one row per element."""
def as_strided(input: _Tensor, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
    """A view of the memory with any sizes and strides; several elements may show the same place."""
def as_strided_(input: _Tensor, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
    """In-place version of `as_strided`: this tensor itself gets the new shape."""
def as_strided_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `as_strided`, but the result is a copy and not a view."""
def as_strided_scatter(input: _Tensor, src: _Tensor, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
    """A copy with other values where `as_strided` would show them."""
def as_tensor(data: Any, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """The data as a tensor, without a copy where that is possible."""
def asarray(obj: Any, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, copy: _b.bool | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """An object as a tensor; shares its memory unless `copy` or another argument says otherwise."""
def asin(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The angle, in radians, whose sine every element is."""
def asin_(input: _Tensor) -> _Tensor:
    """In-place version of `asin`: the result is written into this tensor."""
def asinh(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The number whose hyperbolic sine every element is."""
def asinh_(input: _Tensor) -> _Tensor:
    """In-place version of `asinh`: the result is written into this tensor."""
def atan(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The angle, in radians, whose tangent every element is."""
def atan2(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The angle of the point (x=other, y=input) in radians, from -pi to pi."""
def atan_(input: _Tensor) -> _Tensor:
    """In-place version of `atan`: the result is written into this tensor."""
def atanh(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The number whose hyperbolic tangent every element is; nan outside of [-1, 1]."""
def atanh_(input: _Tensor) -> _Tensor:
    """In-place version of `atanh`: the result is written into this tensor."""
def atleast_1d(*tensors: _Tensor) -> Any:
    """Dimensions of size 1 added until there are 1; larger tensors stay as they are."""
def atleast_2d(*tensors: _Tensor) -> Any:
    """Dimensions of size 1 added until there are 2; larger tensors stay as they are."""
def atleast_3d(*tensors: _Tensor) -> Any:
    """Dimensions of size 1 added until there are 3; larger tensors stay as they are."""
def avg_pool1d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, ceil_mode: _b.bool = False, count_include_pad: _b.bool = True, divisor_override: _b.int | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Take the mean of every window of signals."""
def baddbmm(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
def bartlett_window(window_length: _b.int, periodic: _b.bool = True, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """A window in the form of a triangle, zero at its ends."""
def batch_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, training: _b.bool, momentum: _b.float, eps: _b.float, cudnn_enabled: _b.bool = True) -> _Tensor:
    """As `nn.functional.batch_norm`, with weight and bias before the running statistics."""
def bernoulli(input: _Tensor, p: Any = None, *, generator: _Generator | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Random ones and zeros."""
def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """`input1 @ weight[o] @ input2 + bias[o]` for every output `o`."""
def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, pos_weight: _Tensor | None = None, reduction: Any = 1) -> _Tensor:
    """As `nn.functional.binary_cross_entropy_with_logits`; `reduction` is 0 for none, 1 mean, 2 sum."""
def bincount(input: _Tensor, weights: _Tensor | None = None, minlength: _b.int = 0) -> _Tensor:
    """How often each number 0, 1, 2, ... occurs, or the sum of the weights of its places."""
def binomial(count: _Tensor, prob: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Random counts of successes."""
def bitwise_and(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input & other`: the bits that both have."""
def bitwise_left_shift(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input << other`: bits moved to higher places."""
def bitwise_not(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`~input`: every bit turned over; for truth values the opposite."""
def bitwise_or(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input | other`: the bits that either has."""
def bitwise_right_shift(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input >> other`: bits moved to lower places."""
def bitwise_xor(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input ^ other`: the bits that exactly one has."""
def blackman_window(window_length: _b.int, periodic: _b.bool = True, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """A window of two cosines, flatter at its ends than `hann_window`."""
def block_diag(*tensors: _Tensor) -> _Tensor:
    """A matrix with the given ones along its diagonal and zeros elsewhere."""
def bmm(input: _Tensor, mat2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The products of two batches of matrices, without broadcasting."""
def broadcast_shapes(*shapes: Any) -> _Size:
    """The shape that tensors of these shapes have together in arithmetic."""
def broadcast_tensors(*tensors: _Tensor) -> _b.tuple[_Tensor, ...]:
    """Several tensors expanded to the shape they have together in arithmetic."""
def broadcast_to(input: _Tensor, size: _b.int | Sequence[_b.int]) -> _Tensor:
    """Expanded to a shape, without copying."""
def bucketize(input: _Tensor | _b.complex, boundaries: _Tensor, *, out_int32: _b.bool = False, right: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The number of the bucket that each value falls into."""
def can_cast(from_: Any, to: Any) -> _b.bool:
    """Whether results of one dtype may be written into a tensor of another."""
def cartesian_prod(*tensors: _Tensor) -> _Tensor:
    """Every combination of one element from each vector, as rows."""
def cat(tensors: Sequence[_Tensor], dim: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Tensors put one after the other along a dimension they have."""
def cdist(x1: _Tensor, x2: _Tensor, p: _b.float = 2.0, compute_mode: _b.str = 'use_mm_for_euclid_dist_if_necessary') -> _Tensor:
    """The p-norm distance of every row of one matrix to every row of another."""
def ceil(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The nearest whole number that is not smaller."""
def ceil_(input: _Tensor) -> _Tensor:
    """In-place version of `ceil`: the result is written into this tensor."""
def celu(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """Keep positive x; alpha (exp(x / alpha) - 1) for negative x, which has no kink at 0."""
def celu_(input: _Tensor, alpha: _b.float = 1.0, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `celu`."""
def chain_matmul(*matrices: _Tensor, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The product of several matrices; an old name of `linalg.multi_dot`, with the matrices one by one."""
def channel_shuffle(input: _Tensor, groups: _b.int) -> _Tensor:
    """Mix channels: take one from each group in turn."""
def cholesky(input: _Tensor, upper: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.linalg.cholesky`: the older name."""
def cholesky_inverse(L: _Tensor, upper: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of a matrix from its Cholesky factor."""
def cholesky_solve(B: _Tensor, L: _Tensor, upper: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """X with `A @ X = B`, from the Cholesky factor of A."""
def chunk(input: _Tensor, chunks: _b.int, dim: _b.int = 0, *, axis: _b.int | Sequence[_b.int] | None = None) -> _b.tuple[_Tensor, ...]:
    """Cut into a number of parts of equal size; the last may be smaller, and there may be fewer of them."""
def clamp(input: _Tensor, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Every element moved into a range."""
def clamp_(input: _Tensor, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None) -> _Tensor:
    """In-place version of `clamp`: the result is written into this tensor."""
def clamp_max(input: _Tensor, max: _Tensor | _b.complex | None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Every element moved down to at most `max`."""
def clamp_max_(input: _Tensor, max: _Tensor | _b.complex | None) -> _Tensor:
    """In-place version of `clamp_max`: the result is written into this tensor."""
def clamp_min(input: _Tensor, min: _Tensor | _b.complex | None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Every element moved up to at least `min`."""
def clamp_min_(input: _Tensor, min: _Tensor | _b.complex | None) -> _Tensor:
    """In-place version of `clamp_min`: the result is written into this tensor."""
def clip(input: _Tensor, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Every element moved into a range."""
def clip_(input: _Tensor, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None) -> _Tensor:
    """In-place version of `clip`: the result is written into this tensor."""
def clone(input: _Tensor, *, memory_format: _memory_format | None = None) -> _Tensor:
    """A copy in new memory; gradients flow through it."""
def column_stack(tensors: Sequence[_Tensor], *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Tensors side by side, with vectors as columns."""
def combinations(input: _Tensor, r: _b.int = 2, with_replacement: _b.bool = False) -> _Tensor:
    """Every choice of some elements of a vector, as rows."""
def complex(real: _Tensor, imag: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Complex numbers from their real and imaginary parts."""
def concat(tensors: Sequence[_Tensor], dim: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Tensors put one after the other along a dimension they have."""
def concatenate(tensors: Sequence[_Tensor], dim: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Tensors put one after the other along a dimension they have."""
def conj(input: _Tensor) -> _Tensor:
    """The complex conjugate; a real tensor is its own."""
def conj_physical(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The complex conjugate, always in new memory."""
def conj_physical_(input: _Tensor) -> _Tensor:
    """In-place version of `conj_physical`: the result is written into this tensor."""
def constant_pad_nd(input: _Tensor, pad: Sequence[_b.int], value: _Tensor | _b.complex = 0) -> _Tensor:
    """As `nn.functional.pad` in mode 'constant'."""
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """Convolve signals: every output is a weighted sum of a window of the input."""
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """Convolve images: every output is a weighted sum of a window of the input."""
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, groups: _b.int = 1) -> _Tensor:
    """Convolve volumes: every output is a weighted sum of a window of the input."""
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: _b.int = 0) -> _Tensor:
    """Convolve signals whose dimensions are time, batch and channels."""
def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """Transposed convolution of signals: what a convolution sends back to its input."""
def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """Transposed convolution of images: what a convolution sends back to its input."""
def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _b.int | Sequence[_b.int] | None = 1, padding: _b.int | Sequence[_b.int] | _b.str = 0, output_padding: _b.int | Sequence[_b.int] = 0, groups: _b.int = 1, dilation: _b.int | Sequence[_b.int] = 1) -> _Tensor:
    """Transposed convolution of volumes: what a convolution sends back to its input."""
def convolution(input: _Tensor, weight: _Tensor, bias: _Tensor | None, stride: _b.int | Sequence[_b.int] | None, padding: _b.int | Sequence[_b.int] | _b.str, dilation: _b.int | Sequence[_b.int], transposed: _b.bool, output_padding: _b.int | Sequence[_b.int], groups: _b.int) -> _Tensor:
    """Convolve, or convolve transposed, in as many dimensions as the weight has."""
def copysign(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The size of `input` with the sign of `other`."""
def corrcoef(input: _Tensor) -> _Tensor:
    """The correlation of the rows of a matrix, whose columns are observations: covariances scaled to [-1, 1]."""
def cos(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The cosine of angles in radians."""
def cos_(input: _Tensor) -> _Tensor:
    """In-place version of `cos`: the result is written into this tensor."""
def cosh(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The hyperbolic cosine."""
def cosh_(input: _Tensor) -> _Tensor:
    """In-place version of `cosh`: the result is written into this tensor."""
def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _b.float = 0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Loss of angles: 1 - cos of similar pairs, max(0, cos - margin) of others."""
def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: _b.int = 1, eps: _b.float = 1e-08) -> _Tensor:
    """Cosine of the angle between two vectors."""
def count_nonzero(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """How many elements are not zero."""
def cov(input: _Tensor, *, correction: _b.int = 1, fweights: _Tensor | None = None, aweights: _Tensor | None = None) -> _Tensor:
    """The covariance of the rows of a matrix, whose columns are observations."""
def cross(input: _Tensor, other: _Tensor, dim: _b.int | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The cross product of vectors with three elements."""
def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: Any, target_lengths: Any, blank: _b.int = 0, reduction: Any = 1, zero_infinity: _b.bool = False) -> _Tensor:
    """As `nn.functional.ctc_loss`; `reduction` is 0 for none, 1 for mean, 2 for sum."""
def cummax(input: _Tensor, dim: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.cummax:
    """The largest element up to each one along a dimension, and where it is."""
def cummin(input: _Tensor, dim: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.cummin:
    """The smallest element up to each one along a dimension, and where it is."""
def cumprod(input: _Tensor, dim: _b.int, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The product of all elements up to each one along a dimension."""
def cumsum(input: _Tensor, dim: _b.int, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The sum of all elements up to each one along a dimension."""
def cumulative_trapezoid(y: _Tensor, x: Any = None, *, dx: Any = None, dim: _b.int = -1) -> _Tensor:
    """The area under samples up to each one along a dimension, by the trapezoid rule."""
def deg2rad(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Angles in degrees as radians."""
def deg2rad_(input: _Tensor) -> _Tensor:
    """In-place version of `deg2rad`: the result is written into this tensor."""
def det(input: _Tensor) -> _Tensor:
    """As `torch.linalg.det`."""
def detach(input: _Tensor) -> _Tensor:
    """The same memory without history: no gradients flow through the result."""
def detach_(input: _Tensor) -> _Tensor:
    """Take this tensor itself out of the graph that made it; returns it."""
def detach_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `detach`, but the result is a copy and not a view."""
def diag(input: _Tensor, diagonal: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A matrix with a vector on its diagonal, or the diagonal of a matrix as a vector."""
def diag_embed(input: _Tensor, offset: _b.int = 0, dim1: _b.int = -2, dim2: _b.int = -1) -> _Tensor:
    """Matrices with the last dimension of a tensor on their diagonal, and zeros elsewhere."""
def diagflat(input: _Tensor, offset: _b.int = 0) -> _Tensor:
    """A matrix with all elements of a tensor on its diagonal."""
def diagonal(input: _Tensor, offset: _b.int = 0, dim1: _b.int = 0, dim2: _b.int = 1) -> _Tensor:
    """The diagonals of matrices, as a view; they become the last dimension."""
def diagonal_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `diagonal`, but the result is a copy and not a view."""
def diagonal_scatter(input: _Tensor, src: _Tensor, offset: _b.int = 0, dim1: _b.int = 0, dim2: _b.int = 1) -> _Tensor:
    """A copy with other values on a diagonal."""
def diff(input: _Tensor, n: _b.int = 1, dim: _b.int = -1, prepend: _Tensor | None = None, append: _Tensor | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The differences of neighbours along a dimension."""
def digamma(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The derivative of `lgamma`."""
def dist(input: _Tensor, other: _Tensor, p: _b.float = 2) -> _Tensor:
    """The length of the difference of two tensors."""
def div(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input / other`, element by element; shapes broadcast, integers give floats."""
def divide(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input / other`, element by element; shapes broadcast, integers give floats."""
def dot(input: _Tensor, tensor: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inner product of two vectors."""
def dropout(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """Set elements to zero at random, and scale the others by 1 / (1 - p)."""
def dropout_(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """Set elements to zero at random, and scale the others by 1 / (1 - p)."""
def dsmm(input: _Tensor | _b.complex, mat2: _Tensor) -> _Tensor:
    """As `torch.sparse.mm`."""
def dsplit(input: _Tensor, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
    """Parts along dimension 2: as `tensor_split`, but parts by number are equal."""
def dstack(tensors: Sequence[_Tensor], *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Tensors one behind the other: along dimension 2, which is added where it is missing."""
def einsum(equation: _b.str, *operands: Any) -> _Tensor:
    """Sums of products, written with one letter per dimension."""
def embedding(weight: _Tensor, indices: _Tensor, padding_idx: _b.int = -1, scale_grad_by_freq: _b.bool = False, sparse: _b.bool = False) -> _Tensor:
    """As `nn.functional.embedding`, with the table first."""
def empty(*size: _b.int | Sequence[_b.int], out: _Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None, names: Any = None, **keyword: Any) -> _Tensor:
    """A tensor whose values are whatever the memory held before."""
def empty_like(input: _Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """A tensor with the shape and, unless given, the dtype and device of another one; its values are arbitrary."""
def empty_permuted(size: _b.int | Sequence[_b.int], physical_layout: Sequence[_b.int], *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """A tensor without gaps in memory, its dimensions stored in the given order; values are whatever the memory held."""
def empty_strided(size: _b.int | Sequence[_b.int], stride: Sequence[_b.int], *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """A tensor of the given sizes and strides whose values are whatever the memory held before."""
def eq(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input == other`."""
def equal(input: _Tensor, other: _Tensor) -> _b.bool:
    """Whether two tensors have the same shape and the same elements."""
def erf(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The error function."""
def erf_(input: _Tensor) -> _Tensor:
    """In-place version of `erf`: the result is written into this tensor."""
def erfc(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`1 - erf(input)`, exact for large numbers too."""
def erfc_(input: _Tensor) -> _Tensor:
    """In-place version of `erfc`: the result is written into this tensor."""
def erfinv(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The number whose error function every element is."""
def exp(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """e to the power of every element."""
def exp2(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """2 to the power of every element."""
def exp2_(input: _Tensor) -> _Tensor:
    """In-place version of `exp2`: the result is written into this tensor."""
def exp_(input: _Tensor) -> _Tensor:
    """In-place version of `exp`: the result is written into this tensor."""
def expand_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `expand`, but the result is a copy and not a view."""
def expm1(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`exp(input) - 1`, exact for numbers near zero too."""
def expm1_(input: _Tensor) -> _Tensor:
    """In-place version of `expm1`: the result is written into this tensor."""
def eye(n: _b.int, m: _b.int | None = None, *, out: _Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
def feature_alpha_dropout(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`alpha_dropout` of whole channels."""
def feature_alpha_dropout_(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """`alpha_dropout` of whole channels."""
def feature_dropout(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """Set whole channels (dimension 1) to zero at random, for any number of dimensions."""
def feature_dropout_(input: _Tensor, p: _b.float, train: _b.bool) -> _Tensor:
    """Set whole channels (dimension 1) to zero at random, for any number of dimensions."""
def fill(input: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
    """A tensor like `input` with one value everywhere."""
def fill_(input: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
    """Write one value everywhere; returns the tensor itself."""
def fix(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The whole part: the fraction is cut off."""
def fix_(input: _Tensor) -> _Tensor:
    """In-place version of `fix`: the result is written into this tensor."""
def flatten(input: _Tensor, start_dim: _b.int = 0, end_dim: _b.int = -1) -> _Tensor:
    """Merge neighbouring dimensions into one."""
def flip(input: _Tensor, dims: _b.int | Sequence[_b.int] | None) -> _Tensor:
    """The elements in reverse order along dimensions; always a copy."""
def fliplr(input: _Tensor) -> _Tensor:
    """The columns in reverse order."""
def flipud(input: _Tensor) -> _Tensor:
    """The rows in reverse order."""
def float_power(input: _Tensor | _b.complex, exponent: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input ** exponent`, computed in float64 (or complex128)."""
def floor(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The nearest whole number that is not larger."""
def floor_(input: _Tensor) -> _Tensor:
    """In-place version of `floor`: the result is written into this tensor."""
def floor_divide(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input // other`, element by element, rounded down."""
def fmax(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The larger of two, element by element; where one is nan, the other."""
def fmin(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The smaller of two, element by element; where one is nan, the other."""
def fmod(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """What division leaves over, with the sign of `input`, as C's `fmod`."""
def frac(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The fraction that `trunc` cuts off, with its sign."""
def frac_(input: _Tensor) -> _Tensor:
    """In-place version of `frac`: the result is written into this tensor."""
def frexp(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.frexp:
    """Every element as a mantissa, whose size is in [0.5, 1), and a power of two."""
def from_dlpack(ext_tensor: Any, *, device: _device | _b.str | _b.int | None = None, copy: _b.bool | None = None) -> _Tensor:
    """A tensor over the memory of another library's array."""
def from_file(filename: _b.str, shared: _b.bool | None = None, size: _b.int = 0, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, pin_memory: _b.bool = False, requires_grad: _b.bool = False) -> _Tensor:
    """A tensor over the bytes of a file, read as they are looked at."""
def from_numpy(ndarray: np.ndarray) -> _Tensor:
    """A tensor over the memory of a NumPy array; both see changes of either."""
def frombuffer(buffer: Any, *, dtype: _dtype | None, count: _b.int = -1, offset: _b.int = 0, requires_grad: _b.bool = False) -> _Tensor:
    """A tensor of one dimension over the memory of an object with the buffer protocol."""
def full(size: _b.int | Sequence[_b.int], fill_value: _b.complex, *, out: _Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None) -> _Tensor:
    """A tensor filled with one value."""
def full_like(input: _Tensor, fill_value: _b.complex, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """One value in the shape and, unless given, the dtype and device of another tensor."""
def gather(input: _Tensor, dim: _b.int, index: _Tensor, *, sparse_grad: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Elements picked along a dimension: `out[i][j] = input[index[i][j]][j]` for dimension 0."""
def gcd(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The greatest common divisor of integers."""
def gcd_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `gcd`: the result is written into this tensor."""
def ge(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input >= other`."""
def geqrf(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """A QR decomposition as LAPACK packs it: R, the reflections below its diagonal, and their factors."""
def ger(input: _Tensor, vec2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Every product of an element of one vector with one of another, as a matrix."""
def get_deterministic_debug_mode() -> _b.int:
    """Return 0 for kernels of any kind, 1 for a warning where one is not deterministic, 2 for an error."""
def get_device(input: _Tensor) -> _b.int:
    """The index of the GPU the tensor is on; -1 for the CPU."""
def get_float32_matmul_precision() -> _b.str:
    """How exact products of float32 matrices on a GPU are: 'highest', 'high' or 'medium'."""
def get_num_interop_threads() -> _b.int:
    """How many operations run at the same time: always 1 here."""
def get_num_threads() -> _b.int:
    """How many threads the operations on the CPU use."""
def get_rng_state() -> _Tensor:
    """The state of the default CPU generator, as a ByteTensor."""
def gradient(input: _Tensor, *, spacing: Any = None, dim: _b.int | Sequence[_b.int] | None = None, edge_order: _b.int = 1) -> _b.tuple[_Tensor, ...]:
    """The slope of a sampled function, one tensor per dimension, by differences of the neighbours on both sides."""
def greater(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input > other`."""
def greater_equal(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input >= other`."""
def grid_sampler(input: _Tensor, grid: _Tensor, interpolation_mode: _b.int, padding_mode: _b.int, align_corners: _b.bool) -> _Tensor:
    """As `nn.functional.grid_sample`, with modes as numbers."""
def grid_sampler_2d(input: _Tensor, grid: _Tensor, interpolation_mode: _b.int, padding_mode: _b.int, align_corners: _b.bool) -> _Tensor:
    """As `nn.functional.grid_sample`, with modes as numbers."""
def grid_sampler_3d(input: _Tensor, grid: _Tensor, interpolation_mode: _b.int, padding_mode: _b.int, align_corners: _b.bool) -> _Tensor:
    """As `nn.functional.grid_sample`, with modes as numbers."""
def group_norm(input: _Tensor, num_groups: _b.int, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _b.float = 1e-05, cudnn_enabled: _b.bool = True) -> _Tensor:
    """As `nn.functional.group_norm`."""
def gru(input: _Tensor, *args: Any) -> _b.tuple[_Tensor, _Tensor]:
    """Recurrent layers over a sequence: the outputs, and the last state."""
def gru_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """One step of a GRU: the new state."""
def gt(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input > other`."""
def hamming_window(window_length: _b.int, periodic: _b.bool = True, alpha: _b.float = 0.54, beta: _b.float = 0.46, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """A window like a raised cosine that does not reach zero."""
def hann_window(window_length: _b.int, periodic: _b.bool = True, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """A window that rises and falls like a raised cosine, zero at its ends."""
def hardshrink(input: _Tensor, lambd: _b.float = 0.5, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Set elements in [-lambd, lambd] to zero."""
def hash_tensor(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = ..., *, keepdim: _b.bool = False, mode: _b.int = 0, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """One number for all elements, or for those along dimensions: the exclusive or of their bits."""
def heaviside(input: _Tensor, values: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """0 for negative elements, 1 for positive ones, and `values` at zero."""
def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: _b.float = 1.0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Loss of distances: the distance of similar pairs, max(0, margin - distance) of others."""
def histc(input: _Tensor, bins: _b.int = 100, min: _b.float = 0, max: _b.float = 0, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """How many elements fall into each of some bins of equal width."""
def histogram(input: _Tensor, bins: Any, *, range: Any = None, weight: _Tensor | None = None, density: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.histogram:
    """How many elements fall into each bin, and the edges of the bins."""
def histogramdd(input: _Tensor, bins: Any, range: Any = None, weight: _Tensor | None = None, density: _b.bool = False) -> Any:
    """How many points fall into each cell of a grid, and the edges of the grid's lines."""
def hsplit(input: _Tensor, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
    """Parts along dimension 1: as `tensor_split`, but parts by number are equal."""
def hstack(tensors: Sequence[_Tensor], *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Tensors side by side: along dimension 1, or along dimension 0 for vectors."""
def hypot(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The length of the vector (input, other): `sqrt(input ** 2 + other ** 2)`."""
def i0(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the first kind of order 0."""
def i0_(input: _Tensor) -> _Tensor:
    """In-place version of `i0`: the result is written into this tensor."""
def igamma(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The part of the gamma function's integral up to `other`: 0 at zero, 1 at infinity."""
def igammac(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The part of the gamma function's integral from `other` on: `1 - gammainc`."""
def imag(input: _Tensor) -> _Tensor:
    """The imaginary part, as a view."""
def index_add(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> _Tensor:
    """As `index_add_`, but in a copy: `input` stays as it is."""
def index_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> _Tensor:
    """As `index_copy_`, but in a copy: `input` stays as it is."""
def index_fill(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> _Tensor:
    """As `index_fill_`, but in a copy: `input` stays as it is."""
def index_put(input: _Tensor, indices: Any, values: _Tensor, accumulate: _b.bool = False) -> _Tensor:
    """A copy with values at the positions that index tensors name, as `x[indices] = values` would write them."""
def index_put_(input: _Tensor, indices: Any, values: _Tensor, accumulate: _b.bool = False) -> _Tensor:
    """Write values at the positions that index tensors name; returns the tensor itself."""
def index_reduce(input: _Tensor, dim: _b.int, index: _Tensor, source: _Tensor, reduce: _b.str, *, include_self: _b.bool = True, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A copy with slices combined into those at some positions."""
def index_select(input: _Tensor, dim: _b.int, index: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The slices at some positions of a dimension, as a copy."""
def initial_seed() -> _b.int:
    """The seed the default generator was last restarted from."""
def inner(input: _Tensor, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The sum of products over the last dimensions of two tensors."""
def instance_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, use_input_stats: _b.bool, momentum: _b.float, eps: _b.float, cudnn_enabled: _b.bool = True) -> _Tensor:
    """As `nn.functional.instance_norm`, with weight and bias before the running statistics."""
def inverse(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.linalg.inv`."""
def is_complex(input: _Tensor) -> _b.bool:
    """Whether the dtype is complex."""
def is_conj(input: _Tensor) -> _b.bool:
    """Whether a conjugation is still to be computed; never here, because it is computed at once."""
def is_deterministic_algorithms_warn_only_enabled() -> _b.bool:
    """Whether operations without a deterministic kernel only warn."""
def is_floating_point(input: _Tensor) -> _b.bool:
    """Whether the dtype is a floating point one."""
def is_inference(input: _Tensor) -> _b.bool:
    """Whether the tensor was made in `inference_mode`."""
def is_neg(input: _Tensor) -> _b.bool:
    """Whether a negation is still to be computed; never here, because it is computed at once."""
def is_nonzero(input: _Tensor) -> _b.bool:
    """Whether the one element of a tensor is not zero."""
def is_same_size(input: _Tensor, other: _Tensor) -> _b.bool:
    """Whether two tensors have the same shape."""
def is_signed(input: _Tensor) -> _b.bool:
    """Whether the dtype has negative numbers."""
def is_storage(obj: Any) -> _b.bool:
    """Whether an object is the memory of a tensor."""
def is_tensor(obj: Any) -> _b.bool:
    """Whether an object is a tensor."""
def isclose(input: _Tensor, other: _Tensor, rtol: _b.float = 1e-05, atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _Tensor:
    """Where two tensors differ little: `|input - other| <= atol + rtol * |other|`."""
def isfinite(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where the element is neither infinite nor nan."""
def isin(elements: Any, test_elements: Any, *, assume_unique: _b.bool = False, invert: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where an element is one of those in another tensor."""
def isinf(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where the element is infinite, of either sign."""
def isnan(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where the element is nan."""
def isneginf(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where the element is minus infinity."""
def isposinf(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where the element is plus infinity."""
def isreal(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where the imaginary part is zero."""
def istft(input: _Tensor, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None, window: _Tensor | None = None, center: _b.bool = True, normalized: _b.bool = False, onesided: _b.bool | None = None, length: _b.int | None = None, return_complex: _b.bool = False) -> _Tensor:
    """The signal whose `stft` comes nearest to the given one."""
def kaiser_window(window_length: _b.int, periodic: _b.bool = True, beta: _b.float = 12.0, *, dtype: _dtype | None = None, **options: Any) -> _Tensor:
    """A window made with a Bessel function, whose width can be chosen."""
def kl_div(input: _Tensor, target: _Tensor, reduction: Any = 1, *, log_target: _b.bool = False) -> _Tensor:
    """As `nn.functional.kl_div`; `reduction` is 0 for none, 1 for mean, 2 for sum."""
def kron(input: _Tensor, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Kronecker product: a copy of `other` for every element of `input`, multiplied by it."""
def kthvalue(input: _Tensor, k: _b.int, dim: _b.int = -1, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.kthvalue:
    """The `k`-th smallest element along a dimension, and where it is."""
def layer_norm(input: _Tensor, normalized_shape: _b.int | Sequence[_b.int], weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _b.float = 1e-05, cudnn_enable: _b.bool = True) -> _Tensor:
    """As `nn.functional.layer_norm`."""
def lcm(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The least common multiple of integers."""
def lcm_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `lcm`: the result is written into this tensor."""
def ldexp(input: _Tensor, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input * 2 ** other`, element by element."""
def ldexp_(input: _Tensor, other: _Tensor) -> _Tensor:
    """In-place version of `ldexp`: the result is written into this tensor."""
def le(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input <= other`."""
def lerp(input: _Tensor, end: _Tensor, weight: Any, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A point between two: `input + weight * (end - input)`."""
def less(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input < other`."""
def less_equal(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input <= other`."""
def lgamma(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of the absolute value of the gamma function."""
def linspace(start: _b.float | _Tensor | None, end: _b.float | _Tensor | None, steps: _b.int, *, out: _Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Evenly spaced numbers, both ends included."""
def log(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The natural logarithm of every element; nan for negative ones."""
def log10(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of every element to base 10; nan for negative ones."""
def log10_(input: _Tensor) -> _Tensor:
    """In-place version of `log10`: the result is written into this tensor."""
def log1p(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`log(1 + input)`, exact for numbers near zero too."""
def log1p_(input: _Tensor) -> _Tensor:
    """In-place version of `log1p`: the result is written into this tensor."""
def log2(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of every element to base 2."""
def log2_(input: _Tensor) -> _Tensor:
    """In-place version of `log2`: the result is written into this tensor."""
def log_(input: _Tensor) -> _Tensor:
    """In-place version of `log`: the result is written into this tensor."""
def log_softmax(input: _Tensor, dim: _b.int, dtype: _dtype | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of `softmax`, computed so that nothing overflows."""
def logaddexp(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`log(exp(input) + exp(other))`, computed so that nothing overflows."""
def logaddexp2(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`log2(2 ** input + 2 ** other)`, computed so that nothing overflows."""
def logcumsumexp(input: _Tensor, dim: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of the sum of exponentials up to each element along a dimension."""
def logdet(input: _Tensor) -> _Tensor:
    """The logarithm of the determinant of a square matrix; nan where it is negative, minus infinity where it is 0."""
def logical_and(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where both are true (not zero)."""
def logical_not(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where the element is false (zero)."""
def logical_or(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where at least one is true (not zero)."""
def logical_xor(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where exactly one is true (not zero)."""
def logit(input: _Tensor, eps: _b.float | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of `sigmoid`."""
def logit_(input: _Tensor, eps: _b.float | None = None) -> _Tensor:
    """In-place version of `logit`: the result is written into this tensor."""
def logspace(start: _b.float | _Tensor | None, end: _b.float | _Tensor | None, steps: _b.int, base: _b.float = 10.0, *, out: _Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Powers of a base whose exponents are evenly spaced."""
def logsumexp(input: _Tensor, dim: _b.int | Sequence[_b.int] | None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of the sum of exponentials over dimensions, computed so that nothing overflows."""
def lstm(input: _Tensor, *args: Any) -> _b.tuple[_Tensor, _Tensor, _Tensor]:
    """A stack of LSTM layers over a sequence: the outputs, and the last states h and c. `nn.LSTM` calls it."""
def lstm_cell(input: _Tensor, hx: Sequence[_Tensor], w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _b.tuple[_Tensor, _Tensor]:
    """One step of an LSTM: the new states h and c."""
def lt(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input < other`."""
def lu(A: _Tensor, pivot: _b.bool = True, get_infos: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _b.tuple[_Tensor, ...]:
    """As `torch.linalg.lu_factor`, or as `lu_factor_ex` with `get_infos`: the older name, deprecated."""
def lu_solve(b: _Tensor, LU_data: _Tensor, LU_pivots: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.linalg.lu_solve`: the older name, with the right-hand side first."""
def lu_unpack(LU_data: _Tensor, LU_pivots: _Tensor, unpack_data: _b.bool = True, unpack_pivots: _b.bool = True, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """The permutation and the two triangular matrices of what `lu_factor` packed."""
def manual_seed(seed: _b.int) -> _Generator:
    """Restart the random numbers of every device from `seed`."""
def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _b.float = 0, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """Loss of an order: max(0, -target (input1 - input2) + margin)."""
def masked_fill(input: _Tensor, mask: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
    """One value written where a mask is true, in a copy."""
def masked_scatter(input: _Tensor, mask: _Tensor, source: _Tensor) -> _Tensor:
    """A copy with the elements where a mask is true taken from another tensor, in order."""
def masked_select(input: _Tensor, mask: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The elements where a mask is true, as a vector."""
def matmul(input: _Tensor, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The matrix product; `a @ b` calls it."""
def matrix_exp(input: _Tensor) -> _Tensor:
    """As `torch.linalg.matrix_exp`."""
def matrix_power(input: _Tensor, n: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.linalg.matrix_power`."""
@overload
def max(input: _Tensor) -> _Tensor:
    """The largest element; along a dimension, values and where they are; of two tensors, the larger of each pair."""
@overload
def max(input: _Tensor, dim: _b.int | _b.str, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.max: ...
@overload
def max(input: _Tensor, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor: ...
def max_pool1d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """Take the maximum of every window of signals."""
def max_pool1d_with_indices(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> _b.tuple[_Tensor, _Tensor]:
    """As `nn.functional.max_pool1d` with `return_indices=True`: the maxima, and where they were found."""
def max_pool2d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """Take the maximum of every window of images."""
def max_pool3d(input: _Tensor, kernel_size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None = None, padding: _b.int | Sequence[_b.int] | _b.str = 0, dilation: _b.int | Sequence[_b.int] = 1, ceil_mode: _b.bool = False, return_indices: _b.bool = False) -> Any:
    """Take the maximum of every window of volumes."""
def maximum(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The larger of two, element by element; nan if one of them is."""
def mean(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """The mean over dimensions, or of all elements."""
@overload
def median(input: _Tensor) -> _Tensor:
    """The element in the middle (the lower one of two); along a dimension, values and where they are."""
@overload
def median(input: _Tensor, dim: _b.int | _b.str, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.median: ...
def meshgrid(*tensors: _Tensor, indexing: _b.str | None = None) -> _b.tuple[_Tensor, ...]:
    """The coordinates of all points of a grid, one tensor per axis."""
@overload
def min(input: _Tensor) -> _Tensor:
    """The smallest element; along a dimension, values and where they are; of two tensors, the smaller of each pair."""
@overload
def min(input: _Tensor, dim: _b.int | _b.str, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.min: ...
@overload
def min(input: _Tensor, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor: ...
def minimum(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The smaller of two, element by element; nan if one of them is."""
def mm(input: _Tensor, mat2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The product of two matrices, without broadcasting."""
def mode(input: _Tensor, dim: _b.int = -1, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.mode:
    """The most frequent value along a dimension (the smallest of equally frequent ones), and where it is."""
def moveaxis(input: _Tensor, source: Any, destination: Any) -> _Tensor:
    """Dimensions moved to new places; the others keep their order."""
def movedim(input: _Tensor, source: Any, destination: Any) -> _Tensor:
    """Dimensions moved to new places; the others keep their order."""
def msort(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The elements in order along the first dimension."""
def mul(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input * other`, element by element; shapes broadcast."""
def multinomial(input: _Tensor, num_samples: _b.int, replacement: _b.bool = False, *, generator: _Generator | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Positions along the last dimension, drawn with the weights that stand there."""
def multiply(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input * other`, element by element; shapes broadcast."""
def mv(input: _Tensor, vec: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A matrix times a vector."""
def mvlgamma(input: _Tensor, p: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of the gamma function of several dimensions."""
def nan_to_num(input: _Tensor, nan: _b.float | None = 0.0, posinf: _b.float | None = None, neginf: _b.float | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """nan and infinities replaced by numbers."""
def nan_to_num_(input: _Tensor, nan: _b.float | None = 0.0, posinf: _b.float | None = None, neginf: _b.float | None = None) -> _Tensor:
    """In-place version of `nan_to_num`: the result is written into this tensor."""
def nanmean(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The mean over dimensions of the elements that are not nan."""
@overload
def nanmedian(input: _Tensor) -> _Tensor:
    """As `median`, of the elements that are not nan."""
@overload
def nanmedian(input: _Tensor, dim: _b.int | _b.str, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.nanmedian: ...
def nanquantile(input: _Tensor, q: Any, dim: _b.int | None = None, keepdim: _b.bool = False, *, interpolation: _b.str = 'linear', out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `quantile`, of the elements that are not nan."""
def nansum(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The sum over dimensions with nan counted as 0."""
def narrow(input: _Tensor, dim: _b.int, start: Any, length: _b.int) -> _Tensor:
    """A range of a dimension, as a view."""
def narrow_copy(input: _Tensor, dim: _b.int, start: _b.int, length: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `narrow`, but the result is a copy."""
def native_batch_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, training: _b.bool, momentum: _b.float, eps: _b.float, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """`batch_norm` with the mean and 1 / standard deviation of every channel; without them if not training."""
def native_channel_shuffle(input: _Tensor, groups: _b.int) -> _Tensor:
    """Mix channels: take one from each group in turn."""
def native_dropout(input: _Tensor, p: _b.float, train: _b.bool | None) -> _b.tuple[_Tensor, _Tensor]:
    """Dropout that also returns which elements were kept."""
def native_group_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, N: _b.int, C: _b.int, HxW: _b.int, group: _b.int, eps: _b.float) -> _b.tuple[_Tensor, _Tensor, _Tensor]:
    """`group_norm` with the mean and 1 / standard deviation of every group."""
def native_layer_norm(input: _Tensor, normalized_shape: _b.int | Sequence[_b.int], weight: _Tensor | None, bias: _Tensor | None, eps: _b.float) -> _b.tuple[_Tensor, _Tensor, _Tensor]:
    """`layer_norm` with the mean and 1 / standard deviation of every row."""
def ne(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input != other`."""
def neg(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The negative of every element."""
def neg_(input: _Tensor) -> _Tensor:
    """In-place version of `neg`: the result is written into this tensor."""
def negative(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The negative of every element."""
def negative_(input: _Tensor) -> _Tensor:
    """In-place version of `negative`: the result is written into this tensor."""
def nextafter(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The next number that the dtype has, from `input` towards `other`."""
def nonzero(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None, as_tuple: _b.bool = False) -> Any:
    """The positions of the elements that are not zero."""
def nonzero_static(input: _Tensor, *, size: _b.int, fill_value: _b.int = -1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `nonzero` with exactly `size` rows: cut off, or filled up."""
def norm(input: _Tensor, p: Any = 'fro', dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None, dtype: _dtype | None = None) -> _Tensor:
    """The length of a tensor seen as one vector, or of the vectors along dimensions; other norms by `p`."""
def normal(mean: Any, std: Any = 1.0, size: _b.int | Sequence[_b.int] | None = None, *, generator: _Generator | None = None, out: _Tensor | Sequence[_Tensor] | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Random numbers from a normal distribution."""
def not_equal(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where `input != other`."""
def numel(input: _Tensor) -> _b.int:
    """The number of elements."""
def ones(*size: _b.int | Sequence[_b.int], out: _Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None, **keyword: Any) -> _Tensor:
    """A tensor of ones."""
def ones_like(input: _Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Ones in the shape and, unless given, the dtype and device of another tensor."""
def orgqr(input: _Tensor, input2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.linalg.householder_product`."""
def ormqr(input: _Tensor, tau: _Tensor, other: _Tensor, left: _b.bool = True, transpose: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The product of the whole (m, m) Q that `geqrf` packed and another matrix."""
def outer(input: _Tensor, vec2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Every product of an element of one vector with one of another, as a matrix."""
def pairwise_distance(x1: _Tensor, x2: _Tensor, p: _b.float = 2.0, eps: _b.float = 1e-06, keepdim: _b.bool = False) -> _Tensor:
    """The p-norm of the difference of two vectors."""
def pdist(input: _Tensor, p: _b.float = 2) -> _Tensor:
    """The p-norm distances of all pairs of rows."""
def permute(input: _Tensor, dims: _b.int | Sequence[_b.int] | None) -> _Tensor:
    """The dimensions in another order, as a view."""
def permute_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `permute`, but the result is a copy and not a view."""
def pinverse(input: _Tensor, rcond: _b.float = 1e-15) -> _Tensor:
    """As `torch.linalg.pinv`."""
def pixel_shuffle(input: _Tensor, upscale_factor: _b.int) -> _Tensor:
    """Turn channels into pixels: blocks of r x r pixels come from r * r channels."""
def pixel_unshuffle(input: _Tensor, downscale_factor: _b.int) -> _Tensor:
    """Turn pixels into channels: the inverse of `pixel_shuffle`."""
def poisson(input: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Random counts from Poisson distributions."""
def polar(abs: _Tensor, angle: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Complex numbers from their lengths and angles."""
def polygamma(n: _b.int, input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The n-th derivative of `digamma`."""
def positive(input: _Tensor) -> _Tensor:
    """The tensor itself, as `+x` is."""
def pow(input: _Tensor | _b.complex, exponent: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input ** exponent`, element by element; shapes broadcast."""
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """Keep positive x; a learnt slope times x for negative x."""
def prod(input: _Tensor, dim: _b.int | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The product over a dimension, or of all elements; integers multiply in int64."""
def promote_types(type1: _dtype, type2: _dtype) -> _dtype:
    """The smallest dtype that holds the values of both."""
def put(input: _Tensor, index: _Tensor, source: _Tensor, accumulate: _b.bool = False) -> _Tensor:
    """A copy with values at positions in the flattened tensor."""
def qr(input: _Tensor, some: _b.bool = True, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """As `torch.linalg.qr`: the older name."""
def quantile(input: _Tensor, q: Any, dim: _b.int | None = None, keepdim: _b.bool = False, *, interpolation: _b.str = 'linear', out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The value below which a part of the elements lies, along a dimension or of all."""
def rad2deg(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Angles in radians as degrees."""
def rad2deg_(input: _Tensor) -> _Tensor:
    """In-place version of `rad2deg`: the result is written into this tensor."""
def rand(*size: _b.int | Sequence[_b.int], generator: _Generator | None = None, out: _Tensor | Sequence[_Tensor] | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None, **keyword: Any) -> _Tensor:
    """Random numbers, equally likely between 0 and 1 (1 excluded)."""
def rand_like(input: _Tensor, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Random numbers, equally likely between 0 and 1 (1 excluded), in the shape of another tensor."""
def randint(*args: Any, low: Any = None, high: Any = None, size: _b.int | Sequence[_b.int] | None = None, generator: _Generator | None = None, out: _Tensor | Sequence[_Tensor] | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """Random whole numbers, each equally likely; called as `randint(high, size)` or `randint(low, high, size)`."""
def randint_like(input: _Tensor, low: Any = None, high: Any = None, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Random whole numbers in the shape and dtype of another tensor; `randint_like(x, high)` or `(x, low, high)`."""
def randn(*size: _b.int | Sequence[_b.int], generator: _Generator | None = None, out: _Tensor | Sequence[_Tensor] | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None, **keyword: Any) -> _Tensor:
    """Random numbers from the standard normal distribution."""
def randn_like(input: _Tensor, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Random numbers from the standard normal distribution, in the shape of another tensor."""
def randperm(n: _b.int, *, generator: _Generator | None = None, out: _Tensor | Sequence[_Tensor] | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """The numbers from 0 to n - 1 in random order."""
def range(start: _b.float | _Tensor | None = 0, end: _b.float | _Tensor | None = None, step: _b.float | _Tensor | None = 1, *, out: _Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """Numbers in equal steps, the end included; `arange` is the usual choice, and PyTorch warns about this one."""
def ravel(input: _Tensor) -> _Tensor:
    """The elements in one dimension; a copy only if the memory is not in order."""
def real(input: _Tensor) -> _Tensor:
    """The real part, as a view; a real tensor is its own."""
def reciprocal(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """One divided by every element."""
def reciprocal_(input: _Tensor) -> _Tensor:
    """In-place version of `reciprocal`: the result is written into this tensor."""
def relu(input: _Tensor) -> _Tensor:
    """Replace negative elements by zero: max(0, x)."""
def relu_(input: _Tensor) -> _Tensor:
    """In-place version of `relu`."""
def remainder(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """What `input // other` leaves over, with the sign of `other`, as Python's `%`."""
def renorm(input: _Tensor, p: _b.float, dim: _b.int, maxnorm: _b.float, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Slices along a dimension made shorter, where their norm is too large."""
def repeat_interleave(input: _Tensor | _b.complex, repeats: _Tensor | _b.int | Sequence[_b.int] | None = None, dim: _b.int | None = None, *, output_size: _b.int | None = None) -> _Tensor:
    """Every element several times in a row."""
def reshape(input: _Tensor, shape: _b.int | Sequence[_b.int] | _dtype) -> _Tensor:
    """The same elements in another shape; a view where the memory allows it, otherwise a copy."""
def resize_as_(input: _Tensor, the_template: _Tensor, *, memory_format: _memory_format | None = None) -> _Tensor:
    """As `Tensor.resize_`, to the shape of another tensor."""
def resolve_conj(input: _Tensor) -> _Tensor:
    """The tensor with its conjugation computed: itself, because that happens at once here."""
def resolve_neg(input: _Tensor) -> _Tensor:
    """The tensor with its negation computed: itself, because that happens at once here."""
def result_type(tensor1: Any, tensor2: Any) -> _dtype:
    """The dtype that arithmetic of the two gives."""
def rms_norm(input: _Tensor, normalized_shape: _b.int | Sequence[_b.int], weight: _Tensor | None = None, eps: _b.float | None = None) -> _Tensor:
    """Divide by the root mean square over the last dimensions."""
def rnn_relu(input: _Tensor, *args: Any) -> _b.tuple[_Tensor, _Tensor]:
    """Recurrent layers over a sequence: the outputs, and the last state."""
def rnn_relu_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """One step of an RNN with relu: the new state."""
def rnn_tanh(input: _Tensor, *args: Any) -> _b.tuple[_Tensor, _Tensor]:
    """Recurrent layers over a sequence: the outputs, and the last state."""
def rnn_tanh_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """One step of an RNN with tanh: the new state."""
def roll(input: _Tensor, shifts: _b.int | Sequence[_b.int], dims: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """The elements moved along dimensions; what leaves at the end comes back at the front."""
def rot90(input: _Tensor, k: _b.int = 1, dims: _b.int | Sequence[_b.int] | None = ...) -> _Tensor:
    """The elements turned by quarters of a circle in the plane of two dimensions."""
def round(input: _Tensor, *, decimals: _b.int = 0, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The nearest whole number, halves to the even one; or the nearest number with some decimals."""
def round_(input: _Tensor, *, decimals: _b.int = 0) -> _Tensor:
    """In-place version of `round`: the result is written into this tensor."""
def row_stack(tensors: Sequence[_Tensor], *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Tensors one above the other: along dimension 0, with vectors as rows."""
def rrelu(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """Leaky ReLU whose slope is drawn for every element in training."""
def rrelu_(input: _Tensor, lower: _b.float = 0.125, upper: _b.float = 0.3333333333333333, training: _b.bool = False, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `rrelu`."""
def rsqrt(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """One divided by the square root of every element."""
def rsqrt_(input: _Tensor) -> _Tensor:
    """In-place version of `rsqrt`: the result is written into this tensor."""
def rsub(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
    """`other - alpha * input`, element by element."""
def scalar_tensor(s: Any, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """A tensor without dimensions that holds one number, in the default float dtype unless another is given."""
def scatter(input: _Tensor, dim: _b.int, index: _Tensor, src: Any = None, *, value: _Tensor | _b.complex | None = None, reduce: _b.str | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A copy with values written at positions along a dimension: `out[index[i][j]][j] = src[i][j]` for dimension 0."""
def scatter_add(input: _Tensor, dim: _b.int, index: _Tensor, src: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A copy with values added at positions along a dimension; repeated positions add up."""
def scatter_reduce(input: _Tensor, dim: _b.int, index: _Tensor, src: _Tensor, reduce: _b.str, *, include_self: _b.bool = True, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A copy with values combined into it at positions along a dimension."""
def searchsorted(sorted_sequence: _Tensor, input: _Tensor | _b.complex, *, out_int32: _b.bool = False, right: _b.bool = False, side: _b.str | None = None, sorter: _Tensor | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Where each value would have to be inserted to keep a sequence in order."""
def seed() -> _b.int:
    """Restart the random numbers from the operating system's entropy; returns the seed."""
def select(input: _Tensor, dim: _b.int, index: _b.int) -> _Tensor:
    """The slice at one position of a dimension, as a view without that dimension."""
def select_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `select`, but the result is a copy and not a view."""
def select_scatter(input: _Tensor, src: _Tensor, dim: _b.int, index: _b.int) -> _Tensor:
    """A copy with other values at one position of a dimension."""
def selu(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """ELU with fixed constants that keep activations near mean 0 and variance 1."""
def selu_(input: _Tensor, inplace: _b.bool = False) -> _Tensor:
    """In-place version of `selu`."""
def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by the name of an old type; `set_default_dtype` is the newer way."""
def set_deterministic_debug_mode(debug_mode: _b.int | _b.str) -> None:
    """`use_deterministic_algorithms` with one word for its two switches."""
def set_float32_matmul_precision(precision: _b.str) -> None:
    """Set how exact products of float32 matrices on a GPU are."""
def set_flush_denormal(mode: _b.bool) -> _b.bool:
    """Ask that very small numbers count as zero; not available here, so the answer is False."""
def set_num_interop_threads(num: _b.int) -> None:
    """Accepts 1 only: operations run one at a time here."""
def set_num_threads(num: _b.int) -> None:
    """Set how many threads the operations on the CPU use."""
def set_rng_state(new_state: _Tensor) -> None:
    """Let the default CPU generator continue from `new_state`."""
def sgn(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `sign`; for complex numbers the number of length 1 in the same direction."""
def sigmoid(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`1 / (1 + exp(-input))`: every number moved into (0, 1)."""
def sigmoid_(input: _Tensor) -> _Tensor:
    """In-place version of `sigmoid`: the result is written into this tensor."""
def sign(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """-1, 0 or 1, by the sign of every element."""
def signbit(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Whether the sign bit of every element is set, which it is for -0.0 too."""
def sin(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The sine of angles in radians."""
def sin_(input: _Tensor) -> _Tensor:
    """In-place version of `sin`: the result is written into this tensor."""
def sinc(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`sin(pi * input) / (pi * input)`, which is 1 at zero."""
def sinc_(input: _Tensor) -> _Tensor:
    """In-place version of `sinc`: the result is written into this tensor."""
def sinh(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The hyperbolic sine."""
def sinh_(input: _Tensor) -> _Tensor:
    """In-place version of `sinh`: the result is written into this tensor."""
def slice_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `slice`, but the result is a copy and not a view."""
def slice_scatter(input: _Tensor, src: _Tensor, dim: _b.int = 0, start: _b.int | None = None, end: _b.int | None = None, step: _b.int = 1, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A copy with other values in a range of a dimension."""
def slogdet(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """As `torch.linalg.slogdet`."""
def softmax(input: _Tensor, dim: _b.int, dtype: _dtype | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Turn scores into shares that sum to 1: exp(x), divided by its sum along `dim`."""
def sort(input: _Tensor, dim: _b.int = -1, descending: _b.bool = False, stable: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.sort:
    """The elements in order along a dimension, and where each one was."""
def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: _b.int | Sequence[_b.int] | None = None, *, dtype: _dtype | None = None, layout: Any = ..., device: _device | _b.str | _b.int | None = None, pin_memory: _b.bool = False, requires_grad: _b.bool = False, check_invariants: _b.bool | None = None) -> Any:
    """A sparse matrix from its compressed form, row by row (`sparse_csr`) or column by column (`sparse_csc`)."""
def sparse_coo_tensor(indices: Any, values: Any = None, size: _b.int | Sequence[_b.int] | None = None, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, check_invariants: Any = None, is_coalesced: _b.bool | None = None) -> _Tensor:
    """A sparse tensor: only the elements that are not zero, with their places."""
def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: _b.int | Sequence[_b.int] | None = None, **options: Any) -> Any:
    """A sparse matrix column by column."""
def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: _b.int | Sequence[_b.int] | None = None, **options: Any) -> Any:
    """A sparse matrix row by row."""
def split(tensor: _Tensor, split_size_or_sections: _b.int | Sequence[_b.int], dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
    """Cut into parts along a dimension; the parts are views."""
def split_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `split`, but the result is a copy and not a view."""
def split_with_sizes(input: _Tensor, split_sizes: Sequence[_b.int], dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
    """Cut into parts of the given sizes; the parts are views."""
def split_with_sizes_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `split_with_sizes`, but the result is a copy and not a view."""
def spmm(input: _Tensor | _b.complex, mat2: _Tensor) -> _Tensor:
    """As `torch.sparse.mm`."""
def sqrt(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The square root of every element; nan for negative ones."""
def sqrt_(input: _Tensor) -> _Tensor:
    """In-place version of `sqrt`: the result is written into this tensor."""
def square(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The square of every element."""
def square_(input: _Tensor) -> _Tensor:
    """In-place version of `square`: the result is written into this tensor."""
def squeeze(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = ..., *, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """The dimensions of size 1 left out."""
def squeeze_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `squeeze`, but the result is a copy and not a view."""
def stack(tensors: Sequence[_Tensor], dim: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Tensors of one shape put one after the other along a new dimension."""
def std(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The standard deviation over dimensions, or of all elements: the square root of `var`."""
def std_mean(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _b.tuple[_Tensor, _Tensor]:
    """The standard deviation and the mean over dimensions, or of all elements."""
def stft(input: _Tensor, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None, window: _Tensor | None = None, center: _b.bool = True, pad_mode: _b.str = 'reflect', normalized: _b.bool = False, onesided: _b.bool | None = None, return_complex: _b.bool | None = None, align_to_window: _b.bool | None = None) -> _Tensor:
    """The Fourier transforms of windows that move along a signal: (*, frequencies, windows)."""
def sub(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input - alpha * other`, element by element; shapes broadcast."""
def subtract(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input - alpha * other`, element by element; shapes broadcast."""
def sum(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
    """The sum over dimensions, or of all elements."""
def svd(input: _Tensor, some: _b.bool = True, compute_uv: _b.bool = True, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """As `torch.linalg.svd`: the older name; it returns V and not its conjugate transpose."""
def swapaxes(input: _Tensor, axis0: _b.int, axis1: _b.int) -> _Tensor:
    """Two dimensions exchanged, as a view: `transpose` with NumPy's name."""
def swapdims(input: _Tensor, dim0: _b.int, dim1: _b.int) -> _Tensor:
    """Two dimensions exchanged, as a view."""
def t(input: _Tensor) -> _Tensor:
    """The transpose of a matrix, as a view; vectors and numbers stay as they are."""
def t_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `t`, but the result is a copy and not a view."""
def take(input: _Tensor, index: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The elements at positions in the flattened tensor."""
def take_along_dim(input: _Tensor, indices: _Tensor, dim: _b.int | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `gather`, with `input` and `indices` broadcast apart from `dim`."""
def tan(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The tangent of angles in radians."""
def tan_(input: _Tensor) -> _Tensor:
    """In-place version of `tan`: the result is written into this tensor."""
def tanh(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The hyperbolic tangent: every number moved into (-1, 1)."""
def tanh_(input: _Tensor) -> _Tensor:
    """In-place version of `tanh`: the result is written into this tensor."""
def tensor(data: Any, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False) -> _Tensor:
    """A new tensor with a copy of the data."""
def tensor_split(input: _Tensor, indices_or_sections: Any = None, dim: _b.int = 0, *, indices: Any = None, sections: Any = None) -> _b.tuple[_Tensor, ...]:
    """Cut into parts at positions, or into a number of nearly equal parts; the parts are views."""
def tensordot(a: _Tensor, b: _Tensor, dims: _b.int | Sequence[_b.int] | None = 2, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Products summed over chosen dimensions of two tensors."""
def threshold(input: _Tensor, threshold: _b.float, value: _b.float, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Elements that are not above a threshold replaced by one value."""
def threshold_(input: _Tensor, threshold: _b.float, value: _b.float) -> _Tensor:
    """In-place version of `threshold`."""
def tile(input: _Tensor, dims: _b.int | Sequence[_b.int] | None) -> _Tensor:
    """As `Tensor.repeat`, but dimensions that are not named are not repeated."""
def to_dlpack(tensor: _Tensor) -> Any:
    """A DLPack capsule of the tensor's memory; newer libraries take the tensor itself."""
def topk(input: _Tensor, k: _b.int, dim: _b.int = -1, largest: _b.bool = True, sorted: _b.bool = True, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.topk:
    """The largest elements along a dimension, in order, and where they are."""
def trace(input: _Tensor) -> _Tensor:
    """The sum of the main diagonal of a matrix."""
def transpose(input: _Tensor, dim0: _b.int, dim1: _b.int) -> _Tensor:
    """Two dimensions exchanged, as a view."""
def transpose_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `transpose`, but the result is a copy and not a view."""
def trapezoid(y: _Tensor, x: Any = None, *, dx: Any = None, dim: _b.int = -1) -> _Tensor:
    """The area under samples along a dimension, by the trapezoid rule."""
def trapz(y: _Tensor, x: Any = None, *, dx: Any = None, dim: _b.int = -1) -> _Tensor:
    """The area under samples along a dimension, by the trapezoid rule."""
def triangular_solve(b: _Tensor, A: _Tensor, upper: _b.bool = True, transpose: _b.bool = False, unitriangular: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """As `torch.linalg.solve_triangular`: the older name, with the right-hand side first; returns A, too."""
def tril(input: _Tensor, diagonal: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The lower triangle of a matrix, or of each in a batch: zeros above a diagonal."""
def tril_indices(row: _b.int, col: _b.int, offset: _b.int = 0, *, dtype: _dtype | None = ..., device: _device | _b.str | _b.int | None = None, layout: _layout | None = None, pin_memory: _b.bool = False) -> _Tensor:
    """The positions of the elements that `tril` keeps: their rows, and their columns."""
def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: _b.float = 1.0, p: _b.float = 2, eps: _b.float = 1e-06, swap: _b.bool = False, size_average: _b.bool | None = None, reduce: _b.bool | None = None, reduction: _b.str = 'mean') -> _Tensor:
    """The anchor should be nearer to the positive than to the negative, by a margin."""
def triu(input: _Tensor, diagonal: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The upper triangle of a matrix, or of each in a batch: zeros below a diagonal."""
def triu_indices(row: _b.int, col: _b.int, offset: _b.int = 0, *, dtype: _dtype | None = ..., device: _device | _b.str | _b.int | None = None, layout: _layout | None = None, pin_memory: _b.bool = False) -> _Tensor:
    """The positions of the elements that `triu` keeps: their rows, and their columns."""
def true_divide(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input / other`, element by element, always as floating point numbers."""
def trunc(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The whole part: the fraction is cut off."""
def trunc_(input: _Tensor) -> _Tensor:
    """In-place version of `trunc`: the result is written into this tensor."""
def typename(obj: _b.object) -> _b.str:
    """The name of an object's type; for tensors the old one, such as 'torch.FloatTensor'."""
def unbind(input: _Tensor, dim: _b.int = 0, *, axis: _b.int | Sequence[_b.int] | None = None) -> _b.tuple[_Tensor, ...]:
    """All slices along a dimension, as a tuple of views without it."""
def unbind_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `unbind`, but the result is a copy and not a view."""
def unflatten(input: _Tensor, dim: _b.int, sizes: _b.int | Sequence[_b.int]) -> _Tensor:
    """Split one dimension into several."""
def unfold_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `unfold`, but the result is a copy and not a view."""
def unique(input: _Tensor, sorted: _b.bool = True, return_inverse: _b.bool = False, return_counts: _b.bool = False, dim: _b.int | None = None) -> Any:
    """The different elements in growing order; also where and how often they occur."""
def unique_consecutive(input: _Tensor, return_inverse: _b.bool = False, return_counts: _b.bool = False, dim: _b.int | None = None) -> Any:
    """Runs of equal elements cut down to their first one."""
def unravel_index(indices: _Tensor, shape: _b.int | Sequence[_b.int] | _dtype) -> _b.tuple[_Tensor, ...]:
    """Positions in a flattened tensor as one position for each dimension."""
def unsafe_chunk(input: _Tensor, chunks: _b.int, dim: _b.int = 0, *, axis: _b.int | Sequence[_b.int] | None = None) -> _b.tuple[_Tensor, ...]:
    """Cut into a number of parts of equal size; the last may be smaller, and there may be fewer of them."""
def unsafe_split(tensor: _Tensor, split_size_or_sections: _b.int | Sequence[_b.int], dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
    """Cut into parts along a dimension; the parts are views."""
def unsafe_split_with_sizes(input: _Tensor, split_sizes: Sequence[_b.int], dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
    """Cut into parts of the given sizes; the parts are views."""
def unsqueeze(input: _Tensor, dim: _b.int | None = None, *, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """A new dimension of size 1."""
def unsqueeze_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `unsqueeze`, but the result is a copy and not a view."""
def use_deterministic_algorithms(mode: _b.bool, *, warn_only: _b.bool = False) -> None:
    """Use only kernels that give the same result in every run."""
def vander(x: _Tensor, N: _b.int | None = None, increasing: _b.bool = False) -> _Tensor:
    """A matrix of powers: one row for every element, one column for every exponent."""
def var(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The variance over dimensions, or of all elements."""
def var_mean(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _b.tuple[_Tensor, _Tensor]:
    """The variance and the mean over dimensions, or of all elements."""
def vdot(input: _Tensor, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inner product of two vectors, the first one conjugated."""
def view_as_complex(input: _Tensor) -> _Tensor:
    """Pairs in the last dimension as complex numbers, without a copy."""
def view_as_real(input: _Tensor) -> _Tensor:
    """Complex numbers as pairs in a new last dimension, without a copy."""
def view_copy(input: _Tensor, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> Any:
    """As `view`, but the result is a copy and not a view."""
def vsplit(input: _Tensor, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
    """Parts along dimension 0: as `tensor_split`, but parts by number are equal."""
def vstack(tensors: Sequence[_Tensor], *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """Tensors one above the other: along dimension 0, with vectors as rows."""
def where(condition: _Tensor, input: _Tensor | _b.complex | None = None, other: _Tensor | _b.complex | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """`input` where a condition holds and `other` elsewhere; with the condition alone, the positions where it holds."""
def xlogy(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input * log(other)`, and 0 where `input` is 0."""
def xlogy_(input: _Tensor | _b.complex, other: _Tensor | _b.complex) -> _Tensor:
    """In-place version of `xlogy`: the result is written into this tensor."""
def zero_(input: _Tensor) -> _Tensor:
    """Write zero everywhere; returns the tensor itself."""
def zeros(*size: _b.int | Sequence[_b.int], out: _Tensor | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, names: Any = None, **keyword: Any) -> _Tensor:
    """A tensor of zeros."""
def zeros_like(input: _Tensor, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, pin_memory: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
    """Zeros in the shape and, unless given, the dtype and device of another tensor."""
