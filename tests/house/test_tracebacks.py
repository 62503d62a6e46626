"""What is printed of a user's error: the user's frames, at most two of ours and none of code that we wrote at run time."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import pytest

from cli_help import COMMAND, ROOT, environment
from rushlight.base import tracebacks

OURS = re.compile(rf'File "({re.escape(str(ROOT / "src"))}|<(?!user))')
START = (
    "import rushlight as torch\nfrom rushlight import nn\nF = nn.functional\nx = torch.ones(3, requires_grad=True)\n"
)
NET = "class Net(nn.Module):\n    def forward(self, x):\n        return F.linear(x, torch.ones(2, 5))\n"
DATA = "class Bad(torch.utils.data.Dataset):\n    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n        return torch.ones(2) @ torch.ones(3)\n"
STEP = "@torch.compile\ndef step(a):\n    return (a * 2).sum() + a.reshape(7).sum()\n"

# A wrong script, and how many of its own frames are shown.
WRONG = {
    "changed in place": ("y = x.exp()\ny.add_(1)\ny.sum().backward()", 1),
    "a leaf in place": ("x.add_(1)", 1),
    "shapes of a product": ("torch.ones(2, 3) @ torch.ones(4, 5)", 1),
    "shapes of a sum": ("torch.ones(3) + torch.ones(4)", 1),
    "backward twice": ("y = x.exp().sum()\ny.backward()\ny.backward()", 1),
    "backward of many": ("(x * 2).backward()", 1),
    "backward without gradients": ("torch.ones(3).sum().backward()", 1),
    "devices mixed": ("torch.ones(3) + torch.ones(3, device='meta')", 1),
    "no such device": ("torch.ones(3, device='nonsense')", 1),
    "a missing key": ("nn.Linear(2, 2).load_state_dict({'weight': torch.ones(2, 2)})", 1),
    "a wrong size": ("nn.Linear(2, 2).load_state_dict(nn.Linear(3, 2).state_dict())", 1),
    "a worker": (DATA + "for _ in torch.utils.data.DataLoader(Bad(), num_workers=1): pass", 2),
    "a loader": (DATA + "for _ in torch.utils.data.DataLoader(Bad()): pass", 2),
    "a compiled function": (STEP + "step(torch.ones(3))", 2),
    "layers": ("nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(5, 2))(x)", 1),
    "a module": (NET + "Net()(torch.ones(3))", 2),
    "a module in a module": (NET + "nn.Sequential(nn.ReLU(), Net())(torch.ones(3))", 2),
    "a hook": ("def hook(g):\n    return g @ torch.ones(7)\nx.register_hook(hook)\n(x * 2).sum().backward()", 2),
    "an index": ("torch.ones(3)[5]", 1),
    "a view": ("torch.ones(3).view(2, 2)", 1),
    "a dtype": ("torch.ones(3, dtype=torch.int64, requires_grad=True)", 1),
    "a target": ("F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 7]))", 1),
    "an option": ("torch.optim.SGD([x], lr=-1.0)", 1),
    "no parameters": ("torch.optim.Adam([])", 1),
    "not a tensor": ("F.relu([1.0])", 1),
    "a file": ("torch.load('none such.pth')", 1),
    "vmap": ("torch.vmap(lambda a: a @ torch.ones(7))(torch.ones(2, 3))", 2),
    "several values": ("bool(torch.ones(3))", 1),
    "numpy of a leaf": ("x.numpy()", 1),
    "cat": ("torch.cat([torch.ones(2, 3), torch.ones(4)])", 1),
}


def error_of(code: str) -> BaseException:
    try:
        exec(compile(START + code, "<user>", "exec"), {"__name__": "__main__"})
    except Exception as error:  # noqa: BLE001 - each of them is another kind
        return error
    raise AssertionError("it did not fail")


@pytest.mark.parametrize(
    "call, said",
    [
        ("nn.Linear(2, 3, biass=True)", "bias"),
        ("nn.Conv2d(1, 2,\n    kernel=3)", "kernel_size"),
        ("torch.sum(x, dims=0)", "'dim'"),
        ("torch.optim.SGD([x], learning_rate=0.1)", "It takes: params, lr, momentum"),
        ("net = nn.Sequential(nn.ReLU())\nnet(inputt=x)", "'input'"),
        ("torch.relux(x)", "'relu'"),
    ],
)
def test_misspelt_names_have_a_hint(call: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(START + call)
    done = subprocess.run([*COMMAND, "run", "script.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True)  # fmt: skip
    assert said in done.stderr and done.returncode == 1


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.filterwarnings("ignore")
def test_at_most_two_inner_frames(name: str) -> None:
    code, own = WRONG[name]
    error = error_of(code)
    # What a worker says is a traceback of its own inside of the message.
    for shown in tracebacks.text(error).split("Original Traceback"):
        assert len(OURS.findall(shown)) <= 2, shown
        assert 'File "<string>"' not in shown
    assert tracebacks.text(error).count('File "<user>"') == own, tracebacks.text(error)


def test_errors_keep_their_frames() -> None:
    """Debuggers, `logging` and test runners look at the error itself."""
    error = error_of(WRONG["changed in place"][0])
    before = traceback.extract_tb(error.__traceback__)
    assert len(before) > 4
    with tracebacks.short(error):
        assert len(traceback.extract_tb(error.__traceback__)) <= 4
    assert traceback.extract_tb(error.__traceback__) == before
    told = io.StringIO()
    log = logging.getLogger("of this test")
    log.addHandler(logging.StreamHandler(told))
    log.error("failed", exc_info=error)
    assert len(OURS.findall(told.getvalue())) > 2 and 'File "<string>"' not in told.getvalue()


def test_causes_and_groups_are_short_too() -> None:
    inner = error_of(WRONG["layers"][0])
    outer = ValueError("around it")
    outer.__cause__ = inner
    shown = tracebacks.text(ExceptionGroup("several", [outer]))
    assert "direct cause" in shown and len(OURS.findall(shown)) <= 2


def test_errors_of_ours_alone_are_whole() -> None:
    """Without a frame of the user's there is nothing to point to."""
    error = error_of("torch.ones(3) + torch.ones(4)")
    below = error.__traceback__.tb_next.tb_next
    assert tracebacks.shortened(below) is below


def run(code: str, *words: str, **variables: str) -> subprocess.CompletedProcess:
    env = {**environment(), **variables}
    return subprocess.run([*(words or (sys.executable,)), "-"], input=textwrap.dedent(code), env=env, text=True,
                          capture_output=True, timeout=300)  # fmt: skip


SCRIPT = START + "def mine():\n    nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(5, 2))(x)\n"


def ours_in(shown: str) -> int:
    return len(re.findall(rf'File "{re.escape(str(ROOT / "src"))}', shown))


def test_python_prints_them_short() -> None:
    shown = run(SCRIPT + "mine()").stderr
    assert ours_in(shown) == 2 and shown.count('File "<stdin>"') == 2
    assert shown.splitlines()[-1].startswith("RuntimeError: mat1 and mat2")
    assert ours_in(run(SCRIPT + "mine()", RUSHLIGHT_TRACEBACK="full").stderr) > 2


def test_run_and_threads_print_them_short() -> None:
    code = SCRIPT.replace("rushlight", "torch").replace("torch as torch", "torch")
    code += "import threading\nt = threading.Thread(target=mine)\nt.start()\nt.join()\nprint('went on')\nmine()"
    done = run(code, *COMMAND, "run")
    first, second = done.stderr.split("RuntimeError: mat1 and mat2")[:2]
    assert "went on" in done.stdout and done.returncode == 1
    assert "Exception in thread" in first and ours_in(first) <= 2 and ours_in(second) <= 2


def test_hooks_of_the_program_stay() -> None:
    code = "import sys\nsys.excepthook = mine = lambda *e: print('mine', len(e))\nimport rushlight\nassert sys.excepthook is mine\n1 / 0"
    assert run(code).stdout == "mine 3\n"


def test_the_debugger_sees_every_frame(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT + "mine()\n")
    words = [sys.executable, "-m", "pdb", "-c", "continue", "script.py"]
    done = subprocess.run(words, input="where\nquit\n", cwd=tmp_path, env=environment(), text=True,
                          capture_output=True, timeout=300)  # fmt: skip
    assert "container.py" in done.stdout and os.path.join("operators", "layers") in done.stdout


def test_notebooks_show_them_short(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    code = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
shell.run_cell({SCRIPT!r})
shell.run_cell("mine()")
import sys, traceback
print("whole:", len(traceback.extract_tb(sys.last_traceback)))
"""
    shown = run(code, IPYTHONDIR=str(tmp_path)).stdout
    assert "mat1 and mat2" in shown, shown
    assert len(re.findall(r"^File .*src", shown, re.M)) <= 2
    assert int(shown.rpartition("whole: ")[2]) > 5
