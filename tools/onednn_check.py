"""Compare every oneDNN kernel with the NumPy body on random calls, and time it beside the others.

    python tools/onednn_check.py [--seconds 30] [--no-times]

Needs x86-64 Linux with the wheel onednn-cpu-gomp. Times are of one call, the least of many, of NumPy, the
native engine where it was built, and oneDNN with the conversions of layout it makes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / p) for p in ("src", "tests/engine")]

import numpy as np  # noqa: E402

from engine_cases import Draw, conv, differs, matmul, numpy_body  # noqa: E402
from rushlight.base.dtypes import bfloat16  # noqa: E402
from rushlight.runtime.cpu import threads  # noqa: E402
from rushlight.runtime.cpu.onednn import kernels  # noqa: E402
from rushlight.runtime.cpu.onednn.library import OneDnn, find  # noqa: E402

# The convolutions and products of the lab's network at batch 64 and of the wide CNN.
LARGE = (
    ((64, 3, 32, 32), (6, 3, 5, 5), 0), ((64, 6, 14, 14), (16, 6, 5, 5), 0),
    ((64, 3, 32, 32), (64, 3, 3, 3), 1), ((64, 64, 32, 32), (64, 64, 3, 3), 1),
    ((64, 64, 16, 16), (128, 64, 3, 3), 1), ((64, 128, 16, 16), (128, 128, 3, 3), 1),
)  # fmt: skip
PRODUCTS = ((100, 784, 1000), (64, 400, 120), (64, 8192, 256))


def compare(lib: OneDnn, seconds: float) -> bool:
    """Random calls until the time is over; whether all agreed."""
    kernels._SMALLEST = 0  # small problems too: this is about being right
    ran: dict[str, int] = {}
    refused: dict[str, int] = {}
    seed, end = 0, time.time() + seconds
    while time.time() < end:
        for family in (conv, matmul):
            for name, arrays, attrs, tolerance in family(Draw(seed)):
                if lib.has_bfloat16 and seed % 2:
                    arrays, tolerance = halved(arrays), 0.03
                out = kernels.KERNELS[name](lib, *arrays, **attrs)
                counts = refused if out is NotImplemented else ran
                counts[name] = counts.get(name, 0) + 1
                if out is NotImplemented:
                    continue
                wrong = differs(out, numpy_body(name)(*arrays, **attrs), tolerance)
                if wrong:
                    shapes = [getattr(a, "shape", a) for a in arrays]
                    print(f"seed {seed}: {name} of {shapes} with {attrs}: {wrong}")
                    return False
        seed += 1
    print(f"{seed} seeds agree. computed: {ran}\nleft to others: {refused}")
    return all(name in ran for name in kernels.KERNELS)


def halved(arrays: tuple) -> tuple:
    """The same in bfloat16, strides kept."""
    return tuple([a if a is None else a.astype(bfloat16.np, order="K") for a in arrays])


def best(fn: Any) -> float:
    """The least microseconds of a call within half a second."""
    least, end = float("inf"), time.time() + 0.5
    fn()
    while time.time() < end:
        begin = time.perf_counter()
        fn()
        least = min(least, time.perf_counter() - begin)
    return least * 1e6


def calls() -> Any:
    d = Draw(0)
    for x_shape, w_shape, pad in LARGE:
        how = {"stride": (1, 1), "padding": (pad, pad), "dilation": (1, 1), "groups": 1}
        x, w, b = d.floats(*x_shape), d.floats(*w_shape), d.floats(w_shape[0])
        g = d.floats(*numpy_body("conv")(x, w, b, **how).shape)
        label = f"{x_shape} * {w_shape}"
        yield label, "conv", (x, w, b), how
        yield label, "conv_grad_input", (g, w), {"x_shape": x_shape, **how}
        yield label, "conv_grad_weight", (g, x), {"w_shape": w_shape, **how}
    for m, k, n in PRODUCTS:
        yield f"{m}x{k}x{n}", "linear", (d.floats(m, k), d.floats(n, k), d.floats(n)), {}
        yield f"{m}x{k}x{n}", "mm_tn", (d.floats(m, n), d.floats(m, k)), {}


def times(lib: OneDnn) -> None:
    kernels._SMALLEST = 1 << 18
    kernels._plans.clear()
    try:
        from rushlight.runtime.cpu import _native

        _native.set_threads(threads.usable())
    except ImportError:
        _native = None
    print(f"\n{'microseconds':<58}{'NumPy':>10}{'native':>10}{'oneDNN':>10}  conversions, bfloat16")
    for label, name, arrays, attrs in calls():
        row = [best(lambda: numpy_body(name)(*arrays, **attrs))]
        native = None if _native is None else _native.kernel(name, numpy_body(name))
        row.append(float("nan") if native is None else best(lambda: native(*arrays, **attrs)))
        refused = kernels.KERNELS[name](lib, *arrays, **attrs) is NotImplemented
        row.append(float("nan") if refused else best(lambda: kernels.KERNELS[name](lib, *arrays, **attrs)))
        plan = next(reversed(kernels._plans.values()))
        made = "refused" if plan is None else f"{plan.conversions:<11}"
        half = halved(arrays)
        if lib.has_bfloat16 and kernels.KERNELS[name](lib, *half, **attrs) is not NotImplemented:
            made += f" {best(lambda: kernels.KERNELS[name](lib, *half, **attrs)):>10.0f}"
        print(f"{name:<18}{label:<40}" + "".join(f"{t:>10.0f}" for t in row) + f"  {made}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--no-times", action="store_true")
    args = parser.parse_args()
    try:
        lib = OneDnn(find())
    except OSError as error:
        sys.exit(f"oneDNN cannot be loaded: {error}")
    print(f"oneDNN {lib.version()}, {lib.instruction_set()}, NumPy {np.__version__}")
    fine = compare(lib, args.seconds)
    if fine and not args.no_times:
        times(lib)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
