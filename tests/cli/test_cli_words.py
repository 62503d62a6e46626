"""Every sentence that the command can print: a number before a noun in the plural is never 1, or `counted` writes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from cli_help import ROOT
from rushlight.cli.words import counted

CLI = ROOT / "src" / "rushlight" / "cli"
VERBS = {
    "writes",
    "needs",
    "gets",
    "means",
    "holds",
    "cuts",
    "is",
    "has",
    "was",
    "does",
    "less",
    "stands",
    "trains",
    "reads",
    "looks",
    "tells",
    "as",
}
# What agrees with one alone or with several alone: behind a count it would have to change with it.
VERB = "is|are|was|were|has|have|does|do|needs?|gets?|holds?|lies?|stands?|goes?|makes?|takes?"
# What stands before the noun, and why it is not 1.
NEVER_ONE = {
    "threads threads": "said where there are several",
    "most / least times": "said from 3 times on",
    "high pixels": "ends in `120x80 pixels`",
    "pixels pixels": "28 or 32",
    "least pixels": "the smallest network takes 8",
    "step pixels": "16 at least",
    "len(row) cells": "more than the first line's two",
    "len(names) numbers": "said of more than two",
    "len(tried) trials": "two at least",
    "len(columns) columns": "said of more than one",
    "engine.instruction_set instructions": "the name of a set, no count",
    "p.multi_processor_count multiprocessors": "no GPU has one",
    "len(values) values": "said of more than 64",
    "count kernels": "the usual ones are many",
    "count stubs": "a file for each module of two packages",
    "PARTS parts": "a constant",
    "HEADERS bytes": "a constant",
    "BODY_SECONDS seconds": "a constant",
    "TIMED steps": "a constant",
    "len(shares) classes": "said of more than 20",
    "len(self.labels) labels": "said of more than 20",
    "len(points) rates": "three times a window of 8 at least",
    "ranks ranks": "two at least: nothing has to be split over one",
    "self.ranks ranks": "two at least",
    "len(names()) networks": "a constant",
    "SHUFFLES times": "a constant",
    "found[key] nouns": "one of each fold at least, and folds are two",
}


def numbered() -> Iterator[tuple[str, str]]:
    """(file and line, `value noun`) of every f-string with a value right before a word in s, outside of a choice."""
    for path in sorted(CLI.rglob("*.py")):
        tree = ast.parse(path.read_text())
        parent = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.JoinedStr) or _chosen(node, parent):
                continue
            said = [
                x if isinstance(x, ast.FormattedValue) else str(x.value)
                for x in (*node.values, ast.Constant(""), ast.Constant(""))
            ]
            at = f"{path.relative_to(CLI)}:{node.lineno}"
            for value, text, noun, end in zip(said, said[1:], said[2:], said[3:]):
                if isinstance(value, str) or not isinstance(text, str):
                    continue
                shown, written = ast.unparse(value.value), text
                if text == " " and not isinstance(noun, str):
                    written = f" {ast.unparse(noun.value).rpartition('.')[2]}{end}"
                word = re.match(r" (?:(?:other|more|test|training) )*([a-z]+s)\b(?!')", written)
                if shown.startswith("counted("):
                    if re.match(rf" (?:{VERB})\b", text):
                        yield at, shown + text
                elif word and word[1] not in VERBS:
                    yield at, f"{shown} {word[1]}"


def _chosen(node: ast.AST, parent: dict[ast.AST, ast.AST]) -> bool:
    """Whether an expression is one side of `... if ... else ...`."""
    while node in parent and not isinstance(node, ast.stmt):
        node = parent[node]
        if isinstance(node, ast.IfExp):
            return True
    return False


def test_no_sentence_says_1_pictures() -> None:
    found = list(numbered())
    assert [f"{at}: {said}" for at, said in found if said not in NEVER_ONE] == []
    assert {said for _, said in found} == set(NEVER_ONE), "NEVER_ONE has lines that nothing says any more"


def test_counts() -> None:
    assert [counted(n, "picture") for n in (0, 1, 2, 12345)] == ["0 pictures", "1 picture", "2 pictures", "12,345 pictures"]  # fmt: skip
    assert counted(1, "class", "classes") == "1 class" and counted(3, "class", "classes") == "3 classes"
    assert counted(1.0, "minute") == "1 minute" and counted(0.5, "minute") == "0.5 minutes"
