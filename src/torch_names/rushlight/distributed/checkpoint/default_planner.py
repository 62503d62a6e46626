"""`torch.distributed.checkpoint.default_planner`: what scripts say about saving and loading."""

from __future__ import annotations

from typing import Any

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


class DefaultSavePlanner:
    """How a checkpoint is planned; every option of PyTorch's is accepted, and the plan is the same.

    Args:
        options: such as `dedup_save_to_lowest_rank`.

    Example:
        >>> from rushlight.distributed import checkpoint
        >>> planner = checkpoint.DefaultSavePlanner(dedup_save_to_lowest_rank=True)
    """

    def __init__(self, **options: Any) -> None:
        self.options = options


class DefaultLoadPlanner:
    """How a checkpoint is read.

    Args:
        flatten_state_dict, flatten_sharded_tensors: accepted and not needed.
        allow_partial_load: leave what the checkpoint does not have as it is, instead of an error.

    Example:
        >>> from rushlight.distributed import checkpoint
        >>> checkpoint.DefaultLoadPlanner(allow_partial_load=True).allow_partial_load
        True
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.allow_partial_load = allow_partial_load
