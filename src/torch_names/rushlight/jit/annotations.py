"""`torch.jit.annotations`: the types that scripted code is annotated with, which are Python's."""

from typing import (  # noqa: UP035 - these are the names asked for
    Any,
    Dict,
    List,
    Optional,
    Tuple,
    Union,
)

from ..core.tensor import Tensor

__all__ = ["Any", "Dict", "List", "Optional", "Tensor", "Tuple", "Union"]
