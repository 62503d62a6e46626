"""Meshes, spread tensors, sharding, uneven inputs: the same script with PyTorch and with rushlight."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from test_distributed import HERE, environment, free_port, launch, needs_mpi

NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@functools.cache
def oracle() -> subprocess.Popen:
    """A process that has imported PyTorch, from which its ranks are forked; it ends with this one."""
    pytest.importorskip("torch")
    command = [sys.executable, "-W", "ignore", str(HERE / "forked.py")]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment())


@pytest.fixture(scope="module", autouse=True)
def _ends() -> Iterator[None]:
    yield
    if oracle.cache_info().currsize:
        with oracle() as process:  # its pipes are closed, and it ends
            assert process.stdin is not None
        oracle.cache_clear()


def theirs(count: int, script: str, *args: str) -> None:
    """The script by PyTorch's ranks, where the oracle is installed."""
    process = oracle()
    assert process.stdin is not None and process.stdout is not None
    print(json.dumps([count, free_port(), str(HERE / script), *args]), file=process.stdin, flush=True)
    said = json.loads(process.stdout.readline())
    assert said is None, said


def compare(count: int, script: str, parts: str, folder: Path, limit: float = 2e-3) -> int:
    """Run a script with both libraries; every line that every rank told, with numbers near each other."""
    theirs(count, script, parts, str(folder / "theirs"))
    done = launch(count, script, parts, str(folder / "ours"))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = 0
    for rank in range(count):
        told = [(folder / f"{who}.{rank}").read_text().splitlines() for who in ("theirs", "ours")]
        assert len(told[0]) == len(told[1])
        for a, b in zip(*told):
            assert NUMBER.sub("#", a) == NUMBER.sub("#", b), f"rank {rank}\n{a}\n{b}"
            for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)):
                assert abs(float(x) - float(y)) <= limit * (1 + abs(float(x))), f"rank {rank}\n{a}\n{b}"
            lines += 1
    return lines


@needs_mpi
@pytest.mark.parametrize("count", [2, 4])
def test_meshes_and_spread_tensors_are_pytorchs(count: int, tmp_path: Path) -> None:
    parts = "meshes,moves,operations,shapes,gradients,modules,losses,files,mapped"
    parts += ",squares" if count == 4 else ""
    assert compare(count, "spread.py", parts, tmp_path) > 350


@needs_mpi
def test_checkpoint_of_spread_tensors_is_read_by_another_number_of_ranks(tmp_path: Path) -> None:
    compare(4, "spread.py", "save", tmp_path)
    assert compare(2, "spread.py", "load", tmp_path) == 10


@needs_mpi
def test_tensor_parallel_layers_are_pytorchs(tmp_path: Path) -> None:
    assert compare(2, "spread.py", "parallel", tmp_path) > 100


@needs_mpi
def test_a_published_transformer_is_sharded_recomputed_and_saved_as_by_pytorch(tmp_path: Path) -> None:
    assert compare(2, "published.py", "forward,recomputed,kept", tmp_path) > 150


@needs_mpi
@pytest.mark.parametrize("count", [2, 4])
def test_a_published_plan_cuts_a_transformer_as_pytorch(count: int, tmp_path: Path) -> None:
    assert compare(count, "published.py", "plan", tmp_path) > 40


@needs_mpi
def test_fully_shard_is_pytorchs(tmp_path: Path) -> None:
    assert compare(2, "sharding.py", "second,wrapped", tmp_path) > 200


@needs_mpi
def test_copies_of_shards_are_pytorchs(tmp_path: Path) -> None:
    assert compare(4, "sharding.py", "grid", tmp_path) > 50


@needs_mpi
@pytest.mark.parametrize("count", [2, 4])
def test_fully_sharded_data_parallel_is_one_process(count: int, tmp_path: Path) -> None:
    done = launch(count, "sharding.py", "first", str(tmp_path / "ours"))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_mpi
def test_uneven_inputs_samplers_and_hooks_are_pytorchs(tmp_path: Path) -> None:
    assert compare(2, "uneven.py", "joins,buffers,samplers,hooks,averages,mistakes", tmp_path) > 100


@needs_mpi
@pytest.mark.parametrize("count", [2, 4])
def test_pipelines_are_pytorchs_and_one_process(count: int, tmp_path: Path) -> None:
    assert compare(count, "pipelines.py", "manual,cut,mistakes", tmp_path) == (15 if count == 2 else 13) * count
    told = (tmp_path / f"ours.{count - 1}").read_text()
    assert told.count(": True True 4 [") == 7, told


@needs_mpi
def test_data_parallel_stages_and_spread_sequences_are_one_process(tmp_path: Path) -> None:
    done = launch(4, "pipelines.py", "data_parallel,attention", str(tmp_path / "ours"))
    assert done.returncode == 0, done.stdout + done.stderr
