"""What `mkdocs build` does beside rendering docs/: the reference, pages from elsewhere in the repository, links to code.

Pages of docs/ are also read in the repository, where their links lead to `../src/...`, `../CHANGES.md` and the like. Here every
such file becomes a page of the site, and a link to a name (`[`Tensor`](../src/rushlight/core/tensor.py)`) leads to its line.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import notebook
import reference

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?\[([^\]]*)\])\(([^)\s]+)\)")
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2[^\n]*$", re.S | re.M)
NAME = re.compile(r"`([A-Za-z_][\w.]*)`")
LANGUAGES = {".py": "python", ".c": "c", ".h": "c", ".cu": "cpp", ".cuh": "cpp", ".yml": "yaml", ".yaml": "yaml"}
ALWAYS = ("CHANGES.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
AS_THEY_ARE = (".md", ".png", ".svg", ".json", ".csv")
PLACE = "repository"  # the site's folder for what lies outside of docs/


def file_of(path: str) -> str:
    """The file a path of the repository stands for: a folder is its README."""
    whole = ROOT / path
    if whole.is_dir():
        return posixpath.join(path, "README.md") if (whole / "README.md").is_file() else ""
    return path if whole.is_file() else ""


def page_of(path: str) -> str:
    """The site's page for a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{PLACE}/{path}" if path.endswith(AS_THEY_ARE) else f"{PLACE}/{path}.md"


def source_of(page: str) -> str:
    """The file of the repository that a page of the site was made from."""
    return page.removeprefix(f"{PLACE}/") if page.startswith(f"{PLACE}/") else f"docs/{page}"


def outside(target: str) -> bool:
    """Whether a link leaves the repository, or stays on its page."""
    return bool(re.match(r"[a-z]+:|#", target))


def targets(text: str, path: str) -> set[str]:
    """Files of the repository that a page links to."""
    found = set()
    for _, _, target in LINK.findall(FENCE.sub("", text)):
        if not outside(target):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("#")[0]))
            found.add(file_of(place))
    return {f for f in found if f and not f.startswith("docs/")}


def line_of(name: str, path: str) -> int:
    """The line on which a file defines a name; 0 where it does not."""
    body: list[Any] = ast.parse((ROOT / path).read_text()).body
    line = 0
    for part in name.split("."):
        for node in body:
            names = [getattr(node, "name", None), getattr(getattr(node, "target", None), "id", None)]
            names += [getattr(t, "id", None) for t in getattr(node, "targets", [])]
            if part in names:
                line, body = node.lineno, getattr(node, "body", [])
                break
        else:
            return line
    return line


def rewritten(text: str, path: str) -> str:
    """A page whose links lead to pages of the site."""
    here = posixpath.dirname(page_of(path))

    def link(match: re.Match[str]) -> str:
        label, words, target = match.groups()
        if outside(target):
            return match[0]
        place, _, fragment = target.partition("#")
        file = file_of(posixpath.normpath(posixpath.join(posixpath.dirname(path), place)))
        if not file:
            return match[0]  # mkdocs says that it leads nowhere
        name = NAME.fullmatch(words)
        if not fragment and file.endswith(".py") and name and (line := line_of(name[1], file)):
            fragment = f"line-0-{line}"
        page = posixpath.relpath(page_of(file), here or ".")
        return f"{label}({page}{'#' + fragment if fragment else ''})"

    parts, last = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(link, text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, LINK.sub(link, text[last:])])


def source_page(path: str) -> str:
    """A source file as a page, each line with an address."""
    language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
    text = (ROOT / path).read_text().rstrip()
    fence = "`" * 8
    head = "---\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n"
    return f'{head}# {posixpath.basename(path)}\n\n`{path}`\n\n{fence}{{ .{language} linenums="1" }}\n{text}\n{fence}\n'


def on_config(config: Any) -> Any:
    """Lists the pages of the reference in the menu, and the page that `make libraries` writes where it was written."""
    if (ROOT / "docs/libraries.md").is_file():
        config.nav.insert(5, {"Libraries": "libraries.md"})
    for section in config.nav:
        if "Reference" in section:
            section["Reference"] = [
                "reference/index.md",
                *({file.removesuffix(".md"): f"reference/{file}"} for file in reference.files()),
            ]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the reference, and every file that pages link to, and those that they link to."""
    from mkdocs.structure.files import File

    def add(page: str, text: str) -> None:
        files.append(File.generated(config, page, content=text))

    made = reference.pages()
    config.extra["reference_table"] = made.pop("index.md")
    for name, text in made.items():
        add(f"reference/{name}", text)
    for page in sorted((ROOT / "docs/lab").glob("*.md")):
        add(f"lab/{page.stem}.ipynb", notebook.notebook(page.read_text()))
    waiting = set(ALWAYS)
    for file in files.documentation_pages():
        if file.generated_by is None:
            waiting |= targets(Path(file.abs_src_path).read_text(), f"docs/{file.src_uri}")
    done: set[str] = set()
    while waiting - done:
        path = sorted(waiting - done)[0]
        done.add(path)
        if path.endswith(".md"):
            text = (ROOT / path).read_text()
            waiting |= targets(text, path)
            add(page_of(path), text)
        elif path.endswith(AS_THEY_ARE):
            files.append(File.generated(config, page_of(path), abs_src_path=str(ROOT / path)))
        else:
            add(page_of(path), source_page(path))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links, on pages that people wrote."""
    uri = page.file.src_uri
    path = source_of(uri)
    if uri == "reference/index.md":
        return str(markdown + config.extra["reference_table"])
    if uri.startswith("reference/") or not (ROOT / path).is_file():
        return markdown
    text = rewritten(markdown, path)
    if uri.startswith("lab/"):  # under the line of languages
        file = posixpath.basename(uri).replace(".md", ".ipynb")
        text = re.sub(r"^(.*Español.*)$", rf"\1 · :material-notebook: [{file}]({file})", text, count=1, flags=re.M)
    return text


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Tells mkdocs, which checks links, of the lines' addresses: highlighted code is made behind its back."""
    if page.file.src_uri.startswith(f"{PLACE}/"):
        page.present_anchor_ids = {*(page.present_anchor_ids or ()), *re.findall(r'id="(line-[\d-]+)"', html)}
    return html


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Says the page's own language, so that browsers take the right letters and screen readers the right voice."""
    language = page.meta.get("language", "en")
    return output.replace('<html lang="en"', f'<html lang="{language}"', 1)
