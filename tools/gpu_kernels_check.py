"""Compare every library kernel with its CPU body on the GPU machine; print errors and microseconds."""

from __future__ import annotations

import importlib
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
for place in (ROOT / "src", ROOT / "tests", ROOT / "carry" / "cudnnfe"):
    sys.path.insert(0, str(place))

import cupy  # noqa: E402
import numpy as np  # noqa: E402

import rushlight as torch  # noqa: E402
from cuda_cases import FAMILIES, tolerance  # noqa: E402
from cuda_compare import LAYOUTS, compare  # noqa: E402


def timed(call, n: int = 30) -> tuple[float, float]:
    """Microseconds on the host per call, and per call until the GPU is done."""
    for _ in range(3):
        call()
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    for _ in range(n):
        call()
    host = time.perf_counter() - start
    cupy.cuda.Device().synchronize()
    return host / n * 1e6, (time.perf_counter() - start) / n * 1e6


def check(family: str, times: bool) -> None:
    """One line per kernel: cases, refusals, worst error against its tolerance; then what is wrong."""
    rng = np.random.default_rng(0)
    rows: dict[str, list] = {}
    wrong = []
    for case in FAMILIES[family](rng):
        row = rows.setdefault(case.name, [0, 0, 0.0, None])
        for layout in LAYOUTS:
            if layout != "dense" and case.dtype != np.float32:
                continue
            row[0] += 1
            try:
                error, call = compare(case, layout)
            except Exception:  # noqa: BLE001 - one broken case must not hide the others
                text = traceback.format_exc().strip().splitlines()
                wrong.append(
                    f"{case.name} {case.dtype} {layout} {case.label}: {' | '.join(text[-4:])[:600]}"
                )
                continue
            if error < 0:
                row[1] += 1
                continue
            row[2] = max(row[2], error / tolerance(case))
            if error > tolerance(case):
                wrong.append(f"{case.name} {case.dtype} {layout} {case.label}: {error:.2e}")
            if times and row[3] is None and layout == "dense":
                row[3] = (case.label, *timed(call))
    for name, (count, refused, worst, spent) in rows.items():
        told = (
            ""
            if spent is None
            else f"{spent[0][:34]:34} host {spent[1]:6.1f} us, done {spent[2]:7.1f} us"
        )
        print(
            f"{name:22} {count:4} cases {refused:3} refused, worst {worst:6.3f} of tolerance  {told}"
        )
    for line in wrong[:12]:
        print("  WRONG", line)
    if len(wrong) > 12:
        print("  ...", len(wrong), "wrong in all")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        torch.ones(1, device="cuda")
    except Exception:  # noqa: BLE001 - the kernels can be checked while the device layer is broken
        traceback.print_exc()
        for file in (
            "products",
            "conv",
            "pool",
            "softmax",
            "cross_entropy",
            "layer_norm",
            "update",
            "embedding",
        ):
            importlib.import_module(f"rushlight.runtime.cuda.bodies.{file}")
    for chosen in sys.argv[1:] or FAMILIES:
        start = time.perf_counter()
        check(chosen, times=True)
        print(f"-- {chosen}: {time.perf_counter() - start:.1f} s")
