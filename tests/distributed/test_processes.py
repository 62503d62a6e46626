"""multiprocessing.spawn and the marks of torch.jit."""

from __future__ import annotations

import warnings

import pytest

import rushlight as rl


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
