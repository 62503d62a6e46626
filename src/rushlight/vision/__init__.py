"""Images: datasets, transforms, models and picture files, under torchvision's names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..version import __version__

_SUBMODULES = ("datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils")
__all__ = ["__version__", "get_image_backend", "set_image_backend", *_SUBMODULES]  # noqa: F822, PLE0604


def set_image_backend(backend: str) -> None:
    """Choose what reads picture files: Pillow is the only choice.

    Args:
        backend: "PIL".

    Example:
        >>> from rushlight import vision
        >>> vision.set_image_backend("PIL")
    """
    if backend != "PIL":
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL'")


def get_image_backend() -> str:
    """What reads picture files.

    Example:
        >>> from rushlight import vision
        >>> vision.get_image_backend()
        'PIL'
    """
    return "PIL"


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:  # loaded on first use: models alone are a thousand lines
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'; it has {', '.join(_SUBMODULES)}.")


def __dir__() -> list[str]:
    return sorted(__all__)
