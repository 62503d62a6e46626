"""Functions that read values on the host: traced, replayed between the reads, equal to eager call by call."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.base.config import settings
from rushlight.base.errors import HostReadError
from traced import Calls, as_if_alone

pytestmark = pytest.mark.filterwarnings("ignore:.*is traced, because")


@pytest.fixture(autouse=True)
def _traced_everywhere(monkeypatch):
    """On the CPU too, where it does not pay."""
    monkeypatch.setattr(settings, "trace_on_cpu", True)
    with as_if_alone():
        yield


def test_on_the_cpu_nothing_is_traced(monkeypatch):
    monkeypatch.setattr(settings, "trace_on_cpu", False)

    def fn(x):
        y = x * 2
        return y + 1 if y.sum() > 0 else y - 1

    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match="runs eagerly, because it reads the values.*On the CPU"):
        for i in range(6):
            x = torch.full((3,), float(i - 3))
            equal(values(fn(x)), values(compiled(x)))
    assert not compiled.replays and not compiled.parts
    assert "reads the values" in compiled.why()
    with pytest.raises(HostReadError):
        torch.compile(fn, fullgraph=True)(torch.ones(3))


def values(tree):
    if isinstance(tree, torch.Tensor):
        return tree.detach().clone().cpu().numpy()  # of a copy: what is seen by NumPy may change
    if isinstance(tree, (list, tuple)):
        return [values(t) for t in tree]
    return tree


def equal(a, b, exact=True):
    if isinstance(a, np.ndarray):
        np.testing.assert_allclose(b, a, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            equal(x, y, exact)
    elif isinstance(a, float):
        np.testing.assert_allclose(b, a, rtol=0 if exact else 1e-5)
    else:
        assert a == b


class Side:
    """A network, its optimiser and a log that the step writes."""

    def __init__(self, make_step, device="cpu", net=None, opt=None):
        torch.manual_seed(7)
        make_net = net or (lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)))
        self.net = make_net().to(device)
        self.opt = (opt or (lambda p: torch.optim.Adam(p, lr=1e-2)))(self.net.parameters())
        self.log: list = []
        self.step = make_step(self)

    def values(self):
        found = [values(list(self.net.state_dict().values())), values(list(self.log))]
        found.append([values(p.grad) for p in self.net.parameters()])
        found.append([values(list(s.values())) for s in self.opt.state.values()])
        return found


def compare(make_step, calls=16, device="cpu", between=None, replayed=True, **options):
    """Both sides over the same batches; how many kernels ran as parts of programs."""
    eager, other = Side(make_step, device, **options), Side(make_step, device, **options)
    compiled = torch.compile(other.step)
    torch.manual_seed(3)
    held = []
    for i in range(calls):
        x, y = torch.randn(5, 4).to(device), torch.randint(0, 3, (5,)).to(device)
        if between is not None:
            between(eager, i)
            between(other, i)
        state = torch.get_rng_state()
        expected = eager.step(x, y)
        after = torch.get_rng_state()
        torch.set_rng_state(state)
        got = compiled(x, y)
        assert bool((torch.get_rng_state() == after).all())
        equal(values(expected), values(got), exact=device == "cpu")
        equal(eager.values(), other.values(), exact=device == "cpu")
        held.append((got, values(expected)))
        for result, was in held:  # nobody's result is written again
            equal(was, values(result), exact=device == "cpu")
    assert not replayed or compiled.parts, compiled.why()
    return sum(path.runs * path.kernels for path in compiled.parts)


def loss_of(side, x, y):
    side.opt.zero_grad()
    return nn.functional.cross_entropy(side.net(x), y)


def branching(side):
    def step(x, y):
        loss = loss_of(side, x, y)
        if loss > 1.1:
            loss = loss * 2
        loss.backward()
        side.opt.step()
        side.log.append(loss.item())
        return loss

    return step


def printing(side):
    def step(x, y):
        loss = loss_of(side, x, y)
        print(f"loss {loss:.4f}", loss, x[:2])
        loss.backward()
        side.opt.step()
        return loss

    return step


def averaging(side):
    side.average = torch.zeros(())

    def step(x, y):
        loss = loss_of(side, x, y)
        loss.backward()
        side.opt.step()
        side.average = side.average.to(x.device) * 0.9 + loss.detach() * 0.1
        side.log.append(float(side.average))
        return loss, side.average * 1

    return step


def comparing_with_the_last(side):
    side.last = None

    def step(x, y):
        loss = loss_of(side, x, y)
        worse = side.last is not None and bool(loss > side.last)
        side.last = loss.detach()
        (loss * (0.5 if worse else 1.0)).backward()
        side.opt.step()
        side.log.append((worse, side.last.item()))
        return loss

    return step


def looping(side):
    """Newton's square root until it is near enough: how often depends on the values."""

    def step(x, y):
        a = x.abs() + 1
        r = a.clone()
        n = 0
        while (r * r - a).abs().max() > 1e-3:
            r = (r + a / r) / 2
            n += 1
        side.log.append(n)
        return r

    return step


def accumulating(side):
    """Gradients add up over two calls, as somebody short of memory would let them."""

    def step(x, y):
        loss = nn.functional.cross_entropy(side.net(x), y)
        loss.backward()
        side.log.append(loss.item())
        if len(side.log) % 2 == 0:
            side.opt.step()
            side.opt.zero_grad()
        return loss

    return step


def in_place(side):
    def step(x, y):
        x = x.clone()
        x.mul_(2)
        total = x.sum()
        side.log.append(total.item())
        x[0].add_(1)
        x += total
        with torch.no_grad():
            side.net[0].weight.mul_(0.99)
        view = x.t()
        side.log.append(view[0, 0].item())
        view.sub_(1)
        return x, view

    return step


def selecting(side):
    def step(x, y):
        h = side.net(x)
        picked = h[h > 0]
        places = (y == 1).nonzero()
        side.log.append(list(picked.shape))
        return picked.sum(), places, h.detach() * 2

    return step


def norm_clipping(side):
    def step(x, y):
        loss = loss_of(side, x, y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(side.net.parameters(), 0.5)
        if not torch.isfinite(norm):
            return loss
        side.opt.step()
        return loss, norm

    return step


def gradient_of_gradient(side):
    def step(x, y):
        x = x.clone().requires_grad_()
        out = side.net(x).square().sum()
        side.log.append(out.item())
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        side.opt.zero_grad()
        g.norm().backward()
        side.opt.step()
        return g.detach()

    return step


def scaling(side):
    side.scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)

    def step(x, y):
        loss = loss_of(side, x, y)
        side.scaler.scale(loss).backward()
        side.scaler.step(side.opt)
        side.scaler.update()
        side.log.append(side.scaler.get_scale())
        return loss

    return step


STEPS = {
    f.__name__: f
    for f in (
        branching, printing, averaging, comparing_with_the_last, looping, accumulating, in_place,
        selecting, norm_clipping, gradient_of_gradient, scaling,
    )
}  # fmt: skip

SELDOM = ("selecting", "looping")  # which kernels come differs from call to call


@pytest.mark.parametrize("name", STEPS)
def test_equals_eager(name, capsys):
    replayed = compare(STEPS[name], replayed=name not in SELDOM)
    if name not in SELDOM:
        assert replayed > 20
        assert compare(STEPS[name], calls=24) > replayed


@pytest.mark.parametrize("name", ["branching", "averaging", "accumulating", "norm_clipping"])
def test_equals_eager_on_every_device(name, device):
    assert compare(STEPS[name], device=device) > 20


def test_networks_with_state_and_random_numbers():
    def net():
        return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.4), nn.Linear(16, 3))

    assert compare(branching, net=net, calls=20) > 100


def test_after_learning_no_kernel_is_run_by_python():
    side = Side(branching)
    compiled = torch.compile(side.step)
    x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))
    for _ in range(8):
        compiled(x, y)
    before = sum(path.runs for path in compiled.parts)
    fallen = [path.misses for path in compiled.parts]
    for _ in range(5):
        compiled(x, y)
    launched = sum(path.runs for path in compiled.parts) - before
    assert launched == 5 * 2  # up to the branch, and up to the step: less is behind it than is worth a program
    assert [path.misses for path in compiled.parts] == fallen
    assert compiled.why() and "test_capture_traced.py" in compiled.why()
    assert any("cross_entropy" in str(path.program) for path in compiled.parts)


def test_fullgraph_still_raises_with_the_line_and_the_mend():
    side = Side(branching)
    with pytest.raises(HostReadError, match=r"test_capture_traced.py:\d+.*where\(\)"):
        torch.compile(side.step, fullgraph=True)(torch.randn(5, 4), torch.randint(0, 3, (5,)))


# -- what changes between calls --------------------------------------------------------------------


def test_everything_python_does_is_seen():
    """Counters, lists, prints: Python runs, so nothing has to be guarded."""

    def make(side):
        side.n = 0
        side.kept = []

        def step(x, y):
            side.n += 1
            h = side.net[0](x)
            if side.n % 7 == 0:
                side.kept.append(h)  # dead in other calls
            loss = nn.functional.cross_entropy(side.net(x), y)
            side.log.append(loss.item())
            return loss * side.n if side.n > 10 else loss

        return step

    compare(make, calls=24)


def test_an_intermediate_result_kept_in_some_calls():
    def make(side):
        side.kept = []

        def step(x, y):
            h = torch.relu(side.net[0](x)) * 2
            if len(side.log) in (9, 12):
                side.kept.append((h, None if side.kept is None else h.detach().clone()))
            out = h.sum()
            side.log.append(out.item())
            for a, b in side.kept:
                assert bool((a == b).all())
            return out

        return step

    compare(make)


def test_parameter_replaced_and_layer_frozen():
    def between(side, i):
        if i == 8:
            side.net[0].weight.data = torch.full((8, 4), 0.25)
        if i == 12:
            side.net[2].requires_grad_(False)

    compare(branching, between=between, calls=24)


def test_hooks_and_modes_changed():
    def between(side, i):
        if i == 8:
            side.net[0].register_forward_hook(lambda m, a, out: out * 2)
        if i == 14:
            side.net.eval()
        if i == 18:
            side.opt.param_groups[0]["lr"] = 0.5

    compare(branching, between=between, calls=26)


def test_exception_in_the_middle():
    def make(side):
        def step(x, y):
            loss = loss_of(side, x, y)
            side.log.append(loss.item())
            loss.backward()
            side.opt.step()
            if len(side.log) in (9, 13):
                raise KeyError("in the middle")
            return loss

        def guarded(x, y):
            try:
                return step(x, y)
            except KeyError:
                return None

        return guarded

    compare(make)
    side = Side(branching)

    def raises(x):
        h = side.net(x) * 2
        if h.sum().item() > 1e9:
            return h
        h.add_(1)
        raise KeyError(values(h).sum() if False else "always")

    compiled = torch.compile(raises)
    for _ in range(8):
        with pytest.raises(KeyError):
            compiled(torch.randn(5, 4))
    assert not torch.capture.is_recording()


def test_arguments_changed_in_place():
    def fn(x, y):
        x.add_(1)
        total = x.sum().item()
        x.mul_(2)
        y.copy_(x)
        return x * total

    compiled = torch.compile(fn)
    for i in range(10):
        a, b = torch.full((3,), float(i)), torch.full((3,), float(i))
        ya, yb = torch.zeros(3), torch.zeros(3)
        equal(values(fn(a, ya)), values(compiled(b, yb)))
        equal(values([a, ya]), values([b, yb]))
        assert a._version == b._version
    assert compiled.parts


def test_numpy_array_changed_behind_our_back():
    def fn(x):
        h = x * 2
        a = h.numpy()
        y = h + 1
        a[0] = 100
        z = h + 1
        return y, z, h

    compiled = torch.compile(fn)
    for i in range(8):
        x = torch.full((3,), float(i))
        equal(values(fn(x)), values(compiled(x)))


def test_nested_compile_and_threads():
    inner = torch.compile(lambda x: x * 3)

    def fn(x):
        h = inner(x)
        return h + 1 if h.sum() > 0 else h - 1

    compiled = torch.compile(fn)
    for i in range(8):
        equal(values(compiled(torch.full((2,), i - 4.0))), values(fn(torch.full((2,), i - 4.0))))
    from concurrent.futures import ThreadPoolExecutor

    xs = [torch.randn(50) for _ in range(40)]
    expected = [values(fn(x)) for x in xs]
    with ThreadPoolExecutor(4) as pool:
        for a, b in zip(expected, pool.map(compiled, xs)):
            equal(a, values(b))


def test_what_never_repeats_is_told_and_run():
    side = {"n": 0}

    def fn(x):
        side["n"] += 1
        y = x * side["n"]
        return y if y.sum() > 0 else -y

    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match="runs eagerly, because"):
        for i in range(20):
            x = torch.full((2,), 1.0)
            equal(values(compiled(x)), values(x * (i + 1)))


# -- backward outside ----------------------------------------------------------------------------------


class Reader(nn.Module):
    """A module that looks at its values; its backward comes later."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 3)
        self.seen = []

    def forward(self, x):
        h = torch.tanh(self.a(x))
        self.seen.append(h.mean().item())
        if h.max() > 0.5:
            h = h * 0.5
        return self.b(h)


def test_module_whose_backward_comes_later():
    torch.manual_seed(0)
    eager, other = Reader(), Reader()
    other.load_state_dict(eager.state_dict())
    compiled = torch.compile(other)
    for i in range(14):
        xs = [torch.randn(5, 4) for _ in range(3 if i % 4 == 3 else 1)]
        for net, call in ((eager, eager), (other, compiled)):
            net.zero_grad()
            outs = [call(x) for x in xs]  # several forwards may wait for their backward
            for out in reversed(outs):
                out.square().sum().backward()
        for p, q in zip(eager.parameters(), other.parameters()):
            np.testing.assert_allclose(q.grad.numpy(), p.grad.numpy(), rtol=1e-5, atol=1e-6)
        assert eager.seen == pytest.approx(other.seen)
    assert compiled._compiled.parts


def test_errors_because_of_values_come_from_their_lines():
    """Fuzz seed 7000429: what may raise is not put off until `try` is left."""
    mat = torch.eye(3) * 2
    table = torch.arange(6.0).reshape(3, 2)

    def fn(x, at):
        y = x + 1
        try:
            y = y + torch.linalg.cholesky(mat * x.sum())
        except Exception:
            y = y * 0.5
        try:
            rows = torch.nn.functional.embedding(at, table)
        except Exception:
            rows = table * 0
        return y, rows.sum(), y * 2

    step = Calls(fn)
    for i in range(14):
        x = torch.ones(3, 3) * (-1 if i in (6, 9) else 1 + i)
        at = torch.tensor([0, 9 if i in (7, 9) else 1])
        equal(values(fn(x, at)), values(step(x, at)))


def test_an_argument_over_memory_that_another_segment_changes():
    """Fuzz seed 7004883: inputs are looked at again where a stretch goes on by another segment."""

    def run(wrap):
        torch.manual_seed(0)
        world = {"buf": torch.randn(3, 4)}

        def fn(x, y):
            first = y * 1
            first.view(2, 6)[0].add_(x.view(-1)[:6])
            world["buf"].add_(0.5)
            return first, y * 3.0

        step, found = wrap(fn), []
        for i in range(12):
            if i == 3:
                world["buf"] = torch.randn(3, 4)
            x, y = torch.randn(6, 4).split(3)
            if i in (8, 11):
                y = world["buf"][:3]
            found.append(values(step(x, y)))
        return found

    equal(run(lambda fn: fn), run(Calls))


def test_a_view_of_a_result_that_is_a_view_itself_stays_as_it_is():
    """`repeat` answers a view of the array that owns its memory, and so does every view of that view."""

    def run(wrap):
        step, kept = wrap(lambda x: x.repeat(1, 2)), []
        for i in range(9):
            kept.append(step(torch.full((2, 2), float(i)))[1:].detach())
        return kept

    equal(values(run(lambda fn: fn)), values(run(Calls)))
