"""Tensors that share memory: what a view knows of its base, and how it finds its history again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..runtime.thread import GRAD, TAPE, here
from .gradients.tape import AccumulateGrad
from .modes import enable_grad

if TYPE_CHECKING:
    from .op import Op
    from .tensor import Tensor

Steps = tuple[tuple["Op", dict], ...]  # view operations and their attributes, first one first


# What was made of a view wants gradients as soon as its base does, and none arrives where no graph knew of the view: it was
# taken without one, or its base became a leaf later. The edge of such a view ends in a leaf that is gone.
NOWHERE: Any = (AccumulateGrad(frozenset()), 0)  # type: ignore[arg-type]
RESHAPED = ("reshaped",)  # the spec of a base that `squeeze_`, `t_` or their like gave another shape


class Extra:
    """What only some tensors have: a base they view, hooks, a wish to keep their gradient."""

    __slots__ = ("base", "spec", "edge_version", "retains", "inference", "made", "frozen")

    base: Any  # the tensor whose memory this one views
    frozen: Any  # the edge with its hooks, of a leaf that wants no gradient for now; most have none
    spec: Any  # (op, attrs, parent spec): the way from the base to here; () without a base: may be written

    def __init__(self) -> None:
        self.base = self.spec = None
        self.edge_version = 0
        self.retains: Any = False  # the handle of the hook that keeps the gradient
        self.inference = False
        self.made: str | None = None  # how, where PyTorch refuses writes that have a history: `REFUSED`


def extra(t: Tensor) -> Extra:
    if t._ext is None:
        t._ext = Extra()
    return t._ext


def mark_view(t: Tensor, source: Tensor, op: Any, attrs: dict, made: str | None = None) -> None:
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
    if here.inference:
        ext.made = "inference"
    elif here.state & TAPE != GRAD:
        ext.made = "no_grad"
    else:
        ext.made = made or (None if parent is None else parent.made)
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
    if ext is not None and ext.base is not None and is_behind(t):
        refresh_view(t)
    if t._edge is None and ext is not None and ext.base is not None and ext.base._edge is not None:
        return NOWHERE
    return t._edge


def is_behind(t: Tensor) -> bool:
    """Whether the memory of a view was written since its edge was found."""
    return t._ext.edge_version != t._ver[0]


def refresh_view(t: Tensor) -> None:
    """Take the view's edge anew from its base, whose history has changed."""
    ext = extra(t)
    base = ext.base
    if current_edge(base) is None:
        return  # and is looked at again: the base may want gradients later
    check_made(t, "its base or another view of its base has been")
    with enable_grad():
        t._edge = replay(base, steps_of(way(t)))._edge
    ext.edge_version = t._ver[0]


_SIDES = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
    "both the view and the inplace either both inside the {0} block (if you don't want the inplace to be tracked) "
    "or both outside (if you want the inplace to be tracked)."
)
REFUSED = {
    "no_grad": _SIDES.format("no_grad"),
    "inference": _SIDES.format("inference_mode"),
    "many": " This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    "function": " This view was created inside a custom Function (or because an input was returned as-is) and the "
    "autograd logic to handle view+inplace would override the custom backward associated with the custom Function, "
    "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the "
    "custom Function.",
}


def check_made(t: Tensor, written: str) -> None:
    """Refuse to go on with a view that was written, or whose base was, where it was made in such a way."""
    made = extra(t).made
    if made is None:
        return
    told = ""
    if t._edge is not None:
        name = t._edge[0].name().rstrip("0123456789").removesuffix("Backward")
        told = f"Output {t._edge[1]} of {name} is a view"
    if not told or made in ("no_grad", "inference"):
        mode, end = ("inference", "in normal mode") if made == "inference" else ("no_grad", "with grad mode enabled")
        begin = f"{told} of a view which was created in" if told else "A view was created in"
        told = f"{begin} {mode} mode and {written} modified inplace {end}."
    else:
        told = f"{told} and {written} modified inplace."
    raise RuntimeError(told + REFUSED[made])


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
