"""The links of the documentation: they lead to files that exist, and to names that are defined there.

A link to code is written `[`name`](../src/.../file.py)`: the name is looked up in the file, so that no line
number has to be kept.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("src/**/*.md")])
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")
NAME = re.compile(r"`([A-Za-z_][\w.]*)`")


def defined(name: str, tree: ast.AST) -> bool:
    """Whether a class, function or global of that name is in a file; `Class.method` looks in the class."""
    first, _, rest = name.partition(".")
    for node in getattr(tree, "body", []):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == first:
            return not rest or defined(rest, node)
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        flat = [t for t in targets if t is not None]
        flat += [part for t in flat for part in getattr(t, "elts", [])]
        if not rest and any(getattr(t, "id", None) == first for t in flat):
            return True
    return False


def faults(text: str, folder: Path) -> list[str]:
    """What is wrong with the links of a page that lies in `folder`."""
    found = []
    for label, target in LINK.findall(text):
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        path, _, fragment = target.partition("#")
        file = folder / path
        if not file.exists():
            found.append(f"{target} does not exist")
        elif file.suffix in (".py", ".c", ".h", ".cu", ".cuh") and fragment:
            found.append(f"{target} links to a line, which moves: link the name")
        elif file.suffix == ".py" and (name := NAME.fullmatch(label)) and "/" not in name[1]:
            ours = name[1].endswith(".py") or defined(name[1], ast.parse(file.read_text()))
            if not ours:
                found.append(f"{name[1]} is not defined in {path}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_links_lead_to_what_they_name(page: Path):
    assert faults(page.read_text(), page.parent) == []


FILE = re.compile(r"`([\w./]*\w\.(?:py|c|h|cu|cuh))\b")
FILES = [
    f"/{path.relative_to(ROOT)}"
    for folder in ("src", "tests", "tools", "benchmarks", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".c", ".h", ".cu", ".cuh")
]


def lost_files(text: str, inside: bool) -> list[str]:
    """Files of the source that a page names in its text and that are not there.

    Pages `inside` the source may name a file without its folder; elsewhere such names are the reader's own files.
    """
    named = {name for name in FILE.findall(text) if inside or "/" in name}
    return sorted([n for n in named if not any(file.endswith(f"/{n}") for file in FILES)])


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_files_that_are_named_exist(page: Path):
    assert lost_files(page.read_text(), inside=(ROOT / "src") in page.parents) == []


# Files that comments name and that are not ours.
OTHERS = {
    "hubconf.py", "script.py", "cuda.h", "cublasLt.h", "cudnn_adv.h", "cudnn_graph.h", "library_types.h", "nccl.h",
}  # fmt: skip
IN_COMMENT = re.compile(r"(?<![\w./<{*-])((?:[\w-]+/)*[\w-]+\.(?:py|c|h|cu|cuh))\b")


def comments(path: Path) -> Iterator[str]:
    """Lines of the comments and docstrings of a file, without the examples, whose files are the user's."""
    text = path.read_text()
    if path.suffix == ".py":
        said = [
            t.string
            for t in tokenize.generate_tokens(io.StringIO(text).readline)
            if t.type == tokenize.COMMENT or t.string.startswith('"""')
        ]
    else:
        said = re.findall(r"/\*.*?\*/|//[^\n]*", text, re.S)
    for line in "\n".join(said).splitlines():
        if ">>>" not in line and not line.strip().startswith("..."):
            yield line


def test_files_that_comments_name_exist():
    ends = {"/".join(path.split("/")[-n:]) for path in FILES for n in range(1, path.count("/") + 1)}
    known = ends | OTHERS | {path.name for path in ROOT.iterdir()}
    lost = [
        f"{path}: {name}"
        for path in FILES
        if path.startswith("/src/")
        for line in comments(ROOT / path[1:])
        for name in IN_COMMENT.findall(line)
        if name not in known
    ]
    assert lost == []


def test_a_lost_file_is_seen():
    text = "`lower/no_such.py: run` beside `program/match.py` and `train.py`"
    assert lost_files(text, inside=False) == ["lower/no_such.py"]
    assert lost_files("`graph_cuda.py`", inside=True) == ["graph_cuda.py"]


def test_the_book_links_to_the_code():
    text = (ROOT / "docs/from-zero-to-rushlight.md").read_text()
    named = [label for label, target in LINK.findall(text) if "src/rushlight" in target]
    assert len(named) > 45
    assert all(NAME.fullmatch(label) for label in named)


@pytest.mark.parametrize(
    "text, what",
    [
        ("[`keep_outputs`](../src/rushlight/core/op.py#LNone)", "links to a line"),
        ("[`run`](../src/rushlight/runtime/door.py#L80)", "links to a line"),
        ("[`keep_outputs`](../src/rushlight/core/op.py)", "not defined"),
        ("[`OpNode.never`](../src/rushlight/core/gradients/node.py)", "not defined"),
        ("[`Tensor`](../src/rushlight/core/tensors.py)", "does not exist"),
        ("[the glossary](no-such-page.md)", "does not exist"),
    ],
)
def test_a_broken_link_is_seen(text: str, what: str):
    (fault,) = faults(text, ROOT / "docs")
    assert what in fault


def test_a_good_link_is_let_through():
    text = "[`OpNode.keep_outputs`](../src/rushlight/core/gradients/node.py), [there](https://example.org/#L3)"
    assert faults(text, ROOT / "docs") == []


def test_the_map_of_the_engine_names_every_file_in_c():
    page = (ROOT / "docs" / "cpu-engine.md").read_text()
    named = set(re.findall(r"`(\w+\.[ch])`", page))
    files = {f.name for f in (ROOT / "src").rglob("*.[ch]")}
    own = {f for f in files if f.endswith(".c") or f.replace(".h", ".c") not in files}
    assert own <= named, "say in docs/cpu-engine.md what lives there"


def test_no_file_holds_both_sides_of_a_merge() -> None:
    """What git writes where two changes met, and nobody decided."""
    asked = ["git", "grep", "-lE", "^(<{7}|>{7}) "]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        pytest.skip("no git here")
    assert done.stdout.split() == []
