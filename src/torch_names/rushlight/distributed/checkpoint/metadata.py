"""`torch.distributed.checkpoint.metadata`: what `FileSystemReader.read_metadata` says of a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "TensorProperties", "TensorStorageMetadata"]


@dataclass
class ChunkStorageMetadata:
    """Where one rank's part of a tensor begins, and its shape."""

    offsets: Any
    sizes: Any


@dataclass
class TensorProperties:
    """What every part of a tensor has alike."""

    dtype: Any


@dataclass
class TensorStorageMetadata:
    """A tensor, and the parts that it lies in."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass
class Metadata:
    """What lies in a checkpoint, by name."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: dict[Any, Any] = field(default_factory=dict)
