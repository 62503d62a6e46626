"""One job: mpiexec with all ranks, what its agents report, and the next attempt when one failed."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, NamedTuple

from ...base.config import inherited, launcher
from .. import frames, mpiexec, slurm
from ..store_server import StoreServer
from .hosts import Agreed, Attempts, join, written_for
from .options import parse
from .streams import LOST, Streams, connect_streams

__all__ = ["launch"]


LOCAL_RANK_WORD = "--local-rank=?"  # what scripts of torch.distributed.launch are given


def with_local_rank(command: list[str], place: mpiexec.RankPlace) -> list[str]:
    """A command with this rank's number where the launcher left a question mark for it."""
    known = f"--local-rank={place.local_rank}"
    return [known if word == LOCAL_RANK_WORD else word for word in command]


def variables(job: dict[str, Any], place: mpiexec.RankPlace) -> dict[str, str]:
    """The environment of one rank, as torchrun sets it."""
    host = place.rank // max(place.local_size, 1)
    made = {
        "RANK": place.rank, "WORLD_SIZE": place.size, "LOCAL_RANK": place.local_rank,
        "LOCAL_WORLD_SIZE": place.local_size, "GROUP_RANK": host,
        "GROUP_WORLD_SIZE": -(-place.size // max(place.local_size, 1)), "ROLE_RANK": place.rank,
        "ROLE_WORLD_SIZE": place.size, "ROLE_NAME": "default", "MASTER_ADDR": job["host"],
        "MASTER_PORT": job["store"], "TORCHELASTIC_RESTART_COUNT": job["restarts"],
        "TORCHELASTIC_MAX_RESTARTS": job["max_restarts"], "TORCHELASTIC_RUN_ID": job["id"],
        "RUSHLIGHT_LAUNCHER_STORE": 1, "RUSHLIGHT_JOB": job.get("job", ""), "PYTHONUNBUFFERED": 1,
    }  # fmt: skip
    return {name: str(value) for name, value in made.items()}


def _die_with_parent() -> None:
    """Let the kernel kill the rank when its agent is killed (Linux; elsewhere the line's end does it)."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    except (OSError, AttributeError):
        pass


def main() -> None:
    """Run one rank and end as it did; threads that wait for a line must not hold the end up."""
    code = run_rank(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)


def run_rank(argv: list[str]) -> int:
    """Run one rank; the answer is its exit code."""
    job = json.loads(argv[0])
    place = mpiexec.RankPlace(*job["place"]) if "place" in job else mpiexec.place() or mpiexec.RankPlace(0, 1, 0, 1)
    command = with_local_rank(argv[argv.index("--") + 1 :], place)
    lines = connect_streams(job["launcher"], job["streams"], job["key"], place.rank)
    agent = lines["agent"]
    try:
        child = subprocess.Popen(
            command, env=inherited(**variables(job, place)), stdout=lines["stdout"].fileno(),
            stderr=lines["stderr"].fileno(), close_fds=False, preexec_fn=_die_with_parent,
        )  # fmt: skip
    except OSError as error:
        frames.send(agent, "ended", "127", "0", socket.gethostname(), str(error))
        return 127
    lines["stdout"].close()
    lines["stderr"].close()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda n, frame: child.send_signal(n))
    threading.Thread(target=_end_with_launcher, args=(agent, child), daemon=True).start()
    code = child.wait()
    frames.send(agent, "ended", str(code), str(child.pid), socket.gethostname(), "")
    return code if code >= 0 else 128 - code


def _end_with_launcher(agent: socket.socket, child: subprocess.Popen) -> None:
    """Kill the rank when the launcher is gone."""
    try:
        while frames.receive(agent) is not None:
            pass
    except OSError:
        pass
    if child.poll() is None:
        child.kill()


_LAST_WORDS_S = 1.0  # for the other ranks to say what they noticed
_AGENT = "from rushlight.distributed.launcher.job import main; main()"


class JobReport(NamedTuple):
    """How one rank ended."""

    rank: int
    code: int
    pid: int
    host: str
    why: str

    def sentence(self) -> str:
        if self.why == LOST:
            return f"rank {self.rank} on {self.host}: {self.why}"
        if self.why:
            return f"rank {self.rank} could not be started on {self.host}: {self.why}"
        if self.code < 0:
            try:
                name = signal.Signals(-self.code).name
            except ValueError:
                name = f"signal {-self.code}"
            return f"rank {self.rank} (pid {self.pid} on {self.host}) was killed by {name}"
        return f"rank {self.rank} (pid {self.pid} on {self.host}) failed with exit code {self.code}"


def launch(argv: list[str], program: str = "rushlight launch") -> int:
    """Run a job to its end, again after failures; the answer is the exit code."""
    return run_job(parse(argv, program), program)


def run_job(chosen: Any, program: str) -> int:
    """The same, with options that were parsed and checked."""
    told = slurm.task()
    if told is not None:
        return _as_task(chosen, told, program)
    count = chosen.nproc_per_node * chosen.nnodes
    reason = mpiexec.why_not() if count > 1 or chosen.hosts else None
    if reason is not None:
        print(f"{program}: {count} ranks need MPI, and {reason}", file=sys.stderr)
        return 2
    chosen.job = os.urandom(8).hex()  # the same for all attempts
    if chosen.by_hand:
        return _job_of_hosts(chosen, program)
    for failures in range(chosen.max_restarts + 1):
        code = _Attempt(chosen, Agreed(failures, [""], failures), program).run()
        if code in (0, 130):
            break
    return code


def _job_of_hosts(chosen: Any, program: str) -> int:
    """A job that is started on every host: this host's part of each attempt."""
    number, failures, code, attempts = 0, 0, 2, None
    while True:
        try:
            attempts = attempts or Attempts(chosen, join(chosen))
            agreed = attempts.begin(number, failures)
        except RuntimeError as error:
            print(f"{program}: {error}", file=sys.stderr)
            return code
        one = _Attempt(chosen, agreed, program, attempts)
        code, number = one.run(), agreed.number + 1
        failures = agreed.failures + (not one.widened)
        # Where hosts come and go, the first one alone knows whether this was a failure.
        knows = attempts.served is not None or chosen.fewest == chosen.nnodes
        if code in (0, 130) or (knows and failures > chosen.max_restarts):
            return code


class _Attempt:
    """All ranks once, from their start to the end of the last."""

    def __init__(self, chosen: Any, agreed: Agreed, program: str, attempts: Attempts | None = None) -> None:
        self.chosen, self.agreed, self.program, self.attempts = chosen, agreed, program, attempts
        self.count = chosen.nproc_per_node * (len(agreed.hosts) if attempts else chosen.nnodes)
        self.reports: list[JobReport] = []
        self.widened = self._failed = False
        one_host = not chosen.hosts
        self.host = chosen.master_addr or ("localhost" if one_host else socket.gethostname())
        bind = "127.0.0.1" if one_host else ""
        self.store = attempts.served if attempts else StoreServer(bind, chosen.master_port)
        if attempts and self.store is not None:
            self.store.forget_gone()
        self.streams = Streams(bind, chosen, self._report)
        if agreed.number:
            where = f" on {len(agreed.hosts)} of {chosen.nnodes} hosts" if attempts else ""
            print(f"{program}: starting again{where}, {agreed.failures} of {chosen.max_restarts}", file=sys.stderr)

    def _report(self, rank: int, message: list[str]) -> None:
        _, code, pid, host, why = message
        report = JobReport(rank, int(code), int(pid), host, why)
        self.reports.append(report)
        if report.code != 0:
            lost = "its host is not reached any more" if why == LOST else "it failed"
            if self.store is not None:  # else the rank's own line to it has ended
                self.store.tell_gone(rank, report.sentence().partition(") ")[2] or lost)
            self._failed = True

    def run(self) -> int:
        found = mpiexec.find()
        hosts = written_for(found.kind if found else "", self.chosen.hosts, self.chosen.nproc_per_node)
        # what mpiexec itself says goes to a file: the ranks have their own lines
        with hosts as hostfile, tempfile.TemporaryFile() as said:
            how = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said, "env": self._environment()}
            process = _Agents(self._commands(hostfile), **how)
            try:
                code = self._watch(process)
            except KeyboardInterrupt:
                self._end(process)
                code = 130
            finally:
                self.streams.close()
                if self.store is not None and not self.chosen.by_hand:
                    self.store.close()
            said.seek(0)
            return self._conclude(code, said.read().decode(errors="replace").strip())

    def _watch(self, process: _Agents) -> int:
        """Wait for the end; after a failure the others have --shutdown-timeout seconds."""
        deadline = None
        with _forwarding(process):
            while (code := process.poll()) is None:
                time.sleep(0.02)
                if self._failed and deadline is None:
                    deadline = time.monotonic() + _LAST_WORDS_S
                if deadline is None and self.attempts and self.attempts.widens(self.agreed):
                    self.widened, deadline = True, 0.0
                if deadline is not None and time.monotonic() > deadline:
                    self._end(process)
        return code

    def _end(self, process: _Agents) -> None:
        for number, patience in ((signal.SIGTERM, self.chosen.shutdown_timeout), (signal.SIGKILL, 5.0)):
            process.signal(number)
            try:
                process.wait(patience)
                return
            except subprocess.TimeoutExpired:
                continue

    def _conclude(self, code: int, said: str) -> int:
        failed = [r for r in self.reports if r.code != 0]
        if self.widened:
            return code
        if not failed:
            if code and code != 130 and said:
                print(f"{self.program}: mpiexec ended with {code}:\n{_without_places(said)}", file=sys.stderr)
                if self.chosen.hosts:
                    print(f"Every host ({', '.join(self.chosen.hosts)}) must be reached by ssh without a password, "
                          "and have the same files under the same paths.", file=sys.stderr)  # fmt: skip
            return 128 - code if code < 0 else code
        # when MPI aborts, the agents of all ranks die with it: a rank that still reported a reason knows more
        first = next((r for r in failed if r.why != LOST), failed[0])
        print(f"{self.program}: {first.sentence()}; all ranks were ended.", file=sys.stderr)
        if first.why == LOST and said:
            print(f"mpiexec said:\n{_without_places(said)}", file=sys.stderr)
        trace = _traceback("".join(self.streams.errors.get(first.rank, ())))
        if trace:
            print(f"The error of rank {first.rank} was:\n{trace}", file=sys.stderr)
        if code == 130:
            return 130
        return first.code if first.code > 0 else 128 - first.code

    def _commands(self, hostfile: str | None) -> list[list[str]]:
        """What is started here: mpiexec, one agent, or, where every host starts its own ranks, one for each."""
        chosen = self.chosen
        port = self.store.port if self.store is not None else chosen.master_port
        job = {
            "host": self.host, "store": port, "streams": self.streams.port,
            "launcher": "127.0.0.1" if not chosen.hosts else self.host, "key": self.streams.key,
            "restarts": self.agreed.number, "max_restarts": chosen.max_restarts,
            "id": chosen.rdzv_id, "job": chosen.job,
        }  # fmt: skip
        if self.attempts:
            each = chosen.nproc_per_node
            first = each * self.agreed.hosts.index(self.attempts.name)
            places = [(first + i, self.count, i, each) for i in range(each)]
            return [[*self._agent(job | {"place": place}), *_script(chosen)] for place in places]
        return [self._command(self._agent(job), hostfile)]

    def _agent(self, job: dict[str, Any]) -> list[str]:
        return [sys.executable, "-c", _AGENT, json.dumps(job), "--"]

    def _command(self, agent: list[str], hostfile: str | None) -> list[str]:
        chosen = self.chosen
        if self.count == 1 and not hostfile:
            return [*agent, *_script(chosen)]
        found = mpiexec.find()
        assert found is not None
        words = found.command(self.count, hostfile, chosen.nproc_per_node)
        if hostfile and found.kind == "openmpi":
            words += found.passing(_passed_on())
        return [*words, *agent, *_script(chosen)]

    def _environment(self) -> dict[str, str]:
        """The ranks share the cores of a host, unless the caller has divided them."""
        if self.chosen.nproc_per_node == 1 or launcher("OMP_NUM_THREADS"):
            return inherited()
        each = max(1, (os.cpu_count() or 1) // self.chosen.nproc_per_node)
        return inherited(OMP_NUM_THREADS=str(each))


class _Agents:
    """The processes that the launcher started, which end together."""

    def __init__(self, commands: list[list[str]], **how: Any) -> None:
        self.all = [subprocess.Popen(words, start_new_session=True, **how) for words in commands]

    def signal(self, number: int) -> None:
        """To each of them and to what it started."""
        for one in self.all:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, number)

    def poll(self) -> int | None:
        """The first code of a failure, 0 where there was none, None while one of them runs."""
        codes = [one.poll() for one in self.all]
        return None if None in codes else next((c for c in codes if c), 0)

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        for one in self.all:
            one.wait(max(until - time.monotonic(), 0))


def _script(chosen: Any) -> list[str]:
    """The command of one rank; its agent puts the local rank in where that is asked for."""
    told = [LOCAL_RANK_WORD] if chosen.tell_local_rank and not chosen.use_env else []
    if chosen.no_python:
        return [chosen.training_script, *told, *chosen.training_script_args]
    python = [sys.executable, "-m", "rushlight", "run"]
    return [*python, *(["-m"] if chosen.module else []), chosen.training_script, *told, *chosen.training_script_args]


def _traceback(text: str) -> str:
    """The first traceback in what a rank wrote."""
    at = text.find("Traceback (most recent call last)")
    return text[at:].rstrip() if at >= 0 else ""


def _without_places(said: str) -> str:
    """What mpiexec said, without the lines that tell where in its own sources that was, if others are left."""
    lines = said.splitlines()
    others = [line for line in lines if not line.startswith(("[mpiexec@", "[proxy"))]
    return "\n".join(others or lines)


class _forwarding:  # noqa: N801
    """SIGTERM to the launcher ends the ranks, too."""

    def __init__(self, process: _Agents) -> None:
        self.process = process

    def __enter__(self) -> None:
        self.before = None
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGTERM, self._pass_on)

    def _pass_on(self, number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    def __exit__(self, *exc: Any) -> None:
        if self.before is not None:
            signal.signal(signal.SIGTERM, self.before)


def _passed_on() -> list[str]:
    """Variables that ranks on other hosts need and Open MPI does not pass by itself."""
    starts = ("PYTHON", "OMP_", "CUDA_", "NCCL_", "RUSHLIGHT_", "TORCH_", "MKL_", "LD_LIBRARY_PATH", "PATH")
    return sorted(name for name in inherited() if name.startswith(starts))


# -- Slurm ----------------------------------------------------------------------------------------


def _as_task(chosen: Any, told: dict[str, str], program: str) -> int:
    """srun has started the ranks: this process is one, and becomes the script."""
    size = int(told["WORLD_SIZE"])
    if chosen.nproc_per_node > 1 and chosen.nproc_per_node * chosen.nnodes != size:
        if told["RANK"] == "0":
            print(f"{program}: under srun every task is a rank, and there are {size}, not {chosen.nnodes} x {chosen.nproc_per_node}: "
                  f"srun -n {chosen.nnodes * chosen.nproc_per_node} ... rushlight launch SCRIPT, or the same command inside "
                  "the allocation without srun", file=sys.stderr)  # fmt: skip
        return 2
    place = mpiexec.RankPlace(int(told["RANK"]), size, int(told["LOCAL_RANK"]), int(told["LOCAL_WORLD_SIZE"]))
    job = {
        "host": chosen.master_addr or told["MASTER_ADDR"], "store": chosen.master_port or told["MASTER_PORT"],
        "restarts": 0, "max_restarts": 0, "id": chosen.rdzv_id,
    }  # fmt: skip
    made = variables(job, place)
    del made["RUSHLIGHT_LAUNCHER_STORE"]  # rank 0 serves the store
    command = with_local_rank(_script(chosen), place)
    os.execvpe(command[0], command, inherited(**made))
    return 0
