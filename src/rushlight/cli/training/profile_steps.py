"""`rushlight train --profile`: where the time of a step goes, as a table and as a trace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..words import counted
from .loop import Run

if TYPE_CHECKING:
    from argparse import Namespace

WARM, TIMED = 3, 10


def profile_steps(args: Namespace, run: Run) -> int:
    """Time a few steps through Python, kernel by kernel; write profile.txt and trace.json."""
    from rushlight.io import atomic_write
    from rushlight.profiler import ProfilerActivity, profile, record_function

    kinds = [ProfilerActivity.CPU]
    if run.device != "cpu":
        kinds.append(ProfilerActivity.CUDA)
    run.stepper.train_mode()
    source = _batches(run)
    for _ in range(WARM):
        _one(run, next(source))
    with profile(activities=kinds) as found:
        for _ in range(TIMED):
            with record_function("load"):
                batch = next(source)
            with record_function("step"):
                _one(run, batch)
    key = "cpu_time_total" if run.device == "cpu" else "cuda_time_total"
    table = found.key_averages().table(sort_by=key, row_limit=25)
    for name, text in (("profile.txt", table + "\n"),):
        with atomic_write(os.path.join(args.out, name), "w") as f:
            f.write(text)
    trace = os.path.join(args.out, "trace.json")
    found.export_chrome_trace(trace)
    print(table)
    print(f"{TIMED} steps of {counted(args.batch_size * args.accumulate, run.images.unit[:-1])}, through Python; `load` is reading and varying them. Wrote {args.out}/profile.txt and {trace}: "
          "open the trace in chrome://tracing or ui.perfetto.dev.")  # fmt: skip
    return 0


def _batches(run: Run) -> Iterator[Any]:
    """Batches as training loads them, one epoch after the other."""
    while True:
        yield from run._batches()
        run.epoch += 1


def _one(run: Run, batch: Any) -> None:
    x, y = batch
    loss, _ = run.stepper(x.to(run.device), y.to(run.device))
    loss.item()
