"""The native engine's instruction sets: those that were built compute the same, one that was not is refused with words."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

try:
    from rushlight.runtime.cpu import _native
except ImportError:
    _native = None

NARROW = """
import numpy as np
import rushlight.nn
from engine_cases import FAMILIES, Draw, differs, numpy_body
from rushlight.runtime.cpu import _native

def refuse(*arrays, **attrs):
    return None

print(_native.instruction_set())
for family in ("conv", "depthwise", "matmul", "pool", "point", "softmax", "norm", "systems", "fourier"):
    for seed in range(4):
        for name, arrays, attrs, tolerance in FAMILIES[family](Draw(seed)):
            with np.errstate(all="ignore"):
                truth = numpy_body(name)(*arrays, **attrs)
            out = _native.kernel(name, refuse)(*arrays, **attrs)
            assert out is None or not differs(out, truth, tolerance), (name, seed)
"""


@pytest.mark.skipif(_native is None or platform.machine() != "x86_64", reason="one instruction set, or none")
@pytest.mark.parametrize("name", ["AVX2", "SSE2"])
def test_narrower_instructions(name: str) -> None:
    """What an older machine would run; an engine of a checkout, for this machine alone, says how to have it."""
    if _native.instruction_set() == "SSE2":
        pytest.skip("nothing is narrower")
    env = {
        **os.environ,
        "RUSHLIGHT_CPU_ISA": name,
        "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path]),
    }
    run = subprocess.run([sys.executable, "-c", NARROW], env=env, capture_output=True, text=True)
    if name in _native.instruction_sets():
        assert run.returncode == 0, run.stderr
        assert run.stdout.split() == [name]
    else:
        assert run.returncode and "RUSHLIGHT_ALL_SETS=1" in run.stderr, run.stderr
