"""Saving and loading nested state dicts by all ranks: each writes its parts, one of them the table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ...base import dtypes
from ...base.errors import only
from ...base.shapes import Size
from ...core.tensor import Tensor
from ...io import pth
from ...io.sharded import TABLE, CheckpointReader, Piece, file_name, merge, publish, write_pieces
from ..groups import group_of, world_or_none
from ..objects import all_gather_object, broadcast_object_list
from ..tensor._utils import compute_local_shape_and_global_offset
from ..tensor.dtensor import DTensor
from ..tensor.rules import without_summands
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorProperties, TensorStorageMetadata

__all__ = [
    "CheckpointException",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "Stateful",
    "async_save",
    "dcp_to_torch_save",
    "load",
    "save",
    "torch_save_to_dcp",
]


class FileSystemWriter:
    """Says where a checkpoint is written.

    Args:
        path: the folder.
        options: PyTorch's; `overwrite=False` refuses a folder that holds a checkpoint, the others say how files are written.

    Example:
        >>> checkpoint.FileSystemWriter("step-100").path
        'step-100'
    """

    def __init__(self, path: Any, **options: Any) -> None:
        only(type(self).__name__, options, "single_file_per_rank sync_files thread_count per_thread_copy_ahead overwrite "
             "cache_staged_state_dict serialization_format")  # fmt: skip
        self.path, self._overwrite = os.fspath(path), options.get("overwrite", True)


class FileSystemReader(FileSystemWriter):
    """Says where a checkpoint is read.

    Args:
        path: the folder.
        options: as for `FileSystemWriter`.

    Example:
        >>> checkpoint.FileSystemReader("step-100").path
        'step-100'
    """

    def opened(self, folder: str) -> CheckpointReader:
        """What reads the folder."""
        return CheckpointReader(folder)

    def read_metadata(self) -> Metadata:
        """What the folder holds: names, sizes, dtypes and in which parts they lie; no numbers are read."""
        index = self.opened(self.path).index
        found: dict[str, Any] = {name: BytesStorageMetadata() for name in index["others"]}
        for name, entry in index["tensors"].items():
            chunks = [ChunkStorageMetadata(Size(p["offset"]), Size(p["shape"])) for p in entry["parts"]]
            properties = TensorProperties(getattr(dtypes, entry["dtype"]))
            found[name] = TensorStorageMetadata(properties, Size(entry["whole"]), chunks)
        return Metadata(found)


class CheckpointException(BaseException):
    """A checkpoint could not be written or read; no Exception, as in PyTorch.

    Args:
        msg: what went wrong.
        failures: what went wrong, by rank.

    Example:
        >>> checkpoint.CheckpointException("not read", {0: KeyError("w")}).failures
        {0: KeyError('w')}
    """

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        return self._failures

    def __str__(self) -> str:
        told = [f"rank {rank}: {type(error).__name__}: {error}" for rank, error in self._failures.items()]
        return "\n".join([self.args[0], *told])


def _own(planner: Any, kind: type) -> None:
    """Refuse plans of others: each rank writes its parts, and reads what it asks for."""
    if planner is not None and type(planner) is not kind:
        raise NotImplementedError(f"planner of {type(planner).__name__}: checkpoints are planned by {kind.__name__}")


def _path(checkpoint_id: Any, storage: Any) -> str:
    found = checkpoint_id if checkpoint_id is not None else getattr(storage, "path", None)
    if found is None:
        raise ValueError("a checkpoint needs a checkpoint_id or a storage_writer that names a folder")
    return os.path.abspath(os.fspath(found))


class _FlatStateDict(NamedTuple):
    """A state dict as one table: values by names with dots, and by which keys each was reached."""

    values: dict[str, Any]
    paths: dict[str, list[Any]]


def _flat(tree: Any) -> _FlatStateDict:
    """Nested dicts and lists as one table; objects with a state dict as that."""
    found = _FlatStateDict({}, {})
    _flatten(tree, "", [], found)
    return found


def _flatten(tree: Any, prefix: str, path: list[Any], found: _FlatStateDict) -> None:
    if hasattr(tree, "state_dict") and not isinstance(tree, dict):
        tree = tree.state_dict()
    pairs: Any = None
    if isinstance(tree, Mapping):
        pairs = [(str(key), value) for key, value in tree.items()]
    elif not _ends(tree):
        pairs = list(enumerate(tree))  # a number is a place in a list
    if pairs is None:
        found.values[prefix], found.paths[prefix] = tree, path
        return
    for step, value in pairs:
        _flatten(value, f"{prefix}.{step}" if prefix else str(step), [*path, step], found)


def _ends(value: Any) -> bool:
    """Whether a value is written as one: all but dicts, and lists with a tensor or a dict somewhere in them."""
    if isinstance(value, Mapping):
        return False
    return not isinstance(value, list) or all(_ends(v) and not isinstance(v, Tensor) for v in value)


def _ranks(process_group: Any, no_dist: bool) -> Any:
    if no_dist or world_or_none() is None:
        return None
    return group_of(process_group)


def _first_copy(value: DTensor) -> bool:
    """Whether no other rank with a lower number has the same part."""
    where = value.device_mesh.get_coordinate() or ()
    return not any(at for at, kind in zip(where, value.placements) if not kind.is_shard())


def _pieces(flat: dict[str, Any], rank: int, size: int) -> list[Piece]:
    """What this rank writes: its parts of spread tensors, and its share of those that all ranks have."""
    pieces = []
    plain = 0
    for name, value in flat.items():
        if isinstance(value, DTensor):
            value = without_summands(value)
            shape, offset = compute_local_shape_and_global_offset(value.full_shape, value.device_mesh, value.placements)
            if all(shape) and _first_copy(value):
                pieces.append(Piece(name, value.full_shape, offset, value.to_local()))
        elif isinstance(value, Tensor):
            if plain % size == rank:
                whole = tuple(value.shape)
                pieces.append(Piece(name, whole, (0,) * len(whole), value))
            plain += 1
    return pieces


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Write a checkpoint; all ranks call it. It is there as a whole or not at all.

    Args:
        state_dict: nested dicts and lists of tensors and other values; a `DTensor` is written by the ranks that have it.
        checkpoint_id: the folder; or
        storage_writer: a `FileSystemWriter`.
        planner: a `DefaultSavePlanner`.
        process_group: the ranks that write; all if not given.
        no_dist: write from this process alone.

    Raises:
        RuntimeError: if a rank cannot write; then the folder holds what it held before.

    Example:
        >>> import tempfile
        >>> state = {"w": torch.ones(2), "step": 3}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint.save(state, checkpoint_id=folder + "/step-3")
        ...     found = {"w": torch.zeros(2), "step": 0}
        ...     checkpoint.load(found, checkpoint_id=folder + "/step-3")
        >>> found
        {'w': tensor([1., 1.]), 'step': 3}
    """
    _own(planner, DefaultSavePlanner)
    final = _path(checkpoint_id, storage_writer)
    if not getattr(storage_writer, "_overwrite", True) and os.path.exists(os.path.join(final, TABLE)):
        raise RuntimeError(f"Checkpoint already exists in {final}, and overwrite=False.")
    group = _ranks(process_group, no_dist)
    rank, size = (0, 1) if group is None else (group.rank(), group.size())
    key = [os.urandom(6).hex()]
    if group is not None:
        broadcast_object_list(key, group=group, group_src=0)
    os.makedirs(final, exist_ok=True)
    flat = _flat(state_dict)
    told: Any
    if hasattr(storage_writer, "write"):
        tensors = {k: v.full_tensor() if isinstance(v, DTensor) else v for k, v in flat.values.items()}
        if rank == 0:
            storage_writer.write(final, tensors)
        if group is not None:  # nobody goes on before the files are there
            broadcast_object_list([None], group=group, group_src=0)
        return
    try:
        others = {k: v for k, v in flat.values.items() if rank == 0 and not isinstance(v, Tensor)}
        pieces = _pieces(flat.values, rank, size)
        told = write_pieces(final, file_name(rank, key[0]), pieces, others)
    except OSError as error:  # a full disk of one rank must end the save of all
        told = f"rank {rank}: {error}"
    everyone: list[Any] = [told]
    if group is not None:
        everyone = [None] * size
        all_gather_object(everyone, told, group)
    failed = [t for t in everyone if isinstance(t, str)]
    problem = ["; ".join(failed)]
    if rank == 0:
        problem = [_publish(final, key[0], everyone, flat, problem[0])]
    if group is not None:
        broadcast_object_list(problem, group=group, group_src=0)
    if problem[0]:
        raise RuntimeError(f"the checkpoint {final} was not written: {problem[0]}")


def _publish(folder: str, key: str, tables: list[Any], flat: _FlatStateDict, problem: str) -> str:
    """Rank 0: put the table in its place, or take away what was written; what went wrong."""
    try:
        if not problem:
            publish(folder, merge(tables, flat.paths))
            return ""
    except (OSError, RuntimeError) as error:
        problem = str(error)
    for name in os.listdir(folder):
        if name.endswith(f"_{key}.distcp"):
            os.remove(os.path.join(folder, name))
    return problem


def async_save(state_dict: dict[str, Any], **kwargs: Any) -> Future:
    """Write a checkpoint; the future is done when it is there. Here that is when the call returns.

    Args:
        state_dict: as in `save`.
        kwargs: as in `save`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     future = checkpoint.async_save({"w": torch.ones(2)}, checkpoint_id=folder + "/step-3")
        ...     future.done()
        True
    """
    future: Future = Future()
    kwargs.pop("async_checkpointer_type", None)
    save(state_dict, **kwargs)
    future.set_result(None)
    return future


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill the tensors of a state dict, in place, from a checkpoint of any number of ranks.

    Args:
        state_dict: says what is wanted; tensors are filled in place, other values are replaced.
        checkpoint_id: the folder; or
        storage_reader: a `FileSystemReader`.
        planner: a `DefaultLoadPlanner`, which may allow that something is missing.
        process_group: the ranks that read, all of which call it; all if not given.
        no_dist: read in this process alone.

    Raises:
        CheckpointException: on every rank, if on one the folder has no complete checkpoint, a name is missing or a shape differs.

    Example:
        >>> import tempfile
        >>> net = nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint.save({"net": net.state_dict()}, checkpoint_id=folder)
        ...     found = {"net": nn.Linear(2, 1).state_dict()}
        ...     checkpoint.load(found, checkpoint_id=folder)
        >>> torch.equal(found["net"]["weight"], net.weight)
        True
    """
    _own(planner, DefaultLoadPlanner)
    folder = _path(checkpoint_id, storage_reader)
    group = _ranks(process_group, no_dist)
    failed: Exception | None = None
    try:
        reader = (storage_reader if isinstance(storage_reader, FileSystemReader) else FileSystemReader(folder)).opened(
            folder
        )
        _load_into(state_dict, "", reader, bool(getattr(planner, "allow_partial_load", False)))
    except Exception as error:
        failed = error
    everyone: list[Any] = [failed]
    if group is not None:
        everyone = [None] * group.size()
        all_gather_object(everyone, failed and RuntimeError(f"{type(failed).__name__}: {failed}"), group)
        everyone[group.rank()] = failed
    if any(everyone):
        raise CheckpointException(
            "the checkpoint was not read", {r: e for r, e in enumerate(everyone) if e}
        ) from failed


def _load_into(tree: Any, prefix: str, reader: CheckpointReader, partly: bool) -> Any:
    """The value that belongs at a place; tensors are filled where they are. `partly`: what is missing stays."""

    def at(key: Any) -> str:
        return f"{prefix}.{key}" if prefix else str(key)

    if isinstance(tree, Tensor):
        if _there(prefix, tree.shape, reader, partly):
            _fill(tree, prefix, reader)
        return tree
    if hasattr(tree, "load_state_dict"):
        tree.load_state_dict(_load_into(tree.state_dict(), prefix, reader, partly))
        return tree
    if isinstance(tree, dict):
        for key in list(tree):
            tree[key] = _load_into(tree[key], at(key), reader, partly)
        return tree
    if prefix in reader.index["others"]:
        return reader.other(prefix)
    if not _ends(tree):
        return [_load_into(v, at(i), reader, partly) for i, v in enumerate(tree)]
    if partly:
        return tree
    raise RuntimeError(f"Missing key in checkpoint state_dict: {prefix}.")


def _fill(t: Tensor, name: str, reader: CheckpointReader) -> None:
    """A tensor, or this rank's part of one, from what is stored under a name."""
    if not isinstance(t, DTensor):
        reader.into(name, (0,) * t.dim(), t)
        return
    shape, offset = compute_local_shape_and_global_offset(t.full_shape, t.device_mesh, t.placements)
    if all(shape):
        reader.into(name, offset, t.to_local().detach())


def _there(name: str, shape: Any, reader: CheckpointReader, partly: bool) -> bool:
    """Whether a tensor of this name and shape is stored."""
    if name not in reader.index["tensors"]:
        if partly:
            return False
        raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
    if reader.shape(name) != tuple(shape):
        raise ValueError(f"Size mismatch between saved {reader.shape(name)} and current: {tuple(shape)} for {name}")
    return True


class DefaultSavePlanner:
    """How a checkpoint is planned; every option of PyTorch's is accepted, and the plan is the same.

    Args:
        options: such as `dedup_save_to_lowest_rank`.

    Example:
        >>> planner = checkpoint.DefaultSavePlanner(dedup_save_to_lowest_rank=True)
    """

    def __init__(self, **options: Any) -> None:
        self.options = options


class DefaultLoadPlanner:
    """How a checkpoint is read.

    Args:
        flatten_state_dict, flatten_sharded_tensors: how PyTorch names what it reads; any way is read.
        allow_partial_load: leave what the checkpoint does not have as it is, instead of an error.

    Example:
        >>> checkpoint.DefaultLoadPlanner(allow_partial_load=True).allow_partial_load
        True
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.allow_partial_load = allow_partial_load


@runtime_checkable
class Stateful(Protocol):
    """What `save` and `load` ask of an object inside of a state dict.

    Example:
        >>> from rushlight.distributed.checkpoint.stateful import Stateful
        >>> isinstance(nn.Linear(2, 1), Stateful)
        True
    """

    def state_dict(self) -> dict[str, Any]:
        """The state that is written, and that `load` fills before it hands it back."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state over."""
        ...


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Write the whole of a checkpoint into one file; one process calls it.

    Args:
        dcp_checkpoint_dir: the folder that `checkpoint.save` wrote.
        torch_save_path: the file.

    Raises:
        RuntimeError: if the folder has no complete checkpoint.

    Example:
        >>> import tempfile
        >>> from rushlight.distributed.checkpoint.format_utils import dcp_to_torch_save
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint.save({"net": {"w": torch.ones(2)}}, checkpoint_id=folder + "/step")
        ...     dcp_to_torch_save(folder + "/step", folder + "/net.pt")
        ...     torch.load(folder + "/net.pt")
        {'net': {'w': tensor([1., 1.])}}
    """
    reader = CheckpointReader(os.fspath(dcp_checkpoint_dir))
    pth.save(reader.nested(), torch_save_path)


def torch_save_to_dcp(torch_save_path: Any, dcp_checkpoint_dir: Any) -> None:
    """Write what a file of `save` holds as a checkpoint that any number of ranks reads.

    Args:
        torch_save_path: the file; it is read with `weights_only=True`.
        dcp_checkpoint_dir: the folder.

    Example:
        >>> import tempfile
        >>> from rushlight.distributed.checkpoint.format_utils import torch_save_to_dcp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.save({"w": torch.ones(2)}, folder + "/net.pt")
        ...     torch_save_to_dcp(folder + "/net.pt", folder + "/step")
        ...     torch.distributed.checkpoint.load(found := {"w": torch.zeros(2)}, checkpoint_id=folder + "/step")
        >>> found
        {'w': tensor([1., 1.])}
    """
    save(pth.load(torch_save_path, weights_only=True), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
