"""The package metadata of PyTorch and torchvision, as the aliases answer it."""

from __future__ import annotations

from importlib.metadata import Distribution
from typing import Any


class _Standing(Distribution):
    """A distribution without files: its name, its version, and the module it provides."""

    def __init__(self, name: str, version: str) -> None:
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            f"Summary: {name}'s interface, provided by rushlight\n",
            "top_level.txt": f"{name}\n",
            "INSTALLER": "rushlight\n",
        }

    def read_text(self, filename: Any) -> str | None:
        return self._texts.get(str(filename))

    def locate_file(self, path: Any) -> Any:
        """There is no such folder; the name says whose it would be."""
        from pathlib import Path

        return Path(__file__).parents[2] / path


def standing_for(name: str, version: str) -> Distribution:
    """The metadata of one aliased distribution."""
    return _Standing(name, version)
