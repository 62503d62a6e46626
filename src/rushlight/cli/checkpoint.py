"""The file of a training run: the network, and everything needed to go on with it."""

from __future__ import annotations

import os
from typing import Any

from .errors import UsageError

FORMAT = "rushlight-train-1"
NEEDED = (
    "config", "data", "data_dir", "classes", "count", "channels", "size", "mean", "std", "model",
    "optimizer", "schedule", "epoch", "step", "sums", "history", "rng", "cuda_rng",
)  # fmt: skip


def write(path: str, content: dict[str, Any]) -> None:
    """Save atomically."""
    import rushlight

    try:
        rushlight.save({"format": FORMAT, **content}, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None


def read(path: str) -> dict[str, Any]:
    """Load a checkpoint on the CPU; UsageError when it is none."""
    import rushlight
    from rushlight.io import CorruptFileError

    if os.path.isdir(path):
        path = os.path.join(path, "model.pth")
    try:
        content = rushlight.load(path, map_location="cpu")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; `rushlight train` writes one") from None
    except (CorruptFileError, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UsageError(f"{path} is a weights file, but not one that `rushlight train` wrote")
    lost = [key for key in NEEDED if key not in content]
    if lost:
        raise UsageError(f"{path} is incomplete: it has no {', '.join(lost)}")
    return content
