"""Running one text with PyTorch and with rushlight, warnings and words of errors included."""

from __future__ import annotations

import copy
import textwrap
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import rushlight


def agree(source: str) -> None:
    """What the text leaves in `r` (or raises) and what it warns of is the same in both."""
    torch = pytest.importorskip("torch")
    want, want_words = _outcome(torch, source)
    got, got_words = _outcome(rushlight, source)
    assert got == want, f"{got}\nis not PyTorch's\n{want}"
    assert got_words == want_words, f"{got_words}\nis not PyTorch's\n{want_words}"


# PyTorch's warnings about its own kernels and its nested tensors
_THEIRS = (
    "Triggered internally", "enable_nested_tensor is True", "nested tensors",
    "`torch.jit.script` is deprecated", "is not supported in Python 3.14+", "signature of throw() is deprecated",
)  # fmt: skip


def _outcome(frame: Any, source: str) -> tuple:
    space = {"torch": frame, "nn": frame.nn, "F": frame.nn.functional, "OrderedDict": OrderedDict, "copy": copy}
    frame.manual_seed(0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            exec(textwrap.dedent(source), space)
            result = space["r"]
        except Exception as e:
            result = (type(e).__name__, str(e.args[0] if e.args else ""))
    words = [str(w.message) for w in seen if not any(s in str(w.message) for s in _THEIRS)]
    return _plain(result), [_plain(w) for w in words]


class Values:
    """A tensor's dtype and numbers; equal where they are the same to float tolerance."""

    def __init__(self, t: Any) -> None:
        self.dtype = str(t.dtype).split(".")[-1]
        host = t.detach()
        self.numbers = (host.float() if self.dtype == "bfloat16" else host).numpy()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Values)
            and self.dtype == other.dtype
            and self.numbers.shape == other.numbers.shape
            and np.allclose(self.numbers, other.numbers, rtol=1e-4, atol=1e-5, equal_nan=True)
        )

    def __repr__(self) -> str:
        return f"{self.dtype} {self.numbers.tolist()}"


def _plain(value: Any) -> Any:
    """The result in terms both frameworks share."""
    if hasattr(value, "detach"):
        return Values(value)
    if isinstance(value, str):
        return value.replace("rushlight", "torch").replace("torch.core.tensor.", "torch.")
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(v) for v in value]
    return value
