"""The options of FullyShardedDataParallel: strategies, dtypes, kinds of state dicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ..modules.batchnorm import _BatchNorm

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig",
    "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy",
    "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


class ShardingStrategy(Enum):
    """What FullyShardedDataParallel spreads over the ranks.

    `FULL_SHARD`: parameters, gradients and the optimiser's state. `SHARD_GRAD_OP`: the same, but parameters stay whole
    between forward and backward. `NO_SHARD`: nothing, as DistributedDataParallel. `HYBRID_SHARD`: `FULL_SHARD` inside
    a host, copies between hosts; `_HYBRID_SHARD_ZERO2`: so with `SHARD_GRAD_OP`.

    Example:
        >>> from rushlight.distributed.fsdp import ShardingStrategy
        >>> ShardingStrategy.FULL_SHARD.name
        'FULL_SHARD'
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When backward gathers the next parameters; accepted, the order of the forward pass decides.

    Example:
        >>> from rushlight.distributed.fsdp import BackwardPrefetch
        >>> BackwardPrefetch.BACKWARD_PRE.value
        1
    """

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Whole tensors, this rank's parts as plain tensors, or spread tensors.

    Example:
        >>> from rushlight.distributed.fsdp import StateDictType
        >>> [kind.name for kind in StateDictType]
        ['FULL_STATE_DICT', 'LOCAL_STATE_DICT', 'SHARDED_STATE_DICT']
    """

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """Whether an optimiser's state dict goes by names or by numbers.

    Example:
        >>> from rushlight.distributed.fsdp import OptimStateKeyType
        >>> OptimStateKeyType.PARAM_NAME.value
        1
    """

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass(frozen=True)
class MixedPrecision:
    """Dtypes of FullyShardedDataParallel.

    Args:
        param_dtype: of the parameters while they are whole.
        reduce_dtype: of gradients while they are exchanged.
        buffer_dtype: of buffers.
        keep_low_precision_grads: not supported; gradients have the dtype of their parameters.
        cast_forward_inputs: cast the inputs of every wrapped module.
        cast_root_forward_inputs: cast the inputs of the outermost one.
        _module_classes_to_ignore: modules that keep their dtype where an `auto_wrap_policy` is given.

    Example:
        >>> from rushlight.distributed.fsdp import MixedPrecision
        >>> MixedPrecision(param_dtype=torch.bfloat16).cast_root_forward_inputs
        True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether shards lie on the host.

    Args:
        offload_params: keep parameters, gradients and the optimiser's work there.

    Example:
        >>> from rushlight.distributed.fsdp import CPUOffload
        >>> CPUOffload(offload_params=True).offload_params
        True
    """

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """How state dicts are made.

    Args:
        offload_to_cpu: bring tensors to the host.

    Example:
        >>> from rushlight.distributed.fsdp import StateDictConfig
        >>> StateDictConfig().offload_to_cpu
        False
    """

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """How whole state dicts are made.

    Args:
        offload_to_cpu: bring tensors to the host.
        rank0_only: other ranks get an empty one.

    Example:
        >>> from rushlight.distributed.fsdp import FullStateDictConfig
        >>> FullStateDictConfig(rank0_only=True).rank0_only
        True
    """

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """As `StateDictConfig`, of this rank's parts."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """As `StateDictConfig`, of spread tensors; `_use_dtensor`: as DTensors."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """As `StateDictConfig`, of optimisers."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """As `FullStateDictConfig`, of optimisers."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """As `LocalStateDictConfig`, of optimisers."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """As `ShardedStateDictConfig`, of optimisers."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """Which state dicts are made, and how.

    Args:
        state_dict_type: a `StateDictType`.
        state_dict_config: how.
        optim_state_dict_config: how for optimisers.

    Example:
        >>> from rushlight.distributed.fsdp import (
        ...     FullOptimStateDictConfig, FullStateDictConfig, StateDictSettings, StateDictType)
        >>> chosen = StateDictSettings(
        ...     StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())
        >>> chosen.state_dict_type.name
        'FULL_STATE_DICT'
    """

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


CONFIGS = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}
