"""A page of the documentation as a notebook: text and Python blocks become cells, in their order.

python tools/notebook.py docs/lab/en.md lab.ipynb
python -m pytest --nbmake lab.ipynb        runs it in Jupyter; --overwrite keeps what came out
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
FRONT = re.compile(r"\A---\n.*?^---\n", re.S | re.M)


def cells(text: str) -> list[dict[str, Any]]:
    """The cells of a page; links to other pages and pictures stay words, because a notebook travels alone."""
    found: list[dict[str, Any]] = []

    def add(kind: str, source: str) -> None:
        if source.strip():
            more = {"execution_count": None, "outputs": []} if kind == "code" else {}
            lines = source.strip().splitlines(keepends=True)
            found.append({"cell_type": kind, "id": f"cell-{len(found)}", "metadata": {}, **more, "source": lines})

    last = 0
    text = FRONT.sub("", text)
    for block in BLOCK.finditer(text):
        add("markdown", plain(text[last : block.start()]))
        add("code", block[1])
        last = block.end()
    add("markdown", plain(text[last:]))
    return found


def plain(text: str) -> str:
    """Text without pictures and without links to files."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)\n?", "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


def notebook(text: str) -> str:
    """A notebook in Jupyter's format 4.5."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": cells(text),
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Path(sys.argv[2]).write_text(notebook(Path(sys.argv[1]).read_text()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
