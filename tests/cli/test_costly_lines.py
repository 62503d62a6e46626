"""`rushlight run --profile`: seconds are counted for lines of the user's, and the script runs as without it."""

from __future__ import annotations

import subprocess
import sys

from rushlight.cli.scripts.costly_lines import CostlyLines, line_of


def test_the_innermost_line_of_the_users_counts(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import sys\n\n\ndef inner():\n    return sys._getframe()\n\n\nframe = inner()\n")
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    found, line = CostlyLines(), (str(path), 5)
    assert line_of(names["frame"]) == line
    found.seconds |= {line: 3.0, None: 1.0}
    head, row = found.table().splitlines()
    assert "4.00 s;" in head
    assert row.split() == ["3.000", "s", "75.0%", "mine.py:5", "return", "sys._getframe()"]
    found.worked((str(path), 8), 5.0)
    head, *rows = found.table().splitlines()
    assert "4.00 s, 5.00 s of the GPU;" in head
    assert [row.split()[:7] for row in rows] == [
        ["0.000", "s", "0.0%", "5.000", "s", "100.0%", "mine.py:8"],
        ["3.000", "s", "75.0%", "0.000", "s", "0.0%", "mine.py:5"],
    ]


def test_lines_of_ours_belong_to_their_caller(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("held = []\n\nours(held)\n")
    ours = line_of.__code__.co_filename
    names: dict = {}
    exec(compile("import sys\ndef ours(held): held.append(sys._getframe())", ours, "exec"), names)
    exec(compile(path.read_text(), str(path), "exec"), names)
    assert line_of(names["held"][0]) == (str(path), 3)


def test_a_script_runs_as_without_it(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import sys, torch\nprint(torch.ones(2).sum().item(), sys.argv[1])\nsys.exit(3)\n")
    command = [sys.executable, "-m", "rushlight", "run", "--profile", str(path), "word"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "2.0 word\n")
    assert "the lines that took most of them" in done.stderr
