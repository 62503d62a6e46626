"""What a kernel is given: the struct formats of its parameters, read from its source."""

from __future__ import annotations

import re
from math import prod

_LETTERS = {"int": "i", "unsigned": "I", "float": "f", "double": "d", "long long": "q", "unsigned long long": "Q"}
# KERNEL(name)(, BOUNDED_KERNEL(name, ...)( or __global__ void name(, with what stands between the last brackets.
_OPENED = re.compile(
    r"(?:KERNEL\(\s*([\w#]+)\s*(?:,[^()]*(?:\([^()]*\)[^()]*)*)?\)"
    r"|__global__ void(?:\s+__launch_bounds__\([^()]*\))?\s+(\w+))\s*\(([^()]*)\)"
)
_LEFT_OUT = re.compile(r"//[^\n]*|\\\n|\b(?:const|__restrict__|struct)\b")


def formats(text: str, name: str, options: tuple[str, ...] = ()) -> tuple[str, ...]:
    """One entry per parameter of the kernel `name`: "P" a pointer, "q" an int64, "6i" six ints in a struct."""
    text = _LEFT_OUT.sub(" ", text)
    known = dict(re.findall(r"#define (\w+) ([^\n]+)", text))
    known |= {o[2:].partition("=")[0]: o.partition("=")[2] for o in options if o.startswith("-D")}
    found = []
    for parameter in _parameters(text, name).split(","):
        words = parameter.split()
        kind = "*" if "*" in parameter else " ".join(words[:-1] or words)  # which has no name here
        letter, count = _format(text, kind, known)
        found.append(letter if count == 1 else f"{count}{letter}")
    return tuple(found)


def _parameters(text: str, name: str) -> str:
    """What stands between the brackets of a kernel, which a macro may have opened: by a word of the name, or all of it."""
    best, parameters = "", ""
    for match in _OPENED.finditer(text):
        opened = match[1] or match[2]
        start, joined, _ = opened.partition("##")
        if opened == name:
            return match[3]
        macro = re.findall(rf"#define (\w+)\({opened}\b", text[: match.start()])
        if joined and name.startswith(start) and len(start) > len(best):
            best, parameters = start, match[3]
        elif macro and re.search(rf"\b{macro[-1]}\(\s*{name}\s*[,)]", text):
            return match[3]
    if not parameters:
        raise RuntimeError(f"no kernel {name!r} in its source")
    return parameters


def _format(text: str, kind: str, known: dict[str, str]) -> tuple[str, int]:
    """The letter of a type, and how many of them it has."""
    if kind == "*":
        return "P", 1
    if kind in _LETTERS:
        return _LETTERS[kind], 1
    other = known.get(kind) or re.search(rf"typedef ([^;{{}}]+?)\s*\b{kind};", text)
    if other:
        spelt = other if isinstance(other, str) else other[1]
        return _format(text, "*" if "*" in spelt else spelt.strip(), known)
    fields = re.search(rf"\b{kind} {{([^{{}}]*)}};", text)
    if fields is None:
        raise RuntimeError(f"a kernel is given a {kind!r}, which its source does not describe")
    letters, count = set(), 0
    for line in filter(str.strip, fields[1].split(";")):
        first, *rest = line.split(",")
        of = "*" if "*" in first else re.sub(r"\s*\w+\s*(\[[^\]]*\]\s*)*$", "", first).strip()
        letter, each = _format(text, of, known)
        letters.add(letter)
        count += sum([each * _length(field, known) for field in (first, *rest)])
    if letters == {"P", "q"}:  # as large as each other
        return "Q", count
    if len(letters) != 1:
        raise RuntimeError(f"the struct {kind!r} has members of several types")
    return letters.pop(), count


def _length(field: str, known: dict[str, str]) -> int:
    """Of `name[A * B + 1][3]`; 1 without brackets."""
    sizes = re.findall(r"\[([^\]]*)\]", field)
    return prod([sum([_product(term, known) for term in size.split("+")]) for size in sizes])


def _product(term: str, known: dict[str, str]) -> int:
    return prod([int(known.get(factor.strip(), factor)) for factor in term.split("*")])
