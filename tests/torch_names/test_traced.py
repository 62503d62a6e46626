"""jit.trace and export: a run of a model as a program that is called, differentiated, saved and loaded."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import warnings

import pytest

import rushlight as rl
from rushlight import nn
from traced import Calls

MODELS = {
    "linear": lambda: (nn.Linear(3, 4), (rl.randn(2, 3),)),
    "conv": lambda: (
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()).eval(),
        (rl.randn(2, 1, 8, 8),),
    ),
    "transformer": lambda: (nn.TransformerEncoderLayer(8, 2, batch_first=True).eval(), (rl.randn(2, 5, 8),)),
    "lstm": lambda: (nn.LSTM(3, 4), (rl.randn(5, 2, 3),)),
    "embedding": lambda: (nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3), nn.GELU()), (rl.tensor([1, 2]),)),
    "attention": lambda: (nn.MultiheadAttention(8, 2).eval(), (rl.randn(5, 2, 8),) * 3),
    "resnet": lambda: (rl.vision.models.resnet18(num_classes=3).eval(), (rl.randn(1, 3, 32, 32),)),
}


def leaves(out):
    return [x for o in out for x in leaves(o)] if isinstance(out, (tuple, list)) else [out]


@pytest.mark.parametrize("name", MODELS)
def test_models_are_traced_saved_and_loaded(name):
    net, example = MODELS[name]()
    traced = rl.jit.trace(net, example)
    file = io.BytesIO()
    rl.jit.save(traced, file)
    file.seek(0)
    loaded = rl.jit.load(file)
    other = tuple(rl.randn_like(x) if x.is_floating_point() else x.flip(0) for x in example)
    batch = 1 if name in ("lstm", "attention") else 0
    wider = tuple(rl.cat([x, x.flip(batch), x], batch) for x in other)
    for given in (other, wider):  # the program asks for sizes anew
        want = [x.tolist() for x in leaves(net(*given))]
        for program in (traced, loaded):
            assert [x.tolist() for x in leaves(program(*given))] == want
    assert loaded.state_dict().keys() == traced.state_dict().keys()


def test_the_example_itself_is_what_a_traced_function_gets():
    p, seen = nn.Parameter(rl.ones(2)), []

    def program(a, b, c):
        seen.append((a is p, b is p, c[0] is p))
        return a * b + c[0]

    traced = rl.jit.trace(program, (p, p, (p,)), check_trace=False)
    assert seen == [(True, False, False)]  # as in PyTorch, where pyro asks; each place is an input of its own
    assert traced(rl.ones(2), rl.ones(2) * 3, (rl.ones(2) * 5,)).tolist() == [8, 8]


def test_another_batch_size_and_gradients():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    traced = rl.jit.trace(net, rl.randn(2, 3))
    x = rl.randn(7, 3)
    assert traced(x).tolist() == net(x).tolist()
    traced(x).sum().backward()
    assert net[0].weight.grad is not None  # the parameters are the model's own


def test_sizes_are_those_of_the_input_that_comes():
    def fn(x):
        n, (b, c, d) = x.size(0), x.shape
        shapes = (x.view(b, -1), x.new_zeros(x.shape[:-1]), x.expand(2, *x.shape), rl.zeros(n * 2), x[: n // 2])
        numbers = (x.sum() / n, 1.0 / n * x, x.numel() * x, rl.arange(x.shape[0]), x * c**0.5)
        return *shapes, *numbers, x.reshape(-1, c * d), x.new_ones((n,) + x.shape[1:])

    traced = rl.jit.trace(fn, rl.ones(4, 2, 3))
    file = io.BytesIO()
    traced.save(file)
    file.seek(0)
    for program in (traced, rl.jit.load(file)):
        for given in (rl.randn(3, 2, 3), rl.randn(6, 5, 1)):
            for got, want in zip(program(given), fn(given), strict=True):
                assert got.tolist() == want.tolist() and got.dtype is want.dtype


def test_functions_containers_and_attributes():
    @rl.jit.unused
    def fn(x, pair):
        first, second = pair["a"], pair["b"][0]
        return {"sum": x.T @ x + first, "parts": [second.real * 2, x[1:, None], x.to(rl.float64)]}

    traced = rl.jit.trace(fn, (rl.ones(2, 2), {"a": rl.ones(2, 2), "b": (rl.ones(1),)}))
    x, pair = rl.randn(2, 2), {"a": rl.randn(2, 2), "b": (rl.randn(1),)}
    want, got = fn(x, pair), traced(x, pair)
    assert got["sum"].tolist() == want["sum"].tolist()
    assert [p.tolist() for p in got["parts"]] == [p.tolist() for p in want["parts"]]
    assert got["parts"][2].dtype is rl.float64


def test_writes_are_part_of_the_program():
    def fn(x):
        y = x.clone()
        y[0] = 7.0
        y.mul_(2)
        return y + x

    traced = rl.jit.trace(fn, rl.zeros(3))
    assert traced(rl.ones(3)).tolist() == [15.0, 3.0, 3.0]


def test_a_trace_that_holds_a_value_is_refused():
    def reads(x):
        return x * float(x.sum())  # the host reads the value: the trace would keep it

    with pytest.raises(rl.jit.TracingCheckError, match="sanity checks"):
        rl.jit.trace(reads, rl.ones(2))
    assert rl.jit.trace(reads, rl.ones(2), check_trace=False)(rl.ones(2) * 3).tolist() == [6.0, 6.0]
    seen = []
    rl.jit.trace(lambda x: seen.append(rl.jit.is_tracing()) or x + 1, rl.ones(1), check_trace=False)
    assert seen == [True] and not rl.jit.is_tracing()


def test_files_name_public_functions_only():
    traced = rl.jit.trace(lambda x: rl.relu(x), rl.ones(2))
    file = io.BytesIO()
    traced.save(file)
    file.seek(0)
    data = rl.load(file)
    for old, new in (("torch.relu", "os.system"), ("torch.relu", "torch.load")):
        nodes = data["nodes"].replace(old, new)
        bad = io.BytesIO()
        rl.save({**data, "nodes": nodes}, bad)
        bad.seek(0)
        with pytest.raises(RuntimeError, match="no public function"):
            rl.jit.load(bad)
    nodes = json.loads(data["nodes"])
    nodes[1][:4] = ["call_function", "builtins.getattr", {"tuple": [{"node": 0}, "__class__"]}, {"dict": []}]
    bad = io.BytesIO()
    rl.save({**data, "nodes": json.dumps(nodes)}, bad)
    bad.seek(0)
    with pytest.raises(RuntimeError, match="may not read the attribute"):
        rl.jit.load(bad)
    other = io.BytesIO()
    rl.save({"a": 1}, other)
    other.seek(0)
    with pytest.raises(RuntimeError, match="no traced program"):
        rl.jit.load(other)
    with pytest.raises(NotImplementedError, match="was not traced"):
        rl.jit.save(nn.Linear(1, 1), io.BytesIO())


def test_loaded_where_the_classes_are_unknown(tmp_path):
    class Mine(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(rl.ones(2))

        def forward(self, x):
            return (x * self.w).sum()

    rl.jit.save(rl.jit.trace(Mine(), rl.ones(2)), tmp_path / "m.pt")
    code = (
        "import rushlight as rl, sys\n"
        f"m = rl.jit.load({str(tmp_path / 'm.pt')!r})\n"
        "assert m(rl.tensor([2.0, 3.0])).item() == 5.0 and [n for n, _ in m.named_parameters()] == ['w']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_export():
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    program = rl.export.export(net, (rl.randn(2, 3),))
    x = rl.randn(2, 3)
    assert program.module()(x).tolist() == net(x).tolist()
    assert program.graph_signature.parameters == ("0.weight", "0.bias")
    assert [n.op for n in program.graph.nodes].count("call_function") == 2
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(x)
    with pytest.raises(ValueError, match="Expecting `args` to be a tuple"):
        rl.export.export(net, x)
    with pytest.raises(NotImplementedError, match="dynamic_shapes"):
        rl.export.export(net, (x,), dynamic_shapes={"x": {0: rl.export.Dim("n")}})
    file = io.BytesIO()
    rl.export.save(program, file)
    file.seek(0)
    assert rl.export.load(file).module()(x).tolist() == net(x).tolist()


def test_a_kept_view_of_a_strided_view_of_an_earlier_stretch_keeps_its_values():
    """NumPy's as_strided gives arrays whose views refer to them, not to the memory's owner."""

    def step(x):
        t = x * 2.0
        if float(t[0, 0]) < 0:  # a read: what follows is another stretch
            return t, t
        return t, (t + 1, t.unfold(1, 2, 2).reshape(3, 4))[1]

    run, kept = Calls(step), []
    for i in range(12):
        result = run(rl.full((3, 4), float(i)))
        kept.append(result[1].view(-1)[2:7].detach())
        del result
    assert run.launched > 4
    assert [k[0].item() for k in kept] == [2.0 * i for i in range(12)]


def test_results_of_a_program_have_the_versions_of_eager_calls():
    def step(x):
        t = x * 1
        t.t_()
        t.add_(1)
        view = t[:1]
        other = (x + 1).relu_()
        return t, view, other, x * 2

    compiled, x = rl.compile(step), rl.ones(3, 4)
    for _ in range(6):
        want, found = step(x), compiled(x)
        assert [t._version for t in found] == [t._version for t in want]
        found[0].mul_(2)
        assert found[1]._version == found[0]._version
    assert compiled.replays


def test_a_lone_result_of_a_program_has_its_version():
    compiled, x = rl.compile(lambda x: (x * 2).add_(1).mul_(3)), rl.ones(3)
    assert [compiled(x)._version for _ in range(6)] == [2] * 6
    assert compiled.replays


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("kind", ["embedding", "cross_entropy", "embedding_bag"])
def test_positions_that_are_refused_leave_what_eager_calls_leave(kind, given):
    """A kernel that raises behind a step of the optimiser, and one whose result nobody reads."""

    def make(wrap):
        rl.manual_seed(0)
        p, table, places = nn.Parameter(rl.ones(4)), rl.randn(5, 4), rl.tensor([0, 1, 2])
        opt = rl.optim.SGD([p], lr=0.1, momentum=0.9)

        def step(x, where):
            opt.zero_grad()
            (x * p).sum().backward()
            opt.step()
            where = where if given else places
            if kind == "cross_entropy":
                nn.functional.cross_entropy(table[:3], where)
            else:
                f = getattr(nn.functional, kind)
                f(where, table) if kind == "embedding" else f(where, table, rl.tensor([0, 2]))
            return x * 2

        run, told = wrap(step), []
        for i in range(8):
            places[0] = 9 if i in (5, 7) else 0
            try:
                told.append(run(rl.full((4,), float(i)), places.clone()).tolist())
            except (IndexError, RuntimeError) as error:
                told.append(str(error))
            told.append([p.tolist(), p.grad.tolist(), opt.state[p]["momentum_buffer"].tolist()])
        return told

    assert make(lambda f: f) == make(rl.compile)


def test_a_view_of_an_argument_that_is_a_view_of_another_one():
    """What is a view of y stays one of y where y is no view of x any more."""

    def step(x, y):
        return (x * 2).sum(), y.t().reshape(4, 3).t()

    compiled, told = rl.compile(step), []
    for i in range(14):
        both = rl.arange(24.0).reshape(6, 4) + i
        x = both[:3]
        y = x.view(3, 4) if i % 2 else both[3:]
        if i % 4 == 3:
            x = rl.arange(12.0).reshape(3, 4) + i
            y = x.view(3, 4)
        want, found = step(x, y), compiled(x, y)
        told.append(found[1].tolist() == want[1].tolist())
        assert found[1]._base is want[1]._base
    assert all(told)
    assert compiled.replays


def test_a_kept_view_of_an_earlier_stretch_that_is_the_result_itself():
    def step(x):
        t = x.double().float()
        if float(x[0, 0]) < 0:  # a read: what follows is another stretch
            return t
        return (t * 3, t.t().detach().t())[1]

    run, kept = Calls(step), []
    for i in range(12):
        result = run(rl.full((3, 4), float(i)))
        kept.append(result.detach())
        del result
    assert run.launched > 4
    assert [k[0, 0].item() for k in kept] == [float(i) for i in range(12)]


@pytest.mark.parametrize("effect", ["draw", "write", "nothing"])
def test_errors_that_a_function_catches_itself(effect):
    """What came before has happened once, whatever the handler does."""

    def make(wrap):
        rl.manual_seed(0)
        whole, count = rl.eye(4) * 4, rl.zeros(1)

        def step(x):
            t = x + rl.randn_like(x) if effect == "draw" else x * 2
            if effect == "write":
                count.add_(1)
            try:
                return t, rl.linalg.cholesky(whole)[:3] + t
            except RuntimeError:
                return t, t * 0.5

        run, told = wrap(step), []
        for i in range(9):
            if i in (5, 7):
                whole.neg_()
            told += [r.tolist() for r in run(rl.full((3, 4), float(i)))]
        return [*told, count.item(), rl.rand(2).tolist()]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert make(lambda f: f) == make(rl.compile)


def test_where_errors_are_caught():
    from rushlight.capture.record.flow import _handled

    def plain(x):
        return [v + 1 for v in x]

    def managed(x):
        with rl.no_grad():
            return x + 1

    def tried(x):
        try:
            return x + 1
        except ValueError:
            return x

    def ended(x):
        try:
            return x + 1
        finally:
            x.zero_()

    found = [bool(_handled(f.__code__)) for f in (plain, managed, tried, ended)]
    assert found == [False, False, True, True]


POSITIONS = {
    "embedding": lambda at, table: nn.functional.embedding(at, table),
    "cross_entropy": lambda at, table: nn.functional.cross_entropy(table[:3], at),
    "nll_loss": lambda at, table: nn.functional.nll_loss(table[:3], at),
    "index": lambda at, table: table[at],
    "gather": lambda at, table: table.gather(0, at.view(-1, 1)),
}


@pytest.mark.parametrize("names", ["two", "part", "inner", "one", "given"])
@pytest.mark.parametrize("kind", POSITIONS)
def test_positions_that_a_split_function_changes_before_it_looks(kind, names):
    """They are refused on their line, and not where the program runs, under whatever name they were changed."""

    def make(wrap):
        rl.manual_seed(0)
        table, own = rl.randn(4, 4), rl.tensor([0, 1, 2])
        view, part, told = own.view(-1), own[1:], []

        def step(x, at):
            y = x * 2
            a = {"part": part, "given": at}.get(names, own)
            a.add_(1)
            b = {"two": view, "inner": own.view(-1), "given": at}.get(names, own)
            told.append("before")
            try:
                y = y + POSITIONS[kind](b, table).sum()
                told.append("behind")
            except (IndexError, RuntimeError) as error:
                told.append(str(error))
            float(y[0])
            return y + 1

        run = wrap(step)
        for i in range(14):
            own.copy_(rl.tensor([0, 1, 5 if i in (9, 11) else 2]))
            at = own.clone()
            told.append([run(rl.full((4,), float(i)), at).tolist(), at.tolist(), own.tolist()])
        return told

    assert make(lambda f: f) == make(Calls)


def test_what_runs_at_once_reads_nothing_that_is_about_to_change():
    """Fuzz seed 9100225: one argument is a window of memory that the path changes under the other's name."""

    def make(wrap):
        def step(x, y, scale):
            y.mul_(2)
            t = x * scale  # another number each time: run at once
            return (t + 1).tanh(), y.tanh() + 1

        run, told = wrap(step), []
        for i in range(16):
            whole = (rl.arange(24.0).reshape(6, 4) + i) / 16
            y = whole[1:4] if i in (9, 12) else whole[3:]
            x = whole[:3] if i in (9, 12) else rl.ones(3, 4) + i
            told.append([t.tolist() for t in run(x, y, 1.0 + i / 8)] + [whole.tolist()])
        return told

    calls = []
    assert make(lambda f: f) == make(lambda f: calls.append(Calls(f)) or calls[0])
    assert calls[0].launched > 4


class Optional(nn.Module):
    def forward(self, x, y=None):
        return x * 2 if y is None else x + y


class Between(nn.Module):
    def forward(self, x, y=None, by=2):
        return x * by if y is None else x + y


@pytest.mark.filterwarnings("ignore:jit.script")
def test_a_scripted_file_takes_no_argument_of_which_its_python_asks_whether_it_is_none():
    file = io.BytesIO()
    rl.jit.script(Optional()).save(file)
    file.seek(0)
    loaded = rl.jit.load(file)
    assert loaded(rl.ones(2)).tolist() == [2, 2]
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3"):
        loaded(rl.ones(2), rl.ones(2))
    with pytest.raises(rl.base.errors.NotYet, match="behind one that may be None"):
        rl.jit.script(Between()).save(io.BytesIO())
