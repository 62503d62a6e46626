"""Questions about tensors and dtypes, and process-wide defaults: what answers without computing."""

from __future__ import annotations

from typing import Any

from ...base import dtypes
from ...base.config import settings
from ...base.dtypes import as_dtype, dtype
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.cpu import threads
from ..made_of.promotion import result_dtype


@public("torch")
def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor.

    Args:
        obj: anything.

    Example:
        >>> torch.is_tensor(torch.zeros(2)), torch.is_tensor([0, 0])
        (True, False)
    """
    return isinstance(obj, Tensor)


@public("torch")
def is_storage(obj: Any) -> bool:
    """Whether an object is the memory of a tensor.

    Args:
        obj: anything.

    Example:
        >>> torch.is_storage(torch.zeros(2).untyped_storage())
        True
    """
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


def _tensor_argument(name: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(value).__name__}")
    return value


@public("torch")
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in `inference_mode`.

    Example:
        >>> torch.is_inference(torch.zeros(2))
        False
    """
    return _tensor_argument("is_inference", input).is_inference()


@public("torch")
def numel(input: Tensor) -> int:
    """The number of elements.

    Example:
        >>> torch.numel(torch.zeros(2, 3))
        6
    """
    return _tensor_argument("numel", input).numel()


@public("torch")
def get_device(input: Tensor) -> int:
    """The index of the GPU the tensor is on; -1 for the CPU.

    Example:
        >>> torch.get_device(torch.zeros(2))
        -1
    """
    return _tensor_argument("get_device", input).get_device()


@public("torch")
def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype that arithmetic of the two gives.

    Args:
        tensor1: a tensor or a number.
        tensor2: a tensor or a number.

    Example:
        >>> torch.result_type(torch.tensor([1, 2]), 1.5)
        torch.float32
    """
    return result_dtype(tensor1, tensor2)


@public("torch")
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds the values of both.

    Args:
        type1: a dtype.
        type2: another.

    Example:
        >>> torch.promote_types(torch.int32, torch.float16)
        torch.float16
    """
    for position, given in enumerate((type1, type2), start=1):
        if not isinstance(given, dtype):
            raise TypeError(
                f"promote_types(): argument 'type{position}' (position {position}) must be "
                f"torch.dtype, not {type(given).__name__}"
            )
    return dtypes.promote_types(type1, type2)


@public("torch")
def can_cast(from_: Any, to: Any) -> bool:
    """Whether results of one dtype may be written into a tensor of another.

    Args:
        from_: the dtype of the result.
        to: the dtype of the tensor.

    Example:
        >>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)
        (True, False)
    """
    return dtypes.can_cast(as_dtype(from_), as_dtype(to))


@public("torch")
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether operations without a deterministic kernel only warn.

    Example:
        >>> torch.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return settings.deterministic_warn_only


@public("torch")
def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was told; at first False.

    Example:
        >>> torch.is_warn_always_enabled()
        False
    """
    return settings.warn_always


@public("torch")
def set_warn_always(b: bool) -> None:
    """Say whether warnings come each time; here they always do, and Python's filters say which are shown.

    Args:
        b: what `is_warn_always_enabled` answers from here on.

    Example:
        >>> torch.set_warn_always(False)
        >>> torch.is_warn_always_enabled()
        False
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    settings.warn_always = b


@public("torch")
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Use only kernels that give the same result in every run.

    Args:
        mode: whether to.
        warn_only: warn where there is none, instead of an error.

    Example:
        >>> torch.use_deterministic_algorithms(True)
        >>> torch.are_deterministic_algorithms_enabled()
        True
        >>> torch.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}"
        )
    settings.deterministic = mode
    settings.deterministic_warn_only = bool(warn_only)
    threads.apply()


@public("torch")
def get_deterministic_debug_mode() -> int:
    """Return 0 for kernels of any kind, 1 for a warning where one is not deterministic, 2 for an error.

    Example:
        >>> torch.get_deterministic_debug_mode()
        0
    """
    if not settings.deterministic:
        return 0
    return 1 if settings.deterministic_warn_only else 2


@public("torch")
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` with one word for its two switches.

    Args:
        debug_mode: "default" or 0, "warn" or 1, "error" or 2.

    Raises:
        RuntimeError: if it is none of them.

    Example:
        >>> torch.set_deterministic_debug_mode("warn")
        >>> torch.get_deterministic_debug_mode()
        1
        >>> torch.set_deterministic_debug_mode(0)
    """
    words = {"default": 0, "warn": 1, "error": 2}
    number = words.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


@public("torch")
def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was switched on.

    Example:
        >>> torch.are_deterministic_algorithms_enabled()
        False
    """
    return settings.deterministic


@public("torch")
def set_num_threads(num: int) -> None:
    """Set how many threads the operations on the CPU use.

    Args:
        num: at least 1.

    Raises:
        RuntimeError: if it is less.

    Example:
        >>> torch.set_num_threads(torch.get_num_threads())
    """
    if isinstance(num, bool) or not isinstance(num, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    threads.set(num)


@public("torch")
def get_num_threads() -> int:
    """How many threads the operations on the CPU use.

    Example:
        >>> torch.get_num_threads() >= 1
        True
    """
    return threads.get()


@public("torch")
def set_num_interop_threads(num: int) -> None:
    """Accepts 1 only: operations run one at a time here.

    Args:
        num: 1.

    Raises:
        RuntimeError: for other numbers.

    Example:
        >>> torch.set_num_interop_threads(1)
    """
    if num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    if num != 1:
        import warnings

        warnings.warn("rushlight runs one operation at a time; interop threads stay 1", stacklevel=2)


@public("torch")
def get_num_interop_threads() -> int:
    """How many operations run at the same time: always 1 here.

    Example:
        >>> torch.get_num_interop_threads()
        1
    """
    return 1


@public("torch")
def set_flush_denormal(mode: bool) -> bool:
    """Ask that very small numbers count as zero; not available here, so the answer is False.

    Args:
        mode: whether they should.

    Example:
        >>> torch.set_flush_denormal(False)
        False
    """
    return False


@public("torch")
def set_float32_matmul_precision(precision: str) -> None:
    """Set how exact products of float32 matrices on a GPU are.

    Args:
        precision: "highest" for float32 throughout; "high" and "medium" allow TF32, which is
            faster.

    Raises:
        RuntimeError: for another word.

    Example:
        >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"precision must be 'highest', 'high' or 'medium', but got {precision!r}")
    settings.float32_matmul_precision = precision


@public("torch")
def get_float32_matmul_precision() -> str:
    """How exact products of float32 matrices on a GPU are: "highest", "high" or "medium".

    Example:
        >>> torch.get_float32_matmul_precision()
        'highest'
    """
    return settings.float32_matmul_precision


@public("torch")
def _assert(condition: object, message: str) -> None:
    """`assert` as a function."""
    assert condition, message
