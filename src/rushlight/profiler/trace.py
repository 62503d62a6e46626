"""A GPU's records as events beside the operators that launched them, and all of them as a trace that Perfetto opens."""

from __future__ import annotations

import json
import os
import threading
import time
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from ..runtime.cuda.activity import Record
from .events import FunctionEvent, Kernel


def work(records: Iterable[Record], events: list[FunctionEvent], thread: int) -> list[FunctionEvent]:
    """The records as events; an operator of `events` gets what was launched in its time, by its thread."""
    records = sorted(records, key=lambda r: r.begin)
    hosts = [e for e in events if not e.inside]
    hosts.sort(key=lambda e: (e.begin, -e.took))
    begins = [e.begin for e in hosts]
    launched: dict[int, FunctionEvent] = {}  # by the numbers of calls
    found: list[FunctionEvent] = []
    outer: dict[int, FunctionEvent] = {}  # by thread: a call that others may be part of
    spans: dict[Any, tuple[float, float, FunctionEvent]] = {}
    for r in records:
        if r.device is None:
            call = FunctionEvent(r.name, r.begin, r.took, r.where, kind=r.kind, args=r.args)
            found.append(call)
            by = outer.get(r.where)
            if by is None or r.begin >= by.begin + by.took:
                outer[r.where], last = call, bisect_right(begins, r.begin) - 1
                by = hosts[last] if last >= 0 and r.where == thread else None
                while by is not None and not by.begin <= r.begin <= by.begin + by.took:
                    by = by.cpu_parent
            if by is not None:
                by.cpu_children.append(call)
                call.cpu_parent = by
                launched[r.number] = by
    for r in records:
        if r.device is not None:
            found.append(FunctionEvent(r.name, r.begin, r.took, r.where, kind=r.kind, device=r.device, args=r.args))
            by = launched.get(r.number)
            while by is not None and "correlation" in by.args:  # a call within a call
                by = by.cpu_parent
            if by is not None:
                by.kernels.append(Kernel(r.name, r.device, r.took * 1e6))
            while by is not None:
                if by.is_user_annotation:
                    at = id(by), r.device, r.where
                    begin, end = spans.get(at, (r.begin, r.begin, by))[:2]
                    spans[at] = min(begin, r.begin), max(end, r.begin + r.took), by
                by = by.cpu_parent
    for (_, device, stream), (begin, end, by) in spans.items():
        found.append(FunctionEvent(by.name, begin, end - begin, stream, kind="gpu_user_annotation", device=device))
    return found


def chrome(events: list[FunctionEvent], memory: list[tuple[float, int, int, int]], metadata: dict[str, Any]) -> str:
    """The trace as JSON, with PyTorch's keys; `memory` has when, which GPU, and its bytes in use and held."""
    start = min([e.begin for e in events], default=0.0)
    here, host = os.getpid(), threading.get_native_id()
    made: list[dict[str, Any]] = []
    rows: dict[tuple[int, int], str] = {(here, host): "CPU"}
    calls = {e.args["correlation"]: e for e in events if e.device_index is None and "correlation" in e.args}
    for number, e in enumerate(events):
        on_gpu = e.device_index is not None
        at = (here if e.device_index is None else e.device_index, e.thread)
        rows.setdefault(at, f"GPU {at[0]}" if on_gpu else "CPU")
        place: dict[str, Any] = {"pid": at[0], "tid": at[1], "ts": (e.begin - start) * 1e6}
        args = {"External id": number, **e.args}
        if e.input_shapes:
            args["Input Dims"] = e.input_shapes
        if e.stack:
            args["Call stack"] = ";".join(e.stack)
        made.append({"ph": "X", "cat": e.activity_type, "name": e.name, **place, "dur": e.took * 1e6, "args": args})
        call = calls.get(e.args.get("correlation")) if on_gpu else None
        if call is not None:
            arrow = {"cat": "ac2g", "name": "ac2g", "id": e.args["correlation"]}
            begin = {"pid": here, "tid": call.thread, "ts": (call.begin - start) * 1e6}
            made += [{"ph": "s", **arrow, **begin}, {"ph": "f", "bp": "e", **arrow, **place}]
    for when, device, used, held in memory:
        place = {"pid": here, "tid": host, "ts": (when - start) * 1e6}
        told = {"Total Allocated": used, "Total Reserved": held, "Device Type": 1, "Device Id": device}
        made.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", **place, "args": told})
        counts = {"allocated": used, "reserved": held}
        made.append({"ph": "C", "name": f"memory of GPU {device}", **place, "args": counts})
    for (process, row), name in rows.items():
        gpu = name != "CPU"
        rest: dict[str, dict[str, Any]] = {
            "process_name": {"name": "python"}, "process_labels": {"labels": name},
            "process_sort_index": {"sort_index": 5_000_000 + process if gpu else process},
            "thread_name": {"name": f"stream {row}" if gpu else f"thread {row} (python)"},
            "thread_sort_index": {"sort_index": row},
        }  # fmt: skip
        made += [{"ph": "M", "name": k, "ts": 0, "pid": process, "tid": row, "args": v} for k, v in rest.items()]
    began = time.time_ns() - int((time.perf_counter() - start) * 1e9)
    head = {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": began}
    return json.dumps({**head, **metadata, "traceEvents": made})
