"""`rushlight doctor`: one screen that says what works, also where things are broken, and what to do."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

import rushlight as rl
from cli_help import COMMAND, ROOT, environment
from rushlight.cli import doctor, main, speed
from rushlight.cli.doctor import Requirement
from rushlight.cli.pick_device import has_nvidia


def looked(capsys, *words: str) -> tuple[int, dict]:
    code = main(["doctor", "--json", "--no-speed", *words])
    return code, json.loads(capsys.readouterr().out)


def test_one_screen(capsys) -> None:
    code = main(["doctor", "--no-speed"])
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 40 and max(map(len, out.splitlines())) < 200
    assert re.search(r"^ok  cpu +\S", out, re.M) and "instructions" in out
    for name in doctor.CHECKS.keys() - {"speed"}:
        assert re.search(rf"^(ok|--|!!)  {name} ", out, re.M), name
    assert code == int("!!" in out)
    for found in re.split(r"^(?=ok|--|!!)", out, flags=re.M):
        assert not found.startswith("!!") or "->" in found  # each says what to do


def test_for_machines(capsys) -> None:
    _, told = looked(capsys)
    assert told["rushlight"] == rl.version.__version__
    assert told["parts"].keys() == doctor.CHECKS.keys() - {"speed"}
    assert told["parts"]["cpu"]["threads"] == rl.get_num_threads()
    assert all(part["state"] in ("ok", "--", "!!") for part in told["parts"].values())


def test_the_parts_in_c_are_those_of_setup() -> None:
    text = (ROOT / "setup.py").read_text()
    pieces = re.search(r"^PIECES = \{(.*?)^\}", text, re.M | re.S)
    assert pieces is not None
    named = re.findall(r'"rushlight\.([\w.]+)":', pieces[1])
    assert sorted(named) == sorted(doctor.IN_C)


def test_a_cache_that_cannot_be_written(capsys, monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("rushlight.base.config.settings.cache_dir", str(tmp_path / "file"))
    code, told = looked(capsys)
    caches = told["parts"]["caches"]
    assert code == 1 and caches["state"] == "!!" and "RUSHLIGHT_CACHE" in caches["todo"]


def test_sizes_of_caches(capsys, monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "cuda" / "deep").mkdir(parents=True)
    (tmp_path / "cuda" / "deep" / "x.cubin").write_bytes(b"x" * 2_500_000)
    monkeypatch.setattr("rushlight.base.config.settings.cache_dir", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    _, told = looked(capsys)
    assert "cuda 2.5 MB" in told["parts"]["caches"]["says"][0]


@pytest.mark.parametrize("broken", [
    "raise ImportError('libcudart.so.13: cannot open shared object file')",
    "raise RuntimeError('half of it is missing')",
], ids=["missing", "broken"])  # fmt: skip
def test_a_broken_cupy(tmp_path: Path, broken: str) -> None:
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text(broken)
    env = environment()
    env["PYTHONPATH"] = f"{tmp_path}:{env['PYTHONPATH']}"
    env["RUSHLIGHT_CPU_ENGINE"] = "none such"
    done = subprocess.run([*COMMAND, "doctor", "--no-speed"], env=env, text=True, capture_output=True, timeout=300)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "no engine: no CPU engine 'none such'" in done.stdout
    assert "unset RUSHLIGHT_CPU_ENGINE" in done.stdout
    assert re.search(r"^(--|!!)  cuda +not usable", done.stdout, re.M)


def test_a_check_that_fails_is_a_finding(capsys, monkeypatch) -> None:
    def fails() -> doctor.Finding:
        raise AttributeError("no such\nfunction")

    monkeypatch.setitem(doctor.CHECKS, "mpi", fails)
    code, told = looked(capsys)
    assert code == 1 and told["parts"]["mpi"]["says"] == ["cannot be looked at: AttributeError: no such function"]


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("libgomp.so.1: cannot open shared object file: No such file or directory", "on Debian and Ubuntu apt-get install libgomp1 "),
        ("libdnnl.so.3: cannot open shared object file: No such file or directory", "pip install onednn-cpu-gomp "),
    ],
)  # fmt: skip
def test_what_onednn_needs_is_named(monkeypatch, reason: str, advice: str) -> None:
    monkeypatch.setattr("rushlight.runtime.cpu.engine.reason_against", lambda name: reason)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert advice in doctor._onednn().todo


def test_a_broken_onednn(monkeypatch) -> None:
    from rushlight.runtime.cpu import engine

    def broken() -> None:
        raise AttributeError("undefined symbol: dnnl_engine_create")

    monkeypatch.setattr("rushlight.runtime.cpu.engine_onednn.load", broken)
    monkeypatch.setattr("rushlight.runtime.cpu.engine.active", lambda: None)
    assert engine.reason_against("onednn") == "undefined symbol: dnnl_engine_create"


@pytest.mark.parametrize(("bounds", "fits", "does_not"), [
    ("<1.23,>=1.14", ["1.14", "1.22.1", "1.14.0.post2"], ["1.23", "1.13.9", "2.0"]),
    ("==2023.2.0", ["2023.2.0"], ["2023.2.1", "2024.0"]),
    ("", ["0.1"], []),
])  # fmt: skip
def test_bounds_of_versions(bounds: str, fits: list[str], does_not: list[str]) -> None:
    asked = Requirement("x", bounds, "")
    assert [asked.takes(v) for v in fits] == [True] * len(fits)
    assert [asked.takes(v) for v in does_not] == [False] * len(does_not)


def test_packages_out_of_bounds_and_missing(capsys, monkeypatch) -> None:
    asked = ["numpy<1,>=0.1", 'no-such-one>=1; extra == "plot"', 'no-such-tool; extra == "dev"']
    monkeypatch.setattr(doctor, "requires", lambda name: asked)
    _, told = looked(capsys)
    extras = told["parts"]["extras"]
    assert extras["state"] == "!!" and extras["todo"] == "pip install 'numpy<1,>=0.1'"
    assert extras["missing"] == {"plot": ["no-such-one"]} and extras["whole"] == []


# -- the speed check --------------------------------------------------------------------------------


def test_figures() -> None:
    slow = speed.Figure("product", 20.0, "GFLOP/s", 200.0, "NumPy's", 0.6)
    assert slow.slow and slow.line() == "product 20 GFLOP/s: 10 % of 200, NumPy's"
    assert not slow._replace(value=150.0).slow
    assert not slow._replace(against=None).slow and "%" not in slow._replace(against=None).line()


def test_what_slow_figures_say(monkeypatch) -> None:
    slow = speed.Figure("product", 20.0, "GFLOP/s", 200.0, "NumPy's", 0.6)
    monkeypatch.setattr(speed, "measure", lambda: [slow])
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (0.1, 0.1, 0.1))
    found = doctor.CHECKS["speed"]()
    assert found.state == "!!" and "slow: product" in found.todo
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (1e3, 1e3, 1e3))
    found = doctor.CHECKS["speed"]()
    assert found.state == "--" and "busy" in found.todo


def test_the_speed_check_runs(monkeypatch) -> None:
    calls = []
    monkeypatch.setattr(speed, "least_time", lambda call, seconds=0.0: calls.append(call()) or 1e-3)
    monkeypatch.setattr(speed, "free_memory", lambda: 2.0**25)
    names = [figure.name for figure in speed._cpu()]
    assert names == ["product", "product", "memory", "calls"] and len(calls) == 6


def test_a_linux_that_lists_no_hardware_has_no_gpu(monkeypatch) -> None:
    """A container without /sys, as that of a build, gets no advice that cannot help."""
    monkeypatch.setattr("glob.glob", lambda pattern: [])
    for system, may in (("linux", False), ("win32", True)):
        monkeypatch.setattr("sys.platform", system)
        assert has_nvidia() == may
