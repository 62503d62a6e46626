"""Where a compiled step's time goes on a GPU: every instruction of a row of the park, timed by itself.

    PYTHONPATH=src python tools/program_times.py gpt2 [--most 25]

An instruction is captured several times into a CUDA graph of its own, so that the host's part does not count. Their sum
is what the step would take if nothing ran side by side.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 4


def compiled_row(row: str) -> Any:
    """A row of the park as a compiled step that has been replayed."""
    from rushlight.cli.scripts.alias import install

    install()
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import numpy as np
    import park_rows
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    place = park_rows.Place("cuda", True, park_rows.plain, np.random.default_rng(0))
    torch.manual_seed(0)
    work = park_rows.ROWS[row](place)
    step = torch.compile(work.step)
    for _ in range(6):
        step(*work.args)
    torch.cuda.synchronize()
    return step


def stand_in(slot: Any) -> Any:
    """Zeros laid out as a slot is; as indices they are valid."""
    import cupy

    if slot.storage.device == "cpu":
        import numpy as np

        return np.zeros(slot.shape, slot.dtype)
    memory = cupy.zeros(max(slot.storage.nbytes, 1), "u1")
    return cupy.ndarray(slot.shape, slot.dtype, memory.data + slot.offset, slot.strides)


def times(lowered: Any) -> list[tuple[Any, float]]:
    """Microseconds of every instruction that runs on the device."""
    import cupy

    from rushlight.runtime.cuda.library.measuring import measured_choices
    from rushlight.runtime.cuda.memory.streams import using

    found = []
    stream = cupy.cuda.Stream(non_blocking=True)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    for ins in lowered.program.instructions:
        on_device = any(s.storage.device != "cpu" for s in (*ins.outputs, *ins.writes))
        if ins.is_view or not on_device or ins.name in ("move", "read"):
            continue
        env = dict(lowered.env)
        for slot in ins.reads:
            if (
                slot.number not in lowered.env
            ):  # its life is over: any values of that layout will do
                lowered.env[slot.number] = stand_in(slot)
        with using(stream), measured_choices():  # as the step was captured
            try:
                lowered.execute(ins)
                stream.synchronize()
                stream.begin_capture()
                for _ in range(REPEATS):
                    lowered.execute(ins)
                graph = stream.end_capture()
            except Exception as error:  # noqa: BLE001 - named in the table
                print(f"{ins.name}: {error}")
                lowered.env.clear()
                lowered.env.update(env)
                continue
            graph.launch(stream)
            begin.record(stream)
            graph.launch(stream)
            end.record(stream)
            stream.synchronize()
        lowered.env.clear()
        lowered.env.update(env)
        found.append((ins, cupy.cuda.get_elapsed_time(begin, end) / REPEATS * 1e3))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("row")
    parser.add_argument("--most", type=int, default=25)
    args = parser.parse_args()
    step = compiled_row(args.row)
    rows: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    each = []
    for ins, us in times(step.replays[-1].low):
        moved = sum(s.nbytes for s in (*ins.reads, *ins.outputs, *ins.writes))
        row = rows[ins.name]
        row[0] += 1
        row[1] += us
        row[2] += moved
        shapes = " ".join(str(tuple(s.shape)) for s in (*ins.reads, *ins.outputs))
        each.append((us, moved, ins.name, shapes[:110]))
    total = sum(r[1] for r in rows.values())
    print(
        f"{args.row}: {total / 1e3:.2f} ms in {sum(int(r[0]) for r in rows.values())} instructions"
    )
    print(f"{'kernel':28}{'calls':>6}{'ms':>9}{'share':>8}{'GB/s':>8}")
    for name, (calls, us, moved) in sorted(rows.items(), key=lambda r: -r[1][1])[: args.most]:
        print(
            f"{name:28}{calls:6}{us / 1e3:9.3f}{us / total:8.1%}{moved / us / 1e3 if us else 0:8.0f}"
        )
    print("\nthe longest:")
    for us, moved, name, shapes in sorted(each, reverse=True)[: args.most]:
        print(f"{us:9.1f} us {moved / us / 1e3:7.0f} GB/s  {name:24} {shapes}")


if __name__ == "__main__":
    main()
