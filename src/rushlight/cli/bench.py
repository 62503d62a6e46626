"""`rushlight bench`: make the model and the batch larger and see what the device gives."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from .errors import UsageError
from .networks import build


def bench(args: Any) -> int:
    """Time training steps over a grid of width and batch size, on every device."""
    import rushlight as rl
    from rushlight.backend.cuda import why_not

    widths, batches = _numbers(args.widths, "--widths"), _numbers(args.batches, "--batches")
    reason = why_not()
    places = _places(rl, reason)
    if len(places) == 1:
        print(f"There is one device and one core to compare: {places[0][0]} ({reason}).")
    share = args.seconds / (len(widths) * len(batches) * len(places))
    rows = []
    for width in widths:
        for batch in batches:
            row: dict[str, Any] = {"width": width, "batch": batch}
            for label, prepare, device in places:
                prepare()
                row[label] = _speed(rl, args.model, width, batch, device, share)
            rows.append(row)
    names = [p[0] for p in places]
    print(_table(rows, names))
    print(_explain(rows, names, reason))
    os.makedirs(args.out, exist_ok=True)
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(args.out, "bench.json"), "w") as f:
        json.dump({"model": args.model, "places": names, "rows": rows}, f, indent=1)
    print(f"Wrote {args.out}: bench.json, {_draw(rows, names, args)}.")
    return 0


def _numbers(text: str, option: str) -> list[int]:
    try:
        values = [int(v) for v in text.split(",") if v]
    except ValueError:
        raise UsageError(
            f"{option} {text}: whole numbers separated by commas are expected"
        ) from None
    if not values or min(values) < 1:
        raise UsageError(f"{option} {text}: at least one number, all above 0")
    return values


def _places(rl: Any, reason: str | None) -> list[tuple[str, Any, str]]:
    """(label, how to prepare, device): the CPU and the GPUs, or the CPU with one and all threads."""
    cores = rl.get_num_threads()
    if reason is None:
        gpus = [(f"cuda:{i}", lambda: None, f"cuda:{i}") for i in range(rl.cuda.device_count())]
        return [("cpu", lambda: None, "cpu"), *gpus]
    if cores == 1:
        return [("cpu", lambda: None, "cpu")]
    return [
        ("1 thread", lambda: rl.set_num_threads(1), "cpu"),
        (f"{cores} threads", lambda: rl.set_num_threads(cores), "cpu"),
    ]


def _speed(rl: Any, model: str, width: int, batch: int, device: str, seconds: float) -> float:
    """Images per second of training steps, within about `seconds`."""
    rl.manual_seed(0)
    net = build(
        model, channels=3, size=32, classes=10, width=width if model in ("lenet", "mlp") else 1.0
    )
    net = net.to(device)
    optimizer = rl.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    criterion = rl.nn.CrossEntropyLoss()
    x = rl.randn(batch, 3, 32, 32).to(device)
    y = rl.randint(0, 10, (batch,)).to(device)

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    begin = time.perf_counter()
    step().item()
    warm = time.perf_counter()
    step().item()
    once = time.perf_counter() - warm
    left = seconds - (time.perf_counter() - begin)
    times = []
    while len(times) < 3 or (left > 0 and len(times) < 200):
        count = max(1, min(50, int(0.05 / max(once, 1e-6))))
        start = time.perf_counter()
        for _ in range(count):
            loss = step()
        loss.item()  # wait for the device
        took = time.perf_counter() - start
        times.append(took / count)
        left -= took
        if left <= 0:
            break
    return round(batch / sorted(times)[len(times) // 2], 1)


def _table(rows: list[dict], names: list[str]) -> str:
    ratio = len(names) > 1
    head = f"{'width':>6} {'batch':>6}" + "".join(f"{n + ' img/s':>18}" for n in names)
    lines = [head + (f"{names[-1] + ' / ' + names[0]:>22}" if ratio else "")]
    for row in rows:
        text = f"{row['width']:>6} {row['batch']:>6}" + "".join(f"{row[n]:>18,.0f}" for n in names)
        if ratio:
            gain = row[names[-1]] / row[names[0]]
            text += f"{gain:>21.2f}x" + ("  <- wins" if gain > 1.0 else "")
        lines.append(text)
    return "\n".join(lines)


def _explain(rows: list[dict], names: list[str], reason: str | None) -> str:
    if len(names) == 1:
        return "Images per second grow with the batch until the core is busy; wider networks do more work per image."
    gains = [r[names[-1]] / r[names[0]] for r in rows]
    wins = [r for r, g in zip(rows, gains) if g > 1.0]
    first = wins[0] if wins else None
    where = f"width {first['width']}, batch {first['batch']}" if first else "nowhere on this grid"
    best = rows[gains.index(max(gains))]
    what = "The GPU" if reason is None else f"{names[-1]} of the CPU"
    text = (
        f"{what} starts to win at {where} and gains most, {max(gains):.1f}x, at width {best['width']}, batch "
        f"{best['batch']}: small steps are launch overhead, large ones are arithmetic, which it has more of."
    )
    return text if reason is None else text + f" There is no GPU to compare with: {reason}"


def _draw(rows: list[dict], names: list[str], args: Any) -> str:
    from .report import _pyplot

    plt = _pyplot()
    if plt is None:
        return "no picture: matplotlib is not installed (pip install 'rushlight[plot]')"
    figure, axis = plt.subplots(figsize=(7, 5))
    styles = ["o--", "o-", "s-", "^-"]
    widths = sorted({r["width"] for r in rows})
    for n, name in enumerate(names):
        for i, width in enumerate(widths):
            mine = [r for r in rows if r["width"] == width]
            axis.plot([r["batch"] for r in mine], [r[name] for r in mine], styles[n % 4],
                      color=f"C{i}", label=f"{name}, width {width}")  # fmt: skip
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel("batch size")
    axis.set_ylabel("images per second")
    axis.set_title(f"training {args.model}")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(os.path.join(args.out, "bench.png"), dpi=110)
    plt.close(figure)
    return "bench.png"
