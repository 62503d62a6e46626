"""A graph that is being written: nodes, constants, names, and sizes computed from the inputs' shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import UnsupportedOperatorError
from .sizes import Expr

INT64 = np.dtype(np.int64)


def onnx_type(dtype: Any) -> int:
    """ONNX's number for an array's dtype."""
    from onnx import TensorProto, helper

    if dtype.name == "bfloat16":
        return TensorProto.BFLOAT16
    try:
        return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    except (KeyError, ValueError, TypeError):
        raise UnsupportedOperatorError(f"ONNX has no type {dtype}") from None


class Graph:
    """Nodes in order, constants by content; every name is written once."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.content: dict[Any, str] = {}
        self.sizes: dict[str, tuple[str, int]] = {}  # free size -> (graph input, axis)
        self.cache: dict[Any, str] = {}
        self.taken: set[str] = set()
        self.types: dict[str, Any] = {}  # dtype of a name, where it is known

    def name(self, wish: str) -> str:
        """A name that nothing else has."""
        name, i = wish, 0
        while name in self.taken:
            i += 1
            name = f"{wish}_{i}"
        self.taken.add(name)
        return name

    def node(self, op: str, *inputs: str, outputs: int = 1, **attrs: Any) -> Any:
        """One node; the name of its result, or a list of them."""
        from onnx import helper

        names = [self.name(op.lower()) for _ in range(outputs)]
        kept = {k: v for k, v in attrs.items() if v is not None}
        self.nodes.append(helper.make_node(op, list(inputs), names, name=self.name(f"node_{op}"), **kept))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any, dtype: Any = None, name: str = "c") -> str:
        """An initializer; the same content is kept once."""
        a = np.ascontiguousarray(np.asarray(value, dtype))
        if np.ndim(value) == 0:
            a = a.reshape(())
        key = (a.dtype.str, a.dtype.name, a.shape, a.tobytes()) if a.nbytes < 4096 else None
        if key is not None and key in self.content:
            return self.content[key]
        made = self.name(name)
        self.arrays[made] = a
        if key is not None:
            self.content[key] = made
        return made

    def ints(self, *values: int) -> str:
        """A constant of int64, one dimension."""
        return self.constant(np.array(values, np.int64))

    # -- sizes -----------------------------------------------------------------------------------

    def size(self, value: int | Expr) -> str:
        """A size as an int64 tensor of one element."""
        if not isinstance(value, Expr):
            return self.ints(value)
        key = value[:4]
        if key not in self.cache:
            parts = [self._free(symbol) for symbol in value.symbols]
            made = parts[0]
            for part in parts[1:]:
                made = self.node("Mul", made, part)
            if value.factor != 1:
                made = self.node("Mul", made, self.ints(value.factor))
            if value.divide != 1:
                made = self.node("Div", made, self.ints(value.divide))
            if value.plus:
                made = self.node("Add", made, self.ints(value.plus))
            self.cache[key] = made
        return self.cache[key]

    def _free(self, symbol: str) -> str:
        if symbol not in self.cache:
            source, axis = self.sizes[symbol]
            shape = self.node("Shape", source)
            self.cache[symbol] = self.node("Gather", shape, self.ints(axis))
        return self.cache[symbol]

    def shape(self, values: Sequence[int | Expr]) -> str:
        """A shape as an int64 tensor."""
        plain = [v for v in values if not isinstance(v, Expr)]
        if len(plain) == len(values):
            return self.ints(*plain)
        return self.node("Concat", *[self.size(v) for v in values], axis=0)

    def reshape(self, x: str, shape: Sequence[int | Expr]) -> str:
        """Reshape; a single free size is left to ONNX, unless a size is 0."""
        free = [v for v in shape if isinstance(v, Expr)]
        if len(free) == 1 and 0 not in shape:
            return self.node("Reshape", x, self.ints(*[-1 if isinstance(v, Expr) else v for v in shape]))
        return self.node("Reshape", x, self.shape(shape))

    # -- small helpers ---------------------------------------------------------------------------

    def cast(self, x: str, dtype: Any) -> str:
        return self.node("Cast", x, to=onnx_type(dtype))

    def transpose(self, x: str, order: Sequence[int]) -> str:
        if list(order) == list(range(len(order))):
            return x
        if x in self.arrays:  # a weight: turned now, once
            key = ("transposed", x, tuple(order))
            if key not in self.cache:
                self.cache[key] = self.constant(self.arrays[x].transpose(order), name=x)
            return self.cache[key]
        return self.node("Transpose", x, perm=list(order))

    def unsqueeze(self, x: str, *axes: int) -> str:
        return self.node("Unsqueeze", x, self.ints(*axes))

    def squeeze(self, x: str, *axes: int) -> str:
        return self.node("Squeeze", x, self.ints(*axes))

    def slice(self, x: str, axis: int, start: Any, stop: Any, step: int = 1) -> str:
        return self.node("Slice", x, self.size(start), self.size(stop), self.ints(axis), self.ints(step))

    def triangle(self, shape: Sequence[Any], diagonal: int = 0) -> str:
        """True on and below a diagonal; without Trilu, which opset 14 brought."""
        ones = self.node("Expand", self.constant(np.float32(1)), self.shape(shape))
        row, column = [self.node("CumSum", ones, self.constant(np.int64(len(shape) - 2 + i))) for i in (0, 1)]
        row = self.node("Add", row, self.constant(np.float32(diagonal)))
        return self.node("Not", self.node("Greater", column, row))

    def reduce(self, op: str, x: str, axes: Sequence[int], keep: bool) -> str:
        """A reduction over `axes`, which became an input of most in opset 18."""
        if op == "ReduceSum" or self.opset >= 18:
            return self.node(op, x, self.ints(*axes), keepdims=int(keep))
        return self.node(op, x, axes=list(axes), keepdims=int(keep))
