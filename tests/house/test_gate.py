"""PyTorch's names lie in a folder of their own, and nothing of it is to be seen in a running program."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rushlight
from imports import modules
from rushlight._names.aliases import TABLE, names

NAMES = Path(rushlight.__file__).parents[1] / "torch_names" / "rushlight"
GATE = [name for name, path in modules().items() if path.is_relative_to(NAMES)]
TOP = sorted({name.split(".")[1] for name in GATE} - {"distributed"})  # a part of it is here


def test_the_engine_and_the_names_share_none() -> None:
    assert len(TOP) > 40
    engine = {path.stem for path in (NAMES.parents[1] / "rushlight").iterdir() if path.name != "__pycache__"
              if path.is_file() or (path / "__init__.py").exists()}  # fmt: skip
    assert engine.isdisjoint(TOP)


@pytest.mark.parametrize("name", TOP)
def test_a_module_is_known_by_its_public_name(name: str) -> None:
    module = import_module(f"rushlight.{name}")
    assert module.__name__ == f"rushlight.{name}" and module.__spec__.name == module.__name__
    classes = [c for c in vars(module).values() if isinstance(c, type)]
    assert [c for c in classes if "torch_names" in (c.__module__ or "")] == []


def test_no_module_is_loaded_twice() -> None:
    for name in TOP:
        import_module(f"rushlight.{name}")
    assert [name for name in sys.modules if name.removeprefix("rushlight.").startswith("torch_names")] == []


def test_pickles_hold_public_names() -> None:
    graph = import_module("rushlight.fx.graph")
    text = pickle.dumps(graph.Graph)
    assert b"rushlight.fx.graph" in text and b"torch_names" not in text
    assert pickle.loads(text) is graph.Graph


@pytest.mark.parametrize("name", ["torch_names.rushlight.fx", "rushlight.torch_names", "rushlight._torch.fx"])
def test_the_folder_itself_is_not_imported(name: str) -> None:
    script = f"import sys; sys.path.insert(0, {str(NAMES.parents[1])!r}); import {name}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode and "Error" in done.stderr


def test_the_refusal_says_what_to_import() -> None:
    script = f"import sys; sys.path.insert(0, {str(NAMES.parents[1])!r}); import torch_names"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "import rushlight.fx, not torch_names.rushlight.fx" in done.stderr


@pytest.mark.parametrize("name", TABLE)
def test_a_row_of_the_table_is_a_module(name: str) -> None:
    module = import_module(f"rushlight.{name}")
    found = names(name)
    assert module.__all__ == [n.here for n in found] and module.__doc__
    for n in found:
        assert getattr(module, n.here) is getattr(import_module(n.home), n.there)
    assert not [p for p in modules() if p == f"rushlight.{name}"], "a file of that name is in the way"


def test_the_homes_are_no_rows() -> None:
    homes = {n.home.removeprefix("rushlight.") for name in TABLE for n in names(name)}
    assert homes.isdisjoint(TABLE)


def test_a_module_that_is_nowhere_is_missed_in_pythons_words() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'rushlight.no_such'"):
        import_module("rushlight.no_such")


# What `dir(rushlight)` shows and PyTorch's top module lacks, or has only once it is loaded.
OUR_OWN = {
    "Callback": "what a training calls",
    "Trainer": "a training with callbacks",
    "__dir__": "what makes this list short",
    "_dynamo": "PyTorch has it once it is loaded",
    "_inductor": "PyTorch has it once it is loaded",
    "as_torch": "lets `import torch` find rushlight in this process",
    "dezero": "the DeZero book's package",
    "fit": "trains a network on a folder of pictures, as the command does",
    "functorch": "PyTorch installs it beside torch",
    "load_ipython_extension": "IPython looks for it by this name",
    "onnx": "PyTorch has it once it is loaded",
    "tracing": "loops that are traced, or not",
    "vision": "torchvision's names",
}


def test_few_names_are_ours_alone() -> None:
    torch = pytest.importorskip("torch")
    script = "import rushlight; print(*dir(rushlight))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    shown = set(done.stdout.split())
    assert shown - set(dir(torch)) <= set(OUR_OWN) and len(OUR_OWN) <= 15
    assert not {n for n in rushlight.__all__ if n not in OUR_OWN} - set(dir(torch))
    assert all(hasattr(rushlight, name) for name in shown)


def test_functions_in_place_are_those_of_the_methods() -> None:
    x = rushlight.tensor([-1.0])
    assert rushlight.abs_(x) is x and x.item() == 1.0
    assert rushlight.abs_ is rushlight.abs_ is not rushlight.Tensor.abs_
    assert {"abs_", "relu_", "zero_"} <= set(dir(rushlight)) & set(rushlight.__all__)
    with pytest.raises(AttributeError, match="add_"):
        rushlight.add_


def test_a_class_name_of_the_engine_means_one_thing() -> None:
    """Between its five rooms; PyTorch's own names elsewhere may be the same."""
    engine = Path(__file__).resolve().parents[2] / "src" / "rushlight"
    found: dict[str, list[str]] = {}
    for room in ("base", "runtime", "core", "operators", "capture"):
        for path in (engine / room).rglob("*.py"):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(str(path.relative_to(engine)))
    assert not {name: paths for name, paths in found.items() if len(paths) > 1}
