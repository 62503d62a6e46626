"""DeZero's training on a GPU, or the emulated one, beside the CPU's."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import rushlight
import rushlight.dezero as dezero
import rushlight.dezero.functions as F
from rushlight.core import hot
from rushlight.core.tensor import wrap
from rushlight.dezero import DataLoader, cuda, datasets, optimizers
from rushlight.dezero.layers import Linear
from rushlight.dezero.models import MLP
from rushlight.runtime.thread import here

X = np.random.RandomState(1).randn(12, 8).astype(np.float32)
T = np.random.RandomState(2).randint(0, 5, 12)


def host(a: Any) -> np.ndarray:
    """An array on the host, by rushlight: the emulator has no CuPy that copies."""
    return wrap(a).to("cpu").numpy()


def write(a: Any, value: np.ndarray) -> None:
    """Values into an array on the GPU, past rushlight."""
    if "emulated_gpu" in sys.modules:
        import emulated_capture

        emulated_capture.on_host(a)[...] = value
    else:
        a.set(np.ascontiguousarray(value))


def pair(make: Any, inputs: Any = X) -> list[Any]:
    """The same model twice, the second one on the GPU."""
    models = []
    for _ in range(2):
        np.random.seed(0)
        models.append(make())
        with dezero.no_grad():
            models[-1](inputs)
    models[1].to_gpu()
    return models


def same(near: Any, there: Any) -> None:
    for p, q in zip(near.params(), there.params()):
        assert p.shape == q.shape == q.grad.shape
        np.testing.assert_allclose(host(q.grad.data), p.grad.data, atol=1e-6)
        np.testing.assert_allclose(host(q.data), p.data, atol=1e-5)


def train(rule: Any) -> None:
    """Steps of step 52; what one held of an earlier step stays what it was."""
    models = pair(lambda: MLP((16, 5)))
    places = [(X, T), (cuda.as_cupy(X), cuda.as_cupy(T))]
    steppers = [rule().setup(m) for m in models]
    kept = []
    for _ in range(4):
        losses = []
        for model, (x, t), stepper in zip(models, places, steppers):
            y = model(x)
            loss = F.softmax_cross_entropy(y, t)
            model.cleargrads()
            loss.backward()
            stepper.update()
            losses.append(float(host(loss.data)))
        kept.append((y, host(y.data), model.l0.W.grad, host(model.l0.W.grad.data)))
        assert abs(losses[0] - losses[1]) < 1e-5, losses
        same(*models)
    for y, y_then, g, g_then in kept:
        assert (host(y.data) == y_then).all() and (host(g.data) == g_then).all()


def layers(library: bool) -> None:
    """A linear layer's gradients, whatever is asked for and however W lies in memory."""
    cases: list[tuple[dict[str, Any], str, bool]] = [
        ({}, "F", True), ({"nobias": True}, "F", True), ({}, "F", False), ({"nobias": True}, "F", False)
    ]  # fmt: skip
    if library:
        cases += [({}, "C", True), ({}, "C", False), ({"nobias": True}, "C", True)]
    for options, order, to_input in cases:
        near, there = pair(lambda options=options: Linear(5, **options))
        assert there.W.data.flags.f_contiguous and there.W.shape == (8, 5)
        if order == "C":
            there.W.data = cuda.as_cupy(np.ascontiguousarray(near.W.data))
        inputs = [X, cuda.as_cupy(X)]
        if to_input:
            inputs = [dezero.Variable(a) for a in inputs]
        for layer, x in zip((near, there), inputs):
            loss = F.softmax_cross_entropy(layer(x), T if layer is near else cuda.as_cupy(T))
            loss.backward()
        same(near, there)
        assert order == "C" or there.W.grad.data.flags.f_contiguous  # as the optimisers' kernels want it
        if to_input:
            np.testing.assert_allclose(host(inputs[1].grad.data), inputs[0].grad.data, atol=1e-6)


def batches() -> None:
    """Batches gathered on the GPU from a copy that stays there."""
    dataset = object.__new__(datasets.MNIST)  # without files
    dataset.transform = dataset.target_transform = datasets._as_it_is
    dataset.data = np.random.RandomState(3).randint(0, 256, (50, 1, 7, 4)).astype(np.uint8)
    dataset.label = np.arange(50) % 10
    found = []
    for gpu in (False, True):
        dataset.seen = False
        np.random.seed(4)
        loader = DataLoader(dataset, 8, gpu=gpu)
        found.append([(host(x), host(t)) for _ in range(2) for x, t in loader])
        assert not gpu or len(loader._kept.copies) == 2
    for (x, t), (there_x, there_t) in zip(*found, strict=True):
        assert x.dtype == there_x.dtype and t.dtype == there_t.dtype
        assert (x == there_x).all() and (t == there_t).all()


def loop(traced: bool, rule: Any, meddle: bool = False) -> tuple[list[float], list[np.ndarray], int]:
    """Step 52's loop over one array of batches; what it says, what it learns, and how often it was replayed."""
    np.random.seed(0)
    model = MLP((16, 5))
    model(X)
    model.to_gpu()
    optimizer = rule().setup(model)
    r = np.random.RandomState(5)
    xs = cuda.as_cupy(r.randn(12, 12, 8).astype(np.float32))
    ts = cuda.as_cupy(r.randint(0, 5, (12, 12)))
    before, timed = rushlight.tracing(False), hot.meeting.timed
    barred, hot.meeting.barred = hot.meeting.barred, None  # other tests import the simple core
    hot.meeting.timed, hot.settings.trace = False, ""
    rushlight.tracing(traced)
    losses = []
    for i in range(12):
        x, t = xs[i], ts[i]
        loss = F.softmax_cross_entropy(model(x), t)
        if meddle:  # before backward reads them once more
            write(x, host(x) * np.float32(0.5))
            write(t, (host(t) + i) % 5)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(host(loss.data)))
    tracer = here.tracer
    report = getattr(tracer, "report", None)
    replayed = 0 if report is None else sum(row["replayed"] for row in report.loops)
    rushlight.tracing(False)
    rushlight.tracing(before)
    hot.meeting.timed, hot.meeting.barred = timed, barred
    return losses, [host(p.data) for p in model.params()], replayed


def loops() -> None:
    """The loop as it is, and as recorded programs."""
    for rule in (optimizers.SGD, optimizers.Adam):
        for meddle in (False, True):
            eager, traced = loop(False, rule, meddle), loop(True, rule, meddle)
            np.testing.assert_allclose(eager[0], traced[0], atol=1e-5)
            for p, q in zip(eager[1], traced[1], strict=True):
                np.testing.assert_allclose(p, q, atol=1e-5)
            assert meddle or traced[2] > 5, traced[2]


def main(library: bool = True) -> None:
    """`library` says whether there are products other than by rushlight's own kernels."""
    cuda.gpu_enable = True
    if "emulated_gpu" in sys.modules:
        import emulated_capture

        emulated_capture.install()
    batches()
    layers(library)
    for rule in (optimizers.SGD, optimizers.MomentumSGD, optimizers.Adam):
        train(rule)
    loops()
    print("equal")


if __name__ == "__main__":
    main(library=False)
