"""multiprocessing.spawn and the marks of torch.jit."""

from __future__ import annotations

import os
import sys
import warnings

import pytest

import rushlight as rl
from test_distributed import needs_mpi


def _write(rank: int, path: str) -> None:
    with open(f"{path}/{rank}", "w") as file:
        file.write(str(rl.ones(rank + 1).sum().item()))


def _fail(rank: int) -> None:
    if rank == 1:
        raise ValueError("on purpose")


def test_spawn_runs_every_rank(tmp_path) -> None:
    rl.multiprocessing.spawn(_write, (str(tmp_path),), nprocs=2)
    assert [(tmp_path / str(i)).read_text() for i in range(2)] == ["1.0", "2.0"]


def test_spawn_brings_the_error_back() -> None:
    with pytest.raises(rl.multiprocessing.ProcessRaisedException, match="on purpose"):
        rl.multiprocessing.spawn(_fail, nprocs=2)


def _meet(scale: int) -> float:
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "1":
        raise ValueError("on purpose")
    rl.distributed.init_process_group("gloo")
    met = rl.full((1,), scale * (rl.distributed.get_rank() + 1.0))
    rl.distributed.all_reduce(met)
    rl.distributed.destroy_process_group()
    return met.item()


@needs_mpi
def test_elastic_launch_brings_results_back_and_starts_again() -> None:
    from rushlight.distributed.elastic.multiprocessing.errors import ChildFailedError
    from rushlight.distributed.launcher.api import LaunchConfig, elastic_launch

    once = LaunchConfig(1, 1, 2, max_restarts=0)
    with pytest.raises(ChildFailedError, match="_meet failed: rank 1: (.|\n)*ValueError: on purpose"):
        elastic_launch(once, _meet)(5)
    assert elastic_launch(LaunchConfig(1, 1, 2, max_restarts=1), _meet)(5) == {0: 15.0, 1: 15.0}
    with pytest.raises(ChildFailedError, match="exit code 3"):
        elastic_launch(once, sys.executable)("-c", "raise SystemExit(3)")


def test_python_s_own_names_are_there() -> None:
    import multiprocessing

    assert rl.multiprocessing.Process is multiprocessing.Process
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        rl.multiprocessing.foo  # noqa: B018


def test_jit_marks_change_nothing() -> None:
    def fn() -> int:
        return 1

    assert rl.jit.unused(fn) is fn
    assert rl.jit.ignore(fn) is fn
    assert rl.jit.ignore(drop=True)(fn) is fn
    assert rl.jit.export(fn) is fn
    assert rl.jit.is_scripting() is False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing is compiled is said once in a process
        assert rl.jit.script(fn)() == 1
    with pytest.raises(AssertionError, match="why"):
        rl._assert(False, "why")
