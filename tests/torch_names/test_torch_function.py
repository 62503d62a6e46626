"""`__torch_function__`: subclasses survive, classes of arguments answer, modes see every public function."""

from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys
import types

import pytest

import rushlight
import rushlight.nn.functional
import rushlight.overrides

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])


def kind(lib, overridden=False):
    """A subclass of `lib.Tensor`, and the list of what it was asked."""
    asked = []

    class M(lib.Tensor):
        if overridden:

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                asked.append(lib.overrides.resolve_name(func) or func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})

    return M, asked


USES = {
    "add": lambda t, x: x + 1,
    "radd": lambda t, x: 1 + x,
    "rsub": lambda t, x: 1 - x,
    "floordiv": lambda t, x: x // 2,
    "matmul": lambda t, x: x @ x,
    "neg": lambda t, x: -x,
    "eq": lambda t, x: x == 1,
    "plain first": lambda t, x: t.ones(2, 2) + x,
    "plain method": lambda t, x: t.ones(2, 2).matmul(x),
    "torch.add": lambda t, x: t.add(x, 1),
    "relu": lambda t, x: t.nn.functional.relu(x),
    "linear": lambda t, x: t.nn.functional.linear(x, t.ones(3, 2)),
    "zeros_like": lambda t, x: t.zeros_like(x),
    "new_zeros": lambda t, x: x.new_zeros(3),
    "view": lambda t, x: x.view(4),
    "transpose": lambda t, x: x.T,
    "index": lambda t, x: x[0],
    "index by one": lambda t, x: t.ones(3)[x.long().flatten() * 0],
    "index of tuples": lambda t, x: t.ones(3, 3)[x.long() * 0, 1],
    "cat": lambda t, x: t.cat([t.ones(1, 2), x]),
    "stack": lambda t, x: t.stack((x, x)),
    "keyword": lambda t, x: t.sum(input=x, dim=0),
    "max": lambda t, x: t.max(x, 0).values,
    "split": lambda t, x: x.split(1)[0],
    "detach": lambda t, x: x.detach(),
    "data": lambda t, x: x.data,
    "to": lambda t, x: x.to(t.float64),
    "clone": lambda t, x: x.clone(),
    "einsum": lambda t, x: t.einsum("ij,ij->i", x, x),
    "softmax": lambda t, x: x.softmax(-1),
    "cross entropy": lambda t, x: t.nn.functional.cross_entropy(x, t.zeros(2, dtype=t.long)),
    "in place": lambda t, x: x.clone().add_(1),
    "iadd": lambda t, x: x.clone().__iadd__(1),
    "linalg": lambda t, x: t.linalg.norm(x),
    "where": lambda t, x: t.where(x > 0, x, t.zeros(2, 2)),
    "grad of one": lambda t, x: t.autograd.grad((p := x.clone().requires_grad_()).sum(), p)[0],
    "unbind": lambda t, x: next(iter(x)),
    "Parameter": lambda t, x: t.nn.Parameter(x),
    "of a Parameter": lambda t, x: t.nn.Parameter(x) * 2,
    "copy": lambda t, x: copy.copy(x),
    "out": lambda t, x: t.add(t.ones(2, 2), 1, out=x.clone()),
}


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("overridden", [False, True], ids=["default", "own"])
def test_a_subclass_survives(name, overridden):
    seen = []
    for lib in (rushlight, torch):
        cls, asked = kind(lib, overridden)
        x = lib.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(cls)
        out = USES[name](lib, x)
        seen.append((type(out).__name__, out.detach().double().tolist(), set(asked)))
    ours, theirs = seen
    assert ours[:2] == theirs[:2]
    if overridden and name not in ("copy", "unbind"):  # asked for the same functions
        assert {n.rpartition(".")[2] for n in ours[2]} == {n.rpartition(".")[2] for n in theirs[2]}


@BOTH
def test_properties_and_setters_are_asked(lib):
    cls, asked = kind(lib, overridden=True)
    x = lib.ones(2, 3).as_subclass(cls)
    asked.clear()
    assert x.shape == (2, 3)
    x.requires_grad = True
    assert x.grad is None
    want = ["shape.__get__", "requires_grad.__set__", "grad.__get__"]
    assert asked == [f"torch.Tensor.{n}" for n in want]


@BOTH
def test_history_survives(lib):
    cls, _ = kind(lib)
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    m = (x * 3).as_subclass(cls)
    out = (m * m).sum()
    assert isinstance(out, cls)
    out.backward()
    assert x.grad.tolist() == [18.0, 36.0]
    assert type(x.grad) is lib.Tensor


class Labelled(rushlight.Tensor):
    """A subclass at the top of a module, which pickle needs."""


def test_copies_and_pickles_keep_the_class():
    x = rushlight.arange(6.0).reshape(2, 3).T.as_subclass(Labelled)
    x.label = "six"
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert type(y) is Labelled and y.label == "six"
        assert y.tolist() == x.tolist()
    net = rushlight.nn.Linear(2, 2)
    net.weight = rushlight.nn.Parameter(rushlight.ones(2, 2).as_subclass(Labelled))
    assert type(copy.deepcopy(net).weight) is Labelled
    assert isinstance(copy.deepcopy(net).weight, rushlight.nn.Parameter)


@BOTH
@pytest.mark.parametrize("rule", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_optimisers_step_parameters_of_subclasses(lib, rule):
    cls, _ = kind(lib)
    p = lib.nn.Parameter(lib.tensor([1.0, 2.0]).as_subclass(cls))
    assert type(p) is cls and isinstance(p, lib.nn.Parameter)
    plain = lib.nn.Parameter(lib.tensor([1.0, 2.0]))
    for q in (p, plain):
        optimizer = getattr(lib.optim, rule)([q], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (q * q).sum().backward()
            optimizer.step()
    assert p.tolist() == plain.tolist()
    assert type(p) is cls


@BOTH
def test_an_own_class_answers_by_function(lib):
    table = {}

    class Diagonal:
        def __init__(self, n, value):
            self.n, self.value = n, value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in table or not all(issubclass(t, (lib.Tensor, cls)) for t in types):
                return NotImplemented
            return table[func](*args, **(kwargs or {}))

    table[lib.mean] = lambda input: float(input.value) / input.n
    table[lib.add] = lambda input, other: ("sum", other)
    table[lib.Tensor.add] = lambda input, other: ("method", input.tolist())
    table[lib.cat] = lambda tensors, dim=0: ("cat", len(tensors), dim)
    d = Diagonal(5, 2)
    assert lib.mean(d) == 0.4
    assert lib.add(d, 3) == ("sum", 3)
    assert lib.cat([lib.ones(1), d], dim=1) == ("cat", 2, 1)
    assert lib.tensor([1.0]) + d == ("method", [1.0])
    with pytest.raises(TypeError, match="^Multiple dispatch failed for 'torch.exp'"):
        lib.exp(d)
    with pytest.raises(TypeError):
        lib.tensor([1.0]) - d


@BOTH
def test_subclasses_are_asked_before_their_bases(lib):
    asked = []

    def method(cls, func, types, args=(), kwargs=None):
        asked.append((cls.__name__, [t.__name__ for t in types]))
        return NotImplemented if cls.__name__ == "B" else "A's answer"

    A = type("A", (), {"__torch_function__": classmethod(method)})
    B = type("B", (A,), {})
    assert lib.add(A(), B()) == "A's answer"
    assert asked == [("B", ["B", "A"]), ("A", ["B", "A"])]


@BOTH
def test_unrelated_subclasses_do_not_mix(lib):
    a, b = kind(lib)[0], kind(lib)[0]
    with pytest.raises(TypeError):
        lib.add(lib.ones(1).as_subclass(a), lib.ones(1).as_subclass(b))


@BOTH
def test_disabled_classes_are_plain(lib):
    class P(lib.Tensor):
        __torch_function__ = lib._C._disabled_torch_function_impl

    x = lib.ones(2).as_subclass(P)
    assert type(x + 1) is lib.Tensor
    cls, _ = kind(lib)
    y = lib.ones(2).as_subclass(cls)
    with lib._C.DisableTorchFunctionSubclass():
        assert type(y + 1) is lib.Tensor
        assert not lib.overrides.has_torch_function((y,))
    assert type(y + 1) is cls
    assert lib.overrides.has_torch_function((y,)) and not lib.overrides.has_torch_function((x,))


@BOTH
def test_a_mode_sees_functions_and_may_replace_them(lib):
    seen = []

    class Mode(lib.overrides.TorchFunctionMode):
        def __init__(self, label):
            super().__init__()
            self.label = label

        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((self.label, func.__name__))
            if func is lib.exp:
                return "replaced"
            return func(*args, **(kwargs or {}))

    x = lib.ones(2)
    with Mode("outer"), Mode("inner"):
        y = lib.add(lib.zeros(2), x)
        assert lib.exp(x) == "replaced"
    assert y.tolist() == [1.0, 1.0]
    assert seen == [("inner", "zeros"), ("outer", "zeros"), ("inner", "add"), ("outer", "add"), ("inner", "exp")]
    seen.clear()
    assert lib.add(x, 1).tolist() == [2.0, 2.0] and not seen


@BOTH
def test_a_mode_that_raises_is_left(lib):
    class Mode(lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        with Mode():
            lib.ones(2)
    assert lib.ones(2).tolist() == [1.0, 1.0]


@BOTH
def test_functions_of_libraries(lib):
    @lib.overrides.wrap_torch_function(lambda a: (a,))
    def double(a):
        return a + a

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return ("asked", func is double)

    assert double(Duck()) == ("asked", True)
    assert double(lib.ones(1)).tolist() == [2.0]
    assert lib.overrides.is_tensor_like(Duck()) and not lib.overrides.is_tensor_like(3)


def test_what_can_be_overridden():
    functions = rushlight.overrides.get_overridable_functions()
    assert rushlight.add in functions[rushlight] and rushlight.Tensor.add in functions[rushlight.Tensor]
    assert rushlight.nn.functional.relu in functions[rushlight.nn.functional]
    assert rushlight.tensor in rushlight.overrides.get_ignored_functions()
    answers = rushlight.overrides.get_testing_overrides()
    assert answers[rushlight.add](1, 2) == -1
    with pytest.raises(TypeError):
        answers[rushlight.add]()


def test_every_public_function_of_one_tensor_keeps_the_class():
    """Each method that PyTorch has of one tensor, called on a subclass: the class is PyTorch's."""
    methods = [n for n in dir(rushlight.Tensor) if not n.startswith("_") and hasattr(torch.Tensor, n)]
    wrong = []
    for name in methods:
        found = []
        for lib in (rushlight, torch):
            cls, _ = kind(lib)
            x = lib.tensor([[1.5, 2.0], [2.5, 4.0]]).as_subclass(cls)
            try:
                member = getattr(x, name)
                out = member() if callable(member) else member
            except Exception:  # needs more arguments, or is not for floats: told elsewhere
                out = None
            out = out[0] if isinstance(out, (tuple, list)) and out else out
            found.append(type(out).__name__)
        ours, theirs = found
        if "NoneType" not in found and {ours, theirs} & {"M", "Tensor"} and ours != theirs:
            wrong.append((name, ours, theirs))
    assert wrong == []


@BOTH
def test_methods_are_functions_of_their_own_and_stay(lib):
    class Answers:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    Tensor = lib.Tensor
    before = {name: getattr(Tensor, name) for name in ("matmul", "add", "abs", "absolute", "abs_")}
    functions = {name: getattr(lib, name) for name in before}
    assert all(before[name] is not functions[name] for name in before)
    assert before["abs"] is not before["absolute"]
    x = lib.ones(2, 2)
    assert x @ Answers() is before["matmul"] and x.matmul(Answers()) is before["matmul"]
    assert lib.matmul(x, Answers()) is functions["matmul"]
    assert all(getattr(Tensor, name) is before[name] for name in before)
    assert all(getattr(lib, name) is functions[name] for name in before)


@pytest.mark.parametrize("place", ["", "nn.functional", "special", "linalg", "fft", "Tensor"])
def test_public_functions_are_pickled_by_their_names(place):
    owner = operator.attrgetter(place)(rushlight) if place else rushlight
    for name in dir(owner):
        fn = getattr(owner, name)
        refused = getattr(fn, "__module__", "") == "rushlight.base.refusal"
        if isinstance(fn, types.FunctionType) and name[0] != "_" and not refused:
            assert pickle.loads(pickle.dumps(fn)) is fn, name


def test_plain_programs_are_left_alone():
    code = (
        "import rushlight, sys\n"
        "net = rushlight.nn.Linear(2, 2)\n"
        "net(rushlight.ones(1, 2)).sum().backward()\n"
        "assert 'rushlight.core.arming' not in sys.modules\n"
        "before = rushlight.add.__code__\n"
        "class M(rushlight.Tensor): pass\n"
        "assert rushlight.add.__code__ is before\n"
        "m = rushlight.ones(2).as_subclass(M)\n"
        "assert rushlight.add.__code__ is not before and type(m + 1) is M\n"
        "import inspect\n"
        "assert list(inspect.signature(rushlight.add).parameters) == ['input', 'other', 'alpha', 'out']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


TOLD = {
    "relu": lambda lib, x: lib.nn.functional.relu(x, True),
    "softmax": lambda lib, x: lib.nn.functional.softmax(x, -1),
    "dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.1, training=False),
    "max_pool2d": lambda lib, x: lib.nn.functional.max_pool2d(x[None], 2),
    "interpolate": lambda lib, x: lib.nn.functional.interpolate(x[None], scale_factor=2),
    "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (4,)),
    "rms_norm": lambda lib, x: lib.nn.functional.rms_norm(x, (4,)),
    "mse_loss": lambda lib, x: lib.nn.functional.mse_loss(x, x),
    "gelu": lambda lib, x: lib.nn.functional.gelu(x),
    "conv1d": lambda lib, x: lib.nn.functional.conv1d(x, x),
    "sigmoid": lambda lib, x: lib.nn.functional.sigmoid(x),
    "tensordot": lambda lib, x: lib.tensordot(x[0], x[0], 1),
    "norm": lambda lib, x: lib.norm(x, dim=1),
    "split": lambda lib, x: lib.split(x, 2),
    "Tensor.split": lambda lib, x: x.split(2),
    "Tensor.norm": lambda lib, x: x.norm(),
    "einsum": lambda lib, x: lib.einsum("abc,abc->a", [x, x]),
    "sum": lambda lib, x: lib.sum(x, 1, keepdim=True),
    "cat": lambda lib, x: lib.cat([x, x], 1),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_left_out_of_a_function_written_in_python_is_told_by_name(name):
    def told(lib):
        seen = []

        class Listens(lib.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                form = [type(a).__name__ if isinstance(a, (lib.Tensor, list)) else a for a in args]
                if func.__name__ not in ("__getitem__", "__get__"):
                    seen.append((func.__name__, form, kwargs or {}))
                return func(*args, **(kwargs or {}))

        x = lib.arange(32.0).reshape(2, 4, 4)
        with Listens():
            TOLD[name](lib, x)
        return seen[0]

    assert told(rushlight) == told(torch)


@BOTH
def test_as_subclass_is_a_view(lib):
    """Gradients go through it to the tensor it was made of, whose memory and version it shares."""
    cls, _ = kind(lib)
    x = lib.ones(3, requires_grad=True)
    y = x.as_subclass(cls)
    assert not y.is_leaf and y._base is x
    (y * 3).as_subclass(lib.Tensor).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
    plain = lib.zeros(2)
    plain.as_subclass(cls).add_(1)
    assert plain.tolist() == [1, 1] and plain._version == 1
    with lib.no_grad():
        assert x.as_subclass(cls).requires_grad and x.as_subclass(cls).is_leaf


@BOTH
def test_gradients_that_nobody_asked_for(lib):
    """A Function may answer anything in the place of an input that needs no gradient."""

    class Times(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, times):
            return x * times.sum()

        @staticmethod
        def backward(ctx, g):
            return g * 2, lib.ones(7)

    x = lib.ones(3, requires_grad=True)
    Times.apply(x, lib.ones(2)).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
