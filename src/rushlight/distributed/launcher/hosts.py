"""The hosts of a job: a file that names them, or the Slurm allocation it runs in."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...base.config import launcher
from ..errors import DistNetworkError
from ..store import TCPStore, listens_at, own_address
from ..store_server import StoreServer

__all__ = ["Attempts", "hosts_of_slurm", "join", "read_hosts", "written_for"]

_COMES_BACK_S = 600.0  # how long a host waits for the first one to begin again
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


def join(chosen: Any) -> StoreServer | None:
    """A job that is started on every host: the store, on the first; `chosen.node_rank` is set where it was not given."""
    if chosen.node_rank == 0 or (chosen.node_rank is None and own_address(chosen.master_addr)):
        try:
            served = StoreServer(listens_at(chosen.master_addr), chosen.master_port)
            chosen.node_rank = 0
            return served
        except OSError as error:
            if chosen.node_rank == 0:
                raise DistNetworkError(
                    f"port {chosen.master_port} of this host: {error.strerror}"
                ) from None
            # another launcher of this host was first
    if chosen.node_rank is None:
        store = TCPStore(chosen.master_addr, chosen.master_port)
        chosen.node_rank = store.add(f"launcher/{chosen.rdzv_id}", 1)
        store.close()
        if chosen.node_rank >= chosen.nnodes:
            raise DistNetworkError(f"{chosen.nnodes} hosts have come already")
    return None


class Attempts:
    """The number of the attempt that all hosts of a job make: the first host counts, the others follow it.

    So a host that was lost and is started again takes part in the attempt that waits for it.
    """

    def __init__(self, chosen: Any) -> None:
        self.leads = chosen.node_rank == 0
        self.store = TCPStore(chosen.master_addr, chosen.master_port, timeout=_COMES_BACK_S)

    def begin(self, number: int) -> int:
        """Begin attempt `number`, or on the other hosts the one that has begun and is no earlier.

        Raises:
            RuntimeError: if the first host has ended the job.
        """
        if self.leads:
            self.store.set("launcher/attempt", str(number))
            self.store.set(f"launcher/attempt/{number}", "")
            return number
        self.store.wait([f"launcher/attempt/{number}"])
        return int(self.store.get("launcher/attempt"))


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
