"""The hosts of a job: a file that names them, or the Slurm allocation it runs in."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from ...base.config import launcher

__all__ = ["hosts_of_slurm", "read_hosts", "written_for"]

_DROPPED = ("slots=", "max_slots=", "max-slots=")  # --nproc-per-node says how many ranks


def read_hosts(path: str) -> list[str]:
    """The hosts that a file names, one a line, in the spelling of either MPI: `a`, `a:4`, `a slots=4`."""
    try:
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ValueError(f"{path} cannot be read: {why}") from None
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        host, colon, count = words[0].rpartition(":")
        if not colon or ":" in host or not count.isdecimal():
            host = words[0]
        more = [word for word in words[1:] if not word.startswith(_DROPPED)]
        if more:
            raise ValueError(f"{path}, line {number}: {' '.join(more)!r} is not understood; write one host a line")  # fmt: skip
        if host in found:
            raise ValueError(f"{path}, line {number}: {host} is there twice; --nproc-per-node says how many ranks a host gets")  # fmt: skip
        found.append(host)
    if not found:
        raise ValueError(f"{path} names no host; write one host a line")
    return found


def hosts_of_slurm() -> list[str]:
    """The hosts of the Slurm allocation that this process runs in; none outside of one."""
    nodes = launcher("SLURM_JOB_NODELIST")
    if nodes is None:
        return []
    try:
        told = subprocess.run(
            ["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return told.stdout.split()


@contextmanager
def written_for(kind: str, hosts: list[str], each: int) -> Iterator[str | None]:
    """A file of hosts as this kind of MPI reads it, while the job runs; None where there are none."""
    if not hosts:
        yield None
        return
    handle, path = tempfile.mkstemp(prefix="rushlight-hosts-", text=True)
    try:
        with os.fdopen(handle, "w") as f:
            f.writelines(f"{h} slots={each}\n" if kind == "openmpi" else f"{h}\n" for h in hosts)
        yield path
    finally:
        os.unlink(path)
