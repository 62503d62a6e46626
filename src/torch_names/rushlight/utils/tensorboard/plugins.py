"""Summaries that TensorBoard's plugins read: settings of runs, curves of precision, charts of one's own, meshes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from .events import double, integer, message, plugin

FLOAT, STRING = 1, 7  # numbers of types in tensors


def tensor_of(array: np.ndarray) -> bytes:
    """An array of float32 as a tensor."""
    shape = b"".join([message(2, integer(1, n)) for n in array.shape])
    values = np.ascontiguousarray(array, "<f4").tobytes()
    return integer(1, FLOAT) + message(2, shape) + message(5, values)


def summary(tag: str, kind: str, content: bytes, tensor: bytes | None = None) -> bytes:
    """A summary for one plugin."""
    body = message(1, tag) + plugin(kind, content)
    return message(1, body + (b"" if tensor is None else message(8, tensor)))


# -- settings and results of runs ------------------------------------------------------------------


def _value(v: Any) -> bytes:
    return message(3, v) if isinstance(v, str) else double(2, float(v))


_TYPES = {str: 1}  # all others are numbers, as PyTorch writes them
_START, _END, _EXPERIMENT = 3, 4, 2


def _setting(name: str, value: Any, choices: Sequence[Any] | None) -> bytes:
    info = message(1, name) + integer(4, _TYPES.get(type(value), 3))
    if choices is not None:
        info += message(5, b"".join([message(1, _value(c)) for c in choices]))
    return message(4, info)


def hparams(settings: dict[str, Any], metrics: dict[str, Any], choices: dict[str, list] | None) -> list[bytes]:
    """Three summaries: what is compared, the run's settings, and that it has ended."""
    for value in settings.values():
        if not isinstance(value, int | float | str | bool):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
    choices = choices or {}
    experiment = b"".join([_setting(n, v, choices.get(n)) for n, v in settings.items()])
    experiment += b"".join([message(5, message(1, message(2, name))) for name in metrics])
    start = b"".join([message(1, message(1, n) + message(2, _value(v))) for n, v in settings.items()])
    parts = (
        ("experiment", _EXPERIMENT, experiment),
        ("session_start_info", _START, start),
        ("session_end_info", _END, integer(1, 1)),  # success
    )
    return [summary(f"_hparams_/{n}", "hparams", message(field, data)) for n, field, data in parts]


# -- precision and recall --------------------------------------------------------------------------


def pr_counts(labels: np.ndarray, predictions: np.ndarray, thresholds: int, weights: Any) -> np.ndarray:
    """Rows of true and false positives, true and false negatives, precision and recall, by threshold."""
    labels, predictions = labels.ravel(), predictions.ravel()
    weight = np.broadcast_to(np.asarray(1.0 if weights is None else weights), labels.shape)
    places = np.clip(np.floor(predictions * (thresholds - 1)), 0, thresholds - 1).astype(np.int64)
    right = labels.astype(np.float64)
    above = [np.bincount(places, part * weight, thresholds)[::-1].cumsum()[::-1] for part in (right, 1.0 - right)]
    tp, fp = above
    tn, fn = fp[0] - fp, tp[0] - tp
    precision, recall = tp / np.maximum(1e-7, tp + fp), tp / np.maximum(1e-7, tp + fn)
    return np.stack([tp, fp, tn, fn, precision, recall])


def pr_curve(tag: str, rows: np.ndarray, thresholds: int) -> bytes:
    """The curve of `pr_counts`."""
    return summary(tag, "pr_curves", integer(2, thresholds), tensor_of(rows))


# -- charts of one's own ---------------------------------------------------------------------------


def custom_scalars(layout: dict[str, dict[str, list]]) -> bytes:
    """Which curves are drawn together: {category: {chart: ["Multiline" or "Margin", tags]}}."""
    categories = []
    for title, charts in layout.items():
        body = message(1, title)
        for name, (kind, tags) in charts.items():
            body += message(2, message(1, name) + _chart(kind, tags))
        categories.append(message(2, body))
    text = b"".join(categories)
    tensor = integer(1, STRING) + message(2, b"") + message(8, text)
    return summary("custom_scalars__config__", "custom_scalars", b"", tensor)


def _chart(kind: str, tags: Sequence[str]) -> bytes:
    if kind != "Margin":
        return message(2, b"".join([message(1, tag) for tag in tags]))
    if len(tags) != 3:
        raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
    return message(3, message(1, b"".join([message(i + 1, tag) for i, tag in enumerate(tags)])))


# -- meshes ----------------------------------------------------------------------------------------

_MESH = {"VERTEX": 1, "FACE": 2, "COLOR": 3}


def mesh(tag: str, parts: dict[str, np.ndarray], config: dict | None) -> list[bytes]:
    """A summary for each of vertices, faces and colours."""
    present = sum([1 << _MESH[name] for name in parts])
    settings = json.dumps(config or {}, sort_keys=True)
    made = []
    for name, array in parts.items():
        content = message(2, tag) + integer(3, _MESH[name]) + message(5, settings)
        content += b"".join([integer(6, n) for n in array.shape]) + integer(7, present)
        made.append(summary(f"{tag}_{name}", "mesh", content, tensor_of(array)))
    return made
