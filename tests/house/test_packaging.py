"""What `make wheel` would pack, without building: data files, versions of Python, metadata, the CI's steps."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from setuptools import Distribution

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
        path for package, folder in FOLDERS.items() for pattern in patterns[package] for path in folder.glob(pattern)
    }
    assert not sorted(str(p.relative_to(ROOT)) for p in data - packed if p.exists())


def test_wheels_are_built_for_the_versions_that_are_promised() -> None:
    wheels = PROJECT["tool"]["cibuildwheel"]
    promised = {c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if " 3." in c}
    assert {b.removeprefix("cp3").removesuffix("-*") for b in wheels["build"]} == {v[2:] for v in promised}
    assert PROJECT["project"]["requires-python"] == f">=3.{min(int(v[2:]) for v in promised)}"
    assert wheels["linux"]["archs"] == ["x86_64", "aarch64"] and wheels["macos"]["archs"] == ["arm64"]


def test_an_old_python_is_told_in_a_sentence(tmp_path: Path) -> None:
    """Before anything is made: the Makefile's question to a Python that says it is 3.10."""
    old = tmp_path / "python"
    old.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.version_info = (3, 10, 1); exec(sys.argv[1])" "$2"\n'
    )
    old.chmod(0o755)
    command = ("make", "-f", ROOT / "Makefile", "train", f"PYTHON={old}")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode and "needs Python 3.11 or newer" in done.stderr and "is 3.10: make train PYTHON=" in done.stderr  # fmt: skip
    assert "Traceback" not in done.stderr and not (tmp_path / ".venv").exists()


def test_metadata_people_look_for() -> None:
    project = PROJECT["project"]
    assert project["license"] == "MIT" and project["readme"] == "README.md" and project["keywords"]
    for pattern in project["license-files"]:
        assert list(ROOT.glob(pattern)), pattern


def test_other_packages_ask_for_the_same() -> None:
    """The conda recipe needs what the wheel needs, a tag is the version, a package says where it came from."""
    recipe = (ROOT / "packaging/conda/meta.yaml").read_text().replace(" ", "")
    for one in PROJECT["project"]["dependencies"]:
        assert f'"{one}"' in recipe.partition("run:")[2].replace("-", "_"), one
    assert "GIT_DESCRIBE_TAG" in recipe
    told = re.sub(r"\s", "", recipe.partition("license_file:")[2].partition("]")[0]).strip("[").split(",")
    notices = {p.relative_to(ROOT).as_posix() for p in (ROOT / "src").rglob("NOTICE*")}
    assert set(told) == {"LICENSE", *notices} and len(notices) > 2
    assert notices == {p.relative_to(ROOT).as_posix() for pattern in PROJECT["project"]["license-files"][1:] for p in ROOT.glob(pattern)}  # fmt: skip
    workflow = (ROOT / ".github/workflows/wheels.yml").read_text()
    assert "attest-build-provenance" in workflow and 'tags: ["v*"]' in workflow
    assert "base/version.py" in workflow and "ARG EXTRAS=cli" in (ROOT / "Dockerfile").read_text()
    for form in [*ROOT.glob(".github/ISSUE_TEMPLATE/*.md"), ROOT / ".github/pull_request_template.md"]:
        assert "rushlight doctor" in form.read_text(), form


def test_what_ci_runs_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    lines = re.findall(r"^make (.*?)(?: ARGS=.*)?$", (ROOT / ".ci/run").read_text(), re.M)
    words = [word for line in lines for word in line.split()]
    asked = {word for word in words if not word.startswith(("-", ".venv/")) and "=" not in word}
    needed = "parity lint types test test-numpy trust wheel train"
    assert set(needed.split()) <= asked <= targets and "ALL=1" in words
    pinned = {re.split(r"[=<>~;]", line)[0].strip().lower().replace("_", "-")
              for line in (ROOT / "requirements-ci.txt").read_text().splitlines() if line[:1] not in "#"}  # fmt: skip
    wanted = [*PROJECT["project"]["optional-dependencies"]["dev"], *PROJECT["project"]["optional-dependencies"]["docs"]]
    names = {re.split(r"[\[<>=~; ]", one)[0].lower().replace("_", "-") for one in wanted}
    assert names <= pinned


@pytest.fixture(scope="module")
def setup_py() -> Any:
    """The functions of setup.py, without running it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setuptools.setup", lambda **options: None)
        return SimpleNamespace(**runpy.run_path(str(ROOT / "setup.py")))


def test_a_checkout_is_compiled_for_its_machine_and_a_wheel_for_all(setup_py: Any) -> None:
    skylake, haswell = {"avx2", "fma", "avx512f", "avx512dq"}, {"avx2", "fma"}
    every = ["BASE", "AVX2", "AVX512"]
    for flags in (skylake, haswell, {"sse2"}, set()):
        assert setup_py.built_sets(False, "x86_64", flags) == (every, 0)
    assert setup_py.built_sets(True, "x86_64", skylake) == (every, 2)
    assert setup_py.built_sets(True, "x86_64", haswell) == (every[:2], 1)
    assert setup_py.built_sets(True, "x86_64", {"sse2"}) == (every[:1], 0)
    assert setup_py.built_sets(True, "x86_64", set()) == (every, 0)  # the system does not tell
    for own in (False, True):
        assert setup_py.built_sets(own, "aarch64", {"asimd"}) == (["BASE"], 0)


@pytest.mark.parametrize("own", [False, True])
def test_loops_are_compiled_in_parts(setup_py: Any, own: bool, tmp_path: Path) -> None:
    """Each part of a whole set once, images' loops of every set, and the other files know what there is."""
    calls = []

    class Compiler:
        def compile(self, sources: list[str], **options: Any) -> list[str]:
            calls.append((*sources, dict(options["macros"])))
            return [f"{options['output_dir']}/{source}.o" for source in sources]

    command = setup_py.AllCores(Distribution())
    command.own, command.extensions, command.compiler = own, [], Compiler()
    command.build_temp = str(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setitem(setup_py.AllCores.build_extensions.__globals__, "flags_here",
                      lambda: {"avx2", "fma", "avx512f", "avx512dq"})  # fmt: skip
        patch.setattr("platform.machine", lambda: "x86_64")
        patch.setattr(setup_py.build_ext, "build_extensions", lambda self: made.extend(
            self.compiler.compile(["a.c", "native/loops.c"], output_dir="out", macros=[("M", "1")])))  # fmt: skip
        made: list[str] = []
        command.build_extensions()
    assert len(set(made)) == len(made) == len(calls) == (6 if own else 10)
    told = next(macros for source, macros in calls if source == "a.c")
    assert told == {"M": "1", "INSTRUCTION_SETS": "3", "FIRST_WHOLE_SET": "2" if own else "0"}
    compiled = {" ".join(macros) for source, macros in calls if source == "native/loops.c"}
    expected = {f"M LOOPS_{s} LOOPS_IMAGES" for s in ("BASE", "AVX2", "AVX512")}
    whole = ("AVX512",) if own else ("BASE", "AVX2", "AVX512")
    expected |= {f"M LOOPS_{s} LOOPS_{part}" for s in whole for part in ("PRODUCTS", "NUMBERS")}
    assert compiled == expected
