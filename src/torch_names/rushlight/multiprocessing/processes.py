"""`spawn`: one function in several fresh processes, with the errors of each."""

from __future__ import annotations

import multiprocessing as _python
import signal
from collections.abc import Callable
from typing import Any

from ..base import tracebacks


class _ProcessError(Exception):
    """A process that `spawn` started did not end well."""

    def __init__(self, msg: str, error_index: int, pid: int | None) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(_ProcessError):
    """A process that `spawn` started ended with an exception; the message holds its traceback."""

    def __init__(self, msg: str, error_index: int, error_pid: int | None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.error_pid = error_pid


class ProcessExitedException(_ProcessError):
    """A process that `spawn` started ended without an exception but not well."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int | None, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(fn: Callable, rank: int, args: tuple, errors: Any) -> None:
    try:
        fn(rank, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted too and says so
    except Exception as error:
        errors.put(tracebacks.text(error))
        raise SystemExit(1) from None


class ProcessContext:
    """The processes of one `spawn` call."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self._errors = errors

    def pids(self) -> list[int | None]:
        """The process numbers."""
        return [p.pid for p in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait for one process to end; True when all ended well, an exception when one did not."""
        alive = {p.sentinel: i for i, p in enumerate(self.processes) if p.exitcode is None}
        if alive:
            from multiprocessing.connection import wait

            wait(list(alive), timeout)
        for i, p in enumerate(self.processes):
            if p.exitcode not in (None, 0):
                self._fail(i, p)
        return all(p.exitcode == 0 for p in self.processes)

    def _fail(self, index: int, failed: Any) -> None:
        for p in self.processes:
            if p.is_alive():
                p.terminate()
            p.join()
        if not self._errors[index].empty():
            text = self._errors[index].get()
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}", index, failed.pid
            )
        code, name = failed.exitcode, None
        how = f"exit code {code}"
        if code < 0:
            name = signal.Signals(-code).name
            how = f"signal {name}"
        raise ProcessExitedException(f"process {index} terminated with {how}", index, failed.pid, code, name)


class SpawnContext(ProcessContext):
    """The name that `spawn` had for its processes before there were other ways to start them."""


def start_processes(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes; an error in one ends them all."""
    context: Any = _python.get_context(start_method)
    processes, errors = [], []
    for i in range(nprocs):
        errors.append(context.SimpleQueue())
        process = context.Process(target=_run, args=(fn, i, args, errors[-1]), daemon=daemon)
        process.start()
        processes.append(process)
    made = ProcessContext(processes, errors)
    if not join:
        return made
    while not made.join():
        pass
    return None


def spawn(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` fresh processes."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
