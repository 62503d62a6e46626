"""Families that load late: their names answer as if they were loaded; tests/house/test_types.py keeps the list true."""

from __future__ import annotations

import subprocess
import sys

import rushlight
from rushlight.core.public import NAMESPACES
from rushlight.operators import load_all
from rushlight.operators.late_names import LATE
from rushlight.runtime.door import KERNELS


def _alone(code: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout


def test_a_late_family_is_imported_alone_and_changes_tensor_by_publishing():
    code = """
import os
from importlib import import_module
import rushlight
from rushlight.core.public import NAMESPACES
from rushlight.operators.late_names import LATE
from rushlight.runtime.door import KERNELS
known = {place: set(space) for place, space in NAMESPACES.items()}
for family, places in LATE.items():
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0, family
        continue
    before = dict(vars(rushlight.Tensor))
    import_module("rushlight.operators." + family)
    after = vars(rushlight.Tensor)
    assert {n for n in after if before.get(n) is not after[n]} <= set(NAMESPACES["Tensor"])
    for place, names in places.items():
        table = KERNELS if place == "kernels" else NAMESPACES[place]
        assert set(names.split()) <= set(table) - known.get(place, set())
    os._exit(0)
print("alone")
"""
    assert _alone(code) == "alone\n"


def test_an_import_loads_what_nearly_every_program_needs_and_no_more():
    code = """
import numpy, sys
before = set(sys.modules)
import rushlight
print(*sorted(set(sys.modules) - before))
"""
    loaded = _alone(code).split()
    assert not {f"rushlight.operators.{family}" for family in LATE}.intersection(loaded)
    others = {m for m in loaded if not m.startswith("rushlight")}
    assert others.isdisjoint({"dataclasses", "inspect", "tempfile", "traceback", "rushlight.nn"})
    assert len(loaded) <= 125  # each costs about 0.3 % of NumPy's import


def test_late_names_are_listed_and_starred_without_being_loaded():
    code = """
import sys
from rushlight import *
import rushlight
assert {"conv2d", "det", "special", "hann_window"} <= set(dir(rushlight))
assert callable(conv2d) and callable(det)
assert "inverse" in dir(rushlight.Tensor)
"""
    _alone(code)
    loaded = _alone("import rushlight, sys; dir(rushlight); print('rushlight.operators.layers.conv' in sys.modules)")
    assert loaded == "False\n"


def test_a_late_method_is_bound_to_the_class_that_asks():
    code = """
import rushlight as rl
from unittest import mock
said = []
class Mine(rl.Tensor):
    def softmax(self, dim):
        said.append(dim)
        return super().softmax(dim)
assert rl.ones(2).as_subclass(Mine).softmax(0).tolist() == [0.5, 0.5] and said == [0]
with mock.patch.object(rl.Tensor, "logdet", lambda self: "mocked"):
    assert rl.det(rl.eye(2)).item() == 1 and rl.eye(2).logdet() == "mocked"
assert rl.eye(2).logdet().item() == 0
rl.Tensor.cumprod_ = rl.Tensor.renorm = lambda self: "own"
rl.stft, rl.cumprod
assert rl.ones(2).renorm() == "own" == rl.ones(2).cumprod_()
"""
    _alone(code)


def test_tensor_answers_for_missing_names_without_a_hook():
    # One would make every read of an attribute, `t._a` too, take the long way through the interpreter.
    assert not hasattr(rushlight.Tensor, "__getattr__")
    assert callable(rushlight.Tensor.cholesky)


def test_late_names_answer():
    assert rushlight.det(rushlight.eye(3)).item() == 1
    assert rushlight.eye(3).inverse().trace().item() == 3
    assert rushlight.hann_window(4).shape == (4,)
    load_all()
    for places in LATE.values():
        for place, names in places.items():
            for name in names.split():
                assert name in (KERNELS if place == "kernels" else NAMESPACES[place])
                assert place != "torch" or hasattr(rushlight, name)
                assert place != "Tensor" or hasattr(rushlight.Tensor, name)


def test_a_missing_method_says_so():
    import pytest

    with pytest.raises(AttributeError, match="no attribute 'no_such_method'"):
        rushlight.ones(2).no_such_method()
