"""Odd arguments are taken or refused as PyTorch takes or refuses them; `tests/ops/odd_arguments.py` asks for all of them."""

from __future__ import annotations

import re

import pytest

from odd_arguments import cases, difference

torch = pytest.importorskip("torch")

# What may differ: things that we take and PyTorch refuses (docs/trust.md), Muon's bfloat16 and where LBFGS ends.
LEFT = re.compile(r"accepted|refused|slow|value optim\.(Muon|LBFGS)|.*device=")
NAMES = """
Adam Rprop StepLR CyclicLR OneCycleLR LinearLR CosineAnnealingWarmRestarts ReduceLROnPlateau Linear Bilinear Embedding Dropout HuberLoss
BatchNorm1d MaxPool2d Flatten DataLoader RandomSampler WeightedRandomSampler BatchSampler random_split
""".split()
STEP = 9  # every ninth of the odd values, others for each parameter


@pytest.mark.parametrize("name", NAMES)
def test_odd_arguments_of(name: str) -> None:
    chosen = [c for i, c in enumerate(cases(torch)) if c[1] == name and i % STEP == 0]
    found = [d for d in (difference(torch, c) for c in chosen) if d]
    assert [d for d in found if not LEFT.match(d)] == []
