"""DeZero's training on a GPU, or the emulated one, beside the CPU's; run by test_dezero_gpu.py."""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight.dezero as dezero
import rushlight.dezero.functions as F
from rushlight.core.tensor import wrap
from rushlight.dezero import DataLoader, cuda, datasets, optimizers
from rushlight.dezero.layers import Linear
from rushlight.dezero.models import MLP

X = np.random.RandomState(1).randn(12, 8).astype(np.float32)
T = np.random.RandomState(2).randint(0, 5, 12)


def host(a: Any) -> np.ndarray:
    """An array on the host, by rushlight: the emulator has no CuPy that copies."""
    return wrap(a).to("cpu").numpy()


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


def same(here: Any, there: Any) -> None:
    for p, q in zip(here.params(), there.params()):
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
        here, there = pair(lambda options=options: Linear(5, **options))
        assert there.W.data.flags.f_contiguous and there.W.shape == (8, 5)
        if order == "C":
            there.W.data = cuda.as_cupy(np.ascontiguousarray(here.W.data))
        inputs = [X, cuda.as_cupy(X)]
        if to_input:
            inputs = [dezero.Variable(a) for a in inputs]
        for layer, x in zip((here, there), inputs):
            loss = F.softmax_cross_entropy(layer(x), T if layer is here else cuda.as_cupy(T))
            loss.backward()
        same(here, there)
        assert (
            order == "C" or there.W.grad.data.flags.f_contiguous
        )  # as the optimisers' kernels want it
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


def main(library: bool = True) -> None:
    """`library` says whether there are products other than by rushlight's own kernels."""
    cuda.gpu_enable = True
    batches()
    layers(library)
    for rule in (optimizers.SGD, optimizers.MomentumSGD, optimizers.Adam):
        train(rule)
    print("equal")


if __name__ == "__main__":
    main(library=False)
