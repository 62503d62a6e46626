"""The nightly benchmark's history: lines that are added, cut off, compared and drawn; what it asks the CPU benchmark for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import nightly  # noqa: E402


def night(ratio: float, machine: str = "one") -> dict:
    return {
        "date": "2026-01-02",
        "commit": "abc",
        "machine": machine,
        "load": 0.1,
        "ratios": {"lab4": ratio},
    }


def test_worse_than_the_nights_before() -> None:
    quiet = [night(0.5), night(0.52), night(9.0, "other"), night(0.48)]
    assert nightly.worse([*quiet, night(0.54)]) == []
    (told,) = nightly.worse([*quiet, night(0.56)])
    assert told == "lab4: 0.56 of PyTorch's time, 0.50 before"
    assert (
        nightly.worse([night(0.5)]) == [] and nightly.worse([night(0.5), night(9.0, "other")]) == []
    )
    assert (
        nightly.worse([*[night(0.1)] * 5, *[night(0.5)] * 7, night(0.5)]) == []
    )  # older nights are forgotten


def test_a_line_that_was_cut_off(tmp_path, capsys) -> None:
    path = tmp_path / "history.jsonl"
    nightly.add(path, night(0.5))
    path.write_bytes(path.read_bytes() + b'{"date": "20')
    nightly.add(path, night(0.6))
    assert [n["ratios"]["lab4"] for n in nightly.read(path)] == [0.5, 0.6]
    assert "no JSON" in capsys.readouterr().err


def test_ratios() -> None:
    row = {"rushlight": 50.0, "PyTorch": 100.0, "rushlight compiled": 25.0}
    assert nightly.ratios({"lab4": row}) == {"lab4": 0.5, "lab4 compiled": 0.25}


def test_a_picture_with_plain_numbers(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "history.jsonl"
    for ratio in (0.5, 0.6, 0.55):
        nightly.add(path, night(ratio))
    nightly.add(path, night(0.4, "other"))
    assert nightly.main(["--history", str(path), "--draw-only"]) == 0
    assert (tmp_path / "history.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(SystemExit, match="no nights yet"):
        nightly.main(["--history", str(tmp_path / "none.jsonl"), "--draw-only"])


def test_what_it_asks_for_is_there() -> None:
    import cpu

    assert set(nightly.COLUMNS) <= set(cpu.COLUMNS)
    assert {"rushlight", "PyTorch", "rushlight compiled"} <= set(cpu.FRAMEWORKS)
    assert "hostname" not in json.dumps(nightly.entry({}))
