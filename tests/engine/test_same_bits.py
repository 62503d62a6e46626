"""`use_deterministic_algorithms`: the same bits for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
import rushlight.fft
import rushlight.nn.functional as F


def gradients(f, *shapes) -> list[np.ndarray]:
    rl.manual_seed(0)
    inputs = [rl.randn(*shape, requires_grad=True) for shape in shapes]
    out = f(*inputs)
    (out * out).sum().backward()
    return [out.detach().numpy(), *[x.grad.numpy() for x in inputs]]


CASES = {
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), (32, 8, 14, 14), (16, 8, 3, 3)),
    "conv1d": (lambda x, w: F.conv1d(x, w), (16, 8, 400), (12, 8, 5)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (300,), w, b), (257, 300), (300,), (300,)),
    "batch_norm": (lambda x, w: F.batch_norm(x, None, None, w, training=True), (64, 16, 20, 20), (16,)),
    "sum": (lambda x: x.sum(), (1000, 333)),
    "mean of rows": (lambda x: x.mean(0), (1000, 333)),
    "matmul": (lambda x, w: x @ w, (513, 257), (257, 129)),
    "softmax": (lambda x: F.log_softmax(x, 1), (513, 257)),
    "avg_pool": (lambda x: F.avg_pool2d(x, 3, 2), (16, 16, 31, 31)),
    "fft": (lambda x: rl.view_as_real(rl.fft.rfft2(x)), (37, 30, 101)),
    "embedding": (lambda w: F.embedding(rl.arange(4000) % 50, w), (50, 64)),
    "index_add": (lambda x, s: x.index_add(0, rl.arange(20000) % 50, s), (50, 32), (20000, 32)),
    "scatter_add": (lambda x, s: x.scatter_add(0, rl.randint(50, s.shape), s), (50, 32), (20000, 32)),
}


@pytest.mark.parametrize("name", CASES)
def test_any_number_of_threads(name: str) -> None:
    threads, strict = rl.get_num_threads(), rl.are_deterministic_algorithms_enabled()
    f, *shapes = CASES[name]
    rl.use_deterministic_algorithms(True)
    try:
        found = []
        for n in (1, 2, 3, 4):
            rl.set_num_threads(n)
            found.append(gradients(f, *shapes))
    finally:
        rl.set_num_threads(threads)
        rl.use_deterministic_algorithms(strict)
    for other in found[1:]:
        for a, b in zip(found[0], other):
            assert a.tobytes() == b.tobytes()
