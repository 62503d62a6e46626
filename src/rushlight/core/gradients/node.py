"""The tape's record of an op's call: what it keeps, and how its derivatives get their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...runtime import devices
from ..memory import read_later
from ..tensor import Tensor
from .tape import Node

if TYPE_CHECKING:
    from ..op import Op

_new = object.__new__

# Where a derivative's argument comes from, decided once from its parameter names.
_G, _GS, _INPUT, _OUTPUT, _SHAPE, _ATTR, _NEEDS, _REST, _REST_SHAPES = range(9)

FREED = object()
# Inputs as PyTorch's nodes call them.
_PLACES = {"self": 0, "other": 1, "tensor": 1, "exponent": 1, "mat2": 1}


class KeptPlan:
    """What a call keeps when certain inputs want gradients, and the derivatives it will need."""

    __slots__ = ("calls", "keep", "needs", "outputs", "shapes", "sums")

    def __init__(self, op: Op, mask: int, n: int) -> None:
        self.needs = [bool(mask >> i & 1) for i in range(n)]
        wanted = self._wanted(op, mask)
        keep: set[int] = set()
        outputs: set[int] = set()
        kinds = set()
        for derivative, _ in wanted:
            for kind, key in derivative.sources:
                kinds.add(kind)
                if kind == _INPUT:
                    keep.add(key)
                elif kind == _OUTPUT:
                    outputs.add(key)
                elif kind == _REST:
                    keep.update(range(key, n))
        self.keep = tuple(sorted(keep))
        self.shapes = bool(op.broadcasts) or _SHAPE in kinds or _REST_SHAPES in kinds
        self.outputs = tuple(sorted(outputs))  # those that a derivative reads, and no others
        self.sums = op.broadcasts
        # (function of the node and its gradients, the input it serves, several, or None for all)
        self.calls = tuple([(d.call or d._compile(), at) for d, at in wanted])

    @staticmethod
    def _wanted(op: Op, mask: int) -> list[tuple[Derivative, Any]]:
        if op.joint is not None:
            return [(op.joint, None)]
        wanted: list[tuple[Derivative, Any]] = []
        left = mask
        for places, derivative in op.shared:
            bits = sum([1 << i for i in places])
            if left & bits == bits:
                wanted.append((derivative, places))
                left &= ~bits
        return [(d, i) for i, d in op.derivatives.items() if left >> i & 1] + wanted


class Derivative:
    """A derivative function and where each of its arguments comes from."""

    def __init__(self, op: Op, fn: Callable[..., Any]) -> None:
        self.fn = fn
        names = getattr(fn, "takes", None)  # made by a maker, which says it by attribute
        if names is None:
            code = code_of(fn)
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.sources = [self._source(op, name) for name in names]
        self.call: Any = None

    def _source(self, op: Op, name: str) -> tuple[int, Any]:
        if name == "g":
            return _G, None
        if name == "gs":
            return _GS, None
        if name == "needs":
            return _NEEDS, None
        if op.variadic and name == op.inputs[-1]:
            return _REST, len(op.inputs) - 1
        if name in op.inputs:
            return _INPUT, op.inputs.index(name)
        if name == "out" or (name.startswith("out") and name[3:].isdigit()):
            return _OUTPUT, int(name[3:] or 0)
        stem = name.removesuffix("_shape")
        if stem != name and stem in op.inputs:
            many = op.variadic and stem == op.inputs[-1]
            return _REST_SHAPES if many else _SHAPE, op.inputs.index(stem)
        return _ATTR, name

    def _compile(self) -> Callable[..., Any]:
        """One expression that fetches the arguments: a loop over `sources` costs a microsecond."""
        texts = {
            _G: "gs[0]",
            _GS: "gs",
            _INPUT: "node.input({key})",
            _OUTPUT: "node.output({key})",
            _SHAPE: "node.shapes[{key}]",
            _REST: "[node.input(i) for i in range({key}, len(node.edges))]",
            _REST_SHAPES: "node.shapes[{key}:]",
            _ATTR: "node.attrs.get({key!r})",
            _NEEDS: "node.plan.needs",
        }
        arguments = ", ".join(texts[kind].format(key=key) for kind, key in self.sources)
        code = compile(f"lambda node, gs: fn({arguments})", "<call of a derivative>", "eval")
        self.call = eval(code, {"fn": self.fn, "__name__": __name__})
        return self.call


class OpNode(Node):
    """The tape's record of one Op call, made by `Op.record`."""

    __slots__ = ("op", "plan", "attrs", "shapes", "saved", "outputs", "n_outputs")

    op: Op
    plan: KeptPlan
    attrs: dict
    shapes: Any
    saved: Any
    outputs: Any

    def keep_outputs(self, outs: tuple) -> None:
        """Keep the results that derivatives read, without a reference cycle: arrays, not tensors."""
        kept: list[Any] = [None] * len(outs)
        for i in self.plan.outputs:
            out = outs[i]
            if out._ver is None:
                out._ver = [0]
            kept[i] = (out._a, out._ver, out._ver[0])
        self.outputs = kept

    def input(self, i: int) -> Any:
        """An input as it was; RuntimeError when it has been changed in place since."""
        if self.saved is FREED:
            raise freed_error()
        kept = self.saved[i]
        if kept.__class__ is not tuple:
            return kept
        a, cell, version = kept
        if len(cell) > 1 and self.op.inputs[min(i, len(self.op.inputs) - 1)] not in self.op.viewed:
            a, cell = read_later(a, cell)
        if cell[0] != version:
            raise _version_error(self, a, cell[0], version, self.edges[i])
        t = _new(Tensor)
        t._a = a
        t._edge = self.edges[i]
        t._ver = cell
        t._grad = t._ext = None
        return t

    def output(self, i: int) -> Tensor:
        if self.outputs is FREED:
            raise freed_error()
        a, cell, version = self.outputs[i]
        if cell[0] != version:
            raise _version_error(self, a, cell[0], version, (self, i))
        out = _new(Tensor)
        out._a = a
        out._edge = (self, i) if a.dtype.kind in "fcV" else None
        out._ver = cell
        out._grad = out._ext = None
        return out

    def __getattr__(self, name: str) -> Any:
        """`_saved_self`, `_saved_other`, `_saved_result`: what is kept for the derivatives, by PyTorch's names."""
        what = name.removeprefix("_saved_")
        if what != name:
            if FREED in (self.saved, self.outputs):
                raise freed_error()
            if what == "result" and self.plan.outputs:
                return self.output(self.plan.outputs[0])
            inputs = self.op.inputs
            at = inputs.index(what) if what in inputs else _PLACES.get(what)
            if at is not None and at < len(self.edges) and self.plan.keep:
                if at not in self.plan.keep:
                    return None  # the derivatives that are wanted do not read it
                kept, edge = self.input(at), self.edges[at]
                leaf = getattr(edge[0], "variable", None) if edge is not None else None
                return leaf if leaf is not None and leaf._a is getattr(kept, "_a", None) else kept
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        plan = self.plan
        results: list[Any] = [None] * len(self.edges)
        for call, at in plan.calls:
            if at is None:
                return call(self, gs)
            if gs[0] is None:
                continue
            g = call(self, gs)
            if at.__class__ is not int:
                for i, part in zip(at, g):
                    results[i] = part
            elif plan.sums and g is not None:
                # without shapes nothing was broadcast
                if self.shapes is not None and g._a.shape != self.shapes[at]:
                    g = g.sum_to_size(self.shapes[at])
                results[at] = g
            else:
                results[at] = g
        return results

    def release(self) -> None:
        if self.saved:
            self.saved = FREED
        if self.outputs is not None:
            self.outputs = FREED

    def name(self) -> str:
        name = self.op.grad_name
        return name if isinstance(name, str) else name(self.attrs)

    def shown(self) -> OpNode:
        """The node itself, in a class of its op's name: users ask `type(y.grad_fn).__name__`."""
        if type(self) is OpNode:
            name = self.name()
            made = _classes.get(name)
            if made is None:
                made = _classes[name] = type(name, (OpNode,), {"__slots__": ()})
            self.__class__ = made
        return self


_classes: dict[str, type] = {}  # one per name of a derivative, of which there are a few hundred


def code_of(fn: Callable[..., Any]) -> Any:
    """The code that holds a function's parameter names; `inspect.signature` costs 20 ms at import."""
    while hasattr(fn, "__wrapped__"):
        fn = fn.__wrapped__
    return fn.__code__


def stamps_of(node: Any) -> list[tuple[list[int], str, Any]]:
    """The version counters that a node compares before it reads what it saved, what it says where one has changed, the array.

    The words have {now} and {then} for the versions.
    """
    found: list[tuple[list[int], str, Any]] = []
    if isinstance(node, OpNode):
        inputs = node.saved.items() if isinstance(node.saved, dict) else enumerate(node.saved or ())
        sources = [(k, node.edges[i]) for i, k in inputs]
        sources += [(k, (node, i)) for i, k in enumerate(node.outputs or ())]
        for k, edge in sources:
            if k.__class__ is tuple and k[1].__class__ is list:
                words = str(_version_error(node, k[0], "{now}", "{then}", edge))
                found.append((k[1], words, k[0]))
        return found
    for k in getattr(node, "saved", None) or ():
        if k.__class__ is tuple and len(k) == 4 and k[1].__class__ is list:
            words = changed_words("{now}", "{then}", node.name())
            found.append((k[1], words, getattr(k[0], "_a", k[0])))
    return found


def changed_words(now: Any, then: Any, name: str) -> str:
    """What a Function says whose saved tensor was written since."""
    return (
        "one of the variables needed for gradient computation has been modified by an "
        f"inplace operation: it is at version {now}; expected version {then} instead, in {name}."
    )


def freed_error() -> RuntimeError:
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after "
        "they have already been freed). Saved intermediate values of the graph are freed when you "
        "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
        "through the graph a second time or if you need to access saved tensors after calling "
        "backward."
    )


def _version_error(node: OpNode, a: Any, now: Any, then: Any, edge: Any) -> RuntimeError:
    from ...base.config import settings
    from ...base.dtypes import from_np, title

    place = "cuda." if devices.device_of(a).type == "cuda" else ""
    kind = f"{settings.module}.{place}{title(from_np(a.dtype))}Tensor"
    maker = "" if edge is None or not edge[0].edges else (f", which is output {edge[1]} of {edge[0].name()},")
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{kind} {list(a.shape)}]{maker} is at version {now}; expected version {then} "
        f"instead. {node.name()} needs it as it was. Hint: enable anomaly detection to find the "
        "operation that failed to compute its gradient, with "
        f"{settings.module}.autograd.set_detect_anomaly(True)."
    )
