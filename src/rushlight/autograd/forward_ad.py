"""`torch.autograd.forward_ad`: tensors that carry a tangent, which every public function pushes on.

Inside a `dual_level` a function mode sees every public function. A function of tensors with tangents is
computed on leaves of its own, and its Jacobian times the tangents comes from two backward passes through that
one function (`transforms.jvp`). So memory for the graph is needed for one function at a time only.
"""

from __future__ import annotations

import weakref
from contextlib import ContextDecorator
from typing import Any, NamedTuple

from ..base.trees import tree_flatten, tree_unflatten
from ..core.gradients.function import Function, FunctionCtx, bound, run_function
from ..core.modes import enable_grad
from ..core.overriding import MODES, DisableTorchFunction, arming
from ..core.tensor import Tensor
from ..runtime.thread import here
from .transforms import Inputs, pushed

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

# They write what does not depend on what was there; running one twice would draw twice.
_OVERWRITE = frozenset("""
    bernoulli_ cauchy_ exponential_ fill_ geometric_ log_normal_ normal_ random_ uniform_ zero_
""".split())  # fmt: skip
# They change no numbers.
_NO_NUMBERS = frozenset("requires_grad_ share_memory_ retain_grad register_hook".split())
_VIEWS = [getattr(Tensor, name).__get__ for name in ("T", "mT", "H", "mH", "real", "imag")]


class UnpackedDualTensor(NamedTuple):
    """A tensor and the tangent it carries; None where it carries none.

    Example:
        >>> torch.autograd.forward_ad.unpack_dual(torch.tensor(1.0)).tangent is None
        True
    """

    primal: Any
    tangent: Any


class _Level:
    """The tangents of one level, by tensor; as a function mode of a thread it makes those of results."""

    def __init__(self) -> None:
        self.held: dict[int, tuple[Any, Tensor | None]] = {}

    # -- which tensor has which tangent ------------------------------------------------------------

    def get(self, t: Tensor) -> Tensor | None:
        """The tangent of a tensor; a view of a tensor that has one sees a part of it."""
        found = self.held.get(id(t))
        if found is not None:
            return found[1]
        base = t._base
        whole = None if base is None else self.held.get(id(base), (None, None))[1]
        if whole is None:
            return None
        if whole.stride() != base.stride():
            whole = self.put(base, _laid_out(whole, base))
        return self.put(t, _seen_as(whole, t, base))

    def put(self, t: Tensor, tangent: Any) -> Any:
        """Keep a tangent as long as the tensor lives; None for a tensor that shall have none."""
        key, held = id(t), self.held
        held[key] = (weakref.ref(t, lambda _: held.pop(key, None)), tangent)
        return tangent

    def write(self, t: Tensor, tangent: Tensor) -> None:
        """The new tangent of a tensor that was changed in place: views of it, and its base, see it too."""
        old = self.get(t)
        if old is None and t._base is not None:
            base = t._base
            whole = base.detach().new_zeros(()).expand(base.shape)
            old = self.put(t, _seen_as(self.put(base, _laid_out(whole, base)), t, base))
        if old is None or (old.requires_grad and old.is_leaf):
            self.put(t, tangent)
        else:
            old.copy_(tangent)

    # -- the mode ----------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        leaves, spec = tree_flatten((args, kwargs))
        if any(callable(x) and not isinstance(x, (Tensor, type)) for x in leaves):
            with self:  # what is called inside may close over dual tensors
                return func(*args, **kwargs)
        tangents = [self.get(x) if isinstance(x, Tensor) else None for x in leaves]
        name = getattr(func, "__name__", "")
        if name == "detach":
            result = func(*args, **kwargs)
            self.put(result, None)
            return result
        attribute = name == "__get__" and func not in _VIEWS
        if attribute or name in _NO_NUMBERS or here.inference or all(t is None for t in tangents):
            return func(*args, **kwargs)
        places = [i for i, t in enumerate(tangents) if t is not None]
        call = _CallWithTangents(func, leaves, spec, places, [tangents[i] for i in places])
        if _writes(name):
            return self.in_place(call, name, args, kwargs)
        if kwargs.get("out") is not None:
            raise NotImplementedError(
                f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
            )
        return self.result(call, args, kwargs)

    def result(self, call: _CallWithTangents, args: Any, kwargs: Any) -> Any:
        """Run a function once on leaves of its own; its float outputs get tangents."""
        inputs = Inputs(tuple(call.leaves[i] for i in call.places), tuple(range(len(call.places))))
        with enable_grad():
            made = call(inputs.leaves)
            outputs, spec = tree_flatten(made)
            live = [i for i, o in enumerate(outputs) if isinstance(o, Tensor) and o.requires_grad]
            if not live:
                return made
            if _aliases(outputs, inputs.leaves):
                # the same view, of the tensors themselves and of their tangents
                made = call.func(*args, **kwargs)
                for out, tangent in zip(tree_flatten(made)[0], tree_flatten(call(call.tangents))[0]):
                    self.put(out, tangent)
                return made
            products = pushed(inputs.leaves, [outputs[i] for i in live], call.tangents)
        outputs = inputs.plain(outputs)
        for i, tangent in zip(live, inputs.plain(products)):
            self.put(outputs[i], tangent)
        return tree_unflatten(outputs, spec)

    def in_place(self, call: _CallWithTangents, name: str, args: Any, kwargs: Any) -> Any:
        """The tangent comes from the same function of a copy, before the tensor itself is changed."""
        target = args[0]
        if name in _OVERWRITE:
            result = call.func(*args, **kwargs)
            self.write(target, target.detach().new_zeros(target.shape))
            return result
        inputs = Inputs(tuple(call.leaves[i] for i in call.places), tuple(range(len(call.places))))
        with enable_grad():
            copied = inputs.leaves[0] if call.places[0] == 0 else target.detach()
            changed = copied.clone()
            call(inputs.leaves, first=changed)
            (tangent,) = pushed(inputs.leaves, [changed], call.tangents)
        result = call.func(*args, **kwargs)
        self.write(target, *inputs.plain([tangent]))
        return result

    def _apply_dual(self, cls: Any, args: tuple, kwargs: dict) -> Any:
        """A user's `autograd.Function` of dual tensors: its own `jvp` gives the tangents."""
        if cls.setup_context is not Function.setup_context:
            args, kwargs = bound(cls.forward, args, kwargs), {}
        tangents = [self.get(a) if isinstance(a, Tensor) else None for a in args]
        if all(t is None for t in tangents):
            return NotImplemented
        if cls.jvp is Function.jvp:
            raise NotImplementedError(
                "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
            )
        moves: list[Any] = []

        def push(ctx: FunctionCtx, outputs: list) -> None:
            given = [_or_zeros(a, t) for a, t in zip(args, tangents)] if ctx._materialize else tangents
            versions = [None if t is None else t._version for t in given]
            ctx._to_save, kept = ctx._for_jvp, ctx._to_save
            try:
                made = cls.jvp(ctx, *given)
            finally:
                ctx._to_save = kept
            moves.extend(made if isinstance(made, (tuple, list)) else (made,))
            _check_moves(ctx, args, list(zip(given, versions)), outputs, moves)

        modes, here.function_modes = here.function_modes, ()
        try:
            result = run_function(cls, args, kwargs, push)
        finally:
            here.function_modes = modes
        for out, tangent in zip(result if isinstance(result, (tuple, list)) else (result,), moves):
            if tangent is not None:
                self.put(out, tangent)
        return result

    def __enter__(self) -> _Level:
        arming.arm(None)
        here.function_modes = (*here.function_modes, self)
        MODES.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        MODES.remove(self)
        here.function_modes = here.function_modes[:-1]


class _CallWithTangents:
    """A function with its arguments taken apart: those that carry tangents can be exchanged."""

    def __init__(self, func: Any, leaves: list, spec: Any, places: list[int], tangents: list) -> None:
        self.func, self.leaves, self.spec = func, leaves, spec
        self.places, self.tangents = places, tangents

    def __call__(self, values: list[Tensor], first: Tensor | None = None) -> Any:
        given = list(self.leaves)
        for i, value in zip(self.places, values):
            given[i] = value
        if first is not None:
            given[0] = first
        args, kwargs = tree_unflatten(given, self.spec)
        return self.func(*args, **kwargs)


def _or_zeros(value: Any, tangent: Tensor | None) -> Tensor | None:
    """The tangent of an argument; zeros for a tensor that could have one."""
    if tangent is not None or not isinstance(value, Tensor) or value._a.dtype.kind not in "fcV":
        return tangent
    return value.detach().new_zeros(value.shape)


def _check_moves(ctx: FunctionCtx, args: tuple, given: list, outputs: list, moves: list) -> None:
    """Raise where a `jvp` does not do to tangents what `forward` does to memory."""
    for i, (out, tangent) in enumerate(zip(outputs, moves)):
        if tangent is None:
            continue
        fixed = any(out is n for n in ctx._non_differentiable)
        if fixed or not isinstance(out, Tensor) or out._a.dtype.kind not in "fcV":
            raise RuntimeError(
                f"The jvp function of a custom Function returned a tangent at position {i}, but the corresponding output "
                "of forward is not differentiable. You should return None at that position instead."
            )
        mine = next((j for j, a in enumerate(args) if a is out), None)
        if any(out is d for d in ctx._dirty):
            if mine is not None and (tangent is not given[mine][0] or tangent._version == given[mine][1]):
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
            continue
        if mine is None and out._base is not None:
            root = out._base
            mine = next((j for j, a in enumerate(args)
                         if isinstance(a, Tensor) and given[j][0] is not None and (a is root or a._base is root)), None)  # fmt: skip
        if mine is None:
            continue
        if tangent._base is None:
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
            )
        of = given[mine][0]._base
        if tangent._base is not (given[mine][0] if of is None else of):
            same_base = "of the given" if of is None else "of the same base as the given"
            raise RuntimeError(
                f"A custom Function is returning a view but the jvp is not returning a view {same_base} grad input."
            )


def _writes(name: str) -> bool:
    """Whether a function of that name changes its first argument."""
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))


def _aliases(outputs: list[Any], leaves: list[Tensor]) -> bool:
    """Whether a function gave views of its arguments."""
    roots = {id(leaf if leaf._base is None else leaf._base) for leaf in leaves}
    return any(isinstance(o, Tensor) and id(o._base) in roots for o in outputs)


def _laid_out(x: Tensor, like: Tensor) -> Tensor:
    """The numbers of `x` in memory ordered as that of `like`."""
    return x.detach().new_empty_strided(like.shape, like.stride()).copy_(x)


def _seen_as(whole: Tensor, view: Tensor, base: Tensor) -> Tensor:
    """The part of a tangent that belongs to a view of its tensor."""
    start = whole.storage_offset() + view.storage_offset() - base.storage_offset()
    return whole.as_strided(view.shape, view.stride(), start)


# -- what users call -------------------------------------------------------------------------------


def _current() -> _Level | None:
    return next((m for m in reversed(here.function_modes) if isinstance(m, _Level)), None)


def _level_of(number: int | None) -> _Level | None:
    """The level of that number; None where there is none."""
    if number:
        if number > 0:
            raise RuntimeError(f"Forward mode AD has one level, 0: there is no level {number}")
        return None
    return _current()


def enter_dual_level() -> int:
    """Let tensors carry tangents from here on, in this thread; `dual_level` is the same as a block.

    Returns:
        The number of the level, 0.

    Raises:
        RuntimeError: if there is a level already.

    Example:
        >>> torch.autograd.forward_ad.enter_dual_level()
        0
        >>> torch.autograd.forward_ad.exit_dual_level()
    """
    if _current() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _Level().__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level and forget all of its tangents.

    Args:
        level: its number; the current one if not given.

    Raises:
        RuntimeError: if there is no level.

    Example:
        >>> level = torch.autograd.forward_ad.enter_dual_level()
        >>> torch.autograd.forward_ad.exit_dual_level(level=level)
    """
    found = _current()
    if found is None:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    MODES.remove(found)
    here.function_modes = tuple(m for m in here.function_modes if m is not found)
    found.held.clear()


class dual_level(ContextDecorator):  # noqa: N801 - PyTorch's name
    """A block in which tensors may carry tangents.

    Example:
        >>> x, direction = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
        >>> with torch.autograd.forward_ad.dual_level():
        ...     y = torch.autograd.forward_ad.make_dual(x, direction) ** 3
        ...     torch.autograd.forward_ad.unpack_dual(y).tangent
        tensor([3., 0.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: Any) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent: another one over the same memory.

    Args:
        tensor, tangent: of one shape, of floating point or complex numbers.
        level: the number of the level; there is one, 0.

    Raises:
        RuntimeError: outside of a `dual_level`, for a tangent of another size, or for a tensor that has one.
        ValueError: if one of the two does not hold floating point or complex numbers.

    Example:
        >>> with torch.autograd.forward_ad.dual_level():
        ...     x = torch.autograd.forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     torch.autograd.forward_ad.unpack_dual(x * x)
        UnpackedDualTensor(primal=tensor(9.), tangent=tensor(6.))
    """
    found = _level_of(level)
    if found is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if found.get(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
            "0 is not supported."
        )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, "
            f"this is not supported. Tensor is of size {list(tensor.shape)} while the given forward "
            f"gradient is of size {list(tangent.shape)}."
        )
    if tangent.stride() != tensor.stride():
        tangent = tangent.clone() if tangent.requires_grad else _laid_out(tangent, tensor)
    dual = tensor.view_as(tensor)
    found.put(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor without its tangent, and the tangent.

    Args:
        tensor: any tensor.
        level: the number of the level; there is one, 0.

    Example:
        >>> with torch.autograd.forward_ad.dual_level():
        ...     x = torch.autograd.forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     torch.autograd.forward_ad.unpack_dual(x.sin()).tangent
        tensor(-0.9900)
    """
    found = _level_of(level)
    if found is None:
        return UnpackedDualTensor(tensor, None)
    tangent = found.get(tensor)
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    with DisableTorchFunction():
        primal = tensor.view_as(tensor)
    found.put(primal, None)
    return UnpackedDualTensor(primal, tangent)
