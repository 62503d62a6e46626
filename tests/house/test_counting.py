"""What a run of the suite says of the tests that did not run, and when CI calls that a failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import order
import parts
from counting import count, sentences

ONE = "tests/house/test_doc_links.py::test_a_good_link_is_let_through"


class Report:
    def __init__(self, nodeid: str, reason: str = "") -> None:
        self.nodeid, self.longrepr = nodeid, ("file.py", 1, reason)


def whole_file(nodeid: str, reason: str) -> pytest.CollectReport:
    return pytest.CollectReport(nodeid, "skipped", ("file.py", 1, reason), [])


def test_reasons_are_told_apart():
    no_torch = "Skipped: could not import 'torch': No module named 'torch'"
    stats = {
        "passed": [Report("a"), Report("b")],
        "failed": [Report("c")],
        "skipped": [
            Report("d", no_torch),
            whole_file("e.py", no_torch),
            whole_file("e.py", no_torch),  # every worker of xdist collects
            Report("f", "Skipped: no GPU"),
            Report("g", "Skipped: could not import 'cupy'"),
            Report("h", "Skipped: random result"),
            Report("i", "Skipped: PyTorch computes this from 2.13 on; here is 2.11.0"),
        ],
    }
    counts = count(stats, 40)
    assert counts == {"ran": 3, "torch_tests": 2, "torch_files": 1, "gpu": 42}
    assert sentences(counts, 3) == [
        "3 tests ran.",
        "2 tests and 1 whole files did not run for want of PyTorch, or of a newer one (`make parity` installs it).",
        "42 tests did not run for want of a GPU.",
    ]
    assert sentences(counts, 4)[-1].startswith("FEWER tests ran than the 4")
    assert sentences(counts, whole=False) == ["3 tests ran."]  # nobody asked for the others


# The fourth case, enough tests by several workers, is every run of CI.
@pytest.mark.parametrize(
    "options, least, status",
    [([], 1, 0), ([], 2, 1), (["-n", "2"], 2, 1)],
    ids=["enough", "too few", "too few by workers"],
)
def test_a_run_fails_when_too_few_ran(options: list[str], least: int, status: int):
    if options:
        pytest.importorskip("xdist")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--least", str(least)]
    done = subprocess.run(
        [*command, *options, ONE], cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "1 tests ran." in done.stdout
    assert ("FEWER" in done.stdout) == bool(status)


def test_parts_of_the_suite_have_every_kind():
    rows = [f"t.py::test_row[cpu-{op}([{n}])-float32]" for op in ("add", "F.relu") for n in range(13)]
    scenes = [f"t.py::test_scene[{word}_{n}]" for word in ("class", "name") for n in range(5)]
    few, alone = [f"t.py::test_few[{n}]" for n in range(6)], ["t.py::test_alone"]
    costly = [f"test_loop_scripts.py::test_{name}" for name in ("one", "other")]
    tests = [(name, name.split("::")[0]) for name in rows + scenes + few + alone + costly]
    quick = parts.quick_ones(tests)
    assert quick == parts.quick_ones(tests[::-1])
    assert {*few, *alone} <= quick and len(quick.intersection(costly)) == 1
    for word, number in (("cpu-add(", 2), ("cpu-F.relu(", 2), ("class_", 1), ("name_", 1)):
        assert sum(word in name for name in quick) == number, word


def test_parts_name_tests_that_are_there():
    folder = Path(__file__).resolve().parents[1]
    for name, share in parts.REST.items():
        file, _, function = name.partition("::")
        assert share or function, f"{file}: nothing of it would be run"
        (path,) = folder.glob(f"*/{file}")
        assert f"def {function}(" in path.read_text() if function else True, name


def test_files_that_run_first_are_there():
    there = {path.name for path in Path(__file__).resolve().parents[1].glob("*/test_*.py")}
    assert set(order.LONG) <= there
    assert len(set(order.LONG)) == len(order.LONG)


def test_long_files_come_first_and_stay_whole():
    class Item:
        def __init__(self, file: str, name: str) -> None:
            self.path, self.name = Path(file), name

    items = [
        Item("test_amp.py", "a"),
        Item(order.LONG[1], "b"),
        Item(order.LONG[0], "c"),
        Item(order.LONG[1], "d"),
        Item("test_views.py", "e"),
    ]
    order.longest_first(items)
    assert [item.name for item in items] == ["c", "b", "d", "a", "e"]
