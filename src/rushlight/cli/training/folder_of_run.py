"""The folder of a run: chosen so that nothing is overwritten, and what is written into it to repeat the run."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from .. import config
from ..data.marks import DEFAULT, holds_runs, is_free
from ..errors import UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from argparse import Namespace

_LINGER_S = 3.0  # what a killed run's loaders may still live, with its lock


def choose(asked: str | None, resume: bool, data: str | None = None) -> str:
    """Where the run's files go: the folder asked for, or the next free one after it.

    Without --out the folder is made here and now, so that two runs that start together have two.
    """
    if resume:
        return asked or _newest() or DEFAULT
    if asked and data and _is_data(asked, data):
        raise UsageError(f"--out {asked} is a folder of --data {data}, and a run does not write among its files: choose one of its own")  # fmt: skip
    number = 1
    folder = first = asked or DEFAULT
    while not (_made(folder) if asked is None else is_free(folder)):
        number += 1
        folder = f"{first}-{number}"
    return folder


def _is_data(folder: str, data: str) -> bool:
    """Whether the folder, or what it lies in, is a part of the data set: none of a run, and not empty."""
    inside = os.path.realpath(folder) + os.sep
    there = os.path.isdir(folder) and os.path.isdir(data) and bool(os.listdir(folder))
    return there and inside.startswith(os.path.join(os.path.realpath(data), "")) and not holds_runs(folder)


def _made(folder: str) -> bool:
    """Whether the folder was not there and now is: of two processes, one gets it."""
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.mkdir(folder)
    except FileExistsError:
        return False
    except OSError as error:
        raise _cannot_write(folder, error) from None
    return True


def drop_if_empty(folder: str) -> None:
    """A run that came to nothing leaves no folder behind; one that holds anything stays."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)
        os.rmdir(os.path.dirname(folder))


def _cannot_write(folder: str, error: OSError) -> UsageError:
    return UsageError(f"--out {folder} cannot be written to: {error.strerror or error}")


def _newest() -> str | None:
    """The run in runs/ that was written to last."""
    parent = os.path.dirname(DEFAULT)
    try:
        found = [e.path for e in os.scandir(parent) if os.path.exists(os.path.join(e.path, "last.pth"))]
    except OSError:
        return None
    return max(found, key=lambda path: os.path.getmtime(os.path.join(path, "last.pth")), default=None)


def find_data(args: Namespace, saved: dict[str, Any]) -> None:
    """A resumed run's pictures: where they lay, whatever folder this is, or where they were moved to.

    Pictures that moved are named by --data; that they are as many of the same classes is checked later.
    """
    if saved["config"]["data"] in config.DATA:
        return
    place = saved["data"]
    there = os.path.exists(place)
    if args.data is not None and not (there and _same(args.data, place)):
        if not there and os.path.exists(args.data):
            saved["config"]["data"] = args.data
        return
    args.data = saved["config"]["data"] = place if there else saved["config"]["data"]


def _same(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.samefile(one, other)


def make(folder: str, resume: bool = False) -> int | None:
    """The folder, and a file written into it: before hours of training, not after. The answer holds it until it is closed."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _cannot_write(folder, error) from None
    held = _hold(folder)
    if not resume and not is_free(folder):  # somebody was quicker since it was chosen
        release(held)
        raise _in_use(folder)
    return held


def _hold(folder: str) -> int | None:
    """A lock on the folder, which goes with this process; None where the system has none."""
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    until = time.monotonic() + _LINGER_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(handle)
                raise _in_use(folder) from None
        except OSError:  # some file systems of networks cannot
            os.close(handle)
            return None
        time.sleep(0.1)


def release(held: int | None) -> None:
    """Let another run have the folder."""
    if held is not None:
        os.close(held)


def _in_use(folder: str) -> UsageError:
    return UsageError(f"--out {folder}: another `rushlight train` writes to it; wait until it has ended, or choose another --out")  # fmt: skip


def write_args(args: Namespace, why: str, argv: list[str]) -> dict[str, Any]:
    """args.json: the command, all settings as they came out, versions, the commit, the machine."""
    from rushlight.io import atomic_write

    content = {
        "command": shlex.join(["rushlight", *argv]),
        "settings": {name: getattr(args, name) for name in config.DEFAULTS},
        "others": {name: getattr(args, name, None) for name in config.OTHERS},
        "device": why, "versions": versions(), "git": git_hash(), "machine": platform.platform(),
        "cores": os.cpu_count(), "folder": os.getcwd(),
        "started": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }  # fmt: skip
    with atomic_write(os.path.join(args.out, "args.json"), "w") as f:
        json.dump(content, f, indent=1)
    return content


def update_args(args: Namespace, why: str, resumed: bool = False) -> dict[str, Any]:
    """args.json as the run that began it wrote it, but for what may change: epochs, patience; and when it went on.

    Where there is none that can be read, it is written anew.
    """
    from rushlight.io import atomic_write

    path = os.path.join(args.out, "args.json")
    try:
        with open(path, encoding="utf-8") as f:
            content = json.load(f)
        content["settings"].update({name: getattr(args, name) for name in config.MAY_CHANGE})
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        return write_args(args, why, args.argv)
    if resumed:
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        content.setdefault("resumed", []).append(now)
    with atomic_write(path, "w") as f:
        json.dump(content, f, indent=1)
    return content


def versions() -> dict[str, str]:
    """Of what the numbers depend on."""
    import numpy

    from rushlight.runtime.cpu.engine import engine_info
    from rushlight.version import __version__

    engine = engine_info()
    found = {"rushlight": __version__, "python": platform.python_version(), "numpy": numpy.__version__,
             "engine": f"{engine.name} {engine.version} ({engine.instruction_set})"}  # fmt: skip
    pillow = sys.modules.get("PIL")
    if pillow is not None:
        found["pillow"] = pillow.__version__
    return found


def git_hash() -> str | None:
    """The commit of the folder the command was given in, with `+` where files differ from it."""
    try:
        told = subprocess.run(["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude", "*"],
                              capture_output=True, text=True, timeout=10)  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip() or None
