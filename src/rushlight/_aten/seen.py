"""TorchDispatchMode at the door: kernels are shown as calls of inner operators, and what it answers is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor, tensor_over
from ..runtime import devices, door
from ..runtime.thread import GRAD, here, swap
from .calls import Written, written
from .names import operator


class Pending:
    """An operator that a mode is asked about, and how it is computed when the mode calls it as it came."""

    def __init__(self, call: Written, compute: Callable[[], Any]) -> None:
        self.call, self.compute = call, compute

    def is_call(self, func: Any, args: tuple, kwargs: dict) -> bool:
        """Whether a call is the one that came: the same operator and the very same arguments."""
        func0, args0, kwargs0, _ = self.call
        return (
            func is func0
            and len(args) == len(args0)
            and kwargs.keys() == kwargs0.keys()
            and all(a is b for a, b in zip(args, args0))
            and all(kwargs[n] is kwargs0[n] for n in kwargs)
        )


class Seer:
    """A listener at the door that asks one mode."""

    asks = True  # tensors made of others are shown to it before their classes are asked
    wants_parts = True  # of what one kernel could compute: PyTorch's operators are the parts

    def __init__(self, mode: Any) -> None:
        self.mode = mode
        self.below = here.listeners  # modes that were entered before are asked when this one computes
        self.written_later: Any = None  # memory that an in-place operation is about to write

    def __call__(
        self, kernel: door.Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        if kernel.name in _UNSEEN or self._is_second_half(kernel, arrays):
            return call()
        inputs = [tensor_over(a, a.__class__) if devices.is_array(a) else a for a in arrays]
        parts = parts_of(kernel)
        if parts is not None:
            return parts(self.ask, *inputs, **attrs)._a
        shown = self._in_place(arrays, self._written(kernel.name, inputs, attrs))
        raw: list[Any] = []

        def compute() -> Any:
            raw.append(call())
            return _shown(raw[-1], shown)

        answer = self.ask(shown, compute)
        if kernel.mutates:
            return raw[-1] if raw else None
        return _arrays(answer, shown)

    def ask(self, call: Written | str, compute: Any = None, *args: Any) -> Any:
        """What the mode answers for one operator; ops that it calls are not shown to it again."""
        if isinstance(call, str):  # a part, computed by its public function
            part = Written(operator(call), (compute, *args), {})
            return self.ask(part, lambda: part.func._overloadpacket._body(*part.args))  # type: ignore[misc]
        kinds = tuple({type(a) for a in call.args if isinstance(a, Tensor)} - {Tensor})
        listeners, pending = here.listeners, here.dispatching
        before = swap(GRAD, 0)  # the operator that came is put on the tape, not what computes it
        door._listen(self.below)
        here.dispatching = Pending(call, compute)
        try:
            return self.mode.__torch_dispatch__(call.func, kinds, call.args, call.kwargs)
        finally:
            here.dispatching = pending
            door._listen(listeners)
            swap(GRAD, before)

    def _written(self, kernel: str, inputs: Sequence[Any], attrs: dict) -> Written:
        listeners = here.listeners
        door._listen(())  # what describes a call is no operator of the program
        try:
            return written(kernel, inputs, attrs)
        finally:
            door._listen(listeners)

    def _in_place(self, arrays: Sequence[Any], shown: Written) -> Written:
        """The first half of an in-place operation has its name; the second half, the copy, is not shown."""
        target = here.changing
        if target is None or not arrays or arrays[0] is not target or shown.func.namespace != "aten":
            return shown
        self.written_later = target
        packet, overload = shown.func._overloadpacket, shown.func._overloadname
        return shown._replace(func=operator(f"{packet.__name__}_.{overload}"))

    def _is_second_half(self, kernel: door.Kernel, arrays: Sequence[Any]) -> bool:
        if kernel.name != "copy_into" or self.written_later is None:
            return False
        target, self.written_later = self.written_later, None
        return arrays[0] is target


# What a program does not do: looking at values to raise an error, and memory for the engine.
_UNSEEN = frozenset(("check", "drawn", "lay_out"))


def _shown(raw: Any, call: Written) -> Any:
    """A kernel's results as the operator returns them."""
    if isinstance(raw, tuple):
        outs = tuple([tensor_over(a, a.__class__) if devices.is_array(a) else a for a in raw])
        return (None, *outs) if call.place is None and call.func.__name__ == _CONV_GRADS else outs
    out = tensor_over(raw, raw.__class__) if devices.is_array(raw) else raw
    if raw is None and call.args:
        return call.args[0]
    if call.place is None:
        return out
    which, count = call.place
    return tuple([out if i == which else None for i in range(count)])


_CONV_GRADS = "convolution_backward.default"


def _arrays(answer: Any, call: Written) -> Any:
    """What the mode answered as the kernel's results."""
    if call.place is not None:
        answer = answer[call.place[0]]
    elif isinstance(answer, tuple | list) and call.func.__name__ == _CONV_GRADS:
        answer = answer[1:]
    if isinstance(answer, tuple | list):
        return tuple([a._a if isinstance(a, Tensor) else a for a in answer])
    return answer._a if isinstance(answer, Tensor) else answer


# -- kernels that are several operators ------------------------------------------------------------


def _linear(ask: Any, x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    if x.dim() == 2:
        turned = ask("t.default", w)
        return ask("mm.default", x, turned) if b is None else ask("addmm.default", b, x, turned)
    rows, size = [x.shape[:-1].numel(), x.shape[-1]], [*x.shape[:-1], w.shape[0]]
    if b is None:
        turned = ask("t.default", w)
        out = ask("mm.default", ask("view.default", x, rows), turned)
        return ask("_unsafe_view.default", out, size)
    flat = ask("view.default", x, rows)
    return ask("view.default", ask("addmm.default", b, flat, ask("t.default", w)), size)


def _window(ask: Any, x: Tensor, index: tuple) -> Tensor:
    """Positions, ranges and new dims from the first dim to the last."""
    dim = 0
    for place in index:
        if place is None:
            x = ask("unsqueeze.default", x, dim)
        elif isinstance(place, tuple):
            start, stop, step = slice(*place).indices(x.shape[dim])
            if (start, stop, step) != (0, x.shape[dim], 1):
                x = ask("slice.Tensor", x, dim, start, stop, *((step,) if step != 1 else ()))
        else:
            x = ask("select.int", x, dim, place)
            continue
        dim += 1
    return x


def _squeeze(ask: Any, x: Tensor, dims: tuple) -> Tensor:
    return ask("squeeze.dims", x, list(dims))


def _reshape_copy(ask: Any, x: Tensor, shape: tuple) -> Tensor:
    return ask("_unsafe_view.default", ask("clone.default", x), list(shape))


def _mm_nt(ask: Any, x: Tensor, y: Tensor) -> Tensor:
    return ask("mm.default", x, ask("t.default", y))


def _mm_tn(ask: Any, x: Tensor, y: Tensor) -> Tensor:
    return ask("mm.default", ask("t.default", x), y)


def _bmm_nt(ask: Any, x: Tensor, y: Tensor) -> Tensor:
    return ask("bmm.default", x, ask("transpose.int", y, 1, 2))


def _bmm_tn(ask: Any, x: Tensor, y: Tensor) -> Tensor:
    return ask("bmm.default", ask("transpose.int", x, 1, 2), y)


_PARTS: dict[str, Callable[..., Tensor]] = {
    "linear": _linear, "squeeze": _squeeze, "reshape_copy": _reshape_copy,
    "mm_nt": _mm_nt, "mm_tn": _mm_tn, "bmm_nt": _bmm_nt, "bmm_tn": _bmm_tn,
}  # fmt: skip


def parts_of(kernel: door.Kernel) -> Callable[..., Tensor] | None:
    """The operators that a kernel is several of; None where it is one."""
    return _window if (kernel.facts.aten or "").endswith(" windowed") else _PARTS.get(kernel.name)
