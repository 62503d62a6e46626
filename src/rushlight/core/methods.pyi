"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.device import device as _device
from ..base.dtypes import dtype as _dtype
from ..base.formats import layout as _layout
from ..base.formats import memory_format as _memory_format
from ..base.shapes import Size as _Size
from ..core.tensor import Tensor as _Tensor
from ..operators.random.generator import Generator as _Generator

class Methods:
    def _make_subclass(self, data: _Tensor, require_grad: _b.bool = False) -> _Tensor: ...
    def abs(self, *, out: Any = None) -> _Tensor:
        """The distance of every element from zero."""
    def abs_(self) -> _Tensor:
        """In-place version of `abs`."""
    def absolute(self, *, out: Any = None) -> _Tensor:
        """The distance of every element from zero."""
    def absolute_(self) -> _Tensor:
        """In-place version of `absolute`."""
    def acos(self, *, out: Any = None) -> _Tensor:
        """The inverse cosine."""
    def acos_(self) -> _Tensor:
        """In-place version of `acos`."""
    def acosh(self, *, out: Any = None) -> _Tensor:
        """The inverse hyperbolic cosine."""
    def acosh_(self) -> _Tensor:
        """In-place version of `acosh`."""
    def add(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
        """`input + alpha * other`."""
    def add_(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `add`."""
    def addbmm(self, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
        """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    def addbmm_(self, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `addbmm`."""
    def addcdiv(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1, out: Any = None) -> _Tensor:
        """`input + value * tensor1 / tensor2`."""
    def addcdiv_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1) -> _Tensor:
        """In-place version of `addcdiv`."""
    def addcmul(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1, out: Any = None) -> _Tensor:
        """`input + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Tensor | _b.complex = 1) -> _Tensor:
        """In-place version of `addcmul`."""
    def addmm(self, mat1: _Tensor, mat2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`."""
    def addmm_(self, mat1: _Tensor, mat2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `addmm`."""
    def addmv(self, mat: _Tensor, vec: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
        """`beta * input + alpha * (mat @ vec)`."""
    def addmv_(self, mat: _Tensor, vec: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `addmv`."""
    def addr(self, vec1: _Tensor, vec2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def addr_(self, vec1: _Tensor, vec2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `addr`."""
    def adjoint(self) -> _Tensor:
        """The conjugate transpose of the last two dims."""
    def all(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
        """Whether all elements (over `dim`) are not zero."""
    def allclose(self, other: _Tensor, rtol: _b.float = 1e-05, atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _b.bool:
        """Whether all elements are close."""
    def amax(self, dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
        """The largest elements over `dim`; equal ones share the gradient."""
    def amin(self, dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
        """The smallest elements over `dim`; equal ones share the gradient."""
    def aminmax(self, *, dim: _b.int | None = None, keepdim: _b.bool = False, out: Any = None) -> Any:
        """The smallest and the largest elements over `dim`."""
    def angle(self, *, out: Any = None) -> _Tensor:
        """The angle in radians: pi for negative real numbers, 0 for positive ones."""
    def any(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
        """Whether any element (over `dim`) is not zero."""
    def apply_(self, callable: Any) -> _Tensor:
        """Replace every element by what a Python function makes of it; slow, on the host only."""
    def arccos(self, *, out: Any = None) -> _Tensor:
        """The inverse cosine."""
    def arccos_(self) -> _Tensor:
        """In-place version of `arccos`."""
    def arccosh(self, *, out: Any = None) -> _Tensor:
        """The inverse hyperbolic cosine."""
    def arccosh_(self) -> _Tensor:
        """In-place version of `arccosh`."""
    def arcsin(self, *, out: Any = None) -> _Tensor:
        """The inverse sine."""
    def arcsin_(self) -> _Tensor:
        """In-place version of `arcsin`."""
    def arcsinh(self, *, out: Any = None) -> _Tensor:
        """The inverse hyperbolic sine."""
    def arcsinh_(self) -> _Tensor:
        """In-place version of `arcsinh`."""
    def arctan(self, *, out: Any = None) -> _Tensor:
        """The inverse tangent."""
    def arctan2(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The angle of the vector (other, input)."""
    def arctan2_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `arctan2`."""
    def arctan_(self) -> _Tensor:
        """In-place version of `arctan`."""
    def arctanh(self, *, out: Any = None) -> _Tensor:
        """The inverse hyperbolic tangent."""
    def arctanh_(self) -> _Tensor:
        """In-place version of `arctanh`."""
    def argmax(self, dim: _b.int | None = None, keepdim: _b.bool = False, *, out: Any = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """The index of the largest element, the first of equal ones."""
    def argmin(self, dim: _b.int | None = None, keepdim: _b.bool = False, *, out: Any = None, axis: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """The index of the smallest element, the first of equal ones."""
    def argsort(self, dim: _b.int = -1, descending: _b.bool = False, stable: _b.bool = False, *, out: Any = None) -> _Tensor:
        """The indices that put the elements in order along `dim`."""
    def argwhere(self) -> _Tensor:
        """The positions of the elements that are not zero, as rows."""
    def as_strided(self, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
        """A view of `input`'s memory with the given sizes and strides (in elements)."""
    def as_strided_(self, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
        """In-place version of `as_strided`: the memory stays, the shape changes."""
    def as_strided_scatter(self, src: _Tensor, size: _b.int | Sequence[_b.int], stride: _b.int | Sequence[_b.int] | None, storage_offset: _b.int | None = None) -> _Tensor:
        """A copy of `input` with `src` where `as_strided` would show it."""
    def as_subclass(self, cls: _b.type) -> _Tensor:
        """The same memory and history as an object of a subclass of Tensor."""
    def asin(self, *, out: Any = None) -> _Tensor:
        """The inverse sine."""
    def asin_(self) -> _Tensor:
        """In-place version of `asin`."""
    def asinh(self, *, out: Any = None) -> _Tensor:
        """The inverse hyperbolic sine."""
    def asinh_(self) -> _Tensor:
        """In-place version of `asinh`."""
    def atan(self, *, out: Any = None) -> _Tensor:
        """The inverse tangent."""
    def atan2(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The angle of the vector (other, input)."""
    def atan2_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `atan2`."""
    def atan_(self) -> _Tensor:
        """In-place version of `atan`."""
    def atanh(self, *, out: Any = None) -> _Tensor:
        """The inverse hyperbolic tangent."""
    def atanh_(self) -> _Tensor:
        """In-place version of `atanh`."""
    def backward(self, gradient: _Tensor | None = None, retain_graph: _b.bool | None = None, create_graph: _b.bool = False, inputs: Any = None) -> None:
        """Compute the gradients of this tensor with respect to the leaves of its graph."""
    def baddbmm(self, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
        """`beta * input + alpha * bmm(batch1, batch2)`."""
    def baddbmm_(self, batch1: _Tensor, batch2: _Tensor, *, beta: _b.complex = 1, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `baddbmm`."""
    def bernoulli(self, p: Any = None, *, generator: _Generator | None = None, out: Any = None) -> _Tensor:
        """Ones and zeros; `input` holds the probability of a one, unless `p` gives it for all."""
    def bernoulli_(self, p: Any = 0.5, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with ones, of probability `p` (a number, or a tensor that broadcasts), and zeros."""
    def bfloat16(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as bfloat16."""
    def bincount(self, weights: _Tensor | None = None, minlength: _b.int = 0) -> _Tensor:
        """How often each non-negative integer occurs (or the sum of its weights)."""
    def bitwise_and(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input & other`."""
    def bitwise_and_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_and`."""
    def bitwise_left_shift(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input << other`."""
    def bitwise_left_shift_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_left_shift`."""
    def bitwise_not(self, *, out: Any = None) -> _Tensor:
        """`~input`."""
    def bitwise_not_(self) -> _Tensor:
        """In-place version of `bitwise_not`."""
    def bitwise_or(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input | other`."""
    def bitwise_or_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_or`."""
    def bitwise_right_shift(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input >> other`."""
    def bitwise_right_shift_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_right_shift`."""
    def bitwise_xor(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input ^ other`."""
    def bitwise_xor_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `bitwise_xor`."""
    def bmm(self, mat2: _Tensor, *, out: Any = None) -> _Tensor:
        """A batch of matrix products, one per entry of dim 0."""
    def bool(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as bool."""
    def broadcast_to(self, size: _b.int | Sequence[_b.int]) -> Any: ...
    def bucketize(self, boundaries: _Tensor, *, out_int32: _b.bool = False, right: _b.bool = False, out: Any = None) -> _Tensor:
        """The index of the bucket, between `boundaries`, that each value falls into."""
    def byte(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as uint8."""
    def cauchy_(self, median: _b.float = 0, sigma: _b.float = 1, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with Cauchy numbers."""
    def cdouble(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as complex128."""
    def ceil(self, *, out: Any = None) -> _Tensor:
        """The smallest integer not below."""
    def ceil_(self) -> _Tensor:
        """In-place version of `ceil`."""
    def cfloat(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as complex64."""
    def char(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as int8."""
    def cholesky(self, upper: _b.bool = False, *, out: Any = None) -> _Tensor:
        """The older spelling of `linalg.cholesky`."""
    def cholesky_inverse(self, upper: _b.bool = False, *, out: Any = None) -> _Tensor:
        """The inverse of A from its Cholesky factor."""
    def cholesky_solve(self, L: _Tensor, upper: _b.bool = False, *, out: Any = None) -> _Tensor:
        """X with `A X = B` from the Cholesky factor of A."""
    def chunk(self, chunks: _b.int, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """At most `chunks` parts of equal length, the last one shorter."""
    def clamp(self, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None, *, out: Any = None) -> _Tensor:
        """Every element moved into [min, max]; bounds are numbers or tensors."""
    def clamp_(self, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None) -> _Tensor:
        """In-place version of `clamp`."""
    def clamp_max(self, max: _Tensor | _b.complex | None, *, out: Any = None) -> _Tensor:
        """Every element moved down to at most `max`."""
    def clamp_max_(self, max: _Tensor | _b.complex | None) -> _Tensor:
        """In-place version of `clamp_max`."""
    def clamp_min(self, min: _Tensor | _b.complex | None, *, out: Any = None) -> _Tensor:
        """Every element moved up to at least `min`."""
    def clamp_min_(self, min: _Tensor | _b.complex | None) -> _Tensor:
        """In-place version of `clamp_min`."""
    def clip(self, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None, *, out: Any = None) -> _Tensor:
        """Every element moved into [min, max]; bounds are numbers or tensors."""
    def clip_(self, min: _Tensor | _b.complex | None = None, max: _Tensor | _b.complex | None = None) -> _Tensor:
        """In-place version of `clip`."""
    def clone(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """A copy in new memory; gradients flow back to `input`."""
    def combinations(self, r: _b.int = 2, with_replacement: _b.bool = False) -> _Tensor:
        """Every choice of `r` elements of a vector, as rows."""
    def conj(self) -> _Tensor:
        """The complex conjugate; a real tensor is its own."""
    def conj_physical(self, *, out: Any = None) -> _Tensor:
        """The complex conjugate, always computed."""
    def conj_physical_(self) -> _Tensor:
        """In-place version of `conj_physical`."""
    def contiguous(self, memory_format: _memory_format = ...) -> _Tensor:
        """This tensor in dense memory of the given format; itself when it is already."""
    def copy_(self, src: _Tensor, non_blocking: _b.bool = False) -> _Tensor:
        """Write `src` into this tensor, broadcast and converted to its dtype and device."""
    def copysign(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The magnitude of `input` with the sign of `other`."""
    def copysign_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `copysign`."""
    def corrcoef(self) -> _Tensor:
        """The correlation coefficients of the rows of `input`."""
    def cos(self, *, out: Any = None) -> _Tensor:
        """The cosine."""
    def cos_(self) -> _Tensor:
        """In-place version of `cos`."""
    def cosh(self, *, out: Any = None) -> _Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> _Tensor:
        """In-place version of `cosh`."""
    def count_nonzero(self, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """How many elements (over `dim`) are not zero."""
    def cov(self, *, correction: _b.int = 1, fweights: _Tensor | None = None, aweights: _Tensor | None = None) -> _Tensor:
        """The covariance of the rows of `input`, whose columns are observations."""
    def cpu(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor in host memory."""
    def cross(self, other: _Tensor, dim: _b.int | None = None, *, out: Any = None) -> _Tensor:
        """The cross product along `dim`, by default the first dim of size 3."""
    def cuda(self, device: _device | _b.str | _b.int | None = None, non_blocking: _b.bool = False, **kwargs: Any) -> _Tensor:
        """This tensor on a GPU; RuntimeError with the reason when there is none."""
    def cummax(self, dim: _b.int, *, out: Any = None) -> Any:
        """The largest element up to each one along `dim`, and where it is."""
    def cummin(self, dim: _b.int, *, out: Any = None) -> Any:
        """The smallest element up to each one along `dim`, and where it is."""
    def cumprod(self, dim: _b.int, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
        """The product of the elements up to and including each one along `dim`."""
    def cumprod_(self, dim: _b.int, *, dtype: _dtype | None = None) -> _Tensor:
        """In-place version of `cumprod`."""
    def cumsum(self, dim: _b.int, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
        """The sum of the elements up to and including each one along `dim`."""
    def cumsum_(self, dim: _b.int, *, dtype: _dtype | None = None) -> _Tensor:
        """In-place version of `cumsum`."""
    def deg2rad(self, *, out: Any = None) -> _Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> _Tensor:
        """In-place version of `deg2rad`."""
    def det(self) -> _Tensor:
        """The determinant of a square matrix, or of each in a batch."""
    def detach(self) -> _Tensor:
        """The same memory, outside the graph; in-place changes are still noticed by both."""
    def detach_(self) -> _Tensor:
        """Take this very tensor out of the graph."""
    def diag(self, diagonal: _b.int = 0, *, out: Any = None) -> _Tensor:
        """The matrix with a vector on its diagonal, or a copy of a matrix's diagonal."""
    def diag_embed(self, offset: _b.int = 0, dim1: _b.int = -2, dim2: _b.int = -1) -> _Tensor:
        """Matrices whose diagonal is the last dim of `input`, and zero elsewhere."""
    def diagflat(self, offset: _b.int = 0) -> _Tensor:
        """The matrix with all elements of `input` on its diagonal."""
    def diagonal(self, offset: _b.int = 0, dim1: _b.int = 0, dim2: _b.int = 1) -> _Tensor:
        """A view of a diagonal of the matrices in dims `dim1` and `dim2`, as the last dim."""
    def diagonal_scatter(self, src: _Tensor, offset: _b.int = 0, dim1: _b.int = 0, dim2: _b.int = 1) -> _Tensor:
        """A copy of `input` with `src` on a diagonal."""
    def diff(self, n: _b.int = 1, dim: _b.int = -1, prepend: _Tensor | None = None, append: _Tensor | None = None, *, out: Any = None) -> _Tensor:
        """The differences of neighbours along `dim`, taken `n` times."""
    def digamma(self, *, out: Any = None) -> _Tensor:
        """The derivative of `lgamma`."""
    def digamma_(self) -> _Tensor:
        """In-place version of `digamma`."""
    def dim_order(self) -> _b.tuple[_b.int, ...]:
        """The dims from the outermost in memory to the innermost."""
    def dist(self, other: _Tensor, p: _b.float = 2) -> _Tensor:
        """The `p`-norm of `input - other`."""
    def div(self, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None, out: Any = None) -> _Tensor:
        """`input / other`; `rounding_mode` 'trunc' or 'floor' rounds the quotient."""
    def div_(self, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None) -> _Tensor:
        """In-place version of `div`."""
    def divide(self, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None, out: Any = None) -> _Tensor:
        """`input / other`; `rounding_mode` 'trunc' or 'floor' rounds the quotient."""
    def divide_(self, other: _Tensor | _b.complex, *, rounding_mode: _b.str | None = None) -> _Tensor:
        """In-place version of `divide`."""
    def dot(self, tensor: _Tensor, *, out: Any = None) -> _Tensor:
        """The inner product of two vectors."""
    def double(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as float64."""
    def dsplit(self, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
        """Parts along dim 2: as `tensor_split`, but equal parts only."""
    def eq(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input == other`."""
    def eq_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `eq`."""
    def equal(self, other: _Tensor) -> _b.bool:
        """Whether shapes and all elements are the same."""
    def erf(self, *, out: Any = None) -> _Tensor:
        """The error function."""
    def erf_(self) -> _Tensor:
        """In-place version of `erf`."""
    def erfc(self, *, out: Any = None) -> _Tensor:
        """`1 - erf(input)`, exact in the tail."""
    def erfc_(self) -> _Tensor:
        """In-place version of `erfc`."""
    def erfinv(self, *, out: Any = None) -> _Tensor:
        """The inverse of the error function."""
    def erfinv_(self) -> _Tensor:
        """In-place version of `erfinv`."""
    def exp(self, *, out: Any = None) -> _Tensor:
        """e to the power of every element."""
    def exp2(self, *, out: Any = None) -> _Tensor:
        """2 to the power of every element."""
    def exp2_(self) -> _Tensor:
        """In-place version of `exp2`."""
    def exp_(self) -> _Tensor:
        """In-place version of `exp`."""
    def expand(self, *sizes: _b.int | Sequence[_b.int], implicit: _b.bool = False) -> _Tensor:
        """Dims of size 1 repeated to `sizes` without copying; -1 keeps a size."""
    def expand_as(self, other: _Tensor) -> _Tensor:
        """Expanded to the shape of `other`."""
    def expm1(self, *, out: Any = None) -> _Tensor:
        """`exp(input) - 1`, exact near zero."""
    def expm1_(self) -> _Tensor:
        """In-place version of `expm1`."""
    def exponential_(self, lambd: _b.float = 1, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with exponential numbers of rate `lambd`."""
    def fill(self, value: _Tensor | _b.complex) -> _Tensor:
        """A tensor like `input` with one value everywhere."""
    def fill_(self, value: _Tensor | _b.complex) -> _Tensor:
        """Write one value everywhere."""
    def fill_diagonal_(self, fill_value: _b.complex, wrap: _b.bool = False) -> _Tensor:
        """Write one value on the main diagonal; `wrap` goes on below in tall matrices."""
    def fix(self, *, out: Any = None) -> _Tensor:
        """Without the fraction."""
    def fix_(self) -> _Tensor:
        """In-place version of `fix`."""
    def flatten(self, start_dim: _b.int = 0, end_dim: _b.int = -1) -> _Tensor:
        """Merge the dims from `start_dim` to `end_dim` into one."""
    def flip(self, *dims: _b.int | Sequence[_b.int] | None) -> _Tensor: ...
    def fliplr(self) -> _Tensor:
        """Backwards along dim 1."""
    def flipud(self) -> _Tensor:
        """Backwards along dim 0."""
    def float(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as float32."""
    def float_power(self, exponent: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input ** exponent` in double precision."""
    def float_power_(self, exponent: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `float_power`."""
    def floor(self, *, out: Any = None) -> _Tensor:
        """The largest integer not above."""
    def floor_(self) -> _Tensor:
        """In-place version of `floor`."""
    def floor_divide(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input // other`, rounded towards minus infinity."""
    def floor_divide_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `floor_divide`."""
    def fmax(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The larger of two; nan loses."""
    def fmin(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The smaller of two; nan loses."""
    def fmod(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The remainder of `input / other` with the dividend's sign."""
    def fmod_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `fmod`."""
    def frac(self, *, out: Any = None) -> _Tensor:
        """The fraction of every element, with its sign."""
    def frac_(self) -> _Tensor:
        """In-place version of `frac`."""
    def frexp(self, *, out: Any = None) -> Any:
        """Mantissas in [0.5, 1) and exponents with `input == mantissa * 2 ** exponent`."""
    def gather(self, dim: _b.int, index: _Tensor, *, sparse_grad: _b.bool = False, out: Any = None) -> _Tensor:
        """`out[i][j] = input[index[i][j]][j]` for dim 0, and likewise for others."""
    def gcd(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The greatest common divisor."""
    def gcd_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `gcd`."""
    def ge(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input >= other`."""
    def ge_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `ge`."""
    def geometric_(self, p: _b.float, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with the number of trials until the first success, each of probability `p`."""
    def ger(self, vec2: _Tensor, *, out: Any = None) -> _Tensor:
        """Every product of an element of `input` with one of `vec2`."""
    def greater(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input > other`."""
    def greater_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `greater`."""
    def greater_equal(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input >= other`."""
    def greater_equal_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `greater_equal`."""
    def gt(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input > other`."""
    def gt_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `gt`."""
    def half(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as float16."""
    def hardshrink(self, lambd: _b.float = 0.5, *, out: Any = None) -> _Tensor:
        """x outside [-lambd, lambd], 0 inside."""
    def heaviside(self, values: _Tensor, *, out: Any = None) -> _Tensor:
        """0 below zero, 1 above, `values` at zero."""
    def heaviside_(self, values: _Tensor) -> _Tensor:
        """In-place version of `heaviside`."""
    def histc(self, bins: _b.int = 100, min: _b.float = 0, max: _b.float = 0, *, out: Any = None) -> _Tensor:
        """How many elements fall into each of `bins` equal bins between `min` and `max`."""
    def histogram(self, bins: Any, *, range: Any = None, weight: _Tensor | None = None, density: _b.bool = False, out: Any = None) -> Any:
        """The weight of the elements in each bin, and the edges of the bins."""
    def hsplit(self, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
        """Parts along dim 1: as `tensor_split`, but equal parts only."""
    def hypot(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The length of the vector (input, other)."""
    def hypot_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `hypot`."""
    def i0(self, *, out: Any = None) -> _Tensor:
        """The modified Bessel function of order 0."""
    def i0_(self) -> _Tensor:
        """In-place version of `i0`."""
    def igamma(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The regularised lower incomplete gamma function."""
    def igamma_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `igamma`."""
    def igammac(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The regularised upper incomplete gamma function."""
    def igammac_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `igammac`."""
    def index_add(self, *args: Any, out: Any = None, **kwargs: Any) -> _Tensor:
        """As `index_add_`, on a copy of `input`."""
    def index_add_(self, dim: _b.int, index: _Tensor, source: _Tensor, *, alpha: _b.complex = 1) -> _Tensor:
        """Add `alpha * source` to the slices of `input` at `index`, duplicates counting."""
    def index_copy(self, *args: Any, out: Any = None, **kwargs: Any) -> _Tensor:
        """As `index_copy_`, on a copy of `input`."""
    def index_copy_(self, dim: _b.int, index: _Tensor, source: _Tensor) -> _Tensor:
        """Write the slices of `source` at the positions `index` of `input`."""
    def index_fill(self, *args: Any, out: Any = None, **kwargs: Any) -> _Tensor:
        """As `index_fill_`, on a copy of `input`."""
    def index_fill_(self, dim: _b.int, index: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
        """Write one value into the slices of `input` at `index`."""
    def index_put(self, indices: Any, values: _Tensor, accumulate: _b.bool = False) -> _Tensor:
        """A copy of `input` with `values` at the index tensors."""
    def index_put_(self, indices: Any, values: _Tensor, accumulate: _b.bool = False) -> _Tensor:
        """Write `values` at the index tensors; with `accumulate` add them, duplicates included."""
    def index_reduce(self, dim: _b.int, index: _Tensor, source: _Tensor, reduce: _b.str, *, include_self: _b.bool = True, out: Any = None) -> _Tensor:
        """`input` with the slices of `source` combined into those at `index`."""
    def index_reduce_(self, dim: _b.int, index: _Tensor, source: _Tensor, reduce: _b.str, *, include_self: _b.bool = True) -> _Tensor:
        """In-place version of `index_reduce`."""
    def index_select(self, dim: _b.int, index: _Tensor, *, out: Any = None) -> _Tensor:
        """The slices of `input` at the positions `index` along `dim`."""
    def inner(self, other: _Tensor, *, out: Any = None) -> _Tensor:
        """The sum of products over the last dims of both."""
    def int(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as int32."""
    def inverse(self, *, out: Any = None) -> _Tensor:
        """The other name of `linalg.inv`."""
    def is_conj(self) -> _b.bool:
        """Whether the conjugate bit is set; conjugates here are never lazy."""
    def is_contiguous(self, memory_format: _memory_format = ...) -> _b.bool:
        """Whether the elements lie in memory in the order of the format."""
    def is_neg(self) -> _b.bool:
        """Whether the negative bit is set; negations here are never lazy."""
    def is_nonzero(self) -> _b.bool:
        """Whether the one element is not zero."""
    def is_pinned(self, device: _device | _b.str | _b.int | None = None) -> _b.bool:
        """Whether the memory is page-locked; without a GPU none is."""
    def is_same_size(self, other: _Tensor) -> _b.bool:
        """Whether the shapes are the same."""
    def is_set_to(self, tensor: _Tensor) -> _b.bool:
        """Whether both show the same memory in the same way."""
    def is_shared(self) -> _b.bool:
        """Whether other processes see this tensor's memory."""
    def isclose(self, other: _Tensor, rtol: _b.float = 1e-05, atol: _b.float = 1e-08, equal_nan: _b.bool = False) -> _Tensor:
        """Where `|input - other| <= atol + rtol * |other|`."""
    def isfinite(self, *, out: Any = None) -> _Tensor:
        """Where neither infinite nor nan."""
    def isinf(self, *, out: Any = None) -> _Tensor:
        """Where infinite."""
    def isnan(self, *, out: Any = None) -> _Tensor:
        """Where not a number."""
    def isneginf(self, *, out: Any = None) -> _Tensor:
        """Where minus infinity."""
    def isposinf(self, *, out: Any = None) -> _Tensor:
        """Where plus infinity."""
    def isreal(self, *, out: Any = None) -> _Tensor:
        """Where the imaginary part is zero."""
    def istft(self, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None, window: _Tensor | None = None, center: _b.bool = True, normalized: _b.bool = False, onesided: _b.bool | None = None, length: _b.int | None = None, return_complex: _b.bool = False) -> _Tensor:
        """The signal whose `stft` is nearest to `input`: frames are added up and divided by the windows' squares."""
    def kron(self, other: _Tensor, *, out: Any = None) -> _Tensor:
        """The Kronecker product: a block of `other` for every element of `input`."""
    def kthvalue(self, k: _b.int, dim: _b.int = -1, keepdim: _b.bool = False, *, out: Any = None) -> Any:
        """The `k`-th smallest element along `dim`, and where it is."""
    def lcm(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The least common multiple."""
    def lcm_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `lcm`."""
    def ldexp(self, other: _Tensor, *, out: Any = None) -> _Tensor:
        """`input * 2 ** other`."""
    def ldexp_(self, other: _Tensor) -> _Tensor:
        """In-place version of `ldexp`."""
    def le(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input <= other`."""
    def le_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `le`."""
    def lerp(self, end: _Tensor, weight: Any, *, out: Any = None) -> _Tensor:
        """`input + weight * (end - input)`."""
    def lerp_(self, end: _Tensor, weight: Any) -> _Tensor:
        """In-place version of `lerp`."""
    def less(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input < other`."""
    def less_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `less`."""
    def less_equal(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input <= other`."""
    def less_equal_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `less_equal`."""
    def lgamma(self, *, out: Any = None) -> _Tensor:
        """The logarithm of the absolute gamma function."""
    def lgamma_(self) -> _Tensor:
        """In-place version of `lgamma`."""
    def log(self, *, out: Any = None) -> _Tensor:
        """The natural logarithm."""
    def log10(self, *, out: Any = None) -> _Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> _Tensor:
        """In-place version of `log10`."""
    def log1p(self, *, out: Any = None) -> _Tensor:
        """`log(1 + input)`, exact near zero."""
    def log1p_(self) -> _Tensor:
        """In-place version of `log1p`."""
    def log2(self, *, out: Any = None) -> _Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> _Tensor:
        """In-place version of `log2`."""
    def log_(self) -> _Tensor:
        """In-place version of `log`."""
    def log_normal_(self, mean: _b.float = 1, std: _b.float = 2, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with numbers whose logarithm is normal."""
    def log_softmax(self, dim: _b.int, dtype: _dtype | None = None, *, out: Any = None) -> _Tensor:
        """The logarithm of `softmax`, computed without leaving the representable range."""
    def logaddexp(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`log(exp(input) + exp(other))`."""
    def logaddexp2(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`log2(2 ** input + 2 ** other)`."""
    def logcumsumexp(self, dim: _b.int, *, out: Any = None) -> _Tensor:
        """The logarithm of the running sum of exponentials along `dim`."""
    def logdet(self) -> _Tensor:
        """The logarithm of the determinant; nan where it is negative."""
    def logical_and(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where both are true (not zero)."""
    def logical_and_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `logical_and`."""
    def logical_not(self, *, out: Any = None) -> _Tensor:
        """Where false (zero)."""
    def logical_not_(self) -> _Tensor:
        """In-place version of `logical_not`."""
    def logical_or(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where either is true (not zero)."""
    def logical_or_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `logical_or`."""
    def logical_xor(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where exactly one is true (not zero)."""
    def logical_xor_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `logical_xor`."""
    def logit(self, eps: _b.float | None = None, *, out: Any = None) -> _Tensor:
        """The inverse of sigmoid; `eps` clamps the input into [eps, 1 - eps]."""
    def logit_(self, eps: _b.float | None = None) -> _Tensor:
        """In-place version of `logit`."""
    def logsumexp(self, dim: _b.int | Sequence[_b.int] | None, keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
        """The logarithm of the sum of exponentials over `dim`, without overflow."""
    def long(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as int64."""
    def lt(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input < other`."""
    def lt_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `lt`."""
    def lu_solve(self, LU_data: _Tensor, LU_pivots: _Tensor, *, out: Any = None) -> _Tensor:
        """The older spelling of `linalg.lu_solve`, the right-hand side first."""
    def map_(self, tensor: _Tensor, callable: Any) -> _Tensor:
        """Replace every element by what a Python function makes of it and of one of `tensor`."""
    def masked_fill(self, mask: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
        """`input` with `value` where the mask is true."""
    def masked_fill_(self, mask: _Tensor, value: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `masked_fill`."""
    def masked_scatter(self, mask: _Tensor, source: _Tensor) -> _Tensor:
        """`input` with the elements where the mask is true taken from `source`, in order."""
    def masked_scatter_(self, mask: _Tensor, source: _Tensor) -> _Tensor:
        """In-place version of `masked_scatter`."""
    def masked_select(self, mask: _Tensor, *, out: Any = None) -> _Tensor:
        """The elements where the mask is true, in one dim."""
    def matmul(self, other: _Tensor, *, out: Any = None) -> _Tensor:
        """The matrix product; vectors are rows or columns, leading dims are batches that broadcast."""
    def matrix_exp(self) -> _Tensor:
        """The matrix exponential."""
    def matrix_power(self, n: _b.int, *, out: Any = None) -> _Tensor:
        """The n-th power of a square matrix."""
    def max(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None, other: _Tensor | _b.complex | None = None) -> Any:
        """The largest element; with `dim` values and indices; with a tensor the larger of each pair."""
    def maximum(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The larger of two; nan wins."""
    def mean(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None, axis: _b.int | Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
        """The mean over `dim`, or of all elements."""
    def median(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None) -> Any:
        """The lower median of all elements; with `dim` values and indices."""
    def min(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None, other: _Tensor | _b.complex | None = None) -> Any:
        """The smallest element; with `dim` values and indices; with a tensor the smaller of each pair."""
    def minimum(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The smaller of two; nan wins."""
    def mm(self, mat2: _Tensor, *, out: Any = None) -> _Tensor:
        """The product of two matrices."""
    def mode(self, dim: _b.int = -1, keepdim: _b.bool = False, *, out: Any = None) -> Any:
        """The most frequent value along `dim`, the smallest of equally frequent ones, and where it is."""
    def moveaxis(self, source: Any, destination: Any) -> _Tensor:
        """Move dims to new places, keeping the order of the others."""
    def movedim(self, source: Any, destination: Any) -> _Tensor:
        """Move dims to new places, keeping the order of the others."""
    def msort(self, *, out: Any = None) -> _Tensor:
        """The elements in order along the first dim."""
    def mul(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input * other`."""
    def mul_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `mul`."""
    def multinomial(self, num_samples: _b.int, replacement: _b.bool = False, *, generator: _Generator | None = None, out: Any = None) -> _Tensor:
        """Indices along the last dim, drawn with the weights that stand there."""
    def multiply(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input * other`."""
    def multiply_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `multiply`."""
    def mv(self, vec: _Tensor, *, out: Any = None) -> _Tensor:
        """A matrix times a vector."""
    def mvlgamma(self, p: _b.int, *, out: Any = None) -> _Tensor:
        """The logarithm of the multivariate gamma function of dimension `p`."""
    def mvlgamma_(self, p: _b.int) -> _Tensor:
        """In-place version of `mvlgamma`."""
    def nan_to_num(self, nan: _b.float | None = 0.0, posinf: Any = None, neginf: Any = None, *, out: Any = None) -> _Tensor:
        """nan, inf and -inf replaced, by default with 0 and the dtype's limits."""
    def nan_to_num_(self, nan: _b.float | None = 0.0, posinf: Any = None, neginf: Any = None) -> _Tensor:
        """In-place version of `nan_to_num`."""
    def nanmean(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
        """The mean over `dim` of the elements that are not nan."""
    def nanmedian(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None) -> Any:
        """The lower median of the elements that are not nan; with `dim` values and indices."""
    def nanquantile(self, q: Any, dim: _b.int | None = None, keepdim: _b.bool = False, *, interpolation: _b.str = 'linear', out: Any = None) -> _Tensor:
        """The `q`-quantiles along `dim` of the elements that are not nan."""
    def nansum(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
        """The sum over `dim` with nan counted as 0."""
    def narrow(self, dim: _b.int, start: Any, length: _b.int) -> _Tensor:
        """`length` positions of dim `dim` from `start` on."""
    def narrow_copy(self, dim: _b.int, start: _b.int, length: _b.int) -> _Tensor:
        """A copy of `length` positions of dim `dim` from `start` on."""
    def ne(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input != other`."""
    def ne_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `ne`."""
    def neg(self, *, out: Any = None) -> _Tensor:
        """`-input`."""
    def neg_(self) -> _Tensor:
        """In-place version of `neg`."""
    def negative(self, *, out: Any = None) -> _Tensor:
        """`-input`."""
    def negative_(self) -> _Tensor:
        """In-place version of `negative`."""
    def new(self, *args: Any, **kwargs: Any) -> _Tensor:
        """A tensor of this one's dtype and device, from sizes or from data."""
    def new_empty(self, *size: _b.int | Sequence[_b.int], dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False, **keyword: Any) -> _Tensor:
        """`empty` in this tensor's dtype and on its device."""
    def new_full(self, size: _b.int | Sequence[_b.int], fill_value: _b.complex, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False) -> _Tensor:
        """`full` in this tensor's dtype and on its device."""
    def new_ones(self, *size: _b.int | Sequence[_b.int], dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False, **keyword: Any) -> _Tensor:
        """`ones` in this tensor's dtype and on its device."""
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False) -> _Tensor:
        """`tensor(data)` in this tensor's dtype and on its device."""
    def new_zeros(self, *size: _b.int | Sequence[_b.int], dtype: _dtype | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False, layout: _layout | None = None, pin_memory: _b.bool = False, **keyword: Any) -> _Tensor:
        """`zeros` in this tensor's dtype and on its device."""
    def nextafter(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The next representable number from `input` towards `other`."""
    def nextafter_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `nextafter`."""
    def nonzero(self, *, out: Any = None, as_tuple: _b.bool = False) -> Any:
        """The positions of the elements that are not zero: as rows, or as one vector per dim."""
    def nonzero_static(self, *, size: _b.int, fill_value: _b.int = -1, out: Any = None) -> _Tensor:
        """As `nonzero` with exactly `size` rows: cut off, or filled up."""
    def norm(self, p: Any = 'fro', dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, dtype: _dtype | None = None) -> _Tensor: ...
    def normal_(self, mean: _b.float = 0, std: _b.float = 1, *, generator: _Generator | None = None) -> _Tensor:
        """Fill with normal numbers."""
    def not_equal(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """Where `input != other`."""
    def not_equal_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `not_equal`."""
    def orgqr(self, input2: _Tensor, *, out: Any = None) -> _Tensor:
        """The other name of `linalg.householder_product`."""
    def outer(self, vec2: _Tensor, *, out: Any = None) -> _Tensor:
        """Every product of an element of `input` with one of `vec2`."""
    def permute(self, *dims: _b.int | Sequence[_b.int] | None) -> _Tensor: ...
    def pin_memory(self, device: _device | _b.str | _b.int | None = None) -> _Tensor:
        """A copy in page-locked memory, from which copies to a GPU can run in the background."""
    def pinverse(self, rcond: _b.float = 1e-15) -> _Tensor:
        """The older spelling of `linalg.pinv`."""
    def polygamma(self, n: _b.int) -> _Tensor:
        """The n-th derivative of `digamma`."""
    def polygamma_(self, n: _b.int) -> _Tensor:
        """In-place version of `polygamma`."""
    def positive(self) -> _Tensor:
        """`+input`: the tensor itself."""
    def pow(self, exponent: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input ** exponent`."""
    def pow_(self, exponent: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `pow`."""
    def prelu(self, weight: _Tensor) -> _Tensor:
        """x, or a learnt multiple of x where x is negative: one for all or one per channel."""
    def prod(self, dim: _b.int | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
        """The product over `dim`, or of all elements; integers multiply in int64."""
    def put(self, index: _Tensor, source: _Tensor, accumulate: _b.bool = False) -> _Tensor:
        """A copy of `input` with `source` at flat positions."""
    def put_(self, index: _Tensor, source: _Tensor, accumulate: _b.bool = False) -> _Tensor:
        """Write `source` at flat positions of this tensor."""
    def qr(self, some: _b.bool = True, *, out: Any = None) -> Any:
        """The older spelling of `linalg.qr`."""
    def quantile(self, q: Any, dim: _b.int | None = None, keepdim: _b.bool = False, *, interpolation: _b.str = 'linear', out: Any = None) -> _Tensor:
        """The `q`-quantiles along `dim`, or of all elements."""
    def rad2deg(self, *, out: Any = None) -> _Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> _Tensor:
        """In-place version of `rad2deg`."""
    def random_(self, *args: Any, generator: _Generator | None = None, **kwargs: Any) -> _Tensor:
        """Fill with integers of [from, to); without bounds, of all the dtype holds exactly."""
    def ravel(self) -> _Tensor:
        """`input` in one dimension."""
    def reciprocal(self, *, out: Any = None) -> _Tensor:
        """`1 / input`."""
    def reciprocal_(self) -> _Tensor:
        """In-place version of `reciprocal`."""
    def record_stream(self, s: Any) -> None:
        """Keep this memory until a stream has done what it holds now, even if the tensor goes away."""
    def relu(self) -> _Tensor:
        """max(0, x)."""
    def relu_(self) -> _Tensor:
        """In-place `relu`."""
    def remainder(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """The remainder of `input / other` with the divisor's sign."""
    def remainder_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `remainder`."""
    def renorm(self, p: _b.float, dim: _b.int, maxnorm: _b.float, *, out: Any = None) -> _Tensor:
        """Slices along `dim` whose p-norm is over `maxnorm` made shorter, to that norm."""
    def renorm_(self, p: _b.float, dim: _b.int, maxnorm: _b.float) -> _Tensor:
        """In-place version of `renorm`."""
    def repeat(self, *repeats: _Tensor | _b.int | Sequence[_b.int] | None) -> _Tensor:
        """Copies of this tensor side by side, `repeats` times along each dim."""
    def repeat_interleave(self, repeats: _Tensor | _b.int | Sequence[_b.int] | None = None, dim: _b.int | None = None, *, output_size: _b.int | None = None) -> _Tensor:
        """Every element `repeats` times in a row; `repeats` may differ along `dim`."""
    def reshape(self, *shape: _b.int | Sequence[_b.int] | _dtype) -> _Tensor: ...
    def reshape_as(self, other: _Tensor) -> _Tensor:
        """`self` in the shape of `other`."""
    def resize(self, *sizes: _b.int | Sequence[_b.int]) -> _Tensor:
        """The old name of a reshape: the number of elements has to stay."""
    def resize_(self, *sizes: _b.int | Sequence[_b.int], memory_format: _memory_format | None = ...) -> _Tensor:
        """Show this tensor's memory in another size, with more memory where it is too small."""
    def resize_as_(self, the_template: _Tensor, *, memory_format: _memory_format | None = None) -> _Tensor:
        """`resize_` to the size of another tensor."""
    def resolve_conj(self) -> _Tensor:
        """The tensor itself: conjugates here are never lazy."""
    def resolve_neg(self) -> _Tensor:
        """The tensor itself: negations here are never lazy."""
    def roll(self, shifts: Any, dims: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """Elements shifted along `dims`, those pushed out at the end coming in at the front."""
    def rot90(self, k: _b.int = 1, dims: _b.int | Sequence[_b.int] | None = ...) -> _Tensor:
        """Turned by `k` quarters in the plane of two dims, from the first towards the second."""
    def round(self, *, decimals: _b.int = 0, out: Any = None) -> _Tensor:
        """The nearest integer, halves to even; or the nearest number of so many decimals."""
    def round_(self, *, decimals: _b.int = 0) -> _Tensor:
        """In-place version of `round`."""
    def rsqrt(self, *, out: Any = None) -> _Tensor:
        """`1 / sqrt(input)`."""
    def rsqrt_(self) -> _Tensor:
        """In-place version of `rsqrt`."""
    def rsub(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
        """`other - alpha * input`."""
    def scatter(self, dim: _b.int, index: _Tensor, src: Any = None, *, value: _Tensor | _b.complex | None = None, reduce: _b.str | None = None, out: Any = None) -> _Tensor:
        """A copy of `input` with `src` (or one value) written at `index` along `dim`."""
    def scatter_(self, dim: _b.int, index: _Tensor, src: Any = None, *, value: _Tensor | _b.complex | None = None, reduce: _b.str | None = None) -> _Tensor:
        """In-place version of `scatter`."""
    def scatter_add(self, dim: _b.int, index: _Tensor, src: _Tensor, *, out: Any = None) -> _Tensor:
        """A copy of `input` with `src` added at `index` along `dim`, duplicates counting."""
    def scatter_add_(self, dim: _b.int, index: _Tensor, src: _Tensor) -> _Tensor:
        """In-place version of `scatter_add`."""
    def scatter_reduce(self, dim: _b.int, index: _Tensor, src: _Tensor, reduce: _b.str, *, include_self: _b.bool = True, out: Any = None) -> _Tensor:
        """`input` with `src` combined into it at `index` along `dim`."""
    def scatter_reduce_(self, dim: _b.int, index: _Tensor, src: _Tensor, reduce: _b.str, *, include_self: _b.bool = True) -> _Tensor:
        """In-place version of `scatter_reduce`."""
    def select(self, dim: _b.int, index: _b.int) -> _Tensor:
        """The slice at position `index` of dim `dim`, without that dim."""
    def select_scatter(self, src: _Tensor, dim: _b.int, index: _b.int) -> _Tensor:
        """A copy of `input` with `src` at one position of a dim."""
    def set_(self, source: Any = None, storage_offset: _b.int = 0, size: _b.int | Sequence[_b.int] | None = None, stride: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """Let this tensor show other memory: a tensor's, or a storage with sizes and strides."""
    def sgn(self, *, out: Any = None) -> _Tensor:
        """`sign`, and for complex numbers the unit number of the same direction."""
    def sgn_(self) -> _Tensor:
        """In-place version of `sgn`."""
    def share_memory_(self) -> _Tensor:
        """Move this tensor into memory that forked processes share; CUDA memory always is."""
    def short(self, memory_format: _memory_format | None = None) -> _Tensor:
        """This tensor as int16."""
    def sigmoid(self, *, out: Any = None) -> _Tensor:
        """`1 / (1 + exp(-input))`, without overflow."""
    def sigmoid_(self) -> _Tensor:
        """In-place version of `sigmoid`."""
    def sign(self, *, out: Any = None) -> _Tensor:
        """-1, 0 or 1 by the sign of every element."""
    def sign_(self) -> _Tensor:
        """In-place version of `sign`."""
    def signbit(self, *, out: Any = None) -> _Tensor:
        """Whether the sign bit of every element is set; true for -0.0."""
    def sin(self, *, out: Any = None) -> _Tensor:
        """The sine."""
    def sin_(self) -> _Tensor:
        """In-place version of `sin`."""
    def sinc(self, *, out: Any = None) -> _Tensor:
        """`sin(pi * input) / (pi * input)`, 1 at zero."""
    def sinc_(self) -> _Tensor:
        """In-place version of `sinc`."""
    def sinh(self, *, out: Any = None) -> _Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> _Tensor:
        """In-place version of `sinh`."""
    def slice_scatter(self, src: _Tensor, dim: _b.int = 0, start: _b.int | None = None, end: _b.int | None = None, step: _b.int = 1) -> _Tensor:
        """A copy of `input` with `src` in a range of a dim."""
    def slogdet(self, *, out: Any = None) -> Any:
        """The sign and the logarithm of the absolute value of the determinant."""
    def softmax(self, dim: _b.int, dtype: _dtype | None = None, *, out: Any = None) -> _Tensor:
        """exp of every element over the sum of exp along `dim`."""
    def sort(self, dim: _b.int = -1, descending: _b.bool = False, stable: _b.bool = False, *, out: Any = None) -> Any:
        """The elements in order along `dim`, and where each one was; always stable."""
    def split(self, split_size: Any, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """Parts of length `split_size` (the last may be shorter), or of the lengths in a list."""
    def split_with_sizes(self, split_sizes: Any, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """Parts of the given lengths, which must add up to the whole."""
    def sqrt(self, *, out: Any = None) -> _Tensor:
        """The square root."""
    def sqrt_(self) -> _Tensor:
        """In-place version of `sqrt`."""
    def square(self, *, out: Any = None) -> _Tensor:
        """`input * input`."""
    def square_(self) -> _Tensor:
        """In-place version of `square`."""
    def squeeze(self, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """Without its dims of size 1, or without those of `dim` that are."""
    def squeeze_(self, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
        """In-place version of `squeeze`: the memory stays, the shape changes."""
    def std(self, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: Any = None) -> _Tensor:
        """The standard deviation over `dim`, with n - correction (default 1) degrees of freedom."""
    def stft(self, n_fft: _b.int, hop_length: _b.int | None = None, win_length: _b.int | None = None, window: _Tensor | None = None, center: _b.bool = True, pad_mode: _b.str = 'reflect', normalized: _b.bool = False, onesided: _b.bool | None = None, return_complex: _b.bool | None = None, align_to_window: _b.bool | None = None) -> _Tensor:
        """The spectra of windows of a signal: (..., frequencies, frames)."""
    def storage(self) -> Any:
        """The memory this tensor views, as elements."""
    def sub(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
        """`input - alpha * other`."""
    def sub_(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `sub`."""
    def subtract(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1, out: Any = None) -> _Tensor:
        """`input - alpha * other`."""
    def subtract_(self, other: _Tensor | _b.complex, *, alpha: _b.complex = 1) -> _Tensor:
        """In-place version of `subtract`."""
    def sum(self, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None, axis: _b.int | Sequence[_b.int] | None = None, keepdims: _b.bool = False) -> _Tensor:
        """The sum over `dim`, or of all elements; integers add up in int64."""
    def sum_to_size(self, *size: _b.int | Sequence[_b.int]) -> _Tensor:
        """The sum over the dims in which `size` would have to be expanded to this tensor's size."""
    def svd(self, some: _b.bool = True, compute_uv: _b.bool = True, *, out: Any = None) -> Any:
        """The older spelling of `linalg.svd`; it returns V, not its adjoint."""
    def swapaxes(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """`input` with two dims exchanged."""
    def swapaxes_(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """In-place version of `swapaxes`: the memory stays, the shape changes."""
    def swapdims(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """`input` with two dims exchanged."""
    def swapdims_(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """In-place version of `swapdims`: the memory stays, the shape changes."""
    def t(self) -> _Tensor:
        """The transpose of a matrix; vectors and scalars stay as they are."""
    def t_(self) -> _Tensor:
        """In-place version of `t`: the memory stays, the shape changes."""
    def take(self, index: _Tensor, *, out: Any = None) -> _Tensor:
        """The elements at flat positions."""
    def take_along_dim(self, indices: _Tensor, dim: _b.int | None = None, *, out: Any = None) -> _Tensor:
        """As `gather`, with `input` and `indices` broadcast apart from `dim`."""
    def tan(self, *, out: Any = None) -> _Tensor:
        """The tangent."""
    def tan_(self) -> _Tensor:
        """In-place version of `tan`."""
    def tanh(self, *, out: Any = None) -> _Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> _Tensor:
        """In-place version of `tanh`."""
    def tensor_split(self, indices_or_sections: Any = None, dim: _b.int = 0, *, indices: Any = None, sections: Any = None) -> _b.tuple[_Tensor, ...]:
        """Parts cut at the given positions, or a given number of nearly equal parts."""
    def tile(self, *dims: _b.int | Sequence[_b.int] | None) -> _Tensor: ...
    def to(self, *args: Any, **kwargs: Any) -> _Tensor:
        """This tensor in another dtype, on another device, or in another memory format."""
    def to_dense(self, dtype: _dtype | None = None) -> _Tensor:
        """A dense tensor is its own dense form."""
    def to_sparse(self, sparse_dim: _b.int | None = None) -> _Tensor:
        """The elements that are not zero, with their places."""
    def topk(self, k: _b.int, dim: _b.int = -1, largest: _b.bool = True, sorted: _b.bool = True, *, out: Any = None) -> Any:
        """The `k` largest (or smallest) elements along `dim` in order, and where they are."""
    def trace(self) -> _Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """`input` with two dims exchanged."""
    def transpose_(self, dim0: _b.int, dim1: _b.int) -> _Tensor:
        """In-place version of `transpose`: the memory stays, the shape changes."""
    def triangular_solve(self, A: _Tensor, upper: _b.bool = True, transpose: _b.bool = False, unitriangular: _b.bool = False, *, out: Any = None) -> Any:
        """The older spelling of `linalg.solve_triangular`, the right-hand side first."""
    def tril(self, diagonal: _b.int = 0, *, out: Any = None) -> _Tensor:
        """`input` with zeros above its `diagonal`-th diagonal."""
    def tril_(self, diagonal: _b.int = 0) -> _Tensor:
        """In-place version of `tril`."""
    def triu(self, diagonal: _b.int = 0, *, out: Any = None) -> _Tensor:
        """`input` with zeros below its `diagonal`-th diagonal."""
    def triu_(self, diagonal: _b.int = 0) -> _Tensor:
        """In-place version of `triu`."""
    def true_divide(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input / other`, always floating point."""
    def true_divide_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `true_divide`."""
    def trunc(self, *, out: Any = None) -> _Tensor:
        """Without the fraction."""
    def trunc_(self) -> _Tensor:
        """In-place version of `trunc`."""
    def type(self, dtype: _dtype | None = None, non_blocking: _b.bool = False, **kwargs: Any) -> Any:
        """The type's name, or this tensor cast to `dtype` (a dtype or an old name like FloatTensor)."""
    def type_as(self, other: _Tensor) -> _Tensor:
        """This tensor in the dtype and on the device of `other`."""
    def unbind(self, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """All slices along dim `dim`, as views."""
    def unflatten(self, dim: _b.int, sizes: _b.int | Sequence[_b.int]) -> _Tensor:
        """Split dim `dim` into `sizes`."""
    def unfold(self, dimension: _b.int, size: _b.int, step: _b.int) -> _Tensor:
        """All windows of length `size`, `step` apart, along a dim; the window is the last dim."""
    def uniform_(self, *args: Any, generator: _Generator | None = None, **kwargs: Any) -> _Tensor:
        """Fill with numbers uniform on [from, to), by default [0, 1)."""
    def unique(self, sorted: _b.bool = True, return_inverse: _b.bool = False, return_counts: _b.bool = False, dim: _b.int | None = None) -> Any:
        """The different elements (or slices along `dim`) in order, and where and how often they are."""
    def unique_consecutive(self, return_inverse: _b.bool = False, return_counts: _b.bool = False, dim: _b.int | None = None) -> Any:
        """`input` with all but the first of each run of equal elements (or slices) left out."""
    def unsafe_chunk(self, chunks: _b.int, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """At most `chunks` parts of equal length, the last one shorter."""
    def unsafe_split(self, split_size: Any, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """Parts of length `split_size` (the last may be shorter), or of the lengths in a list."""
    def unsafe_split_with_sizes(self, split_sizes: Any, dim: _b.int = 0) -> _b.tuple[_Tensor, ...]:
        """Parts of the given lengths, which must add up to the whole."""
    def unsqueeze(self, dim: _b.int) -> _Tensor:
        """A new dim of size 1 at `dim`."""
    def unsqueeze_(self, dim: _b.int) -> _Tensor:
        """In-place version of `unsqueeze`: the memory stays, the shape changes."""
    def untyped_storage(self) -> Any:
        """The memory this tensor views, as bytes."""
    def var(self, dim: _b.int | Sequence[_b.int] | None = None, unbiased: _b.bool | None = None, keepdim: _b.bool = False, *, correction: Any = None, out: Any = None) -> _Tensor:
        """The variance over `dim`; the sum of squares is divided by n - correction (default 1)."""
    def vdot(self, other: _Tensor, *, out: Any = None) -> _Tensor:
        """The inner product of two vectors, the first one conjugated."""
    def view(self, *shape: _b.int | Sequence[_b.int] | _dtype, dtype: _dtype | None = None) -> _Tensor:
        """The same memory in another shape (or another dtype); RuntimeError when that needs a copy."""
    def view_as(self, other: _Tensor) -> _Tensor:
        """A view with the shape of `other`."""
    def vsplit(self, indices_or_sections: Any, *more: Any) -> _b.tuple[_Tensor, ...]:
        """Parts along dim 0: as `tensor_split`, but equal parts only."""
    def where(self, condition: _Tensor, other: _Tensor | _b.complex) -> _Tensor:
        """`self` where the condition holds, `other` elsewhere."""
    def xlogy(self, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
        """`input * log(other)`, 0 where input is 0."""
    def xlogy_(self, other: _Tensor | _b.complex) -> _Tensor:
        """In-place version of `xlogy`."""
    def zero_(self) -> _Tensor:
        """Write zero everywhere."""
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
    def __add__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __radd__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __iadd__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __sub__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __rsub__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __isub__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __mul__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __rmul__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __imul__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __truediv__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __rtruediv__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __itruediv__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __floordiv__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __rfloordiv__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __ifloordiv__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __mod__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __rmod__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __imod__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __pow__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __rpow__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __ipow__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __and__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __rand__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __iand__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __or__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __ror__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __ior__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __xor__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __rxor__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __ixor__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __matmul__(self, other: _Tensor) -> _Tensor: ...
    def __rmatmul__(self, other: _Tensor) -> _Tensor: ...
    def __imatmul__(self, other: _Tensor) -> _Tensor: ...
    def __lt__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __le__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __gt__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __ge__(self, other: _Tensor | _b.complex) -> _Tensor: ...
    def __eq__(self, other: Any) -> Any: ...
    def __ne__(self, other: Any) -> Any: ...
    def __neg__(self) -> _Tensor: ...
    def __pos__(self) -> _Tensor: ...
    def __invert__(self) -> _Tensor: ...
    def __abs__(self) -> _Tensor: ...
    def __getitem__(self, index: Any) -> _Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __iter__(self) -> Iterator[_Tensor]: ...
    def __hash__(self) -> _b.int: ...
