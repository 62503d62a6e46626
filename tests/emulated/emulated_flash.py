"""Attention's own kernels for float32 on the emulated GPU beside products.

Exact products and those of tensor cores: tiles, groups of heads, causal, bias, and dropout that draws the same.
"""

from __future__ import annotations

import sys
from typing import Any

import cupy
import emulated_capture
import numpy as np
from emulated_cupy import Device

import rushlight as rl
from emulated_dropout import write_state
from emulated_layers import product
from rushlight.base.config import settings

# batch, heads, heads of keys, queries, keys, numbers of a head and of a value; bias (its batch and heads), causal, dropout
FORMS = {
    "one kernel back": ((1, 2, 1, 33, 127, 32, 32), None, True, 0.25),
    "two kernels back": ((1, 2, 1, 35, 129, 20, 32), None, False, 0.25),
    "many heads": ((1, 2, 1, 35, 130, 12, 28), None, True, 0.25),
    "bias": ((2, 2, 2, 7, 33, 8, 40), (2, 1), False, 0.0),
    "wide heads": ((1, 1, 1, 70, 9, 68, 128), None, True, 0.5),
}
# Precision and what it allows, multiprocessors (blocks are large where few have to be busy), forms.
WAYS = (
    ("highest", 2e-5, 132, ("one kernel back", "two kernels back")),
    ("highest", 2e-5, 0.5, ("many heads",)),
    ("high", 4e-3, 0.5, ("one kernel back", "many heads", "bias")),
    ("high", 4e-3, 2, ("two kernels back", "wide heads")),
)


def to_device(a: np.ndarray, turned: bool = False) -> Any:
    """The array on the emulated GPU, [batch, places, heads, numbers] in memory where it is `turned`."""
    order = (0, 2, 1, 3) if turned else (0, 1, 2, 3)
    made = cupy.ndarray(tuple([a.shape[i] for i in order]), a.dtype).transpose(order)
    emulated_capture.on_host(made)[...] = a
    return made


def both_ways(form: tuple, rng: np.random.Generator, flash: Any, products: Any, alike: Any) -> list:
    """Result, stats and gradients by one kernel and by products that drop the same weights."""
    (batch, heads, groups, queries, n, size, values), biased, causal, p = form
    shapes = [(batch, heads, queries, size), (batch, groups, n, size), (batch, groups, n, values)]
    shapes.append((batch, heads, queries, values))
    q, k, v, gy = [to_device(rng.standard_normal(s).astype(np.float32), i % 2 == 0) for i, s in enumerate(shapes)]
    bias = None
    if biased:
        numbers = rng.standard_normal((*biased, queries, n))
        numbers[..., 0, :] = -1e38  # a query that sees nothing: its result is overwritten
        emulated_capture.on_host(gy)[:, :, 0] = 0
        bias = to_device(np.where(rng.random(numbers.shape) < 0.3, -1e38, numbers).astype(np.float32))
    how = (causal, size**-0.5, p)
    out, stats, key = flash.attend(q, k, v, bias, alike(q, values), *how)
    products.draw_key = lambda *_: key
    want, total, _ = products.attend(q, k, v, bias, *how)
    grads = tuple([alike(a, a.shape[-1]) for a in (q, k, v)])
    made = flash.differentiate(gy, q, k, v, bias, out, stats, key, grads, *how)
    slopes = products.differentiate(gy, q, k, v, bias, total, key, *how)
    pairs = zip((out, stats, *made), (want, total, *slopes))
    return [[emulated_capture.on_host(a).copy() for a in pair] for pair in pairs]


def main() -> None:
    emulated_capture.install()
    from rushlight.runtime.cuda.bodies import products as plain
    from rushlight.runtime.cuda.bodies.layers import attention, flash
    from rushlight.runtime.cuda.bodies.layers import attention_products as products
    from rushlight.runtime.cuda.bodies.stream import DrawStream

    products.product = plain.product = product
    cupy.cuda.Device, DrawStream._write = Device, write_state
    rl.manual_seed(3)
    rng = np.random.default_rng(0)
    for precision, close, processors, forms in WAYS:
        settings.float32_matmul_precision = precision
        flash.multiprocessors = lambda count=processors: count
        flash._gpus[0] = flash._described(227 << 10, True)
        for name in sys.argv[1:] or forms:
            found = both_ways(FORMS[name], rng, flash, products, attention._alike)
            far = [float(np.abs(a - b).max() / (1 + np.abs(b).max())) for a, b in found]
            assert max(far) < close, (precision, name, far)
    print("equal")


if __name__ == "__main__":
    main()
