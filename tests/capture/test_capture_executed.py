"""What is known of the instructions that a recorded call ran, where Python's tracing tells of them too late."""

from __future__ import annotations

import sys

import rushlight as torch
from rushlight.capture.record import executed

SCALE = 2.0


def scaled(x):
    return x * SCALE if x.shape[0] == 3 else x


def events(monkeypatch, told):
    """The instructions that count as run when tracing tells of these events of one call of `scaled`."""
    monkeypatch.setattr(executed, "_BEGINS_LATE", True)
    seen = executed.Seen()
    watching, code = executed.Watching(seen), scaled.__code__
    local = watching._checked(code, watching._local(code))

    class Frame:
        f_code, f_lasti = code, 0

    for event, at in told:
        Frame.f_lasti = at
        local(Frame, event, None)
    return seen.codes[code]


def test_every_instruction_counts_where_tracing_began_late_or_ended_early(monkeypatch):
    start, every = executed._instructions(scaled.__code__)
    last = max(every)
    assert events(monkeypatch, [("return", last)]) == every  # nothing was told
    assert events(monkeypatch, [("opcode", last), ("return", last)]) == every
    assert events(monkeypatch, [("opcode", start), ("return", last)]) == every
    assert events(monkeypatch, [("opcode", start), ("opcode", last), ("return", last)]) == {start, last}


def test_a_function_that_ran_before_it_is_compiled_is_watched():
    """From Python 3.12 on its first traced call is not told of: a changed global was not seen."""
    global SCALE
    compiled, x = torch.compile(scaled), torch.ones(3)
    for i in range(8):
        SCALE = 2.0 if i < 4 else 5.0
        assert scaled(x).tolist() == compiled(x).tolist(), (i, sys.version)
    SCALE = 2.0
    assert compiled.replays
