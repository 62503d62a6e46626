"""Docstrings of public names: their examples work, and no namespace gets more names without one.

`python tools/docstrings.py nn` says what the names of `nn` lack; `--ratchet` prints the table below anew.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.core.printing import get_printoptions

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import docstrings

# How many names may lack (a docstring, an example, a word about an argument, a docstring of a method).
# These numbers only ever fall.
ALLOWED = {
    "rushlight": (0, 0, 0, 0),
    "rushlight.Tensor": (0, 0, 0, 0),
    "rushlight.nn": (0, 168, 135, 0),
    "rushlight.nn.functional": (8, 128, 79, 0),
    "rushlight.nn.init": (0, 26, 7, 0),
    "rushlight.nn.utils": (0, 18, 14, 0),
    "rushlight.nn.parallel": (0, 6, 6, 1),
    "rushlight.optim": (0, 0, 0, 0),
    "rushlight.optim.lr_scheduler": (0, 0, 0, 0),
    "rushlight.optim.swa_utils": (0, 0, 0, 0),
    "rushlight.autograd": (0, 0, 0, 0),
    "rushlight.func": (0, 0, 0, 0),
    "rushlight.utils.data": (0, 0, 0, 0),
    "rushlight.linalg": (0, 0, 0, 0),
    "rushlight.fft": (0, 0, 0, 0),
    "rushlight.special": (0, 0, 0, 0),
    "rushlight.distributions": (0, 0, 0, 0),
    "rushlight.amp": (0, 0, 0, 0),
    "rushlight.cuda": (0, 0, 0, 0),
    "rushlight.distributed": (0, 0, 0, 0),
    "rushlight.distributed.checkpoint": (0, 0, 0, 0),
    "rushlight.onnx": (0, 0, 0, 0),
    "rushlight.profiler": (0, 0, 0, 0),
    "rushlight.compiler": (0, 0, 0, 0),
    "rushlight.utils.checkpoint": (0, 0, 0, 0),
    "rushlight.utils.tensorboard": (0, 0, 0, 0),
    "rushlight.vision.datasets": (0, 0, 0, 0),
    "rushlight.vision.transforms": (0, 0, 0, 0),
    "rushlight.vision.transforms.v2": (0, 0, 0, 0),
    "rushlight.vision.models": (0, 0, 0, 0),
    "rushlight.vision.ops": (0, 0, 0, 0),
    "rushlight.vision.io": (0, 0, 0, 0),
    "rushlight.vision.utils": (0, 0, 0, 0),
    "rushlight.dezero": (0, 0, 0, 0),
    "rushlight.dezero.functions": (0, 0, 0, 0),
    "rushlight.dezero.layers": (0, 0, 0, 0),
    "rushlight.dezero.models": (0, 0, 0, 0),
    "rushlight.dezero.optimizers": (0, 0, 0, 0),
    "rushlight.random": (0, 0, 0, 0),
    "rushlight.sparse": (0, 0, 0, 0),
    "rushlight.hub": (0, 0, 0, 0),
    "rushlight.jit": (0, 0, 0, 0),
    "rushlight.fx": (0, 0, 0, 0),
    "rushlight.export": (0, 0, 0, 0),
    "rushlight.library": (0, 0, 0, 0),
    "rushlight.overrides": (0, 0, 0, 0),
    "rushlight.futures": (0, 0, 0, 0),
    "rushlight.accelerator": (0, 0, 0, 0),
    "rushlight.testing": (0, 0, 0, 0),
    "rushlight.nn.attention": (0, 2, 2, 0),
    "rushlight.nn.utils.parametrize": (0, 7, 5, 0),
    "rushlight.nn.utils.parametrizations": (0, 3, 3, 0),
    "rushlight.nn.utils.prune": (0, 17, 12, 0),
    "rushlight.nn.utils.rnn": (0, 9, 6, 1),
    "rushlight.autograd.forward_ad": (0, 0, 0, 0),
    "rushlight.autograd.functional": (0, 0, 0, 0),
    "rushlight.autograd.graph": (0, 0, 0, 0),
    "rushlight.autograd.profiler": (0, 0, 0, 0),
    "rushlight.distributed.fsdp": (0, 0, 0, 0),
    "rushlight.distributed.tensor": (0, 0, 0, 0),
    "rushlight.utils.benchmark": (0, 0, 0, 0),
    "rushlight.utils.dlpack": (0, 0, 0, 0),
    "rushlight.utils.flop_counter": (0, 0, 0, 0),
    "rushlight.vision.transforms.functional": (0, 0, 0, 0),
}


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
    wrong = [
        said for label, found in docstrings.texts(space) if (said := docstrings.run(label, found))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("space", docstrings.NAMESPACES)
def test_not_fewer_than_before(space: str) -> None:
    """A new public name comes with a docstring, an example, and its arguments described."""
    now, allowed = docstrings.counts(space), docstrings.Counts(*ALLOWED[space])
    worse = [field for field in now._fields if getattr(now, field) > getattr(allowed, field)]
    lacking = [
        f"{n}: {said}"
        for n, found in docstrings.names_of(space)
        if (said := str(docstrings.lacks(space, found)))
    ]
    assert not worse, f"{space}: {now}, allowed {allowed}\n" + "\n".join(lacking)


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
