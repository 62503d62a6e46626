"""Rows of creation and random functions."""

from __future__ import annotations

from optable import D, Row, T

LIKE = ("zeros_like", "ones_like")
HALVES = ("float32", "float64", "float16", "bfloat16")

ROWS = [
    Row("zeros", 2, 3),
    Row("ones", [2, 3], dtype=D("int32")),
    Row("full", (2, 2), 1.5),
    Row("arange", 1, 2.5, 0.5),
    Row("linspace", -3, 10, 5),
    Row("linspace", 3, -10, 6, dtype=D("int64")),
    Row("logspace", -1, 2, 4),
    Row("eye", 3),
    Row("scalar_tensor", 3),
    Row("empty", 2, 3, _nondet=True),
    Row("empty_strided", (2, 3), (1, 2), _nondet=True),
    Row("empty_permuted", (2, 3, 4), (0, 2, 1), _nondet=True),
    Row("vander", T(4, grad=False)),
    Row("hann_window", 7, _dtypes=("float32",)),
    Row("hamming_window", 6, periodic=False, _dtypes=("float32",)),
    Row("blackman_window", 5, _dtypes=("float32",)),
    Row("bartlett_window", 6, _dtypes=("float32",)),
    *[
        Row(f"signal.windows.{name}", 7, sym=name < "g", _dtypes=("float32",))
        for name in "bartlett blackman cosine exponential gaussian general_hamming hamming hann kaiser nuttall".split()
    ],
    Row("signal.windows.general_cosine", 6, a=[0.4, 0.5, 0.1], _dtypes=("float32",)),
    *[Row(name, T(2, 3), _dtypes=HALVES) for name in LIKE],
    Row("full_like", T(2, 3), 2),
    Row("empty_like", T(2, 3), _nondet=True),
    Row("Tensor.new_zeros", T(2, 3), 4),
    Row("Tensor.new_ones", T(2, 3), (4, 1), dtype=D("int64")),
    Row("Tensor.new_full", T(2, 3), (2,), 7),
    Row("Tensor.new_empty", T(2, 3), (2, 2), _nondet=True),
    Row("Tensor.new_tensor", T(2, 3), [1, 2]),
    Row("rand_like", T(2, 3), _nondet=True, _dtypes=HALVES),
    Row("randn_like", T(2, 3), _nondet=True, _dtypes=HALVES),
    Row("randint_like", T(2, 3), 5, _nondet=True),
    Row("bernoulli", T(2, 3, low=0, high=1), _nondet=True, _dtypes=HALVES),
    Row("bernoulli", T(2, 3), 0.5, _nondet=True, _id="scalar"),
    Row("poisson", T(2, 3, low=0, high=5), _nondet=True),
    Row("multinomial", T(3, 4, low=0.1, high=1), 2, _nondet=True),
    Row("normal", 1.0, T(2, 3, low=0.1), _nondet=True),
]
