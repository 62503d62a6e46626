"""Hooks of a backward pass: the handles that take them away, how they are run, and what anomaly mode says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...runtime.batch.arrays import BatchedArray, samples
from ..changes import changes
from ..modes import switches

if TYPE_CHECKING:
    from .tape import Node


class RemovableHandle:
    """What `register_*_hook` returns: `.remove()` takes the hook away again.

    Example:
        >>> net = nn.Linear(2, 1)
        >>> handle = net.register_forward_hook(lambda module, args, out: print("called"))
        >>> _ = net(torch.ones(1, 2))
        called
        >>> handle.remove()
        >>> _ = net(torch.ones(1, 2))
    """

    _ids = itertools.count()

    def __init__(self, hooks_dict: dict, fn: Any = None, *, extra_dict: Any = None) -> None:
        self.id = next(self._ids)
        self.hooks = hooks_dict
        self.more = [extra_dict] if isinstance(extra_dict, dict) else extra_dict or ()
        if fn is not None:  # whoever makes handles of their own puts the hook there by `id`
            hooks_dict[self.id] = fn
        changes[0] += 1

    @property
    def hooks_dict_ref(self) -> Any:
        """A function that answers the table in which the hook is."""
        return lambda: self.hooks

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        changes[0] += 1
        for hooks in (self.hooks, *self.more):
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def _goes_last(pair: tuple[Any, Any]) -> bool:
    return getattr(pair[1], "goes_last", False)


def run_tensor_hooks(node: Node, gs: list[Any]) -> None:
    """What tensors were asked to call with their gradients, whether the node itself is to run or not."""
    leaf = getattr(node, "leaf", None)
    if leaf is not None and getattr(gs[0], "_a", None).__class__ is BatchedArray:
        gs[0] = samples.summed(gs[0], leaf())
    hooks = list(node.pre_hooks.values())
    # `retain_grad` keeps the gradient after all other hooks have changed it.
    hooks.sort(key=_goes_last)
    for index, hook in hooks:
        if index is not None and gs[index] is not None:
            replaced = hook(gs[index])
            if replaced is not None:
                _check_replaced(hook, gs[index], replaced)
                gs[index] = replaced


def run_node_hooks(node: Node, gs: list[Any]) -> None:
    """What the node was asked to call before it runs."""
    for index, hook in list(node.pre_hooks.values()):
        replaced = hook(tuple(gs)) if index is None else None
        if replaced is not None:
            _check_all(hook, gs, replaced)
            gs[:] = replaced


def _check_all(hook: Callable[..., Any], gs: Sequence[Any], replaced: Any) -> None:
    """Refuse what a node's hook returned, if it does not fit the gradients that it was shown."""
    if not isinstance(replaced, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(replaced).__name__}'")
    if len(replaced) != len(gs):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(replaced)}, but expected {len(gs)})"
        )
    for g, new in zip(gs, replaced):
        if new is not None and g is None:
            raise RuntimeError("can't replace a None gradient with a non-None value")
        if new is not None:
            _check_replaced(hook, g, new)


def _check_replaced(hook: Callable[..., Any], g: Any, replaced: Any) -> None:
    if not hasattr(replaced, "_a"):
        raise TypeError(f"expected Variable, but hook returned '{type(replaced).__name__}'")
    name = getattr(hook, "__name__", type(hook).__name__)
    if replaced.is_sparse is not g.is_sparse:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {g.type()} got {replaced.type()})")
    if replaced._a.shape != g._a.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    if replaced.dtype != g.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {g.dtype} got {replaced.dtype})")


def run_hooks(node: Node, results: Sequence[Any], gs: list[Any]) -> Sequence[Any]:
    for hook in list(node.hooks.values()):
        replaced = hook(tuple(results), tuple(gs))
        if replaced is not None:
            _check_all(hook, results, replaced)
            results = replaced
    return results


def _lines(node: Node) -> str:
    """The forward call that made a node, as a traceback shows it."""
    if node.where is None:
        return "not known: it was made outside of anomaly mode"
    from traceback import format_list

    return "".join(format_list(node.where))


def watched(node: Node, gs: list[Any]) -> Sequence[Any]:
    """A node's gradients; an error in its derivative also names the line of the forward call."""
    try:
        return node.apply(gs)
    except Exception as error:
        error.add_note(f"Error detected in {node.name()}. The forward call that made it was:\n{_lines(node)}")
        raise


def check_nan(node: Node, results: Sequence[Any]) -> None:
    if not switches.check_nan:
        return
    for i, g in enumerate(results):
        if g is None or not (g.is_floating_point() or g.is_complex()):
            continue
        if bool(g.isnan().any()):
            error = RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
            error.add_note(f"The forward call that made it was:\n{_lines(node)}")
            raise error
