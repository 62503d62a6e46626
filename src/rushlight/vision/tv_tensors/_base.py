"""TVTensor: a tensor that says what its numbers are; operations on it give plain tensors unless asked otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from ...base.trees import tree_leaves
from ...core.overriding import DisableTorchFunctionSubclass
from ...core.shown.describe import describe
from ...core.tensor import Tensor
from ...operators.create.from_data import as_tensor


class _Answers:
    """What operations on a TVTensor answer with; `set_return_type` sets it."""

    same_kind = False


_answers = _Answers()
_KINDS = {"tensor": False, "tvtensor": True}
# These only copy or move a tensor, so what its numbers are stays true.
_KEEP = ("clone", "to", "detach", "requires_grad_", "pin_memory")


def _kept(func: Any) -> bool:
    return any(func is getattr(Tensor, name) for name in _KEEP)


class _Restore:
    """The end of a `with set_return_type(...)` block."""

    def __init__(self, before: bool) -> None:
        self.before = before

    def __enter__(self) -> _Restore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _answers.same_kind = self.before


def set_return_type(return_type: str) -> Any:
    """Choose what operations on a TVTensor give: for the whole program, or for a `with` block.

    Args:
        return_type: "Tensor", the default: plain tensors; "TVTensor": the same kind again.

    Raises:
        ValueError: if it is neither.

    Example:
        >>> picture = tv_tensors.Image(torch.zeros(3, 2, 4))
        >>> type(picture + 1).__name__
        'Tensor'
        >>> with tv_tensors.set_return_type("TVTensor"):
        ...     type(picture + 1).__name__
        'Image'
    """
    kind = _KINDS.get(return_type.lower())
    if kind is None:
        raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}") from None
    before, _answers.same_kind = _answers.same_kind, kind
    return _Restore(before)


class TVTensor(Tensor):
    """What pictures, masks, boxes and points have in common; the base of kinds of your own.

    A kind with further attributes names them in `_fields`: they are copied to what is made of a value.

    Example:
        >>> class Depth(tv_tensors.TVTensor): pass
        >>> type(torch.zeros(2, 2).as_subclass(Depth).clone()).__name__
        'Depth'
    """

    _fields: tuple[str, ...] = ()

    @staticmethod
    def _to_tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Tensor:
        if requires_grad is None:
            requires_grad = isinstance(data, Tensor) and data.requires_grad
        return as_tensor(data, dtype=dtype, device=device).requires_grad_(requires_grad)

    @classmethod
    def _made(cls, tensor: Tensor, fields: Mapping[str, Any]) -> Any:
        """The tensor as a value of this kind."""
        made = tensor.as_subclass(cls)
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    @classmethod
    def wrap(cls, tensor: Tensor, like: TVTensor, **kwargs: Any) -> Any:
        """The tensor as a value of this kind, with the attributes of `like` unless others are given.

        Args:
            tensor: the numbers.
            like: a value of this kind.
            kwargs: attributes that differ.
        """
        return cls._made(tensor, {n: kwargs.get(n, getattr(like, n)) for n in cls._fields})

    @classmethod
    def _wrap_output(cls, output: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """A result as this kind; attributes come from the first value of this kind among the arguments."""
        if isinstance(output, (tuple, list)):  # of split, unbind, max
            parts = [cls._wrap_output(part, args, kwargs) for part in output]
            return type(output)(*parts) if hasattr(output, "_fields") else type(output)(parts)
        if not isinstance(output, Tensor):
            return output
        if isinstance(output, cls) and all(hasattr(output, n) for n in cls._fields):
            return output  # the argument itself
        given = tree_leaves([list(args), list((kwargs or {}).values())])
        like = next((a for a in given if isinstance(a, cls)), None)
        return cls._made(output, {n: getattr(like, n) for n in cls._fields} if like is not None else {})

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            output = func(*args, **(kwargs or {}))
        if _answers.same_kind or (_kept(func) and isinstance(args[0], cls)):
            return cls._wrap_output(output, args, kwargs)
        if isinstance(output, cls):  # an operation in place gives back its argument
            return output.as_subclass(Tensor)
        return output

    def _make_repr(self, **kwargs: Any) -> str:
        said = ", ".join(f"{name}={value}" for name, value in kwargs.items())
        with DisableTorchFunctionSubclass():
            numbers = describe(self, f"{type(self).__name__}(")
        return f"{numbers[:-1]}, {said})"

    def __copy__(self) -> Any:
        with DisableTorchFunctionSubclass():
            return Tensor.__copy__(self)  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.detach().clone().requires_grad_(self.requires_grad)
