"""`%load_ext rushlight` in a notebook: `import torch` finds rushlight from there on."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ...base.version import __version__
from .alias import as_torch, installed


def load_ipython_extension(shell: Any) -> None:
    """As `as_torch`, with a sentence about what it did: IPython calls it for `%load_ext rushlight`.

    A PyTorch that is installed but not imported yet stays aside until the kernel is started anew. One that is
    imported already is never replaced: `as_torch()` raises.

    Raises:
        RuntimeError: if PyTorch has been imported.
    """
    if installed():
        print(f"In this kernel `import torch` finds rushlight {__version__} already.")
        return
    try:
        real = f"; the PyTorch {version('torch')} that is installed here is left aside"
    except PackageNotFoundError:
        real = ""
    as_torch()
    print(
        f"In this kernel `import torch`, `import torchvision` and `import dezero` now find rushlight {__version__}"
        f"{real}. To undo it, restart the kernel."
    )
