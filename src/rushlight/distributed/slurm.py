"""What srun tells a task, in torchrun's words."""

from __future__ import annotations

import re

from ..base.config import launcher

__all__ = ["task"]


def task() -> dict[str, str] | None:
    """The variables of a rank, where srun started this very process as one task of several; else None."""
    rank, size, step = map(launcher, ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID"))
    if rank is None or step is None or int(size or 1) < 2:
        return None
    near = re.match(r"\d*", launcher("SLURM_TASKS_PER_NODE") or "")
    hosts = launcher("SLURM_STEP_NODELIST") or launcher("SLURM_JOB_NODELIST") or ""
    several = int(launcher("SLURM_NNODES") or 1) > 1
    # Every task comes to the same port, and steps and jobs that share a host to others.
    port = 20_000 + (int(launcher("SLURM_JOB_ID") or 0) * 16 + int(step)) % 10_000
    return {
        "RANK": rank, "WORLD_SIZE": str(size), "LOCAL_RANK": launcher("SLURM_LOCALID") or "0",
        "LOCAL_WORLD_SIZE": (near and near[0]) or str(size),
        "MASTER_ADDR": _first(hosts) if several and hosts else "localhost", "MASTER_PORT": str(port),
    }  # fmt: skip


def _first(hosts: str) -> str:
    """The first of a list as Slurm writes it: `node[07-09,12],other` begins with node07."""
    found = re.match(r"([^,\[]*)(?:\[(\w+)[^\]]*\]([^,]*))?", hosts)
    return "".join(part or "" for part in found.groups()) if found else hosts
