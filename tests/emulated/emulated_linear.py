"""Linear layers over any number of dims beside the CPU's, cuBLASLt computed by its own rules on the host.

How cuBLASLt is told where operands lie: steps between rows, copies of what it cannot read, bias and its sums.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

import rushlight as rl
from rushlight.nn import functional as F
from rushlight.runtime.cuda.code import launch
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


made: list[tuple[Any, list[int]]] = []  # by descriptor: what was asked for, where the vector lies
calls = [0, 0]  # of the library: from Python, from C


def make(self: Any, what: Any, bias: int, accumulate: bool = False) -> Any:
    assert what.batch == 1 and not accumulate and what.epilogue in ("", "bias", "bgrad")
    plan = lt.ProductPlan()
    plan.a = plan.b = plan.c = plan.alpha = plan.beta = plan.algo = 0
    plan.desc, plan.bias = len(made), bias
    plan.room = (0, 3000, 3 << 20)[len(made) % 3]
    made.append((what, [bias]))
    return plan


def multiply(at: int, desc: int, alpha: int, a: int, la: int, b: int, lb: int, beta: int, c: int, lc: int, out: int, lo: int, algo: int, work: int, room: int, stream: int) -> int:  # fmt: skip
    what, (bias,) = made[desc]
    assert bool(work) == bool(room)
    if room:  # it must be the stream's, as large as was ever asked for
        held = lt.library().workspaces[stream]
        assert work == held.ptr and held.mem.size >= room
        ctypes.memset(work, 0xFF, room)
    kind = KINDS[what.char]
    first, second = operand(a, what.a, kind), operand(b, what.b, kind)
    result = first @ second
    if what.epilogue == "bias":
        result = result + stored(bias, what.m, 1, what.m, kind).astype(np.float64)
    if what.epilogue == "bgrad":
        stored(bias, what.n, 1, what.n, kind)[:, 0] = second.sum(0)
    stored(out, what.m, what.n, what.m, kind)[...] = result
    return 0


def assign(desc: int, which: int, address: int, size: int) -> int:
    made[desc][1][0] = ctypes.c_uint64.from_address(address).value
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint64] * 16)
def multiply_in_c(*words: int) -> int:
    calls[1] += 1
    return multiply(*words)


assign_in_c = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t)(assign)


def counted(*words: int) -> int:
    calls[0] += 1
    return multiply(*words)


def opened(self: Any) -> None:
    self.matmul, self.set, self.address = counted, assign, 0
    self.matmul_at = lt.address_of(multiply_in_c)
    self.set_at = lt.address_of(assign_in_c)
    self.plans, self.workspaces = {}, {}
    self._bias = ctypes.c_uint64()
    self._bias_at = ctypes.addressof(self._bias)


def gradients(device: str, dtype: Any, arrays: list, how: str) -> list[np.ndarray]:
    x, w, b, g = [None if a is None else rl.tensor(a, dtype=dtype).to(device) for a in arrays]
    if how == "window":  # as the plain one, at an address that is less aligned
        x = rl.cat([x[:1], x])[1:].detach()
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


lt.CublasLt.__init__, lt.CublasLt.make = opened, make
for in_c, n in ((True, 20), (False, 28)):
    launch._in_c = in_c
    for dtype, tolerance in ((rl.float32, 1e-5), (rl.bfloat16, 2e-2)):
        for shape in ((8,), (2, 1, 3, 8), (40, 33, 24)):
            for bias in (True, False):
                ways = ["plain", "window", "expanded", "steps"] + ["transposed"] * (len(shape) > 2)
                for how in ways:
                    compare(shape, n, bias, how, dtype, tolerance)
    assert calls[1] > 30 if in_c else calls == [sum(calls), 0], calls
    calls[:] = 0, 0
print("equal")
