"""The smaller networks of benchmarks/strangers.py: traced loops have eager's bits, compiled steps learn what eager ones do."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import rushlight as rl
from traced import both, compare

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import strangers_rows

LARGE = "convnext half llama neighbours noising speech squeezed swin vae wavenet".split()
ROWS = {name: row for name, row in strangers_rows.every_row().items() if name not in LARGE}
# Whose loops find no stretch that repeats in twelve steps, and which `compile` runs as loops do, or eagerly.
NOT_REPLAYED = "detections fourier lengths maml private quasi_newton recomputed skipgram".split()
NOT_COMPILED = "critic crf detections lengths lora ppo quasi_newton routed skipgram".split()


def learnt(name: str, steps: int, wrap: Any = None) -> tuple[Any, Any]:
    """Losses and what the steps changed, and what was called."""
    rl.manual_seed(0)
    step = ROWS[name](rl)
    call = step if wrap is None else wrap(step)
    losses = [float(call()) for _ in range(steps)]
    return (losses, [t.detach().clone() for t in getattr(step, "kept", [])]), call


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore")
def test_traced(name: str) -> None:
    both(lambda: learnt(name, 12)[0], replays=name not in NOT_REPLAYED, exact=True)


@pytest.mark.parametrize("name", ROWS)
def test_compiled(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (expected, _), (found, compiled) = learnt(name, 8), learnt(name, 8, rl.compile)
    compare(expected, found)
    assert bool(compiled.replays) == (name not in NOT_COMPILED), compiled.why()
