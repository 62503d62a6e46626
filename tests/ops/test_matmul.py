"""Products beyond the rows: messages, chains, and how much is kept for backward."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
import rushlight.nn.functional as F


def r(*shape: int) -> rl.Tensor:
    return rl.randn(*shape)


def test_operands_that_are_no_tensors() -> None:
    for other in (2, [1, 2]):
        with pytest.raises(TypeError, match="unsupported operand type"):
            r(2, 3) @ other
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        rl.ones(2, 2).bool() @ rl.ones(2, 2).bool()


def test_chains_multiply_in_any_order() -> None:
    a, b, c, d = r(2, 30), r(30, 4), r(4, 50), r(50, 3)
    want = (a @ b @ c @ d).numpy()
    for got in (rl.linalg.multi_dot([a, b, c, d]), rl.chain_matmul(a, b, c, d)):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-3, atol=1e-3)


def test_first_dim_of_size_three_is_crossed_by_default() -> None:
    a, b = r(3, 3, 2), r(3, 3, 2)
    np.testing.assert_array_equal(rl.cross(a, b).numpy(), rl.cross(a, b, dim=0).numpy())


def test_frozen_weights_do_not_keep_the_input() -> None:
    x = rl.randn(3, 4, requires_grad=True)
    assert list(F.linear(x, r(2, 4), r(2)).grad_fn.saved) == [1]
    w = rl.randn(2, 4, requires_grad=True)
    assert list(F.linear(r(3, 4), w).grad_fn.saved) == [0]


def test_half_precision_accumulates_in_float32() -> None:
    x = rl.ones(1, 4096, dtype=rl.float16)
    assert (x @ x.t()).item() == 4096
    big = rl.full((1, 2), 60000.0, dtype=rl.float16)
    assert (big @ rl.ones(2, 1, dtype=rl.float16)).item() == float("inf")


@pytest.mark.parametrize("equation", ["bij,bjk,bkl->bil", "ab...,...cd->ac", "iij,jkk->ik", "i->"])
def test_einsum_like_numpy(equation: str) -> None:
    sizes = dict(zip("abcdijkl", (2, 3, 2, 3, 2, 3, 2, 3)))
    terms = equation.split("->")[0].split(",")
    shapes = [[4 if c == "." else sizes[c] for c in t.replace("...", ".")] for t in terms]
    arrays = [np.random.RandomState(i).randn(*s) for i, s in enumerate(shapes)]
    if equation == "ab...,...cd->ac":
        want = np.einsum("abe,ecd->ac", *arrays)
    else:
        want = np.einsum(equation, *arrays)
    got = rl.einsum(equation, *[rl.tensor(a) for a in arrays])
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-10)
