"""`torch.distributed.fsdp`: parameters spread over several processes."""

from .._one import classes, functions
from .fully_sharded_data_parallel import (  # type: ignore[attr-defined]
    BackwardPrefetch,
    CPUOffload,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictType,
)

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullStateDictConfig", "FullyShardedDataParallel", "MixedPrecision",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictType",
]  # fmt: skip

globals().update(
    classes("fsdp", "CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy")
)
globals().update(functions("fsdp", "fully_shard"))
