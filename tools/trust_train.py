"""A training so small that it can be interrupted a thousand times, run in forked processes."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as rl
import rushlight.cli.errors
import rushlight.cli.train
import rushlight.utils.tensorboard
import rushlight.vision.datasets
from rushlight.cli import main

sys.modules["matplotlib"] = None  # type: ignore[assignment]  # its pictures prove nothing here

SORTS = (
    ["--model", "mlp"],
    ["--model", "lenet", "--width", "1", "--optimizer", "adam", "--augment"],
    ["--model", "lenet", "--width", "1", "--no-compile", "--schedule", "step"],
)


def write_pictures(folder: Path) -> None:
    """24 pictures of noise in two classes."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for name in ("cats", "dogs"):
        (folder / name).mkdir(parents=True)
        for i in range(12):
            pixels = rng.integers(0, 256, (16, 16, 3), np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")


def arguments(root: Path, out: Path, sort: int) -> list[str]:
    common = ["train", "--data", str(root / "pictures"), "--size", "16", "--batch-size", "4"]
    return [*common, "--epochs", "4", "--quiet", "--out", str(out), *SORTS[sort % len(SORTS)]]


def start(args: list[str], before: Callable[[], None] | None = None) -> int:
    """`rushlight ARGS` in a forked process; its number."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        if before is not None:
            before()
        code = main(args)
    finally:
        os._exit(code)


def ended(pid: int) -> int:
    """The exit code of a process, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def fingerprint(out: Path) -> tuple[list[dict], str]:
    """Losses of every epoch, and all bits of the network, the optimiser and the random numbers."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    kept = [{k: v for k, v in x.items() if k not in ("seconds", "images_per_second")} for x in lines]
    saved = rl.load(out / "last.pth")
    digest = hashlib.sha256()
    for part in ("model", "optimizer", "rng"):
        _add(digest, saved[part])
    return kept, digest.hexdigest()


def _add(digest: Any, value: object) -> None:
    if isinstance(value, rl.Tensor):
        digest.update(value.numpy().tobytes())
    elif isinstance(value, dict):
        for key in value:
            digest.update(repr(key).encode())
            _add(digest, value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            _add(digest, item)
    else:
        digest.update(repr(value).encode())


def loadable(out: Path) -> bool:
    """Whether the checkpoint is whole, or not there yet."""
    path = out / "last.pth"
    if not path.exists():
        return True
    try:
        rushlight.cli.train.checkpoint.read(str(path))
    except rushlight.cli.errors.UsageError:
        return False
    return True
