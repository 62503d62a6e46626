"""Looking at every picture before training: what cannot be used is listed and left out, the rest is decoded once."""

from __future__ import annotations

import hashlib
import os
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..errors import UsageError, printable
from ..training.progress import bar
from .cache import Entry
from .listing import Listing, Sample
from .pictures import TooLarge, need_pillow, pillow_rules, read_picture, shrink

LEAST_SIDE = 4  # pixels; counting pixels of web pages are smaller
SHOWN = 5  # problems of a kind that are listed on the screen; scan.json has all
# Which part keeps a picture that two have: the test must not have been seen in training.
_FIRST = {"test": 0, "val": 1, "train": 2, "": 2}


class Problem(NamedTuple):
    """A file that is left out."""

    path: str
    kind: str  # broken, empty, too large, too small, missing, duplicate, contradiction
    why: str


class Scan(NamedTuple):
    """The pictures that can be used, and what was found wrong with the others."""

    samples: list[Sample]
    problems: list[Problem]
    store: Any
    shapes: list[tuple[int, int]]  # height and width of each sample's picture


class _Seen(NamedTuple):
    entry: Entry | None
    pixels: np.ndarray | None
    problem: Problem | None


def scan(listing: Listing, store: Any, side: int, quiet: bool) -> Scan:
    """Decode every picture once, into the cache; leave out what is broken or there twice."""
    need_pillow()
    found, shapes = [], []
    problems: list[Problem] = []
    with pillow_rules(), bar("Looking at pictures", len(listing.samples), quiet) as step:
        order = sorted(range(len(listing.samples)), key=lambda i: _FIRST[listing.samples[i].part])
        first: dict[str, Sample] = {}
        doubted: set[str] = set()
        for i, seen in zip(order, _all(listing.samples, order, store, side)):
            sample = listing.samples[i]
            problem = seen.problem or _again(sample, first, seen.entry, listing.classes)
            if problem is None:
                assert seen.entry is not None
                first[seen.entry.digest] = sample
                found.append(sample)
                shapes.append((seen.entry.high, seen.entry.wide))
                store.add(sample.path, seen.entry, seen.pixels)
            else:
                problems.append(problem)
                if problem.kind == "contradiction" and seen.entry is not None:
                    doubted.add(first[seen.entry.digest].path)
            step()
    store.close()
    return _without_contradictions(Scan(found, problems, store, shapes), doubted)


def _all(samples: list[Sample], order: list[int], store: Any, side: int) -> Iterator[_Seen]:
    """The content of every file, in order, decoded in threads that are only a few files ahead."""
    pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1))
    try:
        paths = iter([samples[i].path for i in order])
        ahead = deque(pool.submit(_look, path, store, side) for path in islice(paths, 64))
        while ahead:
            yield ahead.popleft().result()
            ahead.extend(pool.submit(_look, path, store, side) for path in islice(paths, 1))
    finally:  # Ctrl-C waits for the pictures that are being decoded, not for those in the queue
        pool.shutdown(cancel_futures=True)


def _look(path: str, store: Any, side: int) -> _Seen:
    """One file: its pixels, or what is wrong with it."""
    known = store.known(path)
    if known is not None:
        return _Seen(known, None, None)
    try:
        status = os.stat(path)
        if not status.st_size:
            return _Seen(None, None, Problem(path, "empty", "the file has no content"))
        with open(path, "rb") as f:
            digest = hashlib.file_digest(f, "sha1").hexdigest()
        picture = read_picture(path, name="it")
    except FileNotFoundError:
        return _Seen(None, None, Problem(path, "missing", "no such file"))
    except TooLarge as error:
        return _Seen(None, None, Problem(path, "too large", error.sentence()))
    except (UsageError, OSError) as error:
        return _Seen(None, None, Problem(path, "broken", printable(str(error))))
    if min(picture.size) < LEAST_SIDE:
        wide, high = picture.size
        return _Seen(None, None, Problem(path, "too small", f"it has {wide}x{high} pixels"))
    pixels = np.asarray(shrink(picture, side))
    high, wide = pixels.shape[:2]
    entry = Entry(status.st_size, status.st_mtime_ns, digest, 0, high, wide)
    return _Seen(entry, pixels, None)


def _again(
    sample: Sample, first: dict[str, Sample], entry: Entry | None, classes: list[str]
) -> Problem | None:
    """The problem of a picture that was met before."""
    before = first.get(entry.digest) if entry else None
    if before is None:
        return None
    if before.label == sample.label:
        return Problem(sample.path, "duplicate", f"the same file as {before.path}")
    return Problem(
        sample.path, "contradiction",
        f"the same file as {before.path}, which is {classes[before.label]} and not {classes[sample.label]}",
    )  # fmt: skip


def _without_contradictions(scan: Scan, doubted: set[str]) -> Scan:
    """A picture that is in two classes is left out of both."""
    if not doubted:
        return scan
    found, problems, store, shapes = scan
    kept = [i for i, s in enumerate(found) if s.path not in doubted]
    problems += [Problem(s.path, "contradiction", "the same file is in another class, too")
                 for s in found if s.path in doubted]  # fmt: skip
    return Scan([found[i] for i in kept], problems, Some(store, kept), [shapes[i] for i in kept])


class Some:
    """Some pictures of a store, by their own numbers."""

    def __init__(self, store: Any, places: list[int]) -> None:
        self.store, self.places = store, places

    @property
    def label(self) -> str:
        return self.store.label

    def __getitem__(self, i: int) -> np.ndarray:
        return self.store[self.places[i]]


def told(problems: list[Problem]) -> list[str]:
    """What was left out, in lines for a screen."""
    lines = []
    for kind, count in Counter(p.kind for p in problems).items():
        lines.append(f"Left out {count} {kind}:")
        of_kind = [p for p in problems if p.kind == kind]
        lines += [f"  {printable(p.path)}: {printable(p.why)}" for p in of_kind[:SHOWN]]
        if count > SHOWN:
            lines.append(f"  ... and {count - SHOWN} more (scan.json has all)")
    return lines
