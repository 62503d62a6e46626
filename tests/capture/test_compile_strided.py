"""`as_strided` of an argument in a compiled function: where an argument begins in its memory is not part of its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch

WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "values": lambda x, y: [(y.as_strided((3, 4), (4, 1)) * 2).sum() + x.sum()],
    "an offset": lambda x, y: [y.as_strided((2, 2), (4, 1), 5) * 2 + x[:2, :2]],
    "written": lambda x, y: [y.as_strided((2, 2), (4, 1)).add_(1), y + x],
    "returned": lambda x, y: [y + x, y.as_strided((3, 4), (4, 1))],
    "of a view": lambda x, y: [y + x, y.t().as_strided((3, 4), (4, 1))[1:]],
    "of a result": lambda x, y: [(y + x).as_strided((2, 2), (4, 1), 3)],
}
PICKS: list[Callable[[Any], Any]] = [
    *[lambda b: b[3:6]] * 5, lambda b: b[2:5], lambda b: b[5:8], lambda b: b[3:6].clone(),
    lambda b: b[:3].clone(), lambda b: b[1:4],
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("way", WAYS)
def test_arguments_that_begin_elsewhere(way: str, device: str) -> None:
    step, x = torch.compile(WAYS[way]), torch.ones(3, 4, device=device)
    eager, compiled = [torch.arange(100.0, device=device).reshape(25, 4) for _ in range(2)]
    for pick in PICKS:
        expected, found = WAYS[way](x, pick(eager)), step(x, pick(compiled))
        for a, b in zip(expected, found, strict=True):
            assert a.tolist() == b.tolist() and a.stride() == b.stride()
        assert eager.tolist() == compiled.tolist()


def test_what_fullgraph_says(device: str) -> None:
    """Not words about values that are read: nothing is read here."""
    base, ones = torch.arange(100.0, device=device).reshape(25, 4), torch.ones(3, 4, device=device)
    step = torch.compile(WAYS["values"], fullgraph=True)
    with pytest.raises(RuntimeError, match="as_strided, .* around an argument, at .*its clone()") as said:
        step(ones, base[3:6])
    assert "item()" not in str(said.value) and "where()" not in str(said.value)
    inside = torch.compile(lambda y: y.clone().as_strided((2, 2), (4, 1), 3) * 2, fullgraph=True)
    for _ in range(4):
        assert inside(base[3:6]).tolist() == [[30.0, 32.0], [38.0, 40.0]]
    assert inside.replays


@pytest.mark.parametrize(("act", "advice"), [
    (lambda x: float(x.sum()) * x, "Return the tensor"),
    (lambda x: x[x > 0], "Return the tensor"),
    (lambda x: print("") or x * 2, "outside of the function"),
])  # fmt: skip
def test_what_fullgraph_says_of_others(act: Callable[[Any], Any], advice: str) -> None:
    step = torch.compile(act, fullgraph=True)
    with pytest.raises(RuntimeError, match=advice):
        for _ in range(3):
            step(torch.ones(3))
