"""The hosts of a job: a file that names them, or the Slurm allocation it runs in."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...base.config import launcher
from ..errors import DistNetworkError
from ..store import TCPStore, listens_at, own_address
from ..store_server import StoreServer

__all__ = ["Agreed", "Attempts", "hosts_of_slurm", "join", "read_hosts", "written_for"]

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
            raise ValueError(f"{path}, line {number}: {' '.join(more)!r} is not understood; write one host a line")
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
        told = subprocess.run(["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return told.stdout.split()


def join(chosen: Any) -> StoreServer | None:
    """A job that is started on every host: the store, on the first one, which is the one at --master-addr."""
    if chosen.node_rank == 0 or (chosen.node_rank is None and own_address(chosen.master_addr)):
        try:
            served = StoreServer(listens_at(chosen.master_addr), chosen.master_port)
            chosen.node_rank = 0
            return served
        except OSError as error:
            if chosen.node_rank == 0:
                raise DistNetworkError(f"port {chosen.master_port} of this host: {error.strerror}") from None
            # another launcher of this host was first
    return None


class Agreed(NamedTuple):
    """One attempt, as all hosts that take part in it know it."""

    number: int
    hosts: list[str]
    failures: int  # before it


class Attempts:
    """What all hosts of a job agree on before each attempt: who takes part, and in which order.

    Every other host keeps a line to the store of the first one, and says by it for which attempt it is ready. The
    first host waits for --nnodes of them; with MIN:MAX it begins with fewer, when MIN are there and nobody else has
    come for a while. So a lost host is left out, one that is started again takes part in the next attempt, and one
    more than MAX waits until there is a place.
    """

    def __init__(self, chosen: Any, served: StoreServer | None) -> None:
        self.chosen, self.served = chosen, served
        # its number where it has one, and what tells it from the host that had the number before
        number = "" if chosen.node_rank is None else chosen.node_rank
        self.name = f"{number}:{os.urandom(8).hex()}"
        conf = dict(pair.split("=", 1) for pair in (chosen.rdzv_conf or "").split(",") if "=" in pair)
        self.last_call = float(conf.get("last_call_timeout", 30))
        self.limit = float(conf.get("join_timeout", 600))
        # one line to ask by; the other is heard all the time, so that its end is noticed
        self.store, self.present = (TCPStore(chosen.master_addr, chosen.master_port, timeout=self.limit) for _ in "12")

    def begin(self, number: int, failures: int) -> Agreed:
        """Take part in attempt `number`, or in the first later one that has a place for this host.

        Raises:
            RuntimeError: if too few hosts came, or the first one has ended the job.
        """
        if self.served is not None:
            self.store.set("launcher/attempt", str(number))
            hosts = [self.name, *self._gathered(self.served, number)]
            self.store.set(f"launcher/plan/{number}", json.dumps([hosts, failures]))
            return Agreed(number, hosts, failures)
        try:
            number = max(number, int(self.store.get("launcher/attempt")))
            while True:
                plan = f"launcher/plan/{number}"
                late = self.store.check([plan])  # for an attempt that is under way
                self.present.ready(self.name, number)
                agreed = Agreed(number, *json.loads(self.store.get(plan)))
                if self.name in agreed.hosts:
                    return agreed
                if not late:
                    self._another(agreed)
                number += 1
        except DistNetworkError:
            raise RuntimeError(
                f"the first host, {self.chosen.master_addr}, has ended the job or is not reached any more"
            ) from None

    def _another(self, agreed: Agreed) -> None:
        number = self.name.partition(":")[0]
        if number and any(h.startswith(f"{number}:") for h in agreed.hosts):
            if agreed.number == 0:
                raise RuntimeError(f"another host came as --node-rank {number} after this one")

    def _gathered(self, served: StoreServer, number: int) -> list[str]:
        """The other hosts of attempt `number`, when enough are there."""
        fewest, most = self.chosen.fewest - 1, self.chosen.nnodes - 1
        until, call, known = time.monotonic() + self.limit, 0.0, -1
        with served.changed:
            while True:
                came = [name for name, ready in served.hosts.items() if ready == number]
                # of two that have one number the later: the other is lost, and its line not yet
                came = list({h if h.startswith(":") else int(h.partition(":")[0]): h for h in came}.values())
                came.sort(key=lambda h: int(h.partition(":")[0] or 0))
                now = time.monotonic()
                if len(came) != known:
                    known, call = len(came), now + self.last_call
                ending = any(ready < number for ready in served.hosts.values())
                enough = len(came) >= fewest and not ending
                if len(came) >= most or (enough and now >= call):
                    return came[:most]
                if now >= until:
                    raise RuntimeError(f"{len(came) + 1} of {self.chosen.fewest} hosts came within {self.limit:.0f} s: --node-rank 0 and {', '.join(h.partition(':')[0] or '?' for h in came) or 'nobody'}")  # fmt: skip
                served.changed.wait((min(call, until) if enough else until) - now)

    def widens(self, agreed: Agreed) -> bool:
        """Whether a host waits for which this attempt has a place: the first host begins another one with it."""
        if self.served is None or len(agreed.hosts) >= self.chosen.nnodes:
            return False
        with self.served.changed:
            return any(h not in agreed.hosts for h in self.served.hosts)


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
