"""The translators of kernels into ONNX nodes: by name, and what each of them is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..runtime.door import KERNELS
from .errors import UnsupportedOperatorError
from .graph import Graph, onnx_type
from .sizes import Expr, fixed

Size = int | Expr
Translator = Callable[["Site"], Any]
WAYS: dict[str, Translator] = {}  # by name; kernels say theirs in their facts


def writes(fn: Translator) -> Translator:
    """Decorator: a way to write kernels."""
    WAYS[fn.__name__] = fn
    return fn


def way_of(kernel: str) -> tuple[str, str]:
    """The way in which a kernel is written, and the node that is told to it; "" where it cannot be."""
    known = KERNELS.get(kernel)
    way, _, how = ((known and known.facts.onnx) or ("" if known else kernel)).partition(" ")
    return way if way in WAYS else "", how


class Site:
    """One kernel of the program, with the graph it is written into.

    `inputs` are names of ONNX values, Python numbers or None; `shapes` and `dtypes` belong to them, those of
    numbers are () and None. `out_shapes` and `out_dtypes` belong to the results.
    """

    def __init__(
        self, graph: Graph, kernel: str, inputs: list[Any], attrs: dict[str, Any],
        shapes: list[Any], dtypes: list[Any], out_shapes: list[Any], out_dtypes: list[Any], source: Any,
    ) -> None:  # fmt: skip
        self.g, self.kernel, self.inputs, self.attrs = graph, kernel, inputs, attrs
        self.shapes, self.dtypes = shapes, dtypes
        self.out_shapes, self.out_dtypes = out_shapes, out_dtypes
        self.how = way_of(kernel)[1]  # the node that the kernel asks for
        self.source = source  # name -> the Site that wrote it, or None

    def x(self, i: int = 0, dtype: Any = None) -> str:
        """Input i as a name, brought to `dtype` where that is given."""
        value = self.inputs[i]
        if isinstance(value, str):
            if dtype is not None and self.dtypes[i] != dtype:
                return self.g.cast(value, dtype)
            return value
        if value is None:
            return ""
        return self.number(value, self.dtypes[0] if dtype is None else dtype)

    def number(self, value: Any, dtype: Any = None) -> str:
        """A constant of no dimensions, in the first input's dtype if nothing else is said."""
        return self.g.constant(np.asarray(value).astype(self.dtypes[0] if dtype is None else dtype))

    def fixed(self, name: str) -> Any:
        """An attribute that must not depend on a free size."""
        return fixed(self.attrs[name], f"{name} of {self.kernel}")

    @property
    def rank(self) -> int:
        return len(self.shapes[0])

    def axes(self, name: str = "dim") -> list[int]:
        """The dims of a reduction; none means all."""
        dims = self.attrs[name]
        if dims is None or dims == ():
            return list(range(self.rank))
        dims = (dims,) if isinstance(dims, int) else dims
        return [d % self.rank for d in dims]

    def fail(self, why: str) -> UnsupportedOperatorError:
        return UnsupportedOperatorError(f"{self.kernel}: {why}")

    def node(self, op: str, *inputs: str, **attrs: Any) -> Any:
        return self.g.node(op, *inputs, **attrs)


def put_view_back(site: Site, shape: Sequence[int], view: Callable[[np.ndarray], np.ndarray]) -> str:
    """The first input with one of its views replaced by the second: by the places its elements come from."""
    count = int(np.prod(shape))
    places = view(np.arange(count, dtype=np.int64).reshape(tuple(shape))).reshape(-1)
    g = site.g
    flat = g.node("Reshape", site.x(0), g.ints(-1))
    new = g.node("Expand", site.x(1, site.dtypes[0]), g.ints(*fixed(site.out_shapes[1], "a written part")))
    new = g.node("Reshape", new, g.ints(-1))
    put = g.node("ScatterElements", flat, g.constant(places), new, axis=0)
    return g.node("Reshape", put, g.ints(*shape))


__all__ = ["WAYS", "Site", "Size", "onnx_type", "put_view_back", "way_of", "writes"]
