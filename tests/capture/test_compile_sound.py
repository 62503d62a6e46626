"""Compiled functions in a world that changes: every call gives what an eager one gives, and does what it does."""

from __future__ import annotations

import os
import warnings
from collections import namedtuple

import numpy as np
import pytest

import rushlight as torch
import sound_cases_effects  # noqa: F401 - adds its cases
import sound_cases_names  # noqa: F401 - adds its cases
import sound_cases_objects  # noqa: F401 - adds its cases
import sound_cases_outside  # noqa: F401 - adds its cases
from sound_cases import CASES

CALLS = 9


def values(result):
    if isinstance(result, torch.Tensor):
        return result.dtype, result.detach().numpy().tobytes(), tuple(result.shape)
    return result


def run(make, wrap):
    """Results, warnings and effects of all calls, and what the function was wrapped in."""
    torch.manual_seed(0)
    fn, change, *rest = make()
    look = rest[0] if rest and rest[0] is not None else lambda: None
    called = wrap(fn)
    found = []
    try:
        for i in range(CALLS):
            change(i)
            x = torch.arange(12.0).reshape(4, 3) + i
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    result = values(called(x))
                except Exception as error:  # noqa: BLE001 - the same error is what we want
                    result = type(error), str(error)
            told = [str(w.message) for w in caught if "compile(" not in str(w.message)]
            found.append((result, told, values(look())))
        change(7)
    finally:
        torch.set_default_dtype(torch.float32)
    return found, called


@pytest.mark.parametrize("name", CASES)
def test_compiled_equals_eager(name):
    make, kind = CASES[name]
    expected, _ = run(make, lambda fn: fn)
    got, compiled = run(make, torch.compile)
    for i, (a, b) in enumerate(zip(expected, got)):
        assert a == b, f"call {i} of {name}: {compiled.why()}"
    if kind == "program":
        assert compiled.replays and sum(r.runs for r in compiled.replays), compiled.why()
    if kind == "traced":
        assert not compiled.replays and compiled.why() is not None


@pytest.mark.parametrize("name", [n for n, (_, kind) in CASES.items() if kind == "traced"])
def test_fullgraph_raises_where_python_has_to_run(name):
    make, _ = CASES[name]
    fn, change, *_ = make()
    compiled = torch.compile(fn, fullgraph=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises((RuntimeError, torch.base.errors.HostReadError)):
                for i in range(7):
                    change(min(i, 3))
                    compiled(torch.ones(4, 3))
    finally:
        torch.set_default_dtype(torch.float32)


def test_one_line_names_the_reason():
    words = {}

    def fn(x):
        return x * len(words.setdefault("a", os.getcwd()))

    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match=r"posix.getcwd\(\) at .*test_compile_sound.py:\d+"):
        for _ in range(3):
            compiled(torch.ones(2))
    assert "getcwd" in compiled.why()


def test_numbers_are_compared_to_the_bit():
    assert np.signbit(-0.0) and len(CASES) >= 45


def test_a_generator_of_numpy_that_nobody_asks() -> None:
    """It may lie in a tuple that the function reads; a function that draws from it keeps its Python."""
    settings = namedtuple("settings", "scale draws")(2.0, np.random.default_rng(0))

    @torch.compile
    def plain(x):
        return x * settings.scale

    @torch.compile
    def drawing(x):
        return x * settings.draws.random()

    x = torch.ones(3)
    for _ in range(5):
        assert plain(x).tolist() == [2.0] * 3
    assert plain.why() is None and plain.replays
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len({drawing(x)[0].item() for _ in range(6)}) == 6
    assert "Generator" in drawing.why() or "random" in drawing.why()


def test_a_driver_that_reads_text(tmp_path, monkeypatch) -> None:
    """CuPy reads the headers of a kernel that it compiles, in the middle of trusted code and in C."""
    (tmp_path / "header").write_text("two")
    with open(tmp_path / "header", encoding="utf-8") as header:
        made = {"__name__": "rushlight.core.made", "read": header.read}
        exec(compile("def double(x):\n    read()\n    return x * 2", "<made>", "exec"), made)
        monkeypatch.setattr(torch, "made", made["double"], raising=False)
        fn = torch.compile(lambda x: torch.made(x))
        for i in range(5):
            assert fn(torch.ones(3) * i).tolist() == [2.0 * i] * 3
    assert fn.why() is None and fn.replays


def test_a_driver_that_looks_for_its_files(monkeypatch) -> None:
    """CuPy's compiler asks a package beside it where headers lie, in the middle of trusted code and in C."""
    finder = {"__name__": "cuda.pathfinder.made", "os": os}
    exec(compile("def find():\n    return os.path.join(os.getcwd(), 'include')", "finder.py", "exec"), finder)
    made = {"__name__": "rushlight.core.made", "find": finder["find"]}
    exec(compile("def double(x):\n    find()\n    return x * 2", "<made>", "exec"), made)
    monkeypatch.setattr(torch, "made", made["double"], raising=False)
    fn = torch.compile(lambda x: torch.made(x))
    for i in range(5):
        assert fn(torch.ones(3) * i).tolist() == [2.0 * i] * 3
    assert fn.why() is None and fn.replays


def test_a_users_module_with_a_name_like_a_drivers_is_read() -> None:
    """`cuda.core` or `cudnn` may be anybody's: what it depends on is compared before a replay."""
    for name in ("cudnn", "cuda.core", "cupyish"):
        module = {"__name__": name, "scale": 2.0}
        exec(compile("def double(x):\n    return x * scale", "users.py", "exec"), module)
        fn = torch.compile(module["double"])
        for _ in range(4):
            assert fn(torch.ones(2)).tolist() == [2.0, 2.0]
        module["scale"] = 3.0
        assert fn(torch.ones(2)).tolist() == [3.0, 3.0], name
