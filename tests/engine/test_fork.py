"""A fork in the middle of other threads' work: the child draws, computes and ends."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from imports import modules

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="fork beside threads is Linux's")

# Threads that hold our locks nearly all the time, while the main thread forks again and again.
BUSY = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import rushlight as rl
from rushlight.utils.data import DataLoader, Dataset

rl.set_num_threads(2)
over = threading.Event()
own = rl.Generator()

def draw():
    while not over.is_set():
        rl.randn(30_000)
        rl.rand(1000, generator=own)
        rl.randperm(1000)

def compute():
    x = rl.ones(128, 4096)
    w = rl.ones(64, 64, requires_grad=True)
    step = rl.compile(lambda a: (a @ a).relu().sum())
    while not over.is_set():
        (x * 2 + 1).exp().sum()
        (w @ w).relu().sum().backward()
        step(w.detach())

threads = [threading.Thread(target=t, daemon=True) for t in (draw, draw, compute)]
for t in threads:
    t.start()
"""

FORKS = (
    BUSY
    + """
step = rl.compile(lambda a: (a * 2).sum())
step(rl.ones(8)), step(rl.ones(8))
for i in range(50):
    pid = os.fork()
    if pid == 0:
        rl.manual_seed(i)
        a = rl.rand(3), rl.rand(3, generator=own), rl.Generator().manual_seed(1)
        x = rl.ones(128, 4096, requires_grad=True)
        (x * 2 + 1).exp().sum().backward()
        assert x.grad.shape == (128, 4096) and step(rl.ones(8)).item() == 16.0
        with rl.amp.autocast("cpu"):
            rl.ones(4, 4) @ rl.ones(4, 4)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
over.set()
print("whole")
"""
)

LOADERS = (
    BUSY
    + """
class Rows(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return rl.rand(4) * 0 + i

for i in range(25):
    seen = [float(x) for batch in DataLoader(Rows(), 2, num_workers=2) for x in batch[:, 0]]
    assert seen == list(range(8)), seen
over.set()
print("whole")
"""
)


@pytest.mark.parametrize("script", [FORKS, LOADERS], ids=["forks", "loaders"])
def test_children_of_a_busy_process(script: str) -> None:
    """50 forks, by hand and by loaders: a lock that a vanished thread holds would stop one of them."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout == "whole\n", done.stderr[-2000:]


# A module that takes a lock before forks, imported by another thread while this one is about to fork.
IMPORTED_MEANWHILE = """
import os, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import rushlight.base.locks
for name in [n for n in sys.modules if n == NAME or n.startswith(NAME + ".")]:
    del sys.modules[name]  # as if nobody had imported it yet
begun = threading.Event()

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == NAME:
            begun.set()
            time.sleep(0.3)

sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=__import__, args=(NAME,))
thread.start()
begun.wait()
pid = os.fork()
if not pid:
    __import__(NAME)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
thread.join()
"""


@pytest.mark.parametrize("name", ["logging", "concurrent.futures.thread"])
def test_a_module_imported_while_a_fork_waits(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED_MEANWHILE.replace("NAME", repr(name))],
                          capture_output=True, text=True, timeout=600)  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr


# Forked while another thread is in the middle of a module, and nobody waits for it.
HALF_IMPORTED = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import rushlight.base.locks
rushlight.base.locks._PATIENCE_S = 0
sys.path.insert(0, FOLDER)
begun = sys.begun = threading.Event()
thread = threading.Thread(target=__import__, args=("slow",))
thread.start()
begun.wait()
pid = os.fork()
if not pid:
    signal.alarm(600)
    import slow
    assert slow.whole
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
thread.join()
assert sys.modules["slow"].whole
"""


def test_a_child_imports_what_a_lost_thread_had_begun(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import sys, time\nsys.begun.set()\ntime.sleep(0.3)\nwhole = True\n")
    script = HALF_IMPORTED.replace("FOLDER", repr(str(tmp_path)))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_every_lock_is_made_for_forks() -> None:
    """Locks come from base/locks.py: a plain one would stay held in a child."""
    plain = re.compile(r"threading\.(R?Lock|Semaphore|Event)\(|threading\.Condition\((?!new_)")
    found = [
        name for name, path in modules().items() if plain.search(path.read_text()) and name != "rushlight.base.locks"
    ]
    assert found == []
