"""The commands of the documentation: every option, target, script, extra and page that they name is there."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from rushlight.cli.commands import main
from rushlight.cli.errors import UsageError
from rushlight.cli.options import parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "examples/README.md"])
FENCED = re.compile(r"^ *```(?!python)[a-z]*\n(.*?)^ *```$", re.S | re.M)
INDENTED = re.compile(r"(?:\A|\n\n)((?:    .*\n|\n(?=    ))+)")
INLINE = re.compile(r"`((?:rushlight|make|python) [^`]+)`")
MEANT = re.compile(r"\.\.\.|[|<>…]|[A-Z]{4,}")  # a pattern to fill in, not something to type


def typed(page: Path) -> list[str]:
    """The command lines of a page, without what stands behind #."""
    text = page.read_text() + "\n"
    python = re.sub(r"^```python\n.*?^```$", "", text, flags=re.S | re.M)
    blocks = [m[1] for m in FENCED.finditer(python)] + [m[1] for m in INDENTED.finditer(python)]
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    lines = [re.split(r"\s+#\s", line)[0].strip() for line in lines]
    lines += [m[1] for m in INLINE.finditer(re.sub(r"^(?: {4}.*|```.*)$", "", python, flags=re.M))]
    return [x for x in lines if re.match(r"(rushlight|make|python|pip install) ?", x) and not MEANT.search(x)]


COMMANDS = sorted({(str(p.relative_to(ROOT)), c) for p in PAGES for c in typed(p)})


def wrong(command: str) -> str | None:
    """What does not exist of a command, or None."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None  # a sentence that begins like a command
    if words[0] == "rushlight":
        return _of_rushlight(words[1:])
    if words[0] == "make":
        return _of_make([w for w in words[1:] if "=" not in w])
    if words[0] == "python":
        return _of_python(words[1:])
    return _of_pip(words[2:])


def _of_rushlight(words: list[str]) -> str | None:
    if words[:1] == ["run"]:
        known = {"--trace", "--no-trace", "--explain", "--profile"}
        options = set(itertools.takewhile(lambda w: w.startswith("--"), words[1:]))  # then the program's own
        return None if options <= known else f"options {options - known}"
    if words[:1] == ["launch"] or not words:
        return None
    try:
        parser().parse_args(words)
    except UsageError as error:
        # a command or an option that is only named, in a sentence, lacks what it must be given
        named = ("required" in str(error) and len(words) == 1) or (f"{words[-1]}: expected" in str(error))
        return None if named else str(error)
    except SystemExit as stop:  # --help, --version
        return None if not stop.code else f"exit code {stop.code}"
    return None


def _of_make(words: list[str]) -> str | None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    missing = [w for w in words if re.fullmatch(r"[a-z-]+", w) and w not in targets]
    return f"no target {missing}" if missing else None


def _of_python(words: list[str]) -> str | None:
    scripts = [w for w in words if w.endswith(".py")]
    if words[:1] in (["-m"], ["-c"]) or not scripts or "/" not in scripts[0]:
        return None
    path = ROOT / scripts[0]
    if not path.exists():
        return f"no file {scripts[0]}"
    text = path.read_text()
    lost = [w for w in words if w.startswith("--") and f'"{w.partition("=")[0]}"' not in text]
    return f"{scripts[0]} has no {lost}" if lost else None


def _of_pip(words: list[str]) -> str | None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = [e for w in words for e in re.findall(r"^(?:rushlight|\.)\[([a-z,]+)\]", w)]
    lost = [e for one in asked for e in one.split(",") if e not in extras]
    return f"no extra {lost}" if lost else None


@pytest.mark.parametrize("page, command", COMMANDS, ids=[f"{p}: {c}" for p, c in COMMANDS])
def test_a_command_can_be_typed(page: str, command: str) -> None:
    assert wrong(command) is None


SERVERS = ("serve", "view")  # do not end by themselves


def test_the_page_of_the_trainer_can_be_typed_from_top_to_bottom(tmp_path: Path, monkeypatch, capsys) -> None:
    """In one folder, with pictures of somebody's in it; sets are smaller and trainings shorter than those of the page."""
    pytest.importorskip("PIL.Image")
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.chdir(tmp_path)
    import drawn_set

    drawn_set.write(Path("photos"), ("circle", "checks"), 8)
    shutil.copytree("photos/circle", "holiday")
    blocks = INDENTED.findall((ROOT / "docs/train.md").read_text())
    lines = [re.split(r"\s+#\s", line)[0].strip() for block in blocks for line in block.splitlines()]
    done = []
    for words in (shlex.split(line) for line in lines if re.match("(rushlight|python) ", line) and "|" not in line):
        if words[0] == "python":
            getattr(drawn_set, words[2])(Path(words[3]), 24)
        elif words[1] not in SERVERS:
            short = ["--epochs", "1", "--batch-size", "8"] if words[1] == "train" else []
            small = ["--size", "32"] if short and words[-1] in ("photos", "things", "scenes", "discs") else []
            assert main([*words[1:], *short, *small]) == 0, words
            done.append(words[1])
    assert done.count("train") == 6 and {"predict", "eval", "export", "runs"} <= set(done)
    assert "covered" in capsys.readouterr().out


def test_commands_are_found_and_refused() -> None:
    assert len(COMMANDS) >= 80
    for bad in ("rushlight trian", "rushlight train --epoks 3", "make nothing", "python tools/none.py",
                "python tools/wheel.py --nothing x", "pip install 'rushlight[none]'"):  # fmt: skip
        assert wrong(bad), bad
