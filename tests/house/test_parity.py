"""The walker over PyTorch's databases (`make parity`) finds a planted difference, and its table names entries that are there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="the tests inside of torch import it: make parity")
TOOLS = Path(__file__).resolve().parents[2] / "tools"
PROBES = ("call", "grad", "inplace", "out")


@pytest.fixture(scope="module")
def walk():
    sys.path.insert(0, str(TOOLS))
    import parity_walk

    yield parity_walk
    sys.path.remove(str(TOOLS))


@pytest.mark.filterwarnings("ignore")
def test_a_planted_difference_is_found(walk, monkeypatch: pytest.MonkeyPatch) -> None:
    few = walk.Choice()
    assert walk.Walk("cpu", few, PROBES, ("float32", "int64")).entry("sin") == []
    right = rushlight.sin
    monkeypatch.setattr(rushlight, "sin", lambda x, **out: right(x * 1.01, **out))
    found = walk.Walk("cpu", few, PROBES, ("float32",)).entry("sin")
    assert {kind.partition(":")[0] for kind, _ in found} >= {"value", "grad"}


@pytest.mark.filterwarnings("ignore")
def test_the_table_names_entries(walk) -> None:
    from parity_differences import table

    strange = {name for name, _ in table("cuda")} - set(walk.entries())
    assert not strange
