"""The README's program prints what the README says, and every measured row says how to repeat it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()


def test_the_program_prints_what_is_said() -> None:
    program = re.search(r"```python\n(.*?)```", TEXT, re.S)
    assert program is not None
    said = re.search(r"^print\(.*# (\d\.\d\d), and (\d\.\d\d) in PyTorch$", program[1], re.M)
    assert said is not None and said[1] == said[2]
    done = subprocess.run(
        [sys.executable, "-c", program[1]], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == said[1]


def test_every_row_that_was_measured_has_a_date_and_a_command() -> None:
    measured = TEXT.split("## Measured")[1].split("\n## ")[0]
    assert re.search(r"All on \d{4}-\d\d-\d\d", measured)
    rows = [line.split("|")[1:-1] for line in measured.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 8
    for row in rows:
        files = re.findall(r"benchmarks/\w+\.py", row[-1])
        assert files, row[0]
        assert [f for f in files if not (ROOT / f).exists()] == []
        assert [f for f in re.findall(r"\]\((.*?)\)", row[0]) if not (ROOT / f).exists()] == []
