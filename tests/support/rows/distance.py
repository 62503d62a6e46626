"""Rows of the distances."""

from optable import Row, T

ROWS = [
    Row("cosine_similarity", T(3, 4), T(3, 4)),
    Row("F.cosine_similarity", T(4), T(4), 0),
    Row("pairwise_distance", T(3, 4), T(3, 4)),
    Row("F.pairwise_distance", T(3, 4), T(1, 4), 3.0, keepdim=True),
    Row("F.pdist", T(4, 3), 1.0),
    Row("pdist", T(1, 3)),
    Row("cdist", T(3, 2), T(4, 2)),
    Row("cdist", T(27, 2), T(1, 2), _tol=1e-6),
    Row("cdist", T(3, 1, 2, 3), T(2, 4, 3), 1.0),
    Row("cdist", T(4, 3, kind="distinct"), T(2, 3, kind="distinct"), float("inf")),
]
