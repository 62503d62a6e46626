"""Op: a kernel with a rule in front of it and derivatives behind it, and how a call is recorded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..backend import devices
from ..backend.door import Kernel, run
from ..base.errors import mixed_devices
from .modes import modes
from .tape import Edge, Node
from .tensor import Tensor, current_edge, mark_view, tensor_over

OPS: dict[str, Op] = {}

# Where a derivative's argument comes from, decided once from its parameter names.
_G, _GS, _INPUT, _OUTPUT, _SHAPE, _ATTR, _NEEDS, _REST, _REST_SHAPES = range(9)

FREED = object()


class Op:
    """A named operation on tensors.

    The generic body `fn(xp, *arrays, **attrs)` gives the names of inputs (positional) and attributes
    (keyword-only). Derivatives name what they need: `g` the gradient of the first output (`gs` of
    all), an input or attribute by its name, `out` the result, `x_shape` the shape of input `x`,
    `needs` which inputs want one. Only what is named is kept for backward.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        *,
        rule: Callable[[tuple], tuple] | None = None,
        broadcasts: bool = False,
        view: bool = False,
        moves_only: bool = False,
        grad_name: str | None = None,
        meta: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name or fn.__name__
        self.kernel = Kernel(self.name, fn, is_view=view, moves_only=moves_only, meta=meta)
        self.rule = rule
        self.broadcasts = broadcasts
        self.is_view = view
        self.grad_name = grad_name or _camel(self.name) + "Backward0"
        self.inputs, self.variadic = _input_names(fn)
        self.derivatives: dict[int, _Derivative] = {}
        self.joint: _Derivative | None = None
        self.plans: dict[Any, tuple[tuple[int, ...], bool, bool]] = {}
        self.__doc__ = fn.__doc__
        OPS[self.name] = self

    def derivative(self, **by_input: Callable[..., Any]) -> Op:
        """Give one derivative function per input name."""
        for name, fn in by_input.items():
            self.derivatives[self.inputs.index(name)] = _Derivative(self, fn)
        return self

    def backward(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Give one function that returns the gradients of all inputs, for shared work."""
        self.joint = _Derivative(self, fn)
        return fn

    @property
    def differentiable(self) -> bool:
        return self.joint is not None or bool(self.derivatives)

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        if self.rule is not None:
            inputs = self.rule(inputs)
        cls: Any = None
        mask = 0
        bit = 1
        arrays = []
        for t in inputs:
            if isinstance(t, Tensor):
                a = t._a
                arrays.append(a)
                if cls is None:
                    cls = a.__class__
                elif a.__class__ is not cls:
                    return self(*_bring_together(self, inputs), **attrs)
                if (t._edge if t._ext is None else current_edge(t)) is not None:
                    mask |= bit
            else:
                arrays.append(t)
            bit += bit
        if cls is None:
            raise _no_tensor(self, inputs)
        out = run(self.kernel, cls, arrays, attrs)
        if out.__class__ is tuple:
            outs = tuple([tensor_over(a, cls) for a in out])
            if mask and modes.grad and (self.derivatives or self.joint):
                self.record(mask, inputs, attrs, outs)
            return outs
        result = tensor_over(out, cls)
        if self.is_view:
            mark_view(result, inputs[0], self, attrs)
        if mask and modes.grad and (self.derivatives or self.joint):
            self.record(mask, inputs, attrs, (result,))
        return result

    def record(self, mask: int, inputs: Sequence[Any], attrs: dict, outs: tuple) -> None:
        """Put a node on the tape and let the outputs point to it."""
        key = (mask, len(inputs)) if self.variadic else mask
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = self._plan(mask, len(inputs))
        if self.joint is None and not plan[2]:
            return
        edges: list[Edge] = []
        shapes = []
        for t in inputs:
            if isinstance(t, Tensor):
                edges.append(t._edge)
                shapes.append(t._a.shape)
            else:
                edges.append(None)
                shapes.append(None)
        saved = [(inputs[i], _version(inputs[i])) for i in plan[0]]
        node = OpNode(tuple(edges), self, attrs, mask, shapes, saved)
        for i, out in enumerate(outs):
            if out._a.dtype.kind in "fcV":  # V: bfloat16 of ml_dtypes
                out._edge = (node, i)
        node.n_outputs = len(outs)
        if plan[1]:
            node.keep_outputs(outs)

    def _plan(self, mask: int, n: int) -> tuple[tuple[int, ...], bool, bool]:
        """Which inputs to save, and whether the outputs, for this set of inputs wanting gradients."""
        wanted = [d for i, d in self.derivatives.items() if mask >> i & 1]
        if self.joint is not None:
            wanted.append(self.joint)
        keep: set[int] = set()
        outputs = False
        for derivative in wanted:
            for kind, key in derivative.sources:
                if kind == _INPUT:
                    keep.add(key)
                elif kind == _REST:
                    keep.update(range(key, n))
                outputs = outputs or kind == _OUTPUT
        return tuple(sorted(keep)), outputs, bool(wanted)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join(self.inputs)})>"


class _Derivative:
    """A derivative function and where each of its arguments comes from."""

    def __init__(self, op: Op, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.sources: list[tuple[int, Any]] = []
        for name in inspect.signature(fn).parameters:
            self.sources.append(self._source(op, name))

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

    def __call__(self, node: OpNode, gs: list[Any]) -> Any:
        args = []
        for kind, key in self.sources:
            if kind == _G:
                args.append(gs[0])
            elif kind == _INPUT:
                args.append(node.input(key))
            elif kind == _ATTR:
                args.append(node.attrs.get(key))
            elif kind == _SHAPE:
                args.append(node.shapes[key])
            elif kind == _REST:
                args.append([node.input(i) for i in range(key, len(node.edges))])
            elif kind == _REST_SHAPES:
                args.append(node.shapes[key:])
            elif kind == _OUTPUT:
                args.append(node.output(key))
            elif kind == _NEEDS:
                args.append([bool(node.mask >> i & 1) for i in range(len(node.edges))])
            else:
                args.append(gs)
        return self.fn(*args)


class OpNode(Node):
    """The tape's record of one Op call."""

    __slots__ = ("op", "attrs", "mask", "shapes", "saved", "outputs", "n_outputs")

    def __init__(
        self, edges: tuple, op: Op, attrs: dict, mask: int, shapes: list, saved: list
    ) -> None:
        Node.__init__(self, edges)
        self.op = op
        self.attrs = attrs
        self.mask = mask
        self.shapes = shapes
        self.saved: Any = saved
        self.outputs: Any = None

    def keep_outputs(self, outs: tuple) -> None:
        """Keep the results without a reference cycle: their arrays, not the tensors."""
        kept = []
        for out in outs:
            if out._ver is None:
                out._ver = [0]
            kept.append((out._a, out._ver, out._ver[0]))
        self.outputs = kept

    def input(self, i: int) -> Any:
        """An input as it was; RuntimeError when it has been changed in place since."""
        if self.saved is FREED:
            raise _freed_error()
        key = (self.mask, len(self.edges)) if self.op.variadic else self.mask
        plan = self.op.plans[key][0]
        t, version = self.saved[plan.index(i)]
        if isinstance(t, Tensor) and _version(t) != version:
            raise _version_error(self, t._a, _version(t), version)
        return t

    def output(self, i: int) -> Tensor:
        if self.outputs is FREED:
            raise _freed_error()
        a, cell, version = self.outputs[i]
        if cell[0] != version:
            raise _version_error(self, a, cell[0], version)
        out = tensor_over(a, a.__class__)
        out._edge = (self, i)
        out._ver = cell
        return out

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        op = self.op
        if op.joint is not None:
            return op.joint(self, gs)
        if gs[0] is None:
            return [None] * len(self.edges)
        results: list[Any] = [None] * len(self.edges)
        for i, derivative in op.derivatives.items():
            if self.mask >> i & 1:
                g = derivative(self, gs)
                if op.broadcasts and g is not None and g._a.shape != self.shapes[i]:
                    g = g.sum_to_size(self.shapes[i])
                results[i] = g
        return results

    def release(self) -> None:
        if self.saved:
            self.saved = FREED
        if self.outputs is not None:
            self.outputs = FREED

    def name(self) -> str:
        return self.op.grad_name


def op(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorator: make an Op of a generic kernel body."""
    if fn is None:
        return lambda f: Op(f, **options)
    return Op(fn, **options)


def _version(t: Any) -> int:
    ver = t._ver if isinstance(t, Tensor) else None
    return 0 if ver is None else ver[0]


def _input_names(fn: Callable) -> tuple[list[str], bool]:
    names, variadic = [], False
    for p in list(inspect.signature(fn).parameters.values())[1:]:
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
        elif p.kind == p.VAR_POSITIONAL:
            names.append(p.name)
            variadic = True
    return names, variadic


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.strip("_").split("_"))


def _bring_together(op: Op, inputs: tuple) -> tuple:
    """Tensors of several devices met: a 0-d CPU tensor may come along, anything else is an error."""
    tensors = [t for t in inputs if isinstance(t, Tensor)]
    home = next((t for t in tensors if t._a.ndim), tensors[0])
    target = devices.device_of(home._a)
    described = []
    moved = list(inputs)
    for i, t in enumerate(inputs):
        if not isinstance(t, Tensor):
            continue
        where = devices.device_of(t._a)
        name = op.inputs[min(i, len(op.inputs) - 1)]
        described.append((name, str(where), t._a.shape))
        if where != target:
            if t._a.ndim or not op.broadcasts or where.type != "cpu":
                described = [
                    (n, d, s) for n, d, s in described if d == str(where)
                ] + [("other", str(target), home._a.shape)]
                raise mixed_devices(op.name, described)
            moved[i] = t.to(target)
    return tuple(moved)


def _no_tensor(op: Op, inputs: tuple) -> TypeError:
    kind = type(inputs[0]).__name__ if inputs else "nothing"
    return TypeError(f"{op.name}(): argument 'input' (position 1) must be Tensor, not {kind}")


def _freed_error() -> RuntimeError:
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after "
        "they have already been freed). Saved intermediate values of the graph are freed when you "
        "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
        "through the graph a second time or if you need to access saved tensors after calling "
        "backward."
    )


def _version_error(node: OpNode, a: Any, now: int, then: int) -> RuntimeError:
    from ..base.dtypes import from_np

    dtype = from_np(a.dtype)
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{dtype} {list(a.shape)}], which {node.name()} needs, is at version {now}; "
        f"expected version {then} instead. Hint: enable anomaly detection to find the operation "
        "that failed to compute its gradient, with autograd.set_detect_anomaly(True)."
    )
