"""DeZero's core: Variable, Function, Config and arithmetic, as the book has them."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import rushlight
import rushlight.dezero as dezero
import rushlight.dezero.functions as F
from rushlight.dezero import Function, Variable, as_array, as_variable, core, core_simple
from rushlight.dezero.utils import array_allclose, gradient_check


def test_only_arrays():
    for value in (1.0, 3, [1, 2], "a"):
        with pytest.raises(TypeError, match=r"<class '\w+'> is not supported"):
            Variable(value)
    assert Variable(None).data is None


def test_data_is_the_array():
    a = np.array([1.0, 2.0])
    x = Variable(a, name="x")
    assert x.data is a and x.name == "x"
    a[0] = 5
    assert x.data[0] == 5
    x.data = x.data.astype(np.float32)
    assert x.dtype == np.float32
    assert (x.shape, x.ndim, x.size, len(x)) == ((2,), 1, 2, 2)


def test_printed_form():
    assert repr(Variable(np.array([[1, 2], [3, 4]]))) == "variable([[1 2]\n          [3 4]])"
    assert str(Variable(None)) == "variable(None)"
    assert repr(Variable(np.array(2.0))) == "variable(2.0)"


def test_no_more_than_dezero_has():
    x = Variable(np.ones((2, 2)))
    for name in ("mean", "requires_grad", "__float__", "__matmul__", "item", "detach", "__lt__"):
        assert name in ("__lt__",) or not hasattr(x, name), name
    with pytest.raises(TypeError):
        x @ x
    with pytest.raises(TypeError):
        x < x
    with pytest.raises(TypeError):
        float(x)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("other", [2, 2.0, np.float64(2), np.array([2.0, 4.0, 8.0])])
def test_operators_with_numbers_and_arrays(left, other):
    a = np.array([1.0, 2.0, 3.0])
    for op in ("+", "-", "*", "/"):
        expression = f"other {op} x" if left else f"x {op} other"
        x = Variable(a.copy())
        y = eval(expression)
        assert isinstance(y, Variable)
        np.testing.assert_allclose(y.data, eval(expression, {"x": a, "other": other}))
        y.backward()
        numeric = [
            (eval(expression, {"x": a + d, "other": other}) - eval(expression, {"x": a - d, "other": other})) / 2e-4
            for d in [1e-4]
        ][0]
        np.testing.assert_allclose(x.grad.data, np.broadcast_to(numeric, a.shape), rtol=1e-6)


def test_float32_stays_float32():
    for shape in ((), (3,)):
        x = Variable(np.ones(shape, np.float32))
        for y in (x + 1, x * 2.0, 3.0 - x, x / 2, x**2, x * np.float64(0.1), np.sqrt(2.0) * x, -x):
            assert y.dtype == np.float32, (shape, y)
        y = F.sin(x * 0.5) ** 3
        y.backward(create_graph=True)
        assert x.grad.dtype == np.float32


def test_integers_follow_numpy():
    x = Variable(np.array([1, 2, 3]))
    assert (x + 1).dtype == np.int64
    assert (x * 0.5).dtype == (x / 2).dtype == F.sin(x).dtype == np.float64
    y = x.reshape(3, 1).sum()
    y.backward()
    assert x.grad.dtype.kind == "i" and x.grad.data.tolist() == [1, 1, 1]


def test_zero_dims_stay_arrays():
    x = Variable(np.array(2.0))
    y = x**2
    assert isinstance(y.data, np.ndarray) and not np.isscalar(y.data)
    y.backward()
    assert isinstance(x.grad.data, np.ndarray) and x.grad.data == 4


def test_bool_masks():
    x = Variable(np.array([1.0, -1.0]))
    assert (x * (x.data > 0)).data.tolist() == [1, 0]
    assert (1 - (x.data > 0) * x).data.tolist() == [0, 1]
    assert (x - (x.data > 0)).data.tolist() == [0, -1]


@pytest.mark.parametrize("f", [F.add, F.sub, F.mul, F.div, F.rsub, core.rdiv])
@pytest.mark.parametrize("shapes", [((3, 3), (3, 3)), ((3, 3), (3, 1)), ((3, 3), (3,)), ((1,), (2, 3))])
def test_binary_gradients(f, shapes):
    a, b = (np.random.rand(*s) + 0.5 for s in shapes)
    assert gradient_check(f, a.copy(), b)
    assert gradient_check(lambda y: f(a, y), b.copy())
    assert gradient_check(lambda x: f(as_variable(x) * 2, as_variable(x) + 1), a.copy())


@pytest.mark.parametrize("c", [2, 3, 1, 0.5, -1, -2.0])
def test_pow(c):
    x = np.random.rand(3, 3) + 0.5
    assert array_allclose(Variable(x) ** c, x**c)
    assert gradient_check(lambda x: as_variable(x) ** c, x)


# -- functions of users -----------------------------------------------------------------------------


class Square(Function):
    def forward(self, x):
        return x**2

    def backward(self, gy):
        (x,) = self.inputs
        return 2 * x * gy


class SumAndDifference(Function):
    def forward(self, x0, x1):
        return x0 + x1, x0 - x1

    def backward(self, gs, gd):
        gs = 0 if gs is None else gs
        gd = 0 if gd is None else gd
        return gs + gd, gs - gd


def test_user_function():
    x = Variable(np.array([1.0, 3.0]))
    f = Square()
    y = f(x)
    assert y.creator is f and f.inputs == [x] and f.outputs[0]() is y
    assert (x.generation, f.generation, y.generation) == (0, 0, 1)
    y.backward(create_graph=True)
    assert x.grad.data.tolist() == [2, 6]
    g = x.grad
    x.cleargrad()
    g.backward()
    assert x.grad.data.tolist() == [2, 2]


def test_user_function_of_several_outputs():
    x, y = Variable(np.array(3.0)), Variable(np.array(5.0))
    s, d = SumAndDifference()(x, y)
    assert (s.data, d.data) == (8, -2) and s.creator is d.creator
    (s * d).backward()
    assert (x.grad.data, y.grad.data) == (6, -10)
    x.cleargrad()
    s, d = SumAndDifference()(x, y)
    d.backward()  # the gradient of the other output is None
    assert x.grad.data == 1


def test_backward_on_raw_arrays_mixes():
    class Sin(Function):
        def forward(self, x):
            return np.sin(x)

        def backward(self, gy):
            return gy * np.cos(self.inputs[0].data)

    x = Variable(np.array(np.pi / 4))
    y = Sin()(x)
    y.backward()
    assert np.isclose(x.grad.data, np.sqrt(0.5))


def test_generation_orders_the_walk():
    class Twice(Function):
        seen: list = []

        def __init__(self, name):
            self.label = name

        def forward(self, x):
            return x * 2

        def backward(self, gy):
            self.seen.append(self.label)
            return gy * 2

    x = Variable(np.array(1.0))
    a = Twice("a")(x)
    y = Twice("b")(a) + Twice("c")(a)
    assert (a.generation, y.generation) == (1, 3)
    y.backward()
    assert x.grad.data == 8
    assert Twice.seen[-1] == "a" and sorted(Twice.seen) == ["a", "b", "c"]


def test_a_function_called_twice():
    for f in (Square(), F.Sigmoid(), F.Sin()):
        x = Variable(np.array(0.5))
        y = f(f(x))
        y.backward()
        g = type(f)
        other = Variable(np.array(0.5))
        z = g()(g()(other))
        z.backward()
        assert y.data == z.data and x.grad.data == other.grad.data


def test_backward_that_returns_arrays():
    class Raw(Function):
        def forward(self, x):
            return x * 3

        def backward(self, gy):
            return gy.data * 3

    x = Variable(np.array([1.0, 2.0]))
    F.sigmoid(Raw()(F.sigmoid(x))).backward()
    assert isinstance(x.grad, Variable)
    y = Raw()(x)
    y.grad = np.array([2.0, 2.0])
    x.cleargrad()
    y.backward()
    assert x.grad.data.tolist() == [6, 6]


def test_copies_have_gradients_of_their_own():
    import copy
    import pickle

    x = Variable(np.array(3.0), name="x")
    (x * x).backward()
    for y in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert y.name == "x" and y.grad.data == 6
        y.cleargrad()
        (y * 2).backward()
        assert y.grad.data == 2 and x.grad.data == 6


def test_set_creator_by_hand():
    f = Square()
    x, y = Variable(np.array(3.0)), Variable(np.array(9.0))
    f.inputs, f.outputs, f.generation = [x], [weakref.ref(y)], 0
    y.set_creator(f)
    y.backward()
    assert y.creator is f and x.grad.data == 6


# -- backward ---------------------------------------------------------------------------------------


def test_same_variable_twice_and_accumulation():
    x = Variable(np.array(3.0))
    (x + x + x).backward()
    assert x.grad.data == 3
    y = x * x
    y.backward()
    assert x.grad.data == 9
    x.cleargrad()
    y.backward()  # the graph was never freed
    assert x.grad.data == 6


def test_any_shape_is_seeded_with_ones():
    x = Variable(np.arange(6.0).reshape(2, 3))
    (x * 2).backward()
    assert np.array_equal(x.grad.data, np.full((2, 3), 2.0))


def test_a_given_seed():
    x = Variable(np.array([1.0, 2.0]))
    y = x * 3
    y.grad = Variable(np.array([1.0, 10.0]))
    y.backward()
    assert x.grad.data.tolist() == [3, 30]


def test_retain_grad():
    x = Variable(np.array(2.0))
    a = x * x
    y = a + 1
    y.backward()
    assert y.grad is None and a.grad is None
    y.backward(retain_grad=True)
    assert y.grad.data == 1 and a.grad.data == 1


def test_gradients_can_be_changed_in_place():
    x = Variable(np.ones((2, 3), np.float32))
    x.sum().backward()
    x.grad.data *= 5
    assert x.grad.data.tolist() == [[5] * 3] * 2


def test_backward_of_a_leaf():
    x = Variable(np.array([1.0, 2.0]))
    x.backward()
    assert x.grad.data.tolist() == [1, 1]


def test_newton_by_second_derivatives():
    x = Variable(np.array(2.0))
    for _ in range(10):
        y = x**4 - 2 * x**2
        x.cleargrad()
        y.backward(create_graph=True)
        gx = x.grad
        x.cleargrad()
        gx.backward()
        x.data -= gx.data / x.grad.data
    assert np.isclose(x.data, 1.0)


def test_data_takes_a_variable():
    x = Variable(np.array(2.0))
    for _ in range(3):  # steps 28 and 29 with the full core
        y = x**2
        x.cleargrad()
        y.backward()
        x.data -= 0.1 * x.grad
        assert isinstance(x.data, np.ndarray)
    assert np.isclose(x.data, 2 * 0.8**3)


def test_higher_derivatives_of_sin():
    x = Variable(np.linspace(-3, 3, 7))
    y = F.sin(x)
    y.backward(create_graph=True)
    for expected in (np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v), np.sin):
        np.testing.assert_allclose(x.grad.data, expected(x.data), atol=1e-12)
        gx = x.grad
        x.cleargrad()
        gx.backward(create_graph=True)


def test_gradient_inside_a_loss():
    x = Variable(np.array(2.0))
    y = x**2
    y.backward(create_graph=True)
    gx = x.grad
    x.cleargrad()
    z = gx**3 + y
    z.backward()
    assert x.grad.data == 100


def test_unchain():
    x = Variable(np.array(2.0))
    a = x * 3
    y = a * a
    a.unchain()
    assert a.creator is None
    y.backward()
    assert x.grad is None and a.grad.data == 12


def test_unchain_backward():
    x = Variable(np.array(2.0))
    h = x * 3
    loss = F.sin(h) * h
    loss.unchain_backward()
    assert h.creator is None and loss.creator is not None
    loss.backward()
    assert x.grad is None and np.isclose(h.grad.data, np.sin(6.0))  # by the product alone


def test_graph_dies_with_its_end():
    gc.disable()
    try:
        x = Variable(np.ones(3))
        y = F.sigmoid(F.sin(x) * 2)
        dead = [weakref.ref(y), weakref.ref(y.creator), weakref.ref(y.creator.inputs[0])]
        y.backward()
        del y
        assert all(r() is None for r in dead)
    finally:
        gc.enable()


# -- Config -----------------------------------------------------------------------------------------


def test_no_grad_is_rushlights_own():
    x = Variable(np.array(2.0))
    with dezero.no_grad():
        assert not dezero.Config.enable_backprop and not rushlight.is_grad_enabled()
        assert (x * 2).creator is None
    assert dezero.Config.enable_backprop and (x * 2).creator is not None
    with rushlight.no_grad():
        assert not dezero.Config.enable_backprop
    dezero.Config.enable_backprop = False
    assert (x * 2).creator is None
    dezero.Config.enable_backprop = True


def test_configs_are_one():
    assert dezero.Config is core.Config
    with dezero.using_config("train", False):
        assert not core.Config.train
    with dezero.test_mode():
        assert not dezero.Config.train
    assert dezero.Config.train
    with pytest.raises(ZeroDivisionError), dezero.test_mode():
        1 / 0
    assert dezero.Config.train


def test_as_array_and_as_variable():
    assert isinstance(as_array(3.0), np.ndarray)
    a = np.ones(2)
    assert as_array(a) is a
    v = as_variable(a)
    assert as_variable(v) is v
    core.setup_variable()
    assert (v + v).data.tolist() == [2, 2]


# -- the simple core ----------------------------------------------------------------------------------


def test_simple_core():
    core_simple.setup_variable()
    x = core_simple.Variable(np.array([1.0, 2.0]))
    y = (x + 3) ** 2 * x / 2 - 1 / x - (-x)
    y.backward()
    a = x.data
    assert isinstance(x.grad, np.ndarray)
    np.testing.assert_allclose(x.grad, (a + 3) * a + (a + 3) ** 2 / 2 + 1 / a**2 + 1)
    with core_simple.no_grad():
        assert (x + 1).creator is None
    assert core_simple.Config is not dezero.Config


def test_simple_core_goldstein_price():
    core_simple.setup_variable()
    x, y = core_simple.Variable(np.array(1.0)), core_simple.Variable(np.array(1.0))
    z = (1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)) * (
        30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    )
    z.backward()
    assert (x.grad, y.grad) == (-5376.0, 8064.0)


def test_simple_core_matyas_and_retain():
    core_simple.setup_variable()
    x, y = core_simple.Variable(np.array(1.0)), core_simple.Variable(np.array(1.0))
    t = x**2 + y**2
    z = 0.26 * t - 0.48 * x * y
    z.backward(retain_grad=True)
    assert np.isclose(x.grad, 0.04) and np.isclose(t.grad, 0.26)


def test_switch_to_the_simple_core(tmp_path):
    """`is_simple_core = True` in the package's file, as the book tells its readers."""
    import subprocess
    import sys
    from pathlib import Path

    package = Path(dezero.__file__).parent
    text = (package / "__init__.py").read_text().replace("is_simple_core = False", "is_simple_core = True")
    code = (
        "import sys, types, importlib.util as u\n"
        f"spec = u.spec_from_loader('rushlight.dezero', None, is_package=True)\n"
        "m = types.ModuleType('rushlight.dezero'); m.__spec__ = spec\n"
        f"m.__path__ = [{str(package)!r}]; sys.modules['rushlight.dezero'] = m\n"
        "m.__package__ = 'rushlight.dezero'\n"
        f"exec({text!r}, m.__dict__)\n"
        "import numpy as np\n"
        "x = m.Variable(np.array(3.0)); y = x * x; y.backward(); assert x.grad == 6\n"
        "assert m.Variable.__module__.endswith('core_simple')\n"
    )
    import os

    env = {**os.environ, "PYTHONPATH": str(package.parent.parent)}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


def _meddler(backward):
    """A `backward` that changes the gradient it is given."""

    def meddle(gy):
        gy.data[...] = 5
        return backward(gy)

    return meddle


@pytest.mark.parametrize("how", ["in an instance", "in a class", "derived"])
@pytest.mark.parametrize("kind", ["i8", "i4"])  # the short way of the loss, and the long one
def test_a_pass_begins_with_ones_whatever_an_earlier_one_has_done_to_them(how, kind, monkeypatch):
    """Functions of ours share the gradient that a pass begins with; somebody else's `backward` gets one of its own."""
    cls = F.SoftmaxCrossEntropy

    def gradient(function):
        x = Variable(np.zeros((2, 3), "f4"))
        function(x, np.array([0, 1], kind)).backward()
        return x.grad.data.copy()

    plain = gradient(cls())
    own = cls.backward
    if how == "in an instance":
        function = cls()
        function.backward = _meddler(lambda gy: own(function, gy))
    elif how == "in a class":
        monkeypatch.setattr(cls, "backward", lambda self, gy: _meddler(lambda g: own(self, g))(gy))
        function = cls()
    else:
        body = {"backward": lambda self, gy: _meddler(lambda g: own(self, g))(gy)}
        function = type("Mine", (cls,), body)()
    assert array_allclose(gradient(function), 5 * plain)
    monkeypatch.undo()
    assert array_allclose(gradient(cls()), plain)
