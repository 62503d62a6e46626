"""The ledger of figures: lines that are added, cut off, compared and drawn; what its night asks the CPU benchmark for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import ledger  # noqa: E402


def figure(commit: str, ours: float, torch: float | None = 1.0, machine: str = "one") -> dict:
    return ledger.line(commit, "2026-01-02", machine, "ops cpu", "add", ours, torch)


def test_what_lost_from_one_commit_to_another() -> None:
    lines = [figure("aaaa1111", 0.5), figure("bbbb2222", 0.52), figure("cccc3333", 0.6)]
    assert ledger.compare(lines, "aaaa1111", "bbbb2222") == ([], 1)  # 4 %
    told, common = ledger.compare(lines, "aaaa", "cccc3333aa")
    assert told == ["one, ops cpu, add: 2 -> 1.6667 of PyTorch (-17%)"] and common == 1
    assert ledger.compare(lines, "aaaa1111", "cccc3333", loss=0.2) == ([], 1)
    assert ledger.compare(lines, "cccc3333", "aaaa1111") == ([], 1)


def test_machines_are_not_compared_and_the_last_figure_counts() -> None:
    lines = [figure("a", 1.0), figure("b", 9.0, machine="two"), figure("b", 9.0), figure("b", 1.0)]
    assert ledger.compare(lines, "a", "b") == ([], 1)
    alone = [figure("a", 10.0, None), figure("b", 12.0, None)]
    assert ledger.compare(alone, "a", "b")[0] == ["one, ops cpu, add: 10 -> 12 alone (-17%)"]


def test_a_line_that_was_cut_off(tmp_path, capsys) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger.add(path, [figure("a", 0.5)])
    path.write_bytes(path.read_bytes() + b'{"date": "20')
    ledger.add(path, [figure("b", 0.25)])
    assert [n["ratio"] for n in ledger.read(path)] == [2.0, 4.0]
    assert "line 2" in capsys.readouterr().err


def test_benchmarks_add_their_figures(tmp_path, monkeypatch) -> None:
    path = tmp_path / "ledger.jsonl"
    monkeypatch.setenv("RUSHLIGHT_COMMIT", "0123456789abcdef")
    rows = {"lab": {"torch": {"ms": 4.0}, "ours": {"ms": 2.0}}, "gone": {"torch": {"ms": 1.0}}}
    ledger.record(path, "park", "cpu", ledger.of_rows(rows, "ms", "torch", {"ours": " eager"}))
    ledger.record(None, "park", "cpu", [("not asked for", 1.0, 1.0)])
    (found,) = ledger.read(path)
    assert found["commit"] == "01234567" and found["benchmark"] == "park cpu"
    assert (found["row"], found["ratio"]) == ("lab eager", 2.0)


def test_columns() -> None:
    row = {"rushlight": 50.0, "PyTorch": 100.0, "rushlight compiled": 25.0}
    assert ledger.of_columns({"lab4": row}) == [("lab4", 50.0, 100.0), ("lab4 compiled", 25.0, 100.0)]


def test_commands(tmp_path, capsys) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger.add(path, [figure("a", 1.0), figure("b", 2.0), figure("b", 2.0, machine="two")])
    assert ledger.main(["--ledger", str(path), "compare", "a", "b"]) == 1
    assert ledger.main(["--ledger", str(path), "compare", "b", "a"]) == 0
    assert "nothing lost" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no figure of both a and f"):
        ledger.main(["--ledger", str(path), "compare", "a", "f"])
    pytest.importorskip("matplotlib")
    picture = tmp_path / "ledger.png"
    assert ledger.main(["--ledger", str(path), "draw", "--picture", str(picture)]) == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_the_ledger_is_whole(capsys) -> None:
    lines = ledger.read(ledger.LEDGER)
    assert lines and not capsys.readouterr().err
    assert {tuple(n) for n in lines} == {tuple(figure("a", 1.0))}


def test_what_the_night_asks_for_is_there() -> None:
    import cpu

    assert set(ledger.NIGHTLY) <= set(cpu.COLUMNS)
    assert {"rushlight", "PyTorch", "rushlight compiled"} <= set(cpu.FRAMEWORKS)
