"""The file of a training run: the network, and everything needed to go on with it."""

from __future__ import annotations

import os
from typing import Any

from ..errors import UsageError
from .checked import check

FORMAT = "rushlight-train-2"


def write(path: str, content: dict[str, Any]) -> None:
    """Save atomically."""
    import rushlight

    try:
        rushlight.save({"format": FORMAT, **content}, path)
    except (OSError, RuntimeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be written: {said}") from None


def find(path: str, name: str = "best.pth") -> str:
    """The checkpoint that a folder of a run stands for."""
    return os.path.join(path, name) if os.path.isdir(path) else path


def read(path: str) -> dict[str, Any]:
    """Load a checkpoint on the CPU; UsageError when it is none."""
    import rushlight
    from rushlight.io import CorruptFileError

    path = find(path)
    try:
        content = rushlight.load(path, map_location="cpu")
        size = os.path.getsize(path)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; `rushlight train` writes one") from None
    except (CorruptFileError, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    known = content.get("format") if isinstance(content, dict) else None
    if type(known) is not str or known != FORMAT:
        raise UsageError(
            f"{path} is a weights file, but not one that `rushlight train` wrote; "
            f"`rushlight train --weights {path}` starts from it"
        )
    _as_of_today(content)
    check(content, size, path)
    return content


# What files of earlier versions do not say, and meant.
_MEANT = {"fit": "crop", "minutes": None, "head_lr": None, "ema": 0.0, "views": 1}


def _as_of_today(content: dict[str, Any]) -> None:
    content.setdefault("average", None)
    if isinstance(content.get("config"), dict):
        content["config"] = {**_MEANT, **content["config"]}
