"""User-written differentiable functions: `autograd.Function` with a `ctx`, recorded on the same tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import warn

from ...base.config import settings
from ...base.trees import broadcast_prefix, tree_flatten, tree_leaves, tree_structure, tree_unflatten
from ...runtime.batch.arrays import BatchedArray
from ...runtime.thread import here
from ...runtime.wrapped import WrappedArray
from ..inplace import adopt_history, bump, check_writable
from ..memory import read_later
from ..modes import no_grad
from ..tensor import Tensor, tensor_over
from ..views import current_edge
from .mapped import shared_inputs, summed_where_shared
from .node import FREED, changed_words, freed_error
from .tape import Node


class FunctionCtx:
    """What `forward` leaves for `backward`: the `ctx` of a `torch.autograd.Function`.

    Example:
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * g
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(self) -> None:
        self._to_save: tuple = ()
        self._for_jvp: tuple = ()
        self._node: Any = None
        self._dirty: tuple = ()
        self._non_differentiable: tuple = ()
        self._materialize = self._materialize_non_diff_grads = True
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs of forward; a later in-place change of them is noticed."""
        self._to_save = _tensors_only("save_for_backward", tensors)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """What `saved_tensors` is in `jvp`."""
        self._for_jvp = _tensors_only("save_for_forward", tensors)

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that `save_for_backward` kept; raises if one was changed in place since."""
        node = self._node
        if node is None:
            return self._to_save
        return node.unpack()

    saved_variables = saved_tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare that forward changed these inputs in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients reach backward as zeros (default) or as None."""
        self._materialize = value


def _tensors_only(name: str, given: tuple) -> tuple:
    for t in given:
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(f"{name} can only save variables, but argument is of type {type(t).__name__}")
    return given


class FunctionNode(Node):
    """The tape's record of a user-written Function."""

    __slots__ = ("function", "ctx", "saved", "metas", "n_outputs", "shared", "takes")

    def __init__(self, edges: tuple, function: Any, ctx: FunctionCtx, args: tuple) -> None:
        Node.__init__(self, edges)
        self.function = function
        self.ctx = ctx
        # What the gradient of each argument must look like; None: not a tensor, no gradient.
        self.takes = [(a._a.shape, a.dtype) if isinstance(a, Tensor) else None for a in args]
        self.saved: Any = ()
        self.metas: list = []
        self.shared = shared_inputs(args, edges)

    def __getattr__(self, name: str) -> Any:
        """In PyTorch node and ctx are one: what forward left on ctx is found here too."""
        if name.startswith("__") or name == "ctx":
            raise AttributeError(name)
        return getattr(self.ctx, name)

    def __repr__(self) -> str:
        return f"<{settings.module}.autograd.function.{self.name()} object at {hex(id(self))}>"

    def save(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Keep stand-ins for inputs and the arrays of outputs: the tensors could close a cycle."""
        kept: list[tuple] = []
        for t in self.ctx._to_save:
            at = next((i for i, o in enumerate(outputs) if o is t), None)
            if t is not None and t._ver is None:
                t._ver = [0]
            if t is None:
                kept.append((None, None, 0, None))
            elif at is None or any(t is x for x in inputs):
                kept.append((_stand_in(t), t._ver, t._ver[0], None))
            else:
                kept.append((t._a, t._ver, t._ver[0], at))
        self.saved = kept
        self.ctx._to_save = ()

    def unpack(self) -> tuple:
        if self.saved is FREED:
            raise freed_error()
        tensors = []
        for held, cell, version, at in self.saved:
            if cell is not None and cell[0] != version:
                raise RuntimeError(changed_words(cell[0], version, self.name()))
            if at is None and cell is not None and len(cell) > 1:
                now, held_cell = read_later(held._a, cell)
                if now is not held._a:
                    held, edge = tensor_over(now, now.__class__), held._edge
                    held._edge, held._ver = edge, held_cell
            if at is not None:
                held = tensor_over(held, held.__class__)
                held._edge = (self, at)
                held._ver = cell
            tensors.append(held)
        return tuple(tensors)

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        if self.ctx._materialize:
            gs = [_zeros(*meta) if g is None and meta is not None else g for g, meta in zip(gs, self.metas)]
        self.ctx._node = self
        try:
            boxed = getattr(self.function, "boxed_grads_call", False)
            results = _backward_of(self.function)(self.ctx, *([list(gs)] if boxed else gs))
        finally:
            self.ctx._node = None
        results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
        expected = len(self.takes)
        while len(results) > expected and results[-1] is None:
            results = results[:-1]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got {len(results)})"
            )
        results = [r if r is None else self._fit(i, r) for i, r in enumerate(results)]
        return summed_where_shared(results, self.shared) if self.shared else results

    def _fit(self, i: int, g: Any) -> Any:
        """A gradient in the shape and dtype of its input, or an error."""
        if not isinstance(g, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
        taken = self.takes[i]
        if taken is None:
            raise RuntimeError(
                f"function {self.name()} returned a gradient different than None at position {i + 1}, "
                "but the corresponding forward input was not a Variable"
            )
        if self.edges[i] is None:
            return None  # nobody asks for it, so nobody asks what it looks like
        shape, dtype = taken
        if g._a.shape != shape:
            if not _sums_to(g._a.shape, shape):
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {i} - got "
                    f"{list(g._a.shape)} but expected shape compatible with {list(shape)}"
                )
            g = g.sum_to_size(shape)
        return g if g.dtype is dtype else g.to(dtype)

    def release(self) -> None:
        if self.saved:
            self.saved = FREED

    def name(self) -> str:
        return self.function.__name__ + "Backward"

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        return self.unpack()


def _backward_of(function: Any) -> Callable[..., Any]:
    """The function's `backward`, which may be called `vjp` instead."""
    other = getattr(function, "vjp", None)
    if other is not None and function.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement "
            "one of them."
        )
    return other or function.backward


def _sums_to(shape: tuple, target: tuple) -> bool:
    """Whether `target` could have been broadcast to `shape`."""
    pairs = zip(reversed(shape), reversed(target))
    return len(shape) >= len(target) and all(t in (1, s) for s, t in pairs)


def _stand_in(t: Tensor) -> Tensor:
    """`t` with its history as it is now; an in-place change of `t` will not lead it back here."""
    if t.is_leaf and t.requires_grad:
        return t  # autograd refuses in-place changes of these, and users look for them by identity
    s = tensor_over(t._a, t._a.__class__)
    s._edge = t._edge
    s._ver = t._ver
    return s


def _zeros(a: Tensor, shape: tuple) -> Tensor:
    return a.new_zeros(shape)


class Function:
    """A differentiable function of your own: derive, write `forward` and `backward`, call `.apply(...)`.

    `backward` is given one gradient for each output of `forward`, and returns one for each of its inputs: None for
    those that are not tensors or need none.

    Example:
        >>> class Clipped(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, limit):
        ...         ctx.limit = limit
        ...         return x.clone()
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return g.clamp(-ctx.limit, ctx.limit), None
        >>> x = torch.ones(2, requires_grad=True)
        >>> (Clipped.apply(x, 1.0) * torch.tensor([0.5, 30.0])).sum().backward()
        >>> x.grad
        tensor([0.5000, 1.0000])
    """

    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: `forward(ctx, *inputs)`, or `forward(*inputs)` where there is a `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep in `ctx` what backward needs, apart from `forward`: then `forward` is not given a `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    if TYPE_CHECKING:  # one that takes the gradients by name is no other kind of method

        @staticmethod
        def backward(ctx: Any, *grads: Any, **kwargs: Any) -> Any: ...

    else:

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            """The gradients of the inputs from those of the outputs."""
            raise NotImplementedError(
                "You must implement either the backward or vjp method for your custom autograd.Function "
                "to use it with backward mode AD."
            )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The outputs for all samples of `torch.vmap`, and the dims along which they lie.

        Args:
            info: `batch_size` and `randomness` of the call.
            in_dims: for every argument of `forward` the dim along which its samples lie, None if it has none.
            args: the arguments, with all samples.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs from those of the inputs, for derivatives in forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and put it on the tape."""
        for mode in here.function_modes:
            if hasattr(mode, "_apply_dual"):  # forward mode: the class has to say its tangents
                answer = mode._apply_dual(cls, args, kwargs)
                if answer is not NotImplemented:
                    return answer
        return run_function(cls, args, kwargs)


def run_function(cls: Any, args: tuple, kwargs: dict, then: Callable[[FunctionCtx, list], Any] | None = None) -> Any:
    """What `apply` does; `then` is given the context, while it still has what forward saved, and what forward returned."""
    apart = cls.setup_context is not Function.setup_context
    if apart:
        args, kwargs = bound(cls.forward, args, kwargs), {}
    elif kwargs:  # tensors by name have gradients, too
        with suppress(TypeError):  # which forward itself will raise
            found = signature(cls.forward).bind(None, *args, **kwargs)
            args, kwargs = found.args[1:], found.kwargs
    edges = tuple(current_edge(a) if isinstance(a, Tensor) else None for a in args)
    recording = here.grad and any(e is not None for e in edges)
    ctx = FunctionCtx()
    ctx.needs_input_grad = tuple(e is not None for e in edges)
    with no_grad():
        if apart:
            level = _level(args) if cls.vmap is not Function.vmap else None
            result = cls.forward(*args) if level is None else _of_samples(cls, level, args)
            cls.setup_context(ctx, args, result)
        else:
            result = cls.forward(ctx, *args, **kwargs)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    _check_dirty(ctx, args, outputs, recording)
    if then is not None:
        then(ctx, outputs)
    for i, out in enumerate(outputs):
        dirty = any(out is d for d in ctx._dirty)
        if not dirty and isinstance(out, Tensor) and any(out is a for a in args):
            # an input returned as it is gets a new identity
            outputs[i] = out.view_as(out) if here.grad else out.detach()
    if recording:
        _record(cls, ctx, edges, args, outputs)
    ctx._to_save = ()
    if not isinstance(result, (tuple, list)):
        return outputs[0]
    return type(result)(outputs) if isinstance(result, list) else tuple(outputs)


def bound(forward: Callable[..., Any], args: tuple, kwargs: dict) -> tuple:
    """The arguments of `forward` by position, with its defaults."""
    found = signature(forward).bind(*args, **kwargs)
    found.apply_defaults()
    return found.args


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told of the call it is part of."""

    batch_size: int
    randomness: str


def _level(args: tuple) -> Any:
    """The innermost map that arguments, or tensors in their containers, are samples of; None outside of one."""
    arrays = [a._a for a in tree_leaves(args) if isinstance(a, Tensor) and a._a.__class__ is BatchedArray]
    return max((a.level for a in arrays), key=lambda level: level.number, default=None)


def _of_samples(cls: Any, level: Any, args: tuple) -> Any:
    """What the class's own `vmap` makes of all samples, as the results of one."""
    leaves, spec = tree_flatten(args)
    dims, whole = [], []
    for a in leaves:
        mine = isinstance(a, Tensor) and getattr(a._a, "level", None) is level
        dims.append(0 if mine else None)
        whole.append(tensor_over(a._a.held, a._a.held.__class__) if mine else a)
    told = cls.vmap(VmapInfo(level.size, level.randomness), tree_unflatten(dims, spec), *tree_unflatten(whole, spec))
    if not isinstance(told, tuple) or len(told) != 2:
        got = f"{len(told)} returns" if isinstance(told, tuple) else f"a {type(told)}"
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
            f"with the output. Got {got} instead"
        )
    results, shape = tree_flatten(told[0])
    places = broadcast_prefix(told[1], told[0])
    if places is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={told[1]} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_structure(told[1])} but output has structure {shape}."
        )
    same = {id(w): a for w, a in zip(whole, leaves)}  # an input that is returned stays what it was
    made = [same[id(o)] if id(o) in same else _as_sample(level, o, d) for o, d in zip(results, places)]
    return tree_unflatten(made, shape)


def _as_sample(level: Any, out: Any, dim: int | None) -> Any:
    if dim is None or not isinstance(out, Tensor):
        return out
    held = (out.movedim(dim, 0) if dim else out)._a
    return tensor_over(BatchedArray(level, held), BatchedArray)


def _record(cls: Any, ctx: FunctionCtx, edges: tuple, args: tuple, outputs: list[Any]) -> None:
    node = _node_class(cls)(edges, cls, ctx, args)
    for i, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            node.metas.append(None)
            continue
        node.metas.append((tensor_over(out._a, out._a.__class__), out._a.shape))
        if any(out is n for n in ctx._non_differentiable) or out._a.dtype.kind in "iub":
            if not ctx._materialize_non_diff_grads:
                node.metas[-1] = None
            continue
        if any(out is d for d in ctx._dirty):
            bump(out)
            made = tensor_over(out._a, out._a.__class__)
            made._edge = (node, i)
            adopt_history(out, made)
        else:
            out._edge = (node, i)
            if out._ext is not None and out._ext.base is not None:
                out._ext.made = "function" if len(outputs) == 1 else "many"
    node.n_outputs = len(outputs)
    # metas hold a zero-size stand-in for dtype and device, not the values; somebody's class may not make one
    node.metas = [
        m if m is None or m[0]._a.__class__ is WrappedArray else (m[0].new_empty(0), m[1]) for m in node.metas
    ]
    node.save(args, outputs)


def _check_dirty(ctx: FunctionCtx, args: tuple, outputs: list[Any], recording: bool) -> None:
    for t in ctx._dirty:
        if not any(t is a for a in args):
            if t._is_view():
                raise RuntimeError(
                    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                    "should be passed to ctx.mark_dirty()."
                )
            warn(
                "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need to "
                "pass it to mark_dirty().",
                stacklevel=4,
            )
        if not any(t is o for o in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. "
                "The inputs that are modified inplace must all be outputs of the Function."
            )
        if not recording:
            continue
        if t.is_leaf and t.requires_grad:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if t._is_view() and len(outputs) > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
                "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
                "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
                "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
                "second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you "
                "need help to do this change."
            )
        check_writable(t, repeats=True)


def _node_class(cls: Any) -> Any:
    """A node class of the function's own, so that `type(t.grad_fn)` shows its name."""
    found = cls.__dict__.get("_node_class")
    if found is None:
        found = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": ()})
        cls._node_class = found
    return found


def once_differentiable(fn: Callable) -> Callable:
    """Decorate a backward that cannot itself be differentiated: asking for it raises."""

    def backward(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            results = fn(ctx, *grads)
        if not here.grad or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return results
        single = not isinstance(results, tuple)
        marked = tuple(_forbid(r) for r in ((results,) if single else results))
        return marked[0] if single else marked

    return backward


class _ForbiddenNode(Node):
    def apply(self, gs: list[Any]) -> Sequence[Any]:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _forbid(r: Any) -> Any:
    if isinstance(r, Tensor) and r.is_floating_point():
        r = r.detach()
        r._edge = (_ForbiddenNode(()), 0)
    return r
