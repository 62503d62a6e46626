"""An op is one record: the three of docs/extending.md, each a source file and a row, reach every reader and touch nothing else.

A process of its own imports them as parts of `rushlight.operators`, so that other tests never see them. What CONTRIBUTING.md says
of a new op is done to the letter, in a copy of the repository.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

from cuda_on_host import KERNELS, compiled, needs_compiler

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "extending.md"
HEAD = """
from rushlight.core.op import Op
from rushlight.core.public import public
from rushlight.operators.made_of.pointwise import unary
from rushlight.runtime.facts import Facts, Rows
from rushlight.runtime.point import Point
from optable import Row, T
"""
CHECKS = """
import importlib, sys
import rushlight as rl
import rushlight.operators
from optable import call
from rushlight._aten.names import shown_name
from rushlight.amp.lists import FLOAT32, POLICIES
from rushlight.capture.program import refuse
from rushlight.runtime.batch.rules import rule_of
from rushlight.runtime import point
from rushlight.runtime.cuda.code.expressions import expression_of
from rushlight.runtime.door import KERNELS

rushlight.operators.__path__.append(sys.argv[1])
for name in sys.argv[2:]:
    row = importlib.import_module(f"rushlight.operators.new_{name}").ROW
    rl.__dict__.setdefault(name, rl.core.public.NAMESPACES["torch"][name])
    arrays = row.arrays("float64")
    tensors = [rl.tensor(a, requires_grad=s.grad) for s, a in zip(row.specs(), arrays)]
    out = call(rl, row, tensors)
    assert rl.autograd.gradcheck(lambda x: call(rl, row, [x, *tensors[1:]]), tensors[:1])
    meta = call(rl, row, [t.detach().to("meta") for t in tensors])
    assert meta.shape == out.shape and meta.dtype == out.dtype
x = rl.arange(12.0).view(4, 3)
assert rule_of(KERNELS["cube"]).__name__ == "pointwise"
assert rl.vmap(rl.cube)(x).tolist() == (x**3).tolist()
assert expression_of("cube", {}).text["f"] == "x * x * x"
assert "case U_CUBE: { EACH1(x * x * x) break; }" in point.header(point.records(open(sys.argv[1] + "/new_cube.py").read()))
assert POLICIES["cube"] == {"cpu": FLOAT32, "cuda": FLOAT32}
assert rl.vmap(lambda t: rl.reversed_along(t, 0))(x).tolist() == x.flip(1).tolist()
assert shown_name("reversed_along", {}) == "aten::flip"
assert shown_name("cube", {}) == "rushlight::cube"
kernel = KERNELS["rows_at"]
assert refuse.may_refuse(kernel, [], "cpu") and refuse.looked_at(kernel.facts) == (1,)
"""


def _examples() -> dict[str, str]:
    """The examples of the page's chapter, by the op that their row names."""
    chapter = PAGE.read_text().partition("## An op\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", chapter, re.DOTALL)
    return {re.findall(r'Row\("(\w+)"', block)[0]: block for block in blocks}


def test_a_source_file_and_a_row_are_enough(tmp_path: Path) -> None:
    ops = _examples()
    assert list(ops) == ["cube", "reversed_along", "rows_at"]
    for name, source in ops.items():
        (tmp_path / f"new_{name}.py").write_text(HEAD + source)
    support = Path(__file__).parents[1] / "support"
    script = f"import sys; sys.path.insert(0, {str(support)!r})\n{CHECKS}"
    subprocess.run([sys.executable, "-c", script, str(tmp_path), *ops], check=True)


def _copied(folder: Path, *names: str) -> None:
    """The package and more of the repository, to be changed."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.c", "*.egg-info")
    for name in ("src", "tests/support", *names):
        whole = (ROOT / name).is_dir()
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if whole:
            shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
        else:
            shutil.copy(ROOT / name, folder / name)


def _typed(folder: Path, *words: str) -> str:
    """What a command says there; AssertionError where it fails."""
    env = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_contributing_followed_to_the_letter(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    source, row = re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)
    _copied(
        tmp_path, "tests/emulated", "pyproject.toml", "tools/stubs.py", "tests/conftest.py", "tests/ops/test_ops.py"
    )
    op = tmp_path / "src/rushlight/operators/pointwise/unary.py"
    op.write_text(f"{op.read_text()}\n\n{source}")
    rows = tmp_path / "tests/support/rows/unary.py"
    rows.write_text(rows.read_text().replace("\n]  # fmt: skip", f"\n    {row}]  # fmt: skip"))
    _typed(tmp_path, "tools/stubs.py")
    assert "def softplus_like(input" in (tmp_path / "src/rushlight/__init__.pyi").read_text()
    _typed(tmp_path, "tools/stubs.py", "--check")
    _typed(tmp_path, "-m", "ruff", "check", str(op), str(rows))
    _typed(tmp_path, "-m", "ruff", "format", "--check", str(op), str(rows))
    said = _typed(tmp_path, "-m", "pytest", "-n", "0", "tests/ops/test_ops.py", "-k", "softplus_like")
    ran = re.search(r"^(\d+) tests ran", said, re.M)
    assert ran is not None and ran[1] in ("4", "7"), said  # the oracle has three


SCRIPT = """
import rushlight as rl
from rushlight.runtime.cuda.code.sources import _loaded
x = rl.arange(12.0).view(3, 4)
for y in (x, x.double()):
    assert rl.reversed_along(y.cuda(), 1).cpu().tolist() == y.flip(1).tolist()
assert {key[:3] for key in _loaded if key[0] == "turned.cu"} == {("turned.cu", "turned", c) for c in "fd"}
print("turned")
"""


LAUNCHED = """
extern "C" void turn(void* x, void* y, int count, int n) {
    launch({2, 1, 1}, 4, [=] { turned((float*)x, (float*)y, count, n); });
}"""


@needs_compiler
def test_a_kernel_of_a_gpu_as_the_page_says(tmp_path: Path) -> None:
    """Its file, its body, the list of bodies: the GPU that g++ compiles for runs it, and it is among what nvcc compiles."""
    chapter = PAGE.read_text().partition("\n## A CUDA kernel")[2].partition("\n## ")[0]
    kernel, body = (
        textwrap.dedent(re.findall(rf"^   ```{kind}\n(.*?)^   ```$", chapter, re.S | re.M)[0])
        for kind in ("c", "python")
    )
    _copied(tmp_path, "tools")
    cuda = tmp_path / "src/rushlight/runtime/cuda"
    (cuda / "kernels/turned.cu").write_text(kernel)
    (cuda / "bodies/turned.py").write_text(body)
    listed = cuda / "backend.py"
    listed.write_text(listed.read_text().replace('"layers.windows",', '"layers.windows", "turned",'))
    op = tmp_path / "src/rushlight/operators/shape/reversed_along.py"
    op.write_text(
        HEAD.replace("from optable import Row, T\n", "") + _examples()["reversed_along"].partition("\nROW = ")[0]
    )
    late = "import rushlight.operators.shape.reversed_along\n"
    (tmp_path / "script.py").write_text(
        f"{late}{SCRIPT.replace('rl.reversed_along', 'rushlight.operators.shape.reversed_along.reversed_along')}"
    )
    if importlib.util.find_spec("cupy") is not None:
        assert "turned" in _typed(tmp_path, "tools/emulated_gpu.py", "script.py")
    library = compiled(tmp_path, "turned", (KERNELS / "common.cu").read_text() + kernel + LAUNCHED)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = np.empty_like(x)
    library.turn(x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p), 12, 4)
    np.testing.assert_array_equal(y, x[:, ::-1])
    labels = "import sys; sys.path.insert(0, 'tools'); import check_kernels as c; c.file_sources(True); c.update_sources(True); c.conv_sources(True); print(*c.family_sources(True))"
    assert "turned-float-0" in _typed(tmp_path, "-c", labels).split()
