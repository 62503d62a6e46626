"""The reader's tour keeps its promise: twelve files that exist, together at most 4,000 lines, the same in every language."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [DOCS / "tour.md", *sorted((DOCS / "tour").glob("*.md"))]


def test_twelve_files_of_at_most_4000_lines():
    row = re.compile(r"^\| \d+ \| \[`[^`]+`\]\(([^)]+)\) \| .{40,}\|$", re.M)
    tours = [[(page.parent / name).resolve() for name in row.findall(page.read_text())] for page in PAGES]
    assert len(tours) == 4 and all(tour == tours[0] for tour in tours)
    lines = {file.name: len(file.read_text().splitlines()) for file in tours[0]}
    assert len(lines) == 12
    assert sum(lines.values()) <= 4000, lines
