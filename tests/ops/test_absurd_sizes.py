"""Absurd sizes and whole numbers, given to every public function that takes some: refused as PyTorch refuses them.

RUSHLIGHT_EVERY_ROW=1 makes every call of `absurd_sizes.py`; without it, one of eight. None may end the process, take
gigabytes, or give a value where PyTorch raises; no error is in the words of NumPy or of Python's inside.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
EVERY = os.environ.get("RUSHLIGHT_EVERY_ROW") == "1"
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])
# A number that is no size: PyTorch cannot read one below -2**63, and for us it is a number as any other.
NO_SIZE = "can't convert negative int to unsigned"
INSIDE = ("OverflowError", "ZeroDivisionError", "UnboundLocalError", "KeyError", "AttributeError")


def _is_wrong(difference: str) -> bool:
    kind, _, rest = difference.partition(" ")
    if NO_SIZE in rest:
        return False
    ours = rest.partition("    ours   ")[2].split(":")[0]
    return kind in ("silent", "dies") or ours in INSIDE


def test_absurd_numbers_are_refused_as_pytorch_refuses_them() -> None:
    """In a process of its own: it forks, and whoever ran before may have threads."""
    search = [sys.executable, str(Path(__file__).with_name("absurd_sizes.py"))]
    search += ["0", "1" if EVERY else "8"]
    run = subprocess.run(search, capture_output=True, text=True, check=True)
    *found, told = [x for x in re.split(r"\n(?! )", run.stdout.strip()) if x]
    assert int(told.split()[0]) > 100, told
    assert [d for d in found if _is_wrong(d)] == []


SIZES = {
    "arange(2**63)": (RuntimeError, "value cannot be converted to type int64_t without overflow"),
    "arange(-2**62, 2**62 + 2)": (RuntimeError, "invalid size, possible overflow?"),
    "linspace(0, 1, 2**63)": (ValueError, "Overflow when unpacking long long"),
    "hann_window(2**63)": (ValueError, "Overflow when unpacking long long"),
    "vander(ones(2), 2**63)": (ValueError, "Overflow when unpacking long long"),
    "nn.functional.interpolate(ones(1, 1, 5), size=2**63)": (TypeError, "Overflow when unpacking long long"),
    "nn.functional.adaptive_avg_pool2d(ones(1, 4, 4), 2**63)": (ValueError, "Overflow when unpacking long long"),
    "nn.functional.adaptive_max_pool2d(ones(1, 4, 4), 2**63)": (ValueError, "Overflow when unpacking long long"),
    "where(tensor([True, False]), 2**63, 0)": (RuntimeError, "overflow|Promotion"),
    "nn.functional.one_hot(tensor([0, 1]), -2)": (RuntimeError, "Class values must be smaller than num_classes"),
    "matrix_power(eye(2), 2**63)": (ValueError, "Overflow when unpacking long long"),
    "ones(1).repeat(2**31, 2**31, 4)": (RuntimeError, "Storage size calculation overflowed|negative dimension"),
    "ones(1).expand(2**62, 2**62)": (RuntimeError, "overflow"),
    "zeros(2**40, 2**40)": (RuntimeError, "Storage size calculation overflowed with sizes="),
    "empty(2, -1)": (RuntimeError, "Trying to create tensor with negative dimension -1: "),
    "zeros(2, 2**63)": (TypeError, "failed to unpack the object at pos 2 with error"),
    "ones(4).view(2**63)": (TypeError, "failed to unpack the object at pos 1 with error"),
    "ones(4).view((2, 2**63))": (TypeError, "failed to unpack the object at pos 2 with error"),
    "ones(4).reshape((2**63,))": (TypeError, "failed to unpack the object at pos 1 with error"),
    "ones(4).shape + (2, 'a')": (TypeError, r"takes an iterable of 'int' \(item 2 is 'str'\)"),
    "Tensor(2**62)": (RuntimeError, "Storage size calculation overflowed with sizes="),
    "roll(ones(3), (0, 2**63), (0, 0))": (TypeError, "'shifts' failed to unpack the object at pos 2"),
    "nn.Linear(2**40, 2**40)": (RuntimeError, "Storage size calculation overflowed"),
    "nn.Linear(2**63, 2)": (TypeError, "failed to unpack the object"),
    "nn.Embedding(2**62, 2**62)": (RuntimeError, "Storage size calculation overflowed"),
    "nn.functional.max_pool2d(ones(1, 1, 5, 5), 3, 2**40)": (RuntimeError, "type int without overflow"),
    "nn.functional.interpolate(ones(1, 1, 5), size=2**62)": (RuntimeError, "Storage size calculation overflowed"),
    "ones(3)[2**63]": ((ValueError, IndexError), "Overflow|out of bounds"),
    "linalg.vander(ones(3), N=2**62)": (RuntimeError, "overflow"),
    "mvlgamma(ones(3), 2**62)": (RuntimeError, "Storage size calculation overflowed"),
}


@BOTH
@pytest.mark.parametrize("text", SIZES)
def test_a_size_is_refused_before_anything_is_made(lib: Any, text: str) -> None:
    kind, words = SIZES[text]
    with pytest.raises(kind, match=words):
        eval("torch." + text, {"torch": lib, **{n: getattr(lib, n) for n in ("ones", "eye", "tensor")}})


@pytest.mark.parametrize("size", [(1,) * 65, (0, 2**62)], ids=["65 dims", "nothing but too long"])
def test_sizes_that_only_pytorch_has_are_refused_in_words(size: tuple[int, ...]) -> None:
    for make in (lambda: rl.zeros(size), lambda: rl.ones(1).new_empty(size), lambda: rl.Tensor(*size)):
        with pytest.raises(RuntimeError, match="up to 64 dims|Storage size calculation"):
            make()


@BOTH
def test_numbers_that_are_only_far_away_give_what_pytorch_gives(lib: Any) -> None:
    F = lib.nn.functional
    assert lib.ones(3, 4).diagonal(2**40).shape == (0,)
    assert lib.ones(3, 4).diag(-(2**40)).shape == (0,)
    assert lib.arange(6).unfold(0, 2, 2**62).tolist() == [[0, 1]]
    assert F.conv3d(lib.ones(1, 1, 2, 2, 2), lib.ones(1, 1, 2, 2, 2), stride=2**62).tolist() == [[[[[8.0]]]]]
    assert lib.polygamma(2**40, lib.ones(1)).tolist() == [float("-inf")]
    assert lib.fft.fftfreq(0).shape == (0,)
    assert lib.linalg.vander(lib.tensor([2, 3]), N=3).tolist() == [[1, 2, 4], [1, 3, 9]]


WIDE = {
    "sum of bytes as int64": lambda x: x.sum(dtype=rl.int64),
    "sum of bytes as float64": lambda x: x.sum(dtype=rl.float64),
    "sum of rows as float64": lambda x: x.reshape(4, -1).sum(1, dtype=rl.float64),
    "sum of columns as float64": lambda x: x.reshape(-1, 4).sum(0, dtype=rl.float64),
    "mean as float64": lambda x: x.mean(dtype=rl.float64) * x.numel(),
    "nansum as float64": lambda x: x.nansum(dtype=rl.float64),
    "prod as int64": lambda x: x.clamp(max=1).prod(dtype=rl.int64) * 0 + x.sum(),
}


@pytest.mark.parametrize("how", WIDE)
def test_a_reduction_in_a_wider_dtype_makes_no_wide_copy(how: str) -> None:
    x = rl.from_numpy((np.arange(40_000_000) % 251).astype(np.uint8))
    tracemalloc.start()
    try:
        found = WIDE[how](x)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert float(found.sum()) == float(x.numpy().sum(dtype=np.int64))
    assert most < 160_000_000  # as int64 or float64 all of it would be 320,000,000
