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
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


@public("torch")
def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage."""
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


def _tensor_argument(name: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(value).__name__}"
        )
    return value


@public("torch")
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return _tensor_argument("is_inference", input).is_inference()


@public("torch")
def numel(input: Tensor) -> int:
    """How many elements `input` has."""
    return _tensor_argument("numel", input).numel()


@public("torch")
def get_device(input: Tensor) -> int:
    """The index of the GPU `input` is on; -1 for the CPU."""
    return _tensor_argument("get_device", input).get_device()


@public("torch")
def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype that arithmetic of the two would give."""
    return result_dtype(tensor1, tensor2)


@public("torch")
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds both."""
    for position, given in enumerate((type1, type2), start=1):
        if not isinstance(given, dtype):
            raise TypeError(
                f"promote_types(): argument 'type{position}' (position {position}) must be "
                f"torch.dtype, not {type(given).__name__}"
            )
    return dtypes.promote_types(type1, type2)


@public("torch")
def can_cast(from_: Any, to: Any) -> bool:
    """Whether a result of dtype `from_` may be written into a tensor of dtype `to`."""
    return dtypes.can_cast(as_dtype(from_), as_dtype(to))


@public("torch")
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether nondeterministic operations only warn."""
    return settings.deterministic_warn_only


@public("torch")
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for kernels that give the same result every time."""
    if not isinstance(mode, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not "
            f"{type(mode).__name__}"
        )
    settings.deterministic = mode
    settings.deterministic_warn_only = bool(warn_only)
    threads.apply()


@public("torch")
def are_deterministic_algorithms_enabled() -> bool:
    """Whether only deterministic kernels are allowed."""
    return settings.deterministic


@public("torch")
def set_num_threads(num: int) -> None:
    """Set how many threads the CPU kernels use."""
    if isinstance(num, bool) or not isinstance(num, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    threads.set(num)


@public("torch")
def get_num_threads() -> int:
    """How many threads the CPU kernels use."""
    return threads.get()


@public("torch")
def set_num_interop_threads(num: int) -> None:
    """Refused: rushlight runs one operation at a time, so there is nothing to set but 1."""
    if num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    if num != 1:
        import warnings

        warnings.warn(
            "rushlight runs one operation at a time; interop threads stay 1", stacklevel=2
        )


@public("torch")
def get_num_interop_threads() -> int:
    """How many operations run at the same time: one."""
    return 1


@public("torch")
def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers could be set to flush to zero: not here, so False."""
    return False


@public("torch")
def set_float32_matmul_precision(precision: str) -> None:
    """ "high" and "medium" allow TF32 in float32 products on the GPU; "highest" does not."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"precision must be 'highest', 'high' or 'medium', but got {precision!r}"
        )
    settings.float32_matmul_precision = precision


@public("torch")
def get_float32_matmul_precision() -> str:
    """How precise float32 products on the GPU are."""
    return settings.float32_matmul_precision


@public("torch")
def _assert(condition: object, message: str) -> None:
    """`assert` as a function."""
    assert condition, message
