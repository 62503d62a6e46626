"""Runs the test suites that libraries carry: on PyTorch, then on rushlight, and writes docs/suites.md.

    python tools/suites.py zuko gpytorch          # these; the table keeps its other rows
    python tools/suites.py --most 300 keras       # no more than so many tests, evenly from all: labelled as a sample
    python tools/suites.py --most 60 pytorch      # PyTorch's own test files, each a row; pytorch/test_nn is one of them
    python tools/suites.py --again keras          # only rushlight, on the tests that passed on PyTorch in the last run
    python tools/suites.py --part test/test_ops.py torchvision    # a suite in portions: the row is of all portions that ran

Tests come from the source distribution, or where that has none from the library's repository at a release (git's `url.<base>.insteadOf`
names another place). What a library needs is in one environment without PyTorch, as for `tools/libraries.py`; PyTorch itself is the one
of this interpreter. What passes on PyTorch is asked of rushlight under the alias. The same file is the pytest plugin of both runs.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import libraries
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "suites.md"
RESULTS = ROOT / "tools" / "suites.json"
SECONDS = 3600  # for one run of a suite
ONE = 120  # for one test


class Suite(NamedTuple):
    """A library that has tests: its package, where they are, what they need besides, the repository of a release, if they are there.

    `hidden` is its own code beside the tests, where the installed one has compiled parts that this lacks.
    """

    package: str
    tests: tuple[str, ...]
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    repository: str = ""
    release: str = ""
    hidden: str = ""


SUITES = {
    "botorch": Suite("botorch==0.15.1", ("test",), repository="pytorch/botorch", release="v0.15.1"),
    "diffusers": Suite("diffusers==0.40.0", ("tests/schedulers", "tests/models"), ("parameterized", "scipy", "accelerate"),
                       repository="huggingface/diffusers", release="v0.40.0"),
    "e3nn": Suite("e3nn", ("tests",), ("scipy",)),
    "higher": Suite("higher==0.2.1", ("tests",), ("parameterized",), repository="facebookresearch/higher", release="v0.2.1"),
    "julius": Suite("julius", ("tests",), ("resampy",), repository="adefossez/julius", release="main"),
    "nflows": Suite("nflows", ("tests",), ("matplotlib",)),
    "torch-optimizer": Suite("torch-optimizer", ("tests",), ("pytorch-ranger",), repository="jettify/pytorch-optimizer", release="v0.3.0"),
    "geoopt": Suite("geoopt==0.5.1", ("tests",), ("scipy",), repository="geoopt/geoopt", release="v0.5.1"),
    "monai": Suite("monai==1.5.0", ("tests/losses", "tests/networks", "tests/transforms", "tests/metrics", "tests/inferers"),
                   ("parameterized", "nibabel", "scipy", "scikit-image", "einops"), repository="Project-MONAI/MONAI", release="1.5.0"),
    "pytorch-metric-learning": Suite("pytorch-metric-learning==2.8.1", ("tests",), ("scikit-learn",), (),
                                     (("TEST_DTYPES", "float32"), ("TEST_DEVICE", "cpu")), "KevinMusgrave/pytorch-metric-learning", "v2.8.1"),
    "tensordict": Suite("tensordict==0.12.4", ("test",), ("pytest-rerunfailures", "h5py"), repository="pytorch/tensordict",
                        release="v0.12.4", hidden="tensordict"),
    "torchsde": Suite("torchsde", ("tests",), ("parameterized", "scipy"), repository="google-research/torchsde", release="v0.2.6"),
    "transformers": Suite("transformers==5.15.1", tuple(f"tests/models/{name}" for name in ("bert", "gpt2", "llama", "mamba", "mixtral", "t5", "vit", "whisper")),
                          ("parameterized", "sentencepiece", "scipy", "accelerate", "pytest-timeout"),
                          repository="huggingface/transformers", release="v5.15.1"),
    "kymatio": Suite("kymatio==0.3.0", ("tests",), repository="kymatio/kymatio", release="0.3.0"),
    "lightly": Suite("lightly==1.5.26", ("tests/loss", "tests/models", "tests/utils", "tests/transforms", "tests/data"), ("timm", "scikit-learn", "pytest-mock", "torchmetrics"),
                     repository="lightly-ai/lightly", release="v1.5.26"),
    "pytorch-toolbelt": Suite("pytorch-toolbelt==0.8.0", ("tests",), repository="BloodAxe/pytorch-toolbelt", release="0.8.0"),
    "captum": Suite("captum", ("tests",), ("parameterized", "scikit-learn", "flask", "flask_compress"), repository="pytorch/captum",
                    release="v0.8.0"),
    "einops": Suite("einops", ("einops/tests",), ("parameterized",), env=(("EINOPS_TEST_BACKENDS", "numpy,torch"),)),
    "gpytorch": Suite("gpytorch", ("test",), ("scipy", "scikit-learn", "pandas")),
    "keras": Suite("keras", ("keras/src/ops", "keras/src/layers", "keras/src/losses", "keras/src/optimizers"), ("scipy", "pandas"),
                   env=(("KERAS_BACKEND", "torch"),)),
    "kornia": Suite("kornia", ("tests",), ("scipy", "onnx"), repository="kornia/kornia", release="v0.8.3"),
    "linear_operator": Suite("linear_operator", ("test",), ("scipy",)),
    "opt_einsum": Suite("opt_einsum", ("opt_einsum/tests",)),
    "pyro": Suite("pyro-ppl", ("tests",), ("scipy", "pandas", "scikit-learn"), ("--stage", "unit"), (("CI", "1"),), "pyro-ppl/pyro", "1.9.1"),
    "skorch": Suite("skorch", ("skorch/tests",), ("flaky", "pandas", "matplotlib"), ("-o", "addopts=")),
    "timm": Suite("timm", ("tests",), options=("-k", "not test_model_forward and not test_model_backward and not load_pretrained")),
    "torch_geometric": Suite("torch_geometric", ("test",), ("scipy", "pandas", "scikit-learn", "networkx"), repository="pyg-team/pytorch_geometric",
                             release="2.8.0.post1"),
    "torchmetrics": Suite("torchmetrics", ("tests/unittests",), ("scipy", "scikit-learn", "cachier", "pytest-rerunfailures", "pytest-timeout", "scikit-image",
                                                                      "nltk", "pytorch-msssim", "mir_eval", "sewar", "monai"), ("-o", "addopts=", "-m", "not DDP"),
                          env=(("PYTHONPATH", "src:tests"),), repository="Lightning-AI/torchmetrics", release="v1.9.0"),
    "torchvision": Suite("torchvision", ("test",), ("scipy", "pillow", "expecttest"), repository="pytorch/vision", release="v0.28.0",
                         hidden="torchvision"),  # ours is judged
    "torchjd": Suite("torchjd==0.8.1", ("tests/unit",), repository="TorchJD/torchjd", release="v0.8.1"),
    "poutyne": Suite("poutyne==1.17.4", ("tests",), ("pandas", "scikit-learn"), ("-o", "addopts="), repository="GRAAL-Research/poutyne",
                     release="v1.17.4", hidden="poutyne"),
    "zuko": Suite("zuko", ("tests",), ("matplotlib",)),
}  # fmt: skip

# PyTorch's own tests, as they were days before the branch of 2.13 was cut; their common files come from the installed PyTorch (tools/upstream.py).
PYTORCH = Suite(
    "expecttest",
    (),
    ("hypothesis", "scipy", "psutil", "typing_extensions"),
    ("-c", os.devnull, "--rootdir=.", "--noconftest", "-p", "no:warnings"),
    (("PYTORCH_TESTING_DEVICE_ONLY_FOR", "cpu"),),
    "pytorch/pytorch",
    "e321fdaf9728811ee1dd6c8f573e184cfe95daf9",
    "torch",
)
UPSTREAM = """nn/test_convolution nn/test_dropout nn/test_embedding nn/test_init nn/test_lazy_modules nn/test_load_state_dict nn/test_module_hooks
nn/test_multihead_attention nn/test_packed_sequence nn/test_parametrization nn/test_pooling nn/test_pruning test_autograd test_binary_ufuncs
test_complex test_dataloader test_dlpack test_foreach test_fx test_indexing test_linalg test_masked test_namedtuple_return_api
test_nestedtensor test_nn test_numpy_interop test_optim test_overrides test_pytree test_reductions test_scatter_gather_ops
test_segment_reductions test_serialization test_shape_ops test_sort_and_select test_sparse test_stateless test_subclass
test_tensor_creation_ops test_torch test_transformers test_type_promotion test_unary_ufuncs test_view_ops distributions/test_distributions
functorch/test_eager_transforms functorch/test_vmap"""
SUITES |= {f"pytorch/{name}": PYTORCH._replace(tests=(f"test/{name}.py",)) for name in UPSTREAM.split()}


# -- the plugin, inside of a run ------------------------------------------------------------------

SIDE, LOG, MOST, ONLY, INSIDE = (os.environ.get(f"RUSHLIGHT_SUITE_{name}", "") for name in ("SIDE", "LOG", "MOST", "ONLY", "INSIDE"))  # fmt: skip
if SIDE == "rushlight":
    import rushlight

    rushlight.as_torch()
    if INSIDE:
        import upstream

        FINDER = upstream.install(INSIDE)
        sys.path.append(INSIDE)
elif SIDE:
    sys.path += SIDE.split(os.pathsep)
    import torch

    # The index has torchvision built for CUDA alone: beside PyTorch for the CPU it has no compiled ops, and its import asks for two.
    torchvision_ops = torch.library.Library("torchvision", "FRAGMENT")
    for op in ("nms", "qnms"):
        torchvision_ops.define(f"{op}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Every so many tests, where fewer are wanted than there are; in the second run those that passed in the first."""
    if SIDE == "rushlight" and INSIDE:
        FINDER.importing = False
    if ONLY:
        wanted = set(json.loads(Path(ONLY).read_text()))
        items[:] = [item for item in items if item.nodeid in wanted]
    elif MOST and len(items) > int(MOST):
        step = len(items) / int(MOST)
        items[:] = [items[int(i * step)] for i in range(int(MOST))]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Any:
    """A test that takes too long fails, and the others go on."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"the test took more than {ONE} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(ONE)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def pytest_runtest_logreport(report: Any) -> None:
    """One line for a test that ended: written at once, so that a crash keeps what was known."""
    if LOG and (report.when == "call" or report.outcome != "passed"):
        crash = getattr(getattr(report.longrepr, "reprcrash", None), "message", "") or ""
        if report.when == "collect":  # a file that cannot be imported: what it raised is its last line
            told = [line[1:] for line in str(report.longrepr).splitlines() if line[:2] == "E "]
            crash = (told or [""])[-1]
        line = (crash.strip().splitlines() or [""])[0][:200]
        with open(LOG, "a") as file:
            file.write(json.dumps([report.nodeid, report.outcome, line]) + "\n")


def pytest_collectreport(report: Any) -> None:
    """A line for a file that could not be imported: why its tests did not run."""
    if LOG and report.failed:
        raised = [line[1:] for line in str(report.longrepr).splitlines() if line[:2] == "E "]
        with open(LOG, "a") as file:
            file.write(
                json.dumps([report.nodeid, "failed", (raised or [""])[-1].strip().replace(f"{ROOT}/", "")[:200]]) + "\n"
            )


# -- the runs -------------------------------------------------------------------------------------


def sources(suite: Suite, folder: Path) -> Path:
    """The folder of the library's sources: its source distribution, or its repository at the release."""
    folder.mkdir(parents=True, exist_ok=True)
    if suite.repository:
        place = folder / suite.release
        if not place.exists():
            address = f"https://github.com/{suite.repository}"
            git = ["git", "-c", "advice.detachedHead=false", "-C", str(place)]
            subprocess.run(["git", "init", "-q", str(place)], check=True)
            subprocess.run([*git, "fetch", "-q", "--depth", "1", address, suite.release], check=True)
            subprocess.run([*git, "checkout", "-q", "FETCH_HEAD"], check=True)
            if suite.hidden:
                shutil.rmtree(place / suite.hidden)
        return place
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", suite.package,
               "-d", str(folder), suite.package]  # fmt: skip
    subprocess.run(command, check=True)
    archive = max(folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime)
    place = folder / archive.name.removesuffix(".tar.gz")
    if not place.exists():
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    return place


@functools.cache
def environment(wanted: tuple[str, ...], folder: Path) -> Path:
    """The Python of an environment that has the library, pytest, what the tests need, and no PyTorch."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    with libraries.standing_for_torch(libraries.site_of(folder)):
        subprocess.run([str(python), "-m", "pip", "install", "-q", *libraries.OURS, "pytest", "setuptools", *wanted], check=True)  # fmt: skip
    return python


def pytorch(folder: Path) -> str:
    """The paths of PyTorch and of the torchvision that belongs to it."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        raise SystemExit("PyTorch is not installed beside this Python: make parity")
    if not folder.exists():
        wanted = f"torchvision=={libraries.STAND_FOR['torchvision']}"
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), wanted], check=True)  # fmt: skip
    return os.pathsep.join([str(Path(spec.origin).parents[1]), str(folder)])


def run(python: Path, suite: Suite, place: Path, notes: Path, side: str, most: int | None, only: list[str]) -> dict[str, Any]:  # fmt: skip
    """The outcome and the first line of the error of each test; what passes between the processes lies in `notes`."""
    log, wanted = notes / "log.jsonl", notes / "only.json"
    log.unlink(missing_ok=True)
    wanted.write_text(json.dumps(only))
    tests = list(dict.fromkeys(name.split("::")[0] for name in only)) or suite.tests
    asked = dict(suite.env)
    paths = [
        str(ROOT / "src"),
        str(ROOT / "tools"),
        *(str(place / name) for name in asked.get("PYTHONPATH", "").split(":") if name),
    ]
    env = {
        **os.environ, **asked, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "RUSHLIGHT_SUITE_SIDE": side,
        "RUSHLIGHT_SUITE_LOG": str(log), "RUSHLIGHT_SUITE_MOST": str(most or ""),
        "RUSHLIGHT_SUITE_ONLY": str(wanted) if only else "", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0",
        "RUSHLIGHT_SUITE_INSIDE": str(Path(find_spec("torch").origin).parents[1]) if suite.repository == "pytorch/pytorch" else "",
    }  # fmt: skip
    command = [str(python), "-m", "pytest", "-q", "-p", "suites", "-p", "no:cacheprovider", "-p", "no:nbmake", "--continue-on-collection-errors",
               *suite.options, *tests]  # fmt: skip
    try:
        done = subprocess.run(command, cwd=place, env=env, text=True, capture_output=True, timeout=SECONDS)
        print("   ", (done.stdout.strip().splitlines() or [done.stderr[-300:]])[-1], flush=True)
    except subprocess.TimeoutExpired:
        print(f"    did not end within {SECONDS} s", flush=True)
    lines = log.read_text().splitlines() if log.exists() else []
    found: dict[str, Any] = {}
    for name, outcome, line in map(json.loads, lines):
        if found.get(name, [""])[0] != "failed":  # one part of a test that fails is enough
            found[name] = (outcome, line)
    return found


def judged(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, str]:
    """By test that passes on PyTorch and not here: why."""
    wrong = {}
    for name, (outcome, _) in theirs.items():
        if outcome == "passed" and ours.get(name, ("",))[0] != "passed":
            outcome, line = ours.get(name) or ours.get(name.split("::")[0], ("did not run", ""))
            wrong[name] = line or outcome
    return wrong


# -- the page -------------------------------------------------------------------------------------

HEAD = """# Libraries' own tests, and PyTorch's, on rushlight

Made by `make suites LIB=gpytorch`: the tests of a library, from its source distribution or its repository at a release, first on
PyTorch 2.13.0, then those that pass there on rushlight under the alias, on the CPU, each in one process. Small uses of
other libraries are in [libraries.md](libraries.md). The rows `pytorch/...` are PyTorch's own test files of commits from which 2.13
was made; their common files are those of the installed PyTorch, and what they name of its inside that is not here stands
empty (`tools/upstream.py`), so that a test that needs it fails.

| library | version, date of the run | its tests are from | tests that pass on PyTorch | of them on rushlight | what does not, and why |
|---|---|---|---|---|---|
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
        place = SUITES[name].repository or "the package index"
        good = row["passed"] - len(row["wrong"])
        version = ", ".join(filter(None, (row["version"], row.get("date"))))
        rows.append(f"| {name} | {version} | {place} | {label} | {good:,} | {told} |")
    return HEAD + "\n".join(rows) + "\n"


def main() -> int:
    """Run the suites that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+", choices=["pytorch", *sorted(SUITES)])
    parser.add_argument("--most", type=int, help="run a sample of so many tests")
    parser.add_argument(
        "--again", action="store_true", help="run only rushlight: PyTorch's results are those of the last run"
    )
    parser.add_argument("--part", nargs="+", help="only these of its files or folders; what the others gave stays")
    args = parser.parse_args()
    folder = libraries.cache().with_name("suites")
    torch = pytorch(folder / "torchvision-of-pytorch")
    names = [n for name in args.names for n in (sorted(SUITES) if name == "pytorch" else [name])
             if name != "pytorch" or n.startswith("pytorch/")]  # fmt: skip
    for name in names:
        suite = SUITES[name]
        place = sources(suite, folder / name.partition("/")[0])
        python = environment((suite.package, *suite.needs), folder / "environment")
        notes = folder / name
        notes.mkdir(parents=True, exist_ok=True)
        kept = [notes / "pytorch.json", notes / "rushlight.json"]
        part = tuple(args.part or ("",))
        if args.part:
            suite = suite._replace(tests=part)
        old = [libraries.read(file) if file.exists() else {} for file in kept]
        rest, others = ({test: told for test, told in found.items() if not test.startswith(part)} for found in old)
        theirs = old[0] if args.again else rest | run(python, suite, place, notes, torch, args.most, [])
        good = [test for test, (outcome, _) in theirs.items() if outcome == "passed" and test.startswith(part)]
        if not good:
            print(f"{name}: no test passes on PyTorch", flush=True)
            continue
        ours = others | run(python, suite, place, notes, "rushlight", None, good)
        for file, found in zip(kept, (theirs, ours), strict=True):
            libraries.write(file, found)
        passed, wrong = sum(o == "passed" for o, _ in theirs.values()), judged(theirs, ours)
        version = suite.release.removeprefix("v")[:12] or libraries.version_of(python, suite.package.partition("==")[0])
        results = libraries.read(RESULTS)  # others may run suites, too
        sample = args.most is not None or (args.again and results.get(name, {}).get("sample", False))
        results[name] = {"version": version, "date": str(date.today()), "passed": passed, "sample": sample, "wrong": wrong}  # fmt: skip
        libraries.write(RESULTS, results)
        PAGE.write_text(page(results))
        print(f"{name} {version}: {passed - len(wrong)} of {passed} tests pass", flush=True)
        for test, why in wrong.items():
            print(f"    {test}: {why}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
