"""The programs of examples/: they run, and those written for PyTorch print what PyTorch prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_help import COMMAND, ROOT, environment, write_cifar

EXAMPLES = ROOT / "examples"


def output(command: list[str], example: str, cwd: Path, env: dict | None = None) -> str:
    done = subprocess.run(
        [*command, str(EXAMPLES / example)], cwd=cwd, env=env, text=True, capture_output=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("example", ["curve.py", "newton.py", "letters.py"])
def test_pytorch_programs(tmp_path: Path, example: str) -> None:
    pytest.importorskip("torch")
    ours = output([*COMMAND, "run"], example, tmp_path, environment())
    theirs = output([sys.executable, "-W", "ignore"], example, tmp_path)
    number = r"-?\d+\.\d+"
    assert re.sub(number, "", ours).split() == re.sub(number, "", theirs).split()
    for a, b in zip(re.findall(number, ours), re.findall(number, theirs)):
        assert float(a) == pytest.approx(float(b), rel=0.02, abs=2e-3)


def test_a_verse_is_learnt(tmp_path: Path) -> None:
    said = output([*COMMAND, "run"], "letters.py", tmp_path, environment())
    assert said.splitlines()[-1].startswith("a rushlight burns with little smoke, and lights the page")


def test_the_lab_as_a_program(tmp_path: Path) -> None:
    """On eight pictures a file, in CIFAR-10's published layout."""
    write_cifar(tmp_path / "data" / "cifar-10-batches-py")
    said = output([*COMMAND, "run"], "cifar10.py", tmp_path, environment())
    assert " % of 10 pictures\n  airplane: " in said and said.count("%") == 11


def test_dezero_program(tmp_path: Path) -> None:
    said = output([*COMMAND, "run"], "spiral.py", tmp_path, environment())
    assert [float(v) for v in re.findall(r"accuracy (\S+)", said)][-1] > 0.9


def test_by_our_own_name(tmp_path: Path) -> None:
    said = output([sys.executable], "fashion.py", tmp_path, environment())
    found = re.search(r"right on ([\d.]+)% of 3000", said)
    assert found and float(found[1]) > 70


def test_each_is_in_the_list() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    assert {p.name for p in EXAMPLES.glob("*.py")} == set(re.findall(r"\((\w+\.py)\)", listed))
