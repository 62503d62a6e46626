"""What an optimiser reads of its parameters in C and in Python is the same, and a step takes it only where all is usual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.core import columns as module
from rushlight.core.columns import bump_all_in_python, columns_in_python
from rushlight.optim import stepping

NAMES, SCALARS = ("exp_avg", "exp_avg_sq"), ("step",)


def _stepped(n: int = 4) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(0)
    params = [rl.nn.Parameter(rl.tensor(rng.standard_normal((2, 3)), dtype=rl.float32)) for _ in range(n)]
    for p in params:
        p.grad = rl.tensor(rng.standard_normal((2, 3)), dtype=rl.float32)
    optimizer = rl.optim.Adam(params, lr=0.1)
    optimizer.step()
    return params, optimizer


def _no_gradient(params: list[Any], optimizer: Any) -> None:
    params[1].grad = None


def _no_gradients(params: list[Any], optimizer: Any) -> None:
    optimizer.zero_grad()


def _no_state(params: list[Any], optimizer: Any) -> None:
    del optimizer.state[params[2]]


def _part_of_a_state(params: list[Any], optimizer: Any) -> None:
    del optimizer.state[params[2]]["exp_avg"]


def _state_of_none(params: list[Any], optimizer: Any) -> None:
    optimizer.state[params[2]]["exp_avg"] = None


def _count_as_a_number(params: list[Any], optimizer: Any) -> None:
    optimizer.state[params[2]]["step"] = 1.0


def _two_dtypes(params: list[Any], optimizer: Any) -> None:
    params[3].data = params[3].data.double()


def _complex(params: list[Any], optimizer: Any) -> None:
    for p in params:
        p.data = p.data.to(rl.complex64)


def _tensor_lr(params: list[Any], optimizer: Any) -> None:
    optimizer.param_groups[0]["lr"] = rl.tensor(0.1)


def _tensor_beta(params: list[Any], optimizer: Any) -> None:
    optimizer.param_groups[0]["betas"] = (0.9, rl.tensor(0.99))


def _saved_state(params: list[Any], optimizer: Any) -> None:
    optimizer.state[params[0]]["exp_avg"].mul_(1.0)


def _a_tuple(params: list[Any], optimizer: Any) -> None:
    optimizer.param_groups[0]["params"] = tuple(params)


def _other_states(params: list[Any], optimizer: Any) -> None:
    optimizer.state = list(optimizer.state.items())


UNUSUAL = (
    _no_gradients, _no_state, _part_of_a_state, _state_of_none, _count_as_a_number, _two_dtypes,
    _complex, _tensor_lr, _tensor_beta, _a_tuple, _other_states,
)  # fmt: skip
USUAL = (lambda params, optimizer: None, _no_gradient, _saved_state)


def _flat(found: Any) -> Any:
    """Identities, which are what matters."""
    if found is None:
        return None
    live, arrays, kept, counts = found
    return [id(t) for t in live], [id(a) for a in arrays], sorted(id(t) for t in kept), [
        [id(a) for a in column] for column in counts
    ]  # fmt: skip


@pytest.mark.parametrize("change", [*USUAL, *UNUSUAL], ids=lambda f: f.__name__)
def test_both_find_the_same(change: Callable[..., None]) -> None:
    params, optimizer = _stepped()
    change(params, optimizer)
    group = optimizer.param_groups[0]
    found = module.columns(group, optimizer.state, NAMES, SCALARS)
    also = columns_in_python(group, optimizer.state, NAMES, SCALARS)
    assert _flat(found) == _flat(also)
    assert (found is None) == (change in UNUSUAL)


def test_without_states_none_is_asked_for() -> None:
    params, optimizer = _stepped()
    group = optimizer.param_groups[0]
    found = module.columns(group, {}, (), ())
    assert _flat(found) == _flat(columns_in_python(group, {}, (), ()))
    assert [a is p._a for a, p in zip(found[1][1:], params)] == [True] * 4


def test_wrong_arguments_are_errors() -> None:
    for args in (({}, {}, ()), ([], {}, (), ()), ({}, {}, [], ())):
        with pytest.raises((TypeError, AttributeError)):
            module.columns(*args)
    with pytest.raises((TypeError, AttributeError)):
        module.bump_all([1])


@pytest.mark.parametrize("bump", [module.bump_all, bump_all_in_python])
def test_versions_go_up_together(bump: Callable[[list[Any]], None]) -> None:
    fresh, seen = rl.zeros(2), rl.zeros(2)
    seen.add_(1)
    alias = seen[:1]  # shares the counter
    bump([fresh, seen, seen])
    assert (fresh._version, seen._version, alias._version) == (1, 3, 3)


def test_the_usual_step_is_found_in_one_loop(monkeypatch: Any) -> None:
    params, optimizer = _stepped()
    answers = []

    def spy(*args: Any) -> Any:
        answers.append(module.columns(*args))
        return answers[-1]

    monkeypatch.setattr(stepping, "columns", spy)
    optimizer.step()
    assert answers[-1] is not None
    params[0].grad = None
    optimizer.step()
    assert len(answers[-1][0]) == 3
    assert [float(optimizer.state[p]["step"]) for p in params] == [2, 3, 3, 3]


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "NAdam"])
def test_a_step_without_the_loop_is_the_same(name: str, monkeypatch: Any) -> None:
    sides = []
    for found in (module.columns, lambda *args: None):
        monkeypatch.setattr(stepping, "columns", found)
        params, _ = _stepped()
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(rl.optim, name)(params, lr=0.1, **options)
        for _ in range(3):
            optimizer.step()
        sides.append([p.detach().numpy() for p in params])
        assert all(p._version == 4 for p in params)
    for a, b in zip(*sides):
        assert (a == b).all()
