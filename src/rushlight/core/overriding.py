"""`__torch_function__`: the classes of arguments, and modes above them, may answer for a public function.

A program that has no such class pays nothing: public functions begin to look at their arguments when the
first value of such a class is made (`meet`), or the first mode is entered, and not before (core/arming.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..runtime.thread import here
from .tensor import Tensor

# Classes whose values are asked; `NESTED` is for functions that take lists of tensors.
SPECIAL: set[type] = set()
NESTED: set[type] = {list, tuple}
MODES: list[Any] = []  # those at work in any thread: most often none

ALL_OFF, CLASSES_OFF = 2, 1  # `here.unasked`


def disabled(
    cls: Any,
    func: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """The `__torch_function__` of a class that does not want to be asked."""
    return func(*args, **(kwargs or {}))


def asks(cls: type) -> bool:
    """Whether values of a class are asked before a function computes with them."""
    if cls is Tensor:
        return False
    method = getattr(cls, "__torch_function__", disabled)
    return getattr(method, "__func__", method) is not disabled


class Arming:
    """What the top package fills in: the import of core/arming.py, which reads every public function."""

    arm: Callable[[type | None], None]


arming = Arming()


def notice(cls: type) -> bool:
    """Let functions look for values of a class from now on; whether it is one that is asked."""
    if cls in SPECIAL:
        return True
    if not asks(cls):
        return False
    SPECIAL.add(cls)
    NESTED.add(cls)
    arming.arm(cls if issubclass(cls, Tensor) else None)
    return True


def nobody_asks(*values: Any) -> bool:
    """Whether one may go past a public function: no mode is at work, and the class of no value wants to be asked."""
    return not MODES and (not SPECIAL or SPECIAL.isdisjoint(map(type, values)))


def asked_among(values: Iterable[Any], depth: int = 1) -> list[Any]:
    """One value of each class that asks, subclasses before their bases, else in the order given."""
    chosen: list[Any] = []
    for value in values:
        cls = type(value)
        if cls in (list, tuple) and depth:
            for inner in asked_among(value, depth - 1):
                _place(inner, chosen)
        elif notice(cls):
            _place(value, chosen)
    return chosen


def _place(value: object, chosen: list[Any]) -> None:
    if any(type(value) is type(c) for c in chosen):
        return
    at = next((i for i, c in enumerate(chosen) if issubclass(type(value), type(c))), len(chosen))
    chosen.insert(at, value)


def dispatch(public: Callable[..., Any], original: Callable, args: tuple, kwargs: dict, telling: Any = None) -> Any:
    """What an armed function does when a mode is at work or an argument's class may be special.

    `telling` makes of the arguments those that are told.
    """
    if here.unasked == ALL_OFF:
        return original(*args, **kwargs)
    modes = here.function_modes
    asked = [] if here.unasked else asked_among((*args, *kwargs.values()))
    if not modes and not asked:
        return original(*args, **kwargs)
    told = (args, kwargs) if telling is None else telling(args, kwargs)
    answer = ask(public, asked, *told)
    if answer is NotImplemented and not _is_operator(original):
        raise _nobody_answered(public, modes, asked)
    return answer


# Names of the functions behind operators: they may return NotImplemented, so that the other operand is asked.
_OPERATORS = frozenset(("forward", "backward", "assign", "operator", "_at", "_rat"))


def _is_operator(fn: Callable) -> bool:
    return fn.__name__ in _OPERATORS


def ask(public: Callable[..., Any], asked: list[Any], args: tuple, kwargs: dict) -> Any:
    """The answer of the innermost mode, else of the first class that has one."""
    types = tuple(map(type, asked))
    modes = here.function_modes
    if modes:
        here.function_modes = modes[:-1]
        try:
            answer = modes[-1].__torch_function__(public, types, args, kwargs)
        finally:
            here.function_modes = modes
        if answer is not NotImplemented:
            return answer
    for value in asked:
        answer = value.__torch_function__(public, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    return NotImplemented


def _nobody_answered(public: Callable[..., Any], modes: tuple, asked: list[Any]) -> TypeError:
    """PyTorch's error for a function of its own."""
    name = public.__name__
    place = "torch.Tensor" if getattr(Tensor, name, None) is public else "torch"
    lines = [f"  - mode object {mode!r}\n" for mode in reversed(modes)]
    lines += [f"  - tensor subclass {type(a)!r}\n" for a in asked]
    return TypeError(
        f"Multiple dispatch failed for '{place}.{name}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n{''.join(lines)}"
    )


def no_implementation(public: Callable[..., Any], asked: list[Any]) -> TypeError:
    """PyTorch's error for a function of a library none of whose arguments answers."""
    name = f"{public.__module__}.{public.__name__}"
    said = f"no implementation found for '{name}' on types that implement __torch_function__: "
    return TypeError(said + str(list(map(type, asked))))


class DisableTorchFunctionSubclass:
    """A block in which `__torch_function__` of subclasses is not called, and they count as plain tensors.

    Example:
        >>> with torch._C.DisableTorchFunctionSubclass():
        ...     total = torch.ones(2).sum()
        >>> total
        tensor(2.)
    """

    level = CLASSES_OFF

    def __enter__(self) -> None:
        self.before = here.unasked
        here.unasked = max(self.before, self.level)

    def __exit__(self, *exc: object) -> None:
        here.unasked = self.before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A block in which no `__torch_function__` is asked, of classes or of modes.

    Example:
        >>> class Named(torch.Tensor):
        ...     pass
        >>> x = torch.ones(2).as_subclass(Named)
        >>> with torch.overrides.DisableTorchFunction():
        ...     type(x + 1).__name__
        'Tensor'
    """

    level = ALL_OFF


def foreign(operator: str, self: Tensor, other: object) -> Any:
    """An operator met a value that it does not know: a class not seen before may want to be asked."""
    if type(other) in SPECIAL or not notice(type(other)):
        return NotImplemented
    return getattr(Tensor, operator)(self, other)


def convert(result: Any, cls: type) -> Any:
    """The tensors of a result as objects of `cls`."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        kind = type(result)
        parts = [convert(r, cls) for r in result]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    return result


def _torch_function(
    cls: Any,
    func: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Compute as if the arguments were plain tensors, and give the results this class."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if cls is Tensor or func in _NOT_CONVERTED else convert(result, cls)


Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]
# What another tensor holds keeps the class it has.
_NOT_CONVERTED = frozenset(vars(Tensor)[name].__get__ for name in ("_base", "grad"))
