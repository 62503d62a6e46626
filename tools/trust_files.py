"""Mutated files of every kind: each is read or refused with the one error, in bounded time and memory."""

from __future__ import annotations

import mmap
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from trust_record import Record
from trust_samples import KINDS, Kind

BATCH = 250  # files that one process reads
MEMORY = 600 << 20  # bytes that it may take beyond what it starts with
# Kilobytes by which its memory may really grow: a picture of Pillow's most pixels as indices and as RGB.
RESIDENT = 460_000
SECONDS = 20.0  # of the processor, for one file
LARGE = [b"\xff" * 4, b"\xff" * 8, b"\x7f\xff\xff\xff", b"\0" * 8, b"\0\0\0\x80", b"\xff\xff\xff\x7f"]


def mutated(raw: bytes, rng: random.Random, kind: Kind, others: list[bytes]) -> bytes:
    """The bytes with one to eight changes of the sorts that damage and malice make."""
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        sort = rng.randrange(9)
        if sort <= 2 and data:
            data[rng.randrange(len(data))] = rng.randrange(256)
        elif sort == 3:
            large = rng.choice(LARGE)
            data[at : at + len(large)] = large
        elif sort == 4:
            data[at:at] = rng.randbytes(rng.randint(1, 16))
        elif sort == 5:
            del data[at : at + rng.randint(1, 64)]
        elif sort == 6:
            del data[at:]
        elif sort == 7:  # a piece of this or another sample, elsewhere
            source = rng.choice(others)
            start = rng.randrange(len(source))
            data[at:at] = source[start : start + rng.randint(1, 200)]
        elif kind.words:
            data[at:at] = b"".join(rng.choice(kind.words) for _ in range(rng.randint(1, 6)))
    return bytes(data)


def _limit() -> None:
    with open("/proc/self/statm") as f:
        now = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    seconds = int(BATCH * 2 + SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(kind: Kind, data: bytes, folder: Path) -> str:
    """What came of one file: `read`, `refused`, or what is wrong."""
    begin = time.process_time()
    try:
        kind.read(data, folder)
        outcome = "read"
    except kind.errors as error:
        outcome = "refused"
        if "\n" in str(error).strip() and not kind.lines:
            outcome = f"several lines: {error}"
    except BaseException:
        outcome = traceback.format_exc()
    took = time.process_time() - begin
    return outcome if took < SECONDS else f"took {took:.0f} seconds of the processor"


def _batch(kind: Kind, seed: int, page: mmap.mmap, folder: Path) -> None:
    """In a forked child: BATCH files; the page says how far it came and what it counted."""
    _limit()
    warnings.simplefilter("ignore")  # Pillow's, of tags that it skips
    # A hang in C is not interrupted by Python: the default action ends the process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rng = random.Random(f"{kind.name} {seed}")
    counts = Counter()
    for i in range(BATCH):
        sample = rng.choice(kind.samples)
        data = kind.finish(mutated(sample, rng, kind, kind.samples))
        page[:4] = struct.pack("<i", i)
        signal.alarm(600)
        outcome = _read(kind, data, folder)
        counts[outcome if outcome in ("read", "refused") else "wrong"] += 1
        if outcome not in ("read", "refused"):
            _keep(kind, seed, i, data, outcome)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > RESIDENT:
        _keep(kind, seed, -1, b"", f"memory grew by {grown} kB in one batch")
        counts["wrong"] += 1
    page[4:16] = struct.pack("<3i", counts["read"], counts["refused"], counts["wrong"])


def _keep(kind: Kind, seed: int, i: int, data: bytes, why: str) -> None:
    folder = Path("build/trust")
    folder.mkdir(parents=True, exist_ok=True)
    name = folder / f"{kind.name.replace(' ', '-')}-{seed}-{i}"
    name.write_bytes(data)
    print(f"{name}: {why}", file=sys.stderr, flush=True)


def _fork(work: Callable[[], None]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(pid, 0)[1]


def files(count: int, seed: int, record: Record) -> tuple[str, bool]:
    """Read `count` mutated files, the kinds in turn, from the first batch on that the record does not have."""
    page = mmap.mmap(-1, 64)
    batches = max(len(KINDS), -(-count // BATCH))
    kinds = [make() for make in KINDS]
    each: dict[str, Counter[str]] = {kind.name: Counter() for kind in kinds}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(batches):
            kind = kinds[record.next % len(kinds)]
            found = _one_batch(kind, seed * 10**6 + record.next, page, Path(scratch))
            each[kind.name].update(found)
            record.add("files", **found)
    for name, counts in each.items():
        print(f"  {name}: {counts['read']:,} read, {counts['refused']:,} refused, {counts['otherwise']:,} otherwise")
    found = record.counts
    said = (
        f"{found['files']:,} mutated files of {len(kinds)} kinds, {found['read']:,} read, "
        f"{found['refused']:,} refused, {found['otherwise']:,} otherwise"
    )
    return said, found["otherwise"] == 0


def _one_batch(kind: Kind, seed: int, page: mmap.mmap, scratch: Path) -> dict[str, int]:
    """BATCH files in a forked process; what came of them."""
    folder = scratch / "inner"
    folder.mkdir()
    page[:16] = bytes(16)
    status = _fork(lambda: _batch(kind, seed, page, folder))
    at, read, refused, wrong = struct.unpack("<4i", page[:16])
    if status:
        wrong += 1
        print(f"{kind.name}, batch {seed}, file {at}: the process ended with status {status}",
              file=sys.stderr, flush=True)  # fmt: skip
    shutil.rmtree(folder)
    if outside := os.listdir(scratch):
        wrong += 1
        print(f"{kind.name} wrote outside of its folder: {outside}", file=sys.stderr)
    return {"files": BATCH, "read": read, "refused": refused, "otherwise": wrong}
