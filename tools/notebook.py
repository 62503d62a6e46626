"""A page of the documentation as a notebook: text and Python blocks become cells, in their order.

    python tools/notebook.py docs/lab/en.md lab.ipynb [--run]

With --run Jupyter runs it in the present folder, and the file holds what came out; the exit code is 1 when a cell fails.
Needs `pip install nbclient ipykernel`.
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
            found.append(
                {
                    "cell_type": kind,
                    "id": f"cell-{len(found)}",
                    "metadata": {},
                    **more,
                    "source": lines,
                }
            )

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


def run(text: str) -> tuple[str, str]:
    """The notebook after all its cells were run, and the error of the cell that failed."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    made = nbformat.reads(text, as_version=4)
    try:
        NotebookClient(made, timeout=300, kernel_name="python3").execute()
    except CellExecutionError as error:
        failed = [
            i
            for i, c in enumerate(made.cells)
            if any(o.output_type == "error" for o in c.get("outputs", ()))
        ]
        return nbformat.writes(made), f"cell {failed[0] + 1}: {error}"
    return nbformat.writes(made), ""


def main() -> int:
    words = [a for a in sys.argv[1:] if a != "--run"]
    made, error = notebook(Path(words[0]).read_text()), ""
    if "--run" in sys.argv:
        made, error = run(made)
    Path(words[1]).write_text(made)
    if error:
        print(error, file=sys.stderr)
    return int(bool(error))


if __name__ == "__main__":
    raise SystemExit(main())
