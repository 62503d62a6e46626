"""Machines that refuse: full disks, folders nobody may write, no home, wrong clocks, no descriptors, SIGTERM."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from trust_record import Record
from trust_train import SORTS, arguments, ended, fingerprint, loadable, start, write_pictures

import rushlight as rl
import rushlight.onnx
import rushlight.vision.utils
from rushlight.cli import main
from rushlight.cli.training.folder_of_run import choose
from rushlight.io import safetensors
from rushlight.utils.tensorboard import SummaryWriter

CHILD = 77  # the exit code of a child whose assertion held


def in_child(work: Callable[[], None]) -> bool:
    """Whether `work` ran without an error in a forked process."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(CHILD)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return ended(pid) == CHILD


def _saved_or_refused(path: Path, content: dict, errors: tuple = (OSError,)) -> str:
    """Save over an old file: afterwards there is the old one or the new one, whole."""
    old = path.read_bytes()
    try:
        rl.save(content, path)
    except errors:
        assert path.read_bytes() == old, "the old file was touched by a write that failed"
        assert os.listdir(path.parent) == [path.name], os.listdir(path.parent)
        return "refused"
    assert rl.load(path)["w"].numel() == content["w"].numel()
    return "saved"


def full_disk(folder: Path) -> None:
    """Every length at which a disk can be full."""
    path = folder / "m.pth"
    rl.save({"w": rl.zeros(3)}, path)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    content = {"w": rl.ones(20_000)}
    seen = set()
    for most in [0, 1, 100, 1000, 5000, 40_000, 79_000, 80_500, 81_500, 83_000, 200_000]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        seen.add(_saved_or_refused(path, content))
    assert seen == {"refused", "saved"}, seen


def failing_calls(folder: Path) -> None:
    """An error of the disk in each step of a write."""
    path = folder / "m.pth"
    rl.save({"w": rl.zeros(3)}, path)
    for name in ("fsync", "chmod", "replace", "dup"):
        plain = getattr(os, name)

        def fail(*args: object, **kwargs: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        setattr(os, name, fail)
        try:
            assert _saved_or_refused(path, {"w": rl.ones(5)}) == "refused", name
        finally:
            setattr(os, name, plain)
    assert _saved_or_refused(path, {"w": rl.ones(5)}) == "saved"


def few_descriptors(folder: Path) -> None:
    """From none to eight descriptors left, saving and loading."""
    path = folder / "m.pth"
    rl.save({"w": rl.zeros(3)}, path)
    rl.load(path)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096))
    seen = []
    for left in range(9):
        held = _all_descriptors()
        for handle in held[:left]:
            os.close(handle)
        try:
            rl.save({"w": rl.ones(10 + left)}, path)
            outcome = "saved"
        except OSError:
            outcome = "refused"
        for handle in held[left:]:
            os.close(handle)
        seen.append(outcome)
        assert rl.load(path)["w"].numel() > 0
        assert os.listdir(folder) == ["m.pth"], os.listdir(folder)
    assert seen[0] == "refused" and seen[-1] == "saved", seen


def _all_descriptors() -> list[int]:
    held = []
    while True:
        try:
            held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return held


def _events(at: Path) -> None:
    with SummaryWriter(str(at / "events")) as writer:
        writer.add_scalar("loss", 1.0, 1)


def _trace(at: Path) -> None:
    with rl.profiler.profile() as seen:
        rl.ones(3).add(1)
    seen.export_chrome_trace(str(at / "trace.json"))


def _command(*words: str) -> None:
    """A command of `rushlight` that has to end with one sentence."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main([*words])
    if code:
        raise OSError(said.getvalue().strip().splitlines()[-1])


# Everything that writes into a folder that the user names.
WRITERS: dict[str, Callable[[Path], object]] = {
    "save": lambda at: rl.save({"w": rl.ones(300)}, at / "m.pth"),
    "the old format": lambda at: rl.save({"w": rl.ones(300)}, at / "m.pt", _use_new_zipfile_serialization=False),
    "safetensors": lambda at: safetensors.save_file({"w": rl.ones(300)}, str(at / "m.safetensors")),
    "picture": lambda at: rl.vision.utils.save_image(rl.rand(3, 8, 8), str(at / "x.png")),
    "onnx": lambda at: rl.onnx.export(rl.nn.Linear(2, 2), (rl.ones(1, 2),), str(at / "m.onnx")),
    "events": _events,
    "trace": _trace,
    "download": lambda at: rl.hub.download_url_to_file((at / "../old/m.pth").absolute().as_uri(), str(at / "hub/w.pth")),
    "train": lambda at: _command(*arguments(at / "..", at / "run", 0)),
    "exported": lambda at: _command("export", str(at / "../whole"), "--out", str(at / "m.onnx")),
}  # fmt: skip


def nowhere_to_write(folder: Path) -> None:
    """A file where a folder should be, a folder that nobody may write into, a full disk: one error, nothing half."""
    write_pictures(folder / "pictures")
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(arguments(folder, folder / "whole", 0)) == 0
    (folder / "old").mkdir()
    rl.save({"w": rl.ones(3)}, folder / "old/m.pth")
    (folder / "file").write_text("no folder")
    (folder / "full").mkdir()
    for name, write in WRITERS.items():
        for where in (folder / "file", Path("/proc/self/fdinfo"), folder / "full"):
            assert in_child(lambda w=write, at=where: _refused(w, at)), (name, where)  # type: ignore[misc]
    left = [p for p in (folder / "full").rglob("*") if p.is_file() and "events" not in p.parts]
    assert [p for p in left if p.suffix != ".lock"] == [], left


def _refused(write: Callable[[Path], object], at: Path) -> None:
    if at.name == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        write(at)
    except (OSError, RuntimeError) as error:
        assert "\n" not in str(error) and "Traceback" not in str(error), error
    else:
        raise AssertionError(f"{at} was written")


def wrong_clock(folder: Path) -> None:
    """Before 1980, which zip files cannot say, and after 2107."""
    path = folder / "m.pth"
    for now in (0.0, 1e8, 1e10):
        time.time = lambda now=now: now  # type: ignore[assignment]
        rl.save({"w": rl.ones(3)}, path)
        assert rl.load(path)["w"].tolist() == [1.0] * 3


def jumping_clock(folder: Path) -> None:
    """A clock that is hours ahead or behind at each look: a training and its loader do not see it."""
    write_pictures(folder / "pictures")
    seen = []
    for name in ("steady", "jumping"):
        out = folder / name
        if name == "jumping":
            now, hours = time.time(), itertools.cycle([-50_000.0, 3.0, 90_000.0, -7.0])
            time.time = lambda: now + next(hours)  # type: ignore[assignment]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert main(arguments(folder, out, 1)) == 0
        seen.append(fingerprint(out))
        data = rl.utils.data.TensorDataset(rl.arange(12.0))
        loader = rl.utils.data.DataLoader(data, 4, num_workers=2, timeout=60)
        assert sum([len(rows[0]) for rows in loader]) == 12
    assert seen[0] == seen[1]


def no_shared_memory(folder: Path) -> None:
    """Workers where /dev/shm does not exist."""
    import multiprocessing.heap as heap

    heap.Arena._dir_candidates = ["/nowhere/shm"]  # type: ignore[attr-defined]
    data = rl.utils.data.TensorDataset(rl.arange(12.0))
    seen = rl.utils.data.DataLoader(data, 4, num_workers=2, collate_fn=lambda rows: rl.cat([r[0][None] for r in rows]))
    assert rl.cat(list(seen)).tolist() == list(range(12))


def no_home(folder: Path) -> None:
    """An empty environment, and one whose caches and home cannot be: in new processes."""
    paths = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PATH": "/usr/bin:/bin"}
    names = ("HOME", "TORCH_HOME", "XDG_CACHE_HOME", "RUSHLIGHT_CACHE", "TMPDIR")
    code = (
        "import rushlight as rl; rl.save({'w': rl.ones(3)}, 'm.pth'); f = rl.compile(lambda x: (x * 2).tanh().sum())\n"
        "print([f(rl.ones(2)).item() > 1 for _ in range(3)], rl.load('m.pth')['w'].sum().item())"
    )
    for bad in ({}, dict.fromkeys(names, "/proc/self/fdinfo"), dict.fromkeys(names, __file__)):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env={**paths, **bad}, capture_output=True, text=True
        )
        assert done.stdout == "[True, True, True] 3.0\n", (bad, done.stderr)


SCENES = (
    full_disk, failing_calls, few_descriptors, nowhere_to_write, wrong_clock, jumping_clock, no_shared_memory, no_home,
)  # fmt: skip


def terminated(root: Path, want: tuple, sort: int, rng: random.Random, number: int) -> str:
    """SIGTERM at a random moment of a training, then resumed."""
    out = root / f"term{number}"
    pid = start(arguments(root, out, sort))
    time.sleep(rng.uniform(0.0, 1.2))
    os.kill(pid, signal.SIGTERM)
    code = ended(pid)
    if code not in (0, 143, -signal.SIGTERM):
        return f"the process ended with {code}"
    if not loadable(out):
        return "the checkpoint is damaged"
    if code != 0:
        resume = ["--resume"] if (out / "last.pth").exists() else []
        again = arguments(root, out, sort)
        # What has begun, and has no checkpoint yet, is not written over: a new run takes the next folder.
        out = Path(choose(str(out), bool(resume)))
        if ended(start([*again, *resume])) != 0:
            return "the run cannot be resumed"
    return "" if fingerprint(out) == want else "losses or weights differ"


def disk(count: int, seed: int, record: Record) -> tuple[str, bool]:
    """Every scene, then `count` trainings that get SIGTERM."""
    rng = random.Random(seed)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for scene in SCENES:
            (root / scene.__name__).mkdir()
            if not in_child(lambda s=scene: s(root / s.__name__)):
                wrong.append(scene.__name__)
        write_pictures(root / "pictures")
        wants = []
        for sort in range(len(SORTS)):
            assert ended(start(arguments(root, root / f"whole{sort}", sort))) == 0
            wants.append(fingerprint(root / f"whole{sort}"))
        for number in range(count):
            sort = number % len(SORTS)
            if why := terminated(root, wants[sort], sort, rng, number):
                wrong.append(why)
    said = f"{len(SCENES)} scenes and {count} SIGTERMs"
    return said + (f", wrong: {'; '.join(wrong)}" if wrong else ""), not wrong
