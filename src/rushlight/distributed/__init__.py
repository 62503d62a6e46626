"""PyTorch's `torch.distributed` for one process: every collective is what it is with one rank.

A script written for several ranks runs unchanged when it is started as one; a world of more than one
process is refused when the group is made.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable
from typing import Any

from ..base.config import launcher
from ..base.errors import NotYet
from ..core.modes import no_grad
from ..core.tensor import Tensor

__all__ = [
    "ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object",
    "all_reduce", "barrier", "broadcast", "broadcast_object_list", "destroy_process_group", "gather",
    "get_backend", "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_process_group", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "monitored_barrier", "new_group", "recv",
    "reduce", "reduce_scatter", "scatter", "send",
]  # fmt: skip


class ReduceOp(enum.IntEnum):
    """How the tensors of several ranks become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


class ProcessGroup:
    """The ranks that take part in a collective: here always rank 0 alone."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 1


class Work:
    """A collective under way; with one rank it is done when it is returned."""

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True


class GroupMember:
    """Names for the groups."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


group = GroupMember


def __getattr__(name: str) -> Any:
    """Submodules for several processes are loaded on first use."""
    if name in ("algorithms", "checkpoint", "device_mesh", "fsdp", "tensor"):
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    if name in ("DeviceMesh", "init_device_mesh"):
        from . import device_mesh

        return getattr(device_mesh, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_available() -> bool:
    """Whether collectives can be used: with one rank, yes."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return GroupMember.WORLD is not None


def is_nccl_available() -> bool:
    return False


def is_gloo_available() -> bool:
    return True


def is_mpi_available() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    return False


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the group of all ranks; there may be one."""
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if world_size == -1 or rank == -1:
        world_size = _from_launcher("WORLD_SIZE", world_size)
        rank = _from_launcher("RANK", rank)
    if world_size != 1:
        raise NotYet(
            f"init_process_group: a world of {world_size} processes. rushlight trains in one process "
            "on one device; start the script with world_size=1 (or without its launcher)."
        )
    if rank != 0:
        raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, 0]")
    name = (backend or "gloo").lower()
    for part in name.split(","):
        if part.rpartition(":")[2] not in ("gloo", "nccl", "mpi", "ucc", "xccl", "fake"):
            raise ValueError(f"Unknown backend type {backend}")
    GroupMember.WORLD = ProcessGroup(name)


def _from_launcher(name: str, given: int) -> int:
    if given != -1:
        return given
    value = launcher(name)
    if value is None:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} "
            "expected, but not set. Pass rank=0, world_size=1 to run as a single process."
        )
    return int(value)


def _world(of: Any = None) -> ProcessGroup:
    if of is not None:
        return of
    if GroupMember.WORLD is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return GroupMember.WORLD


def destroy_process_group(group: Any = None) -> None:
    """Leave the group."""
    if GroupMember.WORLD is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is GroupMember.WORLD:
        GroupMember.WORLD = None


def get_rank(group: Any = None) -> int:
    return _world(group).rank()


def get_world_size(group: Any = None) -> int:
    return _world(group).size()


def get_backend(group: Any = None) -> str:
    return _world(group).backend


def get_process_group_ranks(group: Any = None) -> list[int]:
    _world(group)
    return [0]


def new_group(ranks: Any = None, *args: Any, **kwargs: Any) -> ProcessGroup:
    """A group of some of the ranks: there is but one."""
    world = _world()
    if ranks is not None and list(ranks) != [0]:
        raise ValueError(f"the new group's rank should be within the world_size, got {ranks}")
    return ProcessGroup(world.backend)


def _checked(tensor: Any, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` to be of type Tensor"
        )


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def _root(rank: int, name: str) -> None:
    if rank != 0:
        raise RuntimeError(f"{name}: invalid root rank: {rank}")


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The reduction over one rank leaves the tensor as it is."""
    _world(group)
    _checked(tensor, "tensor")
    return _done(async_op)


def reduce(
    tensor: Tensor, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    _root(dst, "reduce")
    return all_reduce(tensor, op, group, async_op)


def broadcast(
    tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    _world(group)
    _checked(tensor, "tensor")
    _root(src, "broadcast")
    return _done(async_op)


def _copy_all(targets: Any, sources: list[Tensor], name: str) -> None:
    if len(targets) != 1:
        raise RuntimeError(f"{name}: invalid tensor list (expected length 1, got {len(targets)})")
    with no_grad():
        for target, source in zip(targets, sources):
            target.copy_(source)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensors of all ranks into a list: here a copy of the one."""
    _world(group)
    _checked(tensor, "tensor")
    _copy_all(tensor_list, [tensor], "all_gather")
    return _done(async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    _world(group)
    with no_grad():
        output_tensor.copy_(input_tensor.reshape(output_tensor.shape))
    return _done(async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int = 0,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    _world(group)
    _root(dst, "gather")
    if gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _copy_all(gather_list, [tensor], "gather")
    return _done(async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int = 0,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    _world(group)
    _root(src, "scatter")
    if scatter_list is None:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _copy_all([tensor] * len(scatter_list), scatter_list, "scatter")
    return _done(async_op)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    _world(group)
    _copy_all([output] * len(input_list), input_list, "reduce_scatter")
    return _done(async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    _world(group)
    object_list[0] = obj


def broadcast_object_list(
    object_list: list[Any], src: int = 0, group: Any = None, device: Any = None
) -> None:
    _world(group)
    _root(src, "broadcast")


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """All ranks are here already."""
    _world(group)
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    _world(group)


def _to_self(name: str, other: str) -> Callable[..., None]:
    def refuse(tensor: Tensor, *args: Any, group: Any = None, **kwargs: Any) -> None:
        _world(group)
        raise ValueError(
            f"Invalid {other} rank: {other} rank should not be the same as the rank of the current "
            "process."
        )

    refuse.__name__ = name
    return refuse


send = _to_self("send", "destination")
recv = _to_self("recv", "source")
