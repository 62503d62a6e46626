"""The profiler: PyTorch's names of operators, its table, its schedule, blocks within blocks."""

from __future__ import annotations

import json

import pytest

import rushlight

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
