"""tools/host_path.py runs whole GPU steps without a GPU, and they launch no more than they should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy")

TOOL = Path(__file__).resolve().parents[2] / "tools" / "host_path.py"
MOST_LAUNCHES = {"lab4": 26, "mlp": 10, "dezero": 10}


def test_steps_run_and_launch_little() -> None:
    command = [sys.executable, str(TOOL), "--steps", "3", "--only", *MOST_LAUNCHES]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = {line.split()[0]: int(line.split()[2]) for line in lines[1:]}
    assert found.keys() == MOST_LAUNCHES.keys()
    for name, most in MOST_LAUNCHES.items():
        assert found[name] <= most, f"{name} launches {found[name]} kernels"
