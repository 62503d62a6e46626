"""Ranks of PyTorch as its launcher starts them, but of one process that has imported it: a second of work each, not five.

It reads lines, each the number of ranks, the port they meet at, the script and its arguments, and answers each with
what went wrong: nothing, or all that the ranks said.
"""

import json
import os
import runpy
import signal
import sys
import tempfile
import traceback

import torch
import torch._dynamo
import torch.distributed.checkpoint
import torch.distributed.fsdp
import torch.distributed.pipelining
import torch.distributed.tensor.parallel  # noqa: F401

LIMIT = 600  # seconds, of one rank


def rank(number: int, count: int, port: str, script: str, args: list[str], said: int) -> None:
    """Be one of the ranks, to the end of the process."""
    signal.alarm(LIMIT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    places = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
    os.environ.update({name: str(value) for name, value in places.items()})
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=port)
    sys.argv = [script, *args]
    failed = 1
    try:
        runpy.run_path(script, run_name="__main__")
        failed = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(failed)


def run(count: int, port: str, script: str, *args: str) -> str | None:
    """Start the ranks and wait for them; what they said where one failed."""
    with tempfile.TemporaryFile() as said:
        ranks = set()
        for number in range(count):
            child = os.fork()
            if not child:
                rank(number, count, port, script, list(args), said.fileno())
            ranks.add(child)
        failed = False
        while ranks:
            child, status = os.wait()
            ranks.discard(child)
            if status and not failed:  # the others would wait for it
                failed = True
                for other in ranks:
                    os.kill(other, signal.SIGKILL)
        said.seek(0)
        return said.read().decode(errors="replace") if failed else None


for line in sys.stdin:
    print(json.dumps(run(*json.loads(line))), flush=True)
