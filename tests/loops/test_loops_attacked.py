"""Programs that do to a loop what scripts of people do, eager beside traced: all that can be seen of them is the same."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from attacks_on_loops import changes, graphs, memory, oddities, people, recipes, watched  # noqa: F401
from attacks_on_loops.common import ATTACKS, mlp, train
from rushlight import optim
from rushlight.core import hot
from traced import both, compare, run_traced

# Programs of the host: NumPy over a tensor's memory, handlers of signals, other processes.
HOST = {
    "array_inputs", "data_ptrs", "foreign_reads", "from_files",
    "storages_and_dlpack", "a_child_reads", "mapped_memory", "results_seen_by_numpy",
    "shared_with_a_child", "references_counted",
}  # fmt: skip
# One step changes the same memory twice. On a GPU that is one launch, here as in PyTorch, and which change comes last is
# not the same from run to run.
TWICE = {"sharing_params", "tying"}


def _from_the_same_seed(program: Callable[[], Any]) -> Any:
    rl.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program()


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_attack(name: str, device: str) -> None:
    if device == "cuda" and name in HOST:
        pytest.skip("a program of the host")
    if device == "cuda" and name in TWICE:
        pytest.skip("two parameters in one memory are stepped at once")
    program, options = ATTACKS[name], None if device == "cpu" else device
    rl.set_default_device(options)
    try:
        expected = _from_the_same_seed(program)
    except (TypeError, RuntimeError, BufferError) as error:
        if device == "cpu" or isinstance(error, rl.AcceleratorError):
            raise
        pytest.skip("a program of the host")
    rl.set_default_device(options)
    found, _ = run_traced(_from_the_same_seed, program)
    compare(expected, found, exact=True)


@pytest.mark.parametrize("name", ["ema_dict", "group_edits", "hooks_on_off", "seeds_mid", "tying"])
def test_attack_while_paths_are_timed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some stretches of a known path are eager, as it is outside of tests."""
    monkeypatch.setattr("traced.TIMED", [True])
    test_attack(name, "cpu")


def test_a_process_is_barred_in_the_middle() -> None:
    """DeZero is imported, or other processes join: what waits is computed, and nothing is replayed any more."""

    def program() -> Any:
        net = mlp()
        opt = optim.SGD(net.parameters(), lr=0.1)
        log: list[Any] = []

        def change(i: int, where: str) -> None:
            if i == 12 and where == "forward":
                hot.bar("a test")

        train(net, opt, log, change)
        return log, [p.detach() for p in net.parameters()]

    before = hot.meeting.barred
    try:
        seen = both(program, exact=True)
    finally:
        hot.meeting.barred = before
    assert 0 < seen.replayed < 12
