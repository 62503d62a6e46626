"""Writing into a tensor's memory: checks, version counters, and the graph of views and their base."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.arrays import Array, ArrayModule
from ..runtime import devices
from ..runtime.batch.arrays import BatchedArray
from ..runtime.door import KERNELS, Kernel, run
from ..runtime.facts import Facts
from ..runtime.sparse_array import sparse
from ..runtime.thread import CASTING, GRAD, PARTS, TAPE, here, swap
from ..runtime.wrapped import WrappedArray, answer
from .gradients.packing import Kept
from .gradients.tape import numbers
from .memory import partly_same
from .op import Op, OpNode
from .tensor import Tensor, tensor_over
from .views import check_made, current_edge, refresh_view, replay, steps_of, way


def _copy_into(xp: ArrayModule, dst: Array, src: Array) -> Any:
    xp.copyto(dst, src, casting="unsafe")
    return dst


SNAPSHOT = Kernel(
    "snapshot",
    lambda xp, x: x.copy(),
    moves_only=True,
    facts=Facts(range="kept", vmap="pointwise", aten="clone plain", onnx="unary Identity"),
)
# On "meta" nothing is copied: a network of any size can be made there to see its shapes.
COPY_INTO = Kernel(
    "copy_into", _copy_into, mutates=(0,), meta=lambda dst, src: dst, facts=Facts(aten="copy_ plain", onnx="write")
)


_NUMBERS = frozenset((int, float, bool, complex))

# Functions of one kernel, which may write straight into `t` where nothing is recorded; and whether their derivative
# needs no old values, so that they may do so always.
DIRECT: dict[Callable, bool] = {}


def check_apart(t: Tensor, *read: Any, wholly: bool = False) -> None:
    """Raise where PyTorch would refuse to write into `t` while it reads these; with `wholly` even at the same places."""
    for other in read:
        if isinstance(other, Tensor) and (wholly or other is not t) and partly_same(t._a, other._a, wholly):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def change(t: Tensor, fn: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """Replace `t`'s values by `fn(t, ...)`, in its own memory and in its graph."""
    if sparse.active and sparse.among(t, *args):
        return sparse.changed(t, fn, args, kwargs)
    check_writable(t)
    if not getattr(fn, "may_overlap", False):  # products, and what PyTorch makes of several others
        check_apart(t, *args, *kwargs.values())
    if here.state & CASTING:  # PyTorch casts no function that writes into its argument
        before = swap(CASTING, 0)
        try:
            return change(t, fn, *args, **kwargs)
        finally:
            swap(CASTING, before)
    if here.state & PARTS or (answer.active and made_of_others(t, *args)):
        # a recorder, or the class of a wrapper, sees the value and the copy
        here.changing = t._a
        try:
            return _change(t, fn, args, kwargs)
        finally:
            here.changing = None
    return _change(t, fn, args, kwargs)


def _offered(t: Tensor, fn: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """The answer of `fn`, whose kernel may write its result into the memory of `t`."""
    here.in_place = t._a
    here.offers.append(None)
    try:
        return fn(*args, **kwargs)
    finally:
        here.in_place = None
        here.offers.pop()


def made_of_others(*values: Any) -> bool:
    """Whether one of these is a tensor of a class that computes with the tensors it is made of."""
    return any(isinstance(v, Tensor) and v._a.__class__ is WrappedArray for v in values)


def _change(t: Tensor, fn: Callable[..., Tensor], args: tuple, kwargs: dict) -> Tensor:
    offers = here.changing is None and t._a.__class__ is not np.ndarray
    if here.state & TAPE != GRAD or (
        not answer.active and _no_history((t, *args, *kwargs.values()))
    ):  # there is no graph, and none begins
        if not offers or fn not in DIRECT:
            return write(t, fn(t, *args, **kwargs))
        r = _offered(t, fn, t, *args, **kwargs)
        if r._a is not t._a:
            return write(t, r)
        bump(t)
        return t
    # The function sees a stand-in with a version counter of its own, so that what its derivative
    # keeps of `t` can be distinguished, and copied before the new values overwrite it.
    start = next(numbers)
    before = tensor_over(t._a, t._a.__class__)
    before._a = t._a  # of a tensor made of others the very array: its class is told that it changes
    before._edge = current_edge(t)
    before._ver = [0]
    if offers and DIRECT.get(fn):
        r = _offered(t, fn, before, *args, **kwargs)
    else:
        r = fn(before, *args, **kwargs)
    if r._edge is not None:
        _keep_old_values(r._edge[0], before._ver, start)
    return write(t, r)


def _no_history(args: tuple) -> bool:
    """Whether no argument hangs on a graph: tensors of their own without one, and numbers."""
    for a in args:
        if a.__class__ is Tensor:
            if a._edge is not None or a._ext is not None:
                return False
        elif a.__class__ not in _NUMBERS:
            return False
    return True


def _keep_old_values(newest: Any, cell: list, start: int) -> None:
    """Let the nodes made since number `start` keep copies of what they saved under `cell`."""
    stack, seen = [newest], set()
    copies: dict[int, Any] = {}
    while stack:
        node = stack.pop()
        if node.seq <= start or node.seq in seen:
            continue
        seen.add(node.seq)
        stack.extend([e[0] for e in node.edges if e is not None])
        _copy_kept(node, cell, copies)


def _copy_kept(node: Any, cell: list, copies: dict[int, Any]) -> None:
    """Let a node keep copies of what it saved under `cell`, instead of memory that is about to change."""
    if not isinstance(node, OpNode):
        return
    saved, outputs = node.saved, node.outputs  # other things once they were let go
    kept = [*saved.items()] if isinstance(saved, dict) else []
    made = [*enumerate(outputs)] if isinstance(outputs, list) else []
    for held, places in ((saved, kept), (outputs, made)):
        for i, value in places:
            if value.__class__ is tuple and value[1] is cell and value[2] == cell[0]:
                a = value[0]
                if id(a) not in copies:
                    copies[id(a)] = run(SNAPSHOT, a.__class__, (a,), {})
                held[i] = (copies[id(a)], [0], 0)


_MOST_WAITING = 8  # nodes behind a version before those that are gone are looked for


def may_change(result: Tensor, *inputs: Tensor) -> Tensor:
    """The result of an op that reads its inputs in its derivative, where PyTorch's op keeps something else of them.

    So they may be overwritten before `backward`, and then the derivative gets copies: its node waits behind their
    version until somebody writes. Of ops whose *result* may change so, `result_may_change` says it.
    """
    if result._edge is not None:
        node = weakref.ref(result._edge[0])
        for cell in {id(t._ver): t._ver for t in inputs if t._ver is not None}.values():
            if len(cell) > _MOST_WAITING:
                cell[1:] = [other for other in cell[1:] if other() is not None]
            cell.append(node)
    return result


def _copy_for_others(t: Tensor) -> None:
    """Copy the values that `t` is about to lose for those nodes to which PyTorch's derivatives do not tie it."""
    cell, copies = t._ver, {}  # type: tuple[Any, dict[int, Any]]
    owner = t if t._ext is None or t._ext.base is None else t._ext.base
    edge = owner._edge
    if edge is not None and isinstance(edge[0], OpNode) and edge[0].op.result_may_change:
        _copy_kept(edge[0], cell, copies)
    if len(cell) > 1:
        waiting, cell[1:] = cell[1:], []
        for waits in waiting:
            node = waits()
            if isinstance(node, Kept):
                node.copy()
            else:
                _copy_kept(node, cell, copies)


def check_writable(t: Tensor, repeats: bool = False) -> None:
    """Raise before any damage when PyTorch would refuse an in-place operation on `t`.

    With `repeats` one place may stand for many elements: all of them get the same value.
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"in-place operations need a Tensor, not {type(t).__name__}")
    a = t._a
    if not repeats and 0 in a.strides and a.size:
        if any(step == 0 and size > 1 for size, step in zip(a.shape, a.strides)):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a "
                "single memory location. Please clone() the tensor before performing the operation."
            )
    ext = t._ext
    if ext is not None and ext.inference and ext.spec != () and not here.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed."
            "You can make a clone to get a normal tensor before doing inplace update."
        )
    if t._ver is not None:
        _copy_for_others(t)
    if here.state & TAPE != GRAD:
        return
    if ext is not None and ext.base is not None:
        if ext.base._edge is not None:
            check_made(t, "is being")
            if ext.base.is_leaf:
                raise RuntimeError(
                    "a view of a leaf Variable that requires grad is being used in an in-place operation."
                )
    elif t._edge is not None and t.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def write(t: Tensor, r: Tensor) -> Tensor:
    """Copy `r` into `t`'s memory and give `t` (and the base it views) `r`'s history."""
    if r._a.shape != t._a.shape:
        raise RuntimeError(f"output with shape {list(t._a.shape)} doesn't match the broadcast shape {list(r._a.shape)}")
    if r._a.dtype != t._a.dtype:
        check_cast(r, t)
        r = r.to(t.dtype)
    tracked = here.state & TAPE == GRAD
    if tracked and r._edge is not None and t._ext is not None:
        check_made(t, "is being")
    overwrite(t, r._a)
    if tracked:
        adopt_history(t, r)
    return t


def check_cast(r: Tensor, t: Tensor) -> None:
    """Raise where `t` cannot hold the kind of numbers that `r` has."""
    if r._a.dtype != t._a.dtype and not dtypes.can_cast(r.dtype, t.dtype):
        raise RuntimeError(
            f"result type {dtypes.title(r.dtype)} can't be cast to the desired output type {dtypes.title(t.dtype)}"
        )


def overwrite(t: Tensor, src: Any) -> None:
    """Change the values and raise the version."""
    if answer.active and WrappedArray in (src.__class__, t._a.__class__):
        answer.overwrite(t._a, src)
    elif src is not t._a:
        cls = BatchedArray if src.__class__ is BatchedArray else t._a.__class__
        run(COPY_INTO, cls, (t._a, src), {})
    bump(t)


def bump(t: Tensor, times: int = 1) -> None:
    """Raise the version of a tensor whose values changed, so that a backward that saved it notices."""
    if t._ver is None:
        t._ver = [0]
    t._ver[0] += times


def adopt_history(t: Tensor, r: Tensor) -> None:
    """Give `t` the history of `r`; where `t` is a view, its base gets it, too."""
    ext = t._ext
    if ext is not None and ext.base is not None:
        base = ext.base
        if r._edge is not None or base._edge is not None:
            before = tensor_over(base._a, base._a.__class__)
            before._edge = base._edge
            base._edge = _scattered_edge(before, r, way(t))
            _move_retainer(base)
            t._edge = None
            refresh_view(t)
            _move_retainer(t)
        return
    if r._edge is None and t._edge is None:
        return
    node = None if r._edge is None else r._edge[0]
    if isinstance(node, OpNode) and node.outputs:
        # The node kept r's own array as its result: t's memory holds the same values now.
        index = r._edge[1]
        node.outputs[index] = (t._a, t._ver, t._ver[0])
    t._edge = r._edge
    _move_retainer(t)


def _move_retainer(t: Tensor) -> None:
    """`retain_grad` asks for the gradient of the values `t` has at the end."""
    if t._ext is not None and t._ext.retains:
        t._ext.retains.remove()
        t._ext.retains = False
        if t._edge is not None:
            t.retain_grad()


def _scattered_edge(base: Tensor, part: Tensor, spec: Any) -> Any:
    """The edge of `base` after `part` was written where `spec` leads."""
    steps = steps_of(spec)
    mask = (1 if base._edge is not None else 0) | (2 if part._edge is not None else 0)
    out = tensor_over(base._a, base._a.__class__)
    # A view by strides reads memory: replayed on a gradient it needs memory laid out as the base's.
    layouts = [op.same_layout(base) for op, _ in steps if hasattr(op, "same_layout")]
    attrs = {"steps": steps, "layout": next((found for found in layouts if found), None)}
    COPY_SLICES.record(mask, (base, part), attrs, (out,), [base._edge, part._edge])
    return out._edge


def _copy_slices(xp: ArrayModule, base: Any, part: Any, *, steps: Any, layout: Any) -> Any:
    raise RuntimeError("copy_slices only exists on the tape")


COPY_SLICES = Op(_copy_slices, "copy_slices", grad_name="CopySlices", facts=Facts(refuses=True))


@COPY_SLICES.backward
def _copy_slices_backward(g: Tensor, needs: list[bool], steps: Any, layout: Any) -> tuple:
    if layout is not None and g._a.__class__ is BatchedArray:
        return _by_positions(g, needs, steps, layout)
    to_part = None
    if needs[1]:
        to_part = replay(g if layout is None else layout(g), steps)
    to_base = None
    if needs[0]:
        to_base = g.clone() if layout is None else layout(g)
        region = replay(to_base, steps)
        region.zero_()
    return to_base, to_part


def _by_positions(g: Any, needs: list[bool], steps: Any, layout: Any) -> tuple:
    """The same for gradients of samples, whose memory is that of all samples: where the part lies is asked of numbers."""
    cls = devices.backend_of(g.device).array_type
    range_ = {"start": 0, "step": 1, "size": (g._a.size,), "dtype": dtypes.int64}
    places: Any = tensor_over(run(KERNELS["arange"], cls, (), {**range_, "device": g.device}), cls)
    part = replay(layout(places.reshape(g.shape)), steps)
    flat, at = g.reshape(-1), part.reshape(-1)
    to_part = flat.index_select(0, at).reshape(part.shape) if needs[1] else None
    to_base = flat.index_fill(0, at, 0).reshape(g.shape) if needs[0] else None
    return to_base, to_part
