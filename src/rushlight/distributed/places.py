"""Places in an MPI world for processes that mpiexec did not start, on one host or on several.

`multiprocessing.spawn`, Kubernetes, Ray and shells start processes that MPI does not know: two of them cannot find
each other. So rank 0 lets mpiexec make one small process per rank, which does nothing but write down the
environment it was given; each real rank takes such an environment over and then starts MPI, which by it reaches
mpiexec's server and becomes a rank of one world. On several hosts mpiexec starts nothing itself: it says the
command that each host needs, the store hands it over, and the first rank of the host runs it. Tried with MPICH 5.0
and, on one host, with Open MPI 5.0.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

from ..base.config import adopt, inherited, launcher
from ..base.version import __version__
from . import mpiexec
from .errors import DistBackendError, DistStoreError
from .store import PrefixStore, Store, TCPStore, private_folder, seconds

__all__ = ["take"]

_PREFIXES = ("PMI", "PMIX", "OMPI", "PRTE", "HYD", "MPI_", "MPIR_", "OPAL")
_PATIENCE_S, _FAREWELL_S = 60.0, 5.0

# What mpiexec starts: it writes its environment down and stays until the rank that took it has ended.
_LENDER = """
import json, os, sys, time
folder, first = sys.argv[1], int(sys.argv[2])
e = os.environ
rank = e.get("OMPI_COMM_WORLD_RANK") or e.get("PMI_RANK") or e.get("PMI_ID") or e.get("PMIX_RANK")
path = os.path.join(folder, "place-" + rank)
with open(path + ".part", "w") as f:
    json.dump(dict(e), f)
os.rename(path + ".part", path)
def lives(pid):
    return os.path.exists("/proc/%d" % pid) if os.path.isdir("/proc/self") else _signal(pid)
def _signal(pid):
    try:
        os.kill(pid, 0)
        return True
    except OSError:
        return False
taken = os.path.join(folder, "taken-" + rank)
while lives(first) and not os.path.exists(taken):
    time.sleep(0.05)
mine = 0
if os.path.exists(taken):
    with open(taken) as f:
        mine = int(f.read())
for name in (path, taken):
    if os.path.exists(name):
        os.unlink(name)
try:
    os.rmdir(folder)  # by the last one
except OSError:
    pass
while mine and lives(mine):
    time.sleep(0.2)
"""
# On another host Python and the folder have other paths: the process that mpiexec's helper there starts is told them.
_TOLD = 'exec "$RUSHLIGHT_PYTHON" -I -S -c "$0" "$RUSHLIGHT_FOLDER" "$RUSHLIGHT_PID"'


def take(rank: int, size: int, store: Store, gpus: list[str] | None = None, nth: int = 0) -> Store | None:
    """Take a place for rank `rank` in an MPI world of `size`; afterwards MPI can be started in this process.

    `gpus` are those that NCCL could use. Where every rank can have one of its own no MPI is needed: what they have to
    tell each other goes by the store that is answered. `nth` counts such worlds of these processes.
    """
    reason = mpiexec.why_not()
    if reason is not None and not gpus:
        raise DistBackendError(f"a world of {size} processes needs MPI, and {reason}")
    book = PrefixStore(f"places/{launcher('TORCHELASTIC_RESTART_COUNT') or 0}/{nth}", store)
    _arrive(rank, size, book, gpus)
    if rank == 0:
        _publish(book, _plan(size, book))
    plan = json.loads(_heard(book, "plan", rank))
    if "error" in plan:
        _be_heard(rank, size, book)
        raise DistBackendError(plan["error"])
    number, place = plan["places"].get(str(rank), (None, None))
    if number is None:
        raise DistBackendError(f"rank {rank} of {size} came to a world of {len(plan['places'])}")
    if plan.get("gpus"):
        return book
    if reason is not None:  # the same on every rank
        _be_heard(rank, size, book)
        raise DistBackendError(f"{size} processes that share GPUs need MPI, and {reason}")
    host = plan["hosts"][number]
    if host["ranks"][0] == rank:
        book.set(f"folder/{number}", _opened(host, plan))
    folder = _heard(book, f"folder/{number}", rank).decode()
    if folder.startswith("error:"):
        raise DistBackendError(folder.removeprefix("error:"))
    _adopt_place(folder, place)
    return None


def _be_heard(rank: int, size: int, book: Store) -> None:
    """The store ends with rank 0: it stays until the others that came know why there is no world."""
    if rank != 0:
        with contextlib.suppress(RuntimeError):
            book.set(f"heard/{rank}", b"1")
        return
    others = [f"heard/{r}" for r in range(1, size) if book.check([f"came/{r}"])]
    with contextlib.suppress(DistStoreError):
        book.wait(others, _FAREWELL_S)


def _adopt_place(folder: str, place: int) -> None:
    """Become what mpiexec made place `place` for; the process that waits there is told whom it waits for."""
    with open(os.path.join(folder, f"place-{place}")) as f:
        given = {k: v for k, v in json.load(f).items() if k.startswith(_PREFIXES)}
    pending = os.path.join(folder, f"taken-{place}")
    with open(pending + ".part", "w") as f:
        f.write(str(os.getpid()))
    os.rename(pending + ".part", pending)
    if "PMI_PORT" in given:  # a helper on this host, by a name that not every host can look up
        given["PMI_PORT"] = "127.0.0.1:" + given["PMI_PORT"].rpartition(":")[2]
    adopt(given | _wires())


def _wires() -> dict[str, str]:
    """What MPICH's transports are told of interfaces and ports, unless they were told already."""
    told: dict[str, str] = {}
    interface = launcher("GLOO_SOCKET_IFNAME")
    if interface:
        told |= {"FI_TCP_IFACE": interface, "UCX_NET_DEVICES": interface}
    ports = _ports()
    if ports:
        first, last = ports
        told |= {"FI_TCP_PORT_LOW_RANGE": first, "FI_TCP_PORT_HIGH_RANGE": last}
        told |= {"UCX_TCP_PORT_RANGE": f"{first}-{last}"}
    return {name: value for name, value in told.items() if launcher(name) is None}


def _ports() -> tuple[str, str] | None:
    """The ports that a firewall leaves open, from RUSHLIGHT_PORTS=FIRST-LAST; any if it is not set."""
    text = launcher("RUSHLIGHT_PORTS")
    if not text:
        return None
    first, dash, last = text.partition("-")
    if not (dash and first.isdigit() and last.isdigit() and 1024 <= int(first) < int(last) < 65536):
        raise ValueError(f"RUSHLIGHT_PORTS must be FIRST-LAST, two ports from 1024 to 65535, got {text!r}")
    return first, last


# -- who came ---------------------------------------------------------------------------------------------------------


def _arrive(rank: int, size: int, book: Store, gpus: list[str] | None = None) -> None:
    """Say who this is; a rank that came twice ends the meeting, or is refused where it is over."""
    came: dict[str, Any] = {"rank": rank, "size": size, "pid": os.getpid(), "name": socket.gethostname(), "gpus": gpus}
    came |= {"host": _host(), "version": __version__, "mpi": list(mpiexec.find() or ())[1:]}
    came["address"], came["first"] = _addresses(book)
    if book.add(f"joined/{rank}", 1) > 1:
        earlier = json.loads(_heard(book, f"came/{rank}", rank))
        message = f"rank {rank} came twice: first as process {earlier['pid']} on {earlier['name']}, "
        message += f"then as process {came['pid']} on {came['name']}"
        _publish(book, {"error": message})  # where the world is not made yet, it is told to all
        raise DistBackendError(message)
    book.set(f"came/{rank}", json.dumps(came))


def _host() -> str:
    """What processes must share to use one folder, one network and one list of processes."""
    parts = [socket.gethostname()]
    try:
        with open("/proc/sys/kernel/random/boot_id") as f:
            parts = [f.read().strip()]
        shared = ("/proc/self/ns/net", "/proc/self/ns/pid", tempfile.gettempdir(), "/dev/shm")
        parts += [f"{found.st_dev}.{found.st_ino}" for found in map(os.stat, shared)]
    except OSError:
        pass  # another system than Linux: its name
    return "/".join(parts)


def _addresses(book: Store) -> tuple[str, str | None]:
    """How others reach this host, and how this host reaches the one that serves the store."""
    store: Any = book
    while store is not None and not isinstance(store, TCPStore):
        store = getattr(store, "underlying_store", None)
    if store is not None:
        return store._socket.getsockname()[0], store._socket.getpeername()[0]
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            line.connect(("192.0.2.1", 9))  # nothing is sent: which address would be used to go out
            return line.getsockname()[0], None
    except OSError:
        return socket.gethostname(), None


def _heard(book: Store, key: str, rank: int) -> bytes:
    """What rank 0 or this host's first rank says; told as what was waited for if it never comes."""
    try:
        return book.get(key)
    except DistStoreError:
        _be_heard(rank, 0, book)  # rank 0 need not wait for this one any more
        limit = seconds(book.timeout)
        raise DistStoreError(f"rank {rank} waited {limit:.0f} s for the others of its world; rank 0 or the first rank of this host did not answer") from None  # fmt: skip


def _publish(book: Store, plan: dict[str, Any]) -> None:
    """The first plan holds, or the first error."""
    book.compare_set("plan", "", json.dumps(plan))


# -- rank 0: one world for all ---------------------------------------------------------------------------------------


def _plan(size: int, book: Store) -> dict[str, Any]:
    """Who is where: {"hosts": [{"ranks", "line"}], "places": {rank: [host, place]}}, or {"error": why}."""
    came: list[dict[str, Any]] = []
    until = time.monotonic() + seconds(book.timeout)
    for rank in range(size):
        while not book.check([f"came/{rank}"]):
            if book.check(["plan"]):  # a rank that came twice has ended it
                return {}
            if time.monotonic() > until:
                return {"error": _missing(size, book)}
            try:
                book.wait([f"came/{rank}"], 1.0)
            except DistStoreError:
                pass  # look at the plan, then wait on
        came.append(json.loads(book.get(f"came/{rank}")))
        wrong = _mismatch(came[0], came[-1])
        if wrong is not None:
            return {"error": wrong}
    hosts: dict[str, list[int]] = {}
    for one in came:
        hosts.setdefault(one["host"], []).append(one["rank"])
    groups = list(hosts.values())
    order = [rank for ranks in groups for rank in ranks]  # mpiexec counts host by host
    number = {rank: i for i, ranks in enumerate(groups) for rank in ranks}
    plan: dict[str, Any] = {"places": {r: [number[r], place] for place, r in enumerate(order)}}
    plan["hosts"] = [{"ranks": ranks, "line": None} for ranks in groups]
    plan["gpus"] = _gpus_are_enough(came)
    return plan if plan["gpus"] or len(groups) == 1 else plan | _several(came, plan["hosts"])


def _gpus_are_enough(came: list[dict[str, Any]]) -> bool:
    """Whether every rank can have a GPU of its own, on a machine that others may see as several hosts."""
    machines: dict[str, list[list[str]]] = {}
    for one in came:
        machines.setdefault(one["host"].partition("/")[0], []).append(one["gpus"] or [])
    return all(all(seen) and len(set().union(*seen)) >= len(seen) for seen in machines.values())


def _mismatch(first: dict[str, Any], other: dict[str, Any]) -> str | None:
    for key, what in (("size", "a world of {} ranks"), ("version", "rushlight {}"), ("mpi", "{}")):
        if first[key] != other[key]:
            one, two = [what.format(" ".join(v) if isinstance(v := side[key], list) else v) for side in (first, other)]
            return f"ranks do not agree: rank {first['rank']} on {first['name']} has {one}, rank {other['rank']} on {other['name']} has {two}"
    return None


def _missing(size: int, book: Store) -> str:
    missing = [str(r) for r in range(size) if not book.check([f"came/{r}"])]
    whom = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {', '.join(missing)}"
    return f"{whom} of {size} did not come within {seconds(book.timeout):.0f} s"


def _several(came: list[dict[str, Any]], hosts: list[dict[str, Any]]) -> dict[str, Any]:
    """Let mpiexec say the line that each host runs: {"hosts": ...}, or {"error": why}."""
    found = mpiexec.find()
    assert found is not None
    if found.kind != "mpich":
        return {"error": f"ranks on several hosts ({_named(came)}) that no mpiexec started need MPICH (pip install mpich), and this is {found.kind} {found.version}; or start them with `rushlight launch --hostfile FILE`"}  # fmt: skip
    here = came[0]["host"]
    # As others reach this host: it may have called itself localhost.
    address = next((c["first"] for c in came if c["host"] != here and c["first"]), came[0]["address"])
    count = [f"host{i}:{len(h['ranks'])}" for i, h in enumerate(hosts)]
    words = [found.path, "-launcher", "manual", "-rmk", "user", "-pmi-port", "-genvnone", "-localhost", address]
    words += ["-hosts", ",".join(count), "-n", str(len(came)), "/bin/sh", "-c", _TOLD, _LENDER]
    folder = private_folder()
    log = os.path.join(folder, "mpiexec.log")
    process = _left_alone(words, log, **_port_range())
    lines = []
    try:
        said = _until(process, log, lambda text: "HYDRA_LAUNCH_END" in text)
        lines = [shlex.split(x.partition(":")[2]) for x in said.splitlines() if x.startswith("HYDRA_LAUNCH:")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if len(lines) != len(hosts):
        return {"error": f"mpiexec made no places for {len(came)} ranks on {len(hosts)} hosts: {said.strip()}"}
    return {"hosts": [h | {"line": line[1:]} for h, line in zip(hosts, lines)]}


def _named(came: list[dict[str, Any]]) -> str:
    return ", ".join(sorted({c["name"] for c in came}))


# -- the first rank of a host: its places -----------------------------------------------------------------------------


def _opened(host: dict[str, Any], plan: dict[str, Any]) -> str:
    """Start what makes this host's places; the folder where they are written down, or "error:" and why."""
    found = mpiexec.find()
    assert found is not None
    folder = private_folder()
    told = {"RUSHLIGHT_PYTHON": sys.executable, "RUSHLIGHT_FOLDER": folder, "RUSHLIGHT_PID": str(os.getpid())}
    if host["line"] is None:
        words = [*found.lending(len(host["ranks"])), "/bin/sh", "-c", _TOLD, _LENDER]
    else:  # the same program as mpiexec's, where it lies on this host
        words = [os.path.join(os.path.dirname(found.path), "hydra_pmi_proxy"), *host["line"]]
    log = os.path.join(folder, "mpiexec.log")
    process = _left_alone(words, log, **told, **_port_range())
    wanted = {f"place-{plan['places'][str(r)][1]}" for r in host["ranks"]}
    said = _until(process, log, lambda text: wanted <= set(os.listdir(folder)))
    if wanted <= set(os.listdir(folder)):
        os.unlink(log)
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    ranks = ", ".join(map(str, host["ranks"]))
    return f"error:mpiexec made no places for the ranks {ranks} on {socket.gethostname()}: {said.strip()}"


def _port_range() -> dict[str, str]:
    ports = _ports()
    return {"MPIEXEC_PORT_RANGE": ":".join(ports)} if ports else {}


def _left_alone(words: list[str], log: str, **told: str) -> subprocess.Popen[bytes]:
    """Start a process that may outlive this one."""
    with open(log, "wb") as out:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=inherited(**told)
        )
    return process


def _until(process: subprocess.Popen[bytes], log: str, done: Any) -> str:
    """What a process has said when it is done with its beginning, has ended, or takes too long."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        ended = process.poll() is not None
        with open(log, "rb") as f:
            said = f.read().decode(errors="replace")
        if done(said) or ended or time.monotonic() > until:
            break
        time.sleep(0.01)
    if not ended:
        process.returncode = 0  # it outlives this process on purpose: no warning when the object goes
    return said
