"""DeZero's loops: users that look at arrays in the middle, keep them, change them, and write Functions of their own."""

# ruff: noqa: B023, E731, N806, F841
from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as rl
import rushlight.dezero as dezero
import rushlight.dezero.functions as F
import rushlight.dezero.layers as L
from rushlight.dezero import Function, Parameter, Variable, optimizers
from rushlight.dezero.models import MLP, Model, Sequential

LOOPS: dict[str, tuple[Callable[[], Any], int]] = {}
N = 20


def loop(replays: int = 1) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """A program whose answer is all that can be seen of it, and how many stretches are replayed at least."""

    def add(program: Callable[[], Any]) -> Callable[[], Any]:
        LOOPS[program.__name__] = program, replays
        return program

    return add


def batches(n: int = N, size: int = 5, features: int = 6) -> list[tuple[np.ndarray, np.ndarray]]:
    r = np.random.RandomState(3)
    return [(r.randn(size, features).astype("f4"), r.randint(0, 3, size)) for _ in range(n)]


def see(model: Any, optimizer: Any = None) -> list[Any]:
    """Copies of Parameters, gradients and states."""
    out = [p.data.copy() for p in model.params()]
    out += [None if p.grad is None else p.grad.data.copy() for p in model.params()]
    state = getattr(optimizer, "_state", {})
    return out + [[a.copy() for a in state[p]] for p in model.params() if p in state]


def train(model: Any, optimizer: Any, change: Any = None, n: int = N, loss: Any = None) -> Any:
    """Step 52's loop; `change(i, where, **things)` is told where an iteration has come to."""
    tell = change or (lambda *a, **k: None)
    losses = []
    for i, (x, t) in enumerate(batches(n)):
        tell(i, "begin", x=x, t=t)
        y = model(x)
        tell(i, "forward", x=x, t=t, y=y)
        found = (loss or F.softmax_cross_entropy)(y, t)
        tell(i, "loss", x=x, t=t, y=y, loss=found)
        model.cleargrads()
        found.backward()
        tell(i, "backward", x=x, t=t, y=y, loss=found)
        optimizer.update()
        tell(i, "update", x=x, t=t, y=y, loss=found)
        losses.append(float(found.data))
    return losses, see(model, optimizer)


def net(rule: Any = None, hidden: int = 8) -> tuple[Any, Any]:
    model = MLP((hidden, 3))
    return model, (rule or optimizers.SGD(0.1)).setup(model)


def plain(name: str, rule: Callable[[], Any], replays: int = 10) -> None:
    def program() -> Any:
        return train(*net(rule()))

    program.__name__ = name
    loop(replays)(program)


plain("sgd", lambda: optimizers.SGD(0.1))
plain("momentum", lambda: optimizers.MomentumSGD(0.1))
plain("adagrad", lambda: optimizers.AdaGrad(0.1))
plain("adadelta", optimizers.AdaDelta)
plain("adam", lambda: optimizers.Adam(0.01))


def looking(where: str, act: Callable[..., Any], replays: int = 0, every: int = 1) -> None:
    """A loop in which somebody does something at one place of an iteration."""

    def program() -> Any:
        model, optimizer = net()
        log: list[Any] = []

        def change(i: int, at: str, **things: Any) -> None:
            if at == where and i % every == every - 1:
                log.append(act(model=model, optimizer=optimizer, i=i, log=log, **things))

        found = train(model, optimizer, change)
        return found, [np.array(a) if isinstance(a, np.ndarray) else a for a in log]

    number = sum(name.startswith(f"{where}_") for name in LOOPS)
    program.__name__ = f"{where}_{number}_{every}"
    loop(replays)(program)


def sets(a: Any, value: Any) -> None:
    a[...] = value


def doubles(a: Any) -> None:
    a *= 2


for every in (1, 7):
    # reads in the middle
    looking("forward", lambda y, **k: y.data.copy(), every=every)
    looking("forward", lambda y, **k: repr(y), every=every)
    looking("forward", lambda y, **k: y.data, every=every)
    looking("loss", lambda loss, **k: float(loss.data), every=every)
    looking("backward", lambda model, **k: model.l0.W.grad.data.copy(), every=every)
    looking("backward", lambda model, **k: model.l0.W.grad.data, every=every)
    looking("backward", lambda model, **k: [p.grad.shape for p in model.params()], every=every)
    looking("update", lambda model, **k: model.l0.W.data.copy(), every=every)
    looking("update", lambda model, **k: model.l0.W.data, every=every)
    looking("update", lambda model, **k: pickle.loads(pickle.dumps(model.l0.b)).data, every=every)
    looking("update", lambda model, **k: see(copy.deepcopy(model)), every=every)
    looking("update", lambda y, t, **k: float(F.accuracy(y, t).data), every=every)
    looking("update", lambda y, **k: dezero.cuda.as_numpy(y), every=every)
    # writes in the middle, by NumPy
    looking("forward", lambda x, **k: doubles(x), every=every)
    looking("forward", lambda y, **k: sets(y.data, 0.5), every=every)
    looking("loss", lambda x, **k: sets(x, 1), every=every)
    looking("loss", lambda t, **k: sets(t, 1), every=every)
    looking("loss", lambda y, **k: doubles(y.data), every=every)
    looking("backward", lambda model, **k: doubles(model.l0.W.grad.data), every=every)
    looking("backward", lambda model, **k: doubles(model.l1.b.data), every=every)
    looking("backward", lambda x, **k: doubles(x), every=every)
    looking("update", lambda x, t, loss, **k: [doubles(x), sets(t, 0), doubles(loss.data)], every=every)
    looking("update", lambda model, **k: sets(model.l0.b.data, 0.25), every=every)
    # other objects in place of what was there
    looking("update", lambda model, **k: setattr(model.l0.W, "data", model.l0.W.data * 0.5), every=every)
    looking("update", lambda model, **k: setattr(model.l0, "b", Parameter(np.ones(8, "f4"))), every=every)
    looking("backward", lambda model, **k: setattr(model.l0.b, "grad", Variable(np.ones(8, "f4"))), every=every)
    looking("backward", lambda model, **k: setattr(model.l1.W, "grad", None), every=every)
    looking("loss", lambda loss, **k: setattr(loss, "grad", Variable(np.array(2.0, "f4"))), every=every)
    looking("begin", lambda optimizer, i, **k: setattr(optimizer, "lr", 0.1 / (i + 1)), every=every)
    looking("begin", lambda x, **k: [gc.collect()] and None, every=every)
    looking("update", lambda loss, **k: loss.unchain_backward(), every=every)


@loop(8)
def arrays_that_are_kept() -> Any:
    """Somebody holds arrays of every iteration: they stay what they were."""
    model, optimizer = net()
    kept = []

    def change(i: int, at: str, **things: Any) -> None:
        if at == "update":
            kept.append((things["loss"], things["y"], model.l0.W.grad))

    found = train(model, optimizer, change)
    return found, [[v.data.copy() for v in row] for row in kept]


@loop(0)
def a_bare_weight_is_watched() -> Any:
    """An array that was taken before the loop shows every update at once."""
    model, optimizer = net()
    model(batches(1)[0][0])
    W, seen = model.l0.W.data, []

    def change(i: int, at: str, **things: Any) -> None:
        seen.append(W.copy())
        if i == 10:
            W[...] += 0.5
        seen.append(float(things["x"].sum()))

    return train(model, optimizer, change), seen


@loop()
def a_view_of_a_weight_is_watched() -> Any:
    model, optimizer = net()
    seen: list[Any] = []
    views: list[Any] = []

    def change(i: int, at: str, **things: Any) -> None:
        if i == 8 and at == "update":
            views.append(model.l0.W.data[1:3].T)
        seen.extend([v.copy() for v in views])

    return train(model, optimizer, change), seen


@loop(2)
def a_weight_is_let_go_of() -> Any:
    """Somebody has the array for a while; afterwards the loop is traced again."""
    model, optimizer = net()
    held: list[Any] = []
    seen = []

    def change(i: int, at: str, **things: Any) -> None:
        if i == 6 and at == "update":
            held.append(model.l0.W.data)
        if i == 8 and at == "update":
            held.clear()
        seen.extend([a.copy() for a in held])

    return train(model, optimizer, change, n=40), seen


class Square(Function):
    """As the book writes it: bare arrays in, bare arrays out."""

    def forward(self, x: Any) -> Any:
        self.kept = x
        return x**2

    def backward(self, gy: Any) -> Any:
        return 2 * self.inputs[0] * gy


class Meddling(Function):
    """Changes what it was given, and gives arrays where Variables are expected."""

    def forward(self, x: Any) -> Any:
        x *= np.float32(0.5)
        self.y = x + 1
        return self.y

    def backward(self, gy: Any) -> Any:
        self.y[...] = 3
        return gy.data * np.float32(0.5)


class Shouting(F.Sigmoid):
    """A Function of ours, in part."""

    def forward(self, x: Any) -> Any:
        self.seen = float(x.sum())
        return super().forward(x) * np.float32(2)

    def backward(self, gy: Any) -> Any:
        return gy * np.float32(self.seen)


def with_own(make: Callable[[], Any]) -> Callable[[], Any]:
    def program() -> Any:
        model = Sequential(L.Linear(8), lambda x: make()(x), L.Linear(3))
        return train(model, optimizers.SGD(0.05).setup(model))

    return program


LOOPS["functions_of_the_user"] = with_own(Square), 1
LOOPS["functions_that_meddle"] = with_own(Meddling), 1
LOOPS["functions_of_ours_derived"] = with_own(Shouting), 1


@loop(1)
def a_forward_is_replaced() -> Any:
    """By an instance and by a class, in the middle of the loop."""
    seen = []

    def program(where: str) -> Any:
        model, optimizer = net()

        class Own(F.ReLU):
            pass

        def act(x: Any) -> Any:
            f = Own()
            if where == "instance" and len(seen) > 12:
                f.forward = lambda a: (seen.append(float(a.sum())), a * np.float32(0.5))[1]
            seen.append(0.0)
            return f(x)

        model.activation = act
        first = train(model, optimizer)
        if where == "class":
            Own.forward = lambda self, a: a + np.float32(1)
        return first, train(model, optimizer)

    return program("instance"), program("class"), seen


@loop(0)
def names_that_are_called_directly() -> Any:
    """Public functions of arrays answer with values, wherever they are called."""
    model, optimizer = net()
    seen = []

    def change(i: int, at: str, **things: Any) -> None:
        x = things["x"]
        seen.append(F.Sigmoid().forward(x).sum())
        seen.append(F.Linear().forward(x, x.T, None).sum())
        seen.append(dezero.utils.sum_to(x, (1, 6)).copy())
        seen.append(dezero.utils.logsumexp(x).sum())
        seen.append(dezero.core.Add().forward(x, x)[0, 0])

    return train(model, optimizer, change), seen


@loop(8)
def weight_decay() -> Any:
    model, optimizer = net(optimizers.MomentumSGD(0.1))
    optimizer.add_hook(optimizers.WeightDecay(1e-2))
    return train(model, optimizer)


@loop(1)
def clipped() -> Any:
    model, optimizer = net()
    optimizer.add_hook(optimizers.ClipGrad(0.3))
    return train(model, optimizer)


@loop(1)
def frozen() -> Any:
    model, optimizer = net()
    model(batches(1)[0][0])
    optimizer.add_hook(optimizers.FreezeParam(model.l0))
    return train(model, optimizer)


@loop()
def a_hook_of_the_user() -> Any:
    model, optimizer = net()
    seen = []

    def hook(params: Any) -> None:
        for p in params:
            seen.append(float(abs(p.grad.data).max()))
            p.grad.data[...] *= np.float32(0.5)

    optimizer.add_hook(hook)
    return train(model, optimizer), seen


@loop(1)
def hooks_in_the_middle() -> Any:
    model, optimizer = net()

    def change(i: int, at: str, **things: Any) -> None:
        if at == "begin" and i == 9:
            optimizer.add_hook(optimizers.WeightDecay(0.1))
        if at == "begin" and i == 15:
            optimizer.hooks.clear()

    return train(model, optimizer, change)


@loop()
def an_optimizer_of_the_user() -> Any:
    class Plain(optimizers.Optimizer):
        def update_one(self, param: Any) -> None:
            param.data -= 0.1 * param.grad.data

    return train(*net(Plain()))


@loop()
def an_optimizer_of_ours_derived() -> Any:
    class Half(optimizers.SGD):
        def update_one(self, param: Any) -> None:
            param.grad.data[...] *= np.float32(0.5)
            super().update_one(param)

    return train(*net(Half(0.2)))


@loop()
def updates_by_hand() -> Any:
    """Steps 42 to 44: Variables and a learning rate."""
    r = np.random.RandomState(0)
    W, b = Variable(r.randn(6, 3).astype("f4")), Variable(np.zeros(3, "f4"))
    losses = []
    for x, t in batches():
        loss = F.softmax_cross_entropy(F.sigmoid(F.linear(x, W, b)), t)
        W.cleargrad()
        b.cleargrad()
        loss.backward()
        W.data -= 0.1 * W.grad.data
        b.data -= 0.1 * b.grad
        losses.append(float(loss.data))
    return losses, W.data, b.data


@loop(4)
def evaluation_between() -> Any:
    """Epochs of training, of a test without gradients, and in test mode."""
    model = Sequential(L.Linear(8), lambda x: F.dropout(F.relu(x), 0.3), L.Linear(3))
    optimizer = optimizers.Adam().setup(model)
    seen = []
    for _ in range(4):
        seen.append(train(model, optimizer, n=10))
        with dezero.no_grad(), dezero.test_mode():
            for x, t in batches(8):
                y = model(x)
                seen.append(float(F.softmax_cross_entropy(y, t).data))
                seen.append(float(F.accuracy(y, t).data))
                assert y.creator is None
    return seen


@loop(4)
def test_mode_in_the_loop() -> Any:
    model = Sequential(L.Linear(8), lambda x: F.dropout(F.relu(x), 0.3), L.Linear(3))
    optimizer = optimizers.SGD(0.1).setup(model)
    seen = []

    def change(i: int, at: str, **things: Any) -> None:
        if at == "update" and i % 4 == 3:
            with dezero.test_mode():
                seen.append(model(things["x"]).data.copy())

    return train(model, optimizer, change), seen


@loop(4)
def retained() -> Any:
    """Gradients are left on what lies between."""
    model, optimizer = net()
    seen = []
    for x, t in batches():
        y = model(x)
        loss = F.softmax_cross_entropy(y, t)
        model.cleargrads()
        loss.backward(retain_grad=True)
        optimizer.update()
        seen.append([loss.grad.data.copy(), y.grad.data.copy(), float(loss.data)])
    return seen, see(model)


@loop(4)
def gradients_add_up() -> Any:
    model, optimizer = net()
    seen = []
    for i, (x, t) in enumerate(batches(32)):
        loss = F.softmax_cross_entropy(model(x), t)
        loss.backward()
        if i % 2:
            optimizer.update()
            model.cleargrads()
            seen.append(float(loss.data))
    return seen, see(model)


@loop(2)
def double_backprop() -> Any:
    """Newton's method of step 29, and a penalty on a gradient."""
    x, seen = Variable(np.array(2.0)), []
    for _ in range(12):
        y = x**4 - 2 * x**2
        x.cleargrad()
        y.backward(create_graph=True)
        gx = x.grad
        x.cleargrad()
        gx.backward()
        x.data -= 0.1 * gx.data / (abs(x.grad.data) + 1)
        seen.append(float(x.data))
    model, optimizer = net()
    for inputs, t in batches():
        v = Variable(inputs)
        loss = F.softmax_cross_entropy(model(v), t)
        loss.backward(create_graph=True)
        g = v.grad
        model.cleargrads()
        (F.sum(g * g) + loss).backward()
        optimizer.update()
        v.cleargrad()
        seen.append(float(loss.data))
    return seen, see(model)


@loop(2)
def inputs_that_are_variables() -> Any:
    model, optimizer = net()
    x = Variable(batches(1)[0][0])
    t = batches(1)[0][1]
    seen = []
    for i in range(N):
        y = model(x)
        loss = F.softmax_cross_entropy(y, t)
        model.cleargrads()
        x.cleargrad()
        loss.backward()
        optimizer.update()
        seen.append([float(loss.data), x.grad.data.copy()])
        if i % 5 == 4:
            x.data[...] *= np.float32(0.9)
    return seen, see(model)


@loop(4)
def regression() -> Any:
    """Step 43's sine, by layers and mean squared error."""
    r = np.random.RandomState(0)
    x, model, seen = r.rand(20, 1), MLP((10, 1)), []
    y = np.sin(2 * np.pi * x) + r.rand(20, 1)
    optimizer = optimizers.SGD(0.2).setup(model)
    for _ in range(30):
        loss = F.mean_squared_error(y, model(x))
        model.cleargrads()
        loss.backward()
        optimizer.update()
        seen.append(loss)
    return [v.data.copy() for v in seen], see(model)


@loop(4)
def a_table_that_changes_in_place() -> Any:
    """One array for all batches, filled anew each time."""
    model, optimizer = net()
    x, t = np.empty((5, 6), "f4"), np.empty(5, int)
    seen = []
    for a, b in batches():
        x[...], t[...] = a, b
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        seen.append(float(loss.data))
        x[...] = -1
    return seen, see(model)


@loop(1)
def pictures() -> Any:
    class Net(Model):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm, self.fc = L.Conv2d(4, 3), L.BatchNorm(), L.Linear(3)

        def forward(self, x: Any) -> Any:
            x = F.pooling(F.relu(self.norm(self.conv(x))), 2, 2)
            return self.fc(F.reshape(x, (x.shape[0], -1)))

    model, seen = Net(), []
    optimizer = optimizers.SGD(0.05).setup(model)
    r = np.random.RandomState(0)
    for _ in range(10):
        x, t = r.randn(2, 1, 8, 8).astype("f4"), r.randint(0, 3, 2)
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        seen.append(float(loss.data))
    return seen, see(model), model.norm.avg_mean.data.copy()


@loop(2)
def recurrent() -> Any:
    """Truncated backpropagation through time, step 59."""
    model = Sequential(L.LSTM(6), L.Linear(1))
    optimizer = optimizers.Adam().setup(model)
    r, seen = np.random.RandomState(0), []
    for _ in range(8):
        model.layers[0].reset_state()
        loss = 0
        for _ in range(3):
            loss += F.mean_squared_error(model(r.randn(4, 1)), r.randn(4, 1))
        model.cleargrads()
        loss.backward()
        loss.unchain_backward()
        optimizer.update()
        seen.append(float(loss.data))
    return seen, see(model)


@loop(4)
def functions_of_all_kinds() -> Any:
    """Most of what there is, on a Variable of ours."""
    W = Parameter(np.random.RandomState(0).randn(4, 5))
    seen = []
    for i in range(14):
        x = Variable(np.random.RandomState(i).rand(3, 4) + 0.5)
        h = F.matmul(x, W)
        parts = [
            F.tanh(h), F.exp(-h), F.sin(h) * F.cos(h), F.log(h * h + 1), F.leaky_relu(h), F.clip(h, -1, 1),
            F.softmax(h), F.log_softmax(h), h.T.reshape(3, 5), F.broadcast_to(F.sum(h, 0), (3, 5)),
            F.max(h, 1, keepdims=True) + h, 1 / (h * h + 2), h**3 - h, F.average(h) * h,
            F.sum_to(h, (1, 5)) + h, F.concat([h, h], 0)[:3], F.get_item(h, [0, 1, 1]),
        ]  # fmt: skip
        total = F.sum(parts[0])
        for p in parts[1:]:
            total = total + F.sum(p * p)
        W.cleargrad()
        total.backward()
        seen.append([float(total.data), W.grad.data.copy(), x.grad.data.copy()])
    return seen


@loop(2)
def whole_numbers_and_masks() -> Any:
    seen = []
    x = Variable(np.arange(6).reshape(2, 3))
    for i in range(12):
        y = F.exp(x * 2 + i) / 3 - x
        z = F.sum(F.sigmoid(y)) + F.sum(x - 1)
        x.cleargrad()
        z.backward()
        seen.append([float(z.data), x.grad.data.copy()])
    return seen


@loop(2)
def errors_in_the_middle() -> Any:
    model, optimizer = net()
    seen = []

    def change(i: int, at: str, **things: Any) -> None:
        if at == "forward" and i in (8, 12, 13):
            try:
                F.matmul(things["y"], things["y"])
            except Exception as error:  # noqa: BLE001
                seen.append(type(error).__name__)
        if at == "begin" and i == 15:
            try:
                F.softmax_cross_entropy(model(things["x"]), things["t"] + 7)
            except Exception as error:  # noqa: BLE001
                seen.append(type(error).__name__)

    return train(model, optimizer, change), seen


@loop(2)
def beside_a_tensor_program() -> Any:
    """rushlight's own tensors in the same loop, over memory of Variables."""
    model, optimizer = net()
    w = rl.ones(3, requires_grad=True)
    own = rl.optim.SGD([w], lr=0.1)
    seen = []
    for x, t in batches():
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        other = (w * rl.from_numpy(loss.data)).sum()
        own.zero_grad()
        other.backward()
        own.step()
        seen.append([float(loss.data), other.item()])
    return seen, see(model), w.detach().numpy().copy()


@loop(2)
def switched_on_and_off() -> Any:
    model, optimizer = net()

    def change(i: int, at: str, **things: Any) -> None:
        if i in (9, 10, 15) and at == "loss":
            rl.tracing(rl.tracing())  # asks only
        if i == 12 and at == "backward" and rl.tracing():
            rl.tracing(False)
            rl.tracing(True)

    return train(model, optimizer, change)
