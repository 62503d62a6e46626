"""Docstrings of public names: every name has one with an example, and the examples work.

`python tools/docstrings.py nn` says what the names of `nn` lack.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.core.shown.printing import get_printoptions

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import docstrings


@pytest.fixture
def _as_before() -> Iterator[None]:
    """Examples may seed generators and change how numbers are printed; no other test sees it."""
    drawn = rushlight.get_rng_state(), np.random.get_state(), random.getstate()
    shown, numpys = get_printoptions(), np.get_printoptions()
    rushlight.set_printoptions(profile="default")
    grad = rushlight.is_grad_enabled()
    yield
    rushlight.set_grad_enabled(grad)
    rushlight.set_printoptions(**shown)
    np.set_printoptions(**numpys)
    rushlight.set_rng_state(drawn[0])
    np.random.set_state(drawn[1])
    random.setstate(drawn[2])


@pytest.mark.parametrize("space", docstrings.NAMESPACES)
@pytest.mark.usefixtures("_as_before")
def test_examples(space: str) -> None:
    """Every example of a namespace prints what its docstring says."""
    rushlight.manual_seed(20)  # an example that shows random numbers has to seed them itself
    wrong = [said for label, found in docstrings.texts(space) if (said := docstrings.run(label, found))]
    assert not wrong, "\n".join(wrong)


def test_what_was_imported_before_changes_no_example() -> None:
    import rushlight.distributed.nn
    import rushlight.distributed.optim

    names = docstrings.globals_of_examples("rushlight.distributed.tensor.distribute_module")
    assert (names["nn"], names["optim"]) == (rushlight.nn, rushlight.optim)


@pytest.mark.parametrize("space", docstrings.NAMESPACES)
def test_nothing_is_lacking(space: str) -> None:
    """Every public name has a docstring, an example, and its arguments and methods described."""
    lacking = [
        f"{n}: {said}" for n, found in docstrings.names_of(space) if (said := str(docstrings.lacks(space, found)))
    ]
    assert not lacking, "\n".join(lacking)


def test_a_wrong_example_is_found() -> None:
    """The runner notices a wrong result, an exception, and forgives the last digit of a number."""

    def wrong() -> None:
        """
        >>> 1 + 1
        3
        """

    def raises() -> None:
        """
        >>> torch.zeros(2)[5]
        tensor(0.)
        """

    def close() -> None:
        """
        >>> torch.tensor([0.3334])
        tensor([0.3333])
        """

    assert "Expected" in docstrings.run("wrong", wrong)
    assert "IndexError" in docstrings.run("raises", raises)
    assert not docstrings.run("close", close)


def test_python_without_docstrings() -> None:
    """`python -OO` leaves docstrings out; texts that are made from others must not need them."""
    code = "import rushlight; rushlight.operators.load_all(); import rushlight.nn, rushlight.vision.models"
    subprocess.run([sys.executable, "-OO", "-B", "-c", code], check=True)
