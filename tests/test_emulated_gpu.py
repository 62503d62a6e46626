"""Whole training steps through the CUDA backend, with its kernels compiled for the host."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy")

HERE = Path(__file__).resolve().parent
TOOL = HERE.parent / "tools" / "emulated_gpu.py"


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ compiles the kernels for the host")
def test_a_step_on_the_emulated_gpu_equals_the_cpus() -> None:
    command = [sys.executable, str(TOOL), str(HERE / "emulated_step.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "<barrier>" in done.stderr or "barrier: No such file" in done.stderr:
        pytest.skip("this g++ has no <barrier>")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("equal")
