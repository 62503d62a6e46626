"""What editors and type checkers see: stubs that are up to date, right scripts that pass, wrong lines that are caught, completion."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from rushlight._names.aliases import TABLE
from rushlight.cli import main
from rushlight.core.public import NAMESPACES

ROOT = Path(__file__).resolve().parents[2]
TYPED = ROOT / "tests" / "house" / "typed"
ALIASED = TYPED / "aliased" / "by_their_names.py"
RIGHT, WRONG = sorted((TYPED / "right").glob("*.py")), sorted((TYPED / "wrong").glob("*.py"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The package as a wheel has it: in one folder, with the stubs that the build writes."""
    folder = tmp_path_factory.mktemp("installed")
    said = run(sys.executable, "setup.py", "-q", "build_py", "--build-lib", folder)
    assert (folder / "rushlight/core/methods.pyi").exists(), said
    return folder


@pytest.fixture(scope="module")
def named(tmp_path_factory) -> Path:
    """The stubs under PyTorch's names, as `rushlight stubs FOLDER` lays them out."""
    folder = tmp_path_factory.mktemp("named")
    assert main(["stubs", str(folder)]) == 0
    return folder


def run(*command: object, cwd: Path = ROOT) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd, timeout=600)
    return done.stdout + done.stderr


def test_late_names_are_what_ops_publish():
    assert run(sys.executable, ROOT / "tools" / "stubs.py", "--check") == ""


def test_every_stub_is_made_by_the_build(installed):
    """Git keeps none; a wheel has one of each module whose names are collected, and of each that is no file."""
    listed = subprocess.run(["git", "ls-files", "*.pyi"], cwd=ROOT, capture_output=True, text=True)
    assert listed.stdout == ""
    package = installed / "rushlight"
    for name in ("", "nn", "optim", "vision", "vision.models", *TABLE):
        there = package / name.replace(".", "/")
        assert (there / "__init__.pyi").exists() or there.with_suffix(".pyi").exists(), name
    assert "def relu(" in (package / "nn/functional.pyi").read_text()
    assert (package / "fft.py").exists() and (package / "fft.pyi").exists()


def test_an_editable_install_and_make_types_write_them_into_the_checkout(tmp_path):
    """In a copy, of which only what the tool needs is there: each lies beside its module, and the text is the wheel's."""
    for name in ("src", "tools/stubs.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copied(ROOT / name, tmp_path / name)
    for old in tmp_path.rglob("*.pyi"):
        old.unlink()
    assert run(sys.executable, tmp_path / "tools/stubs.py") == ""
    made = {str(path.relative_to(tmp_path / "src")) for path in tmp_path.rglob("*.pyi")}
    assert {"torch_names/rushlight/fft.pyi", "rushlight/core/methods.pyi"} <= made
    assert all((tmp_path / "src" / name).with_suffix(".py").exists() for name in made - {"rushlight/core/methods.pyi"})


def test_little_is_any(installed):
    """Of parameters and results, those of which a stub says nothing; arguments that are passed on as they came do not count."""
    said = []
    for file in (installed / "rushlight").rglob("*.pyi"):
        for fn in ast.walk(ast.parse(file.read_text())):
            if isinstance(fn, ast.FunctionDef):
                given = [*fn.args.posonlyargs, *fn.args.args, *fn.args.kwonlyargs]
                said += [p.annotation for p in given if p.arg != "self"] + [fn.returns]
    share = sum(kind is None or ast.unparse(kind) == "Any" for kind in said) / len(said)
    assert len(said) > 5000 and share < 0.02, share


def test_signatures_are_shown_without_quotes():
    """By `help`, `inspect.signature` and notebooks, of functions, layers, optimisers, and of what is loaded late."""
    import rushlight as torch
    import rushlight.vision.transforms

    found = [f for names in NAMESPACES.values() for f in names.values() if inspect.isfunction(f)]
    for module in (torch.nn, torch.optim, torch.utils.data, torch.nn.init, torch.vision.transforms, torch.amp):
        found += [v for n, v in vars(module).items() if n in getattr(module, "__all__", dir(module)) and callable(v) and not n.startswith("_")]  # fmt: skip
    found += [torch.cuda.is_available, torch.save, torch.load, torch.no_grad, torch.Tensor.backward]
    quoted = re.compile(r"(: |-> )'[^']*'([,)]| = |$)")
    checked = 0
    for fn in found:
        try:
            shown = str(inspect.signature(fn))
        except (TypeError, ValueError):  # a class in C
            continue
        assert not quoted.search(shown), (fn, shown)
        checked += 1
    assert checked > 1000


def marked(file: Path) -> set[int]:
    """The lines that a checker must refuse."""
    return {n for n, line in enumerate(file.read_text().splitlines(), 1) if line.endswith("# wrong")}


@pytest.fixture(scope="module")
def mypy_folder(tmp_path_factory) -> Path:
    pytest.importorskip("mypy")
    return tmp_path_factory.mktemp("mypy")


@pytest.fixture(scope="module")
def by_mypy(mypy_folder, installed, named):
    settings = mypy_folder / "mypy.ini"
    settings.write_text(f"[mypy]\nmypy_path = {named}:{installed}\nfollow_imports = silent\nstrict = True\n")
    found = run(
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        settings,
        "--cache-dir",
        settings.parent / "cache",
        "--any-exprs-report",
        mypy_folder,
        TYPED,
    )
    return lines_of(re.findall(r"^(.+?\.py):(\d+): error", found, re.M), found)


@pytest.fixture(scope="module")
def by_pyright(tmp_path_factory, installed, named):
    command = which("basedpyright", path=str(Path(sys.executable).parent)) or which("pyright")
    if command is None:
        pytest.skip("pyright is not installed (it comes with the extra `dev`)")
    folder = tmp_path_factory.mktemp("pyright")
    settings = {
        "include": [str(TYPED)],
        "extraPaths": [str(installed)],
        "stubPath": str(named),
        "typeCheckingMode": "standard",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    told = json.loads(run(command, "--outputjson", "-p", folder, "--pythonpath", sys.executable, cwd=folder))
    errors = [d for d in told["generalDiagnostics"] if d["severity"] == "error"]
    return lines_of([(d["file"], d["range"]["start"]["line"] + 1) for d in errors], json.dumps(errors, indent=1))


def test_few_expressions_of_scripts_are_any(by_mypy, mypy_folder):
    """Of those in the right scripts, by mypy's count: what an editor cannot complete."""
    rows = [line.split() for line in (mypy_folder / "any-exprs.txt").read_text().splitlines()]
    counts = [(int(r[1]), int(r[2])) for r in rows if r and r[0] in {file.stem for file in RIGHT}]
    unknown, known = (sum(column) for column in zip(*counts))
    assert len(counts) == len(RIGHT) and unknown / known < 0.08, unknown / known


def lines_of(pairs, text):
    """File -> the lines with errors, and all that was said."""
    found: dict[str, set[int]] = {}
    for file, line in pairs:
        found.setdefault(Path(file).name, set()).add(int(line))
    return found, text


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.parametrize("file", RIGHT, ids=lambda p: p.stem)
def test_right_scripts_pass(checker, file, request):
    found, text = request.getfixturevalue(f"by_{checker}")
    assert found.get(file.name, set()) == set(), text


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.parametrize("file", [*WRONG, ALIASED], ids=lambda p: p.stem)
def test_wrong_lines_are_caught_and_no_others(checker, file, request):
    found, text = request.getfixturevalue(f"by_{checker}")
    assert found.get(file.name, set()) == marked(file), text


@pytest.mark.parametrize("file", RIGHT, ids=lambda p: p.stem)
def test_right_scripts_run(file, tmp_path):
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "text, names",
    [
        ("import rushlight.nn.functional as F\nF.", {"relu", "conv2d", "cross_entropy", "scaled_dot_product_attention"}),
        ("import rushlight as torch\ntorch.randn(3).", {"view", "sum", "backward", "T", "shape", "add_", "item"}),
        ("import rushlight as torch\ntorch.", {"randn", "nn", "optim", "cat", "no_grad", "float32", "compile"}),
        ("from rushlight import nn\nnn.", {"Linear", "Conv2d", "Module", "LSTM", "functional"}),
        ("from rushlight import optim\noptim.", {"SGD", "AdamW", "lr_scheduler"}),
        ("from rushlight import vision\nvision.models.", {"resnet18", "vgg16", "get_model"}),
        ("import torch\ntorch.randn(3).", {"view", "sum", "backward", "T", "shape", "add_", "item"}),
        ("import torch\ntorch.ones(3).max(0).", {"values", "indices"}),
        ("import torch.nn as nn\nnn.Linear(2, 3).weight.", {"requires_grad_", "grad"}),
        ("import torchvision\ntorchvision.models.", {"resnet18", "vgg16", "get_model"}),
    ],
)  # fmt: skip
def test_completion(text, names, installed, named):
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(ROOT, added_sys_path=[str(named), str(installed)])
    row = text.count("\n") + 1
    offered = {c.name for c in jedi.Script(text, project=project).complete(row, len(text.split("\n")[-1]))}
    assert names <= offered


def test_stubs_in_the_environment(tmp_path, monkeypatch, capsys, installed):
    jedi = pytest.importorskip("jedi")
    monkeypatch.setattr("rushlight.cli.stubs.sysconfig.get_paths", lambda: {"purelib": tmp_path})
    monkeypatch.setattr("rushlight.cli.stubs.find_spec", lambda name: None)
    (tmp_path / "dezero-stubs").mkdir()
    assert main(["stubs"]) == 2 and "dezero-stubs is there already" in capsys.readouterr().err
    (tmp_path / "dezero-stubs").rmdir()
    assert main(["stubs"]) == 0 and "torch-stubs, torchvision-stubs" in capsys.readouterr().out
    project = jedi.Project(tmp_path, added_sys_path=[str(tmp_path), str(installed)])
    text = "import torchvision\ntorchvision.models.resnet18().fc"
    offered = jedi.Script(text, project=project).complete(2, len(text.split("\n")[1]))
    assert "fc" in {c.name for c in offered}
    assert main(["stubs", "--remove"]) == 0 and not list(tmp_path.glob("*-stubs"))


def test_stubs_never_hide_an_installed_pytorch(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("rushlight.cli.stubs.find_spec", lambda name: name)
    assert main(["stubs"]) == 2
    assert "rushlight stubs typings" in capsys.readouterr().err
