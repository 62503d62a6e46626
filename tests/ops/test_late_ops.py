"""The list of late names is what the late families publish."""

from __future__ import annotations

import subprocess
import sys

import rushlight
from rushlight.core.public import NAMESPACES
from rushlight.operators import LATE, load_all


def test_the_list_of_late_names_is_true():
    code = """
import rushlight
from rushlight.core.public import NAMESPACES
from rushlight.operators.late import LATE
from importlib import import_module
for family, names in LATE.items():
    before = {n for place in ("torch", "Tensor") for n in NAMESPACES[place]}
    import_module("rushlight.operators." + family)
    after = {n for place in ("torch", "Tensor") for n in NAMESPACES[place]}
    assert after - before == set(names.split()), (family, after - before)
"""
    code += """
from rushlight.operators.late import METHODS
late = {n for names in LATE.values() for n in names.split()}
assert late & set(NAMESPACES["Tensor"]) == set(METHODS.split())
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tensor_answers_for_missing_names_without_a_hook():
    # One would make every read of an attribute, `t._a` too, take the long way through the interpreter.
    assert not hasattr(rushlight.Tensor, "__getattr__")
    assert callable(rushlight.Tensor.cholesky)


def test_late_names_answer():
    assert rushlight.det(rushlight.eye(3)).item() == 1
    assert rushlight.eye(3).inverse().trace().item() == 3
    assert rushlight.hann_window(4).shape == (4,)
    load_all()
    for names in LATE.values():
        for name in names.split():
            assert name in NAMESPACES["torch"] or name in NAMESPACES["Tensor"]
            assert hasattr(rushlight, name) or hasattr(rushlight.Tensor, name)


def test_a_missing_method_says_so():
    import pytest

    with pytest.raises(AttributeError, match="no attribute 'no_such_method'"):
        rushlight.ones(2).no_such_method()
