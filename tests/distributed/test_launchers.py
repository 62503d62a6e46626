"""Launchers that know nothing of rushlight start ranks that train as one process does, and hear of a killed one.

Those that need a large package (accelerate, lightning, transformers, ray) run where it is installed: nightly, by
`python -m pip install accelerate lightning transformers 'ray[train]'` in an environment of the tests.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from test_distributed import HERE, environment, free_port, launch, needs_mpi, python
from test_distributed_meeting import needs_mpich, on, two_hosts

pytestmark = needs_mpi
ROOT = Path(__file__).resolve().parents[2]
RUN = [sys.executable, "-m", "rushlight", "run"]


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"nightly: {package} is not installed")


def losses(text: str) -> list[list[float]]:
    return [ast.literal_eval(found) for found in re.findall(r"losses (\[.*?\])", text)]


def of_one_process(script: str, *words: str, **more: str) -> list[float]:
    done = subprocess.run([*RUN, str(HERE / script), *words], capture_output=True, text=True, timeout=900, env=environment() | more)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return losses(done.stdout)[0]


@functools.cache
def of_one_rank() -> tuple[float, ...]:
    alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "RANK": "0", "WORLD_SIZE": "1"}
    return tuple(of_one_process("under.py", **alone))


def trains_and_hears(commands: list[tuple[list[str], dict[str, str]]], one: Sequence[float]) -> str:
    """Start all, compare both ranks' losses with those of one process, kill rank 1; rank 0 says which it lost."""
    jobs = [
        subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, env=environment() | more
        )
        for words, more in commands
    ]  # fmt: skip
    said, pids = "", {}
    try:
        for job in jobs:  # a job's ranks say their numbers when their training has ended
            assert job.stdout is not None
            wanted = 2 // len(jobs)
            while wanted and (line := job.stdout.readline()):
                said += line
                if found := re.search(r"rank (\d) is process (\d+)", line):
                    pids[int(found[1])] = int(found[2])
                    wanted -= 1
            assert not wanted, said
        assert len(losses(said)) == 2, said
        for found in losses(said):
            assert found == pytest.approx(one, rel=1e-5)
        killed = time.time()
        os.kill(pids[1], signal.SIGKILL)
        said += "".join(job.communicate(timeout=900)[0] for job in jobs)
        ended = time.time()
        told = re.search(r"rank 0 told at ([\d.]+): .*rank 1 \(.*\) is gone", said)
        ours, rays = rf"rank 1 \(pid {pids[1]} on \S+\) was killed by SIGKILL", rf"Rank 1 Error Snippet.*pid={pids[1]},"
        launcher = re.search(ours, said) or re.search(rays, said, re.DOTALL)
        # A launcher may end rank 0 before that has said its words.
        assert told or launcher, said
        print(
            f"told after {(float(told[1]) if told else ended) - killed:.2f} s, by {'rank 0' if told else 'the launcher'}"
        )  # shown by pytest -s
        return said
    finally:
        for job in jobs:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()


@pytest.fixture(scope="module")
def torchrun(tmp_path_factory) -> str:
    """The folder of a program called torchrun, installed as users install it."""
    folder = tmp_path_factory.mktemp("torchrun")
    shutil.copytree(ROOT / "packaging" / "torchrun", folder / "source")
    words = ["pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(folder / "to"), str(folder / "source")]  # fmt: skip
    done = python("-m", *words)
    assert done.returncode == 0, done.stderr
    return str(folder / "to" / "bin")


@pytest.mark.parametrize("way", ["standalone", "static", "c10d", "PET"])
def test_torchrun(way: str, torchrun: str) -> None:
    words, more = [f"{torchrun}/torchrun"], {}
    if way == "PET":  # the environment that Kubernetes' training operator sets
        more = {"PET_NPROC_PER_NODE": "2", "PET_NNODES": "1", "PET_RDZV_BACKEND": "c10d"}
    else:
        words += ["--nproc_per_node", "2"]
        words += {
            "standalone": ["--standalone"],
            "static": ["--master_addr", "127.0.0.1", "--master_port", free_port()],
            "c10d": ["--rdzv_backend", "c10d", "--rdzv_endpoint", f"localhost:{free_port()}", "--rdzv_id", "7"],
        }[way]
    one = of_one_rank()
    trains_and_hears([([*words, str(HERE / "under.py"), "wait"], more)], one)


def test_more_ranks_have_the_losses_of_one_and_exchange_what_the_model_says(monkeypatch) -> None:
    done = launch(8, "under.py", "count")
    assert done.returncode == 0, done.stdout + done.stderr
    told, one = losses(done.stdout), of_one_rank()
    assert len(told) == 8 and all(rank == pytest.approx(one, rel=1e-5) for rank in told)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from scaling_model import buckets

    counted = [ast.literal_eval(row) for row in re.findall(r"exchanged (\[.*?\])", done.stdout)]
    total = 12 * (512 * 512 + 512) * 4
    assert len(counted) == 8 and all(sum(row) == total for row in counted)  # a bucket ends between two parameters
    assert all(row == pytest.approx(buckets(total, 1 << 20, 4 << 20), rel=0.01) for row in counted), counted


def test_the_docs_scripts_train(tmp_path: Path) -> None:
    """The ten lines of each launcher, as they stand in docs/distributed.md; those whose package is here."""
    blocks = re.findall(r"(?:^    .*\n)+", (ROOT / "docs" / "distributed.md").read_text(), re.MULTILINE)
    launched = ["launch", "--nproc-per-node", "2"]
    for package, word, command, told in (
        ("rushlight", "init_process_group()", launched, r"rank 1 of 2: \d\.\d+"),
        ("accelerate", "Accelerator(", launched, r"2 ranks: \d\.\d+"),
        ("transformers", "TrainingArguments(", launched, r"rank 1 of 2: \d\.\d+"),
        ("lightning", 'strategy="ddp"', ["run"], r"rank 1 of 2: 20 steps"),
        ("ray", "TorchTrainer(", ["run"], r"rank 1: \d\.\d+"),
    ):
        (block,) = [b for b in blocks if word in b]
        if importlib.util.find_spec(package) is not None:
            assert block.count("\n") in (10, 11), block
            (tmp_path / f"{package}.py").write_text(textwrap.dedent(block))
            done = python("-m", "rushlight", *command, str(tmp_path / f"{package}.py"))
            assert done.returncode == 0 and re.search(told, done.stdout), (package, done.stdout, done.stderr)


@needs("accelerate")
def test_accelerate_launch() -> None:
    words = ["accelerate", "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no",
             "--dynamo_backend", "no", "--main_process_port", "0", str(HERE / "accelerate_style.py"), "wait"]  # fmt: skip
    trains_and_hears([([*RUN, *words], {})], of_one_process("accelerate_style.py"))


@needs("accelerate")
@pytest.mark.parametrize("script", ["test_ops", "test_script", "test_sync"])
def test_accelerates_own_checks_of_two_ranks(script: str, tmp_path: Path) -> None:
    """As accelerate's tests of CPUs run them."""
    program = tmp_path / "checks.py"
    program.write_text(
        f"from accelerate import debug_launcher\nfrom accelerate.test_utils.scripts.{script} import main\n"
        "if __name__ == '__main__':\n    debug_launcher(main, num_processes=2)\n    print('ended well')\n"
    )
    done = python("-m", "rushlight", "run", str(program))
    assert done.returncode == 0 and "ended well" in done.stdout, done.stdout + done.stderr


@needs("lightning")
@pytest.mark.parametrize("launcher", [["launch", "--nproc-per-node", "2"], ["run"]], ids=["launch", "own"])
def test_lightning_ddp(launcher: list[str]) -> None:
    words = [sys.executable, "-m", "rushlight", *launcher, str(HERE / "lightning_style.py"), "2", "wait"]
    trains_and_hears([(words, {})], of_one_process("lightning_style.py", "1"))


@needs("transformers")
def test_hugging_face_trainer() -> None:
    words = [*RUN, "torchrun", "--nproc_per_node", "2", str(HERE / "trainer_style.py"), "wait"]
    trains_and_hears([(words, {})], of_one_process("trainer_style.py"))


@needs("ray")
def test_ray_train(monkeypatch) -> None:
    """A killed rank is told to the others by us, and to the driver by Ray, which ends the rest of the group."""
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "600")
    one = of_one_rank()
    said = trains_and_hears([([*RUN, str(HERE / "ray_style.py"), "wait"], {})], one)
    assert said.count("+rushlight") == 2, said  # in the workers, which other processes have started


@pytest.mark.parametrize("kind, workers", [("webdataset", 0), ("webdataset", 1), ("parquet", 0), ("json", 0)])
def test_shards_are_read_once_though_a_run_stops_in_the_middle(kind: str, workers: int, tmp_path: Path) -> None:
    if importlib.util.find_spec("webdataset" if kind == "webdataset" else "datasets") is None:
        pytest.skip("nightly: webdataset, or datasets, is not installed")
    for k in range(8):
        rows = [json.dumps({"i": i}) for i in range(25 * k, 25 * k + 25)]
        (tmp_path / f"shard-{k}.json").write_text("\n".join(rows))
        with tarfile.open(tmp_path / f"shard-{k}.tar", "w") as tar:
            for i, row in enumerate(rows):
                member = tarfile.TarInfo(f"{25 * k + i}.json")
                member.size = len(row)
                tar.addfile(member, io.BytesIO(row.encode()))
        if kind == "parquet":
            table = pytest.importorskip("pyarrow").table({"i": range(25 * k, 25 * k + 25)})
            pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / f"shard-{k}.parquet")
    for first, second in ((2, 3), (3, 2)):
        for count, run in ((first, "first"), (second, "second")):
            done = launch(count, "shards_style.py", kind, str(tmp_path), str(workers), run)
            assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("+rushlight") == done.stdout.count("once True") == second, done.stdout


def slurm(rank: int) -> dict[str, str]:
    """What srun tells one task of a step on two hosts."""
    told = {"PROCID": rank, "NTASKS": 2, "STEP_ID": 0, "JOB_ID": 77, "NNODES": 2, "LOCALID": 0, "TASKS_PER_NODE": "1(x2)"}  # fmt: skip
    return {f"SLURM_{name}": str(value) for name, value in told.items()} | {"SLURM_STEP_NODELIST": "10.77.0.[1-2]"}


@needs_mpich
@pytest.mark.parametrize("way", ["srun python", "PyTorchJob"])
def test_two_hosts(way: str) -> None:
    pods = [{"MASTER_ADDR": "localhost" if r == 0 else "10.77.0.1", "MASTER_PORT": "23456", "RANK": str(r),
             "WORLD_SIZE": "2", "KUBERNETES_SERVICE_HOST": "10.77.0.100"} for r in range(2)]  # fmt: skip
    told = pods if way == "PyTorchJob" else [slurm(0), slurm(1)]
    one = of_one_rank()
    with two_hosts() as (a, b, _):
        words = [*RUN, str(HERE / "under.py"), "wait"]
        commands = [([*on(h), *words], {"UCX_TLS": "tcp,self", **told[r]}) for r, h in enumerate((a, b))]
        trains_and_hears(commands, one)
