"""Linear layers over any number of dims beside the CPU's, cuBLASLt computed by its own rules on the host; run by
test_emulated_gpu.py."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

import rushlight as rl
from rushlight.nn import functional as F
from rushlight.runtime.cuda.library import cublaslt as lt

KINDS = {"f": np.float32, "d": np.float64, "e": np.float16, "E": ml_dtypes.bfloat16}


def stored(address: int, rows: int, columns: int, ld: int, kind: Any) -> np.ndarray:
    """A matrix as the library keeps it: columns first, `ld` numbers from one to the next."""
    size = ((columns - 1) * ld + rows) * np.dtype(kind).itemsize
    flat = np.frombuffer((ctypes.c_char * size).from_address(address), kind)
    item = flat.itemsize
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (item, ld * item), writeable=True)


def operand(address: int, m: Any, kind: Any) -> np.ndarray:
    found = stored(address, m.rows, m.columns, m.ld, kind).astype(np.float64)
    return found.T if m.transposed else found


def make(self: Any, what: Any, bias: int, accumulate: bool = False) -> Any:
    plan = lt.Plan()
    plan.keep = [what]
    assert what.batch == 1 and not accumulate and what.epilogue in ("", "bias", "bgrad")
    return plan


def launch(self: Any, plan: Any, a: int, b: int, out: int, bias: int = 0) -> None:
    what = plan.keep[0]
    kind = KINDS[what.char]
    first, second = operand(a, what.a, kind), operand(b, what.b, kind)
    result = first @ second
    if what.epilogue == "bias":
        result = result + stored(bias, what.m, 1, what.m, kind).astype(np.float64)
    if what.epilogue == "bgrad":
        stored(bias, what.n, 1, what.n, kind)[:, 0] = second.sum(0)
    stored(out, what.m, what.n, what.m, kind)[...] = result


def gradients(device: str, dtype: Any, arrays: list, how: str) -> list[np.ndarray]:
    x, w, b, g = [None if a is None else rl.tensor(a, dtype=dtype).to(device) for a in arrays]
    given = [t.requires_grad_() for t in (x, w, b) if t is not None]
    seen = x.transpose(0, 1) if how == "transposed" else x[..., ::2] if how == "steps" else x
    y = F.linear(seen, w, b)
    if how == "expanded":
        y.backward(g.reshape(-1)[:1].reshape([1] * y.dim()).expand(y.shape))
    else:
        y.backward(g.transpose(0, 1) if how == "transposed" else g)
    return [t.detach().float().cpu().numpy() for t in (y, *[t.grad for t in given])]


def compare(shape: tuple, n: int, bias: bool, how: str, dtype: Any, tolerance: float) -> None:
    rng = np.random.default_rng(0)
    k = shape[-1] // 2 if how == "steps" else shape[-1]
    arrays = [rng.standard_normal(s) for s in (shape, (n, k), (n,), (*shape[:-1], n))]
    if not bias:
        arrays[2] = None
    ours = gradients("cuda", dtype, arrays, how)
    for a, b in zip(ours, gradients("cpu", dtype, arrays, how)):
        assert a.shape == b.shape, (shape, how)
        worst = np.abs(a - b).max() / max(1.0, np.abs(b).max())
        assert worst <= tolerance, (shape, n, bias, how, dtype, worst)


lt.Library.make, lt.Library.launch = make, launch
for dtype, tolerance in ((rl.float32, 1e-5), (rl.bfloat16, 2e-2)):
    for shape in ((8,), (2, 1, 3, 8), (40, 33, 24)):
        for bias in (True, False):
            ways = ["plain", "expanded", "steps"] + ["transposed"] * (len(shape) > 2)
            for how in ways:
                compare(shape, 20, bias, how, dtype, tolerance)
print("equal")
