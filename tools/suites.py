"""Runs the test suites that libraries carry in their source distributions: on PyTorch, then on rushlight, and writes docs/suites.md.

    python tools/suites.py zuko gpytorch          # these; the table keeps its other rows
    python tools/suites.py --most 300 keras       # no more than so many tests, evenly from all: labelled as a sample

A library comes from the package index into an environment without PyTorch, as for `tools/libraries.py`; PyTorch itself is the one of
this interpreter. What passes on PyTorch is asked of rushlight under the alias. The same file is the pytest plugin of both runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "suites.md"
RESULTS = ROOT / "tools" / "suites.json"
SECONDS = 3600  # for one run of a suite


class Suite(NamedTuple):
    """A library whose source distribution has tests: its package, where they are, and what they need besides."""

    package: str
    tests: str
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


SUITES = {
    "einops": Suite("einops", "einops/tests", ("parameterized",), env=(("EINOPS_TEST_BACKENDS", "numpy,torch"),)),
    "gpytorch": Suite("gpytorch", "test", ("scipy", "scikit-learn", "pandas")),
    "keras": Suite("keras", "keras/src/ops", ("scipy", "pandas"), env=(("KERAS_BACKEND", "torch"),)),
    "linear_operator": Suite("linear_operator", "test", ("scipy",)),
    "opt_einsum": Suite("opt_einsum", "opt_einsum/tests"),
    "skorch": Suite("skorch", "skorch/tests", ("flaky", "pandas", "matplotlib")),
    "timm": Suite("timm", "tests", options=("-k", "not test_model_forward and not test_model_backward")),
    "zuko": Suite("zuko", "tests", ("matplotlib",)),
}  # fmt: skip
# Libraries whose source distributions have no tests: the package index does not give them.
WITHOUT = (
    "captum, kornia, pyro, torch_geometric, torchmetrics; of torchvision nothing newer than 0.1.6"
)


# -- the plugin, inside of a run ------------------------------------------------------------------

SIDE, LOG, MOST = (os.environ.get(f"RUSHLIGHT_SUITE_{name}", "") for name in ("SIDE", "LOG", "MOST"))  # fmt: skip
if SIDE == "rushlight":
    import rushlight

    rushlight.as_torch()
elif SIDE:
    sys.path.append(SIDE)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Every so many tests, where fewer are wanted than there are."""
    if MOST and len(items) > int(MOST):
        step = len(items) / int(MOST)
        items[:] = [items[int(i * step)] for i in range(int(MOST))]


def pytest_runtest_logreport(report: Any) -> None:
    """One line for a test that ended: written at once, so that a crash keeps what was known."""
    if LOG and (report.when == "call" or report.outcome != "passed"):
        crash = getattr(getattr(report.longrepr, "reprcrash", None), "message", "") or ""
        line = (crash.strip().splitlines() or [""])[0][:200]
        with open(LOG, "a") as file:
            file.write(json.dumps([report.nodeid, report.outcome, line]) + "\n")


# -- the runs -------------------------------------------------------------------------------------


def sources(suite: Suite, folder: Path) -> Path:
    """The unpacked source distribution."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", suite.package,
               "-d", str(folder), suite.package]  # fmt: skip
    subprocess.run(command, check=True)
    archive = max(folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime)
    place = folder / archive.name.removesuffix(".tar.gz")
    if not place.exists():
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    return place


def environment(suite: Suite, folder: Path) -> Path:
    """The Python of an environment that has the library, pytest, what the tests need, and no PyTorch."""
    import libraries

    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    wanted = [*libraries.OURS, "pytest", "setuptools", suite.package, *suite.needs]
    with libraries.standing_for_torch(libraries.site_of(folder)):
        subprocess.run([str(python), "-m", "pip", "install", "-q", *wanted], check=True)
    (libraries.site_of(folder) / "rushlight-checkout.pth").write_text(f"{ROOT / 'src'}\n")
    return python


def run(python: Path, suite: Suite, place: Path, side: str, most: int | None) -> dict[str, Any]:
    """The outcome and the first line of the error of each test."""
    log = place.parent / "log.jsonl"
    log.unlink(missing_ok=True)
    env = {
        **os.environ, **dict(suite.env), "PYTHONPATH": str(ROOT / "tools"), "OMP_NUM_THREADS": "1", "RUSHLIGHT_SUITE_SIDE": side,
        "RUSHLIGHT_SUITE_LOG": str(log), "RUSHLIGHT_SUITE_MOST": str(most or ""), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    command = [str(python), "-m", "pytest", "-q", "-p", "suites", "-p", "no:cacheprovider", "--continue-on-collection-errors",
               *suite.options, suite.tests]  # fmt: skip
    try:
        done = subprocess.run(command, cwd=place, env=env, text=True, capture_output=True, timeout=SECONDS)  # fmt: skip
        print("   ", (done.stdout.strip().splitlines() or [done.stderr[-300:]])[-1], flush=True)
    except subprocess.TimeoutExpired:
        print(f"    did not end within {SECONDS} s", flush=True)
    lines = log.read_text().splitlines() if log.exists() else []
    return {name: (outcome, line) for name, outcome, line in map(json.loads, lines)}


def judged(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, str]:
    """By test that passes on PyTorch and not here: why."""
    wrong = {}
    for name, (outcome, _) in theirs.items():
        if outcome == "passed" and ours.get(name, ("",))[0] != "passed":
            wrong[name] = ours[name][1] or ours[name][0] if name in ours else "did not run"
    return wrong


# -- the page -------------------------------------------------------------------------------------

HEAD = f"""# Libraries' own tests, on rushlight

Made by `make suites LIB=gpytorch`: the tests that a library carries in its source distribution, first on PyTorch 2.13.0, then those
that pass there on rushlight under the alias, on the CPU, each in one process. Other suites are not in the package index
({WITHOUT}); small uses of those libraries are in [libraries.md](libraries.md).

| library | version | tests that pass on PyTorch | of them on rushlight | what does not, and why |
|---|---|---|---|---|
"""


def page(results: dict[str, Any]) -> str:
    """The table of all stored results."""
    rows = []
    for name, row in sorted(results.items()):
        causes: dict[str, int] = {}
        for why in row["wrong"].values():
            causes[why] = causes.get(why, 0) + 1
        most = sorted(causes.items(), key=lambda cause: -cause[1])
        told = "; ".join(f"{n}: {why.replace('|', chr(92) + '|')[:120]}" for why, n in most[:6])
        told += f"; {len(most) - 6} other causes" if len(most) > 6 else ""
        label = f"{row['passed']:,}" + (" (a sample)" if row["sample"] else "")
        good = row["passed"] - len(row["wrong"])
        rows.append(f"| {name} | {row['version']} | {label} | {good:,} | {told} |")
    return HEAD + "\n".join(rows) + "\n"


def main() -> int:
    """Run the suites that are named."""
    import libraries

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("names", nargs="+", choices=sorted(SUITES))
    parser.add_argument("--most", type=int, help="run a sample of so many tests")
    args = parser.parse_args()
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        parser.error("PyTorch is not installed beside this Python: make parity")
    torch = Path(spec.origin).parents[1]
    results = libraries.read(RESULTS)
    for name in args.names:
        suite, folder = SUITES[name], libraries.cache().with_name("suites") / name
        place, python = sources(suite, folder), environment(suite, folder / "environment")
        theirs = run(python, suite, place, str(torch), args.most)
        ours = run(python, suite, place, "rushlight", args.most)
        passed, wrong = sum(o == "passed" for o, _ in theirs.values()), judged(theirs, ours)
        version = libraries.version_of(python, suite.package)
        sample = args.most is not None and len(theirs) >= args.most
        results[name] = {"version": version, "passed": passed, "sample": sample, "wrong": wrong}
        libraries.write(RESULTS, results)
        PAGE.write_text(page(results))
        print(f"{name} {version}: {passed - len(wrong)} of {passed} tests pass", flush=True)
        for test, why in wrong.items():
            print(f"    {test}: {why}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
