"""Sparse tensors in coordinate form: the places and the values of the elements that are not zero."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from ...base import dtypes
from ...base.config import settings
from ...base.formats import sparse_coo, sparse_csc, sparse_csr
from ...base.shapes import Size
from ...core.overriding import disabled
from ...core.public import public, publish
from ...core.shown.describe import describe_parts
from ...core.tensor import Tensor
from ...runtime.sparse_array import SparseArray, open_sparse, sparse
from ...runtime.thread import here
from ..create.filled import empty
from ..create.from_data import tensor
from ..create.ranges import arange
from ..shape.join import cat


def load_compressed() -> Any:
    """The module of compressed matrices, which is built on this one."""
    return import_module(".compressed", __package__)


class SparseTensor(Tensor):
    """A tensor of which only the elements that are not zero are stored; places that repeat add up.

    Made by `torch.sparse_coo_tensor` and `Tensor.to_sparse`, and the gradient of a table that was looked up with
    `sparse=True`. Its history, and whether it wants a gradient, are those of its values.

    Args:
        indices: (dimensions, elements), the place of every element.
        values: the elements.
        size: the shape.
        coalesced: the places are in order and none occurs twice.

    Example:
        >>> x = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,))
        >>> x.to_dense(), x._nnz()
        (tensor([3., 0., 0.]), 2)
    """

    __slots__ = ("_at", "_coalesced", "_size", "_v")
    __torch_function__ = disabled

    is_sparse, is_sparse_csr = True, False
    layout: Any = sparse_coo

    _at: Tensor
    _v: Tensor

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, indices: Tensor, values: Tensor, size: Any, coalesced: bool = False) -> None:
        if not sparse.active:
            open_sparse()
        if here.tracer is not None:
            here.tracer.interrupt("a sparse tensor was made")
        if here.recorder is not None:
            here.recorder.complain("makes a sparse tensor")
        self._edge = self._grad = self._ver = self._ext = None
        self._hold(indices, values, size, coalesced)

    def _hold(self, indices: Tensor, values: Tensor, size: Any, coalesced: bool) -> SparseTensor:
        self._at, self._v = indices, values
        self._size = Size(size)
        self._coalesced = coalesced or self._nnz() < 2
        self._a = SparseArray(self._size, values._a.dtype, values.device)
        return self

    # -- what it is -----------------------------------------------------------------------------

    def sparse_dim(self) -> int:
        """How many dimensions the indices name."""
        return self._at.shape[0]

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return self.dim() - self.sparse_dim()

    is_cpu = property(lambda self: self.device.type == "cpu")

    @property
    def shape(self) -> Size:
        """The shape of the whole."""
        return self._size

    @property
    def _repr_html_(self) -> Any:
        raise AttributeError("sparse tensors are printed as text")

    def _nnz(self) -> int:
        return self._v.shape[0]

    def is_coalesced(self) -> bool:
        """Whether the places are in order, each once."""
        return self._coalesced

    def _indices(self) -> Tensor:
        return self._at.detach()

    def _values(self) -> Tensor:
        return self._v.detach()

    def indices(self) -> Tensor:
        """The places of the values, in order and without repetition."""
        self._need_coalesced("indices")
        return self._at

    def values(self) -> Tensor:
        """The values, one for each place."""
        self._need_coalesced("values")
        return self._v

    def _need_coalesced(self, what: str) -> None:
        if not self._coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        self._coalesced = coalesced
        return self

    def stride(self, dim: int | None = None) -> Any:
        """Zeros: there is no memory of the whole."""
        return self._a.strides if dim is None else 0

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """False: there is no memory of the whole."""
        return False

    def data_ptr(self) -> int:
        """Refused: there is no memory of the whole."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: see `to_dense`."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    # -- gradients: those of the values -----------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on the values are recorded."""
        return self._v.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._v.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Record gradients of the values, or no longer."""
        if requires_grad and not self._v.requires_grad:
            self._v = self._v.detach()  # the tensor that was given as values stays as it is
        self._v.requires_grad_(requires_grad)
        return self

    is_leaf = property(lambda self: self._v.is_leaf)
    grad_fn = property(lambda self: self._v.grad_fn)
    retains_grad = property(lambda self: self._v.retains_grad)

    @property
    def grad(self) -> Any:
        """The gradient at the places that have a value, each once."""
        g = self._v.grad
        return None if g is None else self._gradient(g)._coalesced_(self._nnz() < 2)

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None and (not isinstance(value, SparseTensor) or value.shape != self.shape):
            raise RuntimeError("the gradient of a sparse tensor is a sparse tensor of its size")
        self._v.grad = None if value is None else value.to_dense()[tuple(self._at)]

    def _gradient(self, g: Tensor) -> SparseTensor:
        """The gradient of the values as one of this tensor: values that share a place have the same one."""
        if self._coalesced:
            return self._with(g)
        one = self.detach().coalesce()
        _, where = self._flat().unique(return_inverse=True)
        return one._with(g.new_zeros((one._nnz(), *g.shape[1:])).index_copy(0, where, g))

    def retain_grad(self) -> None:
        """Keep the gradient of this result in `.grad`."""
        self._v.retain_grad()

    def register_hook(self, hook: Any) -> Any:
        """Call a function with the gradient, when it is known."""

        def with_places(g: Tensor) -> Any:
            replaced = hook(self._gradient(g))
            return None if replaced is None else replaced.to_dense()[tuple(self._at)]

        return self._v.register_hook(with_places)

    @property  # type: ignore[override]
    def data(self) -> SparseTensor:
        """The same places and values without history."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        self._hold(value._at, value._v, value.shape, value._coalesced)

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """The gradients of the leaves, from one of this tensor's size."""
        if gradient is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        dense = gradient.to_dense() if isinstance(gradient, SparseTensor) else gradient
        self._v.backward(dense[tuple(self._at)], *args, **kwargs)

    # -- other forms ----------------------------------------------------------------------------

    def _flat(self) -> Tensor:
        """Each place as one number, in the order of rows."""
        if self._at._a.shape[0] == 1:
            return self._at.reshape(-1)
        at = self._at[0] if self._at._a.shape[0] else self._at.new_zeros(self._at._a.shape[1])
        for row, n in zip(self._at[1:], self._size[1:]):
            at = at * n + row
        return at

    def coalesce(self) -> SparseTensor:
        """The same tensor with its places in order, each once."""
        if self._coalesced:
            return self
        if self._nnz() < 2:
            return self.clone()._coalesced_(True)
        places, where = self._flat().unique(return_inverse=True)
        values = self._v.new_zeros((places.numel(), *self._v.shape[1:])).index_add(0, where, self._v)
        if self.sparse_dim() == 1:
            return SparseTensor(places.unsqueeze(0), values, self._size, coalesced=True)
        rows = []
        for n in reversed(self._size[1 : self.sparse_dim()]):
            rows.append(places % n)
            places = places.div(n, rounding_mode="floor")
        indices = cat([r.unsqueeze(0) for r in (places, *reversed(rows))])[: self.sparse_dim()]
        return SparseTensor(indices, values, self._size, coalesced=True)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The tensor with its zeros written out."""
        n = self.sparse_dim()
        flat = self._v.new_zeros((self._size[:n].numel(), *self._size[n:]))
        dense = flat.index_add(0, self._flat(), self._v).reshape(self._size)
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(self, sparse_dim: int | None = None, *, layout: Any = None) -> SparseTensor:
        """The tensor itself, or in the layout that is named."""
        return self if layout in (None, sparse_coo) else load_compressed().compress(self, layout)

    def to_sparse_coo(self) -> SparseTensor:
        """The same as coordinates."""
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim: int | None = None) -> SparseTensor:
        """The matrix row by row."""
        return self.to_sparse(layout=sparse_csr)

    def to_sparse_csc(self, dense_dim: int | None = None) -> SparseTensor:
        """The matrix column by column."""
        return self.to_sparse(layout=sparse_csc)

    def _with(self, values: Tensor) -> SparseTensor:
        return SparseTensor(self._at, values, self._size, self._coalesced)

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """On another device, or with values of another dtype."""
        values = self._v.to(*args, **kwargs)
        if values is self._v:
            return self
        return SparseTensor(self._at.to(values.device), values, self._size, self._coalesced)

    def cuda(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> SparseTensor:
        """On a GPU."""
        return self.to("cuda" if device is None else device)

    def cpu(self, **kwargs: Any) -> SparseTensor:
        """On the CPU."""
        return self.to("cpu")

    def type(self, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        """PyTorch's name of the kind of tensor, or this one with values of another dtype."""
        if dtype is not None:
            return self.to(dtype)
        place = "cuda.sparse" if self.is_cuda else "sparse"
        return f"{settings.module}.{place}.{dtypes.title(self.dtype)}Tensor"

    def detach(self) -> SparseTensor:
        """Without a history of gradients."""
        return self._with(self._v.detach())

    def detach_(self) -> SparseTensor:
        """Forget the history of gradients."""
        self._v = self._v.detach()
        return self

    def clone(self, *, memory_format: Any = None) -> SparseTensor:
        """With places and values of its own."""
        return SparseTensor(self._at.clone(), self._v.clone(), self._size, self._coalesced)

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Two sparse dims exchanged."""
        dims = list(range(self.sparse_dim()))
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
        size = list(self._size)
        size[dim0], size[dim1] = size[dim1], size[dim0]
        return SparseTensor(self._at[dims], self._v, size)

    def zero_(self) -> SparseTensor:
        """No element is left."""
        size = (0, *self._v.shape[1:])
        none = self._at.new_zeros((self.sparse_dim(), 0))
        return self._hold(none, self._v.detach().new_zeros(size), self._size, True)

    def copy_(self, src: Any, non_blocking: bool = False) -> SparseTensor:
        """The places and values of another sparse tensor."""
        if not isinstance(src, SparseTensor):
            raise copy_error(self, src)
        other = src.to(self.device, self.dtype).clone()
        return self._hold(other._at, other._v, self._size, other._coalesced)

    def norm(self, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        """The length of all elements seen as one vector."""
        if dim is not None and len([dim] if isinstance(dim, int) else dim) not in (0, self.dim()):
            raise RuntimeError(
                "norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
                "contain all dimensions of the input"
            )
        return self.coalesce()._v.norm(p, dtype=dtype)

    def t(self) -> SparseTensor:
        """The transposed matrix."""
        if self.sparse_dim() > 2 or self.dense_dim():
            raise RuntimeError(
                "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
                f"{self.sparse_dim()} sparse and {self.dense_dim()} dense dimensions"
            )
        return self.transpose(0, 1) if self.sparse_dim() == 2 else self

    T = property(t)

    def __copy__(self) -> SparseTensor:
        return self._with(self._v)

    def __deepcopy__(self, memo: dict[int, Any]) -> SparseTensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment."
            )
        if id(self) not in memo:
            memo[id(self)] = self.detach().clone().requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (self._at, self._v, tuple(self._size), self._coalesced)

    def reshape(self, *shape: Any) -> Any:  # type: ignore[override]
        """Refused, as in PyTorch."""
        raise RuntimeError("reshape is not implemented for sparse tensors")

    flatten: Any = reshape

    def contiguous(self, memory_format: Any = None) -> SparseTensor:
        """The tensor itself: there is no memory of the whole."""
        return self

    def sparse_resize_and_clear_(self, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
        """Another size, and no element."""
        none = self._at.new_zeros((sparse_dim, 0))
        values = self._v.detach().new_zeros((0, *tuple(size)[sparse_dim:]))
        return self._hold(none, values, size, True)

    # -- products ---------------------------------------------------------------------------------

    def matmul(self, other: Any, *, out: Any = None) -> Tensor:
        """The product with a dense matrix or vector; with a sparse matrix it is sparse, too."""
        if self.dim() != 2 or self.sparse_dim() != 2 or other.dim() not in (1, 2):
            raise RuntimeError(
                "sparse matmul: expected a sparse matrix and a dense matrix or vector, but got "
                f"{self.dim()}D and {other.dim()}D"
            )
        if self._size[1] != other.shape[0]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({self._size[0]}x{self._size[1]} and "
                f"{'x'.join(map(str, other.shape))})"
            )
        if isinstance(other, SparseTensor):
            return self._times_sparse(other)
        if self.dtype is not other.dtype:
            mine, theirs = dtypes.title(self.dtype), dtypes.title(other.dtype)
            raise RuntimeError(f"expected scalar type {mine} but found {theirs}")
        rows, columns = self._at[0], self._at[1]
        picked = other.index_select(0, columns)
        weights = self._v if other.dim() == 1 else self._v.unsqueeze(1)
        shape = (self._size[0], *other.shape[1:])
        return other.new_zeros(shape).index_add(0, rows, weights * picked)

    mm = spmm = mv = __matmul__ = matmul  # type: ignore[assignment]

    def _times_sparse(self, other: SparseTensor) -> SparseTensor:
        """The product of two sparse matrices: each value meets all of the other's row that its column names."""
        a, b = self.to_sparse(), other.to_sparse().coalesce()
        begins = load_compressed()._convert_indices_from_coo_to_csr(b._at[0], b.shape[0])
        first = begins[a._at[1]]
        counts = begins[a._at[1] + 1] - first
        which = arange(a._nnz(), device=a.device).repeat_interleave(counts)
        turn = arange(which.numel(), device=a.device) - (counts.cumsum(0) - counts)[which]
        met = first[which] + turn
        at = cat([a._at[:1, which], b._at[1:, met]])
        return SparseTensor(at, a._v[which] * b._v[met], (a.shape[0], b.shape[1])).coalesce()

    def __rmatmul__(self, other: Tensor) -> Tensor:
        if other.dim() == 1:
            return self.t().matmul(other)
        return self.t().matmul(other.t()).t()

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        parts = (("indices", self._at), ("values", self._v))
        return describe_parts(self, parts, apart=True)


def copy_error(t: Tensor, src: Tensor) -> RuntimeError:
    return RuntimeError(
        "copy_() between dense and sparse Tensors is not implemented! Found self type = "
        f"{t.type()} and src type = {src.type()}"
    )


def _rebuild(indices: Tensor, values: Tensor, size: tuple[int, ...], coalesced: bool) -> Any:
    """A sparse tensor again from its pickle."""
    return SparseTensor(indices, values, size, coalesced)


@public("torch")
def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: Any = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A sparse tensor: only the elements that are not zero, with their places.

    Args:
        indices: (dimensions, elements), the place of every element.
        values: the elements; the first dimension runs over them.
        size: the shape; the smallest that holds the places if not given.
        check_invariants: for PyTorch's signature; places are always checked.
        is_coalesced: the places are in order and none occurs twice.

    Raises:
        RuntimeError: if places and values do not fit, or a place is outside of `size`.

    Example:
        >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    if values is None:
        size = indices
        indices = empty((len(size), 0), dtype=dtypes.int64)
        values = empty((0,), dtype=dtype)
    at = (indices if isinstance(indices, Tensor) else tensor(indices)).to(dtypes.int64)
    v = values if isinstance(values, Tensor) else tensor(values)
    if dtype is not None or device is not None:
        v = v.to(device=v.device if device is None else device, dtype=dtype or v.dtype)
    at = at.to(v.device)
    if at.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}")
    if at.shape[1] != v.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {at.shape[1]}, nnz from "
            f"values: {v.shape[0]}"
        )
    size = _checked_size(at, v, size)
    if v.requires_grad:
        v = v.view_as(v)  # it stays a leaf, and what is made of it is none
    made = SparseTensor(at, v, size, bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def _checked_size(at: Tensor, v: Tensor, size: Any) -> tuple[int, ...]:
    top = [n + 1 for n in at.amax(1).tolist()] if at.shape[1] else [0] * at.shape[0]
    if size is None:
        return (*top, *v.shape[1:])
    size = tuple(size)
    if len(size) != at.shape[0] + v.dim() - 1:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({at.shape[0]}) + dense_dim ({v.dim() - 1}), but got {len(size)}"
        )
    for dim, (n, m) in enumerate(zip(top, size)):
        if n > m:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {m} but found index {n - 1}")
    if at.numel() and at.min().item() < 0:
        raise RuntimeError(f"found negative index {int(at.min())}")
    return size


def _method(body: Any) -> Any:
    """Publish what dense tensors do; called from the class with a sparse tensor, it is that tensor's own."""
    name = body.__name__

    @functools.wraps(body)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        own = getattr(self, name) if isinstance(self, SparseTensor) else functools.partial(body, self)
        return own(*args, **kwargs)

    public("Tensor")(method)
    return body


@_method
def sparse_dim(self: Tensor) -> int:
    """How many dimensions are named by indices: none of a tensor whose elements are all stored.

    Example:
        >>> torch.ones(2, 3).sparse_dim()
        0
    """
    return 0


@_method
def dense_dim(self: Tensor) -> int:
    """How many dimensions are stored whole: all of a tensor that is not sparse.

    Example:
        >>> torch.ones(2, 3).dense_dim()
        2
    """
    return self.dim()


def _only_sparse(name: str, wanted: str) -> None:
    def method(self: Tensor) -> Any:
        kind = "".join([word.title() for word in self.layout.name.split("_")]).removesuffix("Coo")
        raise RuntimeError(f"{name} expected {wanted} layout but got {kind}")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""Of {wanted}s: `{name}` of other layouts raises.

    Example:
        >>> torch.ones(2).{name}()
        Traceback (most recent call last):
        RuntimeError: {name} expected {wanted} layout but got Strided
    """
    _method(method)


for _kind, _names in (
    ("sparse coordinate tensor", ("coalesce", "indices", "is_coalesced", "_indices", "_values", "_nnz")),
    ("sparse tensor", ("values",)),
    ("sparse row compressed tensor", ("crow_indices", "col_indices")),
    ("sparse column compressed tensor", ("ccol_indices", "row_indices")),
):
    for _name in _names:
        _only_sparse(_name, _kind)


@_method
def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None) -> SparseTensor:
    """The elements that are not zero, with their places, as a sparse tensor.

    Args:
        sparse_dim: how many leading dimensions are sparse; all of them if not given.
        layout: `torch.sparse_csr` or `torch.sparse_csc` for a compressed matrix.

    Example:
        >>> torch.tensor([[0.0, 5.0], [0.0, 0.0]]).to_sparse().values()
        tensor([5.])
    """
    n = self.dim() if sparse_dim is None else sparse_dim
    if not 0 <= n <= self.dim() or (self.dim() and not n):
        raise RuntimeError(f"sparse_dim argument must be in [1,{self.dim()}] range, but {n} is given")
    found = self.detach() != 0
    at = (found.flatten(n).any(n) if n < self.dim() else found).nonzero()
    made = SparseTensor(at.t(), self[tuple(at.unbind(1)) if n else found], self.shape, coalesced=True)
    return made.to_sparse(layout=layout)


@_method
def to_sparse_coo(self: Tensor) -> SparseTensor:
    """The elements that are not zero, with their places.

    Example:
        >>> torch.tensor([0.0, 5.0]).to_sparse_coo().indices()
        tensor([[1]])
    """
    return to_sparse(self)


@_method
def sparse_mask(self: Tensor, mask: Any) -> SparseTensor:
    """The elements at the places of a sparse tensor.

    Args:
        mask: a sparse tensor of the same size.

    Raises:
        RuntimeError: if the sizes differ.

    Example:
        >>> mask = torch.tensor([[0.0, 1.0], [0.0, 0.0]]).to_sparse()
        >>> torch.tensor([[5.0, 6.0], [7.0, 8.0]]).sparse_mask(mask).values()
        tensor([6.])
    """
    if self.shape != mask.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(self.shape)} but mask has size {list(mask.shape)}"
        )
    return mask._with(self.to_dense()[tuple(mask._at)])


@_method
def to_dense(self: Tensor, dtype: Any = None) -> Tensor:
    """The tensor with all its elements stored: itself, if it is not sparse.

    Example:
        >>> torch.tensor([0.0, 5.0]).to_dense()
        tensor([0., 5.])
    """
    return self if dtype is None else self.to(dtype)


@public("torch")
def spmm(input: Any, mat2: Tensor) -> Tensor:
    """As `torch.sparse.mm`.

    Args:
        mat2: the dense matrix.
    """
    return input.matmul(mat2) if isinstance(input, SparseTensor) else input.mm(mat2)


publish("torch", "dsmm", spmm)
sparse.not_copied = copy_error
import_module(".sparse_kernels", __package__)  # what ops do with sparse tensors
