"""Tensors that Python made for one size of the inputs: the usual ones are recognised and written for every size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Graph


def write(g: Graph, arrays: Sequence[np.ndarray], shape: Sequence[Any]) -> str | None:
    """The ONNX name of a tensor that was `arrays[i]` in call i; None when it is none of the usual ones."""
    return _filled(g, arrays, shape) or _counted(g, arrays, shape) or _triangle(g, arrays, shape)


def _filled(g: Graph, arrays: Sequence[np.ndarray], shape: Sequence[Any]) -> str | None:
    """One value everywhere: zeros, ones, a mask of nothing."""
    if any(a.size == 0 for a in arrays):
        return None
    value = arrays[0].reshape(-1)[0]
    if not all((a == value).all() for a in arrays):
        return None
    return g.node("Expand", g.constant(np.asarray(value)), g.shape(shape))


def _counted(g: Graph, arrays: Sequence[np.ndarray], shape: Sequence[Any]) -> str | None:
    """0, 1, 2 and so on: positions."""
    if len(shape) != 1 or not all((a == np.arange(len(a))).all() for a in arrays):
        return None
    return g.cast(_range(g, shape[0]), arrays[0].dtype)


def _range(g: Graph, count: Any) -> str:
    return g.node("Range", g.constant(np.int64(0)), g.squeeze(g.size(count), 0), g.constant(np.int64(1)))


def _triangle(g: Graph, arrays: Sequence[np.ndarray], shape: Sequence[Any]) -> str | None:
    """Two values on either side of a diagonal: which position may attend to which."""
    if len(shape) != 2 or any(a.size == 0 for a in arrays):
        return None
    first = arrays[0]
    low, high = first[-1, 0], first[0, -1]
    for k in (0, 1, -1):
        if all(_same(a, np.where(_above(a.shape, k), high, low)) for a in arrays):
            rows, columns = _range(g, shape[0]), _range(g, shape[1])
            gap = g.node("Sub", g.unsqueeze(columns, 0), g.unsqueeze(rows, 1))
            above = g.node("GreaterOrEqual", gap, g.constant(np.int64(k)))
            if first.dtype == np.bool_ and bool(high) != bool(low):
                return above if high else g.node("Not", above)
            return g.node("Where", above, g.constant(np.asarray(high)), g.constant(np.asarray(low)))
    return None


def _above(shape: tuple[int, ...], k: int) -> np.ndarray:
    return np.arange(shape[1])[None] - np.arange(shape[0])[:, None] >= k


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(((a == b) | ((a != a) & (b != b))).all())
