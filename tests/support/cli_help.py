"""Running the command line in another process, plainly or in a terminal, and data small enough for it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "rushlight"]
CLASSES = ("bars", "dots", "plain")


def environment() -> dict[str, str]:
    """This one, with our sources first."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "140", "TERM": "xterm"}


def cli(*args: object, cwd: Path, timeout: float = 600) -> subprocess.CompletedProcess:
    """`rushlight ARGS` without a terminal."""
    return subprocess.run(
        [*COMMAND, *map(str, args)], cwd=cwd, env=environment(), text=True, capture_output=True, timeout=timeout
    )


def start(*args: object, cwd: Path) -> subprocess.Popen:
    """`rushlight ARGS` in the background, its output readable line by line."""
    return subprocess.Popen(
        [*COMMAND, *map(str, args)],
        cwd=cwd, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def in_terminal(*args: object, cwd: Path, keys: dict[str, bytes] | None = None) -> tuple[int, str]:
    """`rushlight ARGS` in a pseudo-terminal: the exit code and all it showed.

    `keys` are typed when the text they belong to has been shown.
    """
    import pty

    waiting = dict(keys or {})
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *map(str, args)],
        cwd=cwd, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=_take_terminal,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    end = time.monotonic() + 600
    try:
        while time.monotonic() < end:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not piece:
                break
            shown += piece
            for text in [t for t in waiting if t.encode() in shown]:
                os.write(ours, waiting.pop(text))
    finally:
        os.close(ours)
        if time.monotonic() >= end:
            process.kill()
    return process.wait(), shown.decode()


def _take_terminal() -> None:
    """Make the pseudo-terminal the one whose Ctrl-C reaches us."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def picture(kind: str, number: int, size: int = 20) -> np.ndarray:
    """A grey picture that a small network tells from the other kinds."""
    draw = np.random.default_rng(number)
    a = draw.integers(0, 40, (size, size), dtype=np.uint8)
    if kind == "bars":
        a[:, int(draw.integers(0, 4)) :: 4] = 220
    elif kind == "dots":
        a[int(draw.integers(0, 5)) :: 5, int(draw.integers(0, 5)) :: 5] = 220
    return a


def write_pictures(folder: Path, each: int, first: int = 0) -> Path:
    """A folder for every class, with PNG files in it."""
    from PIL import Image

    for kind in CLASSES:
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for i in range(first, first + each):
            Image.fromarray(picture(kind, i)).save(folder / kind / f"{i}.png")
    return folder


def write_cifar(folder: Path) -> None:
    """CIFAR-10 in the published layout, with eight pictures a file."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)
    for name in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]:
        data = draw.integers(0, 256, (10, 3072)).astype(np.uint8)
        with open(folder / name, "wb") as f:
            pickle.dump({"batch_label": name, "labels": list(range(10)), "data": data}, f, 4)
    names = "airplane automobile bird cat deer dog frog horse ship truck".split()
    with open(folder / "batches.meta", "wb") as f:
        pickle.dump({"label_names": names, "num_vis": 3072}, f, 4)
