"""Places outside a tensor: a compiled call refuses what the eager one refuses, whatever it was recorded with."""

from __future__ import annotations

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from traced import Calls

ONES = torch.ones(3, 2)
FUNCTIONS = {
    "gather": lambda x, i: x.gather(1, i),
    "take_along_dim": lambda x, i: torch.take_along_dim(x, i, 1),
    "index_select": lambda x, i: x.index_select(1, i[0]),
    "scatter": lambda x, i: x.scatter(1, i, 9.0),
    "scatter_add": lambda x, i: x.scatter_add(1, i, ONES),
    "scatter_reduce": lambda x, i: x.scatter_reduce(1, i, ONES, "amax"),
    "index_add": lambda x, i: x.index_add(1, i[0], ONES),
    "index_copy": lambda x, i: x.index_copy(1, i[0], ONES),
    "index_reduce": lambda x, i: x.index_reduce(1, i[0], ONES, "amax"),
    "index_fill": lambda x, i: x.index_fill(1, i[0], 2.0),
    "take": lambda x, i: x.take(i),
    "brackets": lambda x, i: x[:, i[0]],
    "embedding": lambda x, i: F.embedding(i, x),
    "cross_entropy": lambda x, i: F.cross_entropy(x, i[:, 0]),
}


@pytest.mark.parametrize("places", [-1, -50, 1000, 10**9])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_replay_refuses_the_places_that_eager_refuses(name, places):
    x, right = torch.arange(12.0).view(3, 4), torch.tensor([[0, 1], [1, 2], [2, 0]])
    wrong = right.clone()
    wrong[0] = places
    call = torch.compile(FUNCTIONS[name])
    for _ in range(3):
        expected = call(x, right)
    assert call.replays

    def told(fn):
        try:
            return fn(x, wrong).tolist()
        except (RuntimeError, IndexError) as error:
            return type(error)

    assert told(call) == told(FUNCTIONS[name])
    assert call(x, right).tolist() == expected.tolist()  # and goes on


def test_sorted_values_of_a_traced_step_go_back():
    """The places of `sort` are read by its derivative while their values are still to come (fuzz seed 1102336)."""

    def step(x):
        (x.sort(1)[0] * torch.arange(4.0)).sum().backward()
        return x.grad

    tracer = Calls(step)
    for k in range(5):
        leaf, other = (torch.randn(3, 4, generator=torch.Generator().manual_seed(k)) for _ in "ab")
        assert tracer(leaf.requires_grad_()).tolist() == step(other.requires_grad_()).tolist()
