"""Places in an MPI world for processes that mpiexec did not start.

`multiprocessing.spawn`, `Process(...)` and shells start processes that MPI does not know: two of them cannot find
each other. So rank 0 lets mpiexec start one small process per rank, which does nothing but write down the
environment it was given; each real rank takes the environment with its number over and then starts MPI, which
by it reaches mpiexec's server and becomes that rank. Tried with MPICH 5.0 and Open MPI 5.0.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time

from ..base.config import adopt
from . import mpiexec
from .errors import DistBackendError
from .store import Store, private_folder

__all__ = ["take"]

_PREFIXES = ("PMI", "PMIX", "OMPI", "PRTE", "HYD", "MPI_", "MPIR_", "OPAL")
_PATIENCE_S = 60.0

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
while lives(first) and os.path.isdir(folder) and not os.path.exists(taken):
    time.sleep(0.05)
try:
    with open(taken) as f:
        mine = int(f.read())
    while lives(mine):
        time.sleep(0.2)
except (OSError, ValueError):
    pass
if rank == "0":
    import shutil
    shutil.rmtree(folder, ignore_errors=True)
"""


def take(rank: int, size: int, store: Store) -> None:
    """Take place `rank` of an MPI world of `size`; afterwards MPI can be started in this process."""
    reason = mpiexec.why_not()
    if reason is not None:
        raise DistBackendError(f"a world of {size} processes needs MPI, and {reason}")
    store.set(f"places/host/{rank}", socket.gethostname())
    if rank == 0:
        _lend(size, store)
    folder = store.get("places/folder").decode()
    if folder.startswith("error:"):
        raise DistBackendError(folder.removeprefix("error:"))
    with open(os.path.join(folder, f"place-{rank}")) as f:
        given = json.load(f)
    pending = os.path.join(folder, f"taken-{rank}")
    with open(pending + ".part", "w") as f:
        f.write(str(os.getpid()))
    os.rename(pending + ".part", pending)
    adopt({k: v for k, v in given.items() if k.startswith(_PREFIXES)})


def _lend(size: int, store: Store) -> None:
    """Rank 0: let mpiexec make the places, and say where they are written down."""
    hosts = {store.get(f"places/host/{r}").decode() for r in range(size)}
    if hosts != {socket.gethostname()}:
        store.set("places/folder", "error:" + _SEVERAL_HOSTS.format(hosts=", ".join(sorted(hosts))))
        return
    folder = private_folder()
    found = mpiexec.find()
    assert found is not None
    words = [*found.lending(size), sys.executable, "-I", "-S", "-c", _LENDER, folder]
    log = open(os.path.join(folder, "mpiexec.log"), "w+b")  # noqa: SIM115
    process = subprocess.Popen(
        [*words, str(os.getpid())], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + _PATIENCE_S
    wanted = {f"place-{r}" for r in range(size)}
    while not wanted <= set(os.listdir(folder)):
        if process.poll() is not None or time.monotonic() > until:
            log.seek(0)
            told = log.read().decode(errors="replace").strip()
            shutil.rmtree(folder, ignore_errors=True)
            store.set("places/folder", f"error:mpiexec made no places for {size} ranks: {told}")
            return
        time.sleep(0.01)
    log.close()
    process.returncode = 0  # it outlives this process on purpose: no warning when the object goes
    store.set("places/folder", folder)


_SEVERAL_HOSTS = (
    "the ranks are on several hosts ({hosts}) and were not started by mpiexec: start them with "
    "`rushlight launch --nnodes M --hostfile FILE --nproc-per-node N script.py`, once, on one of the hosts, "
    "or by `srun --mpi=pmi2 rushlight launch script.py`"
)
