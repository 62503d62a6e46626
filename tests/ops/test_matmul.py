"""Products beyond the rows: messages, chains, and how much is kept for backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
import rushlight.nn.functional as F


def r(*shape: int) -> rl.Tensor:
    return rl.randn(*shape)


MESSAGES = [
    (lambda: r(2, 3) @ r(4, 5), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    (lambda: r(2, 3, 4) @ r(5, 6), "mat1 and mat2 shapes cannot be multiplied (6x4 and 5x6)"),
    (lambda: rl.mm(r(2, 3, 4), r(4, 5)), "self must be a matrix"),
    (lambda: rl.bmm(r(2, 3, 4), r(2, 5, 6)),
     "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5]."),
    (lambda: r(2, 3, 4) @ r(2, 5, 6),
     "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5]."),
    (lambda: r(2, 3, 4) @ r(3, 4, 6),
     "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"),
    (lambda: rl.mv(r(2, 3), r(4)), "size mismatch, got input (2), mat (2x3), vec (4)"),
    (lambda: rl.dot(r(2), r(4)), "inconsistent tensor size, expected tensor [2] and src [4]"),
    (lambda: rl.dot(r(2, 2), r(4)), "1D tensors expected, but got 2D and 1D tensors"),
    (lambda: r(2, 3) @ r(3, 2).double(),
     "expected m1 and m2 to have the same dtype, but got: float != double"),
    (lambda: r(2, 3, 4) @ r(2, 4, 2).double(), "expected scalar type Float but found Double"),
    (lambda: r(()) @ r(5, 6),
     "both arguments to matmul need to be at least 1D, but they are 0D and 2D"),
    (lambda: F.linear(r(2, 3), r(5, 4), r(5)),
     "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    (lambda: F.linear(r(2, 4).double(), r(3, 4), r(3)),
     "mat1 and mat2 must have the same dtype, but got Double and Float"),
    (lambda: rl.addmm(r(3), r(2, 3), r(3, 4)),
     "The expanded size of the tensor (4) must match the existing size (3)"),
    (lambda: rl.einsum("ij,jk", r(2, 3), r(4, 5)),
     "einsum(): subscript j has size 4 for operand 1 which does not broadcast with previously seen "
     "size 3"),
    (lambda: rl.einsum("ij,jk->il", r(2, 3), r(3, 5)),
     "einsum(): output subscript l does not appear in the equation for any input operand"),
    (lambda: rl.einsum("ij", r(2, 3), r(3, 5)),
     "einsum(): more operands were provided than specified in the equation"),
    (lambda: rl.einsum("ijk", r(2, 3)),
     "einsum(): the number of subscripts in the equation (3) does not match the number of "
     "dimensions (2) for operand 0 and no ellipsis was given"),
    (lambda: rl.tensordot(r(2, 3), r(4, 5), 1),
     "contracted dimensions need to match, but first has size 3 in dim -1 and second has size 4 in "
     "dim 0"),
    (lambda: rl.cross(r(2), r(2)), "no dimension of size 3 in input"),
]  # fmt: skip


@pytest.mark.parametrize("case", MESSAGES, ids=[m[:60] for _, m in MESSAGES])
def test_messages(case: Any) -> None:
    call, message = case
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value).startswith(message)


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
