"""One side of benchmarks/park.py in a process of its own: reads requests, answers JSON lines.

`python park_worker.py SIDE DEVICE CLOCK`; a request is {"do": "prepare", "row": ..., ...}, {"do": "time", "seconds": ...}
or {"do": "drop"}. Rushlight answers to the name torch here, so that both run the same files.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SIDE, DEVICE, CLOCK = sys.argv[1:4]
if SIDE.startswith("ours"):
    sys.path.insert(0, str(HERE.parent / "src"))
    from rushlight.cli.scripts.alias import install

    install()

import numpy as np  # noqa: E402
import park_rows  # noqa: E402
import torch  # noqa: E402

now = time.process_time if CLOCK == "cpu" else time.perf_counter
FIRST = 10  # steps whose losses are compared; programs are made meanwhile
MB = 2**20


def wait() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def wrap() -> Any:
    """What the networks of this side go through."""
    if SIDE == "torch compile":
        return torch.compile
    if SIDE == "torch graphs":
        return lambda net: torch.compile(net, mode="reduce-overhead")
    return park_rows.plain


def allowed() -> None:
    """TF32 and measured convolutions on both sides; one thread where CPU time is the clock."""
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    if CLOCK == "cpu":  # several threads would count their waiting for each other
        torch.set_num_threads(1)


class Held:
    """The row that is prepared."""

    def __init__(self, row: str, dropout: bool) -> None:
        draws = np.random.default_rng(0)
        place = park_rows.Place(DEVICE, DEVICE == "cuda", wrap(), draws, dropout)
        self.free = free_bytes()
        torch.manual_seed(0)
        self.work = park_rows.ROWS[row](place)
        self.call = self.work.step
        if SIDE == "ours compiled":
            self.call = torch.compile(self.call)

    def first(self) -> dict[str, Any]:
        """The first calls: their losses, the time of the first one, and of all until it runs evenly."""
        losses, begin, once = [], now(), 0.0
        for i in range(FIRST):
            losses.append(float(self.call(*self.work.args).mean()))
            if i == 0:
                once = now() - begin
        wait()
        found = {"losses": losses, "first_s": once, "ready_s": now() - begin}
        why = getattr(self.call, "why", None)
        if SIDE == "ours compiled" and why and why():
            found["why"] = why()
        return found

    def time(self, seconds: float) -> dict[str, Any]:
        """Milliseconds a step: the median of short rounds, and the fastest of them."""
        reset_peak()
        args, call = self.work.args, self.call
        call(*args)
        wait()
        begin = now()
        call(*args)
        wait()
        count = max(1, int(0.1 / max(now() - begin, 1e-6)))
        rounds = []
        end = now() + seconds
        while now() < end or not rounds:
            begin = now()
            for _ in range(count):
                call(*args)
            wait()
            rounds.append((now() - begin) / count * 1e3)
        fastest = {"ms": statistics.median(rounds), "best_ms": min(rounds)}
        return {**fastest, "items": self.work.items, **self.memory()}

    def memory(self) -> dict[str, float]:
        """MB: the allocator's peak since timing began; what the process took from the GPU since the row began."""
        if DEVICE == "cpu":
            return {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
        return {
            "peak_mb": torch.cuda.max_memory_allocated() / MB,
            "reserved_mb": torch.cuda.memory_reserved() / MB,
            "taken_mb": (self.free - free_bytes()) / MB,
        }


def free_bytes() -> int:
    return torch.cuda.mem_get_info()[0] if DEVICE == "cuda" else 0


def reset_peak() -> None:
    if DEVICE == "cuda":
        torch.cuda.reset_peak_memory_stats()


def drop() -> None:
    """Forget everything of a row, compiled programs included."""
    if SIDE in ("torch compile", "torch graphs"):
        torch._dynamo.reset()
    gc.collect()
    if DEVICE == "cuda":
        torch.cuda.empty_cache()


def main() -> None:
    allowed()
    warnings.simplefilter("ignore")
    held: Held | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked["do"] == "prepare":
                held = Held(asked["row"], asked["dropout"])
                answer = held.first()
            elif asked["do"] == "time" and held is not None:
                answer = held.time(asked["seconds"])
            else:
                held = None
                drop()
                answer = {}
        except Exception:  # noqa: BLE001 - told to the parent, which goes on with the others
            answer = {"error": " | ".join(traceback.format_exc().strip().splitlines()[-4:])}
            held = None
        print("\n" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
