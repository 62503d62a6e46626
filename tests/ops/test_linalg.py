"""Linear algebra beyond the rows: derivatives on symmetric matrices, singular input, messages."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.autograd import gradcheck, gradgradcheck


def matrix(*shape: int, seed: int = 0) -> rl.Tensor:
    a = np.random.RandomState(seed).uniform(-1, 1, shape)
    return rl.tensor(a, dtype=rl.float64, requires_grad=True)


def positive(x: rl.Tensor) -> rl.Tensor:
    return x @ x.mT + 2 * rl.eye(x.shape[-1], dtype=x.dtype)


def symmetric(x: rl.Tensor) -> rl.Tensor:
    return (x + x.mT) / 2


FUNCTIONS = {
    "cholesky": lambda x: rl.linalg.cholesky(positive(x)),
    "cholesky upper": lambda x: rl.linalg.cholesky(positive(x), upper=True),
    "torch.cholesky": lambda x: rl.cholesky(positive(x)),
    "cholesky_solve": lambda x: rl.cholesky_solve(x[:, :2], rl.linalg.cholesky(positive(x))),
    "cholesky_inverse": lambda x: rl.cholesky_inverse(rl.linalg.cholesky(positive(x))),
    "lu tall": lambda x: rl.linalg.lu(x[:, :2])[1:],
    "lu wide": lambda x: rl.linalg.lu(x[:2])[1:],
    "lu_factor wide": lambda x: rl.linalg.lu_factor(x[:2])[0],
    "eigvalsh": lambda x: rl.linalg.eigvalsh(symmetric(x)),
    "eigh": lambda x: rl.linalg.eigh(symmetric(x))[1].abs(),
    "eig": lambda x: rl.linalg.eig(symmetric(x))[1].abs(),
    "svd": lambda x: [rl.linalg.svd(x)[i].abs() for i in range(3)],
    "svd tall": lambda x: [rl.linalg.svd(x[:, :2], full_matrices=False)[i].abs() for i in (0, 2)],
    "svd wide": lambda x: [rl.linalg.svd(x[:2], full_matrices=False)[i].abs() for i in (0, 2)],
    "cond 1": lambda x: rl.linalg.cond(positive(x), 1),
    "cond fro": lambda x: rl.linalg.cond(positive(x), "fro"),
    "logdet": lambda x: rl.logdet(positive(x)),
    "lu": lambda x: rl.linalg.lu(x)[1:],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_to_second_order(name: str) -> None:
    fn = FUNCTIONS[name]
    x = matrix(3, 3, seed=4)
    assert gradcheck(fn, (x,), atol=1e-4)
    assert gradgradcheck(fn, (x,), atol=1e-4)


def test_determinant_of_a_singular_matrix_has_its_gradient() -> None:
    x = rl.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=rl.float64, requires_grad=True)
    rl.linalg.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[4, -2], [-2, 1]], atol=1e-12)


def test_names_of_results() -> None:
    x = rl.eye(2)
    assert rl.linalg.svd(x).S.shape == (2,)
    assert rl.linalg.eigh(x)._fields == ("eigenvalues", "eigenvectors")
    assert rl.linalg.slogdet(x).logabsdet.item() == 0
    assert rl.linalg.lstsq(x, x).solution.shape == (2, 2)


MESSAGES = [
    (lambda: rl.linalg.inv(rl.zeros(2, 3)), "linalg.inv: A must be batches of square matrices"),
    (lambda: rl.linalg.inv(rl.zeros(2, 2)), "linalg.inv: The diagonal element 1 is zero"),
    (lambda: rl.linalg.inv(rl.zeros(3, 2, 2)), r"\(Batch element 0\): The diagonal element 1"),
    (lambda: rl.linalg.inv(rl.ones(2, 2).long()), "Expected a floating point or complex tensor"),
    (lambda: rl.linalg.inv(rl.ones(2, 2).half()), "Low precision dtypes not supported. Got Half"),
    (lambda: rl.linalg.cholesky(-rl.eye(2)), "the leading minor of order 1 is not positive"),
    (lambda: rl.linalg.solve(rl.zeros(2, 2), rl.ones(2)), "The solver failed because the input"),
    (lambda: rl.linalg.solve(rl.eye(2), rl.ones(3)), r"the equation AX = B \(2x2 and 3x1\)"),
    (lambda: rl.linalg.qr(rl.ones(3)), "linalg.qr: The input tensor A must have at least 2"),
    (lambda: rl.linalg.qr(rl.eye(3), mode="x"), "qr received unrecognized mode 'x'"),
    (lambda: rl.linalg.eigh(rl.eye(2), "X"), "Expected UPLO argument to be 'L' or 'U'"),
    (lambda: rl.linalg.matrix_norm(rl.eye(2), 3), "linalg.matrix_norm: Order 3 not supported"),
    (lambda: rl.linalg.cond(rl.eye(2), "foo"), "linalg.cond got an invalid norm type: foo"),
]


@pytest.mark.parametrize("case", MESSAGES, ids=[m[:40] for _, m in MESSAGES])
def test_messages(case: Any) -> None:
    call, message = case
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize("n", [2, 40, 200])
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "several"])
def test_matrices_without_an_answer_are_refused_on_every_device(device: str, n: int, batch: tuple) -> None:
    good = rl.eye(n).expand(*batch, n, n).clone()
    bad = good.clone()
    bad[..., 1, 1] = 0
    element = r"\(Batch element 0\): " if batch else ""
    for call, words in {
        rl.linalg.inv: "linalg.inv: " + element + "The diagonal element 2 is zero",
        rl.linalg.cholesky: "linalg.cholesky: " + element + ".*the leading minor of order 2 is",
        lambda a: rl.linalg.solve(a, a): "torch.linalg.solve: " + element + ".*is singular",
    }.items():
        call(good.to(device))
        with pytest.raises(rl.linalg.LinAlgError, match=words):
            call(bad.to(device))
    assert rl.linalg.inv_ex(bad.to(device)).info.flatten()[0] == 2
    assert rl.linalg.cholesky_ex(bad.to(device)).info.flatten()[0] == 2


def test_singular_matrices_raise_their_own_error() -> None:
    inverse, info = rl.linalg.inv_ex(rl.zeros(2, 2))
    assert info.item() == 1 and inverse.shape == (2, 2)
    assert rl.linalg.cholesky_ex(-rl.eye(2)).info.item() == 1


def test_older_spellings() -> None:
    a, b = positive(matrix(3, 3)).detach(), matrix(3, 2, seed=2).detach()
    packed, swaps = rl.linalg.lu_factor(a)
    np.testing.assert_allclose(rl.lu_solve(b, packed, swaps), rl.linalg.solve(a, b), rtol=1e-9)
    lower = rl.triangular_solve(b, a, upper=False).solution
    np.testing.assert_allclose(a.tril() @ lower, b, rtol=1e-9, atol=1e-12)
    flipped = rl.triangular_solve(b, a, transpose=True).solution
    np.testing.assert_allclose(a.triu().mT @ flipped, b, rtol=1e-9, atol=1e-12)
    result, info = rl.linalg.solve_ex(rl.zeros(2, 2), rl.ones(2))
    assert info.item() == 1 and result.isnan().all()


def test_threads_are_told_of_their_own_matrices(device: str) -> None:
    """One that has no answer in one thread is refused there, whatever others solve meanwhile."""
    good, bad = rl.eye(3, device=device), rl.zeros(3, 3, device=device)
    refused: list[bool] = []

    def work(number: int) -> None:
        for _ in range(40):
            try:
                rl.linalg.inv(bad if number % 2 else good)
                refused.append(False)
            except rl.linalg.LinAlgError:
                refused.append(True)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (refused.count(True), refused.count(False)) == (80, 80)


def test_a_gpu_solves_least_squares_by_factors_alone(device: str) -> None:
    """As PyTorch: a GPU knows one method, which gives no rank and no singular values."""
    a, b = rl.randn(3, 5, 2, device=device), rl.randn(3, 5, 1, device=device)
    found = rl.linalg.lstsq(a, b)
    assert found.rank.shape == ((0,) if device == "cuda" else (3,))
    np.testing.assert_allclose((a.mT @ (a @ found.solution - b)).cpu().numpy(), 0, atol=2e-5)
    for driver in ("gelsy", "gelsd", "gelss"):
        if device == "cuda":
            with pytest.raises(RuntimeError, match=r"should be one of \(gels\)"):
                rl.linalg.lstsq(a, b, driver=driver)
        else:
            other = rl.linalg.lstsq(a, b, driver=driver)
            assert other.rank.tolist() == [2] * 3
            np.testing.assert_allclose(other.solution.numpy(), found.solution.numpy(), atol=2e-5)
    with pytest.raises(RuntimeError, match="`driver` should be one of"):
        rl.linalg.lstsq(a, b, driver="qr")
