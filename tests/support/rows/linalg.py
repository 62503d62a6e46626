"""Rows for linear algebra; what needs symmetric inputs to be differentiated is in test_linalg.py."""

import numpy as np

from optable import Row, T


def _absolute(got: np.ndarray, want: np.ndarray) -> None:
    """Vectors of a factorisation are free up to a sign."""
    np.testing.assert_allclose(abs(got), abs(want), rtol=1e-4, atol=1e-4)


def P(*shape):
    return T(*shape, kind="posdef")


INF = float("inf")

ROWS = [
    Row("linalg.inv", P(3, 3), _out=True),
    Row("linalg.inv", T(3, 3, dtype="complex")),
    Row("inverse", P(3, 3)),
    Row("linalg.inv_ex", P(3, 3)),
    Row("linalg.det", T(3, 3, dtype="complex")),
    Row("linalg.det", T(value=[[1.0, 2.0], [2.0, 4.0]], grad=False), _id="singular"),
    Row("det", T(3, 3)),
    Row("linalg.slogdet", T(3, 3, dtype="complex")),
    Row("slogdet", T(3, 3)),
    Row("logdet", P(3, 3)),
    Row("linalg.solve", P(2, 3, 3), T(3)),
    Row("linalg.solve", P(3, 3), T(2, 3), left=False),
    Row("linalg.solve", T(3, 3, dtype="complex"), T(3, 2, dtype="complex")),
    Row("linalg.solve_triangular", P(3, 3), T(3, 2), upper=True),
    Row("linalg.solve_triangular", P(3, 3), T(3, 2), upper=False, unitriangular=True),
    Row("linalg.solve_triangular", P(3, 3), T(2, 3), upper=False, left=False),
    Row("linalg.solve_triangular", P(3, 3), T(2, 1, 3, 5), upper=True, _out=True),
    Row("linalg.solve_triangular", T(3, 3, dtype="complex"), T(3, 2, dtype="complex"), upper=False),
    Row("linalg.solve_triangular", T(0, 0), T(0, 2), upper=False),
    Row("cholesky_solve", T(3, 5), P(2, 3, 3), upper=True, _grad=False, _out=True),
    Row("linalg.cholesky", P(2, 3, 3), upper=True, _grad=False),
    Row("linalg.cholesky_ex", P(3, 3), _grad=False),
    Row("cholesky_inverse", P(3, 3), _grad=False),
    Row("linalg.qr", T(3, 3)),
    Row("linalg.qr", T(2, 4)),
    Row("linalg.qr", T(4, 2), mode="r", _grad=False),
    Row("linalg.svd", T(4, 3), full_matrices=False, _compare=_absolute, _grad=False),
    Row("svd", T(4, 3), _compare=_absolute, _grad=False),
    Row("linalg.svdvals", T(4, 3)),
    Row("linalg.eigh", P(3, 3), _compare=_absolute, _grad=False),
    Row("linalg.eigvalsh", P(2, 3, 3), UPLO="U", _grad=False),
    Row("linalg.eigvals", T(value=[[2.0, 1.0], [0.5, -1.0]])),
    Row("linalg.eig", T(value=[[2.0, 1.0], [0.5, -1.0]]), _compare=_absolute, _grad=False),
    Row("linalg.pinv", T(3, 2, dtype="complex")),
    Row("pinverse", T(3, 2)),
    Row("linalg.matrix_rank", T(value=[[1.0, 2.0], [2.0, 4.0]], grad=False), _id="one"),
    Row("linalg.lstsq", T(4, 2), T(4, 3), driver="gels"),
    Row("linalg.svdvals", T(3, 2), _grad=False),
    Row("linalg.matrix_norm", T(3, 2, 4), 2, dim=(0, 2), keepdim=True),
    Row("linalg.norm", T(3, 4)),
    Row("linalg.norm", T(3, 4), "nuc"),
    Row("linalg.norm", T(3, 4), 1, dim=1),
    Row("linalg.cond", P(3, 3)),
    Row("linalg.cond", P(3, 3), 1, _grad=False),  # PyTorch 2.13 fails to differentiate these
    Row("linalg.cond", P(3, 3), "fro", _grad=False),
    Row("linalg.matrix_power", P(3, 3), -2),
    Row("linalg.matrix_power", P(2, 2, 2), 0),
    Row("matrix_power", T(3, 3), 2),
    Row("linalg.matrix_exp", T(3, 3)),
    Row("matrix_exp", T(2, 2, 2)),
    Row("linalg.lu_factor", P(3, 3)),
    Row("linalg.lu", T(3, 3)),
    Row("linalg.lu_solve", P(3, 3), T(value=np.int32([1, 2, 3]), dtype="int"), T(3, 2)),
    Row("linalg.lu_solve", P(3, 3), T(value=np.int32([3, 3, 3]), dtype="int"), T(3, 2), adjoint=True),
    Row("linalg.vecdot", T(2, 3), T(2, 3)),
    Row("linalg.vander", T(3)),
    Row("linalg.tensorsolve", T(2, 2, 4), T(2, 2)),
    Row("linalg.tensorinv", T(4, 2, 2), ind=1),
    Row("linalg.matmul", T(2, 3), T(3, 2)),
    Row("linalg.diagonal", T(2, 3, 3)),
    Row("lu_unpack", P(3, 3), T(value=np.int32([2, 3, 3]), dtype="int")),
    Row("linalg.lu_factor_ex", P(3, 3)),
    Row("linalg.solve_ex", P(3, 3), T(3, 2)),
    Row("linalg.householder_product", T(4, 2), T(2)),
    Row("orgqr", T(2, 3, 2), T(2, 2)),
]
