"""Matrix products: `@`, mm, bmm, mv, dot."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule, Shaped
from ...base.dtypes import c_name, title
from ...base.fits import computable
from ...base.shapes import broadcast_shapes
from ...core.op import Op
from ...core.overriding import foreign
from ...core.public import into_same, public, publish
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.thread import here
from ..pointwise.arithmetic import conj

# -- kernels ------------------------------------------------------------------------------------
# Three forms close under differentiation: x y, x y^H and x^H y (H: conjugate transpose), so that a
# backward never has to build a transposed tensor.


def product(xp: ArrayModule, x: Array, y: Array) -> Any:
    """`x @ y` by the fastest road the array library has for the dtype."""
    dtype = x.dtype
    if dtype.itemsize == 2 and dtype.kind in "fV":
        # No BLAS for half precision on the CPU; PyTorch accumulates in float32 as well.
        with np.errstate(all="ignore"):
            wide = xp.matmul(x.astype(np.float32), y.astype(np.float32))
            return xp.asarray(wide).astype(dtype)
    if x.ndim <= 2 and y.ndim <= 2:
        return x.dot(y)  # 0.7 us less than matmul
    return xp.matmul(x, y)


def adjoint(x: Array) -> Any:
    x = x.swapaxes(-1, -2)
    return x.conj() if x.dtype.kind == "c" else x


def _matmul(xp: ArrayModule, x: Array, y: Array) -> Any:
    return product(xp, x, y)


def _matmul_nt(xp: ArrayModule, x: Array, y: Array) -> Any:
    return product(xp, x, adjoint(y))


def _matmul_tn(xp: ArrayModule, x: Array, y: Array) -> Any:
    return product(xp, adjoint(x), y)


def _matmul_meta(flip_x: bool, flip_y: bool) -> Any:
    def meta(x: Shaped, y: Shaped) -> tuple:
        batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
        rows = x.shape[-1] if flip_x else x.shape[-2]
        columns = y.shape[-2] if flip_y else y.shape[-1]
        return (*batch, rows, columns), x.dtype

    return meta


def _family(name: str, grad_name: str, batched: bool) -> tuple[Op, Op, Op]:
    options: dict[str, Any] = {"broadcasts": batched, "grad_name": grad_name}
    facts = Facts(vmap=name, autocast="low", aten=name, onnx="matmul_turned", family="product")
    options["facts"] = facts._replace(onnx="matmul", sparse=None if batched else "product")
    nn = Op(_matmul, name, meta=_matmul_meta(False, False), **options)
    options["facts"] = facts
    nt = Op(_matmul_nt, name + "_nt", meta=_matmul_meta(False, True), **options)
    tn = Op(_matmul_tn, name + "_tn", meta=_matmul_meta(True, False), **options)
    nn.derivative(x=lambda g, y: nt(g, y), y=lambda g, x: tn(x, g))
    nt.derivative(x=lambda g, y: nn(g, y), y=lambda g, x: tn(g, x))
    tn.derivative(x=lambda g, y: nt(y, g), y=lambda g, x: nn(x, g))
    return nn, nt, tn


mm_nn, mm_nt, mm_tn = _family("mm", "MmBackward0", batched=False)
bmm_nn, bmm_nt, bmm_tn = _family("bmm", "BmmBackward0", batched=True)

mv_op = Op(
    _matmul,
    "mv",
    meta=lambda x, y: (x.shape[:1], x.dtype),
    facts=Facts(vmap="mv", autocast={"cuda": "low"}, onnx="matmul", sparse="product"),
)
mv_op.derivative(x=lambda g, y: g.unsqueeze(1) * conj(y), y=lambda g, x: mv_op(conj(x).transpose(0, 1), g))
dot_op = Op(
    _matmul, "dot", meta=lambda x, y: ((), x.dtype), facts=Facts(vmap="dot", autocast={"cuda": "widest"}, onnx="matmul")
)
dot_op.derivative(x=lambda g, y: g * conj(y), y=lambda g, x: g * conj(x))


# -- checks -------------------------------------------------------------------------------------


def check_product(x: Tensor, y: Tensor, batched: bool = False) -> None:
    """One dtype, and one that PyTorch multiplies."""
    a, b = x._a.dtype, y._a.dtype
    if a != b and not here.casting:
        if batched:
            raise RuntimeError(
                f"expected scalar type {title(x.dtype)} but found {title(y.dtype)}: cast one of the "
                f"operands with .to({y.dtype}) or .to({x.dtype})"
            )
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(x.dtype)} != {c_name(y.dtype)}"
        )
    if a.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")


def cannot_multiply(m: int, k: int, k2: int, n: int) -> RuntimeError:
    return RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {k2}x{n})")


def _need_tensors(name: str, *tensors: Any) -> None:
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            label = ("input", "other", "tensor2")[i]
            raise TypeError(f"{name}(): argument '{label}' (position {i + 1}) must be Tensor, not {type(t).__name__}")


# -- products -----------------------------------------------------------------------------------


@public()
def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The matrix product; `a @ b` calls it.

    Two vectors give their inner product, a vector and a matrix a vector; more dimensions are
    batches of matrices, and broadcast.

    Args:
        other: a tensor with at least one dimension.

    Raises:
        RuntimeError: if the inner sizes differ.

    Example:
        >>> a = torch.tensor([[1, 2], [3, 4]])
        >>> a.matmul(a)
        tensor([[ 7, 10],
                [15, 22]])
        >>> a @ torch.tensor([1, 1])
        tensor([3, 7])
    """
    _need_tensors("matmul", input, other)
    a, b = input._a.shape, other._a.shape
    if len(a) == 2 and len(b) == 2:
        result = mm(input, other)
    elif not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    elif len(b) == 1:
        result = _times_vector(input, other)
    elif len(b) == 2:
        result = _rows_times_matrix(input, other)
    elif len(a) == 1:
        result = _batched(input.unsqueeze(0), other).squeeze(-2)
    else:
        result = _batched(input, other)
    return result if out is None else into_same(out, result)


def _times_vector(x: Tensor, v: Tensor) -> Tensor:
    shape = x._a.shape
    if len(shape) == 1:
        return dot(x, v)
    if len(shape) == 2:
        return mv(x, v)
    return _rows_times_matrix(x, v.unsqueeze(1)).squeeze(-1)


def _rows_times_matrix(x: Tensor, y: Tensor) -> Tensor:
    """A batch of rows times one matrix is one large product."""
    shape = x._a.shape
    rows = 1
    for s in shape[:-1]:
        rows *= s
    flat = mm(x.reshape((rows, shape[-1])), y)
    return flat.reshape((*shape[:-1], y._a.shape[1]))


def _batched(x: Tensor, y: Tensor) -> Tensor:
    a, b = x._a.shape, y._a.shape
    batch = broadcast_shapes(a[:-2], b[:-2])
    if a[-1] != b[-2]:
        n = 1
        for s in batch:
            n *= s
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {a[-1]}] but got: [{n}, {b[-2]}]."
        )
    check_product(x, y, batched=True)
    return bmm_nn(x, y)


@public()
def mm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """The product of two matrices, without broadcasting.

    Args:
        mat2: a matrix with as many rows as `input` has columns.

    Raises:
        RuntimeError: if the sizes do not fit.

    Example:
        >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
        tensor([[3.],
                [3.]])
    """
    a, b = input._a, mat2._a
    if a.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if b.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    if a.shape[1] != b.shape[0]:
        raise cannot_multiply(*a.shape, *b.shape)
    if a.dtype != b.dtype or a.dtype.kind == "b":
        check_product(input, mat2)
    result = mm_nn(input, mat2)
    return result if out is None else into_same(out, result)


@public()
def bmm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """The products of two batches of matrices, without broadcasting.

    Args:
        mat2: (b, k, m) for an `input` of (b, n, k).

    Raises:
        RuntimeError: if the sizes do not fit.

    Example:
        >>> torch.bmm(torch.ones(5, 2, 3), torch.ones(5, 3, 4)).shape
        torch.Size([5, 2, 4])
    """
    a, b = input._a.shape, mat2._a.shape
    if len(a) != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if len(b) != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but "
            f"got: [{b[0]}, {b[1]}]."
        )
    check_product(input, mat2, batched=True)
    return into_same(out, bmm_nn(input, mat2))


@public()
def mv(input: Tensor, vec: Tensor, *, out: Any = None) -> Tensor:
    """A matrix times a vector.

    Args:
        vec: as many elements as the matrix has columns.

    Example:
        >>> torch.mv(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 1]))
        tensor([3, 7])
    """
    a, b = input._a.shape, vec._a.shape
    if len(a) != 2 or len(b) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {len(a)}, {len(b)}")
    if a[1] != b[0]:
        raise RuntimeError(f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
    check_product(input, vec)
    return into_same(out, mv_op(input, vec))


def _check_vectors(name: str, x: Tensor, y: Tensor) -> None:
    a, b = x._a.shape, y._a.shape
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    if x._a.dtype != y._a.dtype:
        raise RuntimeError(
            f"{name} : expected both vectors to have same dtype, but found {title(x.dtype)} and {title(y.dtype)}"
        )
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(a)} and src {list(b)} to have the same "
            f"number of elements, but got {a[0]} and {b[0]} elements respectively"
        )


@public()
def dot(input: Tensor, tensor: Tensor, *, out: Any = None) -> Tensor:
    """The inner product of two vectors.

    Args:
        tensor: a vector of the same size.

    Raises:
        RuntimeError: for other dimensions, sizes or dtypes.

    Example:
        >>> torch.tensor([1, 2]).dot(torch.tensor([3, 4]))
        tensor(11)
    """
    _check_vectors("dot", input, tensor)
    check_product(input, tensor)
    return into_same(out, dot_op(input, tensor))


@public()
def vdot(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The inner product of two vectors, the first one conjugated.

    Example:
        >>> torch.vdot(torch.tensor([1j]), torch.tensor([1j]))
        tensor(1.+0.j)
    """
    _check_vectors("vdot", input, other)
    check_product(input, other)
    return into_same(out, dot_op(conj(input), other))


def _nothing_of(x: Tensor) -> Tensor:
    """Zeros whose gradient for `x` is zero, whatever is in it."""
    return x.masked_fill(x.new_ones((), dtype=dtypes.bool_), 0)


def add_product(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """`beta * input + alpha * product`, where beta == 0 ignores even NaN in `input`."""
    if input._a.dtype != product._a.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {title(input.dtype)} and {title(product.dtype)}"
        )
    beta, alpha = computable(beta, input._a.dtype), computable(alpha, input._a.dtype)
    if alpha != 1:
        product = product * alpha
    expanded = input.expand(product._a.shape)
    if beta == 0:
        return product + _nothing_of(expanded) if input.requires_grad else product
    return ((expanded if beta == 1 else expanded * beta) + product).contiguous()


# -- operators ----------------------------------------------------------------------------------


def _at(self: Tensor, other: Any) -> Any:
    if not isinstance(other, Tensor):
        return foreign("__matmul__", self, other)
    a, b = self._a, other._a
    dtype = a.dtype
    if a.ndim == 2 and b.ndim == 2 and a.shape[1] == b.shape[0] and dtype is b.dtype:
        if dtype.kind != "b":  # the common case, without the checks it has passed already
            return mm_nn(self, other)
    return matmul(self, other)


def _rat(self: Tensor, other: Any) -> Any:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


publish("Tensor", "__matmul__", _at)
publish("Tensor", "__rmatmul__", _rat)
