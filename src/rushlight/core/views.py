"""Tensors that share memory: what a view knows of its base, and how it finds its history again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..runtime.thread import GRAD, TAPE, here
from .modes import enable_grad

if TYPE_CHECKING:
    from .op import Op
    from .tensor import Tensor

Steps = tuple[tuple["Op", dict], ...]  # view operations and their attributes, first one first


RESHAPED = (
    "reshaped",
)  # the spec of a base that `squeeze_`, `t_` or their like gave another shape


class Extra:
    """What only some tensors have: a base they view, hooks, a wish to keep their gradient."""

    __slots__ = ("base", "spec", "edge_version", "retains", "inference", "no_grad_view", "frozen")

    base: Any  # the tensor whose memory this one views
    frozen: Any  # the edge with its hooks, of a leaf that wants no gradient for now; most have none
    spec: Any  # (op, attrs, parent spec): the way from the base to here; () without a base: may be written

    def __init__(self) -> None:
        self.base = self.spec = None
        self.edge_version = 0
        self.retains: Any = False  # the handle of the hook that keeps the gradient
        self.inference = self.no_grad_view = False


def extra(t: Tensor) -> Extra:
    if t._ext is None:
        t._ext = Extra()
    return t._ext


def mark_view(t: Tensor, source: Tensor, op: Any, attrs: dict) -> None:
    """Note that `t` shares the memory of `source`: one version counter, one base."""
    if source._ver is None:
        source._ver = [0]
    t._ver = source._ver
    ext = extra(t)
    parent = source._ext
    if parent is None or parent.base is None:
        ext.base = source
        ext.spec = (op, attrs, None)
    else:
        ext.base = parent.base
        ext.spec = (op, attrs, parent.spec)
    ext.edge_version = t._ver[0]
    ext.no_grad_view = here.state & TAPE != GRAD
    ext.inference = parent is not None and parent.inference  # as the memory that it shows


def mark_detached(t: Tensor) -> None:
    """Note that `t` shows an inference tensor's memory; taken outside of the mode it may be written, as PyTorch's."""
    ext = extra(t)
    ext.inference = True
    if not here.inference:
        t._ver, ext.spec = [0], ()


def current_edge(t: Tensor) -> Any:
    """The edge to the node that made `t`; a view whose base was changed in place finds its new one."""
    ext = t._ext
    if ext is not None and ext.base is not None and ext.edge_version != t._ver[0]:
        refresh_view(t)
    return t._edge


def refresh_view(t: Tensor) -> None:
    """Take the view's edge anew from its base, whose history has changed."""
    ext = extra(t)
    base = ext.base
    if current_edge(base) is None:
        return  # and is looked at again: the base may want gradients later
    ext.edge_version = t._ver[0]
    if ext.no_grad_view:
        return
    with enable_grad():
        t._edge = replay(base, steps_of(way(t)))._edge


def way(t: Tensor) -> Any:
    """The spec of a view; by strides, where its base was given another shape in place since."""
    ext = extra(t)
    base = ext.base
    if base._ext is not None and base._ext.spec is RESHAPED:
        seen = base.as_strided(tuple(t.shape), t.stride(), t.storage_offset())
        ext.spec = seen._ext.spec
    return ext.spec


def steps_of(spec: Any) -> Steps:
    """The view operations from the base to a view, first one first."""
    steps = []
    while spec is not None:
        op, attrs, spec = spec
        steps.append((op, attrs))
    return tuple(reversed(steps))


def replay(base: Tensor, steps: Steps) -> Tensor:
    """Apply recorded view operations to another tensor."""
    for op, attrs in steps:
        base = op(base, **attrs)
    return base
