"""CUDA kernels compiled for the host: what the tests of their arithmetic share."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
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
