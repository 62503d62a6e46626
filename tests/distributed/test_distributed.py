"""torch.distributed with real ranks: collectives, mistakes, training, tutorial scripts, the launcher, deaths."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rushlight.distributed import mpiexec

HERE = Path(__file__).parent / "ranks"
REASON = mpiexec.why_not()
needs_mpi = pytest.mark.skipif(REASON is not None, reason=f"several ranks need MPI: {REASON}")


def environment(gpu: bool = False) -> dict[str, str]:
    gone = ("PYTEST_", "PMI", "OMPI_COMM", "OMPI_UNIVERSE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(gone)}
    return {**kept, "OMP_NUM_THREADS": "1", **({} if gpu else {"RUSHLIGHT_NO_CUDA": "1"})}


def python(*words: str, timeout: float = 900, gpu: bool = False) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=timeout, env=environment(gpu)
    )


def launch(count: int, script: str, *args: str, options: tuple[str, ...] = (), gpu: bool = False) -> subprocess.CompletedProcess:  # fmt: skip
    return python("-m", "rushlight", "launch", "--nproc-per-node", str(count), *options, str(HERE / script), *args, gpu=gpu)  # fmt: skip


def passed(done: subprocess.CompletedProcess, count: int, *names: str) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(count):
        for name in names:
            assert f"[rank{rank}]: passed {name}".rstrip() in done.stdout, done.stdout + done.stderr
    return done.stdout


_process = os.environ.get("PYTEST_XDIST_WORKER") or os.environ.get("SUITE_PROCESS", "gw0")
_ports = itertools.count(int(_process[2:]) * 100 % 12_000)


def free_port() -> str:
    """A port that no other worker of this run is given, below those that the kernel gives by itself."""
    for port in _ports:
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("localhost", 20_000 + port))
            return str(20_000 + port)
    raise AssertionError


@needs_mpi
@pytest.mark.parametrize("count", [2, 4])
def test_each_collective_is_what_one_process_computes(count: int) -> None:
    names = ("reductions", "large", "moves", "works", "pairs", "objects", "groups", "derivatives")
    passed(launch(count, "collectives.py"), count, *names)


@needs_mpi
def test_mistakes_are_named_and_on_time() -> None:
    passed(launch(2, "mistakes.py"), 2, "")


@needs_mpi
def test_training_is_that_of_one_process() -> None:
    names = ("ddp", "overlap", "uneven", "zero", "fsdp", "optimizers", "scaler", "sync_norm")
    passed(launch(2, "training.py", ",".join(names)), 2, *names)


@needs_mpi
def test_checkpoint_is_read_by_another_number_of_ranks(tmp_path: Path) -> None:
    folder = str(tmp_path / "step")
    wrote = passed(launch(2, "training.py", "save", folder), 2, "save")
    read = passed(launch(3, "training.py", "load", folder), 3, "load")
    losses = {float(v) for v in re.findall(r"loss (\S+)", wrote + read)}
    assert len(losses) >= 1 and max(losses) - min(losses) < 1e-6
    assert sum(p.name.endswith(".distcp") for p in Path(folder).iterdir()) == 2  # no file of the first save


@needs_mpi
def test_checkpoint_of_copies_is_read_by_other_wrappers(tmp_path: Path) -> None:
    folder = str(tmp_path / "step")
    told = passed(launch(4, "training.py", "copies", folder), 4, "copies")
    size = sum(p.stat().st_size for p in Path(folder).glob("*.distcp"))
    # parameters and two states of each, once, each in an archive of its own: 81,900 bytes
    assert 4 * 3 * 1377 < size < 100_000
    told += passed(launch(2, "training.py", "wrapped,load", folder), 2, "wrapped", "load")
    losses = [float(v) for v in re.findall(r"loss (\S+)", told)]
    assert len(losses) == 8 and max(losses) - min(losses) < 1e-6, losses


@needs_mpi
def test_imagenet_style_script(tmp_path: Path) -> None:
    words = ("--dist-url", f"tcp://127.0.0.1:{free_port()}", "--folder", str(tmp_path))
    done = python("-m", "rushlight", "run", str(HERE / "imagenet_style.py"), *words)
    assert done.returncode == 0, done.stdout + done.stderr
    # two processes write to one pipe: their lines may share one
    told = dict(re.findall(r"worker (\d) of 2 (loss \S+ accuracy \S+ sum -?\d+\.\d{9})", done.stdout))
    assert set(told) == {"0", "1"} and told["0"] == told["1"]  # the same weights on both ranks
    assert (tmp_path / "checkpoint.pth.tar").exists()


@needs_mpi
def test_gpt_style_script_agrees_with_one_process() -> None:
    one = python("-m", "rushlight", "run", str(HERE / "gpt_style.py"))
    assert one.returncode == 0, one.stderr
    words = ("run", "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    two = python("-m", "rushlight", *words, str(HERE / "gpt_style.py"))
    assert two.returncode == 0, two.stdout + two.stderr
    found = [float(v) for v in re.findall(r"weights (\S+)", one.stdout + two.stdout)]
    assert len(found) == 3 and max(found) - min(found) < 2e-3, found


@needs_mpi
def test_toy_style_script() -> None:
    done = python("-m", "rushlight", "run", str(HERE / "toy_style.py"), free_port())
    assert done.returncode == 0 and "toy model agrees" in done.stdout, done.stdout + done.stderr


@needs_mpi
def test_elastic_style_script_resumes_from_its_snapshot(tmp_path: Path) -> None:
    told = []
    for name, more in (("whole", ()), ("failed", ("--fail",))):
        words = ("run", "torchrun", "--standalone", "--nproc_per_node=2", "--max_restarts=1")
        where = str(tmp_path / f"{name}.pt")
        script = str(HERE / "elastic_style.py")
        told.append(python("-m", "rushlight", *words, script, "--snapshot", where, *more))
        assert told[-1].returncode == 0, told[-1].stdout + told[-1].stderr
    weights = [re.findall(r"rank \d of 2 weights (\S+)", d.stdout) for d in told]
    assert len(weights[0]) == 2 and len(set(weights[0] + weights[1])) == 1, weights
    assert told[1].stdout.count("Resuming training from snapshot at Epoch 2") == 2
    assert "a node was lost" in told[1].stderr and "rank 1 (pid" in told[1].stderr


@needs_mpi
def test_first_traceback_is_shown_and_restarts_are_counted(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "again = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
        "print('attempt', again, os.environ['LOCAL_RANK'], os.environ['LOCAL_WORLD_SIZE'])\n"
        "if again == '0' and dist.get_rank() == 1:\n"
        "    raise ValueError('the first mistake')\n"
        "dist.all_reduce(torch.ones(3))\n"
    )
    words = ("--nproc_per_node", "2", "--max_restarts", "1", str(script))
    done = python("-m", "rushlight", "run", "torchrun", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"torchrun: rank 1 \(pid \d+ on \S+\) failed with exit code 1", done.stderr)
    assert "ValueError: the first mistake" in done.stderr.partition("The error of rank 1 was:")[2]
    assert done.stdout.count("attempt 1") == 2


@needs_mpi
# 47 are 5 x 8 and 7, 4 and 3: one rank's last batch has the shape of the others, and another weight
# 45 are 5 x 8 and 5, 3 and 2: in parts of two, one rank has an exchange more than the other, unless they agree
@pytest.mark.parametrize(
    ("count", "batch"),
    [(64, ("--global-batch", "8")), (63, ("--global-batch", "8")), (60, ("--batch-size", "2", "--accumulate", "2"))],
    ids=["even", "uneven", "in parts"],
)
def test_train_by_two_ranks_is_the_training_of_one(count: int, batch: tuple, tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    import json

    import numpy as np

    import rushlight as rl

    draw = np.random.RandomState(0)
    for i in range(count):
        place = tmp_path / "data" / ("dark" if i % 2 else "light")
        place.mkdir(parents=True, exist_ok=True)
        a = draw.randint(0, 128, (16, 16, 3)) + (0 if i % 2 else 100)
        pillow.fromarray(a.astype(np.uint8)).save(place / f"{i}.png")
    words = ("--data", str(tmp_path / "data"), "--model", "lenet", "--size", "16", "--epochs", "2", "--augment", "none",
             "--quiet", "--seed", "1", "--weight-decay", "0", "--label-smoothing", "0", "--val-split", "0", "--test-split", "0.25")  # fmt: skip
    losses, states = {}, {}
    for name, more in (("one", ("--batch-size", "8")), ("two", ("--nproc", "2", *batch))):
        done = python("-m", "rushlight", "train", *words, *more, "--out", str(tmp_path / name))
        assert done.returncode == 0, done.stdout + done.stderr
        rows = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        losses[name] = [row["train_loss"] for row in rows]
        states[name] = rl.load(tmp_path / name / "last.pth", weights_only=True)["model"]
    assert len(losses["two"]) == 2 and losses["two"] == pytest.approx(losses["one"], abs=1e-4)
    for key, value in states["one"].items():
        np.testing.assert_allclose(states["two"][key].numpy(), value.numpy(), atol=1e-4)
    assert sorted(p.name for p in (tmp_path / "two").glob("*.pth")) == ["best.pth", "last.pth"]


@needs_mpi
def test_train_goes_on_after_a_rank_was_killed(tmp_path: Path) -> None:
    """`--max-restarts`: the ranks start again, and the run ends as one that nobody disturbed."""
    draw = pytest.importorskip("PIL.Image")
    import json

    import numpy as np

    random_ = np.random.RandomState(0)
    for i in range(40):
        place = tmp_path / "data" / ("dark" if i % 2 else "light")
        place.mkdir(parents=True, exist_ok=True)
        a = random_.randint(0, 128, (16, 16, 3)) + (0 if i % 2 else 100)
        draw.fromarray(a.astype(np.uint8)).save(place / f"{i}.png")
    words = ("--data", str(tmp_path / "data"), "--model", "lenet", "--size", "16", "--epochs", "12", "--augment", "none",
             "--quiet", "--seed", "1", "--val-split", "0", "--test-split", "0.2", "--nproc", "2", "--global-batch", "4")  # fmt: skip
    command = [sys.executable, "-m", "rushlight", "train", *words, "--max-restarts", "1"]
    job = subprocess.Popen([*command, "--out", str(tmp_path / "killed")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment())  # fmt: skip
    try:
        until = time.monotonic() + 600
        while not (tmp_path / "killed" / "last.pth").exists():
            assert time.monotonic() < until and job.poll() is None
            time.sleep(0.01)
        victim = next(pid for pid in ranks_of(job.pid) if variable(pid, "RANK") == "1")
        os.kill(victim, signal.SIGKILL)
        said = job.communicate(timeout=900)[0]
    finally:
        if job.poll() is None:
            job.kill()
            job.wait()
    assert job.returncode == 0 and "rank 1 (pid" in said and "SIGKILL" in said, said
    whole = python(*command[1:], "--out", str(tmp_path / "whole"))
    assert whole.returncode == 0, whole.stdout + whole.stderr
    rows = [[json.loads(line)["train_loss"] for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()] for name in ("killed", "whole")]  # fmt: skip
    assert len(rows[1]) == 12 and rows[0] == rows[1]  # to the last bit


def ranks_of(launcher: int) -> list[int]:
    """Processes below the launcher that know their rank: the scripts, not what started them."""
    found, stack = [], [launcher]
    while stack:
        pid = stack.pop()
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            stack.extend(map(int, task.read_text().split()))
        if variable(pid, "TORCHELASTIC_RUN_ID") or variable(pid, "LOCAL_WORLD_SIZE"):
            found.append(pid)
    return found


def variable(pid: int, name: str) -> str | None:
    try:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return next((p.partition(b"=")[2].decode() for p in pairs if p.startswith(name.encode() + b"=")), None)


def reached(folder: Path) -> int:
    import rushlight as rl

    path = folder / "last.pt"
    return rl.load(path, weights_only=True)["step"] if path.exists() else 0


@needs_mpi
def test_a_rank_killed_at_any_point_of_a_step_is_named_and_the_run_resumes(tmp_path: Path, monkeypatch) -> None:
    """Two points of a step, or with RUSHLIGHT_TEST_KILLS=all each of both ranks: of forward, of backward, of the exchange, of the save."""
    chance = random.Random(int(os.environ.get("RUSHLIGHT_TEST_SEED", "0")))
    points = [(rank, point) for rank in range(2) for point in range(20)]
    if os.environ.get("RUSHLIGHT_TEST_KILLS") != "all":
        points = chance.sample(points, 2)
    for rank, point in points:
        for old in tmp_path.glob("pid-*"):
            old.unlink()
        with monkeypatch.context() as patch:
            patch.setenv("TEST_DIES", f"{rank} {reached(tmp_path)} {point}")
            job = launch(2, "resumes.py", str(tmp_path), "100000")
        said = job.stdout + job.stderr
        pids = [int((tmp_path / f"pid-{r}").read_text().split()[0]) for r in range(2)]
        assert job.returncode == 137, said
        assert f"rank {rank} (pid {pids[rank]} on " in said and "was killed by SIGKILL" in said, said
        for pid in pids:
            command = Path(f"/proc/{pid}/cmdline")
            assert not command.exists() or not command.read_bytes()
        print(rank, point, reached(tmp_path), *re.findall(r"points \d+", said))  # shown by pytest -s
    at = reached(tmp_path)
    steps = str(at + 5)
    done = launch(2, "resumes.py", str(tmp_path), steps)
    assert done.returncode == 0 and f"segment {at} 2" in done.stdout, done.stdout
    (tmp_path / "whole").mkdir()
    whole = launch(2, "resumes.py", str(tmp_path / "whole"), steps)
    weights = [re.findall(r"weights (.*)", d.stdout) for d in (done, whole)]
    assert len(weights[0]) == 2 and set(weights[0]) == set(weights[1])  # to the last bit
