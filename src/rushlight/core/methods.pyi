"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from ..base.device import device as _device
from ..base.dtypes import dtype as _dtype
from ..base.formats import layout as _layout
from ..base.formats import qscheme as _qscheme
from ..base.formats import memory_format as _memory_format
from ..base.shapes import Size as _Size
from ..core.tensor import Tensor as _Tensor
from .. import return_types as _results
from ..operators.random.generator import Generator as _Generator

class Methods:
    def _make_subclass(self, data: _Tensor, require_grad: _b.bool = False) -> _Tensor: ...
    def _make_wrapper_subclass(self, size: _b.int | Sequence[_b.int], strides: Any = None, storage_offset: _b.int | None = None, memory_format: _memory_format | None = None, dtype: _dtype | None = None, layout: _layout | None = ..., device: _device | _b.str | _b.int | None = None, pin_memory: _b.bool = False, requires_grad: _b.bool = False, dispatch_sizes_strides_policy: Any = None, dispatch_device: _b.bool = False, dispatch_layout: _b.bool = False, _extra_dispatch_keys: Any = None, storage_size: Any = None) -> Any:
        """A tensor of a class with `__torch_dispatch__` that has a shape, a dtype and a device, and no memory."""
    def abs(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The distance of every element from zero."""
    def abs_(self) -> _Tensor:
        """In-place version of `abs`: the result is written into this tensor."""
    def absolute(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The distance of every element from zero."""
    def absolute_(self) -> _Tensor:
        """In-place version of `absolute`: the result is written into this tensor."""
    def acos(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The angle, in radians, whose cosine every element is."""
    def acos_(self) -> _Tensor:
        """In-place version of `acos`: the result is written into this tensor."""
    def acosh(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The number whose hyperbolic cosine every element is; nan below 1."""
    def acosh_(self) -> _Tensor:
        """In-place version of `acosh`: the result is written into this tensor."""
    def add(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input + alpha * other`, element by element; shapes broadcast."""
    def add_(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `add`: the result is written into this tensor."""
    def addbmm(self, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    def addbmm_(self, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `addbmm`: the result is written into this tensor."""
    def addcdiv(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input + value * tensor1 / tensor2`, element by element."""
    def addcdiv_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1) -> _Tensor:
        """In-place version of `addcdiv`: the result is written into this tensor."""
    def addcmul(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input + value * tensor1 * tensor2`, element by element."""
    def addcmul_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1) -> _Tensor:
        """In-place version of `addcmul`: the result is written into this tensor."""
    def addmm(self, mat1: _Tensor, mat2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`."""
    def addmm_(self, mat1: _Tensor, mat2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `addmm`: the result is written into this tensor."""
    def addmv(self, mat: _Tensor, vec: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`beta * input + alpha * (mat @ vec)`."""
    def addmv_(self, mat: _Tensor, vec: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `addmv`: the result is written into this tensor."""
    def addr(self, vec1: _Tensor, vec2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def addr_(self, vec1: _Tensor, vec2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `addr`: the result is written into this tensor."""
    def adjoint(self) -> _Tensor:
        """The last two dimensions exchanged and complex numbers conjugated."""
    def all(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Whether all elements, or all along dimensions, are true (not zero)."""
    def allclose(self, other: _Tensor, rtol: _b.float = 1e-05, atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _b.bool:
        """Whether all elements of two tensors are close, in the sense of `isclose`."""
    def amax(self, dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The largest elements over dimensions, without their positions; equal ones share the gradient."""
    def amin(self, dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The smallest elements over dimensions, without their positions; equal ones share the gradient."""
    def aminmax(self, *, dim: _b.int | None = None, keepdim: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.aminmax:
        """The smallest and the largest elements over a dimension, or of all."""
    def angle(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The angle of every number in radians: 0 for positive real ones, pi for negative ones."""
    def any(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Whether at least one element, or one along dimensions, is true (not zero)."""
    def apply_(self, callable: Any) -> _Tensor:
        """Replace every element by what a Python function makes of it; slow, and on the CPU only."""
    def arccos(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The angle, in radians, whose cosine every element is."""
    def arccos_(self) -> _Tensor:
        """In-place version of `arccos`: the result is written into this tensor."""
    def arccosh(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The number whose hyperbolic cosine every element is; nan below 1."""
    def arccosh_(self) -> _Tensor:
        """In-place version of `arccosh`: the result is written into this tensor."""
    def arcsin(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The angle, in radians, whose sine every element is."""
    def arcsin_(self) -> _Tensor:
        """In-place version of `arcsin`: the result is written into this tensor."""
    def arcsinh(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The number whose hyperbolic sine every element is."""
    def arcsinh_(self) -> _Tensor:
        """In-place version of `arcsinh`: the result is written into this tensor."""
    def arctan(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The angle, in radians, whose tangent every element is."""
    def arctan2(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The angle of the point (x=other, y=input) in radians, from -pi to pi."""
    def arctan2_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `arctan2`: the result is written into this tensor."""
    def arctan_(self) -> _Tensor:
        """In-place version of `arctan`: the result is written into this tensor."""
    def arctanh(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The number whose hyperbolic tangent every element is; nan outside of [-1, 1]."""
    def arctanh_(self) -> _Tensor:
        """In-place version of `arctanh`: the result is written into this tensor."""
    def argmax(self, dim: _b.int | None = None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """Where the largest element is; of equal ones the first."""
    def argmin(self, dim: _b.int | None = None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """Where the smallest element is; of equal ones the first."""
    def argsort(self, dim: _b.int = -1, descending: _b.bool = False, stable: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The positions that put the elements in order along a dimension."""
    def argwhere(self) -> _Tensor:
        """The positions of the elements that are not zero, one row per element."""
    def as_strided(self, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
        """A view of the memory with any sizes and strides; several elements may show the same place."""
    def as_strided_(self, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
        """In-place version of `as_strided`: this tensor itself gets the new shape."""
    def as_strided_scatter(self, src: _Tensor, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
        """A copy with other values where `as_strided` would show them."""
    def as_subclass(self, cls: _b.type) -> _Tensor:
        """The same memory and history as an object of a subclass of Tensor."""
    def asin(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The angle, in radians, whose sine every element is."""
    def asin_(self) -> _Tensor:
        """In-place version of `asin`: the result is written into this tensor."""
    def asinh(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The number whose hyperbolic sine every element is."""
    def asinh_(self) -> _Tensor:
        """In-place version of `asinh`: the result is written into this tensor."""
    def atan(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The angle, in radians, whose tangent every element is."""
    def atan2(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The angle of the point (x=other, y=input) in radians, from -pi to pi."""
    def atan2_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `atan2`: the result is written into this tensor."""
    def atan_(self) -> _Tensor:
        """In-place version of `atan`: the result is written into this tensor."""
    def atanh(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The number whose hyperbolic tangent every element is; nan outside of [-1, 1]."""
    def atanh_(self) -> _Tensor:
        """In-place version of `atanh`: the result is written into this tensor."""
    def backward(self, gradient: _Tensor | None = None, retain_graph: _b.bool | None = None, create_graph: _b.bool = False, inputs: _Tensor | Any | Any[_Tensor | Any] | None = None) -> None:
        """Compute the gradients of this tensor and add them to the `.grad` of the leaves it was made from."""
    def baddbmm(self, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`beta * input + alpha * bmm(batch1, batch2)`."""
    def baddbmm_(self, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `baddbmm`: the result is written into this tensor."""
    def bernoulli(self, p: Any = None, *, generator: _Generator | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Random ones and zeros."""
    def bernoulli_(self, p: Any = 0.5, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with random ones and zeros; returns the tensor itself."""
    def bfloat16(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as bfloat16; the tensor itself if they are already."""
    def bincount(self, weights: _Tensor | None = None, minlength: _b.int = 0) -> _Tensor:
        """How often each number 0, 1, 2, ... occurs, or the sum of the weights of its places."""
    def bitwise_and(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input & other`: the bits that both have."""
    def bitwise_and_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_and`: the result is written into this tensor."""
    def bitwise_left_shift(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input << other`: bits moved to higher places."""
    def bitwise_left_shift_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_left_shift`: the result is written into this tensor."""
    def bitwise_not(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`~input`: every bit turned over; for truth values the opposite."""
    def bitwise_not_(self) -> _Tensor:
        """In-place version of `bitwise_not`: the result is written into this tensor."""
    def bitwise_or(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input | other`: the bits that either has."""
    def bitwise_or_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_or`: the result is written into this tensor."""
    def bitwise_right_shift(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input >> other`: bits moved to lower places."""
    def bitwise_right_shift_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_right_shift`: the result is written into this tensor."""
    def bitwise_xor(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input ^ other`: the bits that exactly one has."""
    def bitwise_xor_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_xor`: the result is written into this tensor."""
    def bmm(self, mat2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The products of two batches of matrices, without broadcasting."""
    def bool(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as bool; the tensor itself if they are already."""
    def broadcast_to(self, *sizes: _b.int | Sequence[_b.int], size: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """Expanded to a shape, without copying."""
    def bucketize(self, boundaries: _Tensor, *, out_int32: _b.bool = False, right: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The number of the bucket that each value falls into."""
    def byte(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as uint8; the tensor itself if they are already."""
    def cauchy_(self, median: _b.float = 0, sigma: _b.float = 1, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with random numbers from a Cauchy distribution; returns the tensor itself."""
    def cdouble(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as complex128; the tensor itself if they are already."""
    def ceil(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The nearest whole number that is not smaller."""
    def ceil_(self) -> _Tensor:
        """In-place version of `ceil`: the result is written into this tensor."""
    def cfloat(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as complex64; the tensor itself if they are already."""
    def char(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as int8; the tensor itself if they are already."""
    def cholesky(self, upper: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `torch.linalg.cholesky`: the older name."""
    def cholesky_inverse(self, upper: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The inverse of a matrix from its Cholesky factor."""
    def cholesky_solve(self, L: _Tensor, upper: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """X with `A @ X = B`, from the Cholesky factor of A."""
    def chunk(self, chunks: _b.int, dim: _b.int = 0, *, axis: _b.int | Sequence[_b.int] | None = None) -> _b.tuple[_Tensor, ...]:
        """Cut into a number of parts of equal size; the last may be smaller, and there may be fewer of them."""
    def clamp(self, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Every element moved into a range."""
    def clamp_(self, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None) -> _Tensor:
        """In-place version of `clamp`: the result is written into this tensor."""
    def clamp_max(self, max: _Tensor | _b.complex | None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Every element moved down to at most `max`."""
    def clamp_max_(self, max: _Tensor | _b.complex | None) -> _Tensor:
        """In-place version of `clamp_max`: the result is written into this tensor."""
    def clamp_min(self, min: _Tensor | _b.complex | None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Every element moved up to at least `min`."""
    def clamp_min_(self, min: _Tensor | _b.complex | None) -> _Tensor:
        """In-place version of `clamp_min`: the result is written into this tensor."""
    def clip(self, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Every element moved into a range."""
    def clip_(self, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None) -> _Tensor:
        """In-place version of `clip`: the result is written into this tensor."""
    def clone(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """A copy in new memory; gradients flow through it."""
    def combinations(self, r: _b.int = 2, with_replacement: _b.bool = False) -> _Tensor:
        """Every choice of some elements of a vector, as rows."""
    def conj(self) -> _Tensor:
        """The complex conjugate; a real tensor is its own."""
    def conj_physical(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The complex conjugate, always in new memory."""
    def conj_physical_(self) -> _Tensor:
        """In-place version of `conj_physical`: the result is written into this tensor."""
    def contiguous(self, memory_format: _memory_format = ...) -> _Tensor:
        """The tensor with its elements in order in memory; itself if they are."""
    def copy_(self, src: _Tensor, non_blocking: _b.bool = False) -> _Tensor:
        """Write another tensor's values into this one; returns the tensor itself."""
    def copysign(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The size of `input` with the sign of `other`."""
    def copysign_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `copysign`: the result is written into this tensor."""
    def corrcoef(self) -> _Tensor:
        """The correlation of the rows of a matrix, whose columns are observations: covariances scaled to [-1, 1]."""
    def cos(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The cosine of angles in radians."""
    def cos_(self) -> _Tensor:
        """In-place version of `cos`: the result is written into this tensor."""
    def cosh(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> _Tensor:
        """In-place version of `cosh`: the result is written into this tensor."""
    def count_nonzero(self, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """How many elements are not zero."""
    def cov(self, *, correction: _b.int = 1, fweights: _Tensor | None = None, aweights: _Tensor | None = None) -> _Tensor:
        """The covariance of the rows of a matrix, whose columns are observations."""
    def cpu(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in the memory of the CPU; itself if it is there."""
    def cross(self, other: _Tensor, dim: _b.int | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The cross product of vectors with three elements."""
    def cuda(self, device: _device | _b.str | _b.int | None = None, non_blocking: _b.bool = False, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor on a GPU; itself if it is there."""
    def cummax(self, dim: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.cummax:
        """The largest element up to each one along a dimension, and where it is."""
    def cummin(self, dim: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.cummin:
        """The smallest element up to each one along a dimension, and where it is."""
    def cumprod(self, dim: _b.int, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The product of all elements up to each one along a dimension."""
    def cumprod_(self, dim: _b.int, *, dtype: _dtype | None = None) -> _Tensor:
        """In-place version of `cumprod`: the result is written into this tensor."""
    def cumsum(self, dim: _b.int, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The sum of all elements up to each one along a dimension."""
    def cumsum_(self, dim: _b.int, *, dtype: _dtype | None = None) -> _Tensor:
        """In-place version of `cumsum`: the result is written into this tensor."""
    def deg2rad(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Angles in degrees as radians."""
    def deg2rad_(self) -> _Tensor:
        """In-place version of `deg2rad`: the result is written into this tensor."""
    def det(self) -> _Tensor:
        """As `torch.linalg.det`."""
    def detach(self) -> _Tensor:
        """The same memory without history: no gradients flow through the result."""
    def detach_(self) -> _Tensor:
        """Take this tensor itself out of the graph that made it; returns it."""
    def diag(self, diagonal: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """A matrix with a vector on its diagonal, or the diagonal of a matrix as a vector."""
    def diag_embed(self, offset: _b.int = 0, dim1: _b.int = -2, dim2: _b.int = -1) -> _Tensor:
        """Matrices with the last dimension of a tensor on their diagonal, and zeros elsewhere."""
    def diagflat(self, offset: _b.int = 0) -> _Tensor:
        """A matrix with all elements of a tensor on its diagonal."""
    def diagonal(self, offset: _b.int = 0, dim1: _b.int = 0, dim2: _b.int = 1) -> _Tensor:
        """The diagonals of matrices, as a view; they become the last dimension."""
    def diagonal_scatter(self, src: _Tensor, offset: _b.int = 0, dim1: _b.int = 0, dim2: _b.int = 1) -> _Tensor:
        """A copy with other values on a diagonal."""
    def diff(self, n: _b.int = 1, dim: _b.int = -1, prepend: _Tensor | None = None, append: _Tensor | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The differences of neighbours along a dimension."""
    def digamma(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The derivative of `lgamma`."""
    def digamma_(self) -> _Tensor:
        """In-place version of `digamma`: the result is written into this tensor."""
    def dim_order(self) -> _b.tuple[_b.int, ...]:
        """The dimensions from the outermost in memory to the innermost."""
    def dist(self, other: _Tensor, p: _b.float = 2) -> _Tensor:
        """The length of the difference of two tensors."""
    def div(self, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input / other`, element by element; shapes broadcast, integers give floats."""
    def div_(self, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None) -> _Tensor:
        """In-place version of `div`: the result is written into this tensor."""
    def divide(self, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input / other`, element by element; shapes broadcast, integers give floats."""
    def divide_(self, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None) -> _Tensor:
        """In-place version of `divide`: the result is written into this tensor."""
    def dot(self, tensor: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The inner product of two vectors."""
    def double(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as float64; the tensor itself if they are already."""
    def dsplit(self, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
        """Parts along dimension 2: as `tensor_split`, but parts by number are equal."""
    def eq(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input == other`."""
    def eq_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `eq`: the result is written into this tensor."""
    def equal(self, other: _Tensor) -> _b.bool:
        """Whether two tensors have the same shape and the same elements."""
    def erf(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The error function."""
    def erf_(self) -> _Tensor:
        """In-place version of `erf`: the result is written into this tensor."""
    def erfc(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`1 - erf(input)`, exact for large numbers too."""
    def erfc_(self) -> _Tensor:
        """In-place version of `erfc`: the result is written into this tensor."""
    def erfinv(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The number whose error function every element is."""
    def erfinv_(self) -> _Tensor:
        """In-place version of `erfinv`: the result is written into this tensor."""
    def exp(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """e to the power of every element."""
    def exp2(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """2 to the power of every element."""
    def exp2_(self) -> _Tensor:
        """In-place version of `exp2`: the result is written into this tensor."""
    def exp_(self) -> _Tensor:
        """In-place version of `exp`: the result is written into this tensor."""
    def expand(self, *sizes: _b.int | Sequence[_b.int], size: _b.int | Sequence[_b.int] | None = None, implicit: _b.bool = False) -> _Tensor:
        """Dimensions of size 1 shown as larger ones, without copying; new dimensions may be added in front."""
    def expand_as(self, other: _Tensor) -> _Tensor:
        """Expanded to the shape of another tensor, without copying."""
    def expm1(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`exp(input) - 1`, exact for numbers near zero too."""
    def expm1_(self) -> _Tensor:
        """In-place version of `expm1`: the result is written into this tensor."""
    def exponential_(self, lambd: _b.float = 1, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with random numbers from an exponential distribution; returns the tensor itself."""
    def fill(self, value: _Tensor | _b.complex) -> _Tensor:
        """A tensor like `input` with one value everywhere."""
    def fill_(self, value: _Tensor | _b.complex) -> _Tensor:
        """Write one value everywhere; returns the tensor itself."""
    def fill_diagonal_(self, fill_value: _b.complex, wrap: _b.bool = False) -> _Tensor:
        """Write one value on the main diagonal; returns the tensor itself."""
    def fix(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The whole part: the fraction is cut off."""
    def fix_(self) -> _Tensor:
        """In-place version of `fix`: the result is written into this tensor."""
    def flatten(self, start_dim: _b.int = 0, end_dim: _b.int = -1) -> _Tensor:
        """Merge neighbouring dimensions into one."""
    def flip(self, *order: _b.int | Sequence[_b.int], dims: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """The elements in reverse order along dimensions; always a copy."""
    def fliplr(self) -> _Tensor:
        """The columns in reverse order."""
    def flipud(self) -> _Tensor:
        """The rows in reverse order."""
    def float(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as float32; the tensor itself if they are already."""
    def float_power(self, exponent: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input ** exponent`, computed in float64 (or complex128)."""
    def float_power_(self, exponent: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `float_power`: the tensor has to be of float64, or of complex128."""
    def floor(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The nearest whole number that is not larger."""
    def floor_(self) -> _Tensor:
        """In-place version of `floor`: the result is written into this tensor."""
    def floor_divide(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input // other`, element by element, rounded down."""
    def floor_divide_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `floor_divide`: the result is written into this tensor."""
    def fmax(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The larger of two, element by element; where one is nan, the other."""
    def fmin(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The smaller of two, element by element; where one is nan, the other."""
    def fmod(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """What division leaves over, with the sign of `input`, as C's `fmod`."""
    def fmod_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `fmod`: the result is written into this tensor."""
    def frac(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The fraction that `trunc` cuts off, with its sign."""
    def frac_(self) -> _Tensor:
        """In-place version of `frac`: the result is written into this tensor."""
    def frexp(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.frexp:
        """Every element as a mantissa, whose size is in [0.5, 1), and a power of two."""
    def gather(self, dim: _b.int, index: _Tensor, *, sparse_grad: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Elements picked along a dimension: `out[i][j] = input[index[i][j]][j]` for dimension 0."""
    def gcd(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The greatest common divisor of integers."""
    def gcd_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `gcd`: the result is written into this tensor."""
    def ge(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input >= other`."""
    def ge_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `ge`: the result is written into this tensor."""
    def geometric_(self, p: _b.float, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with how many trials it takes to succeed; returns the tensor itself."""
    def geqrf(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
        """A QR decomposition as LAPACK packs it: R, the reflections below its diagonal, and their factors."""
    def ger(self, vec2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Every product of an element of one vector with one of another, as a matrix."""
    def greater(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input > other`."""
    def greater_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `greater`: the result is written into this tensor."""
    def greater_equal(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input >= other`."""
    def greater_equal_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `greater_equal`: the result is written into this tensor."""
    def gt(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input > other`."""
    def gt_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `gt`: the result is written into this tensor."""
    def half(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as float16; the tensor itself if they are already."""
    def hardshrink(self, lambd: _b.float = 0.5, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Set elements in [-lambd, lambd] to zero."""
    def hash_tensor(self, dim: _b.int | Sequence[_b.int] | None = ..., *, keepdim: _b.bool = False, mode: _b.int = 0, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """One number for all elements, or for those along dimensions: the exclusive or of their bits."""
    def heaviside(self, values: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """0 for negative elements, 1 for positive ones, and `values` at zero."""
    def heaviside_(self, values: _Tensor) -> _Tensor:
        """In-place version of `heaviside`: the result is written into this tensor."""
    def histc(self, bins: _b.int = 100, min: _b.float = 0, max: _b.float = 0, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """How many elements fall into each of some bins of equal width."""
    def histogram(self, bins: Any, *, range: Any = None, weight: _Tensor | None = None, density: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.histogram:
        """How many elements fall into each bin, and the edges of the bins."""
    def hsplit(self, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
        """Parts along dimension 1: as `tensor_split`, but parts by number are equal."""
    def hypot(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The length of the vector (input, other): `sqrt(input ** 2 + other ** 2)`."""
    def hypot_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `hypot`: the result is written into this tensor."""
    def i0(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def i0_(self) -> _Tensor:
        """In-place version of `i0`: the result is written into this tensor."""
    def igamma(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The part of the gamma function's integral up to `other`: 0 at zero, 1 at infinity."""
    def igamma_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `igamma`: the result is written into this tensor."""
    def igammac(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The part of the gamma function's integral from `other` on: `1 - gammainc`."""
    def igammac_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `igammac`: the result is written into this tensor."""
    def index_add(self, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> _Tensor:
        """As `index_add_`, but in a copy: `input` stays as it is."""
    def index_add_(self, dim: _b.int, index: _Tensor, source: _Tensor, *, alpha: _b.complex = 1) -> _Tensor:
        """Add slices to those at some positions; repeated positions add up. Returns the tensor itself."""
    def index_copy(self, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> _Tensor:
        """As `index_copy_`, but in a copy: `input` stays as it is."""
    def index_copy_(self, dim: _b.int, index: _Tensor, source: _Tensor) -> _Tensor:
        """Write slices at some positions; returns the tensor itself."""
    def index_fill(self, *args: Any, out: _Tensor | Sequence[_Tensor] | None = None, **kwargs: Any) -> _Tensor:
        """As `index_fill_`, but in a copy: `input` stays as it is."""
    def index_fill_(self, dim: _b.int, index: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
        """Write one value into the slices at some positions; returns the tensor itself."""
    def index_put(self, indices: Any, values: _Tensor, accumulate: _b.bool = False) -> _Tensor:
        """A copy with values at the positions that index tensors name, as `x[indices] = values` would write them."""
    def index_put_(self, indices: Any, values: _Tensor, accumulate: _b.bool = False) -> _Tensor:
        """Write values at the positions that index tensors name; returns the tensor itself."""
    def index_reduce(self, dim: _b.int, index: _Tensor, source: _Tensor, reduce: _b.str, *, include_self: _b.bool = True, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """A copy with slices combined into those at some positions."""
    def index_reduce_(self, dim: _b.int, index: _Tensor, source: _Tensor, reduce: _b.str, *, include_self: _b.bool = True) -> _Tensor:
        """In-place version of `index_reduce`: the result is written into this tensor."""
    def index_select(self, dim: _b.int, index: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The slices at some positions of a dimension, as a copy."""
    def inner(self, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The sum of products over the last dimensions of two tensors."""
    def int(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as int32; the tensor itself if they are already."""
    def inverse(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `torch.linalg.inv`."""
    def is_conj(self) -> _b.bool:
        """Whether a conjugation is still to be computed; never here, because it is computed at once."""
    def is_contiguous(self, memory_format: _memory_format = ...) -> _b.bool:
        """Whether the elements lie in memory in order, without gaps."""
    def is_neg(self) -> _b.bool:
        """Whether a negation is still to be computed; never here, because it is computed at once."""
    def is_nonzero(self) -> _b.bool:
        """Whether the one element of a tensor is not zero."""
    def is_pinned(self, device: _device | _b.str | _b.int | None = None) -> _b.bool:
        """Whether the memory is page-locked; without a GPU none is."""
    def is_same_size(self, other: _Tensor) -> _b.bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: _Tensor) -> _b.bool:
        """Whether two tensors show the same memory in the same way."""
    def is_shared(self) -> _b.bool:
        """Whether other processes can see this tensor's memory."""
    def isclose(self, other: _Tensor, rtol: _b.float = 1e-05, atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _Tensor:
        """Where two tensors differ little: `|input - other| <= atol + rtol * |other|`."""
    def isfinite(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where the element is neither infinite nor nan."""
    def isinf(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where the element is infinite, of either sign."""
    def isnan(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where the element is nan."""
    def isneginf(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where the element is minus infinity."""
    def isposinf(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where the element is plus infinity."""
    def isreal(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where the imaginary part is zero."""
    def istft(self, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None, window: _Tensor | None = None, center: _b.bool = True, normalized: _b.bool = False, onesided: _b.bool | None = None, length: _b.int | None = None, return_complex: _b.bool = False) -> _Tensor:
        """The signal whose `stft` comes nearest to the given one."""
    def kron(self, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The Kronecker product: a copy of `other` for every element of `input`, multiplied by it."""
    def kthvalue(self, k: _b.int, dim: _b.int = -1, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.kthvalue:
        """The `k`-th smallest element along a dimension, and where it is."""
    def lcm(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The least common multiple of integers."""
    def lcm_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `lcm`: the result is written into this tensor."""
    def ldexp(self, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input * 2 ** other`, element by element."""
    def ldexp_(self, other: _Tensor) -> _Tensor:
        """In-place version of `ldexp`: the result is written into this tensor."""
    def le(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input <= other`."""
    def le_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `le`: the result is written into this tensor."""
    def lerp(self, end: _Tensor, weight: Any, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """A point between two: `input + weight * (end - input)`."""
    def lerp_(self, end: _Tensor, weight: Any) -> _Tensor:
        """In-place version of `lerp`: the result is written into this tensor."""
    def less(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input < other`."""
    def less_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `less`: the result is written into this tensor."""
    def less_equal(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input <= other`."""
    def less_equal_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `less_equal`: the result is written into this tensor."""
    def lgamma(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> _Tensor:
        """In-place version of `lgamma`: the result is written into this tensor."""
    def log(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The natural logarithm of every element; nan for negative ones."""
    def log10(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The logarithm of every element to base 10; nan for negative ones."""
    def log10_(self) -> _Tensor:
        """In-place version of `log10`: the result is written into this tensor."""
    def log1p(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`log(1 + input)`, exact for numbers near zero too."""
    def log1p_(self) -> _Tensor:
        """In-place version of `log1p`: the result is written into this tensor."""
    def log2(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The logarithm of every element to base 2."""
    def log2_(self) -> _Tensor:
        """In-place version of `log2`: the result is written into this tensor."""
    def log_(self) -> _Tensor:
        """In-place version of `log`: the result is written into this tensor."""
    def log_normal_(self, mean: _b.float = 1, std: _b.float = 2, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with random numbers whose logarithm is normally distributed; returns the tensor itself."""
    def log_softmax(self, dim: _b.int, dtype: _dtype | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The logarithm of `softmax`, computed so that nothing overflows."""
    def logaddexp(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`log(exp(input) + exp(other))`, computed so that nothing overflows."""
    def logaddexp2(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`log2(2 ** input + 2 ** other)`, computed so that nothing overflows."""
    def logcumsumexp(self, dim: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The logarithm of the sum of exponentials up to each element along a dimension."""
    def logdet(self) -> _Tensor:
        """The logarithm of the determinant of a square matrix; nan where it is negative, minus infinity where it is 0."""
    def logical_and(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where both are true (not zero)."""
    def logical_and_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `logical_and`: the result is written into this tensor."""
    def logical_not(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where the element is false (zero)."""
    def logical_not_(self) -> _Tensor:
        """In-place version of `logical_not`: the result is written into this tensor."""
    def logical_or(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where at least one is true (not zero)."""
    def logical_or_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `logical_or`: the result is written into this tensor."""
    def logical_xor(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where exactly one is true (not zero)."""
    def logical_xor_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `logical_xor`: the result is written into this tensor."""
    def logit(self, eps: _b.float | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The inverse of `sigmoid`."""
    def logit_(self, eps: _b.float | None = None) -> _Tensor:
        """In-place version of `logit`: the result is written into this tensor."""
    def logsumexp(self, dim: _b.int | Sequence[_b.int] | None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The logarithm of the sum of exponentials over dimensions, computed so that nothing overflows."""
    def long(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as int64; the tensor itself if they are already."""
    def lt(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input < other`."""
    def lt_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `lt`: the result is written into this tensor."""
    def lu(self, pivot: _b.bool = True, get_infos: _b.bool = False) -> _b.tuple[_Tensor, ...]:
        """As `torch.lu`."""
    def lu_solve(self, LU_data: _Tensor, LU_pivots: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `torch.linalg.lu_solve`: the older name, with the right-hand side first."""
    def map_(self, tensor: _Tensor, callable: Any) -> _Tensor:
        """Replace every element by what a Python function makes of it and of one of another tensor."""
    def masked_fill(self, mask: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
        """One value written where a mask is true, in a copy."""
    def masked_fill_(self, mask: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `masked_fill`: the result is written into this tensor."""
    def masked_scatter(self, mask: _Tensor, source: _Tensor) -> _Tensor:
        """A copy with the elements where a mask is true taken from another tensor, in order."""
    def masked_scatter_(self, mask: _Tensor, source: _Tensor) -> _Tensor:
        """In-place version of `masked_scatter`: the result is written into this tensor."""
    def masked_select(self, mask: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The elements where a mask is true, as a vector."""
    def matmul(self, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The matrix product; `a @ b` calls it."""
    def matrix_exp(self) -> _Tensor:
        """As `torch.linalg.matrix_exp`."""
    def matrix_power(self, n: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `torch.linalg.matrix_power`."""
    @overload
    def max(self) -> _Tensor:
        """The largest element; along a dimension, values and where they are; of two tensors, the larger of each pair."""
    @overload
    def max(self, dim: _b.int | _b.str, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.max: ...
    @overload
    def max(self, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor: ...
    def maximum(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The larger of two, element by element; nan if one of them is."""
    def mean(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
        """The mean over dimensions, or of all elements."""
    @overload
    def median(self) -> _Tensor:
        """The element in the middle (the lower one of two); along a dimension, values and where they are."""
    @overload
    def median(self, dim: _b.int | _b.str, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.median: ...
    @overload
    def min(self) -> _Tensor:
        """The smallest element; along a dimension, values and where they are; of two tensors, the smaller of each pair."""
    @overload
    def min(self, dim: _b.int | _b.str, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.min: ...
    @overload
    def min(self, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor: ...
    def minimum(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The smaller of two, element by element; nan if one of them is."""
    def mm(self, mat2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The product of two matrices, without broadcasting."""
    def mode(self, dim: _b.int = -1, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.mode:
        """The most frequent value along a dimension (the smallest of equally frequent ones), and where it is."""
    def moveaxis(self, source: Any, destination: Any) -> _Tensor:
        """Dimensions moved to new places; the others keep their order."""
    def movedim(self, source: Any, destination: Any) -> _Tensor:
        """Dimensions moved to new places; the others keep their order."""
    def msort(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The elements in order along the first dimension."""
    def mul(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input * other`, element by element; shapes broadcast."""
    def mul_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `mul`: the result is written into this tensor."""
    def multinomial(self, num_samples: _b.int, replacement: _b.bool = False, *, generator: _Generator | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Positions along the last dimension, drawn with the weights that stand there."""
    def multiply(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input * other`, element by element; shapes broadcast."""
    def multiply_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `multiply`: the result is written into this tensor."""
    def mv(self, vec: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """A matrix times a vector."""
    def mvlgamma(self, p: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The logarithm of the gamma function of several dimensions."""
    def mvlgamma_(self, p: _b.int) -> _Tensor:
        """In-place version of `mvlgamma`: the result is written into this tensor."""
    def nan_to_num(self, nan: _b.float | None = 0.0, posinf: _b.float | None = None, neginf: _b.float | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """nan and infinities replaced by numbers."""
    def nan_to_num_(self, nan: _b.float | None = 0.0, posinf: _b.float | None = None, neginf: _b.float | None = None) -> _Tensor:
        """In-place version of `nan_to_num`: the result is written into this tensor."""
    def nanmean(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The mean over dimensions of the elements that are not nan."""
    @overload
    def nanmedian(self) -> _Tensor:
        """As `median`, of the elements that are not nan."""
    @overload
    def nanmedian(self, dim: _b.int | _b.str, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.nanmedian: ...
    def nanquantile(self, q: Any, dim: _b.int | None = None, keepdim: _b.bool = False, *, interpolation: _b.str = 'linear', out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `quantile`, of the elements that are not nan."""
    def nansum(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The sum over dimensions with nan counted as 0."""
    def narrow(self, dim: _b.int, start: Any, length: _b.int) -> _Tensor:
        """A range of a dimension, as a view."""
    def narrow_copy(self, dim: _b.int, start: _b.int, length: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `narrow`, but the result is a copy."""
    def ne(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input != other`."""
    def ne_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `ne`: the result is written into this tensor."""
    def neg(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The negative of every element."""
    def neg_(self) -> _Tensor:
        """In-place version of `neg`: the result is written into this tensor."""
    def negative(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The negative of every element."""
    def negative_(self) -> _Tensor:
        """In-place version of `negative`: the result is written into this tensor."""
    def new(self, *args: Any, **kwargs: Any) -> _Tensor:
        """A tensor of this one's dtype and device, from sizes or from data; the `new_` methods are clearer."""
    def new_empty(self, *size: _b.int | Sequence[_b.int], dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False, **keyword: Any) -> _Tensor:
        """As `torch.empty`, in the dtype and on the device of this tensor."""
    def new_empty_strided(self, size: _b.int | Sequence[_b.int], stride: Sequence[_b.int], dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, pin_memory: _b.bool = False, requires_grad: _b.bool = False) -> _Tensor:
        """As `torch.empty_strided`, in the dtype and on the device of this tensor."""
    def new_full(self, size: _b.int | Sequence[_b.int], fill_value: _b.complex, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False) -> _Tensor:
        """As `torch.full`, in the dtype and on the device of this tensor."""
    def new_ones(self, *size: _b.int | Sequence[_b.int], dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False, **keyword: Any) -> _Tensor:
        """As `torch.ones`, in the dtype and on the device of this tensor."""
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False) -> _Tensor:
        """As `torch.tensor`, in the dtype and on the device of this tensor."""
    def new_zeros(self, *size: _b.int | Sequence[_b.int], dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False, **keyword: Any) -> _Tensor:
        """As `torch.zeros`, in the dtype and on the device of this tensor."""
    def nextafter(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The next number that the dtype has, from `input` towards `other`."""
    def nextafter_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `nextafter`: the result is written into this tensor."""
    def nonzero(self, *, out: _Tensor | Sequence[_Tensor] | None = None, as_tuple: _b.bool = False) -> Any:
        """The positions of the elements that are not zero."""
    def nonzero_static(self, *, size: _b.int, fill_value: _b.int = -1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `nonzero` with exactly `size` rows: cut off, or filled up."""
    def norm(self, p: Any = 'fro', dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, dtype: _dtype | None = None) -> _Tensor:
        """As `torch.norm`."""
    def normal_(self, mean: _b.float = 0, std: _b.float = 1, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with random numbers from a normal distribution; returns the tensor itself."""
    def not_equal(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Where `input != other`."""
    def not_equal_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `not_equal`: the result is written into this tensor."""
    def orgqr(self, input2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `torch.linalg.householder_product`."""
    def ormqr(self, tau: _Tensor, other: _Tensor, left: _b.bool = True, transpose: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The product of the whole (m, m) Q that `geqrf` packed and another matrix."""
    def outer(self, vec2: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Every product of an element of one vector with one of another, as a matrix."""
    def permute(self, *order: _b.int | Sequence[_b.int], dims: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """The dimensions in another order, as a view."""
    def pin_memory(self, device: _device | _b.str | _b.int | None = None) -> _Tensor:
        """A copy in page-locked memory, from which copies to a GPU can run in the background."""
    def pinverse(self, rcond: _b.float = 1e-15) -> _Tensor:
        """As `torch.linalg.pinv`."""
    def polygamma(self, n: _b.int) -> _Tensor:
        """The n-th derivative of `digamma`."""
    def polygamma_(self, n: _b.int) -> _Tensor:
        """In-place version of `polygamma`: the result is written into this tensor."""
    def positive(self) -> _Tensor:
        """The tensor itself, as `+x` is."""
    def pow(self, exponent: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input ** exponent`, element by element; shapes broadcast."""
    def pow_(self, exponent: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `pow`: the result is written into this tensor."""
    def prelu(self, weight: _Tensor) -> _Tensor:
        """Keep positive x; a learnt slope times x for negative x."""
    def prod(self, dim: _b.int | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The product over a dimension, or of all elements; integers multiply in int64."""
    def put(self, index: _Tensor, source: _Tensor, accumulate: _b.bool = False) -> _Tensor:
        """A copy with values at positions in the flattened tensor."""
    def put_(self, index: _Tensor, source: _Tensor, accumulate: _b.bool = False) -> _Tensor:
        """Write values at positions in the flattened tensor; returns the tensor itself."""
    def qr(self, some: _b.bool = True, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
        """As `torch.linalg.qr`: the older name."""
    def quantile(self, q: Any, dim: _b.int | None = None, keepdim: _b.bool = False, *, interpolation: _b.str = 'linear', out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The value below which a part of the elements lies, along a dimension or of all."""
    def rad2deg(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Angles in radians as degrees."""
    def rad2deg_(self) -> _Tensor:
        """In-place version of `rad2deg`: the result is written into this tensor."""
    def random_(self, *args: Any, generator: _Generator | None = None, **kwargs: Any) -> _Tensor:
        """Fill with random whole numbers; returns the tensor itself."""
    def ravel(self) -> _Tensor:
        """The elements in one dimension; a copy only if the memory is not in order."""
    def reciprocal(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """One divided by every element."""
    def reciprocal_(self) -> _Tensor:
        """In-place version of `reciprocal`: the result is written into this tensor."""
    def record_stream(self, s: Any) -> None:
        """Keep the memory until a stream has finished what it holds now, even if the tensor goes away."""
    def relu(self) -> _Tensor:
        """Replace negative elements by zero: max(0, x)."""
    def relu_(self) -> _Tensor:
        """In-place version of `relu`."""
    def remainder(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """What `input // other` leaves over, with the sign of `other`, as Python's `%`."""
    def remainder_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `remainder`: the result is written into this tensor."""
    def renorm(self, p: _b.float, dim: _b.int, maxnorm: _b.float, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Slices along a dimension made shorter, where their norm is too large."""
    def renorm_(self, p: _b.float, dim: _b.int, maxnorm: _b.float) -> _Tensor:
        """In-place version of `renorm`: the result is written into this tensor."""
    def repeat(self, *sizes: _b.int | Sequence[_b.int], repeats: _Tensor | _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """Copies of this tensor side by side."""
    def repeat_interleave(self, repeats: _Tensor | _b.int | Sequence[_b.int] | None = None, dim: _b.int | None = None, *, output_size: _b.int | None = None) -> _Tensor:
        """Every element several times in a row."""
    def reshape(self, *sizes: _b.int | Sequence[_b.int], shape: _b.int | Sequence[_b.int] | _dtype | None = None) -> _Tensor:
        """The same elements in another shape; a view where the memory allows it, otherwise a copy."""
    def reshape_as(self, other: _Tensor) -> _Tensor:
        """As `reshape`, with the shape of another tensor."""
    def resize(self, *sizes: _b.int | Sequence[_b.int]) -> _Tensor:
        """As `Tensor.reshape`: an old name. The number of elements has to stay the same."""
    def resize_(self, *sizes: _b.int | Sequence[_b.int], size: _b.int | Sequence[_b.int] | None = None, memory_format: _memory_format | None = None) -> _Tensor:
        """Show this tensor's memory in another shape, with more memory where it is too small; returns the tensor itself."""
    def resize_as_(self, the_template: _Tensor, *, memory_format: _memory_format | None = None) -> _Tensor:
        """As `Tensor.resize_`, to the shape of another tensor."""
    def resolve_conj(self) -> _Tensor:
        """The tensor with its conjugation computed: itself, because that happens at once here."""
    def resolve_neg(self) -> _Tensor:
        """The tensor with its negation computed: itself, because that happens at once here."""
    def roll(self, shifts: _b.int | Sequence[_b.int], dims: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """The elements moved along dimensions; what leaves at the end comes back at the front."""
    def rot90(self, k: _b.int = 1, dims: _b.int | Sequence[_b.int] | None = ...) -> _Tensor:
        """The elements turned by quarters of a circle in the plane of two dimensions."""
    def round(self, *, decimals: _b.int = 0, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The nearest whole number, halves to the even one; or the nearest number with some decimals."""
    def round_(self, *, decimals: _b.int = 0) -> _Tensor:
        """In-place version of `round`: the result is written into this tensor."""
    def rsqrt(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """One divided by the square root of every element."""
    def rsqrt_(self) -> _Tensor:
        """In-place version of `rsqrt`: the result is written into this tensor."""
    def rsub(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
        """`other - alpha * input`, element by element."""
    def scatter(self, dim: _b.int, index: _Tensor, src: Any = None, *, value: _Tensor | _b.complex | None = None, reduce: _b.str | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """A copy with values written at positions along a dimension: `out[index[i][j]][j] = src[i][j]` for dimension 0."""
    def scatter_(self, dim: _b.int, index: _Tensor, src: Any = None, *, value: _Tensor | _b.complex | None = None, reduce: _b.str | None = None) -> _Tensor:
        """In-place version of `scatter`: the result is written into this tensor."""
    def scatter_add(self, dim: _b.int, index: _Tensor, src: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """A copy with values added at positions along a dimension; repeated positions add up."""
    def scatter_add_(self, dim: _b.int, index: _Tensor, src: _Tensor) -> _Tensor:
        """In-place version of `scatter_add`: the result is written into this tensor."""
    def scatter_reduce(self, dim: _b.int, index: _Tensor, src: _Tensor, reduce: _b.str, *, include_self: _b.bool = True, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """A copy with values combined into it at positions along a dimension."""
    def scatter_reduce_(self, dim: _b.int, index: _Tensor, src: _Tensor, reduce: _b.str, *, include_self: _b.bool = True) -> _Tensor:
        """In-place version of `scatter_reduce`: the result is written into this tensor."""
    def select(self, dim: _b.int, index: _b.int) -> _Tensor:
        """The slice at one position of a dimension, as a view without that dimension."""
    def select_scatter(self, src: _Tensor, dim: _b.int, index: _b.int) -> _Tensor:
        """A copy with other values at one position of a dimension."""
    def set_(self, source: Any = None, storage_offset: _b.int = 0, size: _b.int | Sequence[_b.int] | None = None, stride: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """Let this tensor show other memory; returns the tensor itself."""
    def sgn(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `sign`; for complex numbers the number of length 1 in the same direction."""
    def sgn_(self) -> _Tensor:
        """In-place version of `sgn`: the result is written into this tensor."""
    def share_memory_(self) -> _Tensor:
        """Move the tensor into memory that other processes can map; returns the tensor itself."""
    def short(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The elements as int16; the tensor itself if they are already."""
    def sigmoid(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`1 / (1 + exp(-input))`: every number moved into (0, 1)."""
    def sigmoid_(self) -> _Tensor:
        """In-place version of `sigmoid`: the result is written into this tensor."""
    def sign(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """-1, 0 or 1, by the sign of every element."""
    def sign_(self) -> _Tensor:
        """In-place version of `sign`: the result is written into this tensor."""
    def signbit(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Whether the sign bit of every element is set, which it is for -0.0 too."""
    def sin(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The sine of angles in radians."""
    def sin_(self) -> _Tensor:
        """In-place version of `sin`: the result is written into this tensor."""
    def sinc(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`sin(pi * input) / (pi * input)`, which is 1 at zero."""
    def sinc_(self) -> _Tensor:
        """In-place version of `sinc`: the result is written into this tensor."""
    def sinh(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> _Tensor:
        """In-place version of `sinh`: the result is written into this tensor."""
    def slice_scatter(self, src: _Tensor, dim: _b.int = 0, start: _b.int | None = None, end: _b.int | None = None, step: _b.int = 1, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """A copy with other values in a range of a dimension."""
    def slogdet(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
        """As `torch.linalg.slogdet`."""
    def softmax(self, dim: _b.int, dtype: _dtype | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """Turn scores into shares that sum to 1: exp(x), divided by its sum along `dim`."""
    def sort(self, dim: _b.int = -1, descending: _b.bool = False, stable: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.sort:
        """The elements in order along a dimension, and where each one was."""
    def sparse_mask(self, mask: Any) -> _Tensor:
        """The elements at the places of a sparse tensor."""
    def split(self, split_size: _b.int | Sequence[_b.int], dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """Cut into parts along a dimension; the parts are views."""
    def split_with_sizes(self, split_sizes: Sequence[_b.int], dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """Cut into parts of the given sizes; the parts are views."""
    def sqrt(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The square root of every element; nan for negative ones."""
    def sqrt_(self) -> _Tensor:
        """In-place version of `sqrt`: the result is written into this tensor."""
    def square(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The square of every element."""
    def square_(self) -> _Tensor:
        """In-place version of `square`: the result is written into this tensor."""
    def squeeze(self, dim: _b.int | Sequence[_b.int] | None = ..., *, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """The dimensions of size 1 left out."""
    def squeeze_(self, dim: _b.int | Sequence[_b.int] | None = ..., *, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """In-place version of `squeeze`: this tensor itself gets the new shape."""
    def std(self, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The standard deviation over dimensions, or of all elements: the square root of `var`."""
    def stft(self, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None, window: _Tensor | None = None, center: _b.bool = True, pad_mode: _b.str = 'reflect', normalized: _b.bool = False, onesided: _b.bool | None = None, return_complex: _b.bool | None = None, align_to_window: _b.bool | None = None) -> _Tensor:
        """The Fourier transforms of windows that move along a signal: (*, frequencies, windows)."""
    def storage(self) -> Any:
        """The memory this tensor shows, as elements; `untyped_storage` is the newer way."""
    def sub(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input - alpha * other`, element by element; shapes broadcast."""
    def sub_(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `sub`: the result is written into this tensor."""
    def subtract(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input - alpha * other`, element by element; shapes broadcast."""
    def subtract_(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `subtract`: the result is written into this tensor."""
    def sum(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None, axis: _b.int | Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
        """The sum over dimensions, or of all elements."""
    def sum_to_size(self, *sizes: _b.int | Sequence[_b.int], size: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """The sum over the dimensions in which `size` would have to be expanded to reach this tensor's shape."""
    def svd(self, some: _b.bool = True, compute_uv: _b.bool = True, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
        """As `torch.linalg.svd`: the older name; it returns V and not its conjugate transpose."""
    def swapaxes(self, axis0: _b.int, axis1: _b.int) -> _Tensor:
        """Two dimensions exchanged, as a view: `transpose` with NumPy's name."""
    def swapaxes_(self, axis0: _b.int, axis1: _b.int) -> _Tensor:
        """In-place version of `swapaxes`: this tensor itself gets the new shape."""
    def swapdims(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """Two dimensions exchanged, as a view."""
    def swapdims_(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """In-place version of `swapdims`: this tensor itself gets the new shape."""
    def t(self) -> _Tensor:
        """The transpose of a matrix, as a view; vectors and numbers stay as they are."""
    def t_(self) -> _Tensor:
        """In-place version of `t`: this tensor itself gets the new shape."""
    def take(self, index: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The elements at positions in the flattened tensor."""
    def take_along_dim(self, indices: _Tensor, dim: _b.int | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """As `gather`, with `input` and `indices` broadcast apart from `dim`."""
    def tan(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The tangent of angles in radians."""
    def tan_(self) -> _Tensor:
        """In-place version of `tan`: the result is written into this tensor."""
    def tanh(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The hyperbolic tangent: every number moved into (-1, 1)."""
    def tanh_(self) -> _Tensor:
        """In-place version of `tanh`: the result is written into this tensor."""
    def tensor_split(self, indices_or_sections: Any = None, dim: _b.int = 0, *, indices: Any = None, sections: Any = None) -> _b.tuple[_Tensor, ...]:
        """Cut into parts at positions, or into a number of nearly equal parts; the parts are views."""
    def tile(self, *times: Any, dims: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """Copies of this tensor side by side; dimensions that are not named are not repeated."""
    @overload
    def to(self, device: _device | _b.str | _b.int | None = ..., dtype: _dtype | None = ..., non_blocking: _b.bool = ..., copy: _b.bool = ..., *, memory_format: _memory_format | None = ...) -> _Tensor: ...
    @overload
    def to(self, dtype: _dtype, non_blocking: _b.bool = ..., copy: _b.bool = ..., *, memory_format: _memory_format | None = ...) -> _Tensor: ...
    @overload
    def to(self, other: _Tensor, non_blocking: _b.bool = ..., copy: _b.bool = ..., *, memory_format: _memory_format | None = ...) -> _Tensor: ...
    def to_dense(self, dtype: _dtype | None = None) -> _Tensor:
        """The tensor with all its elements stored: itself, if it is not sparse."""
    def to_sparse(self, sparse_dim: _b.int | None = None, *, layout: _layout | None = None) -> _Tensor:
        """The elements that are not zero, with their places, as a sparse tensor."""
    def to_sparse_coo(self) -> _Tensor:
        """The elements that are not zero, with their places."""
    def to_sparse_csc(self, dense_dim: _b.int | None = None) -> Any:
        """The elements of a matrix that are not zero, column by column."""
    def to_sparse_csr(self, dense_dim: _b.int | None = None) -> Any:
        """The elements of a matrix that are not zero, row by row."""
    def topk(self, k: _b.int, dim: _b.int = -1, largest: _b.bool = True, sorted: _b.bool = True, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _results.topk:
        """The largest elements along a dimension, in order, and where they are."""
    def trace(self) -> _Tensor:
        """The sum of the main diagonal of a matrix."""
    def transpose(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """Two dimensions exchanged, as a view."""
    def transpose_(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """In-place version of `transpose`: this tensor itself gets the new shape."""
    def triangular_solve(self, A: _Tensor, upper: _b.bool = True, transpose: _b.bool = False, unitriangular: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
        """As `torch.linalg.solve_triangular`: the older name, with the right-hand side first; returns A, too."""
    def tril(self, diagonal: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The lower triangle of a matrix, or of each in a batch: zeros above a diagonal."""
    def tril_(self, diagonal: _b.int = 0) -> _Tensor:
        """In-place version of `tril`: the result is written into this tensor."""
    def triu(self, diagonal: _b.int = 0, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The upper triangle of a matrix, or of each in a batch: zeros below a diagonal."""
    def triu_(self, diagonal: _b.int = 0) -> _Tensor:
        """In-place version of `triu`: the result is written into this tensor."""
    def true_divide(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input / other`, element by element, always as floating point numbers."""
    def true_divide_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `true_divide`: the result is written into this tensor."""
    def trunc(self, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The whole part: the fraction is cut off."""
    def trunc_(self) -> _Tensor:
        """In-place version of `trunc`: the result is written into this tensor."""
    def type(self, dtype: _dtype | _b.type | _b.str | None = None, non_blocking: _b.bool = False, **kwargs: Any) -> Any:
        """The name of the old type, or the elements in another dtype."""
    def type_as(self, other: _Tensor) -> _Tensor:
        """The tensor in the dtype and on the device of another one."""
    def unbind(self, dim: _b.int = 0, *, axis: _b.int | Sequence[_b.int] | None = None) -> _b.tuple[_Tensor, ...]:
        """All slices along a dimension, as a tuple of views without it."""
    def unflatten(self, dim: _b.int, sizes: _b.int | Sequence[_b.int]) -> _Tensor:
        """Split one dimension into several."""
    def unfold(self, dimension: _b.int, size: _b.int, step: _b.int) -> _Tensor:
        """All windows of a size along a dimension; a view in which the window is the last dimension."""
    def uniform_(self, *args: Any, generator: _Generator | None = None, **kwargs: Any) -> _Tensor:
        """Fill with random numbers that are equally likely in a range; returns the tensor itself."""
    def unique(self, sorted: _b.bool = True, return_inverse: _b.bool = False, return_counts: _b.bool = False, dim: _b.int | None = None) -> Any:
        """The different elements in growing order; also where and how often they occur."""
    def unique_consecutive(self, return_inverse: _b.bool = False, return_counts: _b.bool = False, dim: _b.int | None = None) -> Any:
        """Runs of equal elements cut down to their first one."""
    def unsafe_chunk(self, chunks: _b.int, dim: _b.int = 0, *, axis: _b.int | Sequence[_b.int] | None = None) -> _b.tuple[_Tensor, ...]:
        """Cut into a number of parts of equal size; the last may be smaller, and there may be fewer of them."""
    def unsafe_split(self, split_size: _b.int | Sequence[_b.int], dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """Cut into parts along a dimension; the parts are views."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_b.int], dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """Cut into parts of the given sizes; the parts are views."""
    def unsqueeze(self, dim: _b.int | None = None, *, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """A new dimension of size 1."""
    def unsqueeze_(self, dim: _b.int | None = None, *, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """In-place version of `unsqueeze`: this tensor itself gets the new shape."""
    def untyped_storage(self) -> Any:
        """The memory this tensor shows, as bytes."""
    def var(self, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The variance over dimensions, or of all elements."""
    def vdot(self, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """The inner product of two vectors, the first one conjugated."""
    def view(self, *shape: _b.int | Sequence[_b.int] | _dtype, size: _b.int | Sequence[_b.int] | None = None, dtype: _dtype | None = None) -> _Tensor:
        """The same memory in another shape or dtype."""
    def view_as(self, other: _Tensor) -> _Tensor:
        """As `view`, with the shape of another tensor."""
    def vsplit(self, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
        """Parts along dimension 0: as `tensor_split`, but parts by number are equal."""
    def where(self, condition: _Tensor, other: _Tensor | _b.complex) -> _Tensor:
        """The elements of this tensor where a condition holds, those of another elsewhere."""
    def xlogy(self, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
        """`input * log(other)`, and 0 where `input` is 0."""
    def xlogy_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `xlogy`: the result is written into this tensor."""
    def zero_(self) -> _Tensor:
        """Write zero everywhere; returns the tensor itself."""
    @property
    def H(self) -> _Tensor: ...
    @property
    def T(self) -> _Tensor: ...
    @property
    def grad(self) -> _Tensor: ...
    @property
    def imag(self) -> _Tensor: ...
    @property
    def mH(self) -> _Tensor: ...
    @property
    def mT(self) -> _Tensor: ...
    @property
    def real(self) -> _Tensor: ...
    def __add__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __radd__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __iadd__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __sub__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __rsub__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __isub__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __mul__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __rmul__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __imul__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __truediv__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __rtruediv__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __itruediv__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __floordiv__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __rfloordiv__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __ifloordiv__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __mod__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __rmod__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __imod__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __pow__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __rpow__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __ipow__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __and__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __rand__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __iand__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __or__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __ror__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __ior__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __xor__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __rxor__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __ixor__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __matmul__(self, other: _Tensor) -> _Tensor: ...
    def __rmatmul__(self, other: _Tensor) -> _Tensor: ...
    def __imatmul__(self, other: _Tensor) -> _Tensor: ...
    def __lt__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __le__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __gt__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __ge__(self, other: _Tensor | _b.complex | np.generic) -> _Tensor: ...
    def __eq__(self, other: Any) -> _Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> _Tensor: ...  # type: ignore[override]
    def __neg__(self) -> _Tensor: ...
    def __pos__(self) -> _Tensor: ...
    def __invert__(self) -> _Tensor: ...
    def __abs__(self) -> _Tensor: ...
    def __getitem__(self, index: Any) -> _Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __iter__(self) -> Iterator[_Tensor]: ...
    def __hash__(self) -> _b.int: ...
