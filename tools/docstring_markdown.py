"""Docstrings as Markdown: sections become headings and lists, examples are fenced, the rest is plain text."""

from __future__ import annotations

import html
import re
import textwrap

# Sections whose entries are "name: what it is".
LISTS = ("Args", "Attributes", "Raises")
SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields|Shape|Examples?|Notes?):$")


def markdown(text: str) -> str:
    """A docstring, without the indentation it has in its file, as Markdown."""
    return "\n\n".join(_section(title, body) for title, body in _sections(text)).strip("\n")


def _sections(text: str) -> list[tuple[str, list[str]]]:
    """(title, lines) of every part: what stands before the first section has no title."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        title = SECTION.match(line)
        if title:
            parts.append((title[1], []))
        elif parts[-1][0] and line.strip() and not line.startswith(" "):
            parts.append(("", [line]))  # text behind a section
        else:
            parts[-1][1].append(line)
    return parts


def _section(title: str, body: list[str]) -> str:
    lines = textwrap.dedent("\n".join(body)).strip("\n").splitlines()
    text = _entries(lines) if title in LISTS else _paragraphs(lines)
    return f"**{title}**\n\n{text}" if title else text


def _entries(lines: list[str]) -> str:
    """A list with one line for each entry; lines that are indented more continue the one before."""
    entries: list[str] = []
    for line in lines:
        if entries and (line.startswith(" ") or not line.strip()):
            entries[-1] = f"{entries[-1]} {line.strip()}".rstrip()
        else:
            entries.append(line.strip())
    return "\n".join(_entry(entry) for entry in entries)


def _entry(entry: str) -> str:
    name, colon, what = entry.partition(": ")
    return f"- `{name}`: {escaped(what)}" if colon and "`" not in name else f"- {escaped(entry)}"


def _paragraphs(lines: list[str]) -> str:
    """Plain text, with examples as blocks of code: from `>>>` to the next empty line."""
    out: list[str] = []
    depth = -1  # indentation of the example that is open
    for line in lines:
        bare = line.lstrip()
        if depth < 0 and bare.startswith(">>>"):
            depth = len(line) - len(bare)
            out += ["", "```pycon"]
        elif depth >= 0 and not bare:
            depth = -1
            out.append("```")
        out.append(line[min(depth, len(line) - len(bare)) :] if depth >= 0 else escaped(line))
    return "\n".join([*out, "```"] if depth >= 0 else out).strip("\n")


def escaped(line: str) -> str:
    """A line of plain text in which Markdown finds no links, tags or emphasis outside of `code`."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(
        p if p.startswith("`") else re.sub(r"([\[\]*_\\])", r"\\\1", html.escape(p, quote=False)) for p in parts
    )
