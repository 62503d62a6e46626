"""NaN, infinities, signed zeros and denormal numbers through the kernels of the GPU, beside the CPU's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from optable import Row, all_rows

sys.path.append(str(Path(__file__).parents[1] / "ops"))

import edges

pytestmark = pytest.mark.skipif(not rl.cuda.is_available(), reason="needs a GPU")

# The largest finite numbers are left out: the order of the terms decides which sums leave the range.
RUNS = [("nan", 1.0), ("inf", 1.0), ("-inf", 1.0), ("-0", 1.0), ("tiny", 1.0), ("-least", 1.0), ("0", edges.nan), ("0", edges.inf)]  # fmt: skip
TOLERANCE = {"float32": 1e-4, "float64": 1e-7, "float16": 2e-2}
ROWS: dict[str, list[Row]] = {}
for _row in all_rows():
    _floats = any(s.dtype == "float" and np.prod(s.shape) for s in _row.specs())
    # LAPACK's and cuSOLVER's answers for what is no number are their own.
    if _floats and not _row.nondet and _row.compare is None and "linalg" not in _row.name:
        ROWS.setdefault(_row.name, []).append(_row)


@pytest.fixture(autouse=True, scope="module")
def _exact() -> Any:
    """float32 products in float32."""
    before = rl.backends.cudnn.allow_tf32
    rl.backends.cudnn.allow_tf32 = False
    yield
    rl.backends.cudnn.allow_tf32 = before


def flushed(got: list[Any], want: list[Any]) -> str | None:
    """A denormal number of the CPU that the GPU makes zero."""
    for g, w in zip(got, want):
        if not isinstance(w, np.ndarray) or w.dtype.kind != "f" or np.shape(g) != w.shape:
            continue
        least = float(np.finfo(w.dtype).smallest_subnormal)
        lost = (np.abs(w) < np.finfo(w.dtype).tiny) & (np.abs(w) > 16 * least) & (np.asarray(g) == 0)  # fmt: skip
        if lost.any():
            return f"{w[lost][0]} became zero"
    return None


@pytest.mark.parametrize("name", sorted(ROWS))
@pytest.mark.filterwarnings("ignore")
def test_the_gpu_answers_as_the_cpu(name: str) -> None:
    found = []
    for row in ROWS[name]:
        for dtype, tolerance in TOLERANCE.items():
            if dtype not in row.dtypes:
                continue
            for kind, coming in RUNS:
                arrays = edges.mixed(row, dtype, edges.edge_values(dtype)[kind], 40)
                want = edges.results(rl, row, arrays, coming)
                got = edges.results(rl, row, arrays, coming, "cuda")
                for what, mine, theirs in zip(("", "gradient of "), got, want):
                    said = edges.difference(mine, theirs, max(row.tol or 0.0, tolerance))
                    said = said or (flushed(mine, theirs) if kind in ("tiny", "-least") else None)
                    if said:
                        found.append(f"{what}{row!r} {dtype} {kind} g={coming}: {said}")
    assert not found, f"{len(found)} differ: " + " | ".join(found[:4])
