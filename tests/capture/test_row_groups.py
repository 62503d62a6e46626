"""Row groups: reductions along rows and what stands around them as one kernel, with the values of its parts."""

from __future__ import annotations

import numpy as np
import pytest

import row_functions
import rushlight as torch
from rushlight.capture.joined.fused import rounded_to
from rushlight.capture.joined.row_group import COLUMN, FULL, ONE, ROW, SOME
from rushlight.capture.passes.rows import kind_of, turn_of
from rushlight.capture.program.slots import MADE, Slot, Storage
from rushlight.runtime.cpu import joins as cpu_joins
from rushlight.runtime.cpu.joins import is_native


@pytest.fixture(params=["as a GPU", "as the CPU"])
def joining(request, monkeypatch):
    """Groups as a GPU would make them, which the generic body computes, and as the CPU's engine makes and runs them."""
    if request.param == "as a GPU":
        row_functions.answer_as_a_gpu(lambda *given: monkeypatch.setattr(*given, raising=False))
    elif not is_native("row_group"):
        pytest.skip("the native engine was not built")
    return request.param


def calls(fn, arguments, wrap):
    """The last of a few calls: value and gradients."""

    def step(*args):
        result = fn(*args)
        return result, torch.autograd.grad((result * 1e-3 * result).sum(), args)

    called = wrap(step)
    given = [a.clone().requires_grad_() for a in arguments]
    for _ in range(4):
        value, grads = called(*given)
    return [value.detach(), *grads], called


@pytest.mark.parametrize("columns", [16, 33])
@pytest.mark.parametrize("name", row_functions.FUNCTIONS)
def test_a_group_has_the_values_of_its_parts(name, columns, joining):
    fn, *shapes = row_functions.FUNCTIONS[name]
    torch.manual_seed(1)
    arguments = [torch.randn(*[columns if n is None else n for n in s]) for s in shapes]
    expected, _ = calls(fn, arguments, lambda f: f)
    got, compiled = calls(fn, arguments, torch.compile)
    assert compiled.replays, compiled.why()
    names = [ins.name for ins in compiled.program().instructions]
    assert "row_group" in names, names
    for a, b in zip(got, expected):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def differs(seed):
    """Where a random function over rows is another one when it is compiled; None where it is not, and its groups."""
    torch.manual_seed(seed)
    columns = 16 + seed % 5
    arguments = [torch.randn(6, columns), torch.randn(6, columns), torch.randn(columns)]
    fn = row_functions.Random(seed)
    expected, _ = calls(fn, arguments, lambda f: f)
    got, compiled = calls(fn, arguments, torch.compile)
    for i, (a, b) in enumerate(zip(got, expected)):
        if not np.allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=2e-5, equal_nan=True):
            return i, compiled
    return None, compiled


@pytest.mark.parametrize("first", [0, 10, 20])
def test_random_functions_over_rows(first, joining):
    groups = 0
    for seed in range(first, first + 10):
        where, compiled = differs(seed)
        assert where is None, (seed, where, compiled.program())
        groups += sum(ins.name == "row_group" for ins in compiled.program().instructions)
    assert groups >= 10


def test_groups_move_less_memory(monkeypatch):
    """Layer norm by hand, both ways: the program reads and writes less than half."""
    fn, *_ = row_functions.FUNCTIONS["layer_norm"]
    arguments = [torch.randn(64, 128), torch.randn(128), torch.randn(128)]
    with monkeypatch.context() as nothing:
        nothing.delattr(cpu_joins, "row_step")
        _, plain = calls(fn, arguments, torch.compile)
    row_functions.answer_as_a_gpu(lambda *given: monkeypatch.setattr(*given, raising=False))
    _, joined = calls(fn, arguments, torch.compile)
    assert joined.program().bytes_moved() < 0.5 * plain.program().bytes_moved()


def test_rows_written_in_between_are_not_moved(joining):
    """What is changed in place between two uses keeps both values."""

    def fn(x):
        y = x * 1.0
        a = y - y.mean(-1, keepdim=True)
        y.mul_(2.0)
        return a + y.amax(-1, keepdim=True) + y

    x = torch.randn(5, 16)
    compiled = torch.compile(fn)
    for _ in range(4):
        got = compiled(x)
    np.testing.assert_allclose(got.numpy(), fn(x).numpy(), rtol=1e-6, atol=1e-6)


def test_a_result_that_is_returned_is_made(joining):
    """Values inside a group that the caller gets, views of them too."""

    def fn(x):
        mean = x.mean(-1, keepdim=True)
        apart = x - mean
        return mean.squeeze(-1), apart, apart.T, apart.exp().sum(-1)

    x = torch.randn(6, 20)
    compiled = torch.compile(fn)
    for _ in range(4):
        got = compiled(x)
    for a, b in zip(got, fn(x)):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-6)


def slot(shape, strides=None, dtype="float32"):
    dtype = np.dtype(dtype)
    made = np.empty(shape, dtype)
    return Slot(0, Storage(0, MADE, made.nbytes), shape, dtype, strides or made.strides)


@pytest.mark.parametrize(
    ("operand", "kind"),
    [
        (slot((2, 3, 8)), FULL),
        (slot((2, 3, 1)), ROW),
        (slot((2, 3, 8), (12, 4, 0)), ROW),
        (slot((8,)), COLUMN),
        (slot((1, 1, 8)), COLUMN),
        (slot((1,)), ONE),
        (slot((2, 3, 8), (4, 8, 48)), None),  # another order
        (slot((2, 3, 8), (0, 4, 0)), None),  # rows that share a number
        (slot((3, 1)), None),  # one for some of the rows
        (slot((3, 8)), SOME),
        (slot((2, 1, 8)), SOME),
        (slot((2, 8)), None),
        (slot((8,), (8,)), None),  # every second number
    ],
)
def test_what_an_operand_holds(operand, kind):
    assert kind_of(operand, (2, 3, 8)) == kind


@pytest.mark.parametrize(
    ("shape", "turn"), [((7, 1, 1, 8), (15, 7)), ((3, 5, 8), (1, 15)), ((3, 1, 8), (5, 3)), ((7, 1, 5, 8), None)]
)
def test_rows_that_take_turns(shape, turn):
    assert turn_of(slot(shape), (7, 3, 5, 8)) == turn
    if turn is not None:
        every, count = turn
        numbers = np.arange(np.prod(shape)).reshape(shape)
        rows = np.broadcast_to(numbers, (7, 3, 5, 8)).reshape(-1, 8)
        chosen = [numbers.reshape(-1, 8)[i // every % count] for i in range(len(rows))]
        assert (rows == chosen).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_are_rounded_as_they_are_stored(dtype):
    """What a kernel in half precision is compared with rounds every step, as the kernel does."""
    value = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    value[:4] = np.inf, -np.inf, np.nan, 3.4e38
    with np.errstate(over="ignore"):
        stored = value.astype(getattr(torch, dtype).np).astype(np.float32)
        got = rounded_to(np, value, dtype)
    assert np.array_equal(got, stored, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize("name", row_functions.FUNCTIONS)
def test_row_groups_on_cuda(name, dtype):
    """Compiled on a real GPU beside eager there."""
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    fn, *shapes = row_functions.FUNCTIONS[name]
    near = {"float32": 2e-5, "float64": 1e-10, "float16": 2e-2, "bfloat16": 1e-1}[dtype]
    for columns in (24, 768) if dtype == "float16" else (24, 768, 4096):  # else it overflows
        torch.manual_seed(1)
        sizes = [[columns if n is None else n for n in s] for s in shapes]
        arguments = [torch.randn(*s).to("cuda", getattr(torch, dtype)) for s in sizes]
        expected, _ = calls(fn, arguments, lambda f: f)
        got, compiled = calls(fn, arguments, torch.compile)
        assert compiled.replays, compiled.why()
        names = [ins.name for ins in compiled.program().instructions]
        assert "row_group" in names, names
        for a, b in zip(got, expected):
            a, b = a.float().cpu(), b.float().cpu()
            assert (a - b).abs().max() <= near * b.abs().max().clamp(min=1), (columns, names)
