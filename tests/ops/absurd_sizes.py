"""Every public function that takes whole numbers, called with absurd ones beside PyTorch; `python tests/ops/absurd_sizes.py` searches."""

from __future__ import annotations

import inspect
import os
import pickle
import resource
import signal
import struct
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import rushlight
from optable import Row, T, all_rows, call, flat
from rushlight.core.public import NAMESPACES
from rushlight.operators import load_all

WHOLE = (2**40, 2**62, 2**63, -2, -(2**63) - 1)
SEVERAL = ((0, 2**62), (0, 2**63), (2**31, 2**31), (2**32, 2**32), (1,) * 65, (2**62,) * 3, (-1, 2**62))
ROOM = 3 << 29  # bytes that a call may take beyond what the process has
SECONDS = 20  # of the processor, for one call in one library
PLACES = {"torch": "", "functional": "F.", "linalg": "linalg.", "fft": "fft.", "special": "special.", "Tensor": "Tensor."}  # fmt: skip
# Not called with absurd numbers: they are seeds, threads and settings of the process.
SETTINGS = {"manual_seed", "seed", "set_num_threads", "set_num_interop_threads", "set_printoptions", "initial_seed"}


def changed(node: Any) -> Iterator[tuple[Any, str]]:
    """A row's arguments with one whole number, or one tuple of them, changed; and in words, which."""
    if isinstance(node, bool) or isinstance(node, (T, str)):
        return
    if isinstance(node, int):
        yield from ((n, _power(n)) for n in WHOLE)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from (({**node, key: new}, f"{key}={said}") for new, said in changed(value))
    elif isinstance(node, (list, tuple)) and not hasattr(node, "_fields"):
        whole = node and all(type(x) is int for x in node)
        if whole:
            yield from ((type(node)(new), str(tuple(map(_power, new[:3])))) for new in SEVERAL)
        for i, value in enumerate(node):
            for new, said in changed(value):
                yield type(node)([*node[:i], new, *node[i + 1 :]]), f"[{i}] {said}"
                if whole and len(node) > 1 and i == 0 and value.__class__ is int:
                    yield type(node)([new] * len(node)), f"[all] {said}"


def _power(n: int) -> str:
    for size in (31, 32, 40, 62, 63, 64):
        for sign in (1, -1):
            for more in (0, -1, 1):
                if n == sign * 2**size + more:
                    return f"{'-' * (sign < 0)}2**{size}{f'{more:+}' * bool(more)}"
    return str(n)


def from_signatures(known: set[str], torch: Any) -> Iterator[Row]:
    """Plain calls, made from signatures, of public functions that the op table does not have."""
    load_all()
    for place, before in PLACES.items():
        for name, fn in sorted(NAMESPACES[place].items()):
            label = before + name
            if label in known or name in SETTINGS or isinstance(fn, type) or name.startswith("_"):
                continue
            try:
                parameters = list(inspect.signature(fn).parameters.values())
            except (TypeError, ValueError):
                continue
            options = [p for p in parameters if "int" in str(p.annotation).lower()]
            if not options or not hasattr(_owner(torch, before), name):
                continue
            for first in (T(3, 4), T(4, 4, kind="posdef"), T(6), T(1, 2, 4, 4), T(3, 4, dtype="int")):
                yield from _plain_calls(label, parameters, options, first)


def _plain_calls(label: str, parameters: list[Any], options: list[Any], first: T) -> Iterator[Row]:
    needed: list[Any] = []
    for p in parameters:
        kind = str(p.annotation)
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY):
            continue
        if p.default is p.empty or p in options:
            if "Tensor" in kind:
                needed.append(first)
            elif p.default is not p.empty and isinstance(p.default, (int, tuple)):
                needed.append(p.default)
            else:
                needed.append(1)
        else:
            break
    star = [p for p in parameters if p.kind is p.VAR_POSITIONAL and p in options]
    yield Row(label, *needed, *[1] * len(star))
    if star:
        yield Row(label, *needed, 3, 4)
    yield Row(label, *[(1, 1) if a == 1 else a for a in needed])


def _owner(lib: Any, before: str) -> Any:
    if before == "Tensor.":
        return lib.Tensor
    return getattr({"F.": lib.nn}.get(before, lib), {"F.": "functional"}.get(before, before[:-1])) if before else lib


Case = tuple[str, Row]


def cases(torch: Any) -> Iterator[Case]:
    """Every call of the op table and of the signatures with one absurd number in it."""
    rows = all_rows()
    seen: set[str] = set()
    kinds: dict[Any, Row] = {}
    for row in rows:  # one of each way to call a function
        kinds.setdefault((row.name, len(row.args), *row.kwargs), row)
    made = list(from_signatures({r.name for r in rows}, torch))
    plain = [(repr(row), row) for row in made]
    answers = zip(made, in_processes(plain, rushlight), in_processes(plain, torch))
    for row, ours, theirs in answers:  # those that are a call of it
        if ours[0] == theirs[0] == "value":
            kinds.setdefault((row.name, len(row.args)), row)
    for row in kinds.values():
        for both, said in changed((row.args, row.kwargs)):
            text = f"{row!r} {said}"
            if text in seen:
                continue
            seen.add(text)
            absurd = Row(row.name, *both[0], **both[1])
            absurd.dtypes = row.dtypes
            yield text, absurd


def outcome(lib: Any, row: Row) -> tuple[str, str]:
    """The kind of what comes out, and what it says."""
    tensors = [lib.tensor(a) for a in row.arrays(row.dtypes[0])]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = flat(call(lib, row, tensors))
    except Exception as error:  # noqa: BLE001 - what is looked for
        return " ".join(c.__name__ for c in type(error).__mro__[:-2]), str(error)
    return "value", str([(tuple(t.shape), str(t.dtype).split(".")[-1]) if hasattr(t, "shape") else t for t in found])


def in_processes(cases: list[Case], lib: Any) -> list[tuple[str, str]]:
    """`outcome` of each; a call that ends its process, by memory or by time, is told so."""
    found: list[tuple[str, str]] = []
    while len(found) < len(cases):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            _child(cases[len(found) :], lib, reading, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            while head := pipe.read(4):
                found.append(pickle.loads(pipe.read(struct.unpack("<I", head)[0])))
        _, status = os.waitpid(child, 0)
        if len(found) < len(cases):
            found.append(("dies", f"signal {os.waitstatus_to_exitcode(status)}"))
    return found


def _child(cases: list[Case], lib: Any, reading: int, writing: int) -> None:
    os.close(reading)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for _, row in cases:
        used = resource.getrusage(resource.RUSAGE_SELF)
        signal.alarm(300)  # one that waits for ever
        limit = int(used.ru_utime + used.ru_stime) + SECONDS + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        try:
            answer = pickle.dumps(outcome(lib, row))
        except MemoryError:
            os._exit(0)
        os.write(writing, struct.pack("<I", len(answer)) + answer)
    os._exit(0)


def difference(text: str, ours: tuple[str, str], theirs: tuple[str, str]) -> str | None:
    """How a call differs from PyTorch's, in words that begin with the kind; None where it does not."""
    if theirs[0] == "dies":  # PyTorch's own fault: ours must live, and may refuse
        return f"dies {text}" if ours[0] == "dies" else None
    if ours[0] == theirs[0] == "value":
        same = ours[1] == theirs[1]
        return None if same else f"differs {text}: {ours[1][:80]} for {theirs[1][:80]}"
    if "value" not in (ours[0], theirs[0]) and theirs[0].split()[0] in ours[0].split():
        return None
    kind = "silent" if ours[0] == "value" else "refused" if theirs[0] == "value" else "kind"
    kind = "dies" if ours[0] == "dies" else kind
    said = [f"{x[0].split()[0]}: {x[1].splitlines()[0] if x[1] else ''}"[:130] for x in (ours, theirs)]
    return f"{kind} {text}\n    ours   {said[0]}\n    theirs {said[1]}"


def differences(torch: Any, part: int, parts: int, names: list[str]) -> tuple[int, list[str]]:
    """How many calls were made, of one part of all or of some functions, and those that differ."""
    wanted = [c for c in cases(torch) if zlib.crc32(c[0].encode()) % parts == part]
    wanted = [c for c in wanted if not names or c[0].startswith(tuple(names))]
    pairs = zip(wanted, in_processes(wanted, rushlight), in_processes(wanted, torch))
    return len(wanted), [d for (text, _), a, b in pairs if (d := difference(text, a, b))]


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)  # children are forked, and a pool of threads is not
    part, parts = (int(n) for n in sys.argv[1:3]) if len(sys.argv) > 2 else (0, 1)
    count, found = differences(torch, part, parts, sys.argv[3:])
    print("\n".join(found))
    kinds = [f.split()[0] for f in found]
    print(f"{count} calls, {len(found)} differ:", {k: kinds.count(k) for k in sorted(set(kinds))})
