"""Runs the uses of one library in this process and prints their numbers as JSON, or where each one stopped.

    python tools/library_uses/run.py [--torch FOLDER] tools/library_uses/einops.py

Without `--torch`, `import torch` finds rushlight; with it, the PyTorch that is installed in FOLDER.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import inspect
import json
import logging
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def numbers(value: Any) -> list[float]:
    """Every number in tensors, arrays, lists and dicts, in order."""
    if isinstance(value, dict):
        return [n for key in value for n in numbers(value[key])]
    if isinstance(value, list | tuple):
        return [n for item in value for n in numbers(item)]
    if hasattr(value, "detach"):
        value = value.detach().to("cpu")
    return numbers(value.tolist()) if hasattr(value, "tolist") else [float(value)]


def load(path: Path) -> ModuleType:
    """The file as a module with a name no library has; it finds this one as `library_use`."""
    sys.modules["library_use"] = sys.modules[__name__]
    spec = importlib.util.spec_from_file_location(f"use_of_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def where(error: BaseException) -> str:
    """The error in one line, and the line of code it came from."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(f"{type(error).__name__}: {error}".split())[:160]
    return f"{text} ({Path(last.filename).name}:{last.lineno})"


def run(use: Any) -> dict[str, Any]:
    """One use from the same seeds, in an empty folder of its own."""
    import numpy as np
    import torch

    random.seed(0), np.random.seed(0), torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        try:
            return {"numbers": numbers(use())}
        except Exception as error:
            if os.environ.get("SHOW_ERRORS"):
                traceback.print_exc()
            return {"error": where(error)}


# -- what uses share; they import it from `library_use` --------------------------------------------


def trained(optimizer: Any, steps: int, loss_of: Callable[[], Any]) -> list[Any]:
    """The losses of so many steps."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses


def steps_by(rule: Callable[[Any], Any]) -> Any:
    """What an optimiser makes of a small network: six losses, and how long its parameters are then."""
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer, x = rule(net.parameters()), torch.randn(16, 4)
    getattr(optimizer, "train", lambda: None)()  # of some that keep two sets of weights
    losses = trained(optimizer, 6, lambda: (net(x) - x.sum(1, keepdim=True)).pow(2).mean())
    getattr(optimizer, "eval", lambda: None)()
    return losses, [p.norm() for p in net.parameters()]


def uses_of(module: ModuleType) -> dict[str, Any]:
    """The public functions that the file itself defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def _names_torchvision_wants() -> None:
    """Let PyTorch's torchvision be imported where its compiled operators do not fit; no use here calls them."""
    import torch

    for name in ("nms", "qnms"):
        schema = "(Tensor dets, Tensor scores, float limit) -> Tensor"
        torch.library.define(f"torchvision::{name}", schema)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--torch", type=Path, nargs="*", help="folders that hold PyTorch")
    args = parser.parse_args()
    sys.path.pop(0)  # our folder: its files are called as the libraries are
    if args.torch:
        sys.path.extend(str(folder) for folder in args.torch)
        _names_torchvision_wants()
    else:
        import rushlight

        rushlight.as_torch()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with contextlib.redirect_stdout(sys.stderr):
        try:
            module = load(args.file)
        except Exception as error:
            if os.environ.get("SHOW_ERRORS"):
                traceback.print_exc()
            found: dict[str, Any] = {"import": {"error": where(error)}}
        else:
            found = {name: run(use) for name, use in uses_of(module).items()}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
