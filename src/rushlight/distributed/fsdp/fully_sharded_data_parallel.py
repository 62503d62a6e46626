"""`torch.distributed.fsdp.fully_sharded_data_parallel`: the class and its options."""

from .._one import classes

_NAMES = (
    "BackwardPrefetch", "CPUOffload", "FullStateDictConfig", "FullyShardedDataParallel", "MixedPrecision",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictType",
)  # fmt: skip
globals().update(classes("fsdp", *_NAMES))
