"""`__torch_dispatch__` of classes: a kernel with a tensor made of others is a question to that tensor's class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.trees import tree_flatten
from ..core.tensor import Tensor, tensor_over
from ..runtime import devices, door
from ..runtime.thread import GRAD, here, swap
from ..runtime.wrapped import WrappedArray, answer
from .calls import Written, written
from .names import operator
from .seen import _UNSEEN, _arrays, _shown, parts_of


class Again:
    """A kernel that a class was asked about, for when it calls the operator with other tensors in place of its own."""

    def __init__(self, call: Written, kernel: door.Kernel, inputs: list[Any], attrs: dict) -> None:
        self.call, self.kernel, self.inputs, self.attrs = call, kernel, inputs, attrs

    def is_call(self, func: Any, args: tuple, kwargs: dict) -> bool:
        """Whether a call is the one that came, but for its tensors, which have the same shapes and dtypes."""
        if func is not self.call.func:
            return False
        before, shape0 = tree_flatten((self.call.args, self.call.kwargs))
        now, shape1 = tree_flatten((tuple(args), kwargs))
        self.swapped = {id(a): b for a, b in zip(before, now) if isinstance(a, Tensor)}
        alike = shape0 == shape1 and all(map(_alike, before, now))
        return alike and all(id(t) in self.swapped for t in self.inputs if isinstance(t, Tensor))

    def compute(self) -> Any:
        """The kernel over these tensors."""
        inputs = [self.swapped.get(id(t), t) for t in self.inputs]
        arrays = [t._a if isinstance(t, Tensor) else t for t in inputs]
        found = [a.__class__ for a in arrays if devices.is_array(a)]
        cls = WrappedArray if WrappedArray in found else found[0]
        return _shown(door.run(self.kernel, cls, arrays, self.attrs), self.call)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor):
        same = isinstance(b, Tensor) and a.shape == b.shape and a.dtype == b.dtype
        return same and a.stride() == b.stride()
    return not isinstance(b, Tensor) and (a is b or bool(a == b))


def _asked(a: Any) -> Tensor:
    """A tensor that a class is asked about: what it writes into its attributes, that of the array's own tensor has."""
    t = tensor_over(a, a.__class__)
    if type(a) is WrappedArray:
        t.__dict__ = a.parts
        t._a.parts = a.parts
    return t


def by_classes(kernel: door.Kernel, arrays: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """A kernel's results by the classes of its arrays."""
    if WrappedArray not in map(type, arrays):  # memory for a new tensor beside one: of the device it names
        cls = devices.backend_of(attrs["device"]).array_type
        return door.run(kernel, cls, arrays, attrs)
    target = arrays[0]
    if kernel.name in _UNSEEN:
        raise NotImplementedError(f"{kernel.name} of a {_kinds(arrays)[0].__name__}")
    inputs = [_asked(a) if devices.is_array(a) else a for a in arrays]
    if kernel.name == "host_read":
        return _read(inputs[0])
    parts = parts_of(kernel)
    if parts is not None:
        return _out(parts(_part, *inputs, **attrs), inputs)
    plain = written(kernel.name, inputs, attrs)
    call = _renamed(target, plain)
    found = ask(call, Again(call, kernel, inputs, attrs) if call is plain else None)
    if kernel.mutates:
        return target
    _keep(found, inputs)
    return _arrays(found, call)


def _read(t: Tensor) -> Any:
    """The one value of a tensor for Python; of several, there is no memory to read."""
    if t.numel() != 1:
        return devices.backend_of_type(WrappedArray).to_host(t._a)
    found = of_tensor("_local_scalar_dense.default", t)
    return np.asarray(found.item() if isinstance(found, Tensor) else found).reshape(t.shape)


def _renamed(target: Any, call: Written) -> Written:
    """The first half of an in-place operation has its name; the second half, the copy, is left out."""
    if here.changing is not target or call.func.namespace != "aten":
        return call
    packet, overload = call.func._overloadpacket, call.func._overloadname
    in_place = operator(f"{packet.__name__}_.{overload}")
    if in_place.op is None:  # a cast before the operation
        return call
    here.written = target
    return call._replace(func=in_place)


def overwrite(target: Any, source: Any) -> None:
    """The copy after an in-place operation, which a class that was shown the operation has done already."""
    done, here.written = here.written is target, None
    if not done:
        dst, src = (_asked(a) for a in (target, source))
        ask(Written(operator("copy_.default"), (dst, src), {}), None)


def _part(name: str, *args: Any) -> Any:
    """One of the operators that a kernel is several of."""
    call = Written(operator(name), args, {})
    if not any(isinstance(a, Tensor) and type(a._a) is WrappedArray for a in args):
        return call.func(*args)
    return ask(call, None)


def ask(call: Written, again: Again | None) -> Any:
    """What the first class answers that does not answer NotImplemented; subclasses are asked before their bases."""
    leaves = tree_flatten((call.args, call.kwargs))[0]
    tensors = [t for t in leaves if isinstance(t, Tensor) and type(t._a) is WrappedArray]
    types: list[type] = []
    for t in tensors:
        if type(t) not in types:
            at = next((i for i, c in enumerate(types) if issubclass(type(t), c)), len(types))
            types.insert(at, type(t))
    pending, changing = here.dispatching, here.changing
    before = swap(GRAD, 0)  # the operator that came is put on the tape, not what computes it
    here.dispatching, here.changing = again, None
    try:
        for kind in types:
            found = kind.__torch_dispatch__(call.func, tuple(types), call.args, call.kwargs)  # type: ignore[attr-defined]
            if found is not NotImplemented:
                return found
    finally:
        here.dispatching, here.changing = pending, changing
        swap(GRAD, before)
    listed = "".join(f"  - tensor subclass {kind!r}\n" for kind in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.ops.{call.func}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n\n{listed}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _out(result: Tensor, inputs: list[Any]) -> Any:
    _keep(result, inputs)
    return result._a


def _keep(found: Any, inputs: list[Any]) -> None:
    """Let callers get the objects that a class returned, unless they are those it was given."""
    for t in tree_flatten(found)[0]:
        if isinstance(t, Tensor) and type(t._a) is WrappedArray and all(t is not i for i in inputs):
            t._a.fresh = t


def _kinds(arrays: Sequence[Any]) -> list[type]:
    return [a.kind for a in arrays if isinstance(a, WrappedArray)]


def of_tensor(name: str, t: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """An operator that rushlight does without a kernel over the tensor, such as `detach` or `zeros_like`."""
    found = ask(Written(operator(name), (t, *args), kwargs), None)
    return tensor_over(found._a, type(found._a)) if found is t else found


answer.by_classes, answer.overwrite = by_classes, overwrite
answer.of_tensor = of_tensor
