"""autocast: inside, every op is given its inputs in the dtype the lists say."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ..base import dtypes
from ..base.config import settings
from ..base.dtypes import dtype
from ..core.gradients.tape import AccumulateGrad
from ..core.op import Op, native
from ..core.tensor import Tensor
from ..operators.memory.casting import cast_to
from ..runtime import devices
from ..runtime.thread import CASTING, here, swap
from . import functions
from .lists import FLOAT32, LOW_PRECISION, POLICIES, REFUSED, UNSAFE

_HALVES = (dtypes.float16, dtypes.bfloat16)
_DEVICES = ("cuda", "cpu")
_places: dict[type, str] = {}  # device types by the arrays' types, as many as there are backends


class _Casts:
    """Autocast's switches in one thread; every op asks it for its inputs while one of them is on."""

    usual = {"cuda": dtypes.float16, "cpu": dtypes.bfloat16}  # where nobody says otherwise

    def __init__(self) -> None:
        self.enabled = dict.fromkeys(_DEVICES, False)
        self.dtype = dict(self.usual)
        self.cache_enabled = True
        self.depth = 0
        self.cache: dict[int, tuple[Tensor, Any, dtype, Tensor]] = {}

    def __call__(self, op: Op, inputs: tuple) -> tuple:
        """The inputs of `op` in the dtypes that its policy asks for."""
        policy, place = self._policy(op, inputs)
        if policy is None or place is None:
            return inputs
        if policy == REFUSED:
            raise RuntimeError(UNSAFE)
        if policy == LOW_PRECISION:
            d = self.dtype[place]
            return tuple([self.low(t, d) if _is_float(t) else t for t in inputs])
        if policy == FLOAT32:
            if op.widens_itself:  # the caller asked for a float32 result
                return inputs
            halves = [_is_float(t) and t.dtype in _HALVES for t in inputs]
            return tuple([cast_to(t, dtypes.float32) if h else t for t, h in zip(inputs, halves)])
        return _to_widest(inputs)

    def widens(self, op: Op, t: Tensor) -> bool:
        """Whether `op` is to take half precision `t` as float32, and to answer in it."""
        return t.dtype in _HALVES and self._policy(op, (t,))[0] == FLOAT32

    def _policy(self, op: Op, inputs: tuple) -> tuple[int | None, str | None]:
        """What is to be done with the inputs of `op`, and the device type they are on."""
        found = POLICIES.get(op.name)
        place = None if found is None else self._place(inputs)
        return (None if found is None or place is None else found.get(place)), place

    def _place(self, inputs: tuple) -> str | None:
        """The device type of the first floating tensor, when autocast is on for it."""
        for t in inputs:
            if _is_float(t):
                place = devices.device_of(t._a).type
                _places[t._a.__class__] = place
                return place if self.enabled.get(place) else None
        return None

    def low(self, t: Tensor, d: dtype) -> Tensor:
        """`t` in dtype `d`, float64 as it is; a parameter's cast is used again until the block ends."""
        own = t.dtype
        if own is d or own is dtypes.float64:
            return t
        if not (self.cache_enabled and own is dtypes.float32 and t.requires_grad and t.is_leaf):
            return cast_to(t, d)
        found = self.cache.get(id(t))
        version = None if t._ver is None else t._ver[0]
        if found is not None and found[0] is t and found[1] == version and found[2] is d:
            if found[3].requires_grad or not here.grad:
                return found[3]
        made = cast_to(t, d)
        self.cache[id(t)] = (t, version, d, made)
        return made


if native is not None:  # `low`, and the decision for products, in C: core/native/cast.c
    native.know_policies(_Casts, AccumulateGrad, POLICIES, _places, dtypes.float32, dtypes.float64)


def _casts() -> _Casts:
    """This thread's switches, made when it first asks for them."""
    if here.casts is None:
        here.casts = _Casts()
    return here.casts


def _is_float(t: Any) -> bool:
    return isinstance(t, Tensor) and t._a.dtype.kind in "fV"


def _to_widest(inputs: tuple) -> tuple:
    kinds = {t.dtype for t in inputs if _is_float(t)}
    if len(kinds) < 2 or dtypes.float64 in kinds:
        return inputs
    return tuple([cast_to(t, dtypes.float32) if _is_float(t) else t for t in inputs])


def _switch(device: str, on: bool) -> None:
    """Set one switch, and this thread's state with it."""
    casts = _casts()
    casts.enabled[device] = on
    swap(CASTING, CASTING if any(casts.enabled.values()) else 0)


class autocast:  # noqa: N801 - the name users write
    """A block, or a decorated function, in which products run in low precision and sensitive ops in float32.

    Args:
        device_type: "cpu" or "cuda".
        dtype: the low precision; bfloat16 on the CPU and float16 on a GPU if not given.
        enabled: False switches it off inside.
        cache_enabled: keep the casts of parameters until the block ends.

    Raises:
        RuntimeError: if the device is not known.

    Example:
        >>> net = nn.Linear(2, 1)
        >>> with torch.autocast("cpu"):
        ...     net(torch.ones(1, 2)).dtype == torch.bfloat16
        True
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type.partition(":")[0]
        if self.device not in _DEVICES:
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.fast_dtype = _casts().dtype[self.device] if dtype is None else dtypes.as_dtype(dtype)
        self._enabled = bool(enabled) and _usable(self.device, self.fast_dtype)
        given = _casts().cache_enabled if cache_enabled is None else bool(cache_enabled)
        self._cache_enabled = given

    def __enter__(self) -> autocast:
        functions.start()
        casts = _casts()
        self._before = (casts.enabled[self.device], casts.dtype[self.device], casts.cache_enabled)
        self._state = here.state
        casts.dtype[self.device] = self.fast_dtype
        casts.cache_enabled = self._cache_enabled
        casts.depth += 1
        _switch(self.device, self._enabled)
        return self

    def __exit__(self, *exc: Any) -> None:
        casts = _casts()
        casts.depth -= 1
        if casts.depth == 0:
            casts.cache.clear()
        casts.enabled[self.device], casts.dtype[self.device], casts.cache_enabled = self._before
        swap(CASTING, self._state)  # as it was: inside a backward pass nothing is cast

    def __call__(self, fn: Callable) -> Callable:
        @functools.wraps(fn)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled):
                return fn(*args, **kwargs)

        return inner


def as_now() -> Callable[[], AbstractContextManager[None]]:
    """Contexts in which autocast is as it is now, for code that runs twice: wherever and in
    whichever thread, each run makes the same casts, since it begins with none kept."""
    casts, state = _casts(), here.state
    now = (dict(casts.enabled), dict(casts.dtype), casts.cache_enabled)

    @contextmanager
    def again() -> Iterator[None]:
        casts = _casts()
        before = (casts.enabled, casts.dtype, casts.cache_enabled)
        cache, casts.cache = casts.cache, {}
        casts.enabled, casts.dtype, casts.cache_enabled = dict(now[0]), dict(now[1]), now[2]
        bits = swap(CASTING, state)
        try:
            yield
        finally:
            casts.enabled, casts.dtype, casts.cache_enabled = before
            casts.cache = cache
            swap(CASTING, bits)

    return again


def _usable(device: str, d: dtype) -> bool:
    """Whether autocast can be switched on; a warning when it was asked for and cannot."""
    name = settings.module
    if device == "cuda":
        from ..runtime.cuda import why_not

        if why_not() is not None:
            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=3)
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
    """Whether autocast is on for a device type in this thread.

    Args:
        device_type: "cpu" or "cuda".

    Example:
        >>> with torch.autocast("cpu"):
        ...     torch.is_autocast_enabled("cpu")
        True
        >>> torch.is_autocast_enabled("cpu")
        False
    """
    return _casts().enabled.get(device_type, False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast on or off; with one argument, for the GPU.

    Args:
        device_type: "cpu" or "cuda".
        enabled: on or off.

    Example:
        >>> torch.set_autocast_enabled("cpu", True)
        >>> torch.is_autocast_enabled("cpu")
        True
        >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _switch(device_type, bool(enabled))


def get_autocast_dtype(device_type: str) -> dtype:
    """The low precision that autocast uses on a device type.

    Args:
        device_type: "cpu" or "cuda".

    Example:
        >>> torch.get_autocast_dtype("cpu") == torch.bfloat16
        True
    """
    return _casts().dtype[device_type]


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the low precision that autocast uses on a device type.

    Args:
        device_type: "cpu" or "cuda".
        dtype: of floating point.

    Example:
        >>> torch.set_autocast_dtype("cpu", torch.float16)
        >>> torch.get_autocast_dtype("cpu") == torch.float16
        True
        >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    _casts().dtype[device_type] = dtypes.as_dtype(dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept until the block ends.

    Example:
        >>> torch.is_autocast_cache_enabled()
        True
    """
    return _casts().cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether casts of parameters are kept until the block ends.

    Args:
        enabled: on or off.

    Example:
        >>> torch.set_autocast_cache_enabled(False)
        >>> torch.is_autocast_cache_enabled()
        False
        >>> torch.set_autocast_cache_enabled(True)
    """
    _casts().cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters.

    Example:
        >>> net = nn.Linear(2, 1)
        >>> with torch.autocast("cpu"):
        ...     _ = net(torch.ones(1, 2))
        ...     torch.clear_autocast_cache()  # the parameters were changed by hand
    """
    _casts().cache.clear()


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows a device type.

    Args:
        device_type: such as "cpu" or "cuda".

    Example:
        >>> torch.amp.is_autocast_available("cpu")
        True
    """
    return device_type in _DEVICES


# -- for autograd.Function ------------------------------------------------------------------------


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate `Function.forward`, so that backward can run with autocast as forward had it.

    Args:
        fwd: the method.
        cast_inputs: cast floating inputs to this dtype, and run forward without autocast.

    Example:
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @torch.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, g):
        ...         return g * 2
        >>> with torch.autocast("cpu"):
        ...     Double.apply(torch.ones(2, dtype=torch.bfloat16)).dtype == torch.float32
        True
    """
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
            return fwd(*_cast_tree(args, device_type, cast_inputs), **_cast_tree(kwargs, device_type, cast_inputs))

    return decorate


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Any:
    """Decorate `Function.backward`: it runs with autocast as the forward had it.

    Args:
        bwd: the method.

    Example:
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu")
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @torch.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, g):
        ...         return g * 2
        >>> x = torch.ones(2, requires_grad=True)
        >>> Double.apply(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """
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
