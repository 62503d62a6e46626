"""Makes a release: the version, the changelog's date, all checks, the sdist and the wheel. It never uploads, tags or pushes.

    python tools/release.py 0.2.0 --dry-run     what would be changed, and whether it could be; nothing is written
    python tools/release.py 0.2.0               changes the files, runs the checks, builds into dist/, says what is left to do

Before: CHANGES.md has a part `## 0.2.0 (unreleased)` with at least one entry, pyproject.toml has `[project.urls]` (a package
that cannot be traced to its source is not released), and everything is committed. When a check fails, the changed files are as before.
"""

from __future__ import annotations

import argparse
import datetime
import difflib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION_FILE, CHANGES = "src/rushlight/base/version.py", "CHANGES.md"
# What must succeed before a release, in this order; `make` knows how.
CHECKS = ("lint", "types", "test-all", "test-numpy", "docs", "wheel")
# Addresses that a package must show, by their labels in `[project.urls]`.
URLS = ("Source", "Documentation", "Issues", "Changelog")
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:(a|b|rc)(\d+))?")
_LINE = re.compile(r'^__version__ = "([^"]*)"$', re.M)


def refuse(why: str) -> SystemExit:
    return SystemExit(f"release: {why}")


def order(version: str) -> tuple[int, int, int, str, int]:
    """What versions are compared by: 0.2.0rc1 comes before 0.2.0."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise refuse(f"{version!r} is no version: 0.2.0 or 0.2.0rc1 is expected")
    major, minor, patch, kind, number = found.groups()
    return int(major), int(minor), int(patch), kind or "z", int(number or 0)


def git(root: Path, *words: str) -> str:
    """The output of a git command."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise refuse(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def planned(root: Path, version: str, today: str) -> dict[str, tuple[str, str]]:
    """The files that change: their text before and after."""
    code = (root / VERSION_FILE).read_text()
    found = _LINE.findall(code)
    if len(found) != 1:
        raise refuse(f"{VERSION_FILE} should have one line `__version__ = ...`")
    if order(version) < order(found[0]):
        raise refuse(f"{version} comes before {found[0]}, which the code says")
    changes = (root / CHANGES).read_text()
    return {VERSION_FILE: (code, _LINE.sub(f'__version__ = "{version}"', code)),
            CHANGES: (changes, dated(changes, version, today))}  # fmt: skip


def dated(changes: str, version: str, today: str) -> str:
    """The changelog with the day of the release in place of `unreleased`."""
    parts = re.split(r"(?m)^(?=## )", changes)
    mine = [p for p in parts if re.match(rf"## {re.escape(version)}[ \n]", p)]
    if len(mine) != 1:
        raise refuse(f"{CHANGES} should have one part `## {version} (unreleased)`, not {len(mine)}")
    head, _, body = mine[0].partition("\n")
    if head != f"## {version} (unreleased)":
        raise refuse(f"{CHANGES} says `{head}`: {version} has been released, or the date was written by hand")
    if not re.search(r"(?m)^- \S", body):
        raise refuse(f"the part of {version} in {CHANGES} has no entry: what will users notice?")
    return changes.replace(head, f"## {version} ({today})", 1)


def check_tree(root: Path, version: str) -> None:
    """Everything committed, and the version not used before."""
    changed = git(root, "status", "--porcelain", "--untracked-files=no").splitlines()
    if changed:
        raise refuse(f"{len(changed)} files have changes that are not committed, the first is {changed[0][3:]}")
    if git(root, "tag", "--list", f"v{version}").strip():
        raise refuse(f"the tag v{version} is there already")


def check_urls(root: Path) -> None:
    """Who installs the package finds its source, its documentation and where to ask."""
    urls = tomllib.loads((root / "pyproject.toml").read_text())["project"].get("urls", {})
    wrong = [label for label in URLS if not urls.get(label, "").startswith("https://")]
    if wrong:
        raise refuse(
            f"[project.urls] of pyproject.toml has no https:// address for {', '.join(wrong)}: "
            "write where the project lives; nobody can guess it"
        )


def show(plan: dict[str, tuple[str, str]]) -> None:
    for name, (before, after) in plan.items():
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, "", "", 0, "")
        print("\n".join(lines) or f"{name} stays as it is")


def run_checks(root: Path, checks: list[str]) -> str | None:
    """The first check that fails, or None."""
    for name in checks:
        print(f"release: make {name}", flush=True)
        if subprocess.run(["make", name], cwd=root).returncode:
            return name
    return None


def release(root: Path, version: str, checks: list[str], dry: bool) -> int:
    check_tree(root, version)
    plan = planned(root, version, datetime.date.today().isoformat())
    show(plan)
    check_urls(root)
    if dry:
        print(f"release: a dry run, nothing was written; then `make` would be run for {', '.join(checks) or 'nothing'}")
        return 0
    failed: str | None = "nothing yet"
    try:
        for name, (_, after) in plan.items():
            (root / name).write_text(after)
        failed = run_checks(root, checks)
    finally:
        if failed is not None:  # also on Ctrl-C
            for name, (before, _) in plan.items():
                (root / name).write_text(before)
    if failed is not None:
        raise refuse(f"`make {failed}` failed; the files are as before")
    for made in sorted((root / "dist").glob(f"rushlight-{version}*")):
        print(f"built {made.relative_to(root)}: {made.stat().st_size / 1e6:.1f} MB")
    print(f"""release: {version} is ready; nothing was committed or uploaded. What is left:
  git commit -m "Release {version}" -- {" ".join(plan)}
  git tag -a v{version} -m "rushlight {version}"
  git push origin main v{version}
  python -m twine upload dist/rushlight-{version}*""")
    return 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--checks", default=",".join(CHECKS), help="targets of make (default: %(default)s)")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    return release(args.root, args.version, [c for c in args.checks.split(",") if c], args.dry_run)


if __name__ == "__main__":
    sys.exit(main())
