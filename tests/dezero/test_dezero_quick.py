"""DeZero's calls in C and in Python: the same results, graphs and errors; and what somebody has replaced is called."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

import rushlight.dezero as dezero
import rushlight.dezero.functions as F
import rushlight.dezero.layers as L
from rushlight.capture.loops import described as told
from rushlight.dezero import Parameter, Variable, optimizers
from rushlight.dezero._usual import native, usual
from rushlight.dezero.models import MLP
from traced import both

in_c = pytest.mark.skipif(native is None, reason="the C extension is not built here")
X = np.random.RandomState(0).randn(6, 4).astype("f4")
T = np.array([0, 2, 1, 1, 0, 2])


@contextmanager
def in_python() -> Iterator[None]:
    """Inside, nothing is called in C."""
    usual.off()
    held, told.native = told.native, None
    try:
        yield
    finally:
        told.native = held
        usual.on()


def _public(f: Any) -> list[str]:
    """What a Function has, apart from what it keeps for its gradient."""
    return [name for name in vars(f) if not name.startswith("_")]


def graph(v: Any) -> list[Any]:
    """Everything that can be seen of how a Variable was made."""
    f = v.creator
    seen = [sorted(vars(v).keys() - {"_turned"}), v.generation, v._constant, v.name, v.shape, v.dtype, v.data.tobytes()]
    if f is None:
        return seen
    outputs = [r() is v for r in f.outputs]
    return [*seen, type(f), sorted(_public(f)), f.generation, outputs, [graph(x) for x in f.inputs]]


def network(kind: str) -> Any:
    np.random.seed(0)
    W, b = Parameter(np.random.randn(4, 3).astype(kind)), Parameter(np.ones(3, kind))
    y = F.relu(F.sigmoid(F.linear(Variable(X.astype(kind)), W, b)))
    return F.softmax_cross_entropy(y, T), [W, b]


CALLS: dict[str, Callable[[], Any]] = {
    "network": lambda: network("f4")[0],
    "doubles": lambda: network("f8")[0],
    "halves": lambda: network("f2")[0],
    "arrays": lambda: F.linear(X, np.ones((4, 2), "f4"), np.ones(2, "f4")),
    "no bias": lambda: F.linear(X, Parameter(np.ones((4, 2), "f4"))),
    "bias of nothing": lambda: F.linear(X, Parameter(np.ones((4, 2), "f4")), Parameter(None)),
    "bias of rows": lambda: F.linear(X, Parameter(np.ones((4, 2), "f4")), Parameter(np.ones((1, 2), "f4"))),
    "dtypes": lambda: F.linear(X, Parameter(np.ones((4, 2))), Parameter(np.ones(2, "f4"))),
    "three dims": lambda: F.linear(
        np.ones((2, 3, 4), "f4"), Parameter(np.ones((4, 2), "f4")), Parameter(np.ones(2, "f4"))
    ),
    "number": lambda: F.sigmoid(np.array(0.5, "f4")),
    "integers": lambda: F.relu(np.array([-1, 2])),
    "no rows": lambda: F.sigmoid(np.zeros((0, 3), "f4")),
    "int32 classes": lambda: F.softmax_cross_entropy(X, T.astype("i4")),
    "classes in a column": lambda: F.softmax_cross_entropy(Variable(X), T[:, None]),
    "a view": lambda: F.linear(Variable(X.T.copy().T), L.Weight(np.ones((3, 4), "f4").T), Parameter(np.ones(3, "f4"))),
    "a wrong size": lambda: F.linear(X, Parameter(np.ones((5, 2), "f4")), Parameter(np.ones(2, "f4"))),
    "a wrong bias": lambda: F.linear(X, Parameter(np.ones((4, 2), "f4")), Parameter(np.ones(3, "f4"))),
    "a class too high": lambda: F.softmax_cross_entropy(Variable(X), np.full(6, 9)),
    "a list": lambda: F.sigmoid([1.0]),
    "None": lambda: F.relu(Variable(None)),
}


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return graph(call())
    except Exception as error:  # noqa: BLE001 - compared
        return type(error), str(error)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_the_same_in_c_and_in_python(name: str) -> None:
    ours = outcome(CALLS[name])
    with in_python():
        assert outcome(CALLS[name]) == ours
    with dezero.no_grad():
        ours = outcome(CALLS[name])
        with in_python():
            assert outcome(CALLS[name]) == ours


@in_c
def test_usual_calls_stay_in_c() -> None:
    """A twin that gave every call back would be equal, too."""
    model = MLP((5, 3), F.relu)
    optimizer = optimizers.SGD().setup(model)
    for thing in (F.Sigmoid(), F.Linear(), Variable(X), model.l0.W):  # Python marks their classes
        copy.copy(thing)
    seen: list[str] = []

    def notice(frame: Any, event: str, arg: Any) -> None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        if event == "call" and name in ("Function.__call__", "record", "Layer.params", "_columns"):
            seen.append(name)

    def step() -> None:
        loss = F.softmax_cross_entropy(F.sigmoid(model(X)), T)
        model.cleargrads()
        loss.backward()
        optimizer.update()

    step()
    sys.setprofile(notice)
    try:
        step()
    finally:
        sys.setprofile(None)
    assert seen == []


# -- what somebody has replaced -------------------------------------------------------------------


def counted(calls: list[str], function: Callable[..., Any]) -> Callable[..., Any]:
    def count(*args: Any, **kwargs: Any) -> Any:
        calls.append("called")
        return function(*args, **kwargs)

    return count


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (F.Function, "__call__"), (F.Linear, "__call__"), (F.Linear, "__init__"), (F.Linear, "forward"), (F.Linear, "_forward"),
        (Variable, "__setattr__"), (Variable, "_link"), (Parameter, "_accumulate"), (Variable, "cleargrad"), (F.Linear, "backward"),
        (F.Linear, "_gradients"), (L.Layer, "params"), (L.Linear, "params"),
    ],
)  # fmt: skip
def test_what_is_replaced_in_a_class_is_called(cls: Any, name: str, monkeypatch: Any) -> None:
    """After calls that C has made, and before others that it makes again."""

    def run() -> list[Any]:
        np.random.seed(0)
        model = L.Linear(3, in_size=4)
        optimizer = optimizers.SGD(0.5).setup(model)
        x = X.astype("f8") if name == "_forward" else X  # the long way
        for _ in range(2):
            loss = F.softmax_cross_entropy(model(x), T)
            model.cleargrads()
            loss.backward()
            optimizer.update()
        return [p.data.copy() for p in model.params()]

    before, calls = run(), []
    with monkeypatch.context() as patch:
        patch.setattr(cls, name, counted(calls, getattr(cls, name)))
        for a, b in zip(run(), before):
            np.testing.assert_array_equal(a, b)
    assert calls
    calls.clear()
    for a, b in zip(run(), before):
        np.testing.assert_array_equal(a, b)
    assert not calls


def test_what_is_replaced_in_an_object_is_called() -> None:
    model, calls = L.Linear(3, in_size=4), []
    model(X)
    model.W.cleargrad = counted(calls, model.W.cleargrad)
    model.cleargrads()
    assert len(calls) == 1
    model.params = counted(calls, model.params)
    model.cleargrads()
    assert len(calls) == 3
    optimizers.SGD().setup(model).update()
    assert len(calls) == 4


def test_layers_inside_of_each_other_end() -> None:
    model = L.Layer()
    model.inner = model
    with pytest.raises(RecursionError):
        model.cleargrads()


# -- in a loop ------------------------------------------------------------------------------------


def loop(see: Callable[..., None]) -> None:
    np.random.seed(0)
    model = MLP((5, 3))
    optimizer = optimizers.MomentumSGD(0.1).setup(model)
    for i in range(40):
        x, t = X + i % 3, np.roll(T, i)
        loss = F.softmax_cross_entropy(model(x), t)
        if i % 7 == 3:
            x += 1  # `backward` reads it as it is then
        model.cleargrads()
        loss.backward()
        if i % 11 == 5:
            see(model.l0.W.grad.data.copy())
        optimizer.update()
        see(float(loss.data))
    see(*[p.data.copy() for p in model.params()])


@pytest.mark.parametrize("language", ["C", "Python"])
def test_a_traced_loop_is_the_same_in_both(language: str) -> None:
    def body() -> list[Any]:
        found: list[Any] = []
        loop(lambda *values: found.extend(values))
        return found

    with in_python() if language == "Python" else nullcontext():
        assert both(body).replayed > 10


def test_copies_of_nothing_have_their_own_shapes() -> None:
    """Rows without gaps are known by their number and size, which say nothing of (0, 3) and (0, 5)."""
    from rushlight.dezero._bare import _Buffers

    buffers = _Buffers()
    for columns in (3, 3, 5, 5, 3):
        a = np.ones((0, columns), np.float32)
        assert buffers.take(a, object()).shape == a.shape
