"""CUDA kernels compiled for the host: what the tests of their arithmetic share."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight
from precompiled import FLAGS, precompiled

KERNELS = Path(rushlight.__file__).parent / "runtime" / "cuda" / "kernels"
EMULATOR = Path(__file__).parent / "cuda_emulator.h"
COMPILER = shutil.which("g++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="g++ compiles the kernels for the host")


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


ENTRY = """
extern "C" void run_{0}(unsigned x, unsigned y, unsigned z, unsigned threads, long long* words) {{
    launch({{x, y, z}}, threads, [=] {{ call_with({0}, words); }});
}}"""
# What only a GPU's assembler understands, and what stands for it here.
ASSEMBLY = (
    (r'asm volatile\("atom\.acq_rel[^;]*;"[^;]*;', "seen = atomicInc(counter, gridDim.z - 1);"),
    (r'asm volatile\("prefetch[^;]*;"[^;]*;', ";"),
    (r"extern __shared__ (?:__align__\(\d+\) )?char room\[\];", "alignas(128) static char room[1 << 18];"),
)


def kernels(folder: Path, file: str, names: Iterable[str], before: str = "", **macros: Any) -> Callable[..., None]:
    """run(name, grid, threads, *values) of a file's kernels: arrays, numbers, structures of ctypes; None is no address."""
    names = tuple(names)
    defined = "".join([f"#define {k} {v}\n" for k, v in macros.items()])
    text = (KERNELS / "common.cu").read_text() + before + (KERNELS / f"{file}.cu").read_text()
    for found, instead in ASSEMBLY:
        text = re.sub(found, instead, text)
    entries = "".join([ENTRY.format(name) for name in names])
    library = compiled(folder, file, f"{defined}{text}\n#undef C\n{entries}")

    def run(name: str, grid: tuple[int, ...], threads: int, *values: Any) -> None:
        words = (ctypes.c_longlong * len(values))(*map(_word, values))
        getattr(library, f"run_{name}")(*grid, *(1,) * (3 - len(grid)), threads, words)

    return run


def _word(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.ctypes.data
    if isinstance(value, float):
        return int.from_bytes(struct.pack("<d", value), "little", signed=True)
    if isinstance(value, (ctypes.Array, ctypes.Structure)):
        return ctypes.addressof(value)
    return int(value or 0)
