"""What mpiexec starts for each rank: it runs the script, waits for it and reports how it ended.

Its words are a JSON object that says where the launcher is, `--`, and the command of the rank.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

from ...base.config import inherited
from .. import frames, mpiexec
from .streams import connect_streams

__all__ = ["main"]


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
    place = mpiexec.RankPlace(*job["place"]) if "place" in job else mpiexec.place() or mpiexec.RankPlace(0, 1, 0, 1)  # fmt: skip
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
