"""What `make wheel` would pack, without building: data files, versions of Python, metadata, the CI's steps."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {
    "rushlight": ROOT / "src" / "rushlight",
    "rushlight.quasirandom": ROOT / "src" / "torch_names" / "rushlight" / "quasirandom",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_data_file_is_packed() -> None:
    """A file beside the code that no pattern names would be missing for everybody who installs the wheel."""
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git repository")
    data = {ROOT / line for line in listed.stdout.splitlines() if not line.endswith((".py", ".md"))}
    data -= {path for path in data if path.parent.name == "native"}  # sources of what is built
    patterns = PROJECT["tool"]["setuptools"]["package-data"]
    packed = {
        path
        for package, folder in FOLDERS.items()
        for pattern in patterns[package]
        for path in folder.glob(pattern)
    }
    packed |= set((ROOT / "src" / "torch_names" / "rushlight").glob("*.pyi"))  # by setup.py
    assert not sorted(str(p.relative_to(ROOT)) for p in data - packed if p.exists())


def test_wheels_are_built_for_the_versions_that_are_promised() -> None:
    wheels = PROJECT["tool"]["cibuildwheel"]
    promised = {c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if " 3." in c}
    assert {b.removeprefix("cp3").removesuffix("-*") for b in wheels["build"]} == {
        v[2:] for v in promised
    }
    assert PROJECT["project"]["requires-python"] == f">=3.{min(int(v[2:]) for v in promised)}"
    assert wheels["linux"]["archs"] == ["x86_64", "aarch64"] and wheels["macos"]["archs"] == [
        "arm64"
    ]


def test_metadata_people_look_for() -> None:
    project = PROJECT["project"]
    assert project["license"] == "MIT" and project["readme"] == "README.md" and project["keywords"]
    for pattern in project["license-files"]:
        assert list(ROOT.glob(pattern)), pattern


def test_what_ci_runs_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    lines = re.findall(r"^make (.*?)(?: ARGS=.*)?$", (ROOT / ".ci/run").read_text(), re.M)
    words = [word for line in lines for word in line.split()]
    asked = {word for word in words if not word.startswith(("-", ".venv/"))}
    needed = "parity lint types test test-numpy trust wheel train"
    assert set(needed.split()) <= asked <= targets
    pinned = {re.split(r"[=<>~;]", line)[0].strip().lower().replace("_", "-")
              for line in (ROOT / "requirements-ci.txt").read_text().splitlines() if line[:1] not in "#"}  # fmt: skip
    wanted = [
        *PROJECT["project"]["optional-dependencies"]["dev"],
        *PROJECT["project"]["optional-dependencies"]["docs"],
    ]
    names = {re.split(r"[\[<>=~; ]", one)[0].lower().replace("_", "-") for one in wanted}
    assert names <= pinned
