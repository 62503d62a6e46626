"""Kernels change what they say they change, and nothing else: whoever puts calls off, merges or drops them relies on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn import functional as F
from rushlight.runtime.door import Kernel, listening
from test_traced_bits import NETWORKS, OPTIMISERS


def _bits(a: Any) -> Any:
    if not hasattr(a, "dtype") or not hasattr(a, "strides") or not a.size:
        return None
    host = a if isinstance(a, np.ndarray) else a.get()
    return np.ascontiguousarray(host).tobytes()


class Witness:
    """A listener that compares operands before and after each call; it is shown what a call runs when nobody listens."""

    def __init__(self) -> None:
        self.wrong: set[tuple[str, int]] = set()
        self.seen: set[str] = set()

    def __call__(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict, call: Callable[[], Any]) -> Any:
        said = kernel.mutates(arrays, attrs) if callable(kernel.mutates) else kernel.mutates
        before = [_bits(a) for a in arrays]
        out = call()
        self.seen.add(kernel.name)
        for i, (a, old) in enumerate(zip(arrays, before)):
            if i not in said and old is not None and _bits(a) != old:
                self.wrong.add((kernel.name, i))
        return out


@pytest.mark.parametrize("rule", OPTIMISERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_training_step(name: str, rule: str, device: str) -> None:
    rl.manual_seed(0)
    net, shape, classes = NETWORKS[name]()
    net = net.to(device)
    opt = OPTIMISERS[rule](net.parameters())
    x, y = rl.randn(*shape).to(device), rl.randint(0, classes, shape[:1]).to(device)
    witness = Witness()
    with listening(witness):
        for _ in range(2):
            opt.zero_grad()
            F.cross_entropy(net(x).float(), y).backward()
            rl.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            opt.step()
        net.eval()
        net(x)
    assert len(witness.seen) > 5 and not witness.wrong
