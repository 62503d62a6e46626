"""`make libraries`: the small libraries run here where they are installed; how the tool judges what it finds."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
USES = ROOT / "tools" / "library_uses"
SMALL = ["einops", "entmax", "jaxtyping", "opt_einsum", "safetensors", "torch_ema", "torchinfo", "torchmetrics"]


def load_tool() -> Any:
    sys.path.append(str(ROOT / "tools"))  # for what it imports itself
    spec = importlib.util.spec_from_file_location("tool_libraries", ROOT / "tools" / "libraries.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load_tool()


@pytest.mark.parametrize("name", SMALL)
def test_uses_give_pytorchs_numbers(name: str) -> None:
    library = tool.constants(tool.files()[name])["LIBRARY"]
    try:
        importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{library} is not installed here; `make libraries ARGS={name}` installs it")
    command = [sys.executable, str(USES / "run.py"), str(USES / f"{name}.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr
    verdicts = tool.judged(json.loads(done.stdout.splitlines()[-1]), tool.read(tool.EXPECTED)[name])
    assert verdicts and not any(verdicts.values()), verdicts


def test_numbers_are_judged() -> None:
    assert tool.differs([1.0, float("nan")], [1.0 + 1e-5, float("nan")]) is None
    assert tool.differs([1.0], [1.0, 2.0]) == "1 numbers instead of 2"
    assert tool.differs([1.0, 2.0], [1.0, 2.1]) == "number 1 is 2, PyTorch's is 2.1"
    assert tool.differs([float("nan")], [0.0]) is not None
    found = {"good": {"numbers": [1.0]}, "bad": {"error": "NameError: x"}}
    verdicts = tool.judged(found, {"good": [1.0], "bad": [2.0], "gone": [3.0]})
    assert verdicts == {"good": None, "bad": "NameError: x", "gone": "was not run"}
    stopped = tool.judged({"import": {"error": "ImportError: y"}}, {"good": [1.0]})
    assert stopped == {"good": "ImportError: y"}


def test_metadata_stands_only_while_pip_works(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), tool.standing_for_torch(tmp_path):
        found = {d.name: d.version for d in importlib.metadata.distributions(path=[str(tmp_path)])}
        assert found == tool.STAND_FOR
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_the_page_is_that_of_the_results() -> None:
    results = tool.read(tool.RESULTS)
    assert tool.PAGE.read_text() == tool.page(dict(sorted(results.items())))
    assert results.keys() == tool.files().keys() and results.keys() <= tool.read(tool.EXPECTED).keys()


def test_a_use_that_fails_says_where(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(
        "import torch\ndef good(): return torch.ones(2), {'a': 3}\ndef bad(): torch.no_such_name\n"
    )
    command = [sys.executable, str(USES / "run.py"), str(tmp_path / "some.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=600)
    found = json.loads(done.stdout)
    assert found["good"] == {"numbers": [1.0, 1.0, 3.0]}
    assert "no_such_name" in found["bad"]["error"] and "(" in found["bad"]["error"]
