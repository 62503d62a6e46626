"""The README's program prints what it says, and no figure of the README or of docs/performance.md is without a record."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()
RECORDS = [*(ROOT / "benchmarks").glob("results/*.*"), ROOT / "benchmarks/ledger.jsonl"]
FIGURE = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?![\w-]|\.\d)")
COUNTED = re.compile(r"(\d+) of (\d+)")


def rounded(number: str, digits: int) -> str:
    return f"{float(number):.{digits}f}"


def recorded() -> dict[int, set[str]]:
    """All numbers of the records, rounded to each number of places that a figure may have; milliseconds of microseconds, too."""
    texts = [path.read_text() for path in RECORDS if path.suffix in (".md", ".json", ".jsonl")]
    numbers = {n.replace(",", "") for text in texts for n in FIGURE.findall(text)}
    numbers |= {str(float(n) / 1000) for n in numbers if float(n) >= 1000}
    return {places: {rounded(n, places) for n in numbers} for places in range(5)}


def measured(text: str) -> set[str]:
    """What a page says was measured: its figures outside of code, commands, links, dates, versions, sizes of things and whole numbers under 20."""
    text = re.sub(r"```.*?```|`[^`]*`|!\[[^\]]*\]|\]\([^)]*\)|^ {4}.*$", "", text, flags=re.S | re.M)
    text = re.sub(r"\d{4}-\d\d-\d\d|(?:[A-Z]\w*|PyTorch|Python) \d+\.\d+(?:\.\d+)?(?: to \d+\.\d+)?|\d+ (?:November|x \d+)|batch(?:es of)? \d+", "", text)  # fmt: skip
    return {n for n in FIGURE.findall(text) if "." in n or float(n.replace(",", "")) >= 20}


def unknown(text: str) -> list[str]:
    """Figures that no record has."""
    known = recorded()
    figures = {n: n.replace(",", "") for n in measured(text)}
    return sorted(n for n, plain in figures.items() if rounded(plain, len(plain.partition(".")[2])) not in known[len(plain.partition(".")[2])])  # fmt: skip


def test_the_program_prints_what_is_said() -> None:
    program = re.search(r"```python\n(.*?)```", TEXT, re.S)
    assert program is not None
    said = re.search(r"^print\(.*# (\d\.\d\d), and (\d\.\d\d) in PyTorch$", program[1], re.M)
    assert said is not None and said[1] == said[2]
    done = subprocess.run([sys.executable, "-c", program[1]], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == said[1]


def test_each_ratio_has_machine_date_version_and_command() -> None:
    ratios = re.findall(r"^- \*\*([\d.]+)\*\* on (.*)$", TEXT, re.M)
    assert len(ratios) == 4 and min(float(r) for r, _ in ratios) < 1
    for ratio, line in ratios:
        assert re.search(r"\(\d{4}-\d\d-\d\d, PyTorch 2\.\d+[\d.]*, `python (benchmarks/\w+\.py)", line), line
        record = (ROOT / re.findall(r"\[record\]\((.*?)\)", line)[0]).read_text()
        assert re.findall(r"\d{4}-\d\d-\d\d", line)[0] in record
        assert re.search(rf"(?<![\d.]){ratio}(?!\d)", record), line
    first = TEXT.partition("\n## ")[0]
    assert len(first.splitlines()) < 40 and (ROOT / "docs/report.png").exists()


def test_counts_are_those_of_the_pages() -> None:
    """What `make libraries` and `make suites` wrote last."""
    libraries, suites = ((ROOT / f"docs/{p}.md").read_text() for p in ("libraries", "suites"))
    found = re.findall(r"\*\*(\d+) libraries, .*?; (\d+ of \d+ uses)", libraries)
    rows = [line.split("|")[4:6] for line in suites.splitlines() if line.startswith("| ")][1:]
    on_torch, on_ours = (sum(int(row[i].split()[0].replace(",", "")) for row in rows) for i in (0, 1))
    assert f"[{found[0][1]} of {found[0][0]} libraries](docs/libraries.md)" in TEXT
    assert f"[{on_ours} of {on_torch}](docs/suites.md)" in TEXT


@pytest.mark.parametrize("page", ["README.md", "docs/performance.md"])
def test_every_figure_has_a_record(page: str) -> None:
    text = (ROOT / page).read_text()
    if page == "README.md":  # its counts are tested above
        text = COUNTED.sub("", text).replace("90 libraries", "")
    assert unknown(text) == []


def test_a_figure_without_a_record_is_found() -> None:
    assert unknown("ours takes 31.4159 ms, PyTorch 27,182 us") == ["27,182", "31.4159"]
    assert unknown("on 2026-11-15, batch 64, with PyTorch 2.13.0, 0.31 of its time") == []
