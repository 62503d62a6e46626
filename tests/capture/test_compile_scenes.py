"""Some 700 scenes around compiled functions, of kinds that once gave other results than eager calls."""

from __future__ import annotations

import operator
import os
import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import compile_scenes_arguments  # noqa: F401 - adds its scenes
import compile_scenes_attacked
import compile_scenes_classes  # noqa: F401 - adds its scenes
import compile_scenes_derivatives  # noqa: F401 - adds its scenes
import compile_scenes_identity  # noqa: F401 - adds its scenes
import compile_scenes_library  # noqa: F401 - adds its scenes
import compile_scenes_machinery  # noqa: F401 - adds its scenes
import compile_scenes_names  # noqa: F401 - adds its scenes
import compile_scenes_outside  # noqa: F401 - adds its scenes
import compile_scenes_patched  # noqa: F401 - adds its scenes
import compile_scenes_reads  # noqa: F401 - adds its scenes
import compile_scenes_results  # noqa: F401 - adds its scenes
import compile_scenes_state  # noqa: F401 - adds its scenes
import compile_scenes_training  # noqa: F401 - adds its scenes
import compile_scenes_users  # noqa: F401 - adds its scenes
import compile_scenes_values  # noqa: F401 - adds its scenes
import compile_scenes_world  # noqa: F401 - adds its scenes
import rushlight as torch
from compile_scenes import KINDS, SCENES, X, run
from traced import Calls


@pytest.mark.parametrize("name", SCENES)
def test_compiled_tells_the_same(name):
    make, made = SCENES[name], []
    expected = run(make, lambda fn: fn)
    got = run(make, lambda fn: made.append(torch.compile(fn)) or made[-1])
    for i, (a, b) in enumerate(zip(expected, got, strict=True)):
        assert a == b, f"step {i} of {name}"
    if KINDS.get(name) == "program":
        assert sum(r.runs for r in made[0].replays), made[0].why()
    if KINDS.get(name) == "traced":
        assert not made[0].replays and made[0].why() is not None


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind == "traced"])
def test_fullgraph_raises_where_python_has_to_run(name):
    with warnings.catch_warnings(), pytest.raises((RuntimeError, torch.base.errors.HostReadError)):
        warnings.simplefilter("ignore")
        for _ in SCENES[name](lambda fn: _raising(torch.compile(fn, fullgraph=True))):
            pass


def _raising(compiled):
    """Its calls raise here, not into what a scene tells."""
    for i in range(7):
        compiled(X(i))
    return compiled


def test_numbers_that_are_only_handed_back_are_replayed():
    """Returned, in tuples and dicts, by way of variables, helpers and `with`: no code looks at them."""

    def helper(x):
        return x.sum().item()

    def blocks(x):
        loss = x.mean().item()
        with torch.no_grad():
            return {"loss": loss, "n": (x > 0).sum().item()}, [helper(x)], x * 2

    step = torch.compile(blocks)
    for i in range(6):
        x = torch.arange(6.0) + i
        found, (total,), y = step(x)
        assert found == {"loss": 2.5 + i, "n": 5 + (i > 0)} and total == 15 + 6 * i
        assert type(found["n"]) is int and type(total) is float and torch.equal(y, x * 2)
    assert step.why() is None and step.replays[0].runs >= 3


def test_views_of_what_the_caller_has_are_replayed():
    """A result that is a view of an argument, of a parameter, of another result knows of both sides' writes."""
    w = torch.ones(2, 3)
    step = torch.compile(lambda x: (x.view(-1), w[0], (y := x * 2), y[1]))
    for i in range(6):
        x = torch.arange(6.0).reshape(2, 3).clone()
        flat, row, y, part = step(x)
        flat[0], row[0], part[0] = 9, i, 7
        assert x[0, 0] == 9 and w[0, 0] == i and y[1, 0] == 7
        assert flat._base is x and row._base is w and part._base is y and x._version == 1
    assert step.why() is None and step.replays[0].runs >= 3


def test_gradients_made_while_an_earlier_result_waits_for_its_backward():
    """Fuzz seed 39: the second of two programs at work left the first one's gradients."""

    def make():
        torch.manual_seed(0)
        net, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 2)

        def step(x):
            net.zero_grad()
            (net(x) ** 2).sum().backward()
            return head(x)

        return net, step

    (a, plain), (b, step) = make(), make()
    step, kept = torch.compile(step), []
    for i in range(7):
        x = torch.arange(6.0).reshape(2, 3) + i
        kept = [*kept[-2:], plain(x), step(x)]
        assert torch.equal(a.weight.grad, b.weight.grad) and torch.equal(a.bias.grad, b.bias.grad)
    assert len(step.replays[0].pool) > 1


def test_containers_with_classes_of_their_own_come_back():
    class Out(dict):
        pass

    def fn(x):
        out = Out(a=x * 2)
        out.name = "two"
        return out

    step = torch.compile(fn)
    for i in range(6):
        out = step(torch.ones(2) * i)
        assert type(out) is Out and out.name == "two" and out["a"].tolist() == [2.0 * i] * 2
    assert step.replays


def test_containers_with_fields_of_their_own_are_not_made_again() -> None:
    """A defaultdict's factory, and that of a class of the user's, lie beside the items."""
    import collections

    class Counted(collections.defaultdict):
        pass

    class Plain(collections.Counter):
        pass

    from rushlight.capture.state.tree import _parts

    assert _parts(collections.defaultdict(int, a=1)) is None and _parts(Counted(int, a=1)) is None
    assert _parts(Plain(a=1)) == [("a", 1)] and _parts(collections.OrderedDict(a=1)) == [("a", 1)]


def test_results_that_nobody_differentiates_are_left_out_of_the_backward() -> None:
    """Zeros for them would be gradients where eager calls leave None."""
    a, b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    step = torch.compile(lambda x: (a(x).tanh(), b(x)))
    for i in range(7):
        a.weight.grad = None
        step(torch.ones(2, 3) * i)[0].sum().backward()
        assert a.weight.grad is not None and b.weight.grad is None
    assert step.why() is None and step.replays[0].runs >= 3
    assert step.replays[0].backward.used == [0]


def test_a_graph_that_cannot_be_made_again_is_told_once() -> None:
    """A second derivative of a replay that drew random numbers; what was recorded did not ask for one."""
    net = torch.nn.Linear(3, 3)
    step = torch.compile(lambda x: torch.nn.functional.dropout(net(x), 0.5).exp())
    x = torch.ones(2, 3, requires_grad=True)
    for _ in range(5):
        step(x).sum().backward()
    assert step.replays
    with pytest.raises(RuntimeError, match="because it draws random numbers; later calls run as"):
        torch.autograd.grad(step(x).sum(), x, create_graph=True)
    with pytest.warns(UserWarning, match="differentiated with create_graph=True"):
        (g,) = torch.autograd.grad(step(x).sum(), x, create_graph=True)
    assert g.requires_grad and not step.replays


def test_a_graph_that_is_made_later_has_the_random_numbers_of_its_call() -> None:
    """A decoder with dropout, of whose two results now one, now both are differentiated."""
    F = torch.nn.functional

    def train(wrap: Any) -> list[Any]:
        torch.manual_seed(3)
        net = torch.nn.Linear(3, 3)
        step = wrap(lambda x: (F.dropout(net(x), 0.5), torch.rand(3) * net(x[:2])))
        found: list[Any] = []
        for i in range(12):
            x = torch.full((4, 3), 1.0 + i, requires_grad=True)
            out, other = step(x)
            found.append(torch.rand(2))  # drawn between the call and its backward
            loss = out.exp().sum() if i in (7, 9) else (out.exp().sum() + other.sum())
            found += torch.autograd.grad(loss, [x, *net.parameters()])
            found.append(torch.rand(2))
        return found

    for a, b in zip(train(lambda f: f), train(torch.compile)):
        torch.testing.assert_close(a, b)


def test_views_of_a_tensor_that_wants_gradients_by_now() -> None:
    """Fuzz seed 7000119: what a view is a view of decides whether it may be written."""
    base = torch.zeros(3, 2)
    part = base[1:]
    step = torch.compile(lambda: part.add_(1.0))
    other = torch.zeros(3, 2)
    given = torch.compile(lambda v: v.add_(1.0))
    for i in range(5):
        step()
        given(other[1:])
    old = other[1:]
    base.requires_grad_()
    other.requires_grad_()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            step()
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            given(old)
    assert base[1, 0] == 5 and other[1, 0] == 5


def test_views_whose_base_got_a_history() -> None:
    """A view that was plain when it was made asks its base as soon as it is used."""
    p = torch.ones(3, requires_grad=True)
    double = torch.compile(lambda v: v * 2)
    for i in range(8):
        base = torch.ones(3) * (i + 1)
        view = base.view(3)
        if i > 4:
            base.mul_(p)
        out = double(view)
        assert out.requires_grad is (i > 4)
        if i > 4:
            p.grad = None
            out.sum().backward()
            assert p.grad.tolist() == [2.0 * (i + 1)] * 3


@pytest.mark.filterwarnings("ignore:compile:UserWarning")
def test_arguments_that_lie_in_memory_which_a_view_of_it_changes() -> None:
    """Fuzz seed 1101481."""
    buf = torch.zeros(3, 2)
    part = buf[1:]

    def fn(x):
        part.add_(0.25)
        return torch.relu(x), [x]

    step = torch.compile(fn)
    for i in range(9):
        x = buf if i in (4, 6) else torch.ones(3, 2) * i
        y, (same,) = step(x)
        assert same is x and torch.equal(y, x) and part[0, 0] == 0.25 * (i + 1)


def test_a_split_step_whose_argument_is_a_parameter_that_it_changes() -> None:
    """Fuzz seed 1102336."""

    def make(wrap):
        torch.manual_seed(0)
        p = torch.nn.Parameter(torch.randn(3, 4))
        opt = torch.optim.SGD([p], lr=0.05, momentum=0.5)

        def fn(x, y):
            low = y.sort(1)[0]
            bent = low * 1.5
            moved = bent.clone()
            moved.add_(1.25)
            (moved * p).sum().backward()
            opt.step()
            return low, bent, moved, [x]

        step = wrap(fn)
        for i in range(9):
            x = torch.ones(3, 4) * i
            low, bent, moved, (same,) = step(x, x.double().float() if i in (4, 8) else p)
            yield low.tolist(), bent.tolist(), moved.tolist(), p.tolist(), p.grad.tolist()
            assert same is x

    assert list(make(Calls)) == list(make(lambda fn: fn))


def test_derivatives_that_read_what_they_are_given_are_replayed() -> None:
    """Of users' own functions, differentiated outside of the compiled one; others run as they are."""
    step = torch.compile(lambda x: compile_scenes_attacked.Reversed.apply(x, 3.0) + 1)
    for i in range(6):
        x = (torch.arange(4.0) / 2 + i % 2).requires_grad_()
        step(x).sum().backward()
        assert x.grad.tolist() == [-3.0 if v <= 1 else 0.0 for v in x.tolist()]
    assert step.why() is None and step.replays[0].runs >= 3


LAID = {
    "transposed copy": lambda x: x.t().contiguous().t(),  # fuzz seed 7000606
    "transposed": lambda x: (x * 2).t(),
    "with gaps": lambda x: (x * 2)[:, ::2],
    "with gaps, detached": lambda x: (x * 2)[:, ::2].detach(),
    "expanded": lambda x: x.sum(0).expand(4, 4),
    "rows": lambda x: ((h := x * 2)[0], h[1]),
    "split": lambda x: (x * 2).split(2),
    "part": lambda x: (x * 2).chunk(2, 1)[1],
    "diagonal": lambda x: (x @ x.t()).diagonal(),
    "unfolded": lambda x: (x * 2).unfold(1, 2, 1),
    "strided": lambda x: (x * 2).as_strided((2, 2), (1, 2), 1),
    "bits": lambda x: (x * 2).view(torch.int32),
    "differentiable": lambda x: (x.requires_grad_() * 2).t(),
}


@pytest.mark.parametrize("name", LAID)
@pytest.mark.filterwarnings("ignore:compile:UserWarning")
def test_results_lie_in_memory_as_those_of_eager_calls(name: str) -> None:
    def look(v):
        if isinstance(v, tuple):
            return [look(t) for t in v]
        base = None if v._base is None else (tuple(v._base.shape), v._base.tolist())
        size = v.untyped_storage().nbytes()
        return v.stride(), v.storage_offset(), size, v._is_view(), base, v.tolist(), v._version

    compiled = torch.compile(LAID[name])
    for i in range(5):
        x = torch.arange(12.0).reshape(3, 4) + i
        assert look(compiled(x.clone())) == look(LAID[name](x.clone())), i


@pytest.mark.parametrize("fn", [lambda x, y: y.detach(), lambda x, y: (x * y).exp()])
def test_arguments_that_shared_a_version_counter_when_they_were_recorded(fn) -> None:
    """Fuzz seed 7020626: two parts of one tensor first, tensors of their own later."""

    def run(wrap):
        step, told = wrap(fn), []
        for i in range(9):
            x, y = torch.ones(6, 2).split(3) if i < 4 or i == 7 else torch.ones(2, 3, 2).clone()
            if i > 4:
                x, y = x.clone().requires_grad_(), y.clone()
            out = step(x, y)
            try:
                with torch.no_grad():
                    (out if out.grad_fn is None else y if i == 6 else x if i == 8 else i + x).add_(1)
                if out.requires_grad:
                    out.sum().backward()
                told.append((x._version, y._version, out._version, y.tolist()))
            except RuntimeError as error:
                told.append(str(error))
        return told

    assert run(torch.compile) == run(lambda f: f)


def _by_attrgetter():
    class K:
        x = property(operator.attrgetter("_x"))

    o = K()
    o._x = 2.0
    return lambda x: x * o.x


def _by_another_name():
    get, o = getattr, type("K", (), {"v": 2.0})()
    return lambda x: x * get(o, "v")


def _in_an_array():
    v = np.ones(2, [("v", "f8")])[0]
    return lambda x: x * float(v["v"])


def _looking_for_anomalies():
    def fn(x):
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            return x * 2

    return fn


def _differentiable():
    p = torch.nn.Parameter(torch.ones(3))
    opt = torch.optim.Adadelta([p])
    opt.param_groups[0]["differentiable"] = True

    def fn(x):
        opt.zero_grad()
        (x * p).sum().backward()
        opt.step()

    return fn


UNKNOWN = (_by_attrgetter, _by_another_name, _in_an_array, _looking_for_anomalies, _differentiable)


@pytest.mark.parametrize("make", UNKNOWN, ids=lambda make: make.__name__)
def test_what_is_not_known_exactly_raises_with_fullgraph(make) -> None:
    """Scenes show that such functions run with Python; here that somebody is told who asks for one program."""
    step = torch.compile(make(), fullgraph=True)
    with pytest.raises(RuntimeError):
        for _ in range(4):
            step(torch.ones(2, 3))


def test_one_line_names_the_reason():
    words = {}

    def fn(x):
        return x * len(words.setdefault("a", os.getcwd()))

    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match=r"posix.getcwd\(\) at .*test_compile_scenes.py:\d+"):
        for _ in range(3):
            compiled(torch.ones(2))
    assert "getcwd" in compiled.why()


def test_a_generator_of_numpy_that_nobody_asks() -> None:
    """It may lie in a tuple that the function reads; a function that draws from it keeps its Python."""
    settings = namedtuple("settings", "scale draws")(2.0, np.random.default_rng(0))

    @torch.compile
    def plain(x):
        return x * settings.scale

    @torch.compile
    def drawing(x):
        return x * settings.draws.random()

    x = torch.ones(3)
    for _ in range(5):
        assert plain(x).tolist() == [2.0] * 3
    assert plain.why() is None and plain.replays
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len({drawing(x)[0].item() for _ in range(6)}) == 6
    assert "Generator" in drawing.why() or "random" in drawing.why()


def test_a_driver_that_reads_text(tmp_path, monkeypatch) -> None:
    """CuPy reads the headers of a kernel that it compiles, in the middle of trusted code and in C."""
    (tmp_path / "header").write_text("two")
    with open(tmp_path / "header", encoding="utf-8") as header:
        made = {"__name__": "rushlight.core.made", "read": header.read}
        exec(compile("def double(x):\n    read()\n    return x * 2", "<made>", "exec"), made)
        monkeypatch.setattr(torch, "made", made["double"], raising=False)
        fn = torch.compile(lambda x: torch.made(x))
        for i in range(5):
            assert fn(torch.ones(3) * i).tolist() == [2.0 * i] * 3
    assert fn.why() is None and fn.replays


def test_a_driver_that_looks_for_its_files(monkeypatch) -> None:
    """CuPy's compiler asks a package beside it where headers lie, in the middle of trusted code and in C."""
    finder = {"__name__": "cuda.pathfinder.made", "os": os}
    exec(compile("def find():\n    return os.path.join(os.getcwd(), 'include')", "finder.py", "exec"), finder)
    made = {"__name__": "rushlight.core.made", "find": finder["find"]}
    exec(compile("def double(x):\n    find()\n    return x * 2", "<made>", "exec"), made)
    monkeypatch.setattr(torch, "made", made["double"], raising=False)
    fn = torch.compile(lambda x: torch.made(x))
    for i in range(5):
        assert fn(torch.ones(3) * i).tolist() == [2.0 * i] * 3
    assert fn.why() is None and fn.replays


def test_a_users_module_with_a_name_like_a_drivers_is_read() -> None:
    """`cuda.core` or `cudnn` may be anybody's: what it depends on is compared before a replay."""
    for name in ("cudnn", "cuda.core", "cupyish"):
        module = {"__name__": name, "scale": 2.0}
        exec(compile("def double(x):\n    return x * scale", "users.py", "exec"), module)
        fn = torch.compile(module["double"])
        for _ in range(4):
            assert fn(torch.ones(2)).tolist() == [2.0, 2.0]
        module["scale"] = 3.0
        assert fn(torch.ones(2)).tolist() == [3.0, 3.0], name
