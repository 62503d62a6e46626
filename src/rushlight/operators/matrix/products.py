"""Products that reduce to others: outer, inner, kron, tensordot, cross, chains, bilinear forms."""

from __future__ import annotations

from math import prod
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import c_name
from ...base.shapes import broadcast_shapes, wrap_dim
from ...core.op import Op
from ...core.public import check_out, into, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.promotion import promote
from ..made_of.spelling import axis_for_dim
from ..pointwise.arithmetic import conj
from .matmul import dot, matmul, mm


@public(aliases=("ger",))
def outer(input: Tensor, vec2: Tensor, *, out: Any = None) -> Tensor:
    """Every product of an element of one vector with one of another, as a matrix.

    Args:
        vec2: a vector.

    Example:
        >>> torch.tensor([1, 2]).outer(torch.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
    """
    for name, t in (("self", input), ("vec2", vec2)):
        if t._a.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t._a.ndim}-D")
    return into(out, input.unsqueeze(1) * vec2, input, vec2)


@public()
def inner(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The sum of products over the last dimensions of two tensors.

    Raises:
        RuntimeError: if these sizes differ.

    Example:
        >>> torch.inner(torch.tensor([1, 2]), torch.tensor([[3, 4], [5, 6]]))
        tensor([11, 17])
    """
    a, b = input._a.shape, other._a.shape
    if not a or not b:
        return into(out, input * other)
    if len(a) == len(b) == 1 and a == b and input._a.dtype == other._a.dtype:
        return into_same(out, dot(input, other))
    if a[-1] != b[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(a)} and {list(b)}"
        )
    return into_same(out, tensordot(input, other, dims=([-1], [-1])))


@public()
def kron(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The Kronecker product: a copy of `other` for every element of `input`, multiplied by it.

    Example:
        >>> torch.kron(torch.tensor([1, 2]), torch.tensor([1, 10]))
        tensor([ 1, 10,  2, 20])
    """
    n = max(input._a.ndim, other._a.ndim)
    a = (1,) * (n - input._a.ndim) + input._a.shape
    b = (1,) * (n - other._a.ndim) + other._a.shape
    left = input.reshape([s for size in a for s in (size, 1)])
    right = other.reshape([s for size in b for s in (1, size)])
    check_out(out, input, other)
    return into(out, (left * right).reshape([p * q for p, q in zip(a, b)]))


@public("torch")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Products summed over chosen dimensions of two tensors.

    Args:
        a: the one.
        b: the other.
        dims: how many of the last dimensions of `a` and the first of `b`; or two lists of
            dimensions.

    Example:
        >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(3, 4, 5), dims=2).shape
        torch.Size([2, 5])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a._a.ndim, b._a.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    else:
        dims_a, dims_b = [list(d) if isinstance(d, (list, tuple)) else [d] for d in dims]
    return into_same(out, _contract_dims(a, b, dims_a, dims_b))


def _contract_dims(a: Tensor, b: Tensor, dims_a: list[int], dims_b: list[int]) -> Tensor:
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    if a._a.dtype != b._a.dtype:
        raise RuntimeError("both inputs should have same dtype")
    shape_a, shape_b = a._a.shape, b._a.shape
    for i, j in zip(dims_a, dims_b):
        if shape_b[j] == 1 != shape_a[i]:  # stands for as many as the other has, whose sum is taken first
            a = a.sum(i, keepdim=True)
        elif shape_a[i] == 1 != shape_b[j]:
            b = b.sum(j, keepdim=True)
        elif shape_a[i] != shape_b[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {shape_a[i]} in dim {i} "
                f"and second has size {shape_b[j]} in dim {j}"
            )
    shape_a, shape_b = a._a.shape, b._a.shape
    over_a = [wrap_dim(d, len(shape_a)) for d in dims_a]
    over_b = [wrap_dim(d, len(shape_b)) for d in dims_b]
    free_a = [d for d in range(len(shape_a)) if d not in over_a]
    free_b = [d for d in range(len(shape_b)) if d not in over_b]
    k = prod([shape_a[d] for d in over_a])
    rows, columns = [shape_a[d] for d in free_a], [shape_b[d] for d in free_b]
    left = _as_matrix(a, [*free_a, *over_a], (prod(rows), k))
    right = _as_matrix(b, [*over_b, *free_b], (k, prod(columns)))
    return mm(left, right).reshape((*rows, *columns))


def _as_matrix(t: Tensor, order: list[int], shape: tuple[int, int]) -> Tensor:
    turned = t if order == sorted(order) else t.permute(tuple(order))
    return turned if turned._a.shape == shape else turned.reshape(shape)


# -- chains -------------------------------------------------------------------------------------


@public("linalg")
def multi_dot(tensors: Any, *, out: Any = None) -> Tensor:
    """The product of several matrices, in the order that costs the fewest multiplications.

    Args:
        tensors: a list of matrices; the first and the last may be vectors.

    Example:
        >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
        tensor([12., 12.])
    """
    chain = list(tensors)
    for i, t in enumerate(chain):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"linalg_multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, but "
                f"found element of type {type(t).__name__} at pos {i}"
            )
    if len(chain) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(chain)}")
    for i, t in enumerate(chain[1:-1], start=1):
        if t._a.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t._a.ndim}D")
    first, last = chain[0]._a.ndim == 1, chain[-1]._a.ndim == 1
    if first:
        chain[0] = chain[0].unsqueeze(0)
    if last:
        chain[-1] = chain[-1].unsqueeze(1)
    result = _in_order(chain, _best_split(chain), 0, len(chain) - 1)
    result = result.squeeze(0) if first else result
    return into_same(out, result.squeeze(-1) if last else result)


def _best_split(chain: list[Tensor]) -> dict[tuple[int, int], int]:
    """For every part of the chain, where to split it at the least cost; found by dynamic programming."""
    sizes = [chain[0]._a.shape[0], *[t._a.shape[1] for t in chain]]
    n = len(chain)
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            price, at = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
            cost[i, j], split[i, j] = price, at
    return split


def _in_order(chain: list[Tensor], split: dict, i: int, j: int) -> Tensor:
    if i == j:
        return chain[i]
    k = split[i, j]
    return matmul(_in_order(chain, split, i, k), _in_order(chain, split, k + 1, j))


@public("torch")
def chain_matmul(*matrices: Tensor, out: Any = None) -> Tensor:
    """The product of several matrices; an old name of `linalg.multi_dot`, with the matrices one by one.

    Args:
        matrices: matrices whose sizes fit.

    Example:
        >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4)).shape
        torch.Size([2, 4])
    """
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    for t in matrices:
        if t._a.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {t._a.ndim}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices, out=out)


# -- cross and bilinear -------------------------------------------------------------------------


def _cross(xp: ArrayModule, x: Array, y: Array, *, dim: int) -> Any:
    """The vector perpendicular to x and y, along `dim`."""
    x, y = xp.broadcast_arrays(x, y)
    x, y = xp.moveaxis(x, dim, 0), xp.moveaxis(y, dim, 0)
    out = xp.stack([x[i] * y[j] - x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))])
    return xp.ascontiguousarray(xp.moveaxis(out, 0, dim))


_cross_op = Op(
    _cross, "cross", rule=promote, broadcasts=True, grad_name="LinalgCrossBackward0",
    meta=lambda x, y, *, dim: (broadcast_shapes(x.shape, y.shape), x.dtype), facts=Facts(autocast={"cuda": "widest"}),
)  # fmt: skip
_cross_op.derivative(
    x=lambda g, y, dim: _cross_op(conj(y), g, dim=dim), y=lambda g, x, dim: _cross_op(g, conj(x), dim=dim)
)


@public("linalg", name="cross")
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """The cross product of vectors with three elements; other dimensions broadcast.

    Args:
        dim: the dimension of the vectors.

    Raises:
        RuntimeError: if its size is not 3.

    Example:
        >>> torch.linalg.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]))
        tensor([0., 0., 1.])
    """
    a, b = input._a.shape, other._a.shape
    if len(a) != len(b):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    at = wrap_dim(dim, len(a))
    if a[at] != 3 or b[at] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a[at]} and {b[at]}")
    check_out(out, input, other)
    return into_same(out, _cross_op(input, other, dim=at))


@public()
@axis_for_dim
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """The cross product of vectors with three elements.

    Args:
        dim: the dimension of the vectors; the first one of size 3 if not given.

    Example:
        >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]), dim=0)
        tensor([0, 0, 1])
    """
    if dim is None:
        if 3 not in input._a.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = input._a.shape.index(3)
    return linalg_cross(input, other, dim=dim, out=out)


@public("torch", "functional")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[o] @ input2 + bias[o]` for every output `o`.

    Args:
        input1: (*, n).
        input2: (*, m).
        weight: (o, n, m).
        bias: (o), or None.

    Example:
        >>> torch.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(4, 2, 3)).shape
        torch.Size([1, 4])
    """
    if input1._a.shape[:-1] != input2._a.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1._a.shape)} and {list(input2._a.shape)}"
        )
    kinds = [t.dtype for t in (input1, input2, weight)]
    if len(set(kinds)) > 1:
        given = [f"{n}: {c_name(d)}" for n, d in zip(("input1", "input2", "weight"), kinds)]
        raise RuntimeError(f"All tensors must have the same dtype, got {', '.join(given)}")
    from .einsum import einsum

    out = einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias
