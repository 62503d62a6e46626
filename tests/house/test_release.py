"""tools/release.py in a small repository: what it changes, what it refuses, and that a failed check leaves no trace."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import release  # noqa: E402

CHANGES = "# Changes\n\n## 0.2.0 (unreleased)\n\n- Something new.\n\n## 0.1.0 (2026-01-01)\n\n- First.\n"


URLS = "\n".join(f'{label} = "https://example.org/{label}"' for label in release.URLS)


@pytest.fixture
def repo(tmp_path) -> Path:
    code = tmp_path / release.VERSION_FILE
    code.parent.mkdir(parents=True)
    code.write_text('"""The version."""\n\n__version__ = "0.1.0"\n')
    (tmp_path / "CHANGES.md").write_text(CHANGES)
    (tmp_path / "pyproject.toml").write_text(f"[project]\n[project.urls]\n{URLS}\n")
    (tmp_path / "Makefile").write_text("good:\n\t@cat CHANGES.md > seen.txt\nbad:\n\t@false\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True)
    return tmp_path


def texts(repo: Path) -> tuple[str, str]:
    return (repo / release.VERSION_FILE).read_text(), (repo / "CHANGES.md").read_text()


def make(repo: Path, *words: str) -> int:
    return release.main([*words, "--root", str(repo)])


def test_a_release(repo: Path, capsys) -> None:
    assert make(repo, "0.2.0", "--checks", "good") == 0
    code, changes = texts(repo)
    assert '__version__ = "0.2.0"' in code
    assert re.search(r"^## 0\.2\.0 \(\d{4}-\d\d-\d\d\)$", changes, re.M)
    assert (repo / "seen.txt").read_text() == changes  # checks see the version that will be released
    said = capsys.readouterr().out
    assert "git tag -a v0.2.0" in said and "nothing was committed or uploaded" in said
    log = subprocess.check_output(["git", "log", "--oneline"], cwd=repo, text=True)
    assert log.count("\n") == 1


def test_a_dry_run_writes_nothing(repo: Path, capsys) -> None:
    before = texts(repo)
    assert make(repo, "0.2.0", "--dry-run", "--checks", "bad") == 0
    assert texts(repo) == before
    said = capsys.readouterr().out
    assert '+__version__ = "0.2.0"' in said and "-## 0.2.0 (unreleased)" in said


def test_a_failed_check_leaves_no_trace(repo: Path) -> None:
    before = texts(repo)
    with pytest.raises(SystemExit, match="`make bad` failed; the files are as before"):
        make(repo, "0.2.0", "--checks", "good,bad")
    assert texts(repo) == before


@pytest.mark.parametrize("version, says", [
    ("0.2", "is no version"), ("v0.2.0", "is no version"), ("0.0.9", "comes before 0.1.0"),
    ("0.3.0", "should have one part"), ("0.1.0", "has been released"),
])  # fmt: skip
def test_versions_that_are_refused(version: str, says: str, repo: Path) -> None:
    with pytest.raises(SystemExit, match=re.escape(says)):
        make(repo, version, "--dry-run")


def test_trees_that_are_refused(repo: Path) -> None:
    (repo / "CHANGES.md").write_text(CHANGES.replace("- Something new.\n", ""))
    with pytest.raises(SystemExit, match="not committed, the first is CHANGES.md"):
        make(repo, "0.2.0", "--dry-run")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *who, "commit", "-qam", "none"], cwd=repo, check=True)
    with pytest.raises(SystemExit, match="has no entry"):
        make(repo, "0.2.0", "--dry-run")
    subprocess.run(["git", "tag", "v0.2.0"], cwd=repo, check=True)
    with pytest.raises(SystemExit, match=r"the tag v0\.2\.0 is there already"):
        make(repo, "0.2.0", "--dry-run")


@pytest.mark.parametrize("urls, says", [
    ("", "Source, Documentation, Issues, Changelog"),
    (URLS.replace("https://example.org/Issues", "somewhere"), "no https:// address for Issues:"),
])  # fmt: skip
def test_no_release_without_addresses(urls: str, says: str, repo: Path) -> None:
    before = texts(repo)
    (repo / "pyproject.toml").write_text(f"[project]\n[project.urls]\n{urls}\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *who, "commit", "-qam", "urls"], cwd=repo, check=True)
    for more in (["--dry-run"], ["--checks", "good"]):
        with pytest.raises(SystemExit, match=re.escape(says)):
            make(repo, "0.2.0", *more)
    assert texts(repo) == before and not (repo / "seen.txt").exists()


def test_order() -> None:
    known = ["0.1.0", "0.2.0a1", "0.2.0b1", "0.2.0rc1", "0.2.0rc2", "0.2.0", "0.10.0"]
    assert sorted(known, key=release.order) == known


def test_this_repository_could_be_released() -> None:
    """The version's line, the changelog's form and the targets of make are what the script expects."""
    from rushlight.base.version import __version__

    plan = release.planned(ROOT, __version__, "2026-01-01")
    assert f"## {__version__} (2026-01-01)" in plan["CHANGES.md"][1]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(release.CHECKS) <= set(targets)
