"""Op: a kernel with a rule in front of it and derivatives behind it, and what a call of it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

from ..base.arrays import GenericBody
from ..base.bounded import Bounded
from ..base.errors import HostMemoryError, mixed_devices
from ..runtime import devices
from ..runtime.batch.arrays import BatchedArray
from ..runtime.door import Kernel, run
from ..runtime.facts import NOTHING, Facts
from ..runtime.joins import Whole, whole
from ..runtime.sparse_array import SparseArray, sparse
from ..runtime.thread import CASTING, GRAD, INFERENCE, PACKING, PARTS, TAPE, TRACED, WHOLE, here
from ..runtime.wrapped import WrappedArray
from . import views
from .explain import not_a_tensor
from .gradients.mapped import note_shared
from .gradients.node import FREED, Derivative, KeptPlan, OpNode, code_of  # noqa: F401 - FREED is asked for here
from .gradients.tape import AccumulateGrad, Node, Pass, both, numbers
from .modes import switches
from .tensor import Tensor, tensor_over
from .views import current_edge, extra, mark_view

if TYPE_CHECKING:
    from ..runtime.point import Point

_new = object.__new__

OPS: dict[str, Op] = {}
when_defined: list[Callable[[Op], None]] = []  # they hear of each new op, once the others are known
# Functions that are made of pointwise ops, or choose among them.
_OF_POINTS = frozenset("""
    celu clamp_max clamp_min clip conj_physical divide expit float_power ldexp log_sigmoid multiply mvlgamma polygamma
    positive relu6 rsub selu subtract true_divide
""".split())  # fmt: skip


def is_pointwise(name: str) -> bool:
    """Whether the public function of this name, or its in-place form, computes number by number."""
    name = name.removesuffix("_")
    op = OPS.get(name)
    if op is None or op.kernel.facts.point is None:
        return name in _OF_POINTS
    return name != "prelu"  # whose slopes are of channels


class Op:
    """A named operation on tensors.

    The generic body `fn(xp, *arrays, **attrs)` gives the names of inputs (positional) and attributes
    (keyword-only). Derivatives name what they need: `g` the gradient of the first output (`gs` of
    all), an input or attribute by its name, `out` the result, `x_shape` the shape of input `x`,
    `needs` which inputs want one. Only what is named is kept for backward.
    """

    # Slots for what every call looks at; native/slots.h reads them at their offsets.
    __slots__ = ("differentiable", "impls", "is_view", "kernel", "passes", "plans", "rule", "variadic", "__dict__")

    slope: Op  # of an activation: the op of its derivative
    result_may_change = False  # derivatives read it, PyTorch's do not (see core/inplace.py)
    bias_first = False  # PyTorch brings the gradient of the last input first
    viewed: tuple[
        str, ...
    ] = ()  # inputs that PyTorch keeps by a view or a result, so that `x.data = y` does not reach them

    def __init__(
        self,
        fn: GenericBody,
        name: str | None = None,
        *,
        rule: Callable[[tuple], tuple] | None = None,
        broadcasts: bool = False,
        view: bool = False,
        moves_only: bool = False,
        grad_name: str | Callable[[dict], str] | None = None,
        meta: Callable[..., Any] | None = None,
        new_gradients: bool = False,
        widens_itself: bool = False,
        kernel: Kernel | None = None,
        facts: Facts = NOTHING,
        point: Point | None = None,
    ) -> None:
        self.name = name or fn.__name__
        if point is not None:
            facts = facts._replace(point=point)
        # one that is given is another op's, whose results are the same and whose derivatives are not
        self.kernel = kernel or Kernel(self.name, fn, is_view=view, moves_only=moves_only, meta=meta, facts=facts)
        self.impls = self.kernel.impls
        self.rule = rule
        self.passes: str = getattr(rule, "passes", "")  # what the rule gives back as it got it
        self.broadcasts = broadcasts
        self.is_view = view
        self.new_gradients = new_gradients  # derivatives never hand the incoming gradient itself on
        # reads half precision as float32 where autocast wants that, without a cast in front of it
        self.widens_itself = widens_itself
        self.grad_name = grad_name or _camel(self.name) + "Backward0"
        self.inputs, self.variadic = _input_names(fn)
        self.derivatives: dict[int, Derivative] = {}
        self.shared: list[tuple[tuple[int, ...], Derivative]] = []
        self.joint: Derivative | None = None
        self.differentiable = False
        self.plans: dict[Any, KeptPlan] = Bounded(1024)  # by which inputs want a gradient
        self.whole: dict[type, Whole] = {}  # what devices say about computing it in parts
        self.__doc__ = fn.__doc__
        OPS[self.name] = self
        for hear in when_defined:
            hear(self)

    def derivative(self, **by_input: Callable[..., Any]) -> Op:
        """Give one derivative function per input name."""
        for name, fn in by_input.items():
            self.derivatives[self.inputs.index(name)] = Derivative(self, fn)
        self.differentiable = True
        return self

    def together(self, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: one function for the gradients of several inputs, used when all are wanted."""

        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            places = tuple([self.inputs.index(name) for name in names])
            self.shared.append((places, Derivative(self, fn)))
            return fn

        return register

    def backward(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Give one function that returns the gradients of all inputs, for shared work."""
        self.joint = Derivative(self, fn)
        self.differentiable = True
        return fn

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """Cast, check, compute, wrap, and put a node on the tape: every call of every op.

        `op_call` of native/call.c is the same in C, for this thread's usual states.
        """
        state = here.state
        if state & CASTING:
            inputs = here.casts(self, inputs)
        if self.rule is not None:
            inputs = self.rule(inputs)
        records = self.differentiable and state & TAPE == GRAD
        cls: Any = None
        mask = 0
        arrays = []
        edges: list[Any] = []
        for i, t in enumerate(inputs):
            edge = None
            if isinstance(t, Tensor):
                if records:
                    edge = t._edge if t._ext is None else current_edge(t)
                    if edge is not None:
                        mask |= 1 << i
                t = t._a
                if cls is None:
                    cls = t.__class__
                elif t.__class__ is not cls:
                    if SparseArray in (cls, t.__class__):
                        return sparse.of_op(self, inputs, attrs)
                    if BatchedArray in (cls, t.__class__):
                        cls = BatchedArray  # the other is the same for every sample
                    elif WrappedArray in (cls, t.__class__):
                        cls = WrappedArray  # its class is asked, and shown the others as they are
                    else:
                        return self(*_bring_together(self, inputs), **attrs)
            arrays.append(t)
            edges.append(edge)
        if cls is None:
            raise _no_tensor(self, inputs)
        if cls is SparseArray:
            return sparse.of_op(self, inputs, attrs)
        try:
            out = run(self.kernel, cls, arrays, attrs)
        except MemoryError as error:
            raise self.no_memory(error, inputs) from None
        if out.__class__ is tuple:
            result: Any = tuple([tensor_over(a, cls) for a in out])
        else:
            result = tensor_over(out, cls)
            if self.is_view:
                mark_view(result, inputs[0], self, attrs)
        if mask or state & INFERENCE:
            outs = result if result.__class__ is tuple else (result,)
            if mask:
                self.record(mask, inputs, attrs, outs, edges)
                if cls is BatchedArray:
                    note_shared(inputs, edges, outs)
            else:
                mark_inference(outs)
        return result

    def no_memory(self, error: MemoryError, inputs: Sequence[Any]) -> MemoryError:
        """The error where a kernel found no memory on the host: Python's kind and PyTorch's, with sizes."""
        if isinstance(error, HostMemoryError):
            return error
        shape, kind = getattr(error, "shape", None), getattr(error, "dtype", None)
        wanted = "" if kind is None or shape is None else f": you tried to allocate {prod(shape) * kind.itemsize} bytes"
        given = ", ".join([f"{t.dtype} {list(t._a.shape)}" for t in inputs if isinstance(t, Tensor)])
        return HostMemoryError(
            f"DefaultCPUAllocator: not enough memory{wanted} (in {self.name} of {given}). Error code 12 (Cannot allocate memory)"
        )

    def joins(self, t: Tensor) -> bool:
        """Whether this op, which does the work of several, should be called beside `t`, and not those.

        It should where the device has one kernel for it. Most devices say "not while a recorder listens": it is
        shown the parts, which its passes join in more ways than this one.
        """
        found = self.whole.get(t._a.__class__) or self._asked(t._a.__class__)
        return found.is_one and (found.recorded or here.state & (PARTS | WHOLE) != PARTS)

    def is_whole(self, t: Tensor) -> bool:
        """Whether the device of `t` has one kernel for this op, be it recorded or not."""
        return (self.whole.get(t._a.__class__) or self._asked(t._a.__class__)).is_one

    def _asked(self, cls: type) -> Whole:
        found = self.whole[cls] = whole(devices.backend_of_type(cls).type, self.kernel)
        return found

    def pair(self, x: Tensor, y: Tensor) -> Any:
        """`self(x, y)`; in C with a short way for what the rule lets pass as it is."""
        return self(x, y)

    def record(self, mask: int, inputs: Sequence[Any], attrs: dict, outs: tuple, edges: list) -> None:
        """Put a node on the tape and let the outputs point to it."""
        key = (mask, len(inputs)) if self.variadic else mask
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = KeptPlan(self, mask, len(inputs))
        if not plan.calls:
            return
        node = _new(OpNode)  # filled in here: a constructor's call is a tenth of a small op
        node.seq = next(numbers)
        node.op = self
        node.plan = plan
        node.attrs = attrs
        node.edges = edges
        node.hooks = node.pre_hooks = node.where = node.saved = node.outputs = node.shapes = None
        if switches.anomaly:
            node.remember_where()
        if plan.keep:
            saved: dict[int, Any] = {}
            for i in plan.keep:
                t = inputs[i]
                if isinstance(t, Tensor):
                    # The array, not the tensor: after an in-place change the tensor's edge leads to
                    # this very node, and a tensor kept here would close a reference cycle.
                    if t._ext is not None and t._ext.inference:
                        raise _inference_error()
                    ver = t._ver
                    if ver is None:
                        ver = t._ver = [0]
                    saved[i] = (t._a, ver, ver[0])
                else:
                    saved[i] = t
            node.saved = saved
        if plan.shapes:
            node.shapes = [t._a.shape if isinstance(t, Tensor) else None for t in inputs]
        node.n_outputs = len(outs)
        i = 0
        for out in outs:
            if out._a.dtype.kind in "fcV":  # V: bfloat16 of ml_dtypes
                out._edge = (node, i)
            i += 1
        if plan.outputs:
            node.keep_outputs(outs)
        if here.state & PACKING:
            here.pack(node, here.packing[-1])

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join(self.inputs)})>"


def op(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorator: make an Op of a generic kernel body."""
    if fn is None:
        return lambda f: Op(f, **options)
    return Op(fn, **options)


def _input_names(fn: GenericBody) -> tuple[list[str], bool]:
    """A body's positional names after `xp`."""
    code = code_of(fn)
    names = list(code.co_varnames[1 : code.co_argcount])
    variadic = bool(code.co_flags & 0x04)  # CO_VARARGS: *name follows the named ones
    if variadic:
        names.append(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
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
                described = [(n, d, s) for n, d, s in described if d == str(where)] + [
                    ("other", str(target), home._a.shape)
                ]
                raise mixed_devices(op.name, described)
            moved[i] = t.to(target)
    return tuple(moved)


def _no_tensor(op: Op, inputs: tuple) -> TypeError:
    return not_a_tensor(op.name, "input", 1, inputs[0] if inputs else None)


def mark_inference(outs: tuple) -> None:
    """Results of inference mode; a view is what its base is."""
    for t in outs:
        ext = extra(t)
        ext.inference = ext.inference or ext.base is None


def _inference_error() -> RuntimeError:
    return RuntimeError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
        "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
        "normal tensor and use it in autograd, or use `no_grad()` instead of `inference_mode()`."
    )


# What the C extension has, too: (class, method).
IN_C = (
    (Op, "__call__"), (Op, "pair"), (OpNode, "input"), (OpNode, "output"), (OpNode, "apply"), (Tensor, "__hash__"),
    (Pass, "run"),
)  # fmt: skip
IN_PYTHON = tuple([getattr(cls, name) for cls, name in IN_C])


def _quicken() -> Any:
    """Let ops and their derivatives be called through the C extension: that, or None where it was not built."""
    try:
        native = import_module("._call", __package__)
    except ImportError:
        return None
    native.know_views(views.Extra, views.refresh_view, views.NOWHERE)
    methods = native.quicken(
        Tensor, Op, OpNode, KeptPlan, here, (GRAD, INFERENCE, CASTING), switches, numbers, tensor_over, mark_inference
    )
    run_pass = native.walk(
        Pass, Node, AccumulateGrad, FREED, both, heappush, heappop, sparse, devices.known.keepers, WrappedArray
    )
    methods += (run_pass,)
    for (cls, name), method in zip(IN_C, methods):
        setattr(cls, name, method)
    native.follow(PARTS | WHOLE, TRACED)
    return native


native = _quicken()
