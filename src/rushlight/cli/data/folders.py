"""Pictures, rows and texts as data sets: scanned, split into parts that stay the same, kept."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..errors import UsageError, printable
from ..tasks.kinds import KINDS
from ..tasks.task import Task
from ..training.progress import bar
from ..words import counted
from . import augment
from .cache import Entry, make_store
from .files import Listing, Sample
from .images import PHOTO_SCALE, Images
from .inputs import Contents, Encoded, Inputs, digest, is_missing
from .pictures import TooLarge, kept_side, need_pillow, pillow_rules, read_picture, shrink, to_save
from .rows import Rows, leaks
from .texts import Texts, longer, read_text

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
    """Read every sample once, into the store; leave out what is broken or there twice."""
    if listing.inputs is None:
        need_pillow()
    task = KINDS[listing.task](listing.classes)
    found, shapes = [], []
    problems: list[Problem] = []
    rules = pillow_rules() if listing.inputs is None else nullcontext()
    with rules, bar(f"Looking at {listing.noun}s", len(listing.samples), quiet) as step:
        order = sorted(range(len(listing.samples)), key=lambda i: _FIRST[listing.samples[i].part])
        first: dict[str, Sample] = {}
        doubted: set[str] = set()
        for i, seen in zip(order, _all(listing, order, store, side)):
            sample = listing.samples[i]
            twice = None if isinstance(listing.inputs, Rows) else _again(sample, first, seen.entry, task)
            problem = seen.problem or twice or _misfit(sample, seen.entry, task, side)
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


def _all(listing: Listing, order: list[int], store: Any, side: int) -> Iterator[_Seen]:
    """The content of every sample, in order, decoded in threads that are only a few files ahead."""
    samples = listing.samples
    if listing.inputs is not None:
        yield from (_read(samples[i]) for i in order)
        return
    pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1))
    try:
        paths = iter([samples[i].path for i in order])
        ahead = deque(pool.submit(_look, path, store, side) for path in islice(paths, 64))
        while ahead:
            yield ahead.popleft().result()
            ahead.extend(pool.submit(_look, path, store, side) for path in islice(paths, 1))
    finally:  # Ctrl-C waits for the pictures that are being decoded, not for those in the queue
        pool.shutdown(cancel_futures=True)


def _read(sample: Sample) -> _Seen:
    """A row, or a text: what was in the table, or in a file of its own."""
    content, path = sample.content, sample.path
    if content is None:
        try:
            content = read_text(path, "it")
        except UsageError as error:
            return _Seen(None, None, Problem(path, "broken", error.sentence()))
    there = content if isinstance(content, str) else [c for c in content if not is_missing(c)]
    if not there:
        return _Seen(None, None, Problem(path, "empty", "there is nothing in it"))
    return _Seen(Entry(0, 0, digest(content), 0, 1, 1), content, None)


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


def _again(sample: Sample, first: dict[str, Sample], entry: Entry | None, task: Task) -> Problem | None:
    """The problem of a picture that was met before."""
    before = first.get(entry.digest) if entry else None
    if before is None:
        return None
    same = "the same file as" if sample.content is None else "the same text as"
    if before.target == sample.target:
        return Problem(sample.path, "duplicate", f"{same} {before.path}")
    return Problem(
        sample.path, "contradiction",
        f"{same} {before.path}, which is {task.in_words(before.target)} and not {task.in_words(sample.target)}",
    )  # fmt: skip


def _misfit(sample: Sample, entry: Entry | None, task: Task, side: int) -> Problem | None:
    """The problem of a picture whose target does not go with it."""
    why = task.misfit(sample.target, entry.wide, entry.high, side) if entry else ""
    return Problem(sample.path, "misfit", why) if why else None


def _without_contradictions(scan: Scan, doubted: set[str]) -> Scan:
    """A picture that has two different targets is left out altogether."""
    if not doubted:
        return scan
    found, problems, store, shapes = scan
    kept = [i for i, s in enumerate(found) if s.path not in doubted]
    problems += [Problem(s.path, "contradiction", "the same is there with another target, too")
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


def told(problems: list[Problem], noun: str) -> list[str]:
    """What was left out, in lines for a screen."""
    lines = []
    for kind, count in Counter(p.kind for p in problems).items():
        lines.append(f"Left out as {kind}: {counted(count, noun)}")
        of_kind = [p for p in problems if p.kind == kind]
        lines += [f"  {printable(p.path)}: {printable(p.why)}" for p in of_kind[:SHOWN]]
        if count > SHOWN:
            lines.append(f"  ... and {count - SHOWN} more (scan.json has all)")
    return lines


# A class with fewer pictures is trained on and not tested.
LEAST = 3
# A class with so many times the pictures of another is worth a word.
UNEVEN = 3.0


class Pictures:
    """Some pictures of a store, as a map-style data set of (transformed picture, target)."""

    def __init__(self, store: Any, places: list[int], targets: list[Any], task: Task, transform: Any, side: int) -> None:  # fmt: skip
        self.store, self.places, self.targets = store, places, targets
        self.task, self.transform, self.side = task, transform, side

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        from PIL import Image

        picture = Image.fromarray(self.store[self.places[i]])
        return self.task.sample(picture, self.targets[i], self.transform, self.side)


def from_listing(name: str, listing: Listing, settings: Any) -> Images:
    """Scan what there is, split it, say what was found."""
    inputs = listing.inputs
    size, side = settings.size, 0 if inputs else kept_side(settings.size)
    store = Contents() if inputs else make_store(settings.cache, side, len(listing.samples), listing.root)
    seen = scan(listing, store, side, settings.quiet)
    if seen.problems and settings.strict:
        worst = seen.problems[0]
        raise UsageError(
            f"--strict: {len(seen.problems)} of {counted(len(listing.samples), listing.noun)} cannot be used, the first "
            f"is {worst.path} ({worst.kind}: {worst.why}); mend or remove them, or leave --strict out"
        )
    listing, seen = _without_empty(listing, seen)
    task = KINDS[listing.task](listing.classes, noun=listing.noun)
    parts = _split(task, listing, seen.samples, settings.val_split, settings.test_split, settings.fold)
    if inputs is not None:
        return _encoded(name, listing, inputs, task, seen, parts, settings)
    fit = settings.fit or augment.fit_for(seen.shapes)
    varied, plain = task.transforms(size, fit, settings.augment, *PHOTO_SCALE, settings.erase)
    stronger = task.transforms(size, fit, "strong", *PHOTO_SCALE, settings.erase)[0] if settings.augment == "auto" else None  # fmt: skip
    made = {
        part: Pictures(seen.store, places, [seen.samples[i].target for i in places], task,
                       varied if part == "train" else plain, side)
        for part, places in parts.items() if places
    }  # fmt: skip
    honest = "test" in made
    test = made.get("test") or made.get("val") or Pictures(seen.store, parts["train"], made["train"].targets, task, plain, side)  # fmt: skip
    targets = made["train"].targets
    task.learn(targets)
    counts = task.counts(targets)
    notes = _notes(task, listing, made, counts, seen.problems, seen.store, settings)
    paths = [seen.samples[i].path for i in test.places]
    return Images(name, made["train"], made.get("val"), test, task, 3, size,
                  *PHOTO_SCALE, counts, targets, notes, seen.problems, honest, paths, fit, stronger)  # fmt: skip


def _encoded(
    name: str, listing: Listing, inputs: Inputs, task: Task, seen: Scan, parts: dict[str, list[int]], settings: Any
) -> Images:
    """The parts of rows or texts; their training part alone tells how they are encoded."""

    def of(part: str) -> tuple[list[Any], list[Any]]:
        return [seen.store[i] for i in parts[part]], [seen.samples[i].target for i in parts[part]]

    contents, targets = of("train")
    if not contents:
        raise UsageError(f"--data {listing.root}: no {listing.noun} is left to train on")
    if isinstance(inputs, Texts):
        inputs = Texts(settings.size, inputs.column, settings.model)
    inputs.learn(contents)
    task.learn(targets)
    made = {part: Encoded(inputs.encode(of(part)[0]), *of(part), task) for part, places in parts.items() if places}
    shown = "test" if "test" in made else "val" if "val" in made else "train"
    extra = leaks(inputs.columns, contents, targets) if isinstance(inputs, Rows) else []
    if isinstance(inputs, Texts) and (line := longer(contents, inputs)):
        extra.append(line)
    again = len({digest(c) for c in contents} & {digest(c) for c in of(shown)[0]}) if shown != "train" else 0
    if again:
        extra.append(f"{counted(again, listing.noun)} of the test in the training part, too: the numbers flatter a little.")  # fmt: skip
    counts = task.counts(targets)
    notes = [*_notes(task, listing, made, counts, seen.problems, None, settings), *extra]
    paths = [seen.samples[i].path for i in parts[shown]]
    return Images(name, made["train"], made.get("val"), made[shown], task, 1, inputs.size, (0.0,), (1.0,), counts, targets,
                  notes, seen.problems, "test" in made, paths, fit=None, inputs=inputs)  # fmt: skip


# -- splitting -----------------------------------------------------------------------------------


def _without_empty(listing: Listing, seen: Scan) -> tuple[Listing, Scan]:
    """Without the classes or labels of which no picture can be trained on; they are told, or are too many to go on."""
    task = KINDS[listing.task](listing.classes, noun=listing.noun)
    there = {i for s in seen.samples if s.part in ("", "train") for i in task.members(s.target)}
    lost = [i for i in range(len(listing.classes)) if i not in there]
    if not lost:
        return listing, seen
    names = [listing.classes[i] for i in lost]
    if len(there) < task.least:
        raise UsageError(_too_few(task, listing, names, lost, seen.problems))
    number = {old: new for new, old in enumerate(sorted(there))}
    targets = [task.renumbered(s.target, number) for s in seen.samples]
    keep = [i for i, target in enumerate(targets) if target is not None]
    samples = [seen.samples[i]._replace(target=targets[i]) for i in keep]
    store = seen.store if len(keep) == len(seen.samples) else Some(seen.store, keep)
    note = (
        f"No {task.noun} of {_named(task, names)} can be used to train on: left out, the network will not know "
        f"{'it' if len(names) == 1 else 'them'}."
    )
    listing = listing._replace(classes=[listing.classes[i] for i in sorted(there)], notes=(*listing.notes, note))
    return listing, Scan(samples, seen.problems, store, [seen.shapes[i] for i in keep])


def _split(
    task: Task, listing: Listing, samples: list[Sample], val: float, test: float, fold: str | None = None
) -> dict[str, list[int]]:
    """Places of the samples by part; what the folders leave open is drawn, by name, in each group of the task.

    A picture's place in the order is a hash of its path inside the data set: other pictures that come or
    go, and other machines, do not change it. A group of one or two pictures is trained on only. Of a `fold`, "2/5", the
    test is every fifth picture, from the second on.
    """
    parts: dict[str, list[int]] = {"train": [], "val": [], "test": []}
    given = {s.part for s in samples} - {""}
    if fold and given - {"train"}:
        raise UsageError(f"--folds draws the test parts itself, and --data {listing.root} has one already")
    which, of = map(int, (fold or "1/1").split("/"))
    root = listing.root if os.path.isdir(listing.root) else os.path.dirname(listing.root)
    groups: dict[Any, list[int]] = {}
    for i, group in enumerate(task.groups([s.target for s in samples])):
        groups.setdefault(group, []).append(i)
    most = max([len(mine) for mine in groups.values()], default=0)
    if of > max(most, 1):
        where = f"the most that a {task.one} has" if len(groups) > 1 else "all there is"
        fewer = f"--folds {most}, or fewer" if most > 1 else f"add {listing.noun}s"
        raise UsageError(
            f"--folds {of}: some would have nothing to test, as {where} is {counted(most, listing.noun)}: {fewer}"
        )
    for number, mine in enumerate(groups.values()):
        free = [i for i in mine if samples[i].part in ("", "train")]
        free.sort(key=lambda i: _rank(samples[i], root))
        for part in ("test", "val"):
            parts[part] += [i for i in mine if samples[i].part == part]
        enough = len(free) >= LEAST
        held = 0
        if fold and enough:
            tested = [i for at, i in enumerate(free) if (at + number) % of == which - 1]
            parts["test"] += tested
            free = [i for i in free if i not in set(tested)]
        elif not given and test and enough:
            held = _apart(_some(len(free), test), free, samples)
            parts["test"] += free[:held]
        chosen = 0
        if "val" not in given and val and len(free) - held >= LEAST:
            chosen = _apart(held + _some(len(free) - held, val), free, samples) - held
            parts["val"] += free[held : held + chosen]
        parts["train"] += free[held + chosen :]
    return {part: sorted(places) for part, places in parts.items()}


def _apart(at: int, order: list[int], samples: list[Sample]) -> int:
    """A place near `at` that does not part rows that are the same: both would lie in training and test."""

    def same(i: int) -> bool:
        one, other = samples[order[i - 1]].content, samples[order[i]].content
        return one is not None and one == other

    after = at
    while after < len(order) and same(after):
        after += 1
    while at and same(at):
        at -= 1
    return after if after < len(order) else at


def _some(count: int, share: float) -> int:
    """A share of the pictures of a class: one at least, and one is left to train on."""
    return min(max(1, round(count * share)), count - 1)


def _named(task: Task, names: list[str]) -> str:
    """class 'a', or classes 'a', 'b' and so on."""
    shown = ", ".join(repr(printable(n)) for n in names[:8])
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"{task.one if len(names) == 1 else task.many} {shown}{more}"


def _too_few(task: Task, listing: Listing, names: list[str], lost: list[int], problems: list[Problem]) -> str:
    """What to say where too few classes are left: also why pictures were left out, where they were."""
    mine = [s.path for s in listing.samples if set(task.members(s.target)) & set(lost)]
    bad = [p for p in problems if p.path in set(mine)]
    least = "a classifier needs two classes or more, and " if task.least == 2 else ""
    said = f"--data {listing.root}: {least}{_named(task, names)} "
    said += f"ha{'s' if len(names) == 1 else 've'} no {task.noun} that can be used{''.join({to_save(path) for path in listing.others})}"
    if bad:
        said += f" ({len(bad)} of {len(mine)} left out, the first is {bad[0].path}, {bad[0].kind}: {bad[0].why})"
        if not os.path.isdir(listing.root) and all(p.kind == "missing" for p in bad):
            return (f"{said}: paths are meant from the folder of the .csv file, {os.path.dirname(os.path.abspath(listing.root))}; "
                    "where these are no pictures, --input table takes the columns for values")  # fmt: skip
    return f"{said}: add {task.noun}s"


def _rank(sample: Sample, root: str) -> bytes:
    if sample.content is not None:  # what stands in a table goes by what it says, wherever it stands
        return hashlib.sha256(repr(sample.content).encode(errors="surrogatepass")).digest()
    path = sample.path
    inside = os.path.relpath(path, root).replace(os.sep, "/")
    return hashlib.sha256(inside.encode(errors="surrogateescape")).digest()


# -- telling -------------------------------------------------------------------------------------


def _notes(
    task: Task, listing: Listing, parts: dict[str, Any], counts: list[int], problems: list, store: Any, settings: Any
) -> list[str]:
    """Lines on what was found: counts, what was left out, imbalance, the cache."""
    lines = [*told(problems, task.noun), *listing.notes]
    if listing.others:
        often = Counter(os.path.splitext(path)[1].lower() or "without an ending" for path in listing.others)
        kinds = ", ".join(f"{count} {printable(ending)}{to_save(ending)}" for ending, count in often.most_common(4))
        lines.append(f"Not looked at, because no {task.noun}: {counted(len(listing.others), 'other file')} ({kinds}).")
    tested = {i for part in ("test", "val") if part in parts for target in parts[part].targets for i in task.members(target)}  # fmt: skip
    untested = [c for i, c in enumerate(listing.classes) if i not in tested]
    if untested and tested:
        lines.append(f"Too few {task.noun}s of {_named(task, untested)} to keep some for the test: trained on, not tested.")  # fmt: skip
    lines.append(f"{task.summary(parts['train'].targets)}; to train on, from {listing.layout}.")
    most, least = max(counts), min(counts)
    if most > UNEVEN * least and not (settings.class_weights or settings.balanced):
        common, rare = listing.classes[counts.index(most)], listing.classes[counts.index(least)]
        lines.append(f"Uneven: {common} has {most / least:.0f} times the {task.noun}s of {rare}; --class-weights "
                     f"makes every {task.one} count the same, --balanced shows them as often.")  # fmt: skip
    if "test" not in parts:
        lines.append("There is no test part: the final numbers are the validation part's, which also chose the "
                     "best epoch, so they flatter a little." if "val" in parts else
                     f"There is no test part: the final numbers are those of the {task.noun}s it was trained on, so "
                     f"they say nothing of other {task.noun}s.")  # fmt: skip
    if store is not None:
        lines.append(f"Cache: {store.label}.")
    return lines


def write_scan(folder: str, images: Images) -> None:
    """scan.json: everything that was left out, and why."""
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(folder, "scan.json"), "w") as f:
        json.dump([p._asdict() for p in images.problems], f, indent=1)
