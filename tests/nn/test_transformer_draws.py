"""Transformers with dropout: from one seed the same numbers are dropped as in PyTorch, in either order of the dims."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")


def _result(m: Any, batch_first: bool, norm_first: bool) -> list[float]:
    m.manual_seed(0)
    how = {"batch_first": batch_first, "norm_first": norm_first, "dropout": 0.5}
    encoder = m.nn.TransformerEncoderLayer(8, 2, 16, **how)
    decoder = m.nn.TransformerDecoderLayer(8, 2, 16, **how)
    x, y = m.randn(3, 3, 8), m.randn(3, 3, 8)
    return decoder(y, encoder(x)).flatten().tolist()


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_the_same_numbers_are_dropped(batch_first: bool, norm_first: bool) -> None:
    want = _result(torch, batch_first, norm_first)
    assert _result(rushlight, batch_first, norm_first) == pytest.approx(want, rel=1e-4, abs=1e-5)
