"""torch.testing: what `assert_close` says of what test_utils_misc.py leaves out, word for word as PyTorch, and pairs of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.testing import _comparison

torch = pytest.importorskip("torch")

CASES: dict[str, Any] = {
    "numbers": lambda t: ((np.float32(1), np.float32(2)), {}),
    "endless": lambda t: ((1.0, float("inf")), {"rtol": 1.0, "atol": 1.0}),
    "shapes": lambda t: ((t.ones(1, 1), t.ones(1)), {}),
    "kinds": lambda t: ((t.ones(1), np.ones(1, "f")), {}),
    "subclasses": lambda t: ((t.nn.Parameter(t.ones(1)), t.ones(1)), {"allow_subclasses": False}),
    "layouts": lambda t: ((t.tensor([1.0, 0]).to_sparse(), t.tensor([1.0, 0])), {}),
    "layouts unchecked": lambda t: ((t.tensor([1.0, 0]).to_sparse(), t.tensor([1.0, 0])), {"check_layout": False}),
    "sparse places": lambda t: ((t.tensor([1.0, 0]).to_sparse(), t.tensor([0, 1.0]).to_sparse()), {}),
    "sparse values": lambda t: ((t.tensor([1.0, 0]).to_sparse(), t.tensor([2.0, 0]).to_sparse()), {}),
    "sparse numbers": lambda t: ((t.tensor([1.0, 0]).to_sparse(), t.ones(2).to_sparse()), {}),
    "rows": lambda t: ((t.tensor([[1.0, 0]]).to_sparse_csr(), t.tensor([[0, 1.0]]).to_sparse_csr()), {}),
    "no values": lambda t: ((t.zeros(2, device="meta"), t.zeros(2, device="meta")), {}),
    "one tolerance": lambda t: ((t.ones(1), t.ones(1)), {"rtol": 1e-3}),
}


def told(lib: Any, case: Any) -> str:
    args, named = case(lib)
    try:
        lib.testing.assert_close(*args, **named)
    except (AssertionError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}".replace("rushlight", "torch")
        return said.partition("inputs of type")[0]  # classes have their own names
    return ""


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_words(case: Any) -> None:
    assert told(rl, case) == told(torch, case)


def test_a_pair_of_ones_own() -> None:
    class Loose(_comparison.TensorLikePair):
        def __init__(self, *args: Any, mean: float = 0.0, **named: Any) -> None:
            super().__init__(*args, **named)
            self.mean = mean

        def compare(self) -> None:
            self._compare_attributes(self.actual, self.expected)
            actual, expected = self._equalize_attributes(self.actual, self.expected)
            if (actual - expected).abs().mean().item() > self.mean:
                self._fail(AssertionError, "too far")

    both = {"a": rl.zeros(2)}, {"a": rl.tensor([0.0, 1.0])}
    kinds = (_comparison.NumberPair, Loose)
    assert _comparison.not_close_error_metas(*both, pair_types=kinds, mean=0.6) == []
    (wrong,) = _comparison.not_close_error_metas(*both, pair_types=kinds)
    assert str(wrong.to_error()) == "too far\n\nThe failure occurred for item ['a']"
