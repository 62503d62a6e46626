"""Proofs on a real GPU: memory that runs out anywhere, a kernel that fails, a lost device, two processes at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as rl
from faults import (
    OPTIMISERS,
    Case,
    Injected,
    allocation_fails,
    check_compiled,
    check_device_lost,
    check_optimiser,
    check_training,
    explains,
    kernel_fails,
)
from rushlight.data import DataLoader, TensorDataset

pytestmark = pytest.mark.skipif(not rl.cuda.is_available(), reason="needs a GPU")

TRAINS = """
import sys
sys.path.insert(0, sys.argv[1])
from faults import Case
case = Case("cuda", "Adam")
print([case.step(i % 4).hex() for i in range(200)])
"""
BREAKS = """
import cupy, rushlight as rl
x = rl.zeros(4, device="cuda")
cupy.RawKernel('extern "C" __global__ void bad(float* p) { p[1ll << 40] = 1; }', "bad")((1,), (1,), (x._a,))
for again in range(2):
    try:
        x.cpu()
    except rl.AcceleratorError as error:
        assert "restart the process" in str(error), error
    else:
        raise SystemExit("a lost GPU was not noticed")
print("lost and said so", flush=True)
import os
os._exit(0)
"""


@pytest.mark.parametrize("name", [*OPTIMISERS, "Adafactor"])
def test_a_step_without_memory_is_not_begun(name: str) -> None:
    check_optimiser("cuda", name, allocation_fails, rl.OutOfMemoryError)
    check_optimiser("cuda", name, kernel_fails, Injected)


def test_forward_and_backward_without_memory() -> None:
    assert check_training("cuda", allocation_fails, rl.OutOfMemoryError) >= 1
    assert check_training("cuda", kernel_fails, Injected) >= 10


@pytest.mark.filterwarnings("ignore:compile")
def test_compiled_steps_without_memory() -> None:
    assert check_compiled("cuda", allocation_fails, rl.OutOfMemoryError, most=40) >= 2


def test_a_loader_whose_batch_finds_no_memory_goes_on() -> None:
    data = TensorDataset(rl.arange(12.0).reshape(6, 2))
    loader = iter(DataLoader(data, batch_size=2))
    sums = []
    for k in range(3):
        (batch,) = next(loader)
        with pytest.raises(rl.OutOfMemoryError) as caught, allocation_fails(1):
            batch.to("cuda")
        explains(caught.value)
        sums.append(batch.to("cuda").sum().item())
    assert sums == [6.0, 22.0, 38.0]


def test_a_lost_device_says_that_the_process_must_go() -> None:
    check_device_lost()
    done = subprocess.run([sys.executable, "-c", BREAKS], capture_output=True, text=True, timeout=600)
    assert "lost and said so" in done.stdout, done.stdout + done.stderr


def test_two_processes_on_one_gpu() -> None:
    case = Case("cuda", "Adam")
    wanted = str([case.step(i % 4).hex() for i in range(200)])
    command = [sys.executable, "-c", TRAINS, str(Path(__file__).parents[1] / "support")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for one in both:
        assert one.communicate(timeout=600)[0].strip() == wanted
