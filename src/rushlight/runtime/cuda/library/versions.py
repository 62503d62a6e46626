"""What is known of the libraries that are called on a GPU before they are: versions, and how one is imported."""

from __future__ import annotations

import sys
import threading
from typing import Any

# Up to which (major, minor) of cuDNN's front end convolutions of doubles were seen to be right. With 1.22.1 the results
# are noise, from the same plans (H200, cuDNN 9.19, 18 November 2026).
_RIGHT_DOUBLES = (1, 14)


def knows_doubles(front_end: str) -> bool:
    """Whether a version of cuDNN's front end is known to describe convolutions of doubles as cuDNN reads them."""
    try:
        major, minor = map(int, front_end.split(".")[:2])
    except ValueError:
        return False
    return (major, minor) <= _RIGHT_DOUBLES


class _WithoutTorch:
    """In this block and thread `import torch` finds nothing, unless it was imported before.

    The front end looks for PyTorch to take its tensors, which nobody gives it here: where that is installed, a second
    and more, and hundreds of megabytes.
    """

    def __enter__(self) -> None:
        self.thread = threading.get_ident()
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def __exit__(self, *exc: object) -> None:
        sys.meta_path.remove(self)  # type: ignore[arg-type]

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "torch" and threading.get_ident() == self.thread:
            raise ModuleNotFoundError("cuDNN's front end is used without PyTorch", name=name)


def imported_front_end() -> Any:
    """The `cudnn` module of nvidia-cudnn-frontend; raises ImportError or OSError where it or cuDNN is missing."""
    if "torch" in sys.modules:
        import cudnn
    else:
        with _WithoutTorch():
            import cudnn

            asked = getattr(cudnn.datatypes, "is_torch_available", None)
            if asked is not None:
                asked()  # the answer is remembered
    return cudnn
