"""The documentation site: code of its pages runs, links lead somewhere, four languages say the same, and it builds."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight
from cli_help import write_cifar

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LAB = ["en", "ko", "ja", "es"]
PAGES = sorted([ROOT / "README.md", DOCS / "index.md", DOCS / "start.md", *DOCS.glob("learn/*.md"), DOCS / "lab/en.md"])
ALL = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
sys.path.insert(0, str(ROOT / "tools"))


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python blocks of a page, each with the line it begins at."""
    text = page.read_text()
    return [(text.count("\n", 0, m.start(1)), m[1]) for m in BLOCK.finditer(text)]


def run_page(page: Path) -> None:
    """Runs all Python blocks of a page, one after another, as a reader would; errors show the page's lines."""
    names: dict = {"__name__": "page"}
    for line, text in blocks(page):
        exec(compile("\n" * line + text, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_cifar(tmp_path / "data" / "cifar-10-batches-py")
    deterministic = rushlight.are_deterministic_algorithms_enabled()
    try:
        run_page(page)
    finally:
        rushlight.tracing(False)
        rushlight.use_deterministic_algorithms(deterministic)
    assert capsys.readouterr().err == ""


def test_no_page_has_code_that_nobody_runs():
    """The lab's other languages have the English page's code, to the letter."""
    others = [DOCS / "lab" / f"{language}.md" for language in LAB]
    new_ops = {ROOT / "CONTRIBUTING.md", DOCS / "extending.md"}  # tests/ops/test_three_new_ops.py
    run = {*PAGES, *others, *new_ops}
    everything = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("src/**/*.md")]
    assert [str(page) for page in everything if page not in run and blocks(page)] == []


def test_pages_have_code():
    for page in PAGES:
        assert blocks(page), page
        assert page.read_text().count("```") % 2 == 0, page


def test_code_that_fails_names_the_line_of_the_page(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as found:
        run_page(page)
    assert found.traceback[-1].lineno + 1 == 8


@pytest.mark.parametrize("language", LAB)
def test_the_lab_is_the_same_in_every_language(language: str):
    page, english = DOCS / f"lab/{language}.md", DOCS / "lab/en.md"
    text, model = page.read_text(), english.read_text()
    assert [b for _, b in blocks(page)] == [b for _, b in blocks(english)]
    printed = re.compile(r"^```text\n(.*?)^```$", re.S | re.M)  # tools/first_visit.py compares it
    assert printed.findall(text) == printed.findall(model)
    assert len(re.findall("^## ", text, re.M)) == len(re.findall("^## ", model, re.M))
    assert f"language: {language}" in text
    others = {f"{other}.md" for other in LAB} - {page.name}
    links = set(LINK.findall(text))
    assert others <= links and page.name not in links
    assert links | {page.name} == set(LINK.findall(model)) | {"en.md"}


def figures(text: str) -> set[str]:
    """Measured figures: times, ratios and percentages, with a point for decimals."""
    prose = re.sub(r"`[^`]*`|\([^)]*\.(?:md|png)\)", "", BLOCK.sub("", text))
    found = re.findall(r"\d+(?:[.,]\d+)?", re.sub(r"(\d),(\d\d?)(?!\d)", r"\1.\2", prose))
    return {f for f in found if f in ("56", "54", "17.8", "47", "354", "24.5", "470", "116", "2.3")}


@pytest.mark.parametrize("language", LAB)
def test_the_lab_tells_the_same_figures_in_every_language(language: str):
    assert len(figures((DOCS / f"lab/{language}.md").read_text())) == 9


def broken(page: Path) -> list[str]:
    """Links of a page that lead nowhere; pages of the reference are made when the site is built."""
    import reference

    made = {*reference.files(), "index.md"}
    found = []
    for target in LINK.findall(BLOCK.sub("", page.read_text())):
        if re.match(r"[a-z]+:|#", target):
            continue
        place = page.parent / target.partition("#")[0]
        folder, name = place.parent.resolve(), place.name
        if not (name in made if folder == DOCS / "reference" else place.exists()):
            found.append(target)
    return found


@pytest.mark.parametrize("page", ALL, ids=[str(p.relative_to(ROOT)) for p in ALL])
def test_links_lead_somewhere(page: Path):
    assert broken(page) == []


def test_a_link_that_leads_nowhere_is_seen(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("[a](nowhere.md) [b](page.md) [c](https://example.org)")
    assert broken(page) == ["nowhere.md"]


def test_the_reference_has_every_public_name():
    import reference

    shown = {name: {n for n, _ in names} for name, names in reference.shown().items()}
    assert {"conv2d", "cross_entropy", "scaled_dot_product_attention"} <= shown["rushlight.nn.functional"]
    assert {"Module", "Conv2d", "LSTM", "Transformer"} <= shown["rushlight.nn"]
    assert {"Tensor", "randn", "compile", "save", "float32", "tracing"} <= shown["rushlight"]
    assert {"backward", "to", "add_", "T", "shape"} <= shown["rushlight.Tensor"]
    missing = {
        name: sorted(left)
        for name in reference.NAMESPACES
        if (
            left := {n for n in getattr(reference.namespace(name), "__all__", ()) if n[0] != "_"}
            - shown[name]
            - modules(name)
        )
    }
    assert missing == {}


def modules(name: str) -> set[str]:
    """Names of a namespace that are modules, which have pages or names of their own, and plain None."""
    import types

    import reference

    place = reference.namespace(name)
    kinds = (types.ModuleType, type(None))
    return {n for n in getattr(place, "__all__", ()) if isinstance(getattr(place, n, None), kinds)}


@pytest.mark.parametrize("language", LAB)
def test_the_notebook_of_the_lab_has_its_code(language: str):
    import notebook

    page = DOCS / f"lab/{language}.md"
    cells = json.loads(notebook.notebook(page.read_text()))["cells"]
    code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    assert code == [text.strip() for _, text in blocks(page)]
    words = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    assert ".md)" not in words and ".png" not in words and "language:" not in words


def test_links_to_code_lead_to_the_line_of_the_name():
    import site_hooks

    text = "[`OpNode.keep_outputs`](../../src/rushlight/core/gradients/node.py) [c](../../CHANGES.md) [d](../trust.md#x) [e](https://e.org)"
    found = LINK.findall(site_hooks.rewritten(text, "docs/learn/page.md"))
    line = site_hooks.line_of("OpNode.keep_outputs", "src/rushlight/core/gradients/node.py")
    assert "def keep_outputs" in (ROOT / "src/rushlight/core/gradients/node.py").read_text().splitlines()[line - 1]
    assert found == [
        f"../repository/src/rushlight/core/gradients/node.py.md#line-0-{line}",
        "../repository/CHANGES.md",
        "../trust.md#x",
        "https://e.org",
    ]
    kept = "```python\nx = [a](../../CHANGES.md)\n```\n"
    assert site_hooks.rewritten(kept, "docs/learn/page.md") == kept


def test_a_docstring_becomes_markdown():
    import reference

    def documented(x: Any, *args: int, mode="zeros") -> Any:
        """Scales `x[0]` by *scale* <here>.

        >>> documented(1)
        [2]

        After it.
        """

    text = reference.docstring(documented)
    assert "Scales `x[0]` by \\*scale\\* &lt;here&gt;." in text
    assert "```pycon\n>>> documented(1)\n[2]\n```\n" in text and text.endswith("After it.")
    assert reference.signature(documented) == "(x: Any, *args: int, mode='zeros') -> Any"


def test_sections_of_a_docstring_become_lists_and_blocks():
    from docstring_markdown import markdown

    text = """Add up.

Args:
    first, second,
        third: the numbers,
        one of x_1.
    keep: whether.

Shape:
    (N, *) -> (*).

Example:
    >>> total(1)
    tensor([[1],
            [2]])
    >>> for i in (1, 2):
    ...     total(i)

    >>> total(3)
    <BLANKLINE>
"""
    assert (
        markdown(text)
        == """Add up.

**Args**

- `first, second, third`: the numbers, one of x\\_1.
- `keep`: whether.

**Shape**

(N, \\*) -&gt; (\\*).

**Example**

```pycon
>>> total(1)
tensor([[1],
        [2]])
>>> for i in (1, 2):
...     total(i)
```


```pycon
>>> total(3)
<BLANKLINE>
```"""
    )


def test_every_section_of_the_reference_is_closed():
    import reference

    pages = reference.pages()
    for file, page in pages.items():
        assert page.count("```") % 2 == 0, file
    assert "- `in_features`: size of the input's last dimension." in pages["rushlight.nn.md"]
    assert {*pages} == {*reference.files(), "index.md"}
    assert max(len(re.findall("^## ", page, re.M)) for page in pages.values()) < 200


def test_the_site_builds_without_a_warning(tmp_path: Path):
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed: pip install '.[docs]'")
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT, env=env, text=True, capture_output=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    start = (tmp_path / "index.html").read_text()
    assert not re.findall(r'(?:src|href)="https?://', start)
    assert '<html lang="ko"' in (tmp_path / "lab/ko.html").read_text()
    search = (tmp_path / "search/search_index.json").read_text()
    assert "rushlight.nn.functional.html#conv2d" in search
