"""From recordings of a model to an ONNX model: calls merged over sizes, written node by node, what is unused left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..capture.program.functional import PUT_BACK, Call, Functional, Value
from ..runtime.door import KERNELS
from . import layers, patterns, pointwise, recurrent, reductions, shapes  # noqa: F401 - they fill the table
from .errors import OnnxExporterError, UnsupportedOperatorError
from .graph import Graph, onnx_type
from .recording import same_content
from .sizes import Expr, Symbols, merge
from .table import WAYS, Site, way_of

_RECURRENT = ("lstm_sequence", "gru_sequence", "rnn_sequence")


def host(a: Any) -> np.ndarray:
    """An array on the host."""
    return a.get() if hasattr(a, "get") and not isinstance(a, np.ndarray) else np.asarray(a)


class Builder:
    """Writes the calls of several recordings of one model as one graph."""

    def __init__(self, heard: Sequence[Functional], symbols: Symbols, opset: int, labels: dict[int, str]) -> None:
        self.heard, self.symbols, self.labels = heard, symbols, labels
        self.first = heard[0]
        self.g = Graph(opset)
        self.names: dict[int, str] = {}  # of values that nodes or inputs give
        self.sites: dict[str, Site] = {}
        self.constants: dict[int, str] = {}
        self._check_alike()

    def _check_alike(self) -> None:
        for other in self.heard[1:]:
            if len(other.calls) != len(self.first.calls):
                raise OnnxExporterError(
                    f"the model computes {len(self.first.calls)} steps for one size of its inputs and "
                    f"{len(other.calls)} for another (a loop over a free size?): leave that size fixed"
                )
            for a, b in zip(self.first.calls, other.calls):
                if a.kernel != b.kernel or a.outputs != b.outputs or len(a.inputs) != len(b.inputs):
                    raise OnnxExporterError(f"the model computes {a.kernel} for one size of its inputs and {b.kernel} for another")  # fmt: skip

    # -- values ----------------------------------------------------------------------------------

    def shape(self, number: int) -> tuple[int | Expr, ...]:
        return merge([h.values[number].shape for h in self.heard], self.symbols, "a shape")

    def dtype(self, number: int) -> Any:
        return self.first.values[number].dtype

    def is_constant(self, number: int) -> bool:
        """Whether a value is the same whatever the inputs are, their sizes included."""
        known = [h.values[number] for h in self.heard]
        if any(k.depends for k in known):
            return False
        if len({id(k.array) for k in known}) == 1:
            return True
        return all(same_content(host(known[0].array), host(k.array)) for k in known[1:])

    def value(self, number: int) -> str:
        """The ONNX name of a value."""
        if number in self.names:
            return self.names[number]
        if number not in self.constants:
            if not self.is_constant(number):
                return self._recognised(number)
            array = self.first.values[number].array
            self.constants[number] = self.g.constant(host(array), name=self.labels.get(id(array), "c"))
        return self.constants[number]

    def _recognised(self, number: int) -> str:
        """A tensor that depends on sizes only and was made outside of the model's operations."""
        arrays = [host(h.values[number].array) for h in self.heard if h.values[number].array is not None]
        made = patterns.write(self.g, arrays, self.shape(number)) if len(arrays) == len(self.heard) else None
        if made is None:
            raise OnnxExporterError(
                "a tensor that was made by other means than the model's operations has another content for "
                "another size of the inputs: make it with arange, full or triu, or leave that size fixed"
            )
        self.names[number] = made
        return made

    def add_input(self, number: int, name: str) -> None:
        self.names[number] = self.g.name(name)

    # -- calls -----------------------------------------------------------------------------------

    def write(self) -> None:
        """Every call that depends on an input, or on its size."""
        for place, call in enumerate(self.first.calls):
            if all(self.is_constant(n) for n in call.outputs):
                continue
            self._one(call, [h.calls[place] for h in self.heard])

    def _one(self, call: Call, same: list[Call]) -> None:
        way = way_of(call.kernel)[0]
        if not way:
            known = sum(kernel.facts.onnx is not None for kernel in KERNELS.whole().values())
            raise UnsupportedOperatorError(f"{call.kernel} cannot be written as ONNX yet; the exporter knows {known} kernels")  # fmt: skip
        site = self._site(call, same)
        made = WAYS[way](site)
        names = [made] if isinstance(made, str) else list(made)
        for number, name in zip(call.outputs, names):
            self.names[number] = name
            self.sites[name] = site

    def _site(self, call: Call, same: list[Call]) -> Site:
        attrs = [recurrent.steps_of(c.attrs) if call.kernel in _RECURRENT else c.attrs for c in same]
        merged = {k: self._attr(call.kernel, k, [a.get(k) for a in attrs]) for k in attrs[0]}
        inputs: list[Any] = []
        sizes: list[Any] = []
        dtypes: list[Any] = []
        for column in zip(*[c.inputs for c in same]):
            item = column[0]
            if isinstance(item, Value):
                inputs.append(self.value(item.number))
                sizes.append(self.shape(item.number))
                dtypes.append(self.dtype(item.number))
            else:
                inputs.append(merge(column, self.symbols, f"an operand of {call.kernel}"))
                sizes.append(())
                dtypes.append(None)
        if dtypes and dtypes[0] is None:
            dtypes[0] = next((d for d in dtypes if d is not None), self.dtype(call.outputs[0]))
        return Site(self.g, call.kernel, inputs, merged, sizes, dtypes, [self.shape(n) for n in call.outputs],
                    [self.dtype(n) for n in call.outputs], self.sites.get)  # fmt: skip

    def _attr(self, kernel: str, name: str, values: list[Any]) -> Any:
        if kernel == PUT_BACK and name == "how":
            return {k: merge([v[k] for v in values], self.symbols, k) for k in values[0]}
        if name in ("device", "dtype", "to", "source", "home", "order", "stream"):
            return values[0]
        return merge(values, self.symbols, f"{name} of {kernel}")

    # -- the model -------------------------------------------------------------------------------

    def model(self, inputs: list[tuple[int, str]], outputs: list[tuple[int, str]], metadata: dict[str, str]) -> Any:
        """The finished protobuf, checked."""
        import onnx
        from onnx import helper, numpy_helper

        for number, name in outputs:
            self._finish(number, name)
        nodes = self._used([name for _, name in outputs])
        used = {n for node in nodes for n in node.input}
        weights = [numpy_helper.from_array(a, name) for name, a in self.g.arrays.items() if name in used]
        graph = helper.make_graph(nodes, "rushlight", [self._info(*i) for i in inputs],
                                  [self._info(*o) for o in outputs], weights)  # fmt: skip
        opset = helper.make_opsetid("", self.g.opset)
        made = helper.make_model(graph, opset_imports=[opset], producer_name="rushlight")
        made.ir_version = helper.find_min_ir_version_for([opset])
        if metadata:
            helper.set_model_props(made, {k: str(v) for k, v in metadata.items()})
        # Counted here because ByteSize() fails above 2 GiB.
        if sum(len(t.raw_data) for t in weights) < 1 << 30:
            onnx.checker.check_model(made)
        return made

    def _finish(self, number: int, name: str) -> None:
        """Give a result its public name."""
        from onnx import helper

        self.g.nodes.append(helper.make_node("Identity", [self.value(number)], [name], name=f"out_{name}"))

    def _used(self, wanted: list[str]) -> list[Any]:
        """The nodes that something wanted comes from, in order; copies that only rename are skipped."""
        need = set(wanted)
        kept = []
        for node in reversed(self.g.nodes):
            if need & set(node.output):
                kept.append(node)
                need |= {n for n in node.input if n}
        return kept[::-1]

    def _info(self, number: int, name: str) -> Any:
        from onnx import helper

        dims = [str(d) if isinstance(d, Expr) else d for d in self.shape(number)]
        return helper.make_tensor_value_info(name, onnx_type(self.dtype(number)), dims)
