"""Operators that programs define: a Python function for each device, with a derivative of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .base.errors import NotYet
from .core.gradients.function import Function
from .core.tensor import Tensor
from .runtime.thread import here

_defined: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An operator that somebody wrote: one function, or one per device, and its derivative.

    Made by `custom_op`.

    Args:
        name: as `namespace::name`.
        fn: the function.
        mutates: names of the arguments that it writes into.
        devices: the device types that `fn` is for; None for all.

    Example:
        >>> @torch.library.custom_op("docs_a::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> double
        <CustomOpDef(docs_a::double)>
    """

    def __init__(self, name: str, fn: Callable, mutates: frozenset, devices: Any) -> None:
        self._qualname = name
        self._namespace, self._name = name.split("::")
        self._signature = inspect.signature(fn)
        self._mutates = mutates
        self._bodies: dict[str | None, Callable] = {}
        self._fake: Callable | None = None
        self._vmap: Callable | None = None
        self._function = _differentiable(self, None, None)
        self.__name__, self.__doc__ = self._name, fn.__doc__
        self.default = self._opoverload = self  # the only overload there is: `ops.mylib.name.default`
        self.register_kernel(devices, fn)

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
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        if here.grad and any(values[name].requires_grad for name in self._mutates):
            raise RuntimeError(f"{self._qualname} writes into a tensor that requires grad: detach it")
        return self._function.apply(*values.values())

    def _run(self, args: tuple) -> Any:
        tensors = [a for a in args if isinstance(a, Tensor)]
        kind = tensors[0].device.type if tensors else None
        body = self._fake if kind == "meta" else self._bodies.get(kind, self._bodies.get(None))
        if body is None and kind == "meta":
            raise RuntimeError(
                f"There was no fake impl registered for {self}. Please use "
                f"`{self._name}.register_fake` to add an fake impl."
            )
        if body is None:
            known = ", ".join(map(str, self._bodies))
            raise NotImplementedError(f"{self} is implemented for {known}, not for {kind} tensors")
        try:
            result = body(*args)
        except NotYet:  # such as a function in C++ for PyTorch; many operators have a plain one, too
            plain = self._bodies.get(None)
            if plain is None or body is plain or kind == "meta":
                raise
            result = plain(*args)
            self._bodies[kind] = plain
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        if any(o is t for o in outputs for t in tensors):
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
            if setup is not None:
                setup(ctx, inputs, output)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if backward is None:
                raise RuntimeError(
                    f"Trying to backward through {op._namespace}.{op._name}.default but no autograd "
                    "formula was registered. Please use register_autograd to add one."
                )
            return backward(ctx, *grads)

    if op._vmap is not None:
        RecordedOp.vmap = op._vmap  # type: ignore[assignment,method-assign]
    RecordedOp.__name__ = f"GeneratedBackwardFor_{op._namespace}_{op._name}_default"
    return RecordedOp
