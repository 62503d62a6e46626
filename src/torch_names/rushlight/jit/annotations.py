"""`torch.jit.annotations`: the types that scripted code is annotated with, which are Python's."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - these are the names asked for

from ..core.tensor import Tensor


class BroadcastingList1:
    """A list of that many numbers, or one number for all of them: what a compiler makes of it; Python looks at neither."""

    def __class_getitem__(cls, item: Any) -> None:
        return None


BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList1

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "BroadcastingList4",
    "Dict",
    "List",
    "Optional",
    "Tensor",
    "Tuple",
    "Union",
]
