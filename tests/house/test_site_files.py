"""Every file opens with a sentence that says what lives there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples")


def sentence(text: str) -> bool:
    """Whether a Python file's text begins with a docstring whose first paragraph is a sentence."""
    lines = text.splitlines()
    while lines and (lines[0].startswith("#") or not lines[0].strip()):
        lines.pop(0)
    if not lines:
        return True
    if not lines[0].startswith(('"""', 'r"""')):
        return False
    doc = ast.get_docstring(ast.parse(text)) or ""
    first = doc.split("\n\n")[0].strip()
    return len(first.split()) > 1 and first[-1] in ".:?`)"


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_open_with_a_sentence(folder: str):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert [str(p.relative_to(ROOT)) for p in files if not sentence(p.read_text())] == []


def test_sources_of_the_engine_open_with_a_comment():
    files = [p for kind in ("*.c", "*.h", "*.cu", "*.cuh") for p in (ROOT / "src").rglob(kind)]
    assert len(files) > 50
    bare = [p for p in files if not p.read_text().lstrip().startswith(("/*", "//"))]
    assert [str(p.relative_to(ROOT)) for p in bare] == []


@pytest.mark.parametrize("text", ["x = 1\n", '"""things"""\n', "# a comment\nimport os\n", '"""No end\n\nMore."""\n'])
def test_a_file_without_a_sentence_is_seen(text: str):
    assert not sentence(text)
