"""`torch.distributed.checkpoint.hf_storage`: folders of safetensors files, as Hugging Face's hub has them."""

from __future__ import annotations

import glob
import json
import os
from typing import Any

import numpy as np

from ...base.errors import NotYet
from ...io import safetensors
from ...io.atomic import atomic_write
from ...io.sharded import CheckpointReader
from .saving import FileSystemReader, FileSystemWriter

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

_INDEX = "model.safetensors.index.json"
_PLACES = "DCP_SHARDING_INFO"  # in a file's metadata: where in the whole tensors its parts lie


class _Files(CheckpointReader):
    """The tensors of a folder's safetensors files; of each file the header is read, and what is asked for."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        tensors: dict[str, Any] = {}
        paths = sorted(glob.glob(os.path.join(glob.escape(folder), "*.safetensors")))
        if not paths:
            raise RuntimeError(f"{folder} has no safetensors files")
        for path in paths:
            head, begin = safetensors.header(path)
            places = json.loads(head.pop("__metadata__", {}).get(_PLACES, "{}"))
            for name, row in head.items():
                offset = places.get(name, {}).get("saved_offsets", [0] * len(row["shape"]))
                first, last = row["data_offsets"]
                part = {"file": os.path.basename(path), "at": begin + first, "bytes": last - first, "offset": offset, "shape": row["shape"]}  # fmt: skip
                entry = tensors.setdefault(name, {"dtype": safetensors.dtype_of(name, row["dtype"]), "parts": []})
                entry["parts"].append(part)
        for entry in tensors.values():
            ends = [[o + n for o, n in zip(p["offset"], p["shape"])] for p in entry["parts"]]
            entry["whole"] = [max(column) for column in zip(*ends)]
        self.index = {"tensors": tensors, "others": {}}

    def _part(self, part: dict[str, Any], dtype: Any) -> np.ndarray:
        return np.frombuffer(self._bytes(part), dtype).reshape(part["shape"])


class HuggingFaceStorageReader(FileSystemReader):
    """Says that a folder of safetensors files is read, whole ones or parts of several ranks.

    Args:
        path: the folder.
        thread_count: accepted and not needed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint.save({"w": torch.ones(2)}, storage_writer=checkpoint.HuggingFaceStorageWriter(folder))
        ...     found = {"w": torch.zeros(2)}
        ...     checkpoint.load(found, storage_reader=checkpoint.HuggingFaceStorageReader(folder))
        >>> found
        {'w': tensor([1., 1.])}
    """

    def __init__(self, path: Any, thread_count: int = 1) -> None:
        super().__init__(path)

    def opened(self, folder: str) -> CheckpointReader:
        return _Files(folder)


class HuggingFaceStorageWriter(FileSystemWriter):
    """Says that rank 0 writes whole tensors into safetensors files, and the index of them.

    Args:
        path: the folder.
        fqn_to_index_mapping: by name, which file a tensor goes to, from 1; one file if not given.
        thread_count, thread_count_consolidation: accepted and not needed.
        save_distributed: tensors are spread over the ranks; needs
        enable_consolidation: whole tensors in the end, which are all that is written here.

    Example:
        >>> checkpoint.HuggingFaceStorageWriter("model").path
        'model'
    """

    def __init__(
        self, path: Any, fqn_to_index_mapping: dict[str, int] | None = None, thread_count: int = 1, save_distributed: bool = False,
        enable_consolidation: bool = False, thread_count_consolidation: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(path)
        if save_distributed and not enable_consolidation:
            raise NotYet("HuggingFaceStorageWriter(save_distributed=True): safetensors files of parts; enable_consolidation=True writes whole tensors")  # fmt: skip
        self.fqn_to_index_mapping = fqn_to_index_mapping or {}

    def write(self, folder: str, tensors: dict[str, Any]) -> None:
        """Called by rank 0 with whole tensors."""
        numbers = {name: self.fqn_to_index_mapping.get(name, 1) for name in tensors}
        last = max(numbers.values(), default=1)
        files = {name: f"model-{k:05}-of-{last:05}.safetensors" for name, k in numbers.items()}
        for file in sorted(set(files.values())):
            mine = {name: t for name, t in tensors.items() if files[name] == file}
            safetensors.save_file(mine, os.path.join(folder, file), {"format": "pt"})
        total = sum(t.numel() * t.element_size() for t in tensors.values())
        with atomic_write(os.path.join(folder, _INDEX)) as f:
            f.write(json.dumps({"metadata": {"total_size": total}, "weight_map": files}, indent=2).encode())
