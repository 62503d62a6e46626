"""Calling a module with other tensors in place of its own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.tensor import Tensor
from ..modules.module import Module
from ._named_member_accessor import NamedMemberAccessor

__all__ = ["NamedMemberAccessor", "functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """As `torch.func.functional_call`, under its old name; deprecated."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_with(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def call_with(
    module: Module,
    parameters_and_buffers: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its own parameters and buffers.

    Args:
        module: the module; it stays as it is.
        parameters_and_buffers: tensors by dotted path, or several such dicts.
        args: positional arguments, a tuple or one value.
        kwargs: keyword arguments.
        tie_weights: a tensor also stands for other names of the same parameter.
        strict: raise an error if names are missing or not known.

    Returns:
        what `module(*args, **kwargs)` returns with these tensors.

    Raises:
        RuntimeError: if `strict` is True and names do not match.

    Example:
        >>> net = nn.Linear(2, 1, bias=False)
        >>> weight = torch.tensor([[1.0, 10.0]])
        >>> torch.func.functional_call(net, {"weight": weight}, torch.ones(1, 2))
        tensor([[11.]])
    """
    tensors = _merged(parameters_and_buffers)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, tensors, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


def _merged(given: Any) -> dict[str, Tensor]:
    if isinstance(given, dict):
        return given
    if not isinstance(given, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
        )
    merged: dict[str, Tensor] = {}
    for part in given:
        twice = merged.keys() & part.keys()
        if twice:
            raise ValueError(
                f"{sorted(twice)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        merged.update(part)
    return merged


def _with_ties(named: dict[str, Tensor], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors, also under the other names of the same parameters."""
    by_id: dict[int, list[str]] = {}
    for name, t in named.items():
        by_id.setdefault(id(t), []).append(name)
    full = dict(tensors)
    for names in by_id.values():
        given = [n for n in names if n in tensors]
        if len({id(tensors[n]) for n in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        if given:
            full.update({n: tensors[given[0]] for n in names if n not in tensors})
    return full


@contextlib.contextmanager
def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """Replace the module's tensors inside the block, and put its own back at the end, the last first.

    What the module itself put in place of one of them is in the dict then.
    """
    tensors, members = parameters_and_buffers, NamedMemberAccessor(module)
    if tie_weights:
        tensors = _with_ties(dict(members.named_tensors(remove_duplicate=False)), tensors)
    if strict:
        missing, unexpected = members.check_keys(tensors)
        parts = [
            f"{kind} key(s): {', '.join(map(repr, keys))}."
            for kind, keys in (("Unexpected", unexpected), ("Missing", missing))
            if keys
        ]
        if parts:
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(parts))
    before, _ = members.swap_tensors_dict(tensors, allow_missing=True)
    try:
        yield
    finally:
        after, _ = members.swap_tensors_dict(dict(reversed(before.items())), allow_missing=True)
        parameters_and_buffers.update({k: after[k] for k in parameters_and_buffers if k in after})
