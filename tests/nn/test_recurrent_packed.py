"""Packed sequences whose lengths Python knows: a compiled step has them, and notices when they change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Tagger(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.rnn = getattr(nn, kind)(6, 5, bidirectional=True, batch_first=True)
        self.out = nn.Linear(10, 3)

    def forward(self, x: Any, lengths: Any) -> Any:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(out)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_compiled_step_equals_eager_ones(kind: str, device: str) -> None:
    losses = []
    for compiled in (False, True):
        rl.manual_seed(0)
        net = Tagger(kind).to(device)
        optimiser = rl.optim.SGD(net.parameters(), lr=0.5)
        lengths = [4, 2, 4]

        def step(x: Any, net: Any = net, optimiser: Any = optimiser, lengths: Any = lengths) -> Any:
            optimiser.zero_grad()
            loss = net(x, lengths).square().mean()
            loss.backward()
            optimiser.step()
            return loss

        run = rl.compile(step) if compiled else step
        found = []
        for i in range(12):
            if i == 6:
                lengths[:] = [3, 4, 1]
            found.append(run(rl.randn(3, 4, 6).to(device)).item())
        losses.append(found)
        if compiled:
            assert not run.why() and run.replays
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


def test_numbers_are_carried_along(device: str) -> None:
    packed = pack_padded_sequence(rl.randn(4, 2, 3), [4, 2])
    assert packed.counts() == (2, 2, 1, 1) == packed.double().to(device).counts()
    assert packed.batch_sizes.tolist() == [2, 2, 1, 1]
    unknown = pack_padded_sequence(rl.randn(4, 2, 3), rl.tensor([4, 2]))
    assert unknown._known is None and unknown.counts() == (2, 2, 1, 1)
    out, _ = nn.GRU(3, 2)(packed)
    assert out.counts() == packed.counts()


def test_the_order_that_puts_everything_back() -> None:
    packed = pack_padded_sequence(rl.randn(4, 3, 2), [1, 4, 2], enforce_sorted=False)
    assert packed.sorted_indices.tolist() == [1, 2, 0]
    assert packed.unsorted_indices.tolist() == [2, 0, 1]
