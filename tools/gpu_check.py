"""Compare the GPU with the CPU over the op table, in parallel: `python tools/gpu_check.py [--workers N]`."""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

TOLERANCE = {"float64": 1e-9, "float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2}


def check_row(row: Any, dtype: str, layout: str) -> None:
    """The row's result on both devices, from plain or strided inputs."""
    import numpy as np

    import rushlight as rl
    import test_ops as t
    from optable import call, flat
    from rushlight.core.tensor import wrap

    cpu = t.tensors(row, dtype, "cpu")
    gpu = t.tensors(row, dtype, "cuda")
    if layout == "strided":
        cpu = [wrap(t.strided(a)) for a in row.arrays(dtype)]
        gpu = [_strided_on_gpu(a) for a in row.arrays(dtype)]
    want, got = flat(call(rl, row, cpu)), flat(call(rl, row, gpu))
    assert len(want) == len(got)
    tol = max(row.tol or 0, TOLERANCE[dtype])
    for g, w in zip(got, want):
        if not hasattr(w, "detach"):
            assert g == w or np.allclose(g, w), (g, w)
            continue
        assert g.device.type == "cuda" or not row.specs(), "result is not on the GPU"
        assert (tuple(g.shape), g.dtype) == (tuple(w.shape), w.dtype), (g.shape, g.dtype, w.dtype)
        if row.compare is not None:
            row.compare(t.host(g), t.host(w))
        elif not row.nondet:
            tol = max(tol, TOLERANCE.get(w.dtype.name, 0))
            np.testing.assert_allclose(t.host(g), t.host(w), rtol=tol, atol=tol, equal_nan=True)


def _strided_on_gpu(a: Any) -> Any:
    import cupy
    import numpy as np

    from rushlight.core.tensor import wrap

    wide = np.zeros((*a.shape[::-1], 2), a.dtype)
    wide[..., 0] = a.transpose()
    return wrap(cupy.asarray(wide)[..., 0].transpose())


def check_gradient(row: Any) -> None:
    import numpy as np

    import rushlight as rl
    import test_ops as t

    want = t.gradients(rl, row, t.tensors(row, grad=True))
    got = t.gradients(rl, row, t.tensors(row, device="cuda", grad=True))
    for g, w in zip(got, want):
        if w is None or g is None:
            for other in (g, w):
                assert other is None or not np.any(t.host(other))
            continue
        assert g.shape == w.shape and g.device.type == "cuda"
        np.testing.assert_allclose(t.host(g), t.host(w), rtol=row.tol or 1e-7, atol=row.tol or 1e-8)


def jobs() -> list[tuple[str, Any]]:
    import test_ops as t

    found: list[tuple[str, Any]] = []
    for i, row in enumerate(t.ROWS):
        for d in dict.fromkeys([*row.dtypes, "float16", "bfloat16"]):
            if d in ("float16", "bfloat16") and not any(s.dtype == "float" for s in row.specs()):
                continue
            found.append((f"forward {d}", (i, d, "plain")))
        if any(len(s.shape) for s in row.specs()) and not row.nondet and row.name not in t.LAYOUT:
            found.append(("strided", (i, "float64", "strided")))
        if row in t.GRAD_ROWS and not row.nondet:
            found.append(("backward", (i,)))
    return found


def work(part: int, parts: int, seconds: float) -> None:
    """Check every `parts`-th job; failures as JSON lines on stdout."""
    import test_ops as t

    start = time.perf_counter()
    counts: collections.Counter = collections.Counter()
    for label, args in jobs():
        row = t.ROWS[args[0]]
        if args[0] % parts != part:
            continue
        if time.perf_counter() - start > seconds:
            counts["not reached"] += 1
            continue
        try:
            if label == "backward":
                check_gradient(row)
            else:
                check_row(row, args[1], args[2])
            counts["passed"] += 1
        except Exception as error:
            if _also_on_cpu(row, args, label):
                counts["fails on the CPU, too"] += 1
                continue
            counts["failed"] += 1
            where = traceback.extract_tb(error.__traceback__)
            frames = [f for f in where if "rushlight" in f.filename] or list(where)
            place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
            text = " ".join(str(error).split())
            print(
                json.dumps([label, repr(row), type(error).__name__, text[:300], place]), flush=True
            )
    print(json.dumps(dict(counts)), flush=True)


def _also_on_cpu(row: Any, args: tuple, label: str) -> bool:
    """Whether the CPU refuses this dtype as well, in which case there is nothing to compare."""
    import rushlight as rl
    import test_ops as t
    from optable import call

    try:
        if label == "backward":
            t.gradients(rl, row, t.tensors(row, grad=True))
        else:
            call(rl, row, t.tensors(row, args[1], "cpu"))
        return False
    except Exception:
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=70)
    parser.add_argument("--part", type=int, default=-1)
    parser.add_argument("--log", default="")
    options = parser.parse_args()
    if options.part >= 0:
        work(options.part, options.workers, options.seconds)
        return 0
    command = [sys.executable, __file__, "--workers", str(options.workers),
               "--seconds", str(options.seconds), "--part"]  # fmt: skip
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    running = [
        subprocess.Popen([*command, str(i)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, env=quiet)
        for i in range(options.workers)
    ]  # fmt: skip
    return report([p.communicate() for p in running], options.log)


def report(outputs: list[tuple[str, str]], log: str) -> int:
    counts: collections.Counter = collections.Counter()
    failures: list[list[str]] = []
    for out, err in outputs:
        lines = out.splitlines()
        if not lines or not lines[-1].startswith("{"):
            print("a worker died:", err[-1500:])
        for line in lines:
            value = json.loads(line) if line[:1] in "[{" else None
            if isinstance(value, dict):
                counts.update(value)
            elif value:
                failures.append(value)
    if log:
        Path(log).write_text("\n".join(map(json.dumps, failures)))
    groups: dict[tuple, list[str]] = collections.defaultdict(list)
    for label, row, kind, text, place in failures:
        groups[place, kind, text[:110]].append(f"{row} [{label}]")
    for (place, kind, text), rows in sorted(groups.items(), key=lambda g: -len(g[1]))[:70]:
        print(f"{len(rows):3} {place} {kind}: {text} | {rows[0][:70]}")
    print(dict(counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
