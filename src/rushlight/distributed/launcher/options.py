"""The options of `rushlight launch`, which are torchrun's."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ...base.config import launcher
from .hosts import hosts_of_slurm, read_hosts

__all__ = ["checked", "count_of_ranks", "parse", "parser"]

_EPILOG = """\
Ranks are started through mpiexec (pip install 'rushlight[mpi]'). Each finds
RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in
its environment. Scripts that import torch run as under `rushlight run`.
On several hosts, start it once, on one of them: --nnodes M --hostfile FILE (a
host per line), or inside a Slurm allocation. Or on every one, without ssh:
--nnodes M --rdzv-endpoint HOST:PORT, or --master-addr HOST --master-port PORT
--node-rank K.
"""


def _flag(p: argparse.ArgumentParser, *names: str, **how: Any) -> None:
    """An option in both of torchrun's spellings, --max-restarts and --max_restarts, or PET_MAX_RESTARTS in the environment."""
    more = [n.replace("-", "_").replace("__", "--", 1) for n in names if n.startswith("--")]
    option = p.add_argument(*names, *[n for n in more if n not in names], **how)
    told = launcher(f"PET_{option.dest.upper()}")
    if told is not None:
        option.default = bool(int(told)) if option.nargs == 0 else told


def parser(program: str = "rushlight launch") -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog=program, description="Run a script as several ranks that train together.",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    _flag(p, "--nproc-per-node", default="1", metavar="N", help="ranks on each host: a number, auto, gpu or cpu")
    _flag(p, "--nnodes", default=None, metavar="M", help="how many hosts (2:4: four, going on with two where others are lost; default: those of --hostfile, else 1)")  # fmt: skip
    _flag(p, "--hostfile", metavar="FILE", help="the hosts, one per line; reached by ssh without a password")
    _flag(p, "--max-restarts", type=int, default=0, metavar="N", help="start again so often when a rank fails")
    _flag(p, "-m", "--module", action="store_true", help="the script is a module, as with python -m")
    _flag(p, "--no-python", action="store_true", help="the script is a program of its own")
    _flag(p, "--master-addr", metavar="HOST", help="where the ranks meet (default: this host)")
    _flag(p, "--master-port", type=int, default=0, metavar="PORT", help="the port there (default: a free one)")
    _flag(p, "--log-dir", metavar="DIR", help="also write each rank's output to files in DIR")
    _flag(p, "-r", "--redirects", default="0", help="which streams go to files only (0 none, 1 out, 2 err, 3 both)")
    _flag(p, "-t", "--tee", default="0", help="which streams go to files too")
    _flag(p, "--local-ranks-filter", default="", metavar="RANKS", help="show the output of these only, as 0,1")
    _flag(p, "--shutdown-timeout", type=float, default=10.0, metavar="S", help="seconds until ranks that do not end are killed")  # fmt: skip
    _flag(p, "--node-rank", type=int, default=None, metavar="K", help="which of the hosts this is, where it is started on every one")  # fmt: skip
    _flag(p, "--rdzv-backend", default="c10d", help="accepted; the ranks meet at --master-addr")
    _flag(p, "--rdzv-endpoint", default="", metavar="HOST:PORT", help="the same as --master-addr and --master-port")
    _flag(p, "--rdzv-id", default="none", metavar="ID", help="a name for the run")
    _flag(p, "--rdzv-conf", default="", metavar="K=V,..", help="join_timeout=600 seconds for hosts to come, last_call_timeout=30 for more than MIN")  # fmt: skip
    for name in ("--role", "--start-method", "--monitor-interval", "--event-log-handler",
                 "--local-addr", "--logs-specs", "--numa-binding", "--signals-to-handle"):  # fmt: skip
        _flag(p, name, default=None, help=argparse.SUPPRESS)
    _flag(p, "--plain", action="store_true", help=argparse.SUPPRESS)  # no rank in front of lines
    _flag(p, "--standalone", action="store_true", help=argparse.SUPPRESS)
    _flag(p, "--run-path", action="store_true", help=argparse.SUPPRESS)
    _flag(p, "--virtual-local-rank", action="store_true", help=argparse.SUPPRESS)
    _flag(p, "--use-env", action="store_true", help=argparse.SUPPRESS)  # of torch.distributed.launch
    _flag(p, "--tell-local-rank", action="store_true", help=argparse.SUPPRESS)  # as its scripts want it
    p.add_argument("training_script", metavar="SCRIPT", help="what each rank runs")
    p.add_argument("training_script_args", nargs=argparse.REMAINDER, metavar="...", help="and its arguments")
    return p


def parse(argv: list[str], program: str = "rushlight launch") -> argparse.Namespace:
    """The options, checked."""
    p = parser(program)
    return checked(p.parse_args(argv), p)


def checked(chosen: argparse.Namespace, p: argparse.ArgumentParser) -> argparse.Namespace:
    """Options that somebody has parsed, with what follows from them; what makes no sense ends as argparse ends it."""
    for name in ("master_port", "max_restarts"):  # other launchers hand over words
        setattr(chosen, name, int(getattr(chosen, name) or 0))
    if chosen.rdzv_endpoint and not chosen.standalone:
        host, _, port = chosen.rdzv_endpoint.rpartition(":")
        chosen.master_addr = chosen.master_addr or host or port
        chosen.master_port = chosen.master_port or (int(port) if port.isdecimal() else 0)
    _choose_hosts(p, chosen)
    try:
        chosen.nproc_per_node = count_of_ranks(chosen.nproc_per_node)
    except ValueError as error:
        p.error(f"argument --nproc-per-node: {error}")
    if chosen.node_rank and not chosen.by_hand:
        p.error("argument --node-rank: where the job is started on every host, --nnodes M and --master-addr HOST belong to it")  # fmt: skip
    if chosen.by_hand and not 0 <= (chosen.node_rank or 0) < chosen.nnodes:
        p.error(f"argument --node-rank: {chosen.node_rank} is none of {chosen.nnodes} hosts")
    if chosen.max_restarts < 0:
        p.error("argument --max-restarts: must not be negative")
    return chosen


def _choose_hosts(p: argparse.ArgumentParser, chosen: Any) -> None:
    """How many hosts, and which: `chosen.hosts` is empty where the job stays on this one."""
    chosen.hosts = []
    if chosen.hostfile:
        try:
            chosen.hosts = read_hosts(chosen.hostfile)
        except ValueError as error:
            p.error(f"argument --hostfile: {error}")
    asked = str(chosen.nnodes or len(chosen.hosts) or 1)
    first, _, last = asked.partition(":")
    last = last or first
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        p.error(f"argument --nnodes: {asked!r} is not a number of hosts")
    chosen.fewest = chosen.nnodes = int(first)
    chosen.by_hand = int(last) > 1 and not chosen.hosts and bool(chosen.master_addr)
    if chosen.by_hand:
        chosen.nnodes = int(last)
        chosen.master_port = chosen.master_port or 29500
        if chosen.node_rank is None and not chosen.rdzv_endpoint:
            chosen.node_rank = 0  # as torchrun: by --rdzv-endpoint the hosts are counted as they come
        return
    if chosen.nnodes > 1 and not chosen.hosts:
        chosen.hosts = hosts_of_slurm()
        if not chosen.hosts:
            p.error(f"--nnodes {chosen.nnodes}: name the hosts with --hostfile, start it on each with --rdzv-endpoint, or inside a Slurm allocation")  # fmt: skip
    if chosen.hosts and len(chosen.hosts) < chosen.nnodes:
        where = chosen.hostfile or "the Slurm allocation"
        p.error(f"--nnodes {chosen.nnodes}: {where} has only {len(chosen.hosts)} ({', '.join(chosen.hosts)})")
    chosen.hosts = chosen.hosts[: chosen.nnodes]


def count_of_ranks(given: str) -> int:
    """How many ranks `--nproc-per-node` asks for."""
    if given.isdecimal() and int(given) > 0:
        return int(given)
    if given == "cpu":
        return os.cpu_count() or 1
    if given in ("gpu", "auto"):
        gpus = _gpus()
        if gpus == 0 and given == "gpu":
            raise ValueError("there is no GPU here; `rushlight doctor` tells why")
        return gpus or os.cpu_count() or 1
    raise ValueError(f"{given!r} is not a number of ranks, auto, gpu or cpu")


def _gpus() -> int:
    from ...runtime.cuda import why_not

    if why_not() is not None:
        return 0
    import cupy

    return cupy.cuda.runtime.getDeviceCount()
