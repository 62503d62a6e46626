"""PyTorch's `torch.distributed`: processes that train together, over MPI between hosts and NCCL between GPUs.

`docs/distributed.md` tells how it is built. With one rank nothing else has to be installed; more need
`pip install 'rushlight[mpi]'`.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

from .barriers import barrier, monitored_barrier
from .collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from .compare import DebugLevel
from .errors import DistBackendError, DistError, DistNetworkError, DistQueueEmptyError, DistStoreError
from .groups import DEFAULT_TIMEOUT, GroupMember, ProcessGroup
from .lifecycle import (
    DEFAULT_BACKENDS,
    destroy_process_group,
    get_backend,
    get_debug_level,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    set_debug_level,
    split_group,
)
from .meeting import rendezvous
from .objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from .point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from .reduce_op import ReduceOp
from .store import FileStore, HashStore, PrefixStore, Store, TCPStore
from .works import Work

group = GroupMember
default_pg_timeout: timedelta = DEFAULT_TIMEOUT
QueueEmptyError = DistQueueEmptyError
all_gather_single = all_gather_into_tensor
reduce_scatter_single = reduce_scatter_tensor

__all__ = [
    "Backend", "DebugLevel", "DistBackendError", "DistError", "DistNetworkError", "DistQueueEmptyError",
    "DistStoreError", "FileStore", "GroupMember", "HashStore", "P2POp", "PrefixStore", "ProcessGroup",
    "QueueEmptyError", "ReduceOp", "Store", "TCPStore", "Work", "all_gather", "all_gather_coalesced",
    "all_gather_into_tensor", "all_gather_object", "all_gather_single", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "broadcast_object_list", "default_pg_timeout", "destroy_process_group", "gather", "gather_object",
    "get_backend", "get_debug_level", "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_process_group", "irecv", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
    "is_ucc_available", "is_xccl_available", "isend", "monitored_barrier", "new_group", "new_subgroups",
    "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce", "reduce_scatter",
    "reduce_scatter_single", "reduce_scatter_tensor", "rendezvous", "scatter", "scatter_object_list",
    "send", "send_object_list", "set_debug_level", "split_group",
]  # fmt: skip


class Backend(str):
    """The name of a backend, as a string that knows the usual ones.

    Args:
        name: in letters of any case.

    Example:
        >>> torch.distributed.Backend.NCCL
        'nccl'
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    default_device_backend_map = dict(DEFAULT_BACKENDS)

    def __new__(cls, name: str) -> Backend:
        return super().__new__(cls, name.lower())


# In a source tree PyTorch's paths to what lies above this package are beside it, see rushlight/__init__.py.
__path__ += [f"{folder}/distributed" for folder in sys.modules[__package__.partition(".")[0]].__path__[1:]]
_MODULES = (
    "algorithms", "checkpoint", "constants", "device_mesh", "distributed_c10d", "elastic", "fsdp", "launcher", "nn",
    "optim", "pipelining", "rpc", "run", "tensor",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Submodules are loaded on first use."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(import_module(f"{__name__}.device_mesh"), name)
    if name in ("GradBucket", "BuiltinCommHookType"):
        return getattr(import_module(f"{__name__}.algorithms.ddp_comm_hooks.bucket"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    """A sum whose inputs are multiplied by `factor` first."""
    return ReduceOp(ReduceOp.PREMUL_SUM, factor)


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction has a meaning for complex numbers.

    Args:
        reduceOp: a `ReduceOp`.

    Example:
        >>> torch.distributed.supports_complex(torch.distributed.ReduceOp.MAX)
        False
    """
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
