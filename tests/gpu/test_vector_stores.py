"""Kernels that are bound by memory write several numbers at once; attention's joined derivative equals its parts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rushlight.capture.joined import sequences as attention  # noqa: F401 - makes the kernel
from rushlight.capture.joined.proof import agrees

ROOT = Path(__file__).resolve().parents[2]
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


def ptx(text: str, tmp_path: Path) -> str:
    """What nvcc makes of a source for Hopper."""
    source, made = tmp_path / "kernel.cu", tmp_path / "kernel.ptx"
    folder = ROOT / "src" / "rushlight" / "runtime" / "cuda" / "kernels"
    source.write_text((folder / "kernel.cuh").read_text() + text)
    command = ["nvcc", "-std=c++17", "-arch=sm_90", "-ptx", "-o", made, source]
    subprocess.run(command, check=True, capture_output=True)
    return made.read_text()


def sources() -> dict[str, str]:
    sys.path.insert(0, str(ROOT / "tools"))
    import check_kernels as check

    made = check.load("code.generate")
    pair, ways = ("float32", "float32"), ("a", "a")
    found = {"add": made.flat_source("add", pair, ways, "float32", 4, "unsigned")}
    found |= {k: v for k, v in check.update_sources(True).items() if k == "adam_update-float"}
    wanted = ("casts-float-1", "group_norm-float-0", "layer_norm-float-0")
    found |= {k: v for k, v in check.family_sources(True).items() if k in wanted}
    found |= {k: v for k, v in check.file_sources(True).items() if k == "dropout-float32"}
    return found


@needs_nvcc
@pytest.mark.parametrize(
    "name", ["add", "adam_update-float", "casts-float-1", "group_norm-float-0", "layer_norm-float-0", "dropout-float32"]
)
def test_several_numbers_are_written_at_once(name: str, tmp_path: Path) -> None:
    text = ptx(sources()[name], tmp_path)
    assert re.search(r"st\.global\.v[24]\.", text), name
    assert re.search(r"ld\.global(\.nc)?\.v[24]\.", text), name


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_gradients_beside_each_other_are_those_of_attention(order: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    shape = (2, 3, 5, 8)
    arrays = [random.standard_normal(shape).astype(np.float32) for _ in range(5)]
    stats = np.zeros((2, 3, 5, 1), np.float32)
    attrs = {"causal": True, "scale": 0.3, "order": order}
    assert agrees("attention_grad_cat", [*arrays, stats], attrs)
    kept = np.zeros((0,), np.float32)
    masked = [*arrays[:4], None, arrays[4], stats, kept]
    assert agrees("masked_attention_grad_cat", masked, {**attrs, "p": 0.0})


def test_every_file_of_kernels_is_compiled_and_none_is_an_error(capsys) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import check_kernels as check

    made = [*check.reduction_sources(True).values()]
    for family in ("file", "update", "conv", "family"):
        made += getattr(check, f"{family}_sources")(True).values()
    whole = "\n".join(made)
    assert [name for name, text in check.FILES.items() if text.splitlines()[0] not in whole] == []
    assert check.main(["--few", "--only", "no such kernel"]) == 1
    assert "softmax" in capsys.readouterr().out
