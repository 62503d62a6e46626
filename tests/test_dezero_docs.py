"""The links of docs/from-zero-to-rushlight.md: every name is defined in the file it leads to.

`python tests/test_dezero_docs.py` writes today's line numbers into the page.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "from-zero-to-rushlight.md"
LINK = re.compile(r"\[`([\w.]+)`\]\((\.\./src/rushlight/[\w/.]+)#L(\d+)\)")


def line_of(name: str, path: Path) -> int | None:
    """Where a class, function or global of that name is defined; `Class.method` looks in the class."""
    lines = path.read_text().splitlines()
    begin = 0
    *outer, last = name.split(".")
    for cls in outer:
        begin = next(i for i, line in enumerate(lines) if re.match(rf"class {cls}\b", line))
    pattern = rf"\s*(class|def) {last}\b|{last}(: \w+)? = "
    return next((i + 1 for i in range(begin, len(lines)) if re.match(pattern, lines[i])), None)


def test_links_lead_to_what_they_name():
    found = LINK.findall(PAGE.read_text())
    assert len(found) > 40
    lost = [
        (name, target)
        for name, target, _ in found
        if not (PAGE.parent / target).exists() or line_of(name, PAGE.parent / target) is None
    ]
    assert not lost


def _renumber() -> None:
    def today(match: re.Match) -> str:
        name, target, _ = match.groups()
        return f"[`{name}`]({target}#L{line_of(name, PAGE.parent / target)})"

    PAGE.write_text(LINK.sub(today, PAGE.read_text()))


if __name__ == "__main__":
    _renumber()
