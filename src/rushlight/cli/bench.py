"""`rushlight bench`: make the network and the batch larger and see what each device gives."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from . import config
from .drawing import draw_speeds
from .errors import UsageError
from .networks import build

# Trained on images like the lab's.
CHANNELS, SIZE, CLASSES = 3, 32, 10


class Place(NamedTuple):
    """Where steps are timed: a device, or the CPU with so many threads."""

    label: str
    device: str
    threads: int


def bench(args: Any) -> int:
    """Time training steps over a grid of width and batch size, in every place there is."""
    import rushlight as rl
    from rushlight.backend.cuda import why_not

    widths, batches = _numbers(args.widths, "--widths"), _numbers(args.batches, "--batches")
    if args.model not in config.WIDE:
        widths = [1]
    _make_folder(args.out)
    reason = why_not()
    threads = rl.get_num_threads()
    places = _places(rl, reason is None, threads)
    print(f"Training {args.model} in {', '.join(p.label for p in places)}; "
          f"about {args.seconds:.0f} seconds.", flush=True)  # fmt: skip
    try:
        rows = _grid(rl, args, widths, batches, places)
    finally:
        rl.set_num_threads(threads)
    labels = [p.label for p in places]
    print("\n".join([*_table(rows, labels), "", _explain(rows, labels, reason)]))
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


def _places(rl: Any, gpu: bool, threads: int) -> list[Place]:
    """The CPU and every GPU; without one, the CPU with one thread and with all."""
    if gpu:
        count = rl.cuda.device_count()
        return [Place("cpu", "cpu", threads), *[Place(f"cuda:{i}", f"cuda:{i}", threads) for i in range(count)]]  # fmt: skip
    if threads > 1:
        return [Place("1 thread", "cpu", 1), Place(f"{threads} threads", "cpu", threads)]
    return [Place("cpu", "cpu", 1)]


# -- timing --------------------------------------------------------------------------------------


def _grid(rl: Any, args: Any, widths: list[int], batches: list[int], places: list[Place]) -> list:
    """A row for each width and batch, smallest first; None where the time would not suffice."""
    end = time.perf_counter() + args.seconds
    left = len(widths) * len(batches) * len(places)
    rows: list[dict[str, Any]] = []
    for width in widths:
        steps = {p.label: 0.0 for p in places}  # seconds of a step at the batch before
        for batch in batches:
            row: dict[str, Any] = {"width": width, "batch": batch}
            for place in places:
                share = max(end - time.perf_counter(), 0.0) / left
                left -= 1
                grown = batch / rows[-1]["batch"] if steps[place.label] else 1.0
                if steps[place.label] * grown * 3 > max(share, end - time.perf_counter()):
                    row[place.label] = None  # two steps to warm up and one to time do not fit
                    continue
                rl.set_num_threads(place.threads)
                step = _step(rl, args.model, width, batch, place.device)
                steps[place.label] = seconds = _time(step, share)
                row[place.label] = round(batch / seconds, 1)
            rows.append(row)
    return rows


def _step(rl: Any, model: str, width: int, batch: int, device: str) -> Callable[[], Any]:
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


def _gain(row: dict, labels: list[str]) -> float | None:
    """How many times the last place beats the first."""
    first, last = row[labels[0]], row[labels[-1]]
    return last / first if first and last and len(labels) > 1 else None


def _winning(rows: list[dict], labels: list[str]) -> list[int]:
    """Of each width the first row from which on the last place wins."""
    found = []
    for width in sorted({r["width"] for r in rows}):
        mine = [i for i, r in enumerate(rows) if r["width"] == width]
        wins = [i for i in mine if (_gain(rows[i], labels) or 0) > 1]
        found += [i for i in wins if all(j in wins or not _gain(rows[j], labels) for j in mine if j > i)][:1]  # fmt: skip
    return found


def _table(rows: list[dict], labels: list[str]) -> list[str]:
    ratio = f"{labels[-1]} / {labels[0]}" if len(labels) > 1 else ""
    lines = ["", f"{'':15}" + "images per second", f"{'width':>6} {'batch':>6}"
             + "".join(f"{label:>14}" for label in labels) + f"{ratio:>26}"]  # fmt: skip
    starts = _winning(rows, labels)
    for i, row in enumerate(rows):
        cells = "".join(f"{row[p]:>14,.0f}" if row[p] else f"{'no time':>14}" for p in labels)
        gain = _gain(row, labels)
        told = f"{gain:>25.2f}x" if gain else ""
        mark = f"   <- {labels[-1]} wins from here on" if i in starts else ""
        lines.append(f"{row['width']:>6} {row['batch']:>6}{cells}{told}{mark}")
    return lines


def _explain(rows: list[dict], labels: list[str], reason: str | None) -> str:
    """Two sentences on what the reader sees."""
    if len(labels) == 1:
        return (
            f"There is nothing to compare: one core and no GPU ({(reason or '').rstrip('.')}). Images "
            f"per second grow with the batch while the cost of starting each operation is shared by more images."
        )
    gains = [(_gain(r, labels), r) for r in rows if _gain(r, labels)]
    best, at = max(gains, key=lambda pair: pair[0] or 0)
    starts = _winning(rows, labels)
    name = labels[-1]
    if starts:
        where = "; ".join(f"batch {rows[i]['batch']} at width {rows[i]['width']}" for i in starts)
        first = f"{name} wins from {where}, and gains most, {best:.1f}x, at width {at['width']} and batch {at['batch']}."
    else:
        first = f"{name} never wins here: its best is {best:.2f}x, at width {at['width']} and batch {at['batch']}."
    second = (
        "A small step is mostly the starting of its operations, which costs the same everywhere; "
        "a large one is mostly arithmetic, where the stronger device shows."
    )
    return f"{first} {second}" + (f"\nNo GPU to compare with: {reason}" if reason else "")


def _write(args: Any, rows: list[dict], labels: list[str]) -> None:
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(args.out, "bench.json"), "w") as f:
        json.dump({"model": args.model, "places": labels, "rows": rows}, f, indent=1)
    picture = os.path.join(args.out, "bench.png")
    told = draw_speeds(picture, f"training {args.model}", rows, labels)
    print(f"Wrote to {args.out}: bench.json, {told}.")
