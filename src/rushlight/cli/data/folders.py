"""Pictures of folders as data sets: scanned, split into parts that stay the same, cached."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from typing import Any

from ..errors import UsageError
from . import augment
from .cache import make_store
from .images import PHOTO_SCALE, Images
from .listing import Listing, Sample
from .pictures import kept_side
from .scan import Problem, scan, told

# Fewer pictures of a class cannot be split into three parts.
LEAST = 5
# A class with so many times the pictures of another is worth a word.
UNEVEN = 3.0


class Pictures:
    """Some pictures of a store, as a map-style data set of (transformed picture, label)."""

    def __init__(self, store: Any, places: list[int], labels: list[int], transform: Any) -> None:
        self.store, self.places, self.targets, self.transform = store, places, labels, transform

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, i: int) -> tuple[Any, int]:
        from PIL import Image

        picture = Image.fromarray(self.store[self.places[i]])
        return self.transform(picture), self.targets[i]


def from_listing(name: str, listing: Listing, settings: Any) -> Images:
    """Scan the pictures, split them, say what was found."""
    size, side = settings.size, kept_side(settings.size)
    store = make_store(settings.cache, side, len(listing.samples), listing.root)
    seen = scan(listing, store, side, settings.quiet)
    if seen.problems and settings.strict:
        worst = seen.problems[0]
        raise UsageError(
            f"--strict: {len(seen.problems)} of {len(listing.samples)} pictures cannot be used, the first "
            f"is {worst.path} ({worst.kind}: {worst.why}); mend or remove them, or leave --strict out"
        )
    parts = _split(listing, seen.samples, settings.val_split, settings.test_split, seen.problems)
    varied, plain = augment.for_photos(size, settings.augment, *PHOTO_SCALE)
    made = {
        part: Pictures(seen.store, places, [seen.samples[i].label for i in places],
                       varied if part == "train" else plain)
        for part, places in parts.items() if places
    }  # fmt: skip
    honest = "test" in made
    test = made["test"] if honest else made["val"]
    counts = _counts(made["train"].targets, len(listing.classes))
    notes = _notes(listing, made, counts, seen.problems, seen.store, settings)
    paths = [seen.samples[i].path for i in test.places]
    return Images(name, made["train"], made.get("val"), test, list(listing.classes), 3, size,
                  *PHOTO_SCALE, counts, notes, seen.problems, honest, paths)  # fmt: skip


def _counts(labels: list[int], classes: int) -> list[int]:
    found = Counter(labels)
    return [found[i] for i in range(classes)]


# -- splitting -----------------------------------------------------------------------------------


def _split(
    listing: Listing, samples: list[Sample], val: float, test: float, problems: list[Problem]
) -> dict[str, list[int]]:
    """Places of the samples by part; what the folders leave open is drawn, by name, in each class.

    A picture's place in the order is a hash of its path inside the data set: other pictures that come or
    go, and other machines, do not change it.
    """
    parts: dict[str, list[int]] = {"train": [], "val": [], "test": []}
    given = {s.part for s in samples} - {""}
    root = listing.root if os.path.isdir(listing.root) else os.path.dirname(listing.root)
    for label, name in enumerate(listing.classes):
        mine = [i for i, s in enumerate(samples) if s.label == label]
        free = [i for i in mine if samples[i].part in ("", "train")]
        least = LEAST if not given else 2
        if len(free) < least:
            raise UsageError(_too_few(listing, name, label, least, problems))
        free.sort(key=lambda i: _rank(samples[i].path, root))
        for part in ("test", "val"):
            parts[part] += [i for i in mine if samples[i].part == part]
        held = 0
        if not given:
            held = max(1, round(len(free) * test))
            parts["test"] += free[:held]
        chosen = 0
        if "val" not in given and val:
            chosen = max(1, round((len(free) - held) * val))
            parts["val"] += free[held : held + chosen]
        if len(free) == held + chosen:
            raise UsageError(
                f"--data {listing.root}: --test-split {test:g} and --val-split {val:g} leave no picture of "
                f"class {name!r} to train on: give smaller ones"
            )
        parts["train"] += free[held + chosen :]
    if not parts["test"] and not parts["val"]:
        raise UsageError(
            f"--data {listing.root}: there are no pictures to test on: add a test folder or give --val-split"
        )
    return {part: sorted(places) for part, places in parts.items()}


def _too_few(listing: Listing, name: str, label: int, least: int, problems: list[Problem]) -> str:
    """What to say of a class that cannot be split: also why its pictures were left out, where they were."""
    mine = {s.path for s in listing.samples if s.label == label}
    bad = [p for p in problems if p.path in mine]
    folder = os.path.isdir(listing.root)
    said = f"--data {listing.root}: class {'folder ' if folder else ''}{name!r} has fewer than {least} images"
    if bad:
        said += f" that can be used ({len(bad)} of {len(mine)} left out, the first is {bad[0].path}, {bad[0].kind}: {bad[0].why})"  # fmt: skip
        if not folder and all(p.kind == "missing" for p in bad):
            return f"{said}: paths are meant from the folder of the .csv file, {os.path.dirname(os.path.abspath(listing.root))}"
    return f"{said}, too few to keep some for the test: add images of it, or remove it"


def _rank(path: str, root: str) -> bytes:
    inside = os.path.relpath(path, root).replace(os.sep, "/")
    return hashlib.sha256(inside.encode(errors="surrogateescape")).digest()


# -- telling -------------------------------------------------------------------------------------


def _notes(
    listing: Listing,
    parts: dict[str, Any],
    counts: list[int],
    problems: list,
    store: Any,
    settings: Any,
) -> list[str]:
    """Lines on what was found: counts, what was left out, imbalance, the cache."""
    lines = told(problems)
    if listing.others:
        lines.append(f"{listing.others} other files are no pictures, and were not looked at.")
    shown = [f"{name} {n:,}" for name, n in zip(listing.classes, counts)]
    more = f" ... and {len(shown) - 12} more classes" if len(shown) > 12 else ""
    lines.append(f"Classes: {', '.join(shown[:12])}{more} (to train on, from {listing.layout}).")
    most, least = max(counts), min(counts)
    if most > UNEVEN * least and not settings.class_weights:
        common, rare = listing.classes[counts.index(most)], listing.classes[counts.index(least)]
        lines.append(f"Uneven: {common} has {most / least:.0f} times the pictures of {rare}; --class-weights "
                     "makes every class count the same.")  # fmt: skip
    if "test" not in parts:
        lines.append("There is no test part: the final numbers are the validation part's, which also chose the "
                     "best epoch, so they flatter a little.")  # fmt: skip
    lines.append(f"Cache: {store.label}.")
    return lines


def write_scan(folder: str, images: Images) -> None:
    """scan.json: everything that was left out, and why."""
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(folder, "scan.json"), "w") as f:
        json.dump([p._asdict() for p in images.problems], f, indent=1)
