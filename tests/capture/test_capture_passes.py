"""Each pass alone: what it removes, what it must leave, and that the program still computes the same."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.capture.lower.cpu import CpuReplay
from rushlight.capture.passes import PASSES, optimise
from rushlight.capture.passes.copies import drop_copies
from rushlight.capture.passes.tidy import drop_dead, fold_constants, merge_common
from rushlight.capture.program.arena import least, plan
from rushlight.capture.program.slots import MADE
from rushlight.capture.record.recording import Recording


def record(fn, *args):
    """The program of one call."""
    recording = Recording(fn, args, {})
    recording.call()
    recording.analyse()
    assert recording.trouble is None
    for s in recording.program.storages:
        if s.rewritten:
            s.saved = recording.recorder.first_values[s.number]
    return recording.program


def names(program):
    return [ins.name for ins in program.instructions]


def compute(program, *args):
    """The results of a program for other arguments."""
    low = CpuReplay(program, set(), [])
    for array, t in zip(low.arguments, args):
        np.copyto(array, t.numpy())
    return [a.copy() for a in low.run()]


def for_gpu(run, program, **how):
    """A pass as it would work on a GPU's program, whose result is computed here."""
    program.device = "cuda"
    made = run(program, **how)
    program.device = made.device = "cpu"
    return made


def check(fn, program, *args, rtol=0.0):
    """Whether a program computes what its function does, for new arguments."""
    expected = fn(*args)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for a, b in zip(expected, compute(program, *args)):
        np.testing.assert_allclose(b, a.numpy(), rtol=rtol, atol=rtol)


X, Y = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))


# -- dead code -----------------------------------------------------------------------------------------


def test_dead_code_goes():
    def fn(x):
        (x * 3).exp()
        return x + 1

    program = drop_dead(record(fn, X))
    assert names(program) == ["add"]
    check(fn, program, Y)


def test_dead_code_keeps_random_draws():
    def fn(x):
        torch.rand(3)
        return x + 1

    assert names(drop_dead(record(fn, X))) == ["random", "add"]


def test_dead_code_keeps_writes_to_what_lasts():
    box = [torch.zeros(3, 4)]

    def fn(x):
        box[0].add_(x)
        return x + 1

    program = drop_dead(record(fn, X))
    assert "copy_into" in names(program)
    before = box[0].numpy().copy()
    compute(program, Y)
    np.testing.assert_array_equal(box[0].numpy(), before + Y.numpy())


def test_dead_code_keeps_writes_that_a_view_shows():
    def fn(x):
        z = torch.zeros(3, 4)
        row = z[1]
        row.add_(1)
        return z + x

    program = drop_dead(record(fn, X))
    check(fn, program, Y)


def test_views_of_constants_fold_however_large_they_look():
    """The gradient of a sum is one number, spread: its memory is the constant's."""

    def fn(x):
        w = x.detach().requires_grad_()
        return torch.autograd.grad((w * w).sum(), w)[0]

    x = torch.randn(1200, 1000)
    program = fold_constants(record(fn, x))
    assert "expand" not in names(program)
    check(fn, program, torch.randn(1200, 1000))
    step = torch.compile(fn)
    for _ in range(4):
        step(x)
    assert step.replays, step.why()


# -- common subexpressions -----------------------------------------------------------------------------


def test_common_subexpressions_merge():
    def fn(x):
        return (x * 2 + 1) + (x * 2 + 1)

    program = merge_common(record(fn, X))
    assert names(program) == ["mul", "add", "add"]
    check(fn, program, Y)


def test_common_subexpressions_merge_through_views():
    def fn(x):
        a = (x * 2).t().exp()
        b = (x * 2).t().exp()
        return a - b + 1

    program = merge_common(record(fn, X))
    assert names(program).count("exp") == 1
    check(fn, program, Y)


def test_common_subexpressions_mind_writes_between():
    def fn(x):
        z = x * 1
        a = z * 2
        z.add_(1)
        b = z * 2
        return a + b

    program = merge_common(record(fn, X))
    check(fn, program, Y)


def test_common_subexpressions_mind_writes_into_the_results():
    def fn(x):
        a = x * 2
        b = x * 2
        a.add_(1)
        return a - b

    program = merge_common(record(fn, X))
    check(fn, program, Y)


def test_random_draws_never_merge():
    def fn(x):
        return F.dropout(x, 0.5) + F.dropout(x, 0.5)

    assert names(merge_common(record(fn, X))).count("dropout_mask") == 2


def test_results_never_merge():
    def fn(x):
        return x * 2, x * 2

    assert names(merge_common(record(fn, X))) == ["mul", "mul"]


# -- constants -----------------------------------------------------------------------------------------


def test_constants_fold():
    def fn(x):
        return x * (torch.arange(4.0) + torch.ones(4)).exp()

    program = fold_constants(record(fn, X))
    assert names(program) == ["mul"]
    check(fn, program, Y)


def test_constants_that_are_written_stay():
    def fn(x):
        total = torch.zeros(3, 4)
        total += x
        return total

    program = fold_constants(record(fn, X))
    check(fn, program, Y)
    check(fn, program, X)


def test_random_numbers_are_no_constants():
    assert names(fold_constants(record(lambda x: x + torch.rand(4), X))) == ["random", "add"]


# -- copies --------------------------------------------------------------------------------------------


def test_copies_of_temporaries_go():
    def fn(x):
        return (x * 2).clone() + 1

    program = drop_copies(record(fn, X))
    assert names(program) == ["mul", "add"]
    check(fn, program, Y)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.clone(),  # of an argument
        lambda x: _changed_after(x * 2),
        lambda x: _copy_changed(x * 2),
        lambda x: _both_returned(x * 2),
    ],
)
def test_copies_that_matter_stay(fn):
    program = drop_copies(record(fn, X))
    assert "clone" in names(program)
    check(fn, program, Y)


def _changed_after(y):
    z = y.clone()
    y.add_(1)
    return z + y


def _copy_changed(y):
    z = y.clone()
    z.add_(1)
    return z - y


def _both_returned(y):
    return y, y.clone()


# -- all together --------------------------------------------------------------------------------------

FUNCTIONS = {
    "softmax by hand": lambda x: (
        (x - x.max(1, keepdim=True)[0]).exp() / (x - x.max(1, keepdim=True)[0]).exp().sum(1, keepdim=True)
    ),
    "views": lambda x: x.t().reshape(2, 6)[:, ::2].flip(0) * 2,
    "in place": lambda x: (x * 2).add_(1).mul_(x).relu_(),
    "index assignment": lambda x: _assigned(x * 1),
    "join and split": lambda x: torch.cat(torch.split(x * 2, 2, dim=1)[::-1], dim=1),
    "many results": lambda x: (x.sum(), x.mean(0), x.argmax(1), x > 0, x.sort(1)[0]),
    "norms": lambda x: F.layer_norm(x, (4,)) + F.softmax(x, 1) * F.gelu(x),
    "where": lambda x: torch.where(x > 0, x, x.exp() - 1),
}


def _assigned(y):
    y[0] = 5.0
    y[:, 1] += 2
    y[y.shape[0] - 1, 2] = y[0, 0] * 2
    return y + 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_passes_keep_the_values(name):
    fn = FUNCTIONS[name]
    program = record(fn, X)
    optimised = optimise(program)
    check(fn, optimised, Y)
    check(fn, optimised, X)
    assert len(optimised) <= len(program)
    assert [h[0] for h in optimised.history] == ["recorded", *[p[0] for p in PASSES]]


def test_passes_leave_the_given_program_alone():
    program = record(FUNCTIONS["in place"], X)
    before = [repr(ins) for ins in program.instructions]
    optimise(program)
    assert [repr(ins) for ins in program.instructions] == before


# -- memory planning -----------------------------------------------------------------------------------


def test_plan_reuses_memory_whose_life_is_over():
    spans = {0: (0, 1), 1: (1, 2), 2: (2, 3), 3: (3, 4)}
    offsets, total = plan(spans, dict.fromkeys(spans, 64))
    assert total == 128
    assert offsets[0] == offsets[2]


@pytest.mark.parametrize("seed", range(20))
def test_plans_never_overlap_and_are_near_the_least(seed):
    rng = np.random.RandomState(seed)
    n = 60
    starts = rng.randint(0, 80, n)
    spans = {i: (int(s), int(s + rng.randint(0, 15))) for i, s in enumerate(starts)}
    sizes = {i: int(rng.choice([64, 256, 1024, 4096])) for i in spans}
    offsets, total = plan(spans, sizes)
    for i in spans:
        for j in spans:
            meet = spans[i][0] <= spans[j][1] and spans[j][0] <= spans[i][1]
            if i < j and meet:
                apart = offsets[i] + sizes[i] <= offsets[j] or offsets[j] + sizes[j] <= offsets[i]
                assert apart
    assert total <= 1.3 * least(spans, sizes)


# -- the program itself --------------------------------------------------------------------------------


def test_lifetimes_and_bytes():
    program = record(lambda x: ((x * 2) + 1).sum(), X)
    spans = program.lifetimes()
    made = [s for s in program.storages if s.kind == MADE]
    assert [spans[s.number] for s in made] == [(0, 1), (1, 2), (2, 3)]
    assert program.bytes_moved() == (48 + 48) + (48 + 48) + (48 + 4)
    assert program.least_bytes() == 48 + 4


def test_table_shows_every_instruction_and_its_line():
    program = record(lambda x: ((x * 2) + 1).sum(), X)
    text = str(program)
    assert all(name in text for name in ("mul", "add", "sum", "argument 0", "float32[3, 4]"))
    assert "test_capture_passes.py" in text
    assert "3 instructions on cpu" in text


def test_kernels_that_draw_say_so():
    """A draw that is not marked would be merged, folded or dropped."""
    import inspect

    import rushlight.nn  # noqa: F401
    from rushlight.operators.made_of.reference import attribute_names
    from rushlight.runtime.door import KERNELS

    for kernel in KERNELS.values():
        try:
            text = inspect.getsource(kernel.generic)
        except (OSError, TypeError):
            continue
        if ".stream(" in text or "stream." in text:
            marked = kernel.random or "stream" in attribute_names(kernel.generic) or "stream," in text
            assert marked, kernel.name


# -- pointwise fusion ----------------------------------------------------------------------------------

from rushlight.capture.joined.fused import literal, text_of  # noqa: E402
from rushlight.capture.passes.fuse import fuse_pointwise  # noqa: E402

CHAINS = {
    "chain": (lambda x: ((x * 2 + 1).relu() - x).tanh(), ["fused"]),
    "broadcast": (lambda x: (x * x[0] + x[:, :1]).exp(), ["select", "slice", "fused"]),
    "diamond": (lambda x: _diamond(x), ["mul", "fused"]),
    "value used twice": (lambda x: _twice(x), ["fused", "sum", "fused"]),
    "reduction between": (lambda x: (x * 2 - (x + 1).exp().sum()).sigmoid(), None),
    "comparison": (lambda x: torch.where(x > 0.5, x * 2, -x), ["fused"]),
    "write between": (lambda x: _write_between(x), None),
    "smaller value": (lambda x: (x[0] * 2 + 1) * x, ["select", "fused", "mul"]),
}


def _diamond(x):
    y = x * 2
    return (y + 1).exp() - y


def _twice(x):
    y = (x * 2).exp()
    return y.sum() * (y + 1)


def _write_between(x):
    z = x * 1
    a = z * 3
    z.add_(1)
    return a + z


@pytest.mark.parametrize("name", CHAINS)
def test_pointwise_chains_fuse(name):
    fn, expected = CHAINS[name]
    program = for_gpu(fuse_pointwise, record(fn, X))
    if expected is not None:
        assert names(program) == expected
    check(fn, program, Y, rtol=1e-5)
    check(fn, program, X, rtol=1e-5)


def test_backward_chains_fuse():
    def fn(x):
        w = x.detach().requires_grad_()
        return torch.autograd.grad((w.tanh() * 3).sigmoid().sum(), w)[0]

    program = for_gpu(fuse_pointwise, drop_dead(record(fn, X)))
    assert names(program).count("fused") >= 1
    assert len(program) < len(record(fn, X))
    check(fn, program, Y, rtol=1e-5)


def test_fused_text():
    from rushlight.runtime.cuda.joins import expression_of

    program = for_gpu(fuse_pointwise, record(lambda x: (x * 2 + 1).relu(), X))
    text = text_of(program.instructions[0].attrs["steps"], expression_of, ["in0"])
    assert "const auto t0 = [&] { const auto x = in0; const T y = T(2.0); return x * y; }();" in text
    assert text.endswith("return t2; }()")


def test_literals():
    assert literal(2) == "T(2.0)"
    assert literal(float("inf")) == "T(inf_of<T>())"
    assert literal(float("nan")) == "nan_of<T>()"
    assert float(literal(0.1)[2:-1]) == 0.1


# -- relu and max_pool -----------------------------------------------------------------------------------

from rushlight.capture.passes.few import pool_before_relu, sum_before_spreading  # noqa: E402


def _pooled(x, kernel=2, stride=2, padding=0, both=False):
    w = (x * 1).detach().requires_grad_()
    h = w * 3
    y = F.relu(h)
    z = F.max_pool2d(y, kernel, stride, padding)
    if both:
        z = z + y.sum()
    g = torch.autograd.grad((z * z).sum(), [w, h])
    return z.detach(), g[0], g[1].sum((0, 2, 3))


@pytest.mark.parametrize("kernel, stride, padding", [(2, 2, 0), (3, 2, 1), (3, 1, 0)])
def test_relu_goes_behind_max_pool(kernel, stride, padding):
    def fn(x):
        return _pooled(x, kernel, stride, padding)

    images = torch.randn(2, 3, 8, 8)
    program = drop_dead(record(fn, images))
    order = [n for n in names(program) if n in ("relu", "max_pool")]
    assert order == ["relu", "max_pool"]
    changed = pool_before_relu(program)
    assert [n for n in names(changed) if n in ("relu", "max_pool")] == ["max_pool", "relu"]
    back = [n for n in names(changed) if n in ("relu_grad", "max_pool_grad")]
    assert back == ["relu_grad", "max_pool_grad"]
    sizes = {i.name: i.outputs[0].shape for i in changed.instructions if "relu" in i.name}
    assert sizes["relu"] == sizes["relu_grad"] != (2, 3, 8, 8)
    other = torch.randn(2, 3, 8, 8)
    check(fn, changed, other)
    summed = sum_before_spreading(changed)
    check(fn, drop_dead(summed), other, rtol=1e-5)
    (total,) = [i for i in summed.instructions if i.name == "sum" and i.attrs["dim"] == (0, 2, 3)]
    assert total.reads[0].shape == sizes["relu_grad"]


def test_relu_that_others_read_stays():
    def fn(x):
        return _pooled(x, both=True)

    program = record(fn, torch.randn(2, 3, 8, 8))
    assert names(pool_before_relu(program)) == names(program)


def test_deterministic_mode_keeps_every_bit():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(36, 3)
    )

    def fn(x):
        net.zero_grad()
        net(x).pow(2).sum().backward()
        return [p.grad.clone() for p in net.parameters()]

    torch.use_deterministic_algorithms(True)
    try:
        compiled = torch.compile(fn)
        for _ in range(5):
            x = torch.randn(7, 2, 8, 8)
            for a, b in zip(fn(x), compiled(x)):
                np.testing.assert_array_equal(a.numpy(), b.numpy())
        assert compiled.replays
        assert "sums before pools" not in dict(compiled.program().history)
    finally:
        torch.use_deterministic_algorithms(False)


# -- fusion on the CPU -----------------------------------------------------------------------------------

from rushlight.capture.lower.cpu_into import is_native  # noqa: E402

NATIVE = pytest.mark.skipif(not is_native("fused"), reason="no native engine")


@NATIVE
@pytest.mark.parametrize(
    "fn",
    [
        lambda x: ((x * 2 + 1).relu() - x).tanh(),
        lambda x: 1 - (2 / (x * x + 1)).sqrt(),
        lambda x: (x.sigmoid() * x).exp().neg().abs(),
        lambda x: torch.maximum(x * 3, x + 0.5) * torch.minimum(x, x * x),
        lambda x: _slope(x),
    ],
    ids=["relu", "number first", "unary", "two operands", "slopes"],
)
@pytest.mark.parametrize("shape", [(3, 4), (5000, 7), (2, 3, 8, 8), (1,), (0, 3)])
def test_native_chains_equal_the_kernels_one_by_one(fn, shape):
    x, y = torch.randn(*shape), torch.randn(*shape)
    program = drop_dead(record(fn, x))
    fused = fuse_pointwise(program)
    assert "fused" in names(fused)
    check(fn, fused, y)
    assert len(fused) < len(program)


def _slope(x):
    w = x.detach().requires_grad_()
    y = (w.tanh() * 3).sigmoid() * w.relu()
    return torch.autograd.grad(y, w, torch.ones_like(y))[0]


@NATIVE
def test_native_chains_keep_channels_last():
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    fn = lambda x: (x * 2 + x).relu()  # noqa: E731
    program = fuse_pointwise(record(fn, x))
    assert names(program) == ["fused"]
    low = CpuReplay(program, set(), [])
    np.copyto(low.arguments[0], x.numpy())
    (out,) = low.run()
    np.testing.assert_array_equal(out, fn(x).numpy())
    assert out.strides == x.numpy().strides


@NATIVE
def test_native_chains_leave_broadcasts_and_doubles_alone():
    for fn, x in ((lambda x: (x + x[0]) * x[0], X), (lambda x: (x * 2 + 1).relu(), X.double())):
        program = record(fn, x)
        assert "fused" not in names(fuse_pointwise(program))


# -- epilogues -------------------------------------------------------------------------------------------

from rushlight.capture.passes.epilogues import join_epilogues  # noqa: E402


def _wide(x, w, b):
    w, b = w.detach().requires_grad_(), b.detach().requires_grad_()
    y = F.linear(x, w, b).relu()
    gw, gb = torch.autograd.grad((y * y).sum(), [w, b])
    return y.detach(), gw, gb


def test_sums_stay_apart_from_the_librarys_products():
    args = torch.randn(100, 784), torch.randn(1000, 784), torch.randn(1000)
    program = drop_dead(record(_wide, *args))
    program.device = "cuda"
    joined = join_epilogues(program)
    joined.device = "cpu"
    assert {"linear_relu", "mm_tn", "sum"} <= set(names(joined))
    check(_wide, joined, *args, rtol=2e-3)


def test_epilogues_join_large_products():
    args = torch.randn(256, 512), torch.randn(512, 512), torch.randn(512)
    program = drop_dead(record(_wide, *args))
    assert join_epilogues(program) is program  # on the CPU there is nothing to gain
    program.device = "cuda"
    joined = join_epilogues(program)
    joined.device = "cpu"
    assert {"linear_relu", "linear_grads"} <= set(names(joined))
    assert not {"linear", "relu", "mm_tn"} & set(names(joined))
    check(_wide, joined, *args, rtol=2e-3)


def test_epilogues_leave_float64_alone():
    args = [torch.randn(*shape, dtype=torch.float64) for shape in ((4, 5), (6, 5), (6,))]
    program = record(_wide, *args)
    program.device = "cuda"
    assert names(join_epilogues(program)) == names(program)


def _two_layers(x, t, w, b, v, c):
    leaves = [p.detach().requires_grad_() for p in (w, b, v, c)]
    w, b, v, c = leaves
    loss = F.cross_entropy(F.linear(F.linear(x, w, b).relu(), v, c), t)
    return loss.detach(), *torch.autograd.grad(loss, leaves)


@pytest.mark.parametrize("rows", [4, 100])
def test_dense_layers_are_few_kernels(rows):
    """Forward two, the loss with its gradient one; backward one a layer of few rows, else two."""
    args = [torch.randn(rows, 20), torch.randint(0, 5, (rows,)), torch.randn(12, 20) / 4,
            torch.randn(12), torch.randn(5, 12) / 3, torch.randn(5)]  # fmt: skip
    program = optimise(record(_two_layers, *args))
    program.device = "cuda"
    joined = join_epilogues(program)
    joined.device = "cpu"
    backward = ["linear_backward"] if rows <= 16 else ["mm_masked", "linear_grads"]
    found = [ins.name for ins in joined.instructions if not ins.is_view]
    assert found == ["linear_relu", "linear", "cross_entropy_step", *backward, "linear_grads"]
    check(_two_layers, joined, *args, rtol=2e-3)


def test_layers_whose_values_are_seen_keep_them():
    def fn(x, t, w, b, v, c):
        h = F.linear(x, w, b)
        y = h.relu()
        g = torch.ones(4, 5) @ v
        return h, y, g, (g * (y > 0)).sum(0)

    args = [torch.randn(4, 20), torch.randint(0, 5, (4,)), torch.randn(12, 20), torch.randn(12),
            torch.randn(5, 12), torch.randn(5)]  # fmt: skip
    program = record(fn, *args)
    program.device = "cuda"
    joined = join_epilogues(program)
    assert names(joined) == names(program)
    joined.device = "cpu"
    check(fn, joined, *args)


def test_relu_whose_input_is_used_stays():
    def fn(x, w, b):
        h = F.linear(x, w, b)
        return h.relu() + h.sigmoid()

    program = record(fn, torch.randn(256, 512), torch.randn(512, 512), torch.randn(512))
    program.device = "cuda"
    assert names(join_epilogues(program)) == names(program)


def test_a_wrong_kernel_is_left_out(monkeypatch):
    """What lowering finds to be wrong costs the passes that made it, not the answer."""
    from rushlight.capture.record.recorder import WrongKernel
    from rushlight.capture.replay import replay

    plain = replay.lower

    def lower(program, *rest):
        if any(ins.name == "fused" for ins in program.instructions):
            raise WrongKernel("a test says so", "fused")
        return plain(program, *rest)

    if not is_native("fused"):
        pytest.skip("no native engine")
    monkeypatch.setattr(replay, "lower", lower)
    compiled = torch.compile(lambda x: (x * 2 + 1).relu())
    with pytest.warns(UserWarning, match="some passes were left out, because a test says so"):
        for _ in range(4):
            x = torch.randn(5)
            np.testing.assert_array_equal(compiled(x).numpy(), (x * 2 + 1).relu().numpy())
    assert compiled.replays
    done = [name for name, _ in compiled.program().history]
    assert "pointwise fusion" not in done and "epilogues" in done  # only the pass that made it
