"""Which MPI is installed, and the arguments with which its mpiexec starts ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from ..base.config import launcher

__all__ = ["Mpiexec", "find", "library_of", "why_not"]

INSTALL = "pip install 'rushlight[mpi]'"


class Mpiexec(NamedTuple):
    """One installed MPI: the path of its mpiexec, its kind ("mpich" or "openmpi") and its version."""

    path: str
    kind: str
    version: str

    def command(self, count: int, hostfile: str | None = None, per_host: int | None = None) -> list[str]:
        """The beginning of a command that starts `count` ranks."""
        if self.kind == "mpich":
            return self._mpich(count, hostfile, per_host)
        # Two ranks of one core must not spin for each other, and a container's user is often root.
        words = [self.path, "-n", str(count), "--oversubscribe", "--bind-to", "none"]
        words += ["--mca", "mpi_yield_when_idle", "1"]
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
        if hostfile:
            words += ["--hostfile", hostfile]
        if per_host and hostfile:
            words += ["--map-by", f"ppr:{per_host}:node"]
        return words

    def _mpich(self, count: int, hostfile: str | None, per_host: int | None) -> list[str]:
        words = [self.path, "-n", str(count)]
        if not hostfile:  # also inside a Slurm job, where it would ask srun to start them
            return [*words, "-launcher", "fork", "-rmk", "user"]
        return [*words, "-f", hostfile, *(["-ppn", str(per_host)] if per_host else [])]

    def lending(self, count: int) -> list[str]:
        """The beginning of a command whose processes lend their places to others, see `places.py`."""
        words = self.command(count)
        return [words[0], "-pmi-port", *words[1:]] if self.kind == "mpich" else words

    def passing(self, names: list[str]) -> list[str]:
        """Words that give environment variables to ranks on other hosts."""
        if self.kind == "mpich":
            return ["-envlist", ",".join(names)] if names else []
        return [word for name in names for word in ("-x", name)]


def library_of(comm: Any) -> Any:
    """The module that a communicator comes from, with its constants: mpi4py.MPI, or `store_comm.py`."""
    return sys.modules[type(comm).__module__]


def why_not() -> str | None:
    """Why several ranks cannot be started here, or None."""
    if find_spec("mpi4py") is None:
        return f"mpi4py is not installed: {INSTALL}"
    if find() is None:
        return f"there is no mpiexec beside python or on the PATH: {INSTALL}"
    return None


@lru_cache(maxsize=1)
def find() -> Mpiexec | None:
    """The mpiexec of this environment, or else the one on the PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    path = beside if os.access(beside, os.X_OK) else shutil.which("mpiexec")
    if path is None:
        return None
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    words = told.split()
    if "HYDRA" in told:
        return Mpiexec(path, "mpich", words[words.index("Version:") + 1] if "Version:" in words else "")
    if "Open MPI" in told or "OpenRTE" in told:
        numbers = [w for w in words if w[:1].isdigit()]
        return Mpiexec(path, "openmpi", numbers[0] if numbers else "")
    return None


class RankPlace(NamedTuple):
    """Which rank an MPI launcher made this process."""

    rank: int
    size: int
    local_rank: int
    local_size: int


def place() -> RankPlace | None:
    """The place that mpiexec or srun gave this process, or None when it was started alone."""
    for rank, size, local, local_size in (
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
        ("PMIX_RANK", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_TASKS_PER_NODE"),
    ):
        values = [launcher(name) for name in (rank, size, local, local_size)]
        if values[0] is not None and values[1] is not None:
            first, whole = int(values[0]), int(values[1])
            near = (values[3] or values[1]).partition("(")[0].partition(",")[0]
            return RankPlace(first, whole, int(values[2] or first), int(near))
    return None
