"""`torch.distributed.launcher.api`: torchrun's work for a function, or a program, of a running process."""

from __future__ import annotations

import multiprocessing as _python
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any, cast

from ...base import tracebacks
from ...base.config import adopt
from ..elastic.multiprocessing.errors import ChildFailedError
from ..mpiexec import RankPlace
from .job import launch, variables

__all__ = ["LaunchConfig", "elastic_launch"]


@dataclass
class LaunchConfig:
    """What `elastic_launch` goes by: as many ranks as `nproc_per_node`, on this host.

    Example:
        >>> from torch.distributed.launcher.api import LaunchConfig
        >>> LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2).max_restarts
        3
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: float | None = None


class elastic_launch:  # noqa: N801
    """Starts an entry point as several ranks when it is called.

    Args:
        config: a `LaunchConfig`.
        entrypoint: a function, whose results come back by rank, or a program, which is called with its words.

    Raises:
        ChildFailedError: if a rank failed, `max_restarts` times over; the others were ended.
        NotImplementedError: for several hosts: start torchrun on each.
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        config, entry = self._config, self._entrypoint
        if config.max_nodes > 1:
            raise NotImplementedError("elastic_launch on several hosts: start torchrun on each of them")
        if not callable(entry):
            words = ["--nproc-per-node", str(config.nproc_per_node), "--max-restarts", str(config.max_restarts), "--no-python"]  # fmt: skip
            code = launch([*words, str(entry), *map(str, args)], "torchrun")
            if code:
                raise ChildFailedError(str(entry), {0: f"the job ended with exit code {code}"})
            return {}
        for attempt in range(config.max_restarts + 1):
            results, failed = _attempt(config, entry, args, attempt)
            if not failed:
                return results
        raise ChildFailedError(getattr(entry, "__qualname__", str(entry)), failed)


def _attempt(config: LaunchConfig, entry: Any, args: tuple, attempt: int) -> tuple[dict[int, Any], dict[int, Any]]:
    """All ranks once: their results, and what went wrong in the first that failed."""
    host, _, port = config.rdzv_endpoint.rpartition(":")
    if not port.isdecimal() or port == "0":
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = str(s.getsockname()[1])
    told = {"host": host or "127.0.0.1", "store": port, "restarts": attempt, "max_restarts": config.max_restarts, "id": config.run_id}  # fmt: skip
    context: Any = _python.get_context(config.start_method)
    count, processes = config.nproc_per_node, []
    lines: list[Any] = []
    for rank in range(count):
        ours, theirs = context.Pipe(duplex=False)
        made = variables(told, RankPlace(rank, count, rank, count))
        del made["RUSHLIGHT_LAUNCHER_STORE"]  # rank 0 serves the store
        process = context.Process(target=_rank, args=(entry, args, made, theirs))
        process.start()
        theirs.close()
        lines.append(ours)
        processes.append(process)
    results: dict[int, Any] = {}
    failed: dict[int, Any] = {}
    while len(results) < count and not failed:
        for line in cast("list[Any]", wait([line for rank, line in enumerate(lines) if rank not in results])):
            rank = lines.index(line)
            try:
                well, said = line.recv()
            except EOFError:
                processes[rank].join()
                well, said = False, f"ended with exit code {processes[rank].exitcode}"
            (results if well else failed)[rank] = said
    for process in processes:
        if failed and process.is_alive():
            process.terminate()
        process.join()
    return results, dict([*failed.items()][:1])


def _rank(entry: Any, args: tuple, made: dict[str, str], line: Any) -> None:
    adopt(made)
    try:
        said = True, entry(*args)
    except Exception as error:
        said = False, tracebacks.text(error)
    line.send(said)
    if not said[0]:
        raise SystemExit(1)
