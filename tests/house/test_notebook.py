"""Notebooks: what tensors, modules and programs show there, `%load_ext rushlight`, the lab and the tour run by Jupyter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import rushlight as rl
from cli_help import ROOT, environment
from rushlight import nn

sys.path.insert(0, str(ROOT / "tools"))

import notebook


class Cells(HTMLParser):
    """The text of the cells of a table, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.pictures: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs) -> None:
        assert tag in ("div", "pre", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "img"), tag
        if tag == "img":
            self.pictures.append(dict(attrs)["src"])
            return
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def shown(thing) -> Cells:
    return Cells(thing._repr_html_())


def test_tensors_are_tables() -> None:
    t = rl.tensor([[1.5, -2.0], [0.25, 3e9]], requires_grad=True)
    page = shown(t)
    assert page.cells == ["", "0", "1", "0", "1.5", "-2", "1", "0.25", "3e+09"]
    assert "float32 [2, 2] on cpu, requires_grad" in page.text
    assert "made by MulBackward0" in shown(t * 2).text
    assert shown(rl.tensor([True, False])).cells == ["", "0", "1", "0", "True", "False"]
    long = shown(rl.arange(1000).view(100, 10)).cells
    assert "…" in long and "999" in long and "500" not in long
    assert shown(nn.Parameter(rl.ones(1))).text.startswith("Parameter")


@pytest.mark.parametrize("t", [
    rl.tensor(3.0), rl.zeros(0), rl.ones(2, 2, 2), rl.ones(2, device="meta"), rl.tensor([1 + 2j]),
    rl.ones(2, 2, dtype=rl.bfloat16), rl.ones(2, dtype=rl.float8_e4m3fn),
    rl.tensor([float("nan"), float("inf")]), rl.zeros(3, 0),
], ids=lambda t: f"{t.dtype}{list(t.shape)}")  # fmt: skip
def test_every_kind_of_tensor_can_be_shown(t) -> None:
    assert str(list(t.shape)) in shown(t).text


def test_spread_of_values() -> None:
    page = shown(rl.linspace(-1, 1, 30_000).view(100, 300))
    assert "in a sample of 3750 values: min -1, " in page.text
    assert rl.linspace(-1, 1, 30_000).view(100, 300)._repr_html_().count("<rect") == 40
    few = shown(rl.tensor([float("nan")] * 100 + [1.0] * 100))
    assert "min 1, mean 1, max 1; 100 are not finite" in few.text
    assert "no finite values" in shown(rl.full((200,), float("inf"))).text
    assert "<rect" in rl.rand(4, 5, 6, 7)._repr_html_() and "<rect" not in rl.rand(3)._repr_html_()


def test_pictures() -> None:
    import base64
    import io

    image = pytest.importorskip("PIL.Image")
    t = (rl.arange(3 * 9 * 10).view(3, 9, 10) % 256).to(rl.uint8)
    for given in (t, t / 255, t[0], t[:1]):
        (address,) = shown(given).pictures
        seen = image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
        assert seen.size == (10, 9)
        assert seen.getpixel((3, 2)) == (tuple(t[:, 2, 3].tolist()) if given.shape[0] == 3 else t[0, 2, 3])
    assert shown(rl.randn(3, 9, 10)).pictures == []  # no shades
    large = rl.zeros(3, 3000, 2000, dtype=rl.uint8)._repr_html_()
    assert len(large) < 50_000


def test_a_large_tensor_is_not_read_as_a_whole(monkeypatch) -> None:
    read = []
    plain = rl.Tensor._host
    monkeypatch.setattr(rl.Tensor, "_host", lambda t: read.append(t.numel()) or plain(t))
    t = rl.rand(2000, 3000)
    page = shown(t)
    assert sum(read) < 10_000 and "1999" in page.cells
    assert f"{t[-1, -1].item():.4g}" in page.cells


def test_sparse_tensors_are_printed() -> None:
    assert not hasattr(rl.eye(3).to_sparse(), "_repr_html_")  # notebooks take `repr` then


def test_modules() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
            self.inner[0].weight.requires_grad_(False)

        def extra_repr(self) -> str:
            return "<script>alert(1)</script>"

    text = Named()._repr_html_()
    page = Cells(text)
    assert "<script" not in text and "<script>alert(1)</script>" in page.text
    assert "Named, parameters: 24 (12 of them not trained) on cpu, training" in page.text
    assert "    0" in page.cells and "weight [4, 3], bias [4]" in page.cells
    assert "not known yet" in shown(nn.LazyLinear(3)).text
    assert "parameters: 0" in shown(nn.ReLU()).text
    deep = nn.Sequential(*(nn.Linear(1, 1) for _ in range(1000)))
    assert "and 601 more modules" in shown(deep).text


def test_compiled_functions_and_programs() -> None:
    @rl.compile
    def double(x):
        return (x * 2).relu().sum()

    assert "0 programs" in shown(double).text
    for _ in range(4):
        double(rl.ones(3))
    assert "compiled test_compiled_functions_and_programs.<locals>.double: 1 program" in shown(double).text
    program = shown(double.program())
    assert "kernel" in program.cells and "sum" in program.cells
    assert "instructions on cpu" in program.text


# -- in a kernel ---------------------------------------------------------------------------------


def in_ipython(code: str) -> subprocess.CompletedProcess:
    """Lines typed into an IPython shell."""
    pytest.importorskip("IPython")
    script = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for line in {code.strip().splitlines()!r}:
    result = shell.run_cell(line)
    result.raise_error()
"""
    env = {**environment(), "IPYTHONDIR": os.path.join(os.getcwd(), "ipython")}
    return subprocess.run([sys.executable, "-c", script], env=env, text=True, capture_output=True, timeout=600)


def test_load_ext(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = in_ipython("""
%load_ext rushlight
import torch, torchvision, rushlight
assert torch is rushlight and torchvision is rushlight.vision
assert 'float32 [2]' in get_ipython().display_formatter.format(torch.ones(2))[0]['text/html']
%load_ext rushlight
""")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "`import torch`, `import torchvision` and `import dezero` now find rushlight" in done.stdout
    assert "restart the kernel" in done.stdout and "already loaded" in done.stdout
    from importlib.util import find_spec

    assert ("left aside" in done.stdout) == (find_spec("torch") is not None)


def test_load_ext_after_as_torch(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = in_ipython("import rushlight; rushlight.as_torch()\n%load_ext rushlight")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "finds rushlight" in done.stdout and "already" in done.stdout
    assert "left aside" not in done.stdout


def test_never_in_place_of_an_imported_pytorch(tmp_path, monkeypatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    done = in_ipython("import torch\n%load_ext rushlight")
    assert done.returncode != 0
    assert "torch has been imported already" in done.stdout + done.stderr
    assert "now find rushlight 0" not in done.stdout


# -- notebooks of the documentation ---------------------------------------------------------------


def run_notebooks(folder: Path, *names: str) -> subprocess.CompletedProcess:
    """Notebooks below `folder`, run by nbmake, each in its own folder; what came out is kept in the files."""
    for needed in ("nbmake", "ipykernel"):
        pytest.importorskip(needed)
    (folder / "pytest.ini").write_text("[pytest]\n")
    options = "--nbmake --overwrite --nbmake-timeout=600 -p no:cacheprovider -p no:xdist".split()
    env = {**environment(), "IPYTHONDIR": str(folder / "ipython"), "JUPYTER_CONFIG_DIR": str(folder / "jupyter")}
    command = [sys.executable, "-m", "pytest", "-c", "pytest.ini", *options, *names]
    return subprocess.run(command, cwd=folder, env=env, text=True, capture_output=True, timeout=400)


def test_pages_run_in_jupyter(tmp_path) -> None:
    """The lab, the tour of tensors and the first page, as the notebooks that the site offers."""
    from test_site import write_cifar

    made = []
    for page in ("lab/en", "learn/tensors", "start"):
        made.append(tmp_path / page.replace("/", "-") / "page.ipynb")
        write_cifar(made[-1].parent / "data" / "cifar-10-batches-py")
        made[-1].write_text(notebook.notebook((ROOT / "docs" / f"{page}.md").read_text()))
    done = run_notebooks(tmp_path, *[str(path.relative_to(tmp_path)) for path in made])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "3 passed" in done.stdout
    for path in made:
        cells = json.loads(path.read_text())["cells"]
        code = [c for c in cells if c["cell_type"] == "code"]
        assert code and all(c["execution_count"] for c in code)
        assert not [o for c in code for o in c["outputs"] if o["output_type"] == "error"]


def test_a_cell_that_fails_is_told(tmp_path) -> None:
    page = "# A page\n\n```python\nx = 1\n```\n\nWords.\n\n```python\nassert x == 2, 'no'\n```\n"
    (tmp_path / "page.ipynb").write_text(notebook.notebook(page))
    done = run_notebooks(tmp_path, "page.ipynb")
    said = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)  # IPython colours its tracebacks
    assert done.returncode == 1 and "1 failed" in said, said
    assert re.search(r"assert x == 2.*AssertionError: no", said, re.S), said
