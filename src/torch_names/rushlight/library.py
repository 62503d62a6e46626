"""`torch.library` for Python: `custom_op` makes an operator of a function and puts it into `rushlight.ops`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._library_ops import CustomOpDef, _defined
from .core.tensor import Tensor

__all__ = [
    "CustomOpDef", "custom_op", "register_autograd", "register_fake", "register_kernel", "register_vmap",
    "triton_op", "wrap_triton",
]  # fmt: skip


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operator `namespace::name` of a Python function on tensors; also a decorator.

    `schema` and `tags` are for PyTorch's dispatcher: names and defaults are those of the function.

    Args:
        name: as `namespace::name`.
        fn: the function, of annotated arguments; what it returns must not share memory with them.
        mutates_args: names of the arguments that it writes into.
        device_types: the device types that it is for; all if not given.

    Raises:
        ValueError: if the name is not of that form.

    Example:
        >>> @torch.library.custom_op("docs_b::cube", mutates_args=())
        ... def cube(x: torch.Tensor) -> torch.Tensor:
        ...     return torch.from_numpy(x.numpy(force=True) ** 3)
        >>> cube.register_autograd(
        ...     lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g,
        ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
        ... )
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.ops.docs_b.cube(x).sum().backward()
        >>> x.grad
        tensor([ 3., 12.])
    """
    if fn is None:
        return lambda given: custom_op(
            name, given, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    if name.count("::") != 1:
        raise ValueError(f"custom_op(): expected a name of the form namespace::name, got {name!r}")
    mutates = frozenset([mutates_args] if isinstance(mutates_args, str) else mutates_args)
    op = _defined[name] = CustomOpDef(name)._define(inspect.signature(fn), mutates)
    op.register_kernel(device_types, fn)
    op.__doc__ = fn.__doc__
    return op


def triton_op(
    name: str, fn: Callable | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> Any:
    """Make an operator of a function that launches Triton's kernels; as `custom_op`, and `fn` serves `meta` tensors too.

    Args:
        name: as `namespace::name`.
        fn: the function; the kernels that it launches go through `wrap_triton`.
        mutates_args: names of the arguments that it writes into.
        schema: for PyTorch's dispatcher.

    Example:
        >>> @torch.library.triton_op("docs_e::copied", mutates_args={})
        ... def copied(x: torch.Tensor) -> torch.Tensor:
        ...     return torch.empty_like(x).copy_(x)  # or wrap_triton(kernel)[grid](x, out, x.numel())
        >>> torch.ops.docs_e.copied(torch.ones(2))
        tensor([1., 1.])
    """
    if fn is None:
        return lambda given: triton_op(name, given, mutates_args=mutates_args, schema=schema)
    op = custom_op(name, fn, mutates_args=mutates_args, schema=schema)
    op.register_fake(fn)
    return op


def wrap_triton(triton_kernel: Any, /) -> Any:
    """A kernel of Triton for use inside a `triton_op`: it is launched as it is, and not at all on `meta` tensors.

    Args:
        triton_kernel: a function under `triton.jit` or `triton.autotune`.

    Raises:
        RuntimeError: if it is not one.

    Example:
        >>> try:
        ...     torch.library.wrap_triton(print)
        ... except RuntimeError as error:
        ...     print(error)
        wrap_triton only works on functions annotated with triton.jit or triton.autotune
    """
    if not type(triton_kernel).__module__.startswith("triton."):
        raise RuntimeError("wrap_triton only works on functions annotated with triton.jit or triton.autotune")
    return _Launched(triton_kernel)


class _Launched:
    """What `wrap_triton` gives."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        def launch(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(a, Tensor) and a.is_meta for a in (*args, *kwargs.values())):
                return None
            return self.kernel[grid](*args, **kwargs)

        return launch


def _known(op: Any) -> CustomOpDef:
    if not isinstance(op, CustomOpDef) and (op not in _defined or _defined[op]._signature is None):
        raise RuntimeError(f"operator {op} does not exist: define it with custom_op or define first")
    return op if isinstance(op, CustomOpDef) else _defined[op]


def register_fake(op: Any, fn: Callable | None = None, /, *, lib: Any = None, allow_override: bool = False) -> Any:
    """Say what an operator's result looks like, without values: `CustomOpDef.register_fake` by the operator or its name.

    Args:
        op: the operator, or its name.
        fn: the function for `meta` tensors; without it, the result is a decorator.
        lib: the library whose operator it is.
        allow_override: let it take the place of an earlier one.

    Raises:
        RuntimeError: if there is no such operator, or if it has such a function and may not get another.

    Example:
        >>> @torch.library.custom_op("docs_c::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> @torch.library.register_fake("docs_c::double")
        ... def _(x):
        ...     return torch.empty_like(x)
        >>> double(torch.empty(3, device="meta")).shape
        torch.Size([3])
    """
    known = _known(op if lib is None or not isinstance(op, str) or "::" in op else f"{lib.ns}::{op}")
    if lib is not None and known._fake is not None and not allow_override:
        raise RuntimeError(
            "register_fake(...): the operator already has a fake implementation: pass allow_override=True"
        )
    return known.register_fake if fn is None else known.register_fake(fn)


def register_kernel(op: Any, device_types: Any, fn: Callable | None = None, /) -> Any:
    """Give an operator another function for a device: `CustomOpDef.register_kernel` by the operator or its name.

    Args:
        op: the operator, or its name.
        device_types: one or several, such as "cuda".
        fn: the function; without it, the result is a decorator.

    Raises:
        RuntimeError: if there is no such operator.

    Example:
        >>> @torch.library.custom_op("docs_d::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> @torch.library.register_kernel("docs_d::double", "cuda")
        ... def _(x):
        ...     return x + x
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """
    return _known(op).register_kernel(device_types, fn)


def register_autograd(op: Any, backward: Callable, /, *, setup_context: Any = None) -> None:
    """Give an operator its derivative: `CustomOpDef.register_autograd` by the operator or its name.

    Args:
        op: the operator, or its name.
        backward: `backward(ctx, *grads)` returns a gradient for each input.
        setup_context: `setup_context(ctx, inputs, output)` keeps what it needs.

    Raises:
        RuntimeError: if there is no such operator.

    Example:
        >>> @torch.library.custom_op("docs_e::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> torch.library.register_autograd("docs_e::double", lambda ctx, g: g * 2)
        >>> x = torch.ones(2, requires_grad=True)
        >>> double(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """
    _known(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Callable | None = None, /) -> Any:
    """Give an operator its rule under `vmap`: `CustomOpDef.register_vmap` by the operator or its name.

    Args:
        op: the operator, or its name.
        func: `func(info, in_dims, *args)` returns the outputs for all samples, and their dims; without it, a decorator.

    Raises:
        RuntimeError: if there is no such operator.

    Example:
        >>> @torch.library.custom_op("docs_f::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> @torch.library.register_vmap("docs_f::double")
        ... def _(info, in_dims, x):
        ...     return double(x), in_dims[0]
        >>> torch.vmap(double)(torch.ones(2))
        tensor([2., 2.])
    """
    return _known(op).register_vmap(func)


def __getattr__(name: str) -> Any:
    if name in ("Library", "define", "impl"):
        from . import _library_fragments

        return getattr(_library_fragments, name)
    if name == "opcheck":
        from ._library_checks import opcheck

        return opcheck
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
