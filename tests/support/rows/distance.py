"""Rows of the distances."""

from math import inf

from optable import Row, T

ROWS = [
    Row("cosine_similarity", T(3, 4), T(3, 4)),
    Row("F.cosine_similarity", T(2, 1, 3), T(2, 3), -1),
    Row("F.cosine_similarity", T(4), T(4), 0),
    Row("pairwise_distance", T(3, 4), T(3, 4)),
    Row("F.pairwise_distance", T(3, 4), T(1, 4), 3.0, keepdim=True),
    Row("pdist", T(4, 3)),
    Row("F.pdist", T(4, 3), 1.0),
    Row("pdist", T(1, 3)),
    Row("cdist", T(3, 2), T(4, 2)),
    Row("cdist", T(2, 3, 2), T(2, 2, 2), 1.5),
    Row(
        "cdist",
        T(3, 2, kind="distinct"),
        T(2, 2, kind="distinct", low=-3, high=3.3),
        inf,
        _second=False,
    ),
    Row("cdist", T(27, 2), T(1, 2), _tol=1e-6),
    Row("cdist", T(3, 2), T(4, 2), compute_mode="use_mm_for_euclid_dist", _tol=1e-6),
    Row("cdist", T(0, 2), T(4, 2)),
    Row("cdist", T(3, 1, 2, 3), T(2, 4, 3), 1.0),
    Row("cdist", T(4, 3, kind="distinct"), T(2, 3, kind="distinct"), float("inf")),
]
