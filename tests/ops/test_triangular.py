"""Linear systems, triangular ones and Cholesky's factor beside PyTorch: singular ones, wrong ones, empty ones, what is not read."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import rushlight as rl
from rushlight.operators.matrix import linalg_solve

torch = pytest.importorskip("torch", reason="compared with PyTorch")


def lower(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    """A triangle of which the other half holds numbers that nobody should read."""
    a = np.random.RandomState(seed).randn(*shape).astype(dtype) / shape[-1]
    return a + np.eye(shape[-1], dtype=dtype)


def test_matrices_without_an_inverse() -> None:
    a = np.stack([np.eye(5), np.ones((5, 5))]).astype("float32")
    for call in ("inv", "solve"):
        errors = []
        for lib in (rl, torch):
            x = lib.from_numpy(a)
            with pytest.raises(lib.linalg.LinAlgError) as caught:
                lib.linalg.inv(x) if call == "inv" else lib.linalg.solve(x, x)
            errors.append(str(caught.value))
        assert errors[0] == errors[1]


def test_inverses_of_what_has_no_number() -> None:
    a = np.eye(4, dtype="float32")
    a[2, 1] = np.nan
    b = np.stack([np.eye(4), a]).astype("float32")
    for lib in (rl, torch):
        try:
            inverse = lib.linalg.inv(lib.from_numpy(a)).numpy()
            both = lib.linalg.solve(lib.from_numpy(b), lib.ones(4, 3)).numpy()
        except lib.linalg.LinAlgError:
            assert lib is torch  # whose LAPACK on aarch64 takes NaN for a singular matrix
            continue
        assert np.isnan(inverse).any()
        assert np.isnan(both[1]).any() and np.isfinite(both[0]).all()


def test_elimination_is_an_inverse() -> None:
    """What is left to it where LAPACK refuses NaN."""
    a = np.random.RandomState(0).randn(3, 2, 6, 6)
    y = np.random.RandomState(1).randn(3, 2, 6, 4)
    out = linalg_solve._substituted(np, a, y)
    np.testing.assert_allclose(out, np.linalg.solve(a, y), rtol=1e-9)


def test_only_one_triangle_is_read() -> None:
    a = lower("float32", 20, 20)
    a[np.triu_indices(20, 1)] = np.nan
    for lib in (rl, torch):
        x = lib.from_numpy(a)
        b = lib.ones(20, 40)
        assert lib.linalg.solve_triangular(x, b, upper=False).isfinite().all()
        assert lib.linalg.solve_triangular(x.mT, b[:, :1], upper=True).isfinite().all()
        assert lib.cholesky_solve(b, x).isfinite().all()
    whole = np.tril(a) @ np.tril(a).T
    whole[np.triu_indices(20, 1)] = np.nan
    assert rl.linalg.cholesky(rl.from_numpy(whole)).isfinite().all()


@pytest.mark.parametrize("columns", [1, 9])
def test_zeros_on_the_diagonal_are_no_error(columns: int) -> None:
    a = np.diag([1.0, 0.0, 2.0]).astype("float32")
    a[2, 0] = 3
    b = np.zeros((3, columns), "float32")
    b[:2] = [[1.0], [2.0]]
    out = [
        lib.linalg.solve_triangular(lib.from_numpy(a), lib.from_numpy(b), upper=False).numpy() for lib in (rl, torch)
    ]
    np.testing.assert_array_equal(out[0][:2], out[1][:2])
    assert np.isnan(rl.cholesky_solve(rl.ones(2, columns), rl.zeros(2, 2)).numpy()).all()


@pytest.mark.parametrize("bad", [float("nan"), -1.0, 0.0])
def test_matrices_without_a_factor(bad: float) -> None:
    a = np.stack([np.eye(9), np.eye(9)]).astype("float32")
    a[1, 6, 6] = bad
    errors = []
    for lib in (rl, torch):
        if lib is torch and bad != bad and platform.machine() == "aarch64":
            errors.append(errors[0])  # PyTorch's LAPACK there computes with NaN, that of x86 refuses it
            continue
        with pytest.raises(lib.linalg.LinAlgError) as caught:
            lib.linalg.cholesky(lib.from_numpy(a))
        errors.append(str(caught.value))
        assert lib.linalg.cholesky_ex(lib.from_numpy(a)).info.tolist() == [0, 7]
    assert errors[0] == errors[1]


WRONG = {"sizes": ((3, 1), (2, 2)), "not square": ((2, 1), (2, 3)), "batches": ((3, 2, 1), (2, 2, 2))}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_shapes(case: str) -> None:
    b, a = WRONG[case]
    for call in ("cholesky_solve", "solve_triangular"):
        errors = []
        for lib in (rl, torch):
            with pytest.raises(RuntimeError) as caught:
                if call == "cholesky_solve":
                    lib.cholesky_solve(lib.ones(b), lib.ones(a))
                else:
                    lib.linalg.solve_triangular(lib.ones(a), lib.ones(b), upper=True)
            errors.append(str(caught.value).splitlines()[0])
        if case != "batches":
            assert errors[0] == errors[1] or call == "solve_triangular"


def test_wrong_dtypes() -> None:
    for a, b in (("float32", "float64"), ("int64", "int64"), ("float16", "float16")):
        errors = []
        for lib in (rl, torch):
            with pytest.raises((RuntimeError, NotImplementedError)) as caught:
                lib.cholesky_solve(lib.ones(2, 1, dtype=getattr(lib, b)), lib.ones(2, 2, dtype=getattr(lib, a)))
            errors.append((type(caught.value), str(caught.value)))
        assert errors[0] == errors[1]


def test_empty_systems() -> None:
    for lib in (rl, torch):
        assert lib.linalg.solve_triangular(lib.zeros(0, 0), lib.zeros(0, 3), upper=True).shape == (0, 3)
        assert lib.cholesky_solve(lib.zeros(2, 0), lib.eye(2)).shape == (2, 0)
        assert lib.linalg.cholesky(lib.zeros(0, 3, 3)).shape == (0, 3, 3)
