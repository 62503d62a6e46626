"""torch.fx: models traced into graphs that say, print and compute what PyTorch's say, print and compute."""

from __future__ import annotations

import copy
import io
import math
import operator
import pickle
import warnings

import pytest

import rushlight
import rushlight.fx
import rushlight.nn.functional
from rushlight.fx.passes.shape_prop import ShapeProp

torch = pytest.importorskip("torch")

BOTH = pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])


def whole(lib):
    """A module with most of what a graph can hold."""

    class M(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = lib.nn.Linear(3, 4)
            self.w = lib.nn.Parameter(lib.ones(4))
            self.register_buffer("b", lib.ones(4))
            self.seq = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Linear(4, 4))

        def forward(self, x, y=2, *, z=None):
            a = self.lin(x) + self.w * self.b
            a = lib.nn.functional.relu(a, inplace=True)
            c, d = lib.chunk(a, 2, dim=1)
            e = lib.cat([c, d], dim=-1).sum(dim=-1, keepdim=True)
            f = self.seq(a)[:, 1:3]
            g = -f.t().max().sigmoid() + lib.ones(2)
            return {"o": (e, f), "g": g.shape[0], "h": y + 1, "k": 1 / (g**2), "m": [self.w.t() @ a.T]}

    with lib.random.fork_rng() if hasattr(lib.random, "fork_rng") else lib.no_grad():
        lib.manual_seed(0)
        return M()


FUNCTIONS = {
    "arithmetic": lambda t: lambda x, y: (x + y) * 2 - y / x // 3 % 5 @ x,
    "reflected": lambda t: lambda x: 1 + 2 - (3 / x) + 2**x,
    "methods": lambda t: lambda x: x.relu().view(-1, 2).transpose(0, 1).mean(dim=1),
    "attributes": lambda t: lambda x: x.shape[0] + x.size(1) + x.dim(),
    "slices": lambda t: lambda x: x[:, 1:, ..., None, 0],
    "lists": lambda t: lambda x: t.stack([x, x + 1, t.cat((x, x))], dim=0),
    "dtype": lambda t: lambda x: x.to(t.float64).sum(dtype=t.int64),
    "keywords": lambda t: lambda x: t.sum(input=x, dim=-1),
    "names": lambda t: lambda x: t.max(t.min(t.sum(x, 0, True)), t.abs(x)),
    "defaults": lambda t: lambda x, scale=2.0, flag=True: x * scale,
    "comparing": lambda t: lambda x: t.where((x > 0) & ~(x == 1), x, -x),
    "unused": lambda t: lambda x, y: (x.exp(), x.log())[0],
    "unpacking": lambda t: lambda x: (lambda a, b: a * b)(*[x.sin(), x.cos()]),
    "nothing": lambda t: lambda x: None,
    "in place": lambda t: lambda x: x.add_(1).mul_(2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_the_same_code(name):
    ours, theirs = [lib.fx.symbolic_trace(FUNCTIONS[name](lib)) for lib in (rushlight, torch)]
    assert ours.code == theirs.code
    assert str(ours.graph).replace("rushlight", "torch") == str(theirs.graph)


def test_a_module_gives_the_same_code_and_text():
    ours, theirs = [lib.fx.symbolic_trace(whole(lib)) for lib in (rushlight, torch)]
    assert ours.code == theirs.code
    assert str(ours) == str(theirs)
    assert str(ours.graph) == str(theirs.graph)
    assert [n.name for n in ours.graph.nodes] == [n.name for n in theirs.graph.nodes]


def test_a_traced_module_computes_and_trains():
    net = whole(rushlight)
    traced = rushlight.fx.symbolic_trace(net)
    x = rushlight.randn(5, 3)
    want, got = net(x), traced(x)
    assert got["o"][1].tolist() == want["o"][1].tolist() and got["g"] == want["g"]
    assert traced(x, 5)["h"] == 6
    assert dict(traced.named_parameters()).keys() == dict(net.named_parameters()).keys()
    optimizer = rushlight.optim.SGD(traced.parameters(), lr=0.1)
    got["o"][0].sum().backward()
    optimizer.step()
    assert net(x)["o"][1].tolist() != want["o"][1].tolist()  # the parameters are the model's own


@BOTH
def test_an_interpreter_sees_every_node(lib):
    traced = lib.fx.symbolic_trace(whole(lib))
    seen = []

    class Shown(lib.fx.Interpreter):
        def call_function(self, target, args, kwargs):
            seen.append(target.__name__)
            return super().call_function(target, args, kwargs)

        def call_module(self, target, args, kwargs):
            return super().call_module(target, args, kwargs) * (0 if target == "lin" else 1)

    out = Shown(traced).run(lib.randn(2, 3))
    assert seen[:5] == ["mul", "add", "relu", "chunk", "getitem"]
    assert out["o"][0].flatten().tolist() == [4.0, 4.0]


@BOTH
def test_a_transformer_writes_another_graph(lib):
    def fn(x):
        return lib.sigmoid(x) + lib.exp(x)

    class Swap(lib.fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is lib.exp:
                return lib.neg(*args)
            return super().call_function(target, args, kwargs)

    new = Swap(lib.fx.symbolic_trace(fn)).transform()
    x = lib.tensor([1.0, -2.0])
    assert new(x).tolist() == (lib.sigmoid(x) - x).tolist()
    assert [n.op for n in new.graph.nodes] == ["placeholder", *["call_function"] * 3, "output"]


@BOTH
def test_graphs_are_changed(lib):
    traced = lib.fx.symbolic_trace(lambda x: lib.relu(x) + 1)
    for node in traced.graph.nodes:
        if node.target is lib.relu:
            with traced.graph.inserting_after(node):
                new = traced.graph.call_function(lib.neg, (node.args[0],))
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
        elif node.target is operator.add:
            node.update_arg(1, 5)
    traced.graph.lint()
    traced.recompile()
    assert traced(lib.tensor([2.0])).tolist() == [3.0]
    assert traced.code.endswith("neg = torch.neg(x);  x = None\n    add = neg + 5;  neg = None\n    return add\n    ")
    with pytest.raises(RuntimeError, match="still had 1 users"):
        traced.graph.erase_node(next(iter(traced.graph.nodes)))
    with pytest.raises(TypeError, match="does not support mutation"):
        next(n for n in traced.graph.nodes if n.op == "output").kwargs["a"] = 1


@BOTH
def test_nodes_are_inserted_from_now_on(lib):
    """With `with` or without: each new node stands directly behind the one that was named."""
    graph = lib.fx.symbolic_trace(lambda x: (x + 1) * 2).graph
    add = next(n for n in graph.nodes if n.name == "add")
    with graph.inserting_after(add):
        graph.call_function(lib.relu, (add,))
        graph.call_function(lib.exp, (add,))
    graph.inserting_after(add)
    graph.call_function(lib.sin, (add,))
    names = [n.name for n in graph.nodes]
    assert names == ["x", "add", "sin", "exp", "relu", "mul", "output"]
    graph.lint()


@BOTH
def test_dead_code_goes_and_writes_stay(lib):
    def fn(x):
        x.exp()
        x.add_(1)
        return x * 2

    traced = lib.fx.symbolic_trace(fn)
    assert traced.graph.eliminate_dead_code() is True
    left = [n.name for n in traced.graph.nodes]
    assert "exp" not in left and left[-2:] == ["mul", "output"]


@BOTH
def test_patterns_are_replaced(lib):
    class M(lib.nn.Module):
        def forward(self, x, w1, w2):
            m1 = lib.cat([w1, w2]).sum()
            m2 = lib.cat([w1, w2]).sum()
            return x + lib.max(m1) + lib.max(m2)

    traced = lib.fx.symbolic_trace(M())
    found = lib.fx.replace_pattern(traced, lambda a, b: lib.cat([a, b]).sum(), lambda a, b: lib.stack([a, b]))
    assert len(found) == 2
    targets = [n.target for n in traced.graph.nodes]
    assert targets.count(lib.stack) == 2 and lib.cat not in targets
    one = lib.ones(1)
    assert traced(one, one * 2, one * 3).tolist() == [7.0]


@BOTH
def test_what_cannot_be_traced_is_told(lib):
    def branch(x):
        return x if x.sum() > 0 else -x

    def loop(x):
        return list(x)

    with pytest.raises(lib.fx.proxy.TraceError, match="control flow"):
        lib.fx.symbolic_trace(branch)
    with pytest.raises(lib.fx.proxy.TraceError, match="cannot be iterated"):
        lib.fx.symbolic_trace(loop)
    with pytest.raises(RuntimeError, match="'len' is not supported"):
        lib.fx.symbolic_trace(lambda x: len(x))
    assert lib.relu(lib.tensor([-1.0])).tolist() == [0.0]  # nothing stays patched
    assert lib.nn.Linear(1, 1)(lib.ones(1)).shape == (1,)


@BOTH
def test_concrete_arguments_decide(lib):
    def fn(x, flip):
        return -x if flip else x

    assert lib.fx.symbolic_trace(fn, concrete_args={"flip": True})(lib.ones(1), True).tolist() == [-1.0]
    assert lib.fx.symbolic_trace(fn, concrete_args={"flip": False})(lib.ones(1), False).tolist() == [1.0]


def helper(x):
    return x if x.sum() > 0 else -x


rushlight.fx.wrap("helper")


def uses_helper(x):
    return helper(x) + math.sqrt(4)


def test_wrapped_functions_are_one_node():
    traced = rushlight.fx.symbolic_trace(uses_helper)
    assert [n.name for n in traced.graph.nodes] == ["x", "helper", "add", "output"]
    assert traced(rushlight.tensor([-3.0])).tolist() == [5.0]
    with pytest.raises(RuntimeError, match="Unsupported type"):
        rushlight.fx.wrap(3)


class Small(rushlight.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = rushlight.nn.Sequential(rushlight.nn.Linear(2, 2), rushlight.nn.ReLU())

    def forward(self, x):
        return self.body(x).sum()


def test_copies_pickles_and_files():
    traced = rushlight.fx.symbolic_trace(Small())
    x = rushlight.ones(1, 2)
    file = io.BytesIO()
    rushlight.save(traced, file)
    file.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said once in a process: this file may name code
        loaded = rushlight.load(file, weights_only=False)
    for other in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)), loaded):
        assert other(x).tolist() == traced(x).tolist()
        assert other.code == traced.code
        assert other.get_parameter("body.0.weight") is not traced.get_parameter("body.0.weight")


def test_own_tracers_choose_what_is_looked_into():
    class Deep(rushlight.fx.Tracer):
        def is_leaf_module(self, m, name):
            return False

    net = Small()
    graph = Deep().trace(net)
    again = pickle.loads(pickle.dumps(rushlight.fx.GraphModule(net, graph)))  # without its tracer
    assert again(rushlight.ones(1, 2)).tolist() == net(rushlight.ones(1, 2)).tolist()
    assert not [n for n in graph.nodes if n.op == "call_module"]
    assert [n.target for n in graph.nodes if n.op == "get_attr"] == ["body.0.weight", "body.0.bias"]
    made = rushlight.fx.GraphModule(net, graph)
    assert made(rushlight.ones(1, 2)).tolist() == net(rushlight.ones(1, 2)).tolist()


@BOTH
def test_arguments_with_stars_are_one_value_each(lib):
    """`args[0]` is an item of the input `*args`, and words come by name."""

    def f(x: int, *args, scale=2, **words):
        return x * scale + args[0] + words["a"]

    graph = lib.fx.symbolic_trace(f).graph
    assert [(n.op, str(n.target)) for n in graph.nodes][:4] == [
        ("placeholder", "x"), ("placeholder", "scale"), ("placeholder", "*args"), ("placeholder", "**words"),
    ]  # fmt: skip
    assert [n.target for n in graph.nodes].count(operator.getitem) == 2
    assert next(iter(graph.nodes)).type in (int, "int")
    with pytest.raises(AssertionError, match="Expected FunctionType"):
        lib.fx.symbolic_trace(lib.nn.Linear(2, 2).forward)


@BOTH
def test_a_tracer_may_be_written_of_its_parts(lib):
    """Libraries write `trace` anew from PyTorch's inner parts, so that calls of other classes are nodes, too."""
    st = lib.fx._symbolic_trace

    class Whole:
        def __init__(self, net):
            self.net = net

        def __call__(self, x):
            return self.net(x)

    class Own(lib.fx.Tracer):
        def trace(self, root, concrete_args=None):
            self.root, self.tensor_attrs = root, {}
            self.submodule_paths = {m: name for name, m in root.named_modules()}
            self.graph = lib.fx.Graph(tracer_cls=type(self))
            fn, args = self.create_args_for_root(type(root).forward, True, concrete_args)
            cache = {}

            def call(mod, *args, **kwargs):
                st._autowrap_check(patcher, type(mod).forward.__globals__, self._autowrap_function_ids)
                forward = lambda *a, **k: st._orig_module_call(mod, *a, **k)  # noqa: E731
                return self.call_module(mod, forward, args, kwargs)

            def whole(one, x):
                return self.create_proxy("call_function", whole, (x,), {})

            def look(mod, name):
                return self.getattr(name, st._orig_module_getattr(mod, name), cache)

            with st._Patcher() as patcher:
                patcher.patch_method(lib.nn.Module, "__getattr__", look, deduplicate=False)
                patcher.patch_method(lib.nn.Module, "__call__", call, deduplicate=False)
                patcher.patch_method(Whole, "__call__", whole, deduplicate=False)
                st._patch_wrapped_functions(patcher)
                st._autowrap_check(patcher, fn.__globals__, self._autowrap_function_ids)
                for module in self._autowrap_search:
                    st._autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(fn(*args)),), {})
            return self.graph

    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.w = lib.nn.Linear(2, 2), lib.nn.Parameter(lib.ones(2))
            self.whole = Whole(self.lin)

        def forward(self, x, y):
            return math.sqrt(y) * self.whole(self.lin(x) * self.w)

    graph = Own().trace(Net())
    assert [n.op for n in graph.nodes] == [
        "placeholder", "placeholder", "call_function", "call_module", "get_attr", "call_function", "call_function",
        "call_function", "output",
    ]  # fmt: skip
    assert math.sqrt(4) == 2 and not hasattr(Whole.__call__, "__fx_already_patched")
    assert lib.nn.Linear(1, 1)(lib.ones(1)).shape == (1,)


def test_shapes_are_noted():
    traced = rushlight.fx.symbolic_trace(Small())
    ShapeProp(traced).propagate(rushlight.ones(3, 2))
    shapes = {n.name: n.meta["tensor_meta"].shape for n in traced.graph.nodes if "tensor_meta" in n.meta}
    assert shapes["body_0"] == (3, 2) and shapes["sum_1"] == ()


def test_a_table_is_printed(capsys):
    rushlight.fx.symbolic_trace(Small()).graph.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert [line.split()[0] for line in lines[2:]] == [
        "placeholder", "call_module", "call_module", "call_method", "output",
    ]  # fmt: skip


def test_a_large_model():
    net = rushlight.vision.models.resnet18(num_classes=10).eval()
    traced = rushlight.fx.symbolic_trace(net)
    x = rushlight.randn(1, 3, 32, 32)
    with rushlight.no_grad():
        assert traced(x).tolist() == net(x).tolist()
    assert traced.state_dict().keys() == net.state_dict().keys()


def test_a_traced_module_is_compiled_whole_and_again_when_its_graph_changes():
    from rushlight import fx, nn

    rushlight.manual_seed(0)
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)))
    compiled = rushlight.compile(traced, fullgraph=True)
    x = rushlight.randn(2, 4)
    for _ in range(3):
        assert (compiled(x) - traced(x)).abs().max() == 0
    first = traced(x)
    node = next(n for n in traced.graph.nodes if n.target == "1")
    with traced.graph.inserting_after(node):
        doubled = traced.graph.call_function(rushlight.mul, (node, 2.0))
    node.replace_all_uses_with(doubled, delete_user_cb=lambda user: user is not doubled)
    traced.recompile()
    for _ in range(3):
        assert (compiled(x) - traced(x)).abs().max() == 0
    assert (traced(x) - first).abs().max() > 0
