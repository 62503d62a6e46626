"""Programs of tests/emulated, through the CUDA backend with its kernels compiled for the host; each says what it protects."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cuda_on_host import needs_compiler

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "tests" / "emulated").glob("emulated_*.py"))
_IN_C = "rushlight.runtime.cuda.code._launch"
NEEDS = {"emulated_launches": _IN_C, "emulated_sizes": _IN_C, "emulated_recurrent": "torch"}


@needs_compiler
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem.removeprefix("emulated_"))
def test_on_the_emulated_gpu(script: Path) -> None:
    """It ends by printing "equal"; skipped where there is no CuPy to emulate."""
    for needed in ("cupy", NEEDS.get(script.stem, "cupy")):
        pytest.importorskip(needed)
    command = [sys.executable, str(ROOT / "tools" / "emulated_gpu.py"), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    trapped = done.returncode in (-signal.SIGILL, -signal.SIGTRAP)
    assert not trapped, f"a kernel used an address that is not aligned\n{done.stdout[-1000:]}"
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("equal")
