"""`torch.distributed.checkpoint.format_utils`: between folders of ranks and one file of `save`."""

from __future__ import annotations

import os
from typing import Any

from ...io import pth
from ...io.sharded import CheckpointReader
from .saving import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Write the whole of a checkpoint into one file; one process calls it.

    Args:
        dcp_checkpoint_dir: the folder that `checkpoint.save` wrote.
        torch_save_path: the file.

    Raises:
        RuntimeError: if the folder has no complete checkpoint.

    Example:
        >>> import tempfile
        >>> from rushlight.distributed import checkpoint
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
    save(pth.load(torch_save_path, weights_only=True), checkpoint_id=dcp_checkpoint_dir, no_dist=True)  # fmt: skip
