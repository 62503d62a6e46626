"""Reductions, orders and products of matrices as ONNX nodes."""

from __future__ import annotations

import numpy as np

from .sizes import Expr
from .table import Site, writes


@writes
def reduce(s: Site) -> str:
    return s.g.reduce(s.how, s.x(0, s.out_dtypes[0]), s.axes(), bool(s.attrs["keepdim"]))


@writes
def truth(s: Site) -> str:
    whole = s.g.cast(s.x(0, np.dtype(bool)), np.dtype(np.int32))
    op = "ReduceMax" if s.kernel == "any" else "ReduceMin"
    return s.g.cast(s.g.reduce(op, whole, s.axes(), bool(s.attrs["keepdim"])), np.dtype(bool))


@writes
def var(s: Site) -> str:
    axes, keep = s.axes(), bool(s.attrs["keepdim"])
    count = 1
    for axis in axes:
        size = s.shapes[0][axis]
        if isinstance(size, Expr):
            raise s.fail(f"over the free size {size}: leave it fixed")
        count *= size
    gap = s.node("Sub", s.x(), s.g.reduce("ReduceMean", s.x(), axes, True))
    total = s.g.reduce("ReduceSum", s.node("Mul", gap, gap), axes, keep)
    out = s.node("Div", total, s.number(max(count - s.fixed("correction"), 0)))
    return out if s.kernel == "var" else s.node("Sqrt", out)


@writes
def vector_norm(s: Site) -> str:
    order, axes, keep = s.fixed("ord"), s.axes(), bool(s.attrs["keepdim"])
    if order in (1, 2):
        return s.g.reduce(f"ReduceL{int(order)}", s.x(), axes, keep)
    size = s.node("Abs", s.x())
    if order == float("inf"):
        return s.g.reduce("ReduceMax", size, axes, keep)
    if order in (0, float("-inf")):
        raise s.fail(f"of order {order} has no counterpart")
    total = s.g.reduce("ReduceSum", s.node("Pow", size, s.number(order)), axes, keep)
    return s.node("Pow", total, s.number(1 / order))


@writes
def arg(s: Site) -> str:
    op = "ArgMax" if s.kernel == "argmax" else "ArgMin"
    dim = s.attrs["dim"]
    if dim is None or dim == ():
        flat = s.g.node("Reshape", s.x(), s.g.ints(-1))
        out = s.node(op, flat, axis=0, keepdims=0)
        return s.g.reshape(out, s.out_shapes[0]) if s.out_shapes[0] else out
    dim = dim[0] if isinstance(dim, tuple) else dim
    return s.node(op, s.x(), axis=dim % s.rank, keepdims=int(s.attrs["keepdim"]))


@writes
def extreme(s: Site) -> list[str]:
    dim, keep = s.fixed("dim") % s.rank, int(s.attrs["keepdim"])
    big = s.kernel == "max_dim"
    value = s.g.reduce("ReduceMax" if big else "ReduceMin", s.x(), [dim], bool(keep))
    return [value, s.node("ArgMax" if big else "ArgMin", s.x(), axis=dim, keepdims=keep)]


@writes
def topk(s: Site) -> list[str]:
    dim = s.fixed("dim") % s.rank
    count = s.attrs["k"] if s.kernel == "topk" else s.shapes[0][dim]
    largest = s.attrs["largest"] if s.kernel == "topk" else s.attrs["descending"]
    return s.node("TopK", s.x(), s.g.size(count), outputs=2, axis=dim, largest=int(largest), sorted=1)


@writes
def cumsum(s: Site) -> str:
    axis = s.number(s.fixed("dim") % s.rank, np.dtype(np.int64))
    return s.node("CumSum", s.x(0, s.out_dtypes[0]), axis, reverse=int(s.attrs["reverse"]))


@writes
def softmax(s: Site) -> str:
    op = "Softmax" if s.kernel == "softmax" else "LogSoftmax"
    return s.node(op, s.x(), axis=s.fixed("dim") % s.rank)


@writes
def weights(s: Site) -> str:
    """softmax in which a row that sees nothing (-inf everywhere) is 0; only a mask can make one."""
    out = s.node("Softmax", s.x(), axis=-1)
    before = s.source(s.inputs[0])
    if before is None or before.kernel not in ("masked_fill", "add", "where"):
        return out
    return s.node("Where", s.node("IsNaN", out), s.number(0.0), out)


@writes
def attention(s: Site) -> list[str]:
    turn = [*range(s.rank - 2), s.rank - 1, s.rank - 2]
    scores = s.node("MatMul", s.node("Mul", s.x(0), s.number(s.fixed("scale"))), s.g.transpose(s.x(1), turn))
    if s.attrs["causal"]:
        seen = s.g.triangle((s.shapes[0][-2], s.shapes[1][-2]))
        scores = s.node("Where", seen, scores, s.number(float("-inf")))
    return [s.node("MatMul", s.node("Softmax", scores, axis=-1), s.x(2))]


@writes
def seen_attention(s: Site) -> list[str]:
    turn = [*range(s.rank - 2), s.rank - 1, s.rank - 2]
    scores = s.node("MatMul", s.node("Mul", s.x(0), s.number(s.fixed("scale"))), s.g.transpose(s.x(1), turn))
    if s.dtypes[3].kind == "b":
        scores = s.node("Where", s.x(3), scores, s.number(float("-inf")))
    else:
        scores = s.node("Add", scores, s.x(3))
    weights = s.node("Softmax", scores, axis=-1)
    weights = s.node("Where", s.node("IsNaN", weights), s.number(0.0), weights)
    return [s.node("MatMul", weights, s.x(2))]


# -- products ------------------------------------------------------------------------------------


@writes
def matmul(s: Site) -> str:
    return s.node("MatMul", s.x(0), s.x(1))


@writes
def matmul_turned(s: Site) -> str:
    which = 1 if s.kernel.endswith("nt") else 0
    rank = len(s.shapes[which])
    turn = [*range(rank - 2), rank - 1, rank - 2]
    names = [s.x(0), s.x(1)]
    names[which] = s.g.transpose(names[which], turn)
    return s.node("MatMul", *names)


@writes
def addmm(s: Site) -> str:
    return s.node("Gemm", s.x(1), s.x(2), s.x(0), alpha=float(s.fixed("alpha")), beta=float(s.fixed("beta")))


@writes
def linear(s: Site) -> str:
    bias = s.inputs[2] if len(s.inputs) > 2 else None
    if s.rank == 2:
        rest = [s.x(2)] if bias is not None else []
        return s.node("Gemm", s.x(0), s.x(1), *rest, transB=1)
    out = s.node("MatMul", s.x(0), s.g.transpose(s.x(1), [1, 0]))
    return out if bias is None else s.node("Add", out, s.x(2))
