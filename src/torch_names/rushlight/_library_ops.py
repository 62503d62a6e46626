"""Operators that programs define: a Python function for each device, with a derivative of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from . import ops
from .base.errors import NotYet
from .base.trees import tree_leaves
from .core.gradients.function import Function
from .core.tensor import Tensor
from .runtime.thread import here

_defined: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An operator that somebody wrote: one function, or one per device, and its derivative.

    Made by `custom_op` of a function, by `define` of a schema.

    Args:
        name: as `namespace::name`.

    Example:
        >>> @torch.library.custom_op("docs_a::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> double
        <CustomOpDef(docs_a::double)>
    """

    def __init__(self, name: str) -> None:
        self._qualname = name
        self._namespace, self._name = name.split("::")
        self._signature: inspect.Signature | None = None  # none yet: a function may come before the schema
        self._mutates: frozenset = frozenset()
        self._schema = ""
        self._bodies: dict[str | None, Callable] = {}
        self._fake: Callable | None = None
        self._vmap: Callable | None = None
        self._implicit: Callable | None = None  # computes by operators that have derivatives of their own
        self._function = _differentiable(self, None, None)
        self.__name__ = self._name
        self.default = self._opoverload = self  # the only overload there is: `ops.mylib.name.default`

    def _define(self, signature: inspect.Signature, mutates: frozenset) -> CustomOpDef:
        """Say what it takes and writes into, and let `ops` have it."""
        self._signature, self._mutates = signature, mutates
        ops.register(self._namespace, self._name, self)
        return self

    def register_kernel(self, device_types: Any, fn: Callable | None = None, /) -> Callable:
        """The implementation for one or several device types; None is for all that have no other."""
        if fn is None:
            return lambda given: self.register_kernel(device_types, given)
        kinds = [device_types] if device_types is None or isinstance(device_types, str) else device_types
        self._bodies.update(dict.fromkeys(kinds, fn))
        return fn

    def register_fake(self, fn: Callable, /) -> Callable:
        """The implementation for `meta` tensors: what the result looks like, without values."""
        self._fake = fn
        return fn

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """The derivative: `backward(ctx, *grads)`; `setup_context(ctx, inputs, output)` keeps what it needs."""
        self._function = _differentiable(self, backward, setup_context)

    def register_vmap(self, func: Callable | None = None, /) -> Any:
        """The rule under `vmap`: `func(info, in_dims, *args)` gives all samples' outputs and their dims."""
        if func is None:
            return self.register_vmap
        self._vmap = self._function.vmap = func
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._bound(*args, **kwargs)
        if self._implicit is not None:
            return self._implicit(*bound.args, **bound.kwargs)
        if here.grad and any(t.requires_grad for t in self._written(args, kwargs)):
            raise RuntimeError(f"{self._qualname} writes into a tensor that requires grad: detach it")
        return self._function.apply(*bound.args, *bound.kwargs.values())

    def _bound(self, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
        assert self._signature is not None  # it is in `ops`
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound

    def _written(self, args: tuple, kwargs: dict[str, Any]) -> list[Tensor]:
        values = self._bound(*args, **kwargs).arguments
        return [t for name in self._mutates for t in tree_leaves(values[name]) if isinstance(t, Tensor)]

    def _split(self, values: tuple) -> tuple[tuple, dict[str, Any]]:
        """What goes by position and what by keyword alone, of the values of all arguments."""
        assert self._signature is not None
        by_keyword = [p.name for p in self._signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        first = len(values) - len(by_keyword)
        return values[:first], dict(zip(by_keyword, values[first:], strict=True))

    def _less_defaults(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """What its functions are called with: they may lack the last arguments, where those have their defaults."""
        assert self._signature is not None
        default = [p.default for p in self._signature.parameters.values()]
        while args and args[-1] is default[len(args) - 1]:
            args = args[:-1]
        named = self._signature.parameters
        return args, {name: value for name, value in kwargs.items() if value is not named[name].default}

    def _run(self, values: tuple) -> Any:
        args, kwargs = self._less_defaults(*self._split(values))
        tensors = [a for a in tree_leaves(values) if isinstance(a, Tensor)]
        kind = tensors[0].device.type if tensors else None
        body = self._fake if kind == "meta" else self._bodies.get(kind, self._bodies.get(None))
        if body is None and kind == "meta":
            raise RuntimeError(
                f"There was no fake impl registered for {self}. Please use "
                f"`{self._name}.register_fake` to add an fake impl."
            )
        if body is None:
            known = ", ".join(map(str, self._bodies)) or "nothing"
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the '{str(kind or 'cpu').upper()}' backend: "
                f"it is implemented for {known}."
            )
        try:
            result = body(*args, **kwargs)
        except NotYet:  # such as a function in C++ for PyTorch; many operators have a plain one, too
            plain = self._bodies.get(None)
            if plain is None or body is plain or kind == "meta":
                raise
            result = plain(*args, **kwargs)
            self._bodies[kind] = plain
        if not self._schema and any(o is t for o in tree_leaves(result) for t in tensors):
            raise RuntimeError(
                f"{self._name}: The output of this custom operator (1) must not also be an input to "
                "this custom operator and (2) may not alias any inputs to this custom operator or "
                "other returns. Please instead return a clone of the offending output tensor(s)."
            )
        return result

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def _differentiable(op: CustomOpDef, backward: Any, setup: Any) -> Any:
    """The operator on the tape: what it does inside is not recorded, its derivative is what was given."""

    class RecordedOp(Function):
        @staticmethod
        def forward(*args: Any) -> Any:
            return op._run(args)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
            args, kwargs = op._split(inputs)
            ctx.mark_dirty(*(t for t in tree_leaves(output) if any(t is w for w in op._written(args, kwargs))))
            if setup is not None:
                named = {"keyword_only_inputs": kwargs} if kwargs else {}
                setup(ctx=ctx, inputs=args, output=output, **named)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if backward is None:
                raise RuntimeError(
                    f"Trying to backward through {op._namespace}.{op._name}.default but no autograd "
                    "formula was registered. Please use register_autograd to add one."
                )
            found = backward(ctx, *grads)
            by_keyword = op._split(tuple(op._signature.parameters))[1]  # type: ignore[union-attr]
            return (*(found if isinstance(found, tuple) else (found,)), *[None] * len(by_keyword))

    if op._vmap is not None:
        RecordedOp.vmap = op._vmap  # type: ignore[assignment,method-assign]
    RecordedOp.__name__ = f"GeneratedBackwardFor_{op._namespace}_{op._name}_default"
    return RecordedOp
