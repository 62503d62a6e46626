"""The types of arrays and kernels by which functions are annotated: type checkers read what each is; a running program loads none of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .array_module import ArrayModule
    from .protocols import (
        Array,
        DeviceArray,
        GenericBody,
        InstructionLike,
        KernelBody,
        KernelLike,
        RandomStream,
        Shaped,
        SlotLike,
    )
else:
    Array = ArrayModule = DeviceArray = Shaped = SlotLike = Any
    GenericBody = InstructionLike = KernelBody = KernelLike = RandomStream = Any

__all__ = [
    "Array",
    "ArrayModule",
    "DeviceArray",
    "GenericBody",
    "InstructionLike",
    "KernelBody",
    "KernelLike",
    "RandomStream",
    "Shaped",
    "SlotLike",
]
