"""autocast: inside, every op is given its inputs in the dtype the lists say."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

from ..base import dtypes
from ..base.config import settings
from ..base.dtypes import dtype
from ..base.locks import new_lock
from ..core import tape
from ..core.modes import modes
from ..core.op import Op
from ..core.tensor import Tensor
from ..operators.memory.casting import cast_to
from ..runtime import devices
from .lists import FLOAT32, LOW_PRECISION, UNSAFE, table

_HALVES = (dtypes.float16, dtypes.bfloat16)
_DEVICES = ("cuda", "cpu")


class _State(threading.local):
    """The switches of one thread."""

    def __init__(self) -> None:
        self.enabled = dict.fromkeys(_DEVICES, False)
        self.dtype = {"cuda": dtypes.float16, "cpu": dtypes.bfloat16}
        self.cache_enabled = True
        self.depth = 0
        self.cache: dict[int, tuple[Tensor, Any, dtype, Tensor]] = {}


_state = _State()
_tables = {name: table(name) for name in _DEVICES}
_lock = new_lock()
_threads = 0  # how many threads have autocast switched on
_plain_call = Op.__call__
_plain_backward = tape.backward


def _call(self: Op, *inputs: Any, **attrs: Any) -> Any:
    """What `Op.__call__` is while autocast is on somewhere."""
    if modes.casts is not None:
        inputs = _prepared(self, inputs)
    return _plain_call(self, *inputs, **attrs)


def _backward(*args: Any, **kwargs: Any) -> Any:
    """A backward pass computes in the dtypes of the forward pass, wherever it is called."""
    before, modes.casts = modes.casts, None
    try:
        return _plain_backward(*args, **kwargs)
    finally:
        modes.casts = before


def _prepared(op: Op, inputs: tuple) -> tuple:
    place = _place(inputs)
    if place is None:
        return inputs
    policy = _tables[place].get(op.name)
    if policy is None:
        if place == "cuda" and op.name in UNSAFE:
            raise RuntimeError(UNSAFE[op.name])
        return inputs
    if policy == LOW_PRECISION:
        return _cast_all(inputs, _state.dtype[place])
    if policy == FLOAT32:
        return tuple([
            cast_to(t, dtypes.float32) if isinstance(t, Tensor) and t.dtype in _HALVES else t
            for t in inputs
        ])  # fmt: skip
    return _to_widest(inputs)


def _place(inputs: tuple) -> str | None:
    """The device type of the first floating tensor, when autocast is on for it."""
    for t in inputs:
        if isinstance(t, Tensor) and t._a.dtype.kind in "fV":
            place = devices.device_of(t._a).type
            return place if _state.enabled.get(place) else None
    return None


def _cast_all(inputs: tuple, d: dtype) -> tuple:
    """Floating tensors in dtype `d`; float64 stays, as PyTorch leaves it."""
    return tuple([
        _cached_cast(t, d) if isinstance(t, Tensor) and t._a.dtype.kind in "fV" else t
        for t in inputs
    ])  # fmt: skip


def _cached_cast(t: Tensor, d: dtype) -> Tensor:
    """`t` in dtype `d`; what was made of a parameter is used again until the block ends."""
    own = t.dtype
    if own is d or own is dtypes.float64:
        return t
    if not (_state.cache_enabled and own is dtypes.float32 and t.requires_grad and t.is_leaf):
        return cast_to(t, d)
    found = _state.cache.get(id(t))
    version = None if t._ver is None else t._ver[0]
    if found is not None and found[0] is t and found[1] == version and found[2] is d:
        if found[3].requires_grad or not modes.grad:
            return found[3]
    made = cast_to(t, d)
    _state.cache[id(t)] = (t, version, d, made)
    return made


def _to_widest(inputs: tuple) -> tuple:
    floats = [t for t in inputs if isinstance(t, Tensor) and t._a.dtype.kind in "fV"]
    if any(t.dtype is dtypes.float64 for t in floats):
        return inputs
    kinds = {t.dtype for t in floats}
    if len(kinds) < 2:
        return inputs
    widest = dtypes.float32 if dtypes.float32 in kinds or len(kinds) > 1 else kinds.pop()
    return tuple([
        cast_to(t, widest) if isinstance(t, Tensor) and t._a.dtype.kind in "fV" else t
        for t in inputs
    ])  # fmt: skip


def _refresh() -> None:
    """Hook into the ops when the first thread switches autocast on, and out again after the last."""
    global _threads
    on = any(_state.enabled.values())
    if on == (modes.casts is not None):
        return
    modes.casts = _state if on else None
    with _lock:
        _threads += 1 if on else -1
        Op.__call__ = _call if _threads else _plain_call  # type: ignore[method-assign]
        tape.backward = _backward if _threads else _plain_backward


class autocast:  # noqa: N801 - the name users write
    """Inside, products run in low precision and sensitive ops in float32; also a decorator."""

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type.partition(":")[0]
        if self.device not in _DEVICES:
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{self.device}'"
            )
        self.fast_dtype = _state.dtype[self.device] if dtype is None else dtypes.as_dtype(dtype)
        self._enabled = bool(enabled) and _usable(self.device, self.fast_dtype)
        given = _state.cache_enabled if cache_enabled is None else bool(cache_enabled)
        self._cache_enabled = given

    def __enter__(self) -> autocast:
        self._before = (
            _state.enabled[self.device], _state.dtype[self.device], _state.cache_enabled
        )  # fmt: skip
        _state.enabled[self.device] = self._enabled
        _state.dtype[self.device] = self.fast_dtype
        _state.cache_enabled = self._cache_enabled
        _state.depth += 1
        _refresh()
        return self

    def __exit__(self, *exc: Any) -> None:
        _state.depth -= 1
        if _state.depth == 0:
            _state.cache.clear()
        enabled, fast, cached = self._before
        _state.enabled[self.device] = enabled
        _state.dtype[self.device] = fast
        _state.cache_enabled = cached
        _refresh()

    def __call__(self, fn: Callable) -> Callable:
        @functools.wraps(fn)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled):
                return fn(*args, **kwargs)

        return inner


def _usable(device: str, d: dtype) -> bool:
    """Whether autocast can be switched on; a warning when it was asked for and cannot."""
    name = settings.module
    if device == "cuda":
        from ..runtime.cuda import why_not

        if why_not() is not None:
            warnings.warn(
                "User provided device_type of 'cuda', but CUDA is not available. Disabling",
                stacklevel=3,
            )
            return False
        if d not in (*_HALVES, dtypes.float32):
            raise RuntimeError(f"CUDA autocast does not support dtype {d}")
        return d is not dtypes.float32
    if d not in _HALVES:
        warnings.warn(
            "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"CPU Autocast only supports dtype of {name}.bfloat16, {name}.float16 currently.",
            stacklevel=3,
        )
        return False
    return True


# -- the switches as functions --------------------------------------------------------------------


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a device type in this thread."""
    return _state.enabled.get(device_type, False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast on or off; with one argument, for the GPU."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _state.enabled[device_type] = bool(enabled)
    _refresh()


def get_autocast_dtype(device_type: str) -> dtype:
    """The low precision that autocast uses on a device type."""
    return _state.dtype[device_type]


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the low precision that autocast uses on a device type."""
    _state.dtype[device_type] = dtypes.as_dtype(dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept until the block ends."""
    return _state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether casts of parameters are kept until the block ends."""
    _state.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters."""
    _state.cache.clear()


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows a device type."""
    return device_type in _DEVICES


# -- for autograd.Function ------------------------------------------------------------------------


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate `Function.forward`: it remembers autocast's state, or casts its inputs and leaves it."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        if cast_inputs is None:
            args[0]._fwd_used_autocast = is_autocast_enabled(device_type)
            return fwd(*args, **kwargs)
        was_on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = False
        if not was_on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                *_cast_tree(args, device_type, cast_inputs),
                **_cast_tree(kwargs, device_type, cast_inputs),
            )

    return decorate


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Any:
    """Decorate `Function.backward`: it runs with autocast as the forward had it."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate(*args: Any, **kwargs: Any) -> Any:
        used = args[0]._fwd_used_autocast
        with autocast(device_type, enabled=used, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate


def _cast_tree(value: Any, device_type: str, d: Any) -> Any:
    """Floating tensors of a device type anywhere inside, in dtype `d`."""
    if isinstance(value, Tensor):
        fits = value._a.dtype.kind in "fV" and value.device.type == device_type
        return cast_to(value, d) if fits and value.dtype is not dtypes.float64 else value
    if isinstance(value, dict):
        return {k: _cast_tree(v, device_type, d) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)([_cast_tree(v, device_type, d) for v in value])
    return value
