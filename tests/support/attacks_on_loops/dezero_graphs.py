"""DeZero's backward pass where a loop knows it: what a user does to the graph, its Functions and its leaves before it."""

# ruff: noqa: N806
from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import rushlight.dezero.functions as F
import rushlight.dezero.layers as L
from rushlight.dezero import Parameter, Variable, optimizers
from rushlight.dezero.models import MLP, Model, Sequential

from .dezero_loops import N, batches, see

GRAPHS: dict[str, tuple[Callable[[], Any], int]] = {}


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Another value under a name of a class."""
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before) if own else delattr(owner, name)


def iteration(
    model: Any, optimizer: Any, x: Any, t: Any, before: Any = None, go: Any = None, keep: Any = None
) -> list[Any]:
    """Step 52's, with something done in front of `backward()`, or in its place; all that can be seen of it."""
    y = model(x)
    loss = F.softmax_cross_entropy(y, t)
    model.cleargrads()
    things = {"model": model, "x": x, "t": t, "y": y, "loss": loss, "keep": keep}
    if before is not None:
        before(**things)
    go(**things) if go is not None else loss.backward()
    hidden = y.creator.inputs[0] if y.creator is not None else None
    seen = [v is None or v.grad is None or v.grad.data.copy() for v in (y, loss, hidden)]
    optimizer.update()
    return [float(loss.data), seen]


def attack(name: str, before: Any = None, go: Any = None, make: Any = None) -> None:
    """The same in every sixth iteration, or in all behind the tenth."""
    for when in ("sixth", "late"):

        def program(when: str = when) -> Any:
            model = (make or (lambda: MLP((8, 3))))()
            optimizer = optimizers.SGD(0.1).setup(model)
            log, keep = [], []
            for i, (x, t) in enumerate(batches(N + 6)):
                now = i % 6 == 5 if when == "sixth" else i >= 10
                args = (before, go, keep) if now else ()
                log.append(iteration(model, optimizer, x, t, *args))
            return log, see(model), [np.array(k) for k in keep]

        GRAPHS[f"{name}_{when}"] = program, 1


def patched(cls: Any, name: str, value: Any) -> Callable[..., None]:
    def go(loss: Any, **things: Any) -> None:
        with replaced(cls, name, value):
            loss.backward()

    return go


def doubled(method: Any) -> Any:
    """A `backward` whose gradients are twice as large."""

    def backward(self: Any, *gys: Any) -> Any:
        gxs = method(self, *gys)
        return tuple([None if g is None else g * 2 for g in gxs]) if isinstance(gxs, (tuple, list)) else gxs * 2

    return backward


Sigmoid, Linear, Entropy = (F.Sigmoid, F.Linear, F.SoftmaxCrossEntropy)
attack("nothing")
for cls in (Sigmoid, Linear, Entropy):
    attack(f"patched_{cls.__name__}", go=patched(cls, "backward", doubled(cls.backward)))


def instance(loss: Any, y: Any, **things: Any) -> None:
    """A method of one Function."""
    f = y.creator
    f.backward = doubled(Linear.backward).__get__(f)


attack("instance", instance)


def accumulated(self: Any, g: Any) -> None:
    self.grad = g * 3


attack("patched_accumulate", go=patched(Variable, "_accumulate", accumulated))


def with_gradients(model: Any, **things: Any) -> None:
    for p in model.params():
        p.grad = Variable(np.full(p.shape, 0.5, "f4"))


def one_with_a_gradient(model: Any, **things: Any) -> None:
    model.l1.b.grad = Variable(np.ones(3, "f4"))


def seeded(loss: Any, **things: Any) -> None:
    loss.grad = Variable(np.array(2, "f4"))


def seeded_by_theirs(loss: Any, keep: Any, **things: Any) -> None:
    keep.append(np.array(2, "f4"))
    loss.grad = Variable(keep[-1])
    loss.backward()
    keep[-1][...] = 7


def inner_gradient(y: Any, **things: Any) -> None:
    y.grad = Variable(np.ones(y.shape, "f4"))
    y.creator.inputs[0].grad = y.grad


def twice(loss: Any, **things: Any) -> None:
    loss.backward()
    loss.backward()


def cut(y: Any, **things: Any) -> None:
    y.creator.inputs[0].unchain()


def another_input(y: Any, x: Any, **things: Any) -> None:
    h, W, b = y.creator.inputs
    y.creator.inputs = [Variable(h.data * 2), W, b]


def another_weight(model: Any, **things: Any) -> None:
    model.l1.W.data = model.l1.W.data * 2


def wide_bias(model: Any, **things: Any) -> None:
    model.l1.b.data = model.l1.b.data.astype("f8")


def other_classes(t: Any, **things: Any) -> None:
    t[...] = 2 - t


def other_inputs(x: Any, **things: Any) -> None:
    x *= 0.5


def frozen(model: Any, **things: Any) -> None:
    model.l0.W._constant, model.l0.W._edge = True, None


def thaw(model: Any) -> None:
    model.l0.W._constant = False


def while_frozen(model: Any, x: Any, t: Any, loss: Any, **things: Any) -> None:
    """One more graph, in which a weight wants no gradient."""
    frozen(model)
    found = F.softmax_cross_entropy(model(x), t)
    thaw(model)
    found.backward()


def keeps(model: Any, loss: Any, keep: Any, **things: Any) -> None:
    loss.backward()
    keep.extend([p.grad.data for p in model.params()])


def keeps_variables(model: Any, loss: Any, keep: Any, **things: Any) -> None:
    loss.backward()
    model.kept = [*getattr(model, "kept", ()), *[p.grad for p in model.params()]]
    keep.extend([g.data.copy() for g in model.kept])


def dead(loss: Any, y: Any, keep: Any, **things: Any) -> None:
    """Results that nobody has any more."""
    reference = weakref.ref(y.creator.inputs[0])
    loss.backward()
    keep.append(np.array(reference() is None))


def hooked(model: Any, loss: Any, keep: Any, **things: Any) -> None:
    """A hook of the tape at a leaf, which nobody is shown how to set."""
    end = model.l0.W._edge[0]
    handle = end.register_prehook(lambda gs: keep.append(np.array(1)) or None)
    loss.backward()
    handle.remove()


for act in (with_gradients, one_with_a_gradient, seeded, inner_gradient, cut, another_input, another_weight,
            wide_bias, other_classes, other_inputs):  # fmt: skip
    attack(act.__name__, act)
for act in (twice, seeded_by_theirs, while_frozen, keeps, keeps_variables, dead, hooked):
    attack(act.__name__, go=act)
attack("retained", go=lambda loss, **k: loss.backward(retain_grad=True))
attack("with_graph", go=lambda loss, **k: loss.backward(create_graph=True))
attack("of_scores", go=lambda y, **k: y.backward())
attack("not_at_all", go=lambda **k: None)


class Own(Parameter):
    """A Parameter that counts its gradients."""

    given = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "grad" and value is not None:
            self.__dict__["given"] = self.given + 1
        super().__setattr__(name, value)


def counted() -> Any:
    model = MLP((8, 3))
    layer = L.Linear(8, in_size=6)
    made = Own(None, name="W")
    made._data = layer.W._data  # past `data`, which shows it: then no update waits
    layer.W = made
    model.l0 = model.layers[0] = layer
    return model


attack("own_parameters", make=counted)
attack("tied", make=lambda: _tied())
attack("relu", make=lambda: MLP((8, 4, 3), activation=F.relu))
attack("derived", make=lambda: MLP((8, 3), activation=lambda x: _Derived()(x)))
attack("other_functions", make=lambda: Sequential(L.Linear(8), F.tanh, L.Linear(3)))


class _Derived(Sigmoid):
    """A class of the user's, over one of ours."""

    def backward(self, *gys: Any) -> Any:
        return super().backward(*gys) * 2


def _tied() -> Any:
    class Tied(Model):
        def __init__(self) -> None:
            super().__init__()
            self.l0, self.l1 = L.Linear(6), L.Linear(3)

        def forward(self, x: Any) -> Any:
            return self.l1(F.sigmoid(self.l0(F.sigmoid(self.l0(x)))))

    return Tied()


def _leaves() -> Any:
    """Inputs that want gradients: another leaf in each iteration."""
    model = MLP((8, 3))
    optimizer = optimizers.SGD(0.1).setup(model)
    log = []
    for x, t in batches():
        v = Variable(x)
        loss = F.softmax_cross_entropy(model(v), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        log.append([float(loss.data), v.grad.data.copy()])
    return log, see(model)


def _two_losses() -> Any:
    """Two graphs in an iteration, and a branch whose parts are made in another order now and then."""
    model, other = MLP((8, 3)), MLP((7, 3))
    rules = [optimizers.SGD(0.1).setup(m) for m in (model, other)]
    log = []
    for i, (x, t) in enumerate(batches()):
        losses = [F.softmax_cross_entropy(m(x), t) for m in ((model, other) if i % 5 else (other, model))]
        model.cleargrads()
        other.cleargrads()
        for found in losses:
            found.backward()
        for rule in rules:
            rule.update()
        log.append([float(found.data) for found in losses])
    return log, see(model), see(other)


GRAPHS["leaves"] = _leaves, 5
GRAPHS["two_losses"] = _two_losses, 1
