"""Reading and writing along one dim by an index tensor of as many dims: gather and scatter."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import int64, title
from ...base.shapes import wrap_dim
from ...core.op import Op
from ...core.public import check_out, into_same, public
from ...core.tensor import Tensor
from ...runtime.batch.arrays import BatchedArray
from ...runtime.cpu.places import within
from ...runtime.facts import Facts, Rows
from ...runtime.point import Point
from ...runtime.thread import PARTS, WATCHED, here, settle
from ..made_of.checks import check_values
from ..made_of.constants import on_device
from ..made_of.spelling import axis_for_dim
from ..shape.join import stack
from ..shape.windows import unwindow
from .brackets import is_position
from .scatter_kernels import add_at


def along(xp: ArrayModule, index: Array, dim: int) -> tuple:
    """The places of `index` in full: its own values along `dim`, a grid elsewhere."""
    at = []
    for d, n in enumerate(index.shape):
        line = [1] * index.ndim
        line[d] = n
        at.append(index if d == dim else xp.arange(n).reshape(line))
    return tuple(at)


def corner(x: Array, shape: tuple[int, ...]) -> Any:
    """The part of `x` that an index of `shape` reaches."""
    return x if x.shape == shape else x[tuple([slice(n) for n in shape])]


def _gather_body(xp: ArrayModule, x: Array, index: Array, *, dim: int) -> Any:
    if not x.ndim:
        return x.copy()
    reach = index.shape[:dim] + (x.shape[dim],) + index.shape[dim + 1 :]
    return corner(x, reach)[along(xp, index, dim)]


def _scatter_add_body(xp: ArrayModule, x: Array, index: Array, src: Array, *, dim: int) -> Any:
    out = x.copy("C")
    if not x.ndim:
        return out + src
    add_at(xp, out, along(xp, index, dim), corner(src, index.shape))
    return out


def _scatter_body(xp: ArrayModule, x: Array, index: Array, src: Any, *, dim: int) -> Any:
    out = x.copy()
    if hasattr(src, "shape"):
        src = corner(src, index.shape)
    out[along(xp, index, dim) if x.ndim else ...] = src
    return out


def _gather_grad_body(xp: ArrayModule, g: Array, index: Array, *, dim: int, shape: tuple) -> Any:
    return _scatter_add_body(xp, xp.zeros(shape, g.dtype), index, g, dim=dim)


_gather = Op(
    _gather_body,
    "gather",
    moves_only=True,
    meta=lambda x, index, *, dim: (index.shape, x.dtype),
    facts=Facts(positions=Rows(dim="dim"), vmap="gather", layout="plain", onnx="gather"),
)
_gather_grad = Op(
    _gather_grad_body,
    "gather_grad",
    grad_name="GatherBackward0",
    meta=lambda g, index, *, dim, shape: (shape, g.dtype),
    facts=Facts(positions=Rows(of="shape", dim="dim"), vmap="gather_grad"),
)
_scatter_add = Op(
    _scatter_add_body,
    "scatter_add",
    meta=lambda x, *r, dim: (x.shape, x.dtype),
    facts=Facts(positions=Rows(dim="dim"), vmap="gather", autocast={"cuda": "widest"}, onnx="scatter"),
)
_scatter = Op(
    _scatter_body,
    "scatter",
    moves_only=True,
    meta=lambda x, *r, dim: (x.shape, x.dtype),
    facts=Facts(positions=Rows(dim="dim"), vmap="gather", onnx="scatter"),
)

_gather.derivative(x=lambda g, index, x_shape, dim: _gather_grad(g, index, dim=dim, shape=x_shape))
_gather_grad.derivative(g=lambda g, index, dim: _gather(g, index, dim=dim))


_gather_sparse = Op(_gather_body, "gather_sparse", grad_name="GatherBackward0", kernel=_gather.kernel)


def _sparse_gradient(g: Tensor, index: Tensor, x_shape: tuple[int, ...], dim: int) -> Tensor:
    """Every element of `g`, at the place that it was picked from."""
    shape = index._a.shape
    grid: Any = np.indices(shape, np.int64).reshape((len(shape), -1))
    places = [on_device(row, index.device) for row in grid]
    places[dim] = index.reshape(-1).to(int64)
    made = import_module("..matrix.sparse", __package__)  # loaded by programs that use it
    return made.SparseTensor(stack(places), g.reshape(-1), x_shape)


_gather_sparse.derivative(x=_sparse_gradient)


def _d_src(g: Tensor, index: Tensor, src_shape: tuple, dim: int) -> Tensor:
    part = _gather(g, index, dim=dim)
    if part._a.shape == src_shape:
        return part
    return unwindow(part, index=tuple([(0, n, 1) for n in part._a.shape]), shape=src_shape)


_scatter_add.derivative(x=lambda g: g, src=_d_src)
_scatter.derivative(x=lambda g, index, dim: _scatter(g, index, 0, dim=dim), src=_d_src)


def _check_index(x: Tensor, index: Tensor, name: str, other: str = "self") -> None:
    if not is_position(index._a.dtype) and index._a.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if index._a.size and max(x._a.ndim, 1) != max(index._a.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {other} tensor")


def check_bounds(index: Tensor, size: int, dim: int, kind: type = RuntimeError) -> None:
    """On the CPU only: elsewhere a look at the values would have to wait for the device."""
    mapped = index._a.__class__ is BatchedArray
    if not (index.is_cpu or mapped) or not index._a.size:
        return
    tracer = here.tracer
    if tracer is not None and not mapped and tracer.sees(index._a):
        _within(index._a, size, dim, kind)  # a loop's replays look again
    elif mapped or here.state & _RECORDED == _RECORDED:  # part of the program: its replays refuse the same places
        check_values(_within, index, size, dim, kind)
    else:
        settle()
        _within(index._a, size, dim, kind)


_RECORDED = WATCHED | PARTS


def _within(a: Array, size: int, dim: int, kind: type) -> None:
    """A test: places from zero on, below the size."""
    if a.size == 1 and 0 <= a.item() < size:  # a cache is written one place at a time
        return
    if 0 in a.strides:  # expanded: the same places again and again
        a = a[tuple([slice(None) if step else slice(1) for step in a.strides])]
    if not within(a, size):
        wrong = a[(a < 0) | (a >= size)].reshape(-1)[0]
        raise kind(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def size_along(x: Tensor, dim: int) -> int:
    return x._a.shape[dim] if x._a.ndim else 1


@public()
@axis_for_dim
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Any = None) -> Tensor:  # noqa: A002
    """Elements picked along a dimension: `out[i][j] = input[index[i][j]][j]` for dimension 0.

    Args:
        dim: the dimension to pick along.
        index: integers of any size up to that of `input` in the other dimensions; the result
            has its shape.
        sparse_grad: make the gradient of `input` a sparse tensor.

    Raises:
        RuntimeError: if an index is out of range, or its shape does not fit.

    Example:
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> x.gather(1, torch.tensor([[0], [1]]))
        tensor([[1],
                [4]])
    """
    dim = wrap_dim(dim, input._a.ndim)
    _check_index(input, index, "gather", "input")
    check_out(out, input, index)
    pick = _gather_sparse if sparse_grad and input._a.ndim else _gather
    if not index._a.size and pick is _gather:
        nothing = input.reshape(-1)[:0].reshape(index._a.shape)  # with a history, as any other result
        return into_same(out, nothing)
    for d, n in enumerate(index._a.shape):
        if d != dim and n > input._a.shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index._a.shape)} to be "
                f"no larger than self {list(input._a.shape)} apart from dimension {dim}"
            )
    check_bounds(index, size_along(input, dim), dim)
    if input._a.ndim and index._a.ndim:
        return into_same(out, pick(input, index, dim=dim))
    found = pick(*as_vectors(input, index), dim=0)
    return into_same(out, found.reshape(index._a.shape))


def as_vectors(*tensors: Any) -> list[Any]:
    """Tensors without dimensions as vectors of one element: they count as such beside vectors."""
    return [t.reshape((1,)) if isinstance(t, Tensor) and not t._a.ndim else t for t in tensors]


def has_number(*tensors: Any) -> bool:
    """Whether a tensor without dimensions is among them."""
    return any(isinstance(t, Tensor) and not t._a.ndim for t in tensors)


def check_scatter(x: Tensor, dim: int, index: Tensor, src: Any, name: str = "scatter") -> int:
    """The wrapped dim, or PyTorch's error when index and source do not fit."""
    dim = wrap_dim(dim, x._a.ndim)
    _check_index(x, index, name)
    if isinstance(src, Tensor):
        if src._a.dtype != x._a.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
        if index._a.size and max(src._a.ndim, 1) != max(index._a.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    shape = index._a.shape
    too_big = shape != x._a.shape and any(n > m for d, (n, m) in enumerate(zip(shape, x._a.shape)) if d != dim)
    if isinstance(src, Tensor) and shape != src._a.shape and index._a.size:
        too_big = too_big or any(n > m for n, m in zip(shape, src._a.shape or (1,)))
    if too_big and index._a.size:
        tail = ""
        if isinstance(src, Tensor):
            tail = f" and to be no larger size than src {list(src._a.shape)}"
        raise RuntimeError(
            f"Expected index {list(shape)} to be no larger than self {list(x._a.shape)} apart from "
            f"dimension {dim}{tail}"
        )
    check_bounds(index, size_along(x, dim), dim)
    return dim


@public(inplace=True)
@axis_for_dim
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
    out: Any = None,
) -> Tensor:  # noqa: A002
    """A copy with values written at positions along a dimension: `out[index[i][j]][j] = src[i][j]` for dimension 0.

    Args:
        index: integers; at most as many as `src` has elements in each dimension.
        src: the values, a tensor or one number.
        value: one number, by its name.
        reduce: "add" or "multiply" to combine with what is there.

    Raises:
        RuntimeError: if an index is out of range, or the shapes do not fit.

    Example:
        >>> torch.zeros(2, 3).scatter(1, torch.tensor([[0], [2]]), 1.0)
        tensor([[1., 0., 0.],
                [0., 0., 1.]])
    """
    source = value if src is None else src
    dim = check_scatter(input, dim, index, source)
    if reduce is not None:
        return into_same(out, _scatter_reducing(input, dim, index, source, reduce))
    if not index._a.size and not getattr(source, "requires_grad", False):
        return into_same(out, input.clone())
    if not isinstance(source, Tensor):
        from ..memory.copies import fitting

        source = fitting(source, input.dtype)
    if has_number(input, index, source):
        done = _scatter(*as_vectors(input, index, source), dim=0)
        return into_same(out, done.reshape(input._a.shape))
    return into_same(out, _scatter(input, index, source, dim=dim))


def _scatter_reducing(x: Tensor, dim: int, index: Tensor, source: Any, reduce: str) -> Tensor:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(source, Tensor):
        source = x.new_full(index._a.shape, source)
    kind = {"add": "sum", "multiply": "prod"}[reduce]
    return x.scatter_reduce(dim, index, source, kind)


@public(inplace=True)
@axis_for_dim
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Any = None) -> Tensor:  # noqa: A002
    """A copy with values added at positions along a dimension; repeated positions add up.

    Args:
        index: integers, of the shape of `src` or smaller.
        src: the values.

    Example:
        >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.ones(3))
        tensor([2., 0., 1.])
    """
    dim = check_scatter(input, dim, index, src)
    if not index._a.size and not src.requires_grad:
        return into_same(out, input.clone())
    if has_number(input, index, src):
        done = _scatter_add(*as_vectors(input, index, src), dim=0)
        return into_same(out, done.reshape(input._a.shape))
    return into_same(out, _scatter_add(input, index, src, dim=dim))


# Positions of which negative ones count from the end of `n`.
_from_the_front = Op(
    lambda xp, x, *, n: xp.where(x < 0, x + n, x),
    "from_the_front",
    meta=lambda x, *, n: (x.shape, x.dtype),
    facts=Facts(vmap="pointwise", point=Point("x | n", i="x + n if x < 0 else x")),
)


@public()
@axis_for_dim
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:  # noqa: A002
    """As `gather`, with `input` and `indices` broadcast apart from `dim`."""
    if indices._a.dtype.kind != "i" or indices._a.itemsize != 8:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {title(indices.dtype)}")
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1), out=out)
    if input._a.ndim != indices._a.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input._a.ndim} dimensions for input, and {indices._a.ndim} dimensions for "
            "indices"
        )
    from ...base.shapes import broadcast_shapes

    dim = wrap_dim(dim, input._a.ndim)
    mine, theirs = list(input._a.shape), list(indices._a.shape)
    mine[dim], theirs[dim] = 1, 1
    common = list(broadcast_shapes(mine, theirs))
    common[dim] = input._a.shape[dim]
    spread = input.expand(common)
    common[dim] = indices._a.shape[dim]
    counted = _from_the_front(indices, n=input._a.shape[dim])
    return gather(spread, dim, counted.expand(common), out=out)
