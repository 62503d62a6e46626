"""`torch.distributed.fsdp`: parameters spread over several processes."""

from ...nn.parallel.fully_shard import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
)
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
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullStateDictConfig",
    "FullyShardedDataParallel", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictType", "fully_shard",
]  # fmt: skip
