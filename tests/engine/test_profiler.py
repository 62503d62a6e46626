"""The profiler: PyTorch's names of operators, its table, its schedule, blocks within blocks."""

from __future__ import annotations

import json
import os
import sys
import threading
import types
from functools import lru_cache

import pytest

import cupti_stand_in as calls
import rushlight
from cupti_stand_in import Cupti
from rushlight import profiler
from rushlight.runtime import door
from rushlight.runtime.cuda import activity

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])


def profiled(lib, fn, **options):
    kinds = [lib.profiler.ProfilerActivity.CPU]
    with lib.profiler.profile(activities=kinds, **options) as p:
        fn()
    return p


@BOTH
def test_operators_have_names_and_counts(lib) -> None:
    x = lib.ones(4, 4)
    p = profiled(lib, lambda: [x.mm(x).add(1).relu() for _ in range(3)])
    counts = {row.key: row.count for row in p.key_averages()}
    assert {k: counts[k] for k in ("aten::mm", "aten::add", "aten::relu")} == {
        "aten::mm": 3, "aten::add": 3, "aten::relu": 3,
    }  # fmt: skip
    row = next(row for row in p.key_averages() if row.key == "aten::mm")
    assert 0 < row.self_cpu_time_total <= row.cpu_time_total
    assert abs(row.cpu_time - row.cpu_time_total / 3) <= 1e-3 * row.cpu_time


@BOTH
def test_events_have_times_on_a_device(lib) -> None:
    """Whether or not there is one: tools sum them up."""
    p = profiled(lib, lambda: lib.ones(2).exp())
    event = next(e for e in p.events() if e.name == "aten::exp")
    assert event.device_time_total == event.self_device_time_total == event.device_time == 0


@BOTH
def test_blocks_hold_their_operators(lib) -> None:
    x = lib.ones(64, 64)

    @lib.profiler.record_function("a function")
    def work():
        return x.mm(x)

    def program():
        with lib.profiler.record_function("outer"), lib.profiler.record_function("inner"):
            x.mm(x)
        work()

    p = profiled(lib, program)
    rows = {row.key: row for row in p.key_averages()}
    assert rows["aten::mm"].count == 2 and rows["a function"].count == 1
    assert rows["outer"].cpu_time_total >= rows["inner"].cpu_time_total
    assert rows["outer"].self_cpu_time_total < rows["outer"].cpu_time_total


@BOTH
def test_the_table(lib) -> None:
    x = lib.ones(4, 4)
    p = profiled(lib, lambda: x.mm(x).exp(), record_shapes=True)
    text = p.key_averages().table(sort_by="self_cpu_time_total", row_limit=5)
    lines = text.splitlines()
    heads = lines[1].split()
    assert heads[:3] == ["Name", "Self", "CPU"] and heads[-3:] == ["#", "of", "Calls"]
    assert lines[0] == lines[2] and set(lines[0]) == {"-", " "}
    assert any(line.split()[0] == "aten::mm" and line.split()[-1] == "1" for line in lines[3:])
    assert "Self CPU time total: " in lines[-1]
    by_shape = p.key_averages(group_by_input_shape=True)
    assert next(r.input_shapes for r in by_shape if r.key == "aten::mm") == [[4, 4], [4, 4]]
    assert "Input Shapes" in by_shape.table()


@BOTH
def test_a_schedule_says_which_steps_are_recorded(lib) -> None:
    plan = lib.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    names = [plan(step).name for step in range(11)]
    assert names == [
        "NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE",
        "NONE", "NONE",
    ]  # fmt: skip
    told = []
    x = lib.ones(4)

    def ready(p):
        told.append({row.key: row.count for row in p.key_averages()})

    kinds = [lib.profiler.ProfilerActivity.CPU]
    plan = lib.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    with lib.profiler.profile(activities=kinds, schedule=plan, on_trace_ready=ready) as p:
        for _ in range(6):
            x.exp()
            p.step()
    assert len(told) == 1 and told[0]["aten::exp"] == 2 and told[0]["ProfilerStep*"] == 2


@BOTH
def test_a_trace_for_browsers(lib, tmp_path) -> None:
    x = lib.ones(4)
    p = profiled(lib, lambda: x.exp())
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    found = next(e for e in events if e.get("name") == "aten::exp")
    assert found["ph"] == "X" and found["dur"] > 0 and found["cat"] == "cpu_op"


@BOTH
def test_under_its_older_name(lib) -> None:
    x = lib.ones(4)
    with lib.autograd.profiler.profile() as p:
        with lib.autograd.profiler.record_function("block"):
            x.exp()
    keys = {row.key for row in p.key_averages()}
    assert {"block", "aten::exp"} <= keys
    assert p.key_averages().total_average().count >= 2 and "aten::exp" in p.key_averages().table()


@BOTH
def test_whether_one_is_under_way(lib) -> None:
    assert not lib.autograd._profiler_enabled()
    with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU]):
        assert lib.autograd._profiler_enabled()


def test_a_replay_shows_its_program_and_its_kernels() -> None:
    """A replay passes no door; values, errors and effects are those without a profile."""
    net = rushlight.nn.Sequential(rushlight.nn.Linear(3, 4), rushlight.nn.Tanh())
    table, written = rushlight.randn(5, 3), rushlight.zeros(1)

    def looked_up(x, index):
        written.add_(1)
        return net(x + table[index]).sort(1).values

    step = rushlight.compile(looked_up)
    x, right, wrong = rushlight.ones(2, 3), rushlight.tensor([1, 2]), rushlight.tensor([1, 9])
    for _ in range(4):
        step(x, right).sum().backward()
    assert step.replays[0].runs
    net.zero_grad()
    step(x, right).sum().backward()
    want, slopes = step(x, right), [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    with rushlight.profiler.profile(record_shapes=True) as p:
        found = step(x, right)
        found.sum().backward()
        with pytest.raises(IndexError, match="out of bounds"):
            step(x, wrong)
    assert rushlight.equal(want, found) and written.item() == 8
    assert all(map(rushlight.equal, slopes, [p.grad for p in net.parameters()]))
    events = [e for e in p.events() if e.cpu_parent is not None]
    whole = f"rushlight::program of {looked_up.__qualname__}"
    assert {e.cpu_parent.name for e in events} == {whole, f"{whole} backward"}
    rows = {row.key: row for row in p.key_averages()}
    assert rows["aten::linear"].count == 1 and rows["aten::tanh"].count == 1
    assert all(e.took >= 0 and e.begin >= e.cpu_parent.begin for e in events)
    assert [2, 3] in next(e.input_shapes for e in events if e.name == "aten::linear")


def _on_a_gpu(monkeypatch, stand_in):
    """A machine with a GPU and with CUPTI, as far as a profile asks."""
    package = types.ModuleType("cupti")
    package.cupti = stand_in
    monkeypatch.setitem(sys.modules, "cupti", package)
    monkeypatch.setattr(profiler.profiler, "why_not", lambda: None)
    monkeypatch.setattr(activity, "_watcher", lru_cache(1)(activity._watcher.__wrapped__))


def test_a_gpus_records_belong_to_the_operators_that_launched_them(monkeypatch, tmp_path) -> None:
    """By the time of the call and its thread: kernels of graphs too; what nobody here launched is shown alone."""
    cupti = Cupti()
    _on_a_gpu(monkeypatch, cupti)
    here, x = threading.get_native_id(), rushlight.ones(2)
    at = {}

    def launches(kernel, arrays, attrs, call):
        now = at[kernel.name] = cupti.get_timestamp()
        records = {
            "exp": [
                calls.call(calls.Runtime.cudaLaunchKernel_v7000, 1, now, now + 9, here),
                calls.call(calls.Driver.cuLaunchKernel, 2, now + 1, now + 5, here),
                calls.call(calls.Runtime.cudaMalloc_v3020, 9, now + 6, now + 8, here),
                calls.kernel("_Z3expPf", 2, now + 1_000, now + 3_000),
            ],
            "add": [
                calls.call(calls.Driver.cuGraphLaunch_ptsz, 3, now, now + 9, here),
                calls.kernel("first", 3, now + 5_000, now + 6_000, graph_node_id=4),
                calls.kernel("second", 3, now + 6_000, now + 9_000, graph_node_id=5),
                calls.copy(8, now, now + 4_000, 400),
                calls.fill(9, now, now + 500, 64),
                calls.kernel("never timed", 3, 0, 0),
            ],
        }
        cupti.waiting += records[kernel.name]
        return call()

    with door.listening(launches), rushlight.profiler.profile(with_stack=True) as p:
        assert cupti.on == {10, 1, 2, 4, 5}
        with rushlight.profiler.record_function("block"):
            x.exp()
        x + 1  # noqa: B018
    assert cupti.on == set()
    assert str(p.events()[-1].device_type) == "DeviceType.CUDA"
    rows = {(row.key, row.device_type.name): row for row in p.key_averages()}
    times = {at: row.device_time_total for at, row in rows.items() if row.device_time_total}
    assert {at: round(us, 3) for at, us in times.items()} == {
        ("aten::exp", "CPU"): 2, ("exp(float*)", "CUDA"): 2, ("block", "CPU"): 2, ("block", "CUDA"): 2,
        ("aten::add", "CPU"): 4, ("first", "CUDA"): 1, ("second", "CUDA"): 3,
        ("Memcpy HtoD (Pinned -> Device)", "CUDA"): 4, ("Memset (Device)", "CUDA"): 0.5,
    }  # fmt: skip
    assert rows["block", "CPU"].self_device_time_total == 0 and rows["block", "CUDA"].is_user_annotation
    assert rows["cuLaunchKernel", "CPU"].count == rows["cudaLaunchKernel", "CPU"].count == 1
    text = p.key_averages().table(sort_by="cuda_time_total")
    assert "Self CUDA time total: 10.500us" in text
    heads = [head for head in text.splitlines()[1].split("  ") if head.strip()]
    assert [head.strip() for head in heads[6:]] == [
        "Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg", "# of Calls",
    ]  # fmt: skip
    by_line = p.key_averages(group_by_stack_n=1)
    assert __file__ in next(row.stack[0] for row in by_line if row.key == "aten::exp")
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernel = next(e for e in events if e["name"] == "exp(float*)")
    assert (kernel["cat"], kernel["pid"], kernel["tid"], round(kernel["dur"], 3)) == ("kernel", 0, 7, 2)
    assert kernel["args"]["grid"] == [1, 1, 1] and kernel["args"]["shared memory"] == 48
    arrows = {e["ph"]: e for e in events if e.get("cat") == "ac2g" and e["id"] == 2}
    assert arrows["s"]["tid"] == here and arrows["f"]["tid"] == 7
    names = {(e["pid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"}
    assert names == {(os.getpid(), f"thread {here} (python)"), (0, "stream 7")}
    host = next(e for e in events if e["name"] == "cudaLaunchKernel")
    op = next(e for e in events if e["name"] == "aten::exp")
    assert op["ts"] <= host["ts"] <= op["ts"] + op["dur"]


def test_without_permission_a_sentence_says_what_the_columns_mean(monkeypatch) -> None:
    _on_a_gpu(monkeypatch, Cupti(refuses="ERROR_INSUFFICIENT_PRIVILEGES (35)"))
    with pytest.warns(UserWarning, match=r"PRIVILEGES \(35\); the profile's CUDA columns are the"):
        with rushlight.profiler.profile() as p:
            rushlight.ones(2).exp()
    assert p.waits and "aten::exp" in {row.key for row in p.key_averages()}
    with rushlight.profiler.profile(activities=[rushlight.profiler.ProfilerActivity.CPU]) as p:
        rushlight.ones(2).exp()
    assert not p.waits


def test_a_gpus_seconds_belong_to_the_lines_that_launched_them(monkeypatch) -> None:
    cupti = Cupti()
    _on_a_gpu(monkeypatch, cupti)
    spent = []
    with activity.lines_of_work(lambda frame: frame.f_lineno, lambda *what: spent.append(what)):
        assert (5, "cuLaunchKernel") in cupti.on
        for site in (0, 1):
            cupti.heard(None, 1, 1, types.SimpleNamespace(callback_site=site, correlation_id=6))
        line = sys._getframe().f_lineno - 1
        cupti.waiting = [calls.kernel("a", 6, 0, 2_000), calls.kernel("b", 7, 0, 1_000)]
    assert [(at, round(s, 9)) for at, s in spent] == [(line, 2e-6), (None, 1e-6)]
    assert cupti.on == set()
