"""CUDA kernels compiled for the host: what the tests of their arithmetic share."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight
from precompiled import FLAGS, precompiled

KERNELS = Path(rushlight.__file__).parent / "runtime" / "cuda" / "kernels"
EMULATOR = Path(__file__).parent / "cuda_emulator.h"
COMPILER = shutil.which("g++")
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="g++ compiles the kernels for the host"
)


def compiled(folder: Path, name: str, text: str) -> Any:
    """The library of a text, which stands behind the emulator's header; the workers of a run share it."""
    folder = Path(os.environ.get("EMULATED_GPU_FOLDER", folder))
    command = [str(COMPILER), *FLAGS]
    text = f'#include "{precompiled(EMULATOR, folder, command)}"\n{(KERNELS / "kernel.cuh").read_text()}{text}'
    made = folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.so"
    if not made.exists():
        source, new = (made.with_suffix(f".{os.getpid()}.{end}") for end in ("cpp", "new"))
        source.write_text(text)
        command += ["-shared", "-o", str(new), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:3000]
        new.replace(made)  # in one piece: other processes may be looking
    return ctypes.CDLL(str(made))


def runs_on_the_emulated_gpu(script: str) -> None:
    """Run a script of tests/emulated, which ends by printing "equal", on an emulated GPU; skip where there is none."""
    pytest.importorskip("cupy")
    root = Path(__file__).parents[2]
    command = [
        sys.executable,
        str(root / "tools/emulated_gpu.py"),
        str(root / "tests/emulated" / script),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    trapped = done.returncode in (-signal.SIGILL, -signal.SIGTRAP)
    assert not trapped, f"a kernel used an address that is not aligned\n{done.stdout[-1000:]}"
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("equal")
