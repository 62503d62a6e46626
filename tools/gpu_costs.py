"""Are the choices between our kernels and the libraries' right? Both are timed over a grid of sizes on a GPU.

    PYTHONPATH=src python tools/gpu_costs.py [--out FILE] [--quick]

Every row is one convolution (forward, input gradient, weight gradient) or one dense product: microseconds of our kernel and of
the library's inside a CUDA graph, which one the package would choose, and what a wrong choice loses. The figures in
`runtime/cuda/costs.py` are fitted to these rows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import chain, product
from pathlib import Path
from typing import Any

REPEATS = 20  # calls of one graph
CHANNELS = ((1, 6), (1, 32), (3, 6), (3, 32), (3, 64), (6, 16), (8, 32), (16, 16), (16, 64), (32, 32))
IMAGES = ((4, 32), (64, 8), (64, 28), (512, 14), (512, 32), (16, 96))
KERNELS = ((3, 1), (5, 0))
ROWS = (1, 4, 8, 16, 64, 256)
WIDTHS = ((84, 10), (120, 84), (400, 120), (256, 256), (784, 1000), (1024, 1024), (2048, 512), (4096, 4096))


def in_graph(call: Callable[[], Any]) -> float:
    """Microseconds of one call among many in a CUDA graph: what the host does is left out."""
    import cupy

    from rushlight.runtime.cuda.memory.streams import using

    call()
    stream = cupy.cuda.Stream(non_blocking=True)
    with using(stream):
        call()
        stream.begin_capture()
        for _ in range(REPEATS):
            call()
        graph = stream.end_capture()
        best = float("inf")
        for _ in range(6):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(stream)
            graph.launch(stream)
            end.record(stream)
            end.synchronize()
            best = min(best, cupy.cuda.get_elapsed_time(start, end) * 1000 / REPEATS)
    return best


def tried(make: Callable[[], Callable[[], Any] | None]) -> float | None:
    """The time of what `make` makes; None where it does not take these sizes."""
    try:
        call = make()
        return None if call is None else round(in_graph(call), 2)
    except Exception as e:
        print("  not timed:", type(e).__name__, str(e)[:100])
        return None


def convolutions(kinds: list[str]) -> Iterator[dict[str, Any]]:
    """Every convolution of the grid, in three directions."""
    import cupy

    for dtype, (c, o), (n, size), (k, p) in product(kinds, CHANNELS, IMAGES, KERNELS):
        out = size + 2 * p - k + 1
        if n * size * size * max(c, o) > 16 << 20:
            continue
        sizes = ((n, c, size, size), (o, c, k, k), (n, o, out, out))
        yield from directions(*[cupy.zeros(s, dtype) for s in sizes], p)


def directions(x: Any, w: Any, gy: Any, p: int) -> Iterator[dict[str, Any]]:
    from rushlight.runtime.cuda.bodies.layers import conv as body
    from rushlight.runtime.cuda.small import conv as small

    attrs = {"stride": (1, 1), "padding": (p, p), "dilation": (1, 1), "groups": 1}
    shape = small.forward_shape(x.shape, w.shape, gy.shape[2:], (1, 1), (p, p))
    back = small.input_shape(x.shape, w.shape, gy.shape, (1, 1), (p, p))
    chosen = small.takes(x, w.shape, (1, 1), 1)

    def ours(kind: str) -> Any:
        if kind == "weight":
            made: Any = small.Weight(shape, gy.dtype)
            return (lambda: made(gy, x)) if made.ok else None
        s, a = (shape, x) if kind == "forward" else (back, gy)
        made = small.Forward(s, a) if s is not None else None
        return (lambda: made(a, w, None)) if made is not None and made.ok else None

    def library(kind: str) -> Any:
        name, a, b, to = {
            "forward": ("fprop", x, w, gy.shape), "input": ("dgrad", gy, w, x.shape),
            "weight": ("wgrad", gy, x, w.shape),
        }[kind]  # fmt: skip
        made = body._library(name, a, b, to, attrs)
        return None if made is None else lambda: made(a, b)

    for kind in ("forward", "input", "weight"):
        yield {
            "what": f"conv {kind}", "dtype": str(x.dtype), "sizes": [*x.shape, *w.shape, p], "chosen": chosen,
            "ours": tried(lambda k=kind: ours(k)), "library": tried(lambda k=kind: library(k)), "cycles": cycles(kind, shape, back),
        }  # fmt: skip


def cycles(kind: str, shape: Any, back: Any) -> float | None:
    """What the model of conv_tiling says of our kernel."""
    from rushlight.runtime.cuda.small.conv_tiling import Job, best_cut

    s = shape if kind == "forward" else back
    cut = None if kind == "weight" or s is None else best_cut(Job(s))
    return None if cut is None else round(cut.cost())


def products(kinds: list[str]) -> Iterator[dict[str, Any]]:
    """Dense layers of few rows: the kernel for few of them, the tiled one, the library's."""
    import cupy

    from rushlight.runtime.cuda.bodies import products as body
    from rushlight.runtime.cuda.small import dense, dense_sizes

    for dtype, m, (k, n) in product(kinds, ROWS, WIDTHS):
        x, w, b = cupy.zeros((m, k), dtype), cupy.zeros((n, k), dtype), cupy.zeros(n, dtype)
        char = x.dtype.char

        def few() -> Any:
            made = dense._forward_call(m, n, k, x.dtype, False) if m <= dense_sizes.FEW else None
            return None if made is None else lambda: made(x, w, b)

        def tiled() -> Any:
            return (lambda: dense.tiled("nt", x, w, m, n, k, bias=b)) if char == "f" else None

        yield {
            "what": "linear", "dtype": dtype, "sizes": [m, n, k], "chosen": dense_sizes.is_few(m, n, k, char),
            "ours": tried(few), "tiled": tried(tiled), "tiled chosen": dense_sizes.is_tiled(m, n, k, char),
            "library": tried(lambda: lambda: body.product(x, w, False, True, b, "bias")),
        }  # fmt: skip


def gradients(kinds: list[str]) -> Iterator[dict[str, Any]]:
    """All gradients of a dense layer of few rows: one launch of ours, or two products and a sum."""
    import cupy

    from rushlight.runtime.cuda.bodies import products as body
    from rushlight.runtime.cuda.bodies.reduce import reduce
    from rushlight.runtime.cuda.small import dense, dense_sizes

    for dtype, m, (k, n) in product(kinds, [r for r in ROWS if r <= dense_sizes.FEW], WIDTHS):
        x, w, g = [cupy.zeros(s, dtype) for s in ((m, k), (n, k), (m, n))]

        def library() -> Any:
            to_input = body.product(g, w, False, False)
            return to_input, body.product(g, x, True, False), reduce("sum", g, (0,), False)

        yield {
            "what": "linear backward", "dtype": dtype, "sizes": [m, n, k],
            "chosen": dense_sizes.is_few(m, n, k, x.dtype.char), "library": tried(lambda: library),
            "ours": tried(lambda: lambda: dense._backward_few(g, x, w, None, True)),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    args = parser.parse_args()
    rows = []
    for row in chain(products(args.dtypes), gradients(args.dtypes), convolutions(args.dtypes)):
        rows.append(row)
        times = [t for t in (row["ours"], row["library"]) if t is not None]
        taken = row["ours"] if row["chosen"] and row["ours"] is not None else row["library"]
        lost = 0.0 if taken is None or not times else taken - min(times)
        print(
            row["what"], row["dtype"], row["sizes"], "ours", row["ours"], "library", row["library"], f"lost {lost:.1f}"
        )
    if args.out:
        args.out.write_text("\n".join(json.dumps(r) for r in rows))


if __name__ == "__main__":
    main()
