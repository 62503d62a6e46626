"""Linear algebra of small matrices on the emulated GPU, beside the CPU: solutions, inverses, determinants, factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import emulated_capture
import emulated_cupy
import numpy as np

import rushlight as rl
from rushlight.runtime.devices import overrides

emulated_capture.install()
emulated_cupy.install()  # products of larger matrices
random = np.random.default_rng(0)
asked: list[str] = []


def numbers(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return random.standard_normal(shape).astype(dtype)


def same(compute: Callable[..., Any], *arrays: np.ndarray) -> None:
    """The same on both devices."""
    found = []
    for device in ("cpu", "cuda"):
        out = compute(*[rl.tensor(a).to(device) for a in arrays])
        found.append([t.cpu().numpy() for t in ([out] if isinstance(out, rl.Tensor) else out)])
    tolerance = 1e-9 if arrays[0].dtype == np.float64 else 2e-3
    for a, b in zip(*found):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


for name in ("solve", "inv", "det", "slogdet", "lu_factor", "cholesky", "cholesky_solve", "solve_triangular", "qr"):
    body, key = overrides("cuda")[f"linalg_{name}"], f"linalg_{name}"

    def counted(*arrays: Any, body: Any = body, key: str = key, **how: Any) -> Any:
        out = body(*arrays, **how)
        asked.append(key if out is not NotImplemented else "generic")
        return out

    overrides("cuda")[key] = counted

linalg = rl.linalg
for n in (1, 3, 8, 9, 33):
    for batch in ((), (3,), (2, 5)):
        if n > 9 and batch == (2, 5):
            continue
        a, spd = numbers(*batch, n, n), numbers(*batch, n, n)
        spd = spd @ spd.swapaxes(-1, -2) + n * np.eye(n)
        same(linalg.solve, a, numbers(*batch, n, 3))
        same(lambda a, b: linalg.solve(a.mT, b.mT), a, numbers(*batch, 2, n))
        same(linalg.inv, a + n * np.eye(n))
        same(linalg.det, a)
        same(linalg.slogdet, a)
        same(rl.logdet, spd)
        same(linalg.lu_factor, a)
        same(linalg.cholesky, spd)
        for upper in (False, True):
            same(lambda a, b, up=upper: linalg.solve_triangular(a, b, upper=up), spd, numbers(*batch, n, 2))
            same(lambda a, b, up=upper: linalg.solve_triangular(a, b, upper=up, left=False), spd, numbers(*batch, 2, n))
    same(linalg.solve, numbers(n, n) + n * np.eye(n), numbers(4, n, 2))  # one matrix for a batch
    same(lambda a, b: linalg.solve_triangular(a, b, upper=True, unitriangular=True), 0.1 * numbers(n, n), numbers(n, 2))
    same(
        linalg.solve, numbers(n, n, dtype=np.float32) + n * np.eye(n, dtype=np.float32), numbers(n, 1, dtype=np.float32)
    )
for rows, columns in ((1, 1), (4, 2), (8, 4), (3, 8), (12, 12), (20, 5), (33, 17), (6, 40)):
    for batch in ((), (5,)):
        x = numbers(*batch, rows, columns)
        for mode in ("reduced", "complete"):
            same(lambda a, m=mode: linalg.qr(a, m), x)
        same(lambda a: linalg.qr(a.mT), x)
        same(linalg.qr, x.astype(np.float32))
same(linalg.qr, np.zeros((2, 4, 3)))
same(linalg.qr, np.triu(numbers(5, 5)))
same(lambda a: rl.stack([t.abs().sum() for t in linalg.qr(a)]), 1e200 * numbers(4, 3))
same(lambda a: linalg.qr(a).R, np.where(np.eye(4) == 1, np.nan, 1.0))
for bad in (0.0, np.nan, np.inf):  # no equation with a factor is refused
    factor = np.eye(3) + np.tri(3)
    factor[1, 1] = bad
    same(lambda b, a: rl.cholesky_solve(b, a), numbers(3, 2), factor)
singular = rl.ones(2, 3, 3).cuda()
assert linalg.det(singular).tolist() == [0, 0] and linalg.slogdet(singular)[0].tolist() == [0, 0]
assert "generic" not in asked and len(set(asked)) == 9, asked
print("equal")
