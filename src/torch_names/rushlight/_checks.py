"""`torch._check` and its family: conditions that programs state, with the error of each."""

from __future__ import annotations

from typing import Any


def _fail(kind: type[Exception], cond: Any, message: Any) -> None:
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise kind(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, "
            "please report an enhancement request to PyTorch.)"
        )
    if not callable(message):
        raise TypeError("message must be a callable")
    raise kind(str(message()))


def _check(cond: Any, message: Any = None) -> None:
    """RuntimeError with the text that `message()` makes, unless `cond`."""
    _fail(RuntimeError, cond, message)


def _check_index(cond: Any, message: Any = None) -> None:
    """`_check` with IndexError."""
    _fail(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    """`_check` with ValueError."""
    _fail(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    """`_check` with TypeError."""
    _fail(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Any = None) -> None:
    """`_check` with NotImplementedError."""
    _fail(NotImplementedError, cond, message)


def _check_with(error_type: type[Exception], cond: Any, message: Any) -> None:
    """`_check` with an error of one's own."""
    _fail(error_type, cond, message)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """A size is not negative."""
    _fail(RuntimeError, i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """`_check_with` of every element of a boolean tensor."""
    _fail(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """`_check` of every element of a boolean tensor."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_async(value: Any, message: str | None = None) -> None:
    """RuntimeError if a tensor of one element is zero."""
    if not value.item():
        raise RuntimeError(message or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(input: Any) -> Any:
    """The size as a tensor of integers."""
    from .operators.create.from_data import tensor

    return tensor(list(input.shape))


def _is_all_true(input: Any) -> Any:
    """Whether every element is true, as a tensor."""
    return input.all()
