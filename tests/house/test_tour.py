"""The reader's tour keeps its promise: twelve files that exist, together at most 4,000 lines."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tour.md"


def test_twelve_files_of_at_most_4000_lines():
    files = re.findall(r"^\| \d+ \| \[`[^`]+`\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"), re.M)
    lines = [len((PAGE.parent / name).read_text(encoding="utf-8").splitlines()) for name in files]
    assert len(files) == 12
    assert sum(lines) <= 4000, dict(zip(files, lines))
