"""Batch norm's kernels on the emulated GPU beside their generic bodies: images row by row and channels last, wherever they begin."""

from __future__ import annotations

from typing import Any

import numpy as np

import emulated_joins
from emulated_joins import compare, random
from rushlight.capture.joined import cuda_norms  # noqa: F401 - its bodies are compared
from rushlight.runtime.door import KERNELS, run

HOW = {"eps": 1e-3}


def last(a: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)


def images(shape: tuple[int, ...], kind: str, turned: bool) -> np.ndarray:
    a = random.standard_normal(shape).astype(kind)
    return last(a) if turned else a


def of(shape: tuple[int, ...], kind: str, turned: tuple[bool, bool]) -> None:
    """The second of `turned` is how gradients and other summands lie."""
    x, (other, g, more) = images(shape, kind, turned[0]), [images(shape, kind, turned[1]) for _ in range(3)]
    w, b, mean = [random.standard_normal(shape[1]).astype(kind) for _ in range(3)]
    var = np.abs(b) + 1
    for affine in ((w, b), (None, None)):
        compare("batch_norm_train", x, *affine, **HOW)
        compare("batch_norm_relu", x, *affine, **HOW)
        compare("batch_norm_add_relu", x, *affine, other, **HOW)
        compare("batch_norm_eval", x, *affine, mean, var, **HOW)
        compare("batch_norm_eval_relu", x, *affine, mean, var, **HOW)
        compare("batch_norm_eval_add_relu", x, *affine, mean, var, other, **HOW)
        y, *stats = run(KERNELS["batch_norm_train"], np.ndarray, (x, *affine), HOW)
        compare("batch_norm_grad", g, x, affine[0], *stats, **HOW)
        compare("batch_norm_eval_grad", g, x, affine[0], mean, var, **HOW)
        compare("batch_norm_relu_grad", g, x, *affine, *stats, **HOW)
        y = run(KERNELS["batch_norm_add_relu"], np.ndarray, (x, *affine, other), HOW)[0]
        for past in (None, more):
            compare("batch_norm_add_relu_grad", g, past, y, x, affine[0], *stats, **HOW)
    learned: list[Any] = [np.zeros(shape[1], kind), np.ones(shape[1], kind), np.array(3)]
    compare("batch_norm_learn", x, w, b, *learned, momentum=0.1, **HOW)


def main() -> None:
    emulated_joins.emulated_capture.install()
    for kind in ("float32", "float64"):
        for turned in ((False, False), (True, True), (True, False), (False, True)):
            of((3, 4, 5, 6), kind, turned)
            of((2, 3, 7), kind, turned)
        of((9, 5), kind, (False, False))
    of((3, 4, 4, 4), "float32", (True, False))
    print("equal")


if __name__ == "__main__":
    main()
