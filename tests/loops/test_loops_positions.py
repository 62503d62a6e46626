"""Loops that look rows up by index: positions are looked at where the line stands, and errors come from there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.nn import functional as F
from traced import both

N = 12


def _words(n: int = N, size: int = 4, high: int = 9) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rl.tensor(rng.integers(0, high, (size, 5))) for _ in range(n)]


def test_rows_of_a_range_that_the_stretch_makes(device: Any) -> None:
    def program() -> Any:
        words, places, head = nn.Embedding(9, 6), nn.Embedding(5, 6), nn.Linear(6, 9)
        net = nn.ModuleList([words, places, head]).to(device)
        opt = optim.Adam(net.parameters(), lr=0.1)
        kept = []
        for x in _words():
            x = x.to(device)
            opt.zero_grad()
            h = words(x) + places(rl.arange(x.shape[1], device=device))
            loss = F.cross_entropy(head(h).view(-1, 9), x.view(-1))
            loss.backward()
            opt.step()
            kept.append(loss.item())
        return kept, list(net.parameters())

    seen = both(program, replays=N - 6)
    assert any(row["events"] > 6 for row in seen.loops)


def test_likeliest_words_are_looked_up_again(device: Any) -> None:
    def program() -> Any:
        words, head = nn.Embedding(9, 6).to(device), nn.Linear(6, 9).to(device)
        token, kept = rl.tensor([1, 2], device=device), []
        with rl.no_grad():
            for _ in range(N):
                h = words(token).tanh()
                best = head(h).argmax(dim=-1)
                kept.append((words(best) * h).sum().item())
        return kept

    both(program, replays=N - 6)


@pytest.mark.parametrize("how", ["brackets", "index_select", "gather", "take", "two", "put", "add"])
def test_positions_from_outside(how: str, device: Any) -> None:
    def program() -> Any:
        w = rl.randn(9, 6, device=device, requires_grad=True)
        opt = optim.SGD([w], lr=0.1, momentum=0.9)
        kept = []
        for x in _words():
            at = x.to(device).view(-1)
            opt.zero_grad()
            y = (w * 2).tanh()
            if how == "brackets":
                z = y[at]
            elif how == "index_select":
                z = y.index_select(0, at)
            elif how == "gather":
                z = y.gather(0, at.view(-1, 1).expand(20, 6))
            elif how == "take":
                z = y[at, 2]
            elif how == "two":
                z = y[at][:, at % 6]
            elif how == "put":
                z = (y * 1).index_put((at,), y[:1].expand(20, 6) * 2, accumulate=True)
            else:
                z = rl.zeros_like(y).index_add(0, at, y[at] * 3)
            loss = z.pow(2).mean()
            loss.backward()
            opt.step()
            kept.append(loss.item())
        return kept, w

    both(program, replays=N - 6)


@pytest.mark.parametrize("kind", ["embedding", "brackets", "index_add", "gather"])
@pytest.mark.parametrize("bad", [9, -10])
def test_a_wrong_position_raises_where_it_stands(kind: str, bad: int) -> None:
    def program() -> Any:
        w = rl.randn(9, 6, requires_grad=True)
        opt = optim.SGD([w], lr=0.1)
        kept: list[Any] = []
        for i, x in enumerate(_words()):
            at = x.view(-1).clone()
            if i in (8, 9):
                at[3] = bad
            opt.zero_grad()
            y = (w * 2).tanh()
            try:
                kept.append("before")
                if kind == "embedding":
                    z = F.embedding(at, y)
                elif kind == "brackets":
                    z = y[at]
                elif kind == "index_add":
                    z = rl.zeros_like(y).index_add(0, at, w[:1].expand(20, 6))
                else:
                    z = y.gather(0, at.view(-1, 1).expand(20, 6))
                kept.append("behind")
            except (IndexError, RuntimeError) as error:
                kept.append((type(error).__name__, str(error)))
                z = y
            loss = (z * z).mean()
            loss.backward()
            opt.step()
            kept.append(loss.item())
        return kept, w

    both(program)


def test_positions_that_grow_in_place() -> None:
    """A pending change of the positions is not overlooked: the look would see old values."""

    def program() -> Any:
        words = nn.Embedding(9, 6)
        opt = optim.SGD(words.parameters(), lr=0.1)
        at, kept = rl.zeros(3, dtype=rl.int64), []
        for _ in range(N):
            opt.zero_grad()
            try:
                at.add_(1)
                out = words(at)
                kept.append("found")
            except IndexError as error:
                kept.append(str(error))
                at.zero_()
                out = words(at)
            loss = (out.tanh() * 2).sum()
            loss.backward()
            opt.step()
            kept.append(loss.item())
        return kept, list(words.parameters())

    both(program)


def test_classes_that_grow_in_place() -> None:
    def program() -> Any:
        w = rl.randn(4, 5, requires_grad=True)
        opt = optim.SGD([w], lr=0.1)
        y, kept = rl.zeros(4, dtype=rl.int64), []
        for _ in range(N):
            opt.zero_grad()
            try:
                y.add_(1)
                loss = F.cross_entropy(w * 2, y)
                kept.append("found")
            except IndexError as error:
                kept.append(str(error))
                y.zero_()
                loss = F.cross_entropy(w * 3, y)
            loss.backward()
            opt.step()
            kept.append(loss.item())
        return kept, w

    both(program, replays=0)


def test_positions_that_numpy_changes() -> None:
    def program() -> Any:
        w = rl.randn(9, 6, requires_grad=True)
        opt = optim.SGD([w], lr=0.1)
        raw = np.zeros(4, np.int64)
        at, kept = rl.from_numpy(raw), []
        for i in range(N):
            raw[:] = np.arange(4) + i % 5
            opt.zero_grad()
            y = (w * 2).tanh()
            z = y[at]
            if i == 7:
                raw[0] = 8  # backward adds to the row that is named now
            if i == 9:
                raw[1] = 5
                z = z + y[at]
            loss = (z * z).mean()
            loss.backward()
            opt.step()
            kept.append(loss.item())
        return kept, w

    both(program, replays=3)


@pytest.mark.parametrize("when", ["before", "between", "behind", "backward"])
def test_an_input_that_numpy_changes_between_two_reads(when: str) -> None:
    """Steps that do not read it need no look at it; the next that does has one."""

    def program() -> Any:
        net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
        opt = optim.SGD(net.parameters(), lr=0.1)
        raw = np.ones((4, 6), np.float32)
        x, kept = rl.from_numpy(raw), []
        for i in range(N):
            raw[:] = np.arange(24).reshape(4, 6) * 0.01 * (i + 1)
            odd = i in (7, 8, 10)
            opt.zero_grad()
            h = net[0](x)
            if odd and when == "before":
                raw[1] = 5.0
            h = net[1](h)
            if odd and when == "between":
                raw[2] = 3.0
            y = net[2](h) + x.T.reshape(4, 6)
            if odd and when == "behind":
                raw[:] = -1.0
            loss = (y.tanh() * x).mean()
            if odd and when == "backward":
                raw[3] = 2.0
            loss.backward()
            opt.step()
            kept.append(loss.item())
        return kept, list(net.parameters())

    both(program, replays=2)


def test_masks_and_negative_positions() -> None:
    def program() -> Any:
        w = rl.randn(9, 6, requires_grad=True)
        opt = optim.SGD([w], lr=0.1)
        kept = []
        for x in _words():
            at = x.view(-1) - 9
            opt.zero_grad()
            y = (w * 2).tanh()
            z = y[at] * 2
            z = z * 1
            z[x.view(-1) > 4] = 0.5
            loss = (z * z).mean() + y[y > 0].sum()
            loss.backward()
            opt.step()
            kept.append(loss.item())
        return kept, w

    both(program)
