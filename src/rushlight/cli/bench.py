"""`rushlight bench`: make the network and the batch larger and see what each device gives."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import config
from .errors import UsageError
from .report import svg
from .training.networks import build
from .words import counted

if TYPE_CHECKING:
    from argparse import Namespace

# Trained on images like the lab's.
CHANNELS, SIZE, CLASSES = 3, 32, 10
# A gain below this may be noise.
WIN = 1.05


class TimedPlace(NamedTuple):
    """Where steps are timed: a device, or the CPU with so many threads."""

    label: str
    device: str
    threads: int


def bench(args: Namespace) -> int:
    """Time training steps over a grid of width and batch size, in every place there is."""
    import rushlight as rl
    from rushlight.runtime.cuda import why_not

    widths, batches = _numbers(args.widths, "--widths"), _numbers(args.batches, "--batches")
    if args.model not in config.WIDE:
        widths = [1]
    _make_folder(args.out)
    reason = why_not()
    threads = rl.get_num_threads()
    places = _places(rl, reason is None, threads)
    labels = [p.label for p in places]
    print(f"Training steps of {args.model} on images of {CHANNELS}x{SIZE}x{SIZE}, about "
          f"{counted(round(args.seconds), 'second')} in all.\n\n{_head(labels)}", flush=True)  # fmt: skip
    rows = []
    try:
        for row in _grid(rl, args, widths, batches, places):
            rows.append(row)
            print(_line(rows, labels), flush=True)
    finally:
        rl.set_num_threads(threads)
    print(f"\n{_explain(rows, labels, reason)}")
    _write(args, rows, labels)
    return 0


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.strerror}") from None


def _numbers(text: str, option: str) -> list[int]:
    try:
        values = sorted({int(v) for v in text.split(",") if v.strip()})
    except ValueError:
        raise UsageError(f"{option} {text}: whole numbers with commas are expected") from None
    if not values or values[0] < 1:
        raise UsageError(f"{option} {text}: at least one number, all above 0")
    return values


def _places(rl: ModuleType, gpu: bool, threads: int) -> list[TimedPlace]:
    """The CPU and every GPU; without one, the CPU with one thread and with all."""
    if gpu:
        count = rl.cuda.device_count()
        return [TimedPlace("cpu", "cpu", threads), *[TimedPlace(f"cuda:{i}", f"cuda:{i}", threads) for i in range(count)]]  # fmt: skip
    if threads > 1:
        return [TimedPlace("1 thread", "cpu", 1), TimedPlace(f"{threads} threads", "cpu", threads)]
    return [TimedPlace("cpu", "cpu", 1)]


# -- timing --------------------------------------------------------------------------------------


def _grid(
    rl: ModuleType, args: Namespace, widths: list[int], batches: list[int], places: list[TimedPlace]
) -> Iterator[dict[str, Any]]:
    """A row for each width and batch, smallest first; None where the time would not suffice."""
    end = time.perf_counter() + args.seconds
    cells = len(widths) * len(batches) * len(places)
    for width in widths:
        each: dict[str, float] = {}  # seconds an image took at the batch before
        for batch in batches:
            row: dict[str, Any] = {"width": width, "batch": batch}
            for place in places:
                left = max(end - time.perf_counter(), 0.0)
                share = left / cells
                cells -= 1
                # Two steps to warm up and one to time must fit into what is left.
                if 3 * batch * each.get(place.label, 0.0) > max(share, left / 2):
                    row[place.label] = None
                    continue
                rl.set_num_threads(place.threads)
                step = _step(rl, args.model, width, batch, place.device)
                each[place.label] = _time(step, share) / batch
                row[place.label] = round(1 / each[place.label], 1)
            yield row


def _step(rl: ModuleType, model: str, width: int, batch: int, device: str) -> Callable[[], Any]:
    """A training step of a network that exists, on images that lie on the device."""
    rl.manual_seed(0)
    net = build(model, channels=CHANNELS, size=SIZE, classes=CLASSES, width=width).to(device)
    optimizer = rl.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    criterion = rl.nn.CrossEntropyLoss()
    x = rl.randn(batch, CHANNELS, SIZE, SIZE).to(device)
    y = rl.randint(0, CLASSES, (batch,)).to(device)

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def _time(step: Callable[[], Any], seconds: float) -> float:
    """The median time of a step, measured for about so long; reading the loss waits for the device."""
    end = time.perf_counter() + seconds
    step().item()
    begin = time.perf_counter()
    step().item()
    once = time.perf_counter() - begin
    count = max(1, min(50, int(0.05 / max(once, 1e-6))))
    times: list[float] = []
    while not times or (time.perf_counter() < end and len(times) < 200):
        begin = time.perf_counter()
        for _ in range(count):
            loss = step()
        loss.item()
        times.append((time.perf_counter() - begin) / count)
    return sorted(times)[len(times) // 2]


# -- telling -------------------------------------------------------------------------------------


def _gain(row: dict[str, Any], labels: list[str]) -> float | None:
    """How many times the last place beats the first."""
    first, last = row[labels[0]], row[labels[-1]]
    return last / first if first and last and len(labels) > 1 else None


def _first_wins(rows: list[dict[str, Any]], labels: list[str]) -> list[dict[str, Any]]:
    """Of each width the row with the smallest batch at which the last place wins."""
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        if (_gain(row, labels) or 0) > WIN:
            found.setdefault(row["width"], row)
    return list(found.values())


def _wins(label: str) -> str:
    return f"{label} {'win' if label.endswith('threads') else 'wins'}"


def _head(labels: list[str]) -> str:
    ratio = f"{labels[-1]} / {labels[0]}" if len(labels) > 1 else ""
    names = "".join(f"{label:>13}" for label in labels)
    return f"{'':13}  images per second\n{'width':>6} {'batch':>6}{names}{ratio:>25}"


def _line(rows: list[dict[str, Any]], labels: list[str]) -> str:
    """The newest row; the first of its width that the last place wins is marked."""
    row = rows[-1]
    cells = "".join(f"{row[p]:>13,.0f}" if row[p] else f"{'no time':>13}" for p in labels)
    gain = _gain(row, labels)
    told = f"{gain:>24.2f}x" if gain else ""
    mark = f"   <- {_wins(labels[-1])}" if row in _first_wins(rows, labels) else ""
    return f"{row['width']:>6} {row['batch']:>6}{cells}{told}{mark}"


WHY = (
    "A small step is mostly the starting of its operations, which costs about the same everywhere; "
    "a large one is mostly arithmetic, where the stronger side shows."
)
ALONE = (
    "Images per second grow with the batch, for more images share the cost of starting each "
    "operation, until arithmetic takes all the time."
)


def _explain(rows: list[dict[str, Any]], labels: list[str], reason: str | None) -> str:
    """Two sentences on what the reader sees, and why there is no more to see."""
    gpu = f"\nThere is no GPU to compare with: {reason}" if reason else ""
    if len(labels) == 1:
        return f"There is nothing to compare on one core. {ALONE}{gpu}"
    gains = [(gain, row) for row in rows if (gain := _gain(row, labels))]
    if not gains:
        return f"The time was too short to compare anything: give more --seconds.{gpu}"
    best, at = max(gains, key=lambda pair: pair[0])
    top = f"{best:.2f}x at width {at['width']}, batch {at['batch']}"
    starts = _first_wins(rows, labels)
    if not starts:
        return f"On this grid {labels[-1]} never clearly beat {labels[0]}: at best {top}. {WHY}{gpu}"
    where = ", ".join(f"batch {row['batch']} at width {row['width']}" for row in starts)
    return f"{_wins(labels[-1])} from {where}; the most it gains is {top}. {WHY}{gpu}"


def _write(args: Namespace, rows: list[dict], labels: list[str]) -> None:
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(args.out, "bench.json"), "w") as f:
        json.dump({"model": args.model, "places": labels, "rows": rows}, f, indent=1)
    told = svg.write(os.path.join(args.out, "bench.svg"), drawing(args.model, rows, labels))
    print(f"Wrote to {args.out}: bench.json, {told}.")


def _thousands(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def drawing(model: str, rows: list[dict[str, Any]], places: list[str]) -> str:
    """Images per second over the batch size, both by powers: a line for each place and width, the first place dotted."""
    colours = ("one", "two", "three", "four")
    lines = []
    for i, width in enumerate(sorted({r["width"] for r in rows})):
        for n, place in enumerate(places):
            points = [(r["batch"], r[place]) for r in rows if r["width"] == width and r[place]]
            kind = colours[i % 4] + (" dotted" if n == 0 and len(places) > 1 else "")
            lines.append(svg.Line(f"{place}, width {width}", kind, points))
    chart = svg.line_chart("images per second", lines, "batch size", _thousands, log_x=True, log_y=True)
    return svg.sheet((f"training {model}: images per second", chart))
