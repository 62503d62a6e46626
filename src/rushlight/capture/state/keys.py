"""Which program a call asks for: the kinds of its tensors, and the switches that are on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base import dtypes
from ...base.config import settings
from ...base.device import get_default_device
from ...core.gradients.tape import AccumulateGrad
from ...core.tensor import Tensor
from ...core.views import NOWHERE, current_edge, is_behind
from ...runtime.thread import CASTING, GRAD, INFERENCE, here
from ..program.slots import apart, reach
from .kinds import isinstance_of
from .tree import Same, flatten


def signature(tensors: Sequence[Tensor]) -> tuple:
    """What of the arguments decides the program: everything but the values."""
    found: list[Any] = []
    seen: dict[int, int] = {}
    for i, t in enumerate(tensors):
        a = t._a
        found.append((t.__class__, a.__class__, a.shape, a.dtype, a.strides, role(t)))
        if t.__dict__:
            found.append(attributes(t))
        for thing in (t, a):  # one tensor twice is not two tensors over one array
            first = seen.setdefault(id(thing), i)
            if first != i:
                found.append((thing is t, first))
    return tuple(found)


def attributes(t: Tensor) -> Any:
    """What hangs on a tensor by names of the user's: numbers by type and value, other tensors by identity."""
    own = t.__dict__.items()
    return tuple([(k, Same(v) if isinstance_of(v, Tensor) else flatten(v, [])) for k, v in own])


def arguments_overlap(tensors: Sequence[Tensor]) -> bool:
    """Whether two of the arguments, other than one given twice, have bytes in common."""
    spans = {id(t._a): reach(t._a) for t in tensors}
    return not apart(spans, spans)


PLAIN, LEAF, RESULT, HOOKED, INFERRED, GUARDED, QUIET, PART = range(8)  # roles of a tensor in autograd


def role(t: Tensor) -> int:
    """Whether a tensor has no history, is a leaf that wants its gradient, a result of a graph, or a leaf with hooks."""
    edge, ext = t._edge, t._ext
    if ext is not None and ext.base is not None:
        if ext.made is None:
            edge = None if (found := current_edge(t)) is NOWHERE else found
        if ext.base._edge is not None:  # its base's history forbids writes
            if ext.made is not None:
                return QUIET if edge is None or is_behind(t) else PART
            if edge is None:
                return GUARDED
    if edge is None:
        return INFERRED if ext is not None and ext.inference else PLAIN
    node = edge[0]
    if not isinstance(node, AccumulateGrad):
        return RESULT
    return HOOKED if node.pre_hooks or node.post_hooks or node.hooks else LEAF


def mode() -> tuple:
    """The switches that change what an op does."""
    state = here.state & (GRAD | INFERENCE | CASTING)
    casts = here.casts
    if state & CASTING:
        switches: Any = (*casts.enabled.items(), *casts.dtype.items())
    else:  # what a block inside of the function would take
        usual = casts is None or casts.dtype == casts.usual
        switches = None if usual else tuple(casts.dtype.items())
    default = get_default_device()
    return state, dtypes.get_default_dtype(), default, switches, settings.numerics


def like_these(tensors: Sequence[Tensor]) -> Callable[[tuple], bool] | None:
    """A function that says whether arguments are as `tensors`, but for their values.

    It is written for them: comparing attribute by attribute in a loop takes twice as long.
    """
    if len({id(t._a) for t in tensors}) != len(tensors) or not tensors:
        return None
    if any(t.__dict__ for t in tensors):
        return None
    scope: dict[str, Any] = {"role": role, "mode": mode, "now": mode()}
    lines, parts = [], []
    for i, t in enumerate(tensors):
        a = t._a
        scope.update({f"c{i}": a.__class__, f"s{i}": a.shape, f"d{i}": a.dtype, f"r{i}": a.strides})
        scope[f"k{i}"] = t.__class__
        lines.append(f"    if t{i}.__class__ is not k{i} or t{i}.__dict__: return False")
        lines.append(f"    a{i} = t{i}._a")
        parts.append(f"a{i}.__class__ is c{i} and a{i}.shape == s{i} and a{i}.dtype is d{i} and a{i}.strides == r{i}")
        plain = t._edge is None and t._ext is None
        parts.append(f"t{i}._edge is None and t{i}._ext is None" if plain else f"role(t{i}) == {role(t)}")
        parts.extend(f"a{i} is not a{j}" for j in range(i))
    names = ", ".join(f"t{i}" for i in range(len(tensors)))
    variables = ", ".join(f"{n}={n}" for n in scope)
    source = (
        f"def like(args, {variables}):\n    if len(args) != {len(tensors)}: return False\n"
        f"    {names}, = args\n" + "\n".join(lines) + f"\n    return {' and '.join(parts)} "
        "and mode() == now\n"
    )
    scope["__name__"] = __name__  # whose code it is
    exec(compile(source, "<the last arguments>", "exec"), scope)
    return scope["like"]
