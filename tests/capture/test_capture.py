"""compile as users meet it: functions, methods, modules, backward outside, programs to look at."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings
import xml.dom.minidom

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

CALLS = 5


def same(a, b):
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def small_net():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(4 * 9, 5), nn.Dropout(0.3), nn.Linear(5, 3),
    )  # fmt: skip


# -- modules whose backward comes later ----------------------------------------------------------------


def test_module_forward_and_backward_outside():
    plain = small_net()
    other = copy.deepcopy(plain)
    compiled = torch.compile(other)
    opts = [torch.optim.Adam(m.parameters(), lr=1e-2) for m in (plain, other)]
    for i in range(8):
        x, y = torch.randn(4, 2, 8, 8), torch.randint(0, 3, (4,))
        losses = []
        for module, opt in zip((plain, compiled), opts):
            torch.manual_seed(i)
            opt.zero_grad()
            out = module(x)
            loss = F.cross_entropy(out, y)
            loss.backward()
            opt.step()
            losses.append(loss)
        same(*losses)
        for p, q in zip(plain.state_dict().values(), other.state_dict().values()):
            same(p, q)
    assert compiled._compiled.replays


def test_optimized_module_is_a_module():
    inner = small_net()
    compiled = torch.compile(inner)
    assert isinstance(compiled, nn.Module)
    assert compiled._orig_mod is inner
    assert [n for n, _ in compiled.named_parameters()][0] == "_orig_mod.0.weight"
    assert len(list(compiled.parameters())) == len(list(inner.parameters()))
    compiled.eval()
    assert not inner.training
    x = torch.randn(2, 2, 8, 8)
    for _ in range(CALLS):
        same(inner(x), compiled(x))


def test_optimized_module_passes_questions_on():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(2, 2)
            self.gain = 2.0

        def forward(self, x):
            return self.lin(x) * self.gain

        def extra(self):
            return "extra"

    model = Model()
    compiled = torch.compile(model)
    assert compiled.extra() == "extra" and compiled.lin is model.lin
    compiled.gain = 3.0
    assert model.gain == 3.0
    assert compiled.training
    compiled.eval()
    assert not compiled.training and not model.training and not model.lin.training
    state = compiled.state_dict()
    assert list(state) == ["_orig_mod.lin.weight", "_orig_mod.lin.bias"]
    compiled.load_state_dict({k: v + 1 for k, v in state.items()})


def test_copies_and_pickles():
    import pickle

    compiled = torch.compile(nn.Linear(3, 2))
    x = torch.randn(4, 3)
    for _ in range(4):
        compiled(x)
    for twin in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert twin._orig_mod is not compiled._orig_mod
        with torch.no_grad():
            twin._orig_mod.weight.add_(1)
        for _ in range(4):
            same(twin(x), twin._orig_mod(x))
        assert twin._compiled.fn is twin._orig_mod
        same(compiled(x), compiled._orig_mod(x))


def test_module_compile_in_place():
    plain = nn.Linear(3, 2)
    other = copy.deepcopy(plain)
    other.compile()
    for _ in range(CALLS):
        x = torch.randn(4, 3)
        same(plain(x), other(x))


def test_several_forwards_before_their_backward():
    plain = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    other = copy.deepcopy(plain)
    compiled = torch.compile(other)
    for i in range(6):
        xs = [torch.randn(2, 3) for _ in range(3)]
        for module in (plain, compiled):
            module.zero_grad()
            outs = [module(x) for x in xs]
            (outs[0].sum() * 2 + (outs[1] ** 2).sum() + outs[2].mean()).backward()
        for p, q in zip(plain.parameters(), other.parameters()):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-6, atol=1e-6)


def test_gradient_of_arguments():
    fn = lambda x, w: (x * w).tanh().sum(1)  # noqa: E731
    compiled = torch.compile(fn)
    for _ in range(CALLS):
        x = torch.randn(3, 4, requires_grad=True)
        w = torch.randn(4, requires_grad=True)
        base = torch.randn(3, 4, requires_grad=True)
        for f in (fn, compiled):
            for t in (x, w, base):
                t.grad = None
            f(x + base, w).sum().backward()  # one argument is no leaf
            f(x, w).pow(2).sum().backward()
            found = [t.grad.clone() for t in (x, w, base)]
            if f is fn:
                expected = found
        for a, b in zip(expected, found):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    assert len(compiled.replays) == 2


def test_several_results_of_which_one_is_used():
    lin = nn.Linear(3, 3)
    compiled = torch.compile(lambda x: (lin(x), lin(x).exp(), x + 1))
    for i in range(CALLS):
        x = torch.randn(2, 3)
        lin.zero_grad()
        compiled(x)[i % 2].sum().backward()
        found = lin.weight.grad.clone()
        lin.zero_grad()
        (lin(x), lin(x).exp())[i % 2].sum().backward()
        np.testing.assert_allclose(lin.weight.grad.numpy(), found.numpy(), rtol=1e-6)
        assert not compiled(x)[2].requires_grad


def test_retain_graph_and_second_backward():
    lin = nn.Linear(3, 2)
    compiled = torch.compile(lambda x: lin(x).tanh())
    x = torch.randn(4, 3)
    for _ in range(CALLS):
        lin.zero_grad()
        y = compiled(x).sum()
        y.backward(retain_graph=True)
        once = lin.weight.grad.clone()
        y.backward()
        np.testing.assert_allclose(lin.weight.grad.numpy(), 2 * once.numpy(), rtol=1e-6)
        with pytest.raises(RuntimeError, match="a second time"):
            y.backward()


def test_parameter_changed_between_forward_and_backward():
    lin = nn.Linear(3, 3)
    compiled = torch.compile(lambda x: lin(lin(x)))
    for _ in range(4):
        compiled(torch.randn(2, 3)).sum().backward()
    y = compiled(torch.randn(2, 3)).sum()
    with torch.no_grad():
        lin.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_result_changed_in_place_before_backward():
    lin = nn.Linear(3, 3)
    compiled = torch.compile(lambda x: lin(x).tanh())
    for _ in range(CALLS):
        x = torch.randn(2, 3)
        lin.zero_grad()
        (lin(x).tanh() * 2).sum().backward()
        expected = lin.weight.grad.clone()
        lin.zero_grad()
        try:
            compiled(x).mul_(2).sum().backward()
        except RuntimeError as error:  # eager calls: tanh needs its result as it was
            assert "modified by an inplace operation" in str(error)
            continue
        np.testing.assert_allclose(lin.weight.grad.numpy(), expected.numpy(), rtol=1e-6)
    assert compiled.replays


def test_double_backward_of_a_replay():
    """The function makes the graph once more, and from then on runs as it is."""
    compiled = torch.compile(lambda x: x.exp())
    for _ in range(4):
        x = torch.randn(3, requires_grad=True)
        y = compiled(x)
    assert compiled.replays
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.equal(g, y) and torch.equal(h, y)
    with pytest.warns(UserWarning, match="create_graph=True"):
        compiled(x)


def test_hook_on_an_inner_gradient_is_told():
    lin = nn.Linear(3, 3)

    def fn(x):
        h = lin(x)
        h.register_hook(lambda g: g * 2)
        return h.sum()

    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match="a hook waits"):
        for _ in range(4):
            compiled(torch.randn(2, 3)).backward()


# -- forms of calling ----------------------------------------------------------------------------------


def test_decorator_with_and_without_arguments():
    @torch.compile
    def double(x):
        """Twice."""
        return x * 2

    @torch.compile(fullgraph=True, mode="max-autotune", dynamic=False)
    def triple(x):
        return x * 3

    for _ in range(CALLS):
        same(double(torch.ones(2)), torch.full((2,), 2.0))
        same(triple(torch.ones(2)), torch.full((2,), 3.0))
    assert double.__name__ == "double" and double.__doc__ == "Twice."


def test_methods():
    class Thing:
        def __init__(self, factor):
            self.factor = factor

        @torch.compile
        def scale(self, x):
            return x * self.factor

    two, five = Thing(2.0), Thing(5.0)
    for _ in range(CALLS):
        same(two.scale(torch.ones(2)), torch.full((2,), 2.0))
        same(five.scale(torch.ones(2)), torch.full((2,), 5.0))


def test_trees_of_arguments_and_results():
    def fn(batch, *, weights):
        out = {"a": batch["x"] * weights[0], "b": [batch["x"] + weights[1]]}
        return out, (1, "label", None)

    compiled = torch.compile(fn)
    for i in range(CALLS):
        batch = {"x": torch.full((2,), float(i)), "name": "n"}
        weights = (torch.ones(2) * 2, torch.ones(2))
        got, rest = compiled(batch, weights=weights)
        want, _ = fn(batch, weights=weights)
        same(got["a"], want["a"])
        same(got["b"][0], want["b"][0])
        assert rest == (1, "label", None)
    assert compiled.replays


def test_not_callable():
    with pytest.raises(RuntimeError, match="needs a function or a module"):
        torch.compile(3)
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(lambda x: x, mode="default", options={})


def test_failure_inside_the_compiler_falls_back(monkeypatch):
    from rushlight.capture.replay import replay

    def broken(program):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(replay, "optimise", broken)
    compiled = torch.compile(lambda x: x + 1)
    with pytest.warns(UserWarning, match="runs eagerly, because ZeroDivisionError: a bug"):
        for i in range(CALLS):
            same(compiled(torch.full((2,), float(i))), torch.full((2,), i + 1.0))
    assert "a bug" in compiled.why()


def test_autocast_is_part_of_the_key():
    lin = nn.Linear(4, 4)
    compiled = torch.compile(lambda x: lin(x))
    x = torch.randn(2, 4)
    with torch.no_grad():
        for _ in range(4):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert compiled(x).dtype == torch.bfloat16
                lin.weight.add_(0.1)
                same(compiled(x).float(), lin(x).float())
            assert compiled(x).dtype == torch.float32
            same(compiled(x), lin(x))


# -- looking at it -------------------------------------------------------------------------------------


def training_step():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile
    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        return loss

    return step


def test_program_can_be_printed_and_drawn(tmp_path):
    step = training_step()
    with pytest.raises(RuntimeError, match="no program yet"):
        step.program()
    for _ in range(CALLS):
        step(torch.randn(5, 4), torch.randint(0, 3, (5,)))
    text = str(step.program())
    assert "sgd_update" in text and "net.0.weight" in text and "test_capture.py" in text
    path = tmp_path / "step.svg"
    step.draw(str(path))
    picture = xml.dom.minidom.parse(str(path))
    boxes = picture.getElementsByTagName("rect")
    assert len(boxes) > len(step.program())


def test_replay_makes_fewer_calls_than_were_recorded():
    step = training_step()
    for _ in range(CALLS):
        step(torch.randn(5, 4), torch.randint(0, 3, (5,)))
    history = dict(step.program().history)
    assert history["dead code"] < history["recorded"]


# -- torch.compiler ------------------------------------------------------------------------------------


def test_is_compiling():
    seen = []

    def fn(x):
        seen.append(torch.compiler.is_compiling())
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.compile(fn)(torch.ones(1))
    fn(torch.ones(1))
    assert seen == [True, False]


def test_stances():
    compiled = torch.compile(lambda x: x + 1)
    with torch.compiler.set_stance("force_eager"):
        for _ in range(CALLS):
            compiled(torch.ones(1))
    assert not compiled.replays
    for _ in range(CALLS):
        compiled(torch.ones(1))
    assert compiled.replays
    torch.compiler.reset()
    assert not compiled.replays
    with pytest.raises(RuntimeError, match="stance"):
        torch.compiler.set_stance("loud")


def test_disable():
    @torch.compiler.disable
    def inner(x):
        return x * 2

    compiled = torch.compile(lambda x: inner(x) + 1)
    with pytest.warns(UserWarning, match="marked compiler.disable"):
        for _ in range(CALLS):
            same(compiled(torch.ones(2)), torch.full((2,), 3.0))


def test_recordings_hold_no_memory():
    """A kind of arguments that came once must not keep its activations alive."""
    import gc
    import weakref

    compiled = torch.compile(lambda x: ((x * 2) + 1).sum())
    x = torch.ones(100)
    seen = []

    def spy(kernel, arrays, attrs, call):
        out = call()
        seen.extend(weakref.ref(o) for o in (out if isinstance(out, tuple) else (out,)))
        return out

    from rushlight.runtime.door import listening

    with listening(spy):
        compiled(x)
    gc.collect()
    assert len(seen) == 3
    assert all(ref() is None for ref in seen)


def test_compiled_functions_are_freed():
    import gc
    import weakref

    def make():
        net = nn.Linear(3, 2)
        step = torch.compile(lambda x: net(x).sum())
        for _ in range(4):
            step(torch.ones(2, 3)).backward()
        return weakref.ref(net), step

    ref, step = make()
    assert step.replays
    del step
    gc.collect()
    assert ref() is None


def test_a_training_step_allocates_nothing():
    from rushlight.capture.lower.cpu_into import is_native

    if not is_native("linear"):
        pytest.skip("no native engine")
    step = training_step()
    for _ in range(CALLS):
        step(torch.randn(5, 4), torch.randint(0, 3, (5,)))
    low = step.replays[-1].low
    made = [s for s in step.program().storages if s.kind == "made"]
    outside = [s for s in made if s.number not in low.static]
    assert {s.nbytes for s in outside} <= {4, 5 * 2 * 4}  # the loss the caller keeps, two numbers a row
    assert low.arena_bytes > 0


def test_a_line_typed_at_a_prompt_is_named():
    code = """import rushlight as torch
step = torch.compile(lambda t: t * 2 if t.sum().item() > 0 else t, fullgraph=True)
try:
    step(torch.ones(2))
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=True)
    assert "at <stdin>:2" in done.stdout
