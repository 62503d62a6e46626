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


_NOT_FINITE, _DENORMAL = ("nan", "inf", "-inf", "0"), ("tiny", "-least")
_ALL = (*_NOT_FINITE, *_DENORMAL, "-0")
# What differs: why, in which runs, and what.
LEFT = {
    name: (why, kinds)
    for why, kinds, names in [
        ("cuDNN computes it, whose sums meet other zeros beside what is no number", (*_NOT_FINITE, *_DENORMAL),
         "F.conv1d F.conv2d F.conv3d F.conv_transpose1d F.conv_transpose2d conv2d convolution rnn_relu"),
        ("cuFFT computes it: where infinities and NaN go is its own", _NOT_FINITE, "fft.ifft fft.rfft2 fft.rfftn stft"),
        ("CuPy's kernels and additions to memory that threads share take denormal numbers for zero", _DENORMAL,
         "Tensor.put cummax cummin frexp igamma igammac index_put ldexp matrix_exp scatter_reduce special.chebyshev_polynomial_t "
         "special.chebyshev_polynomial_u special.gammainc special.gammaincc special.hermite_polynomial_h special.hermite_polynomial_he "
         "special.legendre_polynomial_p"),
        ("CUDA's function at the ends of its range", ("inf", "-inf", *_DENORMAL),
         "Tensor.polygamma digamma lgamma polygamma special.digamma special.gammaln special.multigammaln special.polygamma special.psi"),
        ("the CPU refuses the values; a GPU would have to wait to see them", _ALL,
         "F.binary_cross_entropy nanquantile norm pinverse quantile"),
        ("which of equal numbers is named", _ALL, "kthvalue topk"),
        ("infinity less infinity is met in one order of the arithmetic and not in the other", _NOT_FINITE,
         "F.batch_norm F.ctc_loss F.instance_norm F.scaled_dot_product_attention cumprod group_norm"),
        ("the same, and CuPy's logaddexp takes denormal numbers for zero", (*_NOT_FINITE, *_DENORMAL), "logcumsumexp"),
        ("a place that is no number is outside of the picture; on the CPU its weights are NaN, and PyTorch's reads other memory",
         _NOT_FINITE, "F.grid_sample"),
        ("the sign of NaN is 0 on a GPU and NaN in the CPU's distances, as in PyTorch's", ("nan", "inf", "-inf"), "F.pdist cdist"),
        ("a value on the edge of two bins is counted in the one or in the other", ("-inf", "-0", *_DENORMAL), "histogram"),
        ("a gradient that is 0 but for rounding", ("-0", *_DENORMAL), "corrcoef"),
        ("the bits of a NaN that becomes a double are the processor's, and the conversion may lose denormal numbers",
         ("nan", *_DENORMAL), "hash_tensor"),
    ]
    for name in names.split()
}  # fmt: skip


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
        lost = (np.abs(w) < np.finfo(w.dtype).tiny) & (np.abs(w) > 16 * least) & (np.asarray(g) == 0)
        if lost.any():
            return f"{w[lost][0]} became zero"
    return None


@pytest.mark.parametrize("name", sorted(ROWS))
@pytest.mark.filterwarnings("ignore")
def test_the_gpu_answers_as_the_cpu(name: str) -> None:
    found, known = [], []
    why, kinds = LEFT.get(name, ("", ()))
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
                        (known if kind in kinds else found).append(f"{what}{row!r} {dtype} {kind} g={coming}: {said}")
    assert not found, f"{len(found)} differ: " + " | ".join(found[:4])
    if known:
        pytest.skip(why)
