"""The linear layer: one op forward, and one backward on devices that compute all gradients together."""

from __future__ import annotations

from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import title
from ...core.inplace import may_change
from ...core.op import Op
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.thread import CASTING, here
from ..matrix.matmul import add_product, cannot_multiply, matmul, mm_nn, mm_nt, mm_tn, product


def _linear(xp: ArrayModule, x: Array, w: Array, b: Array | None) -> Any:
    """`x @ w.T + b` over the last dim of `x`."""
    shape = x.shape
    if len(shape) == 2:
        out = product(xp, x, w.T)
    else:
        rows = 1
        for s in shape[:-1]:
            rows *= s
        out = product(xp, x.reshape(rows, shape[-1]), w.T).reshape(*shape[:-1], w.shape[0])
    if b is not None:
        out += b
    return out


linear_op = Op(
    _linear, "linear", grad_name="AddmmBackward0",
    meta=lambda x, w, b: ((*x.shape[:-1], w.shape[0]), x.dtype), facts=Facts(vmap="linear", autocast="low", onnx="linear", family="product", sparse="affine"),
)  # fmt: skip
linear_op.viewed = ("w",)
linear_op.bias_first = True


def _rows(x: Tensor) -> Tensor:
    """`x` as a matrix whose rows are its last dim."""
    shape = x._a.shape
    if len(shape) == 2:
        return x
    rows = 1
    for s in shape[:-1]:
        rows *= s
    return x.reshape((rows, shape[-1]))


def _linear_dx(g: Tensor, w: Tensor) -> Tensor:
    gx = mm_nn(_rows(g), w.conj() if w._a.dtype.kind == "c" else w)
    shape = g._a.shape
    return gx if len(shape) == 2 else gx.reshape((*shape[:-1], w._a.shape[1]))


def _linear_dw(g: Tensor, x: Tensor) -> Tensor:
    if x._a.dtype.kind == "c":  # forward uses w.T, without conjugation
        return mm_nn(_rows(g).t(), _rows(x).conj())
    return mm_tn(_rows(g), _rows(x))


linear_op.derivative(x=_linear_dx, w=_linear_dw, b=lambda g: _rows(g).sum(0))


def _linear_grads(xp: ArrayModule, gy: Any, x: Any) -> tuple:
    """The gradients of a linear layer's weight and bias: `gy.T @ x` and the sums over gy's rows."""
    return product(xp, gy.T, x), gy.sum(axis=0, dtype=gy.dtype)


linear_grads = Op(
    _linear_grads, "linear_grads", grad_name="AddmmBackward0",
    meta=lambda gy, x: [((gy.shape[1], x.shape[1]), gy.dtype), (gy.shape[1:], gy.dtype)], facts=Facts(vmap="linear_grads", family="product"),
)  # fmt: skip


def _as_rows(a: Any) -> Any:
    """An array as a matrix whose rows are its last dim."""
    return a if a.ndim == 2 else a.reshape(-1, a.shape[-1])


def _linear_two_grads(xp: ArrayModule, gy: Any, x: Any, w: Any) -> tuple:
    """The gradients of input and weight of a linear layer over the last dim of `x`."""
    g = _as_rows(gy)
    return product(xp, g, w).reshape(x.shape), product(xp, g.T, _as_rows(x))


linear_two_grads = Op(
    _linear_two_grads, "linear_two_grads", grad_name="MmBackward0",
    meta=lambda gy, x, w: [(x.shape, gy.dtype), (w.shape, gy.dtype)], facts=Facts(vmap="linear_grads", family="product"),
)  # fmt: skip


def _linear_all_grads(xp: ArrayModule, gy: Any, x: Any, w: Any) -> tuple:
    """All gradients of a linear layer; for few rows they are one launch on a GPU."""
    sums = _as_rows(gy).sum(axis=0, dtype=gy.dtype)
    return (*_linear_two_grads(xp, gy, x, w), sums)


linear_all_grads = Op(
    _linear_all_grads, "linear_all_grads", grad_name="AddmmBackward0",
    meta=lambda gy, x, w: [
        (x.shape, gy.dtype), (w.shape, gy.dtype), (gy.shape[-1:], gy.dtype)
    ], facts=Facts(vmap="linear_grads", family="product"),
)  # fmt: skip


def _linear_dw_db(g: Tensor, x: Tensor) -> tuple:
    if x._a.dtype.kind == "c" or not linear_grads.joins(x):
        return _linear_dw(g, x), _rows(g).sum(0)
    return linear_grads(_rows(g), _rows(x))


@linear_op.together("x", "w", "b")
def _linear_all(g: Tensor, x: Tensor, w: Tensor) -> tuple:
    if x._a.dtype.kind == "c" or not linear_all_grads.joins(x):
        return (_linear_dx(g, w), *_linear_dw_db(g, x))
    return linear_all_grads(g, x, w)


linear_op.together("w", "b")(_linear_dw_db)


@linear_op.together("x", "w")
def _linear_two(g: Tensor, x: Tensor, w: Tensor) -> tuple:
    if x._a.dtype.kind == "c" or not linear_two_grads.joins(x):
        return _linear_dx(g, w), _linear_dw(g, x)
    return linear_two_grads(g, x, w)


@linear_all_grads.backward
def _linear_all_backward(gs: list, gy: Tensor, x: Tensor, w: Tensor, needs: list) -> tuple:
    g, rows = _rows(gy), _rows(x)
    to_gy, to_x = _linear_grads_backward(gs[1:], g, rows, needs)
    to_w = None
    if gs[0] is not None:
        to_input = _rows(gs[0])
        if needs[0]:
            part = mm_nt(to_input, w)
            to_gy = part if to_gy is None else to_gy + part
        to_w = mm_tn(g, to_input) if needs[2] else None
    to_gy = None if to_gy is None else to_gy.reshape(gy._a.shape)
    return to_gy, None if to_x is None else to_x.reshape(x._a.shape), to_w


@linear_two_grads.backward
def _linear_two_backward(gs: list, gy: Tensor, x: Tensor, w: Tensor, needs: list) -> tuple:
    return _linear_all_backward([*gs, None], gy, x, w, needs)


@linear_grads.backward
def _linear_grads_backward(gs: list, gy: Tensor, x: Tensor, needs: list) -> tuple:
    to_gy = to_x = None
    if gs[0] is not None:
        to_gy = linear_op(x, gs[0], gs[1]) if needs[0] else None
        to_x = mm_nn(gy, gs[0]) if needs[1] else None
    elif gs[1] is not None and needs[0]:
        to_gy = gs[1].expand(gy._a.shape)
    return to_gy, to_x


@public("functional")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Any = None) -> Tensor:
    """Apply an affine map to the last dimension: `input @ weight.T + bias`.

    Args:
        input: (*, in_features).
        weight: (out_features, in_features), or (in_features,).
        bias: (out_features,), or () with a one-dimensional weight.
        out: a tensor that takes the result.

    Returns:
        (*, out_features).

    Example:
        >>> F.linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 1.0], [0.0, 10.0]]))
        tensor([[ 3., 20.]])
    """
    if out is not None:
        return into_same(out, linear(input, weight, bias))
    x, w = input._a, weight._a
    shape, dtype = w.shape, w.dtype  # each read makes a new tuple of a GPU's array
    if len(shape) == 2 and x.shape[-1:] == shape[1:]:
        casting = here.state & CASTING  # autocast brings them to one dtype
        if casting or x.dtype == dtype:
            if bias is None or (bias._a.shape == shape[:1] and (casting or bias._a.dtype == dtype)):
                out = linear_op(input, weight, bias)
                return out if len(x.shape) == 2 or _as_it_lies(x) else may_change(out, input)
    return _linear_otherwise(input, weight, bias)


def _as_it_lies(x: Array) -> bool:
    """Whether an array is a matrix of rows without a copy: otherwise PyTorch keeps the copy for its derivative."""
    shape, steps = x.shape, x.strides
    return all(shape[i] == 1 or steps[i] == steps[i + 1] * shape[i + 1] for i in range(len(shape) - 2))


def _linear_otherwise(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    """The rare shapes of `linear`, and its errors."""
    a, s = x._a.shape, w._a.shape
    if not a or not s:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {len(a)}D and {len(s)}D")
    if len(s) == 1:
        if b is not None and b._a.ndim:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
        out = matmul(x, w)
        return out if b is None else out + b
    if len(s) != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(s)}D")
    if a[-1] != s[1]:
        rows = 1
        for size in a[:-1]:
            rows *= size
        raise cannot_multiply(rows, a[-1], s[1], s[0])
    if x._a.dtype != w._a.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {title(x.dtype)} and {title(w.dtype)}")
    out = linear_op(x, w, None)
    return out if b is None else add_product(b, out, 1, 1)
