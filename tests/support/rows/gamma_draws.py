"""Rows of the draws of the gamma family and their implicit gradients."""

from optable import Row, T

ROWS = [
    Row("_standard_gamma", T(3, 4, kind="positive"), _nondet=True, _second=False),
    Row("_sample_dirichlet", T(3, 4, kind="positive"), _nondet=True, _second=False),
    Row("binomial", T(5, value=[3.0, 5.0, 0.0, 40.0, 7.0]), T(5, low=0.0, high=1.0), _nondet=True),
]
