"""Layers joined with their neighbours by passes: which programs have them, and that they compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.capture.joined import norms, sequences  # noqa: F401 - make the kernels
from rushlight.capture.joined.proof import PARTS, agrees
from rushlight.capture.passes import optimise
from rushlight.operators.layers.group_norm import in_parts
from rushlight.runtime.cuda import joins as cuda_joins
from test_capture_passes import check, compute, for_gpu, names, record


def weights(*shapes, dtype=torch.float32):
    return [torch.randn(*s, dtype=dtype, requires_grad=True) for s in shapes]


def grads(out, leaves):
    """Values and gradients of a function of the result that is not linear."""
    loss = (out * out.detach().sin()).sum()
    return out.detach(), *torch.autograd.grad(loss, leaves)


# -- the layers: function, arguments, and the kernels their programs have -----------------------------


def residual_case(dtype, shape=(3, 5, 8), norm="layer_norm"):
    w, b = weights(shape[-1:], shape[-1:], dtype=dtype)

    def fn(x, y):
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        total = x * 2 + y
        affine = (w, b) if norm == "layer_norm" else (w,)
        out = getattr(F, norm)(total, shape[-1:], *affine) * 3 + total
        return grads(out, [x, y, w, *([b] if norm == "layer_norm" else [])])

    args = [torch.randn(*shape, dtype=dtype) for _ in range(2)]
    return fn, args, {f"add_{norm}", f"{norm}_grad_add"}


def group_case(dtype, shape=(2, 6, 3, 4), groups=3):
    w, b = weights((shape[1],), (shape[1],), dtype=dtype)

    def fn(x):
        x = x.detach().requires_grad_()
        return grads(F.silu(in_parts(x * 2, groups, w, b, 1e-5)), [x, w, b])  # as on a GPU

    args = [torch.randn(*shape, dtype=dtype)]
    return fn, args, {"group_norm_silu", "group_norm_silu_grad"}


def turned(x):
    h = x.shape[-1] // 2
    return torch.cat((-x[..., h:], x[..., :h]), dim=-1)


def turned_chunks(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


def rotary_case(dtype, shape=(2, 3, 5, 8), turn=turned, swapped=False, transposed=False):
    def fn(x, cos, sin):
        x = x.detach().requires_grad_()
        y = (x * 1.5).transpose(1, 2) if transposed else x * 1.5
        out = turn(y) * sin + y * cos if swapped else y * cos + turn(y) * sin
        return grads(out, [x])

    places = shape[1 if transposed else 2 if len(shape) == 4 else 0]
    factors = [torch.randn(places, shape[-1], dtype=dtype) for _ in range(2)]
    return fn, [torch.randn(*shape, dtype=dtype), *factors], {"rotary"}


def lookup_case(dtype, other=(4, 6)):
    table, places = weights((9, 6), other, dtype=dtype)
    index = torch.tensor([[1, 8, 0, 3], [2, 2, 7, 8]])

    def fn(x):
        return grads((F.embedding(index, table) + places) * x, [table, places])

    return fn, [torch.randn(2, 4, 6, dtype=dtype)], {"embedding_add"}


CASES = {
    "layer norm": (residual_case, {}),
    "layer norm of one row": (residual_case, {"shape": (1, 40)}),
    "rms norm": (residual_case, {"norm": "rms_norm"}),
    "group norm": (group_case, {}),
    "group norm of signals": (group_case, {"shape": (3, 4, 7), "groups": 1}),
    "rotary": (rotary_case, {}),
    "rotary by chunks": (rotary_case, {"turn": turned_chunks}),
    "rotary, sine first": (rotary_case, {"swapped": True}),
    "rotary, chunks and sine first": (rotary_case, {"turn": turned_chunks, "swapped": True}),
    "rotary of heads": (rotary_case, {"transposed": True}),
    "positions": (lookup_case, {}),
    "one position for all": (lookup_case, {"other": (6,)}),
    "positions of a batch": (lookup_case, {"other": (1, 4, 6)}),
}
CLOSE = {torch.float32: 2e-4, torch.float64: 1e-9}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_programs_for_a_gpu_have_them_and_compute_the_same(name, dtype):
    make, how = CASES[name]
    fn, args, kernels = make(dtype, **how)
    fn(*args)
    program = for_gpu(optimise, record(fn, *args))
    assert kernels <= set(names(program)), names(program)
    check(fn, program, *[torch.randn(*a.shape, dtype=dtype) for a in args], rtol=CLOSE[dtype])


@pytest.mark.parametrize("name", CASES)
def test_compiled_calls_equal_eager_ones(name):
    make, how = CASES[name]
    fn, args, _ = make(torch.float32, **how)
    step = torch.compile(fn)
    for _ in range(4):
        args = [torch.randn(*a.shape) for a in args]
        for a, b in zip(step(*args), fn(*args)):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-5)
    assert step.replays


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["residual", "group norm", "rotary", "lookup"])
def test_random_shapes(name, seed):
    random = np.random.default_rng(seed)
    a, b, c, d = [int(n) for n in random.integers(1, 7, 4)]
    dtype = [torch.float32, torch.float64, torch.bfloat16][seed % 3]
    fn, args, kernels = {
        "residual": lambda: residual_case(dtype, shape=(a, b, 2 * c)),
        "group norm": lambda: group_case(dtype, shape=(a, b * c, d, 2), groups=c),
        "rotary": lambda: rotary_case(dtype, shape=(a, b, c + 1, 2 * d), swapped=seed % 2 == 0),
        "lookup": lambda: lookup_case(dtype, other=[(4, 6), (6,), (1, 4, 6), (2, 4, 6)][seed]),
    }[name]()
    torch.manual_seed(seed)
    fn(*args)
    program = for_gpu(optimise, record(fn, *args))
    assert kernels <= set(names(program)), names(program)
    args = [torch.randn(*x.shape, dtype=dtype) for x in args]
    for one, other in zip(fn(*args), compute(program, *args)):
        one = one.numpy().astype(np.float64)
        near = 0.1 if dtype == torch.bfloat16 else CLOSE[dtype]
        assert np.abs(other.astype(np.float64) - one).max() <= near * max(np.abs(one).max(), 1)


def test_arguments_that_lie_otherwise_or_are_the_same_array():
    fn, args, _ = residual_case(torch.float32, shape=(6, 4))
    turned_over = torch.randn(4, 6).t()
    for given in ([turned_over, args[1]], [args[0], args[0]], [turned_over, turned_over]):
        program = for_gpu(optimise, record(fn, *given))
        check(fn, program, *given, rtol=2e-4)
        step = torch.compile(fn)
        for _ in range(4):
            for a, b in zip(step(*given), fn(*given)):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-5)
        assert step.replays


def test_residuals_join_on_the_cpu():
    from rushlight.runtime.cpu.joins import is_native

    if not is_native("add_layer_norm"):
        pytest.skip("no native engine")
    for shape in ((3, 5, 8), (7, 33), (1, 5000)):
        fn, args, kernels = residual_case(torch.float32, shape=shape)
        program = optimise(record(fn, *args))
        assert kernels <= set(names(program))
        args = [torch.randn(*a.shape) for a in args]
        check(fn, program, *args, rtol=1e-6)


@pytest.mark.parametrize("case", ["rotary", "embedding_add"])
def test_large_ones_join_on_the_cpu_bit_for_bit(case):
    """Where the arrays that need not be written are larger than a cache."""
    if case == "rotary":
        fn, args, _ = rotary_case(torch.float32, shape=(2, 8, 64, 256))
    else:
        table, places = torch.randn(40, 512), torch.randn(512, 512)
        index = torch.randint(0, 40, (2, 512))

        def fn(x):
            return (F.embedding(index, table) + places) * x

        args = [torch.randn(2, 512, 512)]
    program = optimise(record(fn, *args))
    assert case in names(program)
    check(fn, program, *[torch.randn(*a.shape) for a in args])


# -- what must stay as it is --------------------------------------------------------------------------


def _kept_rows(x):
    rows = F.embedding(torch.tensor([0, 2]), x)
    return rows + x[:2], rows


def _kept_slope(x):
    y = F.group_norm(x.reshape(1, 4, 3), 2, torch.ones(4) * 2, torch.ones(4))
    return F.silu(y), y * 2


def _kept_turn(x):
    r = turned(x)
    return x * x + r * x, r


def _cut_elsewhere(x):
    r = torch.cat((-x[..., 1:], x[..., :1]), dim=-1)
    return x * x + r * x


def _other_halves(x):
    y = x * 2
    return x * x + turned(y) * x


def _same_summand(x):
    return F.layer_norm(x + x, (4,))


def _spread_summand(x):
    return F.layer_norm(x + x[0], (4,))


def _written_sum(x):
    total = x + x.cos()
    y = total * 1
    total.mul_(2)
    return F.layer_norm(total, (4,)) + y


def _wider_other(x):
    return F.embedding(torch.tensor([0, 2]), x) + torch.ones(3, 2, 4)


def _pre_activation(x):
    h = F.linear(x, torch.ones(512, 4), torch.ones(512))
    return F.gelu(h, approximate="tanh"), h


STAY = {f.__name__.strip("_"): f for f in (
    _kept_rows, _kept_slope, _kept_turn, _cut_elsewhere, _other_halves, _same_summand,
    _spread_summand, _wider_other, _pre_activation,
)}  # fmt: skip
JOINED = {*PARTS, "linear_gelu"}


@pytest.mark.parametrize("name", STAY)
def test_what_is_seen_or_is_something_else_stays(name):
    x = torch.randn(3, 4)
    program = for_gpu(optimise, record(STAY[name], x))
    assert not JOINED & set(names(program)), names(program)
    check(STAY[name], program, torch.randn(3, 4), rtol=1e-5)


def test_a_sum_that_is_written_before_its_norm():
    x = torch.randn(3, 4)
    program = for_gpu(optimise, record(_written_sum, x))
    check(_written_sum, program, torch.randn(3, 4), rtol=1e-5)


# -- epilogues ----------------------------------------------------------------------------------------


def test_gelu_by_tanh_joins_a_large_layer_nobody_derives():
    w, b = torch.randn(512, 256), torch.randn(512)

    def fn(x, how="tanh"):
        return F.gelu(F.linear(x, w, b), approximate=how)

    x = torch.randn(8, 64, 256)
    program = for_gpu(optimise, record(fn, x))
    assert names(program) == ["linear_gelu"]
    check(fn, program, torch.randn(8, 64, 256), rtol=1e-3)
    assert "linear_gelu" not in names(for_gpu(optimise, record(lambda x: fn(x, "none"), x)))


def test_layers_of_three_dims_join_relu_and_their_bias_sums():
    w, b = weights((512, 256), (512,))

    def fn(x):
        y = F.linear(x, w, b).relu()
        return grads(y, [w, b])

    x = torch.randn(32, 64, 256)
    program = for_gpu(optimise, record(fn, x))
    assert {"linear_relu", "linear_grads"} <= set(names(program)), names(program)


@pytest.mark.parametrize("how", ["none", "tanh"])
def test_a_bias_in_front_of_gelu_is_added_up_with_its_gradient(how, monkeypatch):
    monkeypatch.setattr(cuda_joins, "_LARGE_ROWS", 0)
    w, b, v = weights((64, 32), (64,), (32, 64))

    def fn(x):
        y = F.linear(F.gelu(F.linear(x, w, b), approximate=how), v)
        return grads(y, [w, b, v])

    x = torch.randn(16, 64, 32)
    program = for_gpu(optimise, record(fn, x))
    found = names(program)
    assert "gelu_grad_sums" in found and "gelu_grad" not in found, found
    assert "linear_grads" not in found, found
    check(fn, program, torch.randn(16, 64, 32), rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_gradients_of_a_table_that_is_a_layer_too_are_one(dtype):
    (w,) = weights((300, 32))

    def fn(x, tokens):
        h = F.embedding(tokens, w) + x
        y = F.linear(h.to(dtype), w.to(dtype))
        return grads(y.float(), [w])

    x, tokens = torch.randn(16, 32), torch.randint(0, 300, (16,))
    program = for_gpu(optimise, record(fn, x, tokens))
    assert "embedding_grad_add" in names(program), names(program)
    assert "embedding_grad" not in names(program) and "add" not in names(program), names(program)
    check(fn, program, torch.randn(16, 32), torch.randint(0, 300, (16,)), rtol=1e-4)


def test_a_bias_in_front_of_a_residual_norm_is_added_up_with_its_gradient(monkeypatch):
    monkeypatch.setattr(cuda_joins, "_LARGE_ROWS", 0)
    monkeypatch.setattr(cuda_joins, "_MANY_ROWS", 0)
    w, b, g, v, c = weights((32, 32), (32,), (32,), (32, 32), (32,))

    def fn(x):
        with torch.autocast("cpu", torch.float16):
            r = x + F.linear(x, w, b)
            y = r + F.linear(F.layer_norm(r, (32,), g, g), v, c)
        return grads(y, [w, b, g, v, c])

    x = torch.randn(16, 64, 32)
    program = for_gpu(optimise, record(fn, x))
    assert "layer_norm_grad_summed" in names(program), names(program)
    check(fn, program, torch.randn(16, 64, 32), rtol=0.2)


def test_gelu_fuses_with_its_neighbours():
    def fn(x):
        return F.gelu(x * 2) * F.gelu(x, approximate="tanh") + x.exp().log()

    x = torch.randn(6, 7)
    for program in (for_gpu(optimise, record(fn, x)), optimise(record(fn, x))):
        check(fn, program, torch.randn(6, 7), rtol=1e-5)
    assert names(for_gpu(optimise, record(fn, x))) == ["fused"]


# -- kernels ------------------------------------------------------------------------------------------


def _trial(name, dtype):
    """Arrays and options of a joined kernel."""

    def some(*shape):
        return np.round(np.random.RandomState(len(shape)).randn(*shape) * 8).astype(dtype) / dtype(8)

    x = some(4, 6)
    stat = np.ones((4, 1), np.float32 if dtype != np.float64 else np.float64)
    rows = {"dims": 1, "eps": 1e-5}
    group = {"eps": 1e-5, "shape": (2, 4, 3)}
    images = [some(2, 2, 6), some(1, 4, 1), some(1, 4, 1)]
    return {
        "add_layer_norm": ([x, some(4, 6) * dtype(2), some(6), some(6)], rows),
        "add_rms_norm": ([x, some(4, 6), some(6)], rows),
        "layer_norm_grad_add": ([x, some(4, 6), some(6), stat, stat, x], rows),
        "rms_norm_grad_add": ([x, some(4, 6), some(6), stat, x], rows),
        "group_norm_silu": (images, group),
        "group_norm_silu_grad": ([some(2, 4, 3), *images, stat, stat], group),
        "rotary": ([x, some(6), some(1, 6)], {"back": True, "order": (0, 1)}),
        "embedding_add": ([x, np.array([[0, 3], [1, 1]]), some(2, 6)], {"padding_idx": -1, "scale_by_freq": False}),
    }[name]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", [
    "add_layer_norm", "add_rms_norm", "layer_norm_grad_add", "rms_norm_grad_add",
    "group_norm_silu", "group_norm_silu_grad", "rotary", "embedding_add",
])  # fmt: skip
def test_joined_kernels_equal_their_parts(name, dtype):
    arrays, attrs = _trial(name, dtype)
    assert agrees(name, arrays, attrs)
