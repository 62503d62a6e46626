"""Groups made and given back: `init_process_group`, `new_group`, `destroy_process_group`, questions to them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from ..base.config import launcher
from ..base.device import device as torch_device
from ..core.hot import bar
from . import mpiexec
from .compare import DebugLevel
from .groups import DEFAULT_TIMEOUT, GroupMember, ProcessGroup, group_of, not_in
from .meeting import meet, numbers

__all__ = [
    "destroy_process_group", "get_backend", "get_debug_level", "get_default_backend_for_device", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size",
    "init_process_group", "is_available", "is_backend_available", "is_gloo_available", "is_initialized",
    "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "set_debug_level",
    "split_group",
]  # fmt: skip

DEFAULT_BACKENDS = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
_BACKENDS = ("gloo", "nccl", "mpi", "ucc", "xccl", "fake")


def is_available() -> bool:
    """Whether collectives can be used: with one rank always, with more where MPI is installed.

    Example:
        >>> torch.distributed.is_available()
        True
    """
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called.

    Example:
        >>> torch.distributed.is_initialized()  # false before init_process_group
        True
    """
    return GroupMember.WORLD is not None


def is_nccl_available() -> bool:
    """Whether GPUs can exchange tensors by NCCL.

    Example:
        >>> backend = "nccl" if torch.distributed.is_nccl_available() else "gloo"
    """
    from ..runtime.cuda import why_not

    if why_not() is not None:
        return False
    from .gpus import nccl_module

    return nccl_module() is not None


def is_gloo_available() -> bool:
    """Whether a script may ask for "gloo", which PyTorch uses on the CPU: yes, MPI does its work here.

    Example:
        >>> torch.distributed.is_gloo_available()
        True
    """
    return True


def is_mpi_available() -> bool:
    """Whether MPI is installed, which a world of several processes needs.

    Example:
        >>> isinstance(torch.distributed.is_mpi_available(), bool)
        True
    """
    return mpiexec.why_not() is None


def is_ucc_available() -> bool:
    """Whether UCC can be used: no.

    Example:
        >>> torch.distributed.is_ucc_available()
        False
    """
    return False


def is_xccl_available() -> bool:
    """Whether Intel's XCCL can be used: no.

    Example:
        >>> torch.distributed.is_xccl_available()
        False
    """
    return False


def is_backend_available(backend: str) -> bool:
    """Whether `init_process_group` can be given this backend.

    Args:
        backend: such as "gloo" or "nccl".

    Example:
        >>> torch.distributed.is_backend_available("gloo")
        True
    """
    name = backend.lower()
    known = {"gloo": is_gloo_available, "mpi": is_mpi_available, "nccl": is_nccl_available}
    return known[name]() if name in known else False


def is_torchelastic_launched() -> bool:
    """Whether `rushlight launch` (torchrun) started this process.

    Example:
        >>> torch.distributed.is_torchelastic_launched()
        False
    """
    return launcher("TORCHELASTIC_RUN_ID") is not None


def _backend(given: Any) -> str:
    """A backend's name: "gloo", "cpu:gloo,cuda:nccl"; None is "undefined", which stands for both."""
    name = str(given if given is not None else "undefined").lower()
    for part in name.split(","):
        if part.rpartition(":")[2] not in _BACKENDS and part != "undefined":
            raise ValueError(f"Unknown backend type {given}")
    return name


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
    _ranks: Any = None,
) -> None:
    """Make the group of all ranks; every rank calls it.

    Args:
        backend: "gloo", "nccl", "mpi", or "cpu:gloo,cuda:nccl"; both kinds of device if not given.
        init_method: where the ranks meet: "env://" (the default), "tcp://host:port" or "file:///path".
        timeout: how long a collective may take, a timedelta.
        world_size, rank: how many processes there are and which one this is; from the launcher if not given.
        store: where the ranks meet, in place of `init_method`.
        group_name, pg_options: accepted and not needed.
        device_id: the GPU of this rank.

    Raises:
        ValueError: if it was called before, or the backend is not known.
        DistBackendError: if there are several ranks and MPI is missing.

    Example:
        >>> dist.get_rank(), dist.get_world_size()
        (0, 1)
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    _check_timeout(timeout)
    name = _backend(backend)
    rank, world_size = numbers(rank, world_size, init_method)
    limit = timeout or DEFAULT_TIMEOUT
    if world_size > 1:
        # The other ranks wait for what this one computes, and messages go past the door.
        bar("several processes compute together")
    world, comm = meet(rank, world_size, init_method, store, timeout, name)
    group = ProcessGroup(world, range(world_size), "default_pg", name, limit, comm)
    world.groups[group.group_name] = group
    GroupMember.WORLD = group
    if device_id is not None and "nccl" in name:
        _bind(device_id)


def _check_timeout(timeout: Any) -> None:
    if timeout is not None and not isinstance(timeout, datetime.timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")


def _bind(device_id: Any) -> None:
    """Use the GPU that the caller names for this rank."""
    from ..runtime.cuda import why_not

    if why_not() is None:
        import cupy

        index = device_id if isinstance(device_id, int) else getattr(device_id, "index", None)
        if index is not None:
            cupy.cuda.Device(index).use()


def destroy_process_group(group: Any = None) -> None:
    """Leave a group; without one, all of them.

    Args:
        group: the group to leave.

    Example:
        >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        >>> dist.destroy_process_group()
        >>> dist.is_initialized()
        False
    """
    if not_in(group):
        return
    world = GroupMember.WORLD
    if world is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is world:
        for one in list(world.world.groups.values()):
            one.close()
        world.world.groups.clear()
        GroupMember.WORLD = None
        return
    group.close()
    world.world.groups.pop(group.group_name, None)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: datetime.timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some of the ranks; every rank of the world calls it, in the same order.

    Args:
        ranks: numbers in the world; all if not given.
        timeout: how long a collective may take.
        backend: as in `init_process_group`.
        pg_options, device_id: accepted and not needed.
        use_local_synchronization: only the members call it.
        group_desc: a name for messages.
        sort_ranks: order the members by number.

    Returns:
        The group; on ranks outside of it, a mark with which collectives do nothing.

    Raises:
        ValueError: if a rank is out of range or named twice.

    Example:
        >>> group = dist.new_group([0])
        >>> dist.get_world_size(group)
        1
    """
    parent = group_of()
    _check_timeout(timeout)
    world = parent.world
    chosen = list(range(world.size)) if ranks is None else [int(r) for r in ranks]
    if sort_ranks:
        chosen = sorted(chosen)
    _check_ranks(chosen, world.size)
    name = group_desc or f"group_{next(world.names)}"
    while name in world.groups:
        name += "_"
    comm = None
    member = world.rank in chosen
    if parent.comm is not None and use_local_synchronization:
        if member and len(chosen) > 1:
            comm = _local_comm(parent, chosen)
    elif parent.comm is not None:
        parent.begin("new_group")
        parent.engine("cpu").barrier()  # Split blocks, and would not say who is missing
        color = 0 if member else mpiexec.library_of(parent.comm).UNDEFINED
        made = parent.comm.Split(color, chosen.index(world.rank) if member else 0)
        comm = made if member and len(chosen) > 1 else None
    if not member:
        return GroupMember.NON_GROUP_MEMBER
    limit = timeout or parent.timeout
    made_group = ProcessGroup(world, chosen, name, _backend(backend or parent.backend), limit, comm)
    world.groups[name] = made_group
    return made_group


def _check_ranks(ranks: list[int], size: int) -> None:
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
    if len(ranks) > size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for r in ranks:
        if not 0 <= r < size:
            raise ValueError(f"Rank {r} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})")


def _local_comm(parent: ProcessGroup, ranks: list[int]) -> Any:
    """A communicator that only its members make."""
    members = parent.comm.Get_group().Incl(ranks)
    tag = hash(tuple(ranks)) % 30000
    return parent.comm.Create_group(members, tag)


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: Any = None,
    backend: Any = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbours; this rank's one, and all.

    Args:
        group_size: ranks in each; those of one machine if not given.
        group: the group that is cut; all ranks if not given.
        timeout, backend: as in `new_group`.
        pg_options, group_desc: accepted and not needed.

    Raises:
        ValueError: if the size of the group is not a multiple of `group_size`.

    Example:
        >>> mine, groups = dist.new_subgroups(group_size=1)
        >>> len(groups)
        1
    """
    world = group_of(group)
    size = group_size or int(launcher("LOCAL_WORLD_SIZE") or world.size())
    if size <= 0:
        raise ValueError(f"The arg 'group_size' ({size}) must be positive")
    if world.size() < size:
        raise ValueError(f"The arg 'group_size' ({size}) must not exceed the world size ({world.size()})")
    if world.size() % size:
        raise ValueError(f"The world size ({world.size()}) must be divisible by 'group_size={size}'")
    parts = [world.ranks[i : i + size] for i in range(0, world.size(), size)]
    return new_subgroups_by_enumeration(parts, timeout, backend)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: Any = None,
    backend: Any = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """One group for each list of ranks; this rank's one, and all.

    Args:
        ranks_per_subgroup_list: the ranks of each group.
        timeout, backend: as in `new_group`.
        pg_options, group_desc: accepted and not needed.

    Raises:
        ValueError: if a rank appears in two groups.

    Example:
        >>> mine, groups = dist.new_subgroups_by_enumeration([[0]])
        >>> dist.get_process_group_ranks(mine)
        [0]
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen = [r for ranks in ranks_per_subgroup_list for r in ranks]
    if len(seen) != len(set(seen)):
        raise ValueError("a rank has appeared in several subgroups")
    groups = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    mine = next((g for g in groups if not not_in(g)), None)
    return mine, groups


def split_group(
    parent_pg: Any = None,
    split_ranks: list[list[int]] | None = None,
    timeout: Any = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: Any = None,
) -> Any:
    """The part of a group that this rank belongs to; `split_ranks` are places in the parent.

    Args:
        parent_pg: the group that is cut; all ranks if not given.
        split_ranks: the places of each part.
        timeout, backend: as in `new_group`.
        pg_options, group_desc: accepted and not needed.

    Example:
        >>> dist.get_process_group_ranks(dist.split_group(split_ranks=[[0]]))
        [0]
    """
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = group_of(parent_pg)
    parts = [[parent.ranks[i] for i in part] for part in split_ranks]
    return new_subgroups_by_enumeration(parts, timeout, backend)[0]


def get_rank(group: Any = None) -> int:
    """This process's place in the group; -1 outside of it.

    Example:
        >>> dist.get_rank()
        0
    """
    return -1 if not_in(group) else group_of(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many ranks the group has; -1 outside of it.

    Example:
        >>> dist.get_world_size()
        1
    """
    return -1 if not_in(group) else group_of(group).size()


def get_backend(group: Any = None) -> str:
    """The backend that the group was made with.

    Raises:
        ValueError: if this rank is outside of the group.

    Example:
        >>> dist.get_backend()
        'gloo'
    """
    if not_in(group):
        raise ValueError("Invalid process group specified")
    return group_of(group).backend


def get_default_backend_for_device(device: Any) -> str:
    """The backend that PyTorch uses for a kind of device, unless another one is named.

    Args:
        device: a device or its name.

    Raises:
        ValueError: if there is none for it.

    Example:
        >>> torch.distributed.get_default_backend_for_device("cpu")
        'gloo'
    """
    kind = torch_device(device).type
    if kind not in DEFAULT_BACKENDS:
        raise ValueError(f"Default backend not registered for device : {kind}")
    return DEFAULT_BACKENDS[kind]


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks of a group, as numbers in the world.

    Example:
        >>> dist.get_process_group_ranks()
        [0]
    """
    return list(group_of(group).ranks)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the world of a group's member.

    Args:
        group: the group.
        group_rank: its place in the group.

    Raises:
        ValueError: if the group has no such place.

    Example:
        >>> dist.get_global_rank(dist.new_group([0]), 0)
        0
    """
    ranks = group_of(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The place in a group of a rank of the world.

    Args:
        group: the group.
        global_rank: its number in the world.

    Raises:
        ValueError: if the rank is not in the group.

    Example:
        >>> dist.get_group_rank(dist.new_group([0]), 0)
        0
    """
    ranks = group_of(group).ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine, from LOCAL_RANK, which the launcher sets.

    Args:
        fallback_rank: the answer where there is none.

    Raises:
        RuntimeError: if LOCAL_RANK is not set and there is no fallback.

    Example:
        >>> torch.distributed.get_node_local_rank(fallback_rank=0)
        0
    """
    value = launcher("LOCAL_RANK")
    if value is not None:
        return int(value)
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context and "
        "want the code to run locally instead."
    )


def get_pg_count() -> int:
    """How many groups this process belongs to.

    Example:
        >>> torch.distributed.get_pg_count()  # all processes
        1
    """
    return 0 if GroupMember.WORLD is None else len(GroupMember.WORLD.world.groups)


def get_debug_level() -> DebugLevel:
    """What TORCH_DISTRIBUTED_DEBUG asks for.

    Example:
        >>> torch.distributed.get_debug_level().name
        'OFF'
    """
    if GroupMember.WORLD is not None and GroupMember.WORLD.world.detail:
        return DebugLevel.DETAIL
    return DebugLevel[(launcher("TORCH_DISTRIBUTED_DEBUG") or "OFF").upper()]


def set_debug_level(level: DebugLevel) -> None:
    """Compare collectives before they are done (DETAIL), or do not; on every rank alike.

    Args:
        level: a `DebugLevel`.

    Example:
        >>> dist.set_debug_level(dist.DebugLevel.DETAIL)
        >>> dist.get_debug_level().name
        'DETAIL'
    """
    group_of().world.detail = level is DebugLevel.DETAIL
