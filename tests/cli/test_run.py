"""`rushlight run`: programs behave as under plain python, which is run beside it as the judge."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def python(*args: str, cwd: Path, **more) -> subprocess.CompletedProcess:
    """A fresh interpreter that can import rushlight."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONSAFEPATH": ""}
    return subprocess.run(
        [sys.executable, *args], cwd=cwd, env=env, text=True, capture_output=True, timeout=600, **more
    )


def both(*args: str, cwd: Path, **more):
    """The same command line under rushlight run and under plain python."""
    return python("-m", "rushlight", "run", *args, cwd=cwd, **more), python(*args, cwd=cwd, **more)


def run(*args: str, cwd: Path, **more) -> subprocess.CompletedProcess:
    return python("-m", "rushlight", "run", *args, cwd=cwd, **more)


def same(ours, plain) -> None:
    assert ours.stdout == plain.stdout
    assert ours.stderr == plain.stderr
    assert ours.returncode == plain.returncode


LOOK = """
import sys
print(sys.argv, sys.path[0], __name__, __package__, __spec__ and __spec__.name, sorted(globals()))
print(globals().get("__file__"), type(__builtins__), sys.modules["__main__"].__dict__ is globals())
def f(x: "int"): pass
print(f.__annotations__, type(__loader__))
"""


@pytest.fixture
def look(tmp_path: Path) -> Path:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()
    (tmp_path / "pack" / "beside.py").write_text("name = __name__")
    (tmp_path / "pack" / "look.py").write_text(LOOK + "import beside\nprint(beside.name)\n")
    (tmp_path / "pack" / "__main__.py").write_text(LOOK)
    (tmp_path / "link.py").symlink_to(tmp_path / "pack" / "look.py")
    return tmp_path


@pytest.mark.parametrize(
    "args",
    [
        ("pack/look.py", "a", "--help", "-c"),
        ("link.py",),
        ("-c", LOOK, "x", "-h"),
        ("-m", "pack", "1"),
        ("pack", "1"),
        ("-", "arg"),
        ("nothing.py",),
        ("-m", "nothing"),
        ("-m", "pack.look"),  # fails: `beside` is not importable from here
    ],
    ids=lambda a: a[0] + a[1][:5] if len(a) > 1 else a[0],
)
def test_argv_path_and_main_are_pythons(look: Path, args: tuple[str, ...]) -> None:
    ours, plain = both(*args, cwd=look, input=LOOK)
    plain.stderr = plain.stderr.replace(f"{sys.executable}: can't open", "rushlight run: can't open")
    same(ours, plain)


@pytest.mark.parametrize(
    "body",
    [
        "raise SystemExit",
        "import sys; sys.exit(7)",
        "import sys; sys.exit(-1)",
        "import sys; sys.exit(300)",
        "import sys; sys.exit('a message')",
        "import sys; sys.exit(['odd'])",
        "def f():\n    raise ValueError('deep')\ntry:\n    f()\nexcept ValueError as e:\n    raise KeyError(1) from e",
        "x = = 1",
        "import torch_is_not_this",
        "import os\nos.kill(os.getpid(), 2)\nimport time; time.sleep(9)",
        "raise KeyboardInterrupt",
        "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])",
        "import sys\nsys.excepthook = lambda k, e, t: print('hook', k, t.tb_lineno, t.tb_frame.f_code.co_name)\n1/0",
        "import sys, atexit\natexit.register(print, 'at exit')\nprint('x', end='')\n1/0",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.3), print('late'))).start()",
        "class E(BaseException): pass\nraise E('base')",
        "raise BrokenPipeError(32, 'pipe')",
        "import warnings\nwarnings.warn('careful', DeprecationWarning)",
        "x: int = 1\nprint(__annotations__)",
        "'the doc'\nprint(__doc__)",
    ],
    ids=range(20),
)
def test_ends_as_under_python(tmp_path: Path, body: str) -> None:
    (tmp_path / "script.py").write_text(body)
    same(*both("script.py", cwd=tmp_path))


def test_usage_errors(tmp_path: Path) -> None:
    for args in (("-m",), ("-c",)):
        done = run(*args, cwd=tmp_path)
        assert done.returncode == 2 and "argument expected" in done.stderr
    done = run(cwd=tmp_path)
    assert done.returncode == 2 and "rushlight run script.py" in done.stdout
    assert run("--help", cwd=tmp_path).returncode == 0


ALIASES = """
import sys
import torch, torch.nn as nn, torch.nn.functional as F
import torch.optim.lr_scheduler
from torch.utils.data import DataLoader, Dataset
from torch.nn.modules.linear import Linear
import rushlight, importlib, importlib.util
assert torch is rushlight and nn is rushlight.nn and F is rushlight.nn.functional
assert sys.modules["torch.nn"] is sys.modules["rushlight.nn"] is importlib.import_module("torch.nn")
assert torch.__name__ == "torch" and torch.__spec__.name == "rushlight"
assert not hasattr(torch.optim.lr_scheduler, "__path__")
assert importlib.util.find_spec("torch.nosuch") is None and importlib.util.find_spec("torch.fft")
assert tuple(int(v) for v in torch.__version__.split("+")[0].split(".")) >= (2, 0)
print(torch.float32, torch.ones(2, 3).shape, torch.ones(1).type(), torch.device("cpu"))
print(torch.ones(2, dtype=torch.float64))
import pickle
assert b"rushlight" in pickle.dumps(torch.ones(2))
torch.save({"w": torch.ones(2)}, "w.pth")
"""


def test_names_are_the_same_objects(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ALIASES)
    done = run("script.py", cwd=tmp_path)
    assert done.stderr == "" and done.returncode == 0
    assert done.stdout.splitlines() == [
        "torch.float32 torch.Size([2, 3]) torch.FloatTensor cpu",
        "tensor([1., 1.], dtype=torch.float64)",
    ]
    import rushlight

    assert rushlight.load(tmp_path / "w.pth")["w"].tolist() == [1, 1]


def test_a_file_beside_the_script_named_torch_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise RuntimeError('the wrong one')")
    (tmp_path / "script.py").write_text("import torch\nprint(torch.__name__)")
    assert run("script.py", cwd=tmp_path).stdout == "torch\n"


@pytest.mark.parametrize(
    "line, says",
    [
        ("torch.obviously_not()", r"torch\.obviously_not is in neither PyTorch nor rushlight"),
        ("torch.relue(torch.ones(1))", r"torch\.relue .*; nearest: torch\.relu"),
        ("torch.quantize_per_tensor(1)", r"torch\.quantize_per_tensor is not in rushlight yet"),
        ("from torch.nn import Conv9d", r"torch\.nn\.Conv9d is not in rushlight .*Conv2d"),
        ("import torch.optimm", r"torch\.optimm is in neither .*nearest: torch\.optim"),
        ("torch.ones(1).sine()", r"Tensor\.sine is not in rushlight .*Tensor\.sin"),
        ("torch.nn.functional.relux(1)", r"torch\.nn\.functional\.relux is not .*relu"),
    ],
    ids=lambda v: v.split("(")[0],
)
def test_missing_names_are_told_with_the_line(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "script.py").write_text(f"import torch\n\ndef f():\n    {line}\n\nf()\n")
    done = run("script.py", cwd=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert re.match(r"rushlight run: " + says, last), done.stderr
    assert "(script.py, line 4)" in last
    assert f"{os.sep}cli{os.sep}" not in done.stderr and "importlib" not in done.stderr
    assert 'script.py", line 6, in <module>' in done.stderr.splitlines()[1]


def test_the_users_own_mistakes_get_no_remark(tmp_path: Path) -> None:
    body = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x): return self.fc9(x)\nNet()(1)\n"
    (tmp_path / "script.py").write_text(body)
    done = run("script.py", cwd=tmp_path)
    assert "'Net' object has no attribute 'fc9'" in done.stderr.splitlines()[-1]


WORKERS = """
import multiprocessing, os, sys
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.tensor(i * i), str(torch.float32), os.getpid()

def child(queue):
    queue.put((str(torch.ones(2).shape), torch.__name__))

if __name__ == "__main__":
    method = sys.argv[1]
    loader = DataLoader(Squares(), 4, num_workers=2, multiprocessing_context=method)
    for x, names, pids in loader:
        assert os.getpid() not in pids
        print(x, set(names))
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get(timeout=600))
    process.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_started_by_the_script(tmp_path: Path, method: str) -> None:
    (tmp_path / "script.py").write_text(WORKERS)
    done = run("script.py", method, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "tensor([0, 1, 4, 9]) {'torch.float32'}",
        "tensor([16, 25, 36, 49]) {'torch.float32'}",
        "('torch.Size([2])', 'torch')",
    ]


def test_spawn_from_a_module(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "job.py").write_text(WORKERS)
    done = run("-m", "pack.job", "spawn", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_models_pickled_whole_belong_to_main(tmp_path: Path) -> None:
    body = """
import torch, pickle
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 1)
print(pickle.loads(pickle.dumps(Net())))
pickle.dump(torch.arange(3), open("t.pkl", "wb"))
"""
    (tmp_path / "script.py").write_text(body)
    done = run("script.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Net(\n  (fc): Linear(in_features=2" in done.stdout
    import rushlight

    with open(tmp_path / "t.pkl", "rb") as f:
        assert rushlight.equal(pickle.load(f), rushlight.arange(3))


def test_ctrl_c_ends_by_the_signal(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('up', flush=True)\nimport time\ntime.sleep(60)\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        [sys.executable, "-m", "rushlight", "run", "script.py"],
        cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == -signal.SIGINT  # 130 in a shell
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert 'script.py", line ' in err.splitlines()[1]  # the signal may come before the third


def test_torchvision_and_dezero_are_found_too(tmp_path: Path) -> None:
    body = """
import torchvision.transforms as transforms, torchvision.transforms.functional as TF
from torchvision.models.resnet import ResNet
from torchvision import datasets
import dezero, dezero.functions as F
from dezero import Variable
import rushlight.vision, rushlight.dezero
assert transforms is rushlight.vision.transforms and dezero is rushlight.dezero
assert F is rushlight.dezero.functions and TF is rushlight.vision.transforms.functional
import torchvision.nothing_like_it
"""
    (tmp_path / "script.py").write_text(body)
    done = run("script.py", cwd=tmp_path)
    assert done.stderr.splitlines()[-2:] == [
        "ModuleNotFoundError: No module named 'torchvision.nothing_like_it'",
        "rushlight run: torchvision.nothing_like_it is not in rushlight (script.py, line 10)",
    ]


def test_a_question_for_mpiexec_does_not_start_mpi(tmp_path: Path) -> None:
    """Lightning imports mpi4py.MPI only to ask who started this process, which would make a world of one rank."""
    pytest.importorskip("mpi4py")
    asks = tmp_path / "lightning" / "fabric" / "plugins" / "environments"
    asks.mkdir(parents=True)
    for folder in (asks, *list(asks.parents)[:3]):
        (folder / "__init__.py").touch()
    (asks / "mpi.py").write_text("try:\n    from mpi4py import MPI\nexcept ImportError:\n    MPI = None\n")
    body = "import torch, lightning.fabric.plugins.environments.mpi as asked\nprint(asked.MPI)\n"
    (tmp_path / "script.py").write_text(body + "from mpi4py import MPI\nprint(MPI.__name__)\n")
    done = run("script.py", cwd=tmp_path)
    assert done.stdout == "None\nmpi4py.MPI\n", done.stderr
