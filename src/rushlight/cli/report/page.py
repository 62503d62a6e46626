"""report.html: one file that shows what was trained, on what, how well, and where it goes wrong."""

from __future__ import annotations

import os
from html import escape
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.png import address
from ..data.images import Images
from ..errors import printable
from ..training.progress import clock
from . import svg
from .page_style import page
from .scores import TOP, Result
from .svg import Line
from .text import chance_warning

if TYPE_CHECKING:
    from argparse import Namespace

    from ...core.tensor import Tensor
    from ...nn.modules.module import Module


# A drawing has a block for each of these; norms and activations are counted with the layer before.
_DRAWN = ("Conv", "Linear", "Pool", "LSTM", "GRU", "RNN", "Embedding", "MultiheadAttention")
_KINDS = (("Conv", "conv"), ("Linear", "linear"), ("Pool", "pool"))
MOST_BLOCKS = 80


class Layer(NamedTuple):
    """One row of the table."""

    name: str
    kind: str
    shape: tuple[int, ...]  # of its output, for one picture
    parameters: int
    multiplies: int


def look_at(net: Module, shape: tuple[int, ...]) -> list[Layer]:
    """Every layer in the order it computes, for one input of this shape."""
    import rushlight as rl

    rows: list[Layer] = []
    names = {id(m): name for name, m in net.named_modules()}
    leaves = [m for m in net.modules() if not list(m.children())]

    def note(module: Module, inputs: Any, out: Any) -> None:
        first = out[0] if isinstance(out, tuple) else out
        shape = tuple(first.shape[1:])
        own = sum(p.numel() for p in module.parameters())
        rows.append(Layer(names[id(module)] or type(module).__name__, type(module).__name__, shape, own,
                          _multiplies(module, inputs[0], first)))  # fmt: skip

    hooks = [m.register_forward_hook(note) for m in leaves]
    was = net.training
    try:
        net.eval()
        with rl.no_grad():
            net(rl.zeros(1, *shape))
    finally:
        net.train(was)
        for hook in hooks:
            hook.remove()
    return rows


def _multiplies(module: Module, x: Any, out: Any) -> int:
    """Multiply-adds for one input, of the layers whose weights are multiplied."""
    weight: Any = getattr(module, "weight", None)
    kind = type(module).__name__
    if kind.startswith("Conv"):
        return prod(out.shape[1:]) * prod(weight.shape[1:])
    if kind == "Linear":
        return prod(out.shape[1:]) * weight.shape[1]
    return 0


def short(n: float) -> str:
    """1,234 as 1.2 k, and so on."""
    for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= size:
            return f"{n / size:.{2 if n < 10 * size else 1}f} {name}"
    return str(int(n))


def table(rows: list[Layer]) -> str:
    """The layers as an HTML table."""
    lines = []
    for r in rows:
        shape = " × ".join(map(str, r.shape))
        lines.append(
            f"<tr><td><code>{escape(r.name)}</code></td><td>{escape(r.kind)}</td><td class='n'>{shape}</td>"
            f"<td class='n'>{r.parameters:,}</td><td class='n'>{short(r.multiplies) if r.multiplies else '–'}</td></tr>"
        )
    total = (f"<tr class='total'><td>all</td><td></td><td></td><td class='n'>{sum(r.parameters for r in rows):,}</td>"
             f"<td class='n'>{short(sum(r.multiplies for r in rows))}</td></tr>")  # fmt: skip
    return (
        "<table class='layers'><thead><tr><th>layer</th><th>kind</th><th class='n'>output</th><th class='n'>parameters</th>"
        f"<th class='n'>multiply-adds</th></tr></thead><tbody>{''.join(lines)}{total}</tbody></table>"
    )


def drawing(rows: list[Layer], input_shape: tuple[int, ...]) -> str:
    """Blocks from left to right: as high as the picture is there, as wide as there are channels."""
    drawn = [r for r in rows if any(k in r.kind for k in _DRAWN)][:MOST_BLOCKS]
    largest = max(input_shape[-1], 1)
    blocks = [(14, 150, "input", f"input {'×'.join(map(str, input_shape))}")]
    for r in drawn:
        side = r.shape[-1] if len(r.shape) > 1 else 1
        channels = r.shape[0] if r.shape else 1
        high = (
            18 + 132 * (side / largest) ** 0.5
            if len(r.shape) > 1
            else 26 + min(channels, 512) ** 0.5
        )
        wide = 5 + min(channels, 2048) ** 0.5 / 2
        kind = next((name for part, name in _KINDS if part in r.kind), "other")
        told = f"{r.name}: {r.kind} → {'×'.join(map(str, r.shape))}, {r.parameters:,} parameters"
        blocks.append((wide, min(high, 150), kind, told))
    gap = 3 if len(blocks) > 24 else 6
    total = sum(b[0] + gap for b in blocks) + 10
    parts = [f"<svg class='network' viewBox='0 0 {total:.0f} 170' style='max-width:{total * 2.4:.0f}px' role='img' aria-label='the network'>"]  # fmt: skip
    x = 5.0
    for wide, high, kind, told in blocks:
        parts.append(f"<rect class='block {kind}' x='{x:.1f}' y='{85 - high / 2:.1f}' width='{wide:.1f}' height='{high:.1f}' rx='2'>"
                     f"<title>{escape(told)}</title></rect>")  # fmt: skip
        x += wide + gap
    keys = "".join(f"<span><i class='key block {k}'></i>{t}</span>" for k, t in
                   (("input", "picture"), ("conv", "convolution"), ("pool", "pooling"), ("linear", "linear")))  # fmt: skip
    return "".join([*parts, "</svg>", f"<div class='legend'>{keys}</div>"])


def seen(x: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> np.ndarray:
    """A network's input (CxHxW, scaled) as the picture it stands for."""
    a = x.numpy()
    a = a * np.reshape(std, (-1, 1, 1)) + np.reshape(mean, (-1, 1, 1))
    pixels = np.clip(np.rint(a * 255), 0, 255).astype(np.uint8)
    return pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)


SHOWN = 12  # pictures of a kind
MOST_CLASSES = 40  # in the matrix


def write_report(
    args: Namespace, images: Images, net: Module, result: Result, history: list[dict[str, Any]], best: int, record: dict[str, Any]
) -> str:  # fmt: skip
    """Write it; the answer is its path."""
    from rushlight.io import atomic_write

    rows = look_at(net, (images.channels, images.size, images.size))
    name = os.path.basename(os.path.abspath(args.out))
    body = "".join([
        _head(name, args, images, result, rows, record), _curves(history, best), _by_class(result),
        _mistakes(images, result), _variety(args, images), _network(rows, images), _data(images), _repeat(record),
    ])  # fmt: skip
    path = os.path.join(args.out, "report.html")
    with atomic_write(path, "wb") as f:
        text = page(f"{printable(name)}: {result.accuracy:.1%}", body)
        f.write(text.encode(errors="backslashreplace"))  # file names need not be UTF-8
    return path


def _number(value: str, name: str, more: str = "", main: bool = False) -> str:
    small = f"<small>{escape(more)}</small>" if more else ""
    return f"<div class='number{' main' if main else ''}'><b>{escape(value)}</b><span>{escape(name)}</span>{small}</div>"  # fmt: skip


def _head(
    name: str, args: Namespace, images: Images, result: Result, rows: list, record: dict[str, Any]
) -> str:
    low, high = result.interval()
    error, _ = result.calibration()
    tested = "test" if images.honest else "validation"
    cards = [
        _number(f"{result.accuracy:.1%}", f"accuracy on {len(result.truth):,} {tested} pictures",
                f"95 % interval {low:.1%} to {high:.1%}", main=True),
        _number(f"{result.f1().mean():.3f}", "F1, mean of the classes"),
    ]  # fmt: skip
    if len(images.classes) > TOP:
        cards.append(_number(f"{result.top5:.1%}", "right among the five likeliest"))
    energy = "" if record.get("joules") is None else f"{record['joules'] / 3600:.2f} Wh"
    cards += [
        _number(f"{error:.1%}", "confidence off by, on average"),
        _number(f"{len(images.train):,}", "pictures to train on", f"{len(images.classes)} classes"),
        _number(short(sum(r.parameters for r in rows)), "parameters",
                f"{short(sum(r.multiplies for r in rows))} multiply-adds a picture"),
        _number(clock(record["seconds"]), "to train (min:s)", energy or record["device"].partition(":")[0]),
    ]  # fmt: skip
    warning = chance_warning(result)
    told = f"<p class='warning'>{escape(warning)}</p>" if warning else ""
    source = escape(printable(os.path.basename(images.name) or images.name))
    return (
        f"<header><h1>{escape(printable(name))}</h1><p>{escape(args.model)} on {source}, {images.size}×{images.size} pixels; "
        f"{escape(record['started'].replace('T', ' '))}</p></header>{told}<div class='numbers'>{''.join(cards)}</div>"
    )


def _curves(history: list[dict[str, Any]], best: int) -> str:
    def line(name: str, kind: str, key: str) -> Line:
        return Line(name, kind, [(h["epoch"], h[key]) for h in history if key in h])

    mark = float(best) if len(history) > 1 else None
    charts = []
    for key, show, span in (("loss", svg.plain, None), ("accuracy", svg.percent, (0.0, 1.0))):
        lines = [line("training", "two", f"train_{key}"), line("validation", "one", f"val_{key}")]
        charts.append((key, svg.line_chart(key, [x for x in lines if x.points], show=show, span=span, mark=mark)))  # fmt: skip
    charts.append(("learning rate", svg.line_chart("learning rate", [line("rate", "three", "lr")])))
    cards = "".join(f"<div class='card'><h3>{name}</h3>{drawn}</div>" for name, drawn in charts)
    return ("<h2>How it learnt</h2><p class='faint'>The dashed line is the epoch that was kept. Training pictures are "
            f"varied, so they can be harder than those of the validation.</p><div class='grid-3'>{cards}</div>")  # fmt: skip


def _by_class(result: Result) -> str:
    names = [printable(c) for c in result.classes]
    recall, precision, f1 = result.per_class(), result.precision(), result.f1()
    order = np.argsort(recall, kind="stable")
    many = len(names) > MOST_CLASSES
    rows = [(names[i], [("one", float(recall[i]), f"recall {recall[i]:.1%}"), ("two", float(precision[i]), f"precision {precision[i]:.1%}"),
                        ("three", float(f1[i]), f"F1 {f1[i]:.3f}")]) for i in order[:MOST_CLASSES]]  # fmt: skip
    keys = "".join(f"<span><i class='key {k}'></i>{t}</span>" for k, t in
                   (("one", "recall"), ("two", "precision"), ("three", "F1")))  # fmt: skip
    error, bins = result.calibration()
    drawn = "<p class='faint'>There are too many classes to draw; test.json has the matrix.</p>" if many else svg.matrix(names, result.matrix.tolist())  # fmt: skip
    return (
        "<h2>Where it is right</h2><p class='faint'>Each row of the matrix is a true class, each column an answer.</p>"
        f"<div class='grid-2'><div class='card'><h3>confusion matrix</h3>{drawn}</div><div class='card'>"
        f"<h3>classes, the hardest first</h3>{svg.bars(rows)}<div class='legend'>{keys}</div></div></div>"
        "<div class='grid-2' style='margin-top:16px'><div class='card'><h3>calibration: is 80 % confidence right 80 % of the time?</h3>"
        f"{svg.calibration(bins)}</div><div class='card'><h3>what the numbers mean</h3><p>Recall: of the pictures of a class, how many "
        "were recognised. Precision: of the answers with a class, how many were right. F1 is high only when both are. "
        f"Confidence differs from accuracy by {error:.1%} on average; dots under the dashed line are answers that were "
        "too sure. The interval is where accuracy on other pictures of the same kind lies, 19 times in 20.</p></div></div>"
    )


def _figure(pixels: np.ndarray, caption: str) -> str:
    small = " class='small'" if max(pixels.shape[:2]) < 64 else ""
    return f"<figure><img{small} alt='' src='{address(pixels)}'><figcaption>{caption}</figcaption></figure>"


def _mistakes(images: Images, result: Result) -> str:
    wrong = np.flatnonzero(result.truth != result.answers)
    right = np.flatnonzero(result.truth == result.answers)
    worst = wrong[np.argsort(-result.confidence[wrong], kind="stable")][:SHOWN]
    surest = right[np.argsort(-result.confidence[right], kind="stable")][:SHOWN]
    shown = [("The worst mistakes", "Wrong, and most sure of it: look here for wrong labels first.", worst, "wrong"),
             ("The surest right answers", "What it has learnt best.", surest, "right")]  # fmt: skip
    parts = []
    for title, text, places, kind in shown:
        figures = [_answered(images, result, int(i), kind) for i in places]
        inner = (
            f"<div class='pictures'>{''.join(figures)}</div>"
            if figures
            else "<p>There are none.</p>"
        )
        parts.append(f"<h2>{title}</h2><p class='faint'>{text}</p>{inner}")
    return "".join(parts)


def _answered(images: Images, result: Result, i: int, kind: str) -> str:
    pixels = seen(images.test[i][0], images.mean, images.std)
    true, answer = (
        escape(printable(result.classes[int(v[i])])) for v in (result.truth, result.answers)
    )
    said = f"<b class='{kind}-text'>{answer}</b> {result.confidence[i]:.0%}"
    more = f"<br>is {true}" if kind == "wrong" else ""
    file = f"<br><span class='faint'>{escape(printable(os.path.basename(images.paths[i])))}</span>" if images.paths else ""  # fmt: skip
    return _figure(pixels, said + more + file)


def _variety(args: Namespace, images: Images) -> str:
    """Some training pictures as the network saw them; the run's random numbers are left as they are."""
    import rushlight as rl

    from ..data.augment import in_words

    state = rl.get_rng_state()
    rl.manual_seed(args.seed)
    count = min(SHOWN, len(images.train))
    step = max(1, len(images.train) // count)
    figures = []
    for i in range(count):
        x, label = images.train[i * step]
        figures.append(_figure(seen(x, images.mean, images.std), escape(printable(images.classes[int(label)]))))  # fmt: skip
    rl.set_rng_state(state)
    return (f"<h2>What it was shown</h2><p class='faint'>Training pictures as the network saw them: {in_words(args.augment)}.</p>"
            f"<div class='pictures'>{''.join(figures)}</div>")  # fmt: skip


def _network(rows: list, images: Images) -> str:
    drawn = drawing(rows, (images.channels, images.size, images.size))
    return (f"<h2>The network</h2><p class='faint'>High blocks see many places of the picture, wide ones have many channels.</p>"
            f"<div class='card'>{drawn}</div><details><summary>all {len(rows)} layers</summary>"
            f"<div class='card scroll'>{table(rows)}</div></details>")  # fmt: skip


def _data(images: Images) -> str:
    most = max(images.counts, default=1) or 1
    pairs = sorted(zip(images.classes, images.counts), key=lambda p: -p[1])[:MOST_CLASSES]
    rows = [(printable(c), [("one", n / most, f"{n:,}")]) for c, n in pairs]
    parts = [
        ("to train on", images.train),
        ("to choose the best epoch", images.val),
        ("to test", images.test),
    ]
    lines = "".join(
        f"<tr><td>{t}</td><td class='n'>{len(d):,}</td></tr>" for t, d in parts if d is not None
    )
    kinds: dict[str, int] = {}
    for p in images.problems:
        kinds[p.kind] = kinds.get(p.kind, 0) + 1
    lines += "".join(
        f"<tr><td>left out: {escape(k)}</td><td class='n'>{n}</td></tr>" for k, n in kinds.items()
    )
    listed = "".join(f"<tr><td><code>{escape(printable(p.path))}</code></td><td>{escape(p.kind)}</td><td>{escape(printable(p.why))}</td></tr>"
                     for p in images.problems[:200])  # fmt: skip
    more = f"<details><summary>what was left out</summary><div class='card scroll'><table>{listed}</table></div></details>" if listed else ""  # fmt: skip
    same = (
        ""
        if images.honest
        else "<p>There was no test part: these are the validation pictures, which also chose the epoch.</p>"
    )
    return (f"<h2>The data</h2><p class='faint'><code>{escape(printable(images.name))}</code></p>{same}<div class='grid-2'><div class='card'>"
            f"<h3>pictures to train on, by class</h3>{svg.bars(rows)}</div><div class='card'><h3>parts</h3><table>{lines}</table></div></div>{more}")  # fmt: skip


def _repeat(record: dict[str, Any]) -> str:
    settings = "".join(f"<tr><td>{escape(k.replace('_', '-'))}</td><td><code>{escape(str(v))}</code></td></tr>"
                       for k, v in record["settings"].items() if v is not None)  # fmt: skip
    facts = {**record["versions"], "commit of the folder": record["git"] or "none",
             "machine": f"{record['machine']}, {record['cores']} cores", "device": record["device"]}  # fmt: skip
    if record.get("joules") is not None:
        facts["energy of the machine"] = f"{record['joules'] / 1000:.1f} kJ"
    lines = "".join(
        f"<tr><td>{escape(k)}</td><td>{escape(str(v))}</td></tr>" for k, v in facts.items()
    )
    return (f"<h2>To repeat it</h2><pre>{escape(record['command'])}</pre><p class='faint'>args.json has every setting; "
            "<code>rushlight train --config args.json</code> runs it again.</p><div class='grid-2'><div class='card'>"
            f"<h3>settings</h3><table>{settings}</table></div><div class='card'><h3>versions and machine</h3><table>{lines}</table></div></div>")  # fmt: skip
