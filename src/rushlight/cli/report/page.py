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
from ..tasks.task import SHOWN, Picture, Result, Task
from ..training.progress import clock
from ..words import counted, plain
from . import svg
from .page_style import page
from .svg import Line

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


def look_at(net: Module, x: Tensor) -> list[Layer]:
    """Every layer in the order it computes, for this input."""
    import rushlight as rl

    rows: list[Layer] = []
    names = {id(m): name for name, m in net.named_modules()}
    leaves = [m for m in net.modules() if not list(m.children())]

    def note(module: Module, inputs: Any, out: Any) -> None:
        first = out
        while isinstance(first, (tuple, list)):
            first = first[0]
        shape, name = tuple(first.shape[1:]), names[id(module)] or type(module).__name__
        again = any(r.name == name for r in rows)  # what looks at several maps has its parameters once
        own = 0 if again else sum(p.numel() for p in module.parameters())
        rows.append(Layer(name, type(module).__name__, shape, own, _multiplies(module, inputs[0], first)))

    hooks = [m.register_forward_hook(note) for m in leaves]
    was = net.training
    try:
        net.eval()
        with rl.no_grad():
            net(x)
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
        high = 18 + 132 * (side / largest) ** 0.5 if len(r.shape) > 1 else 26 + min(channels, 512) ** 0.5
        wide = 5 + min(channels, 2048) ** 0.5 / 2
        kind = next((name for part, name in _KINDS if part in r.kind), "other")
        told = f"{r.name}: {r.kind} → {'×'.join(map(str, r.shape))}, {counted(r.parameters, 'parameter')}"
        blocks.append((wide, min(high, 150), kind, told))
    gap = 3 if len(blocks) > 24 else 6
    total = sum(b[0] + gap for b in blocks) + 10
    parts = [f"<svg class='network' viewBox='0 0 {total:.0f} 170' style='max-width:{total * 2.4:.0f}px' role='img' aria-label='the network'>"]  # fmt: skip
    x = 5.0
    for wide, high, kind, told in blocks:
        parts.append(f"<rect class='block {kind}' x='{x:.1f}' y='{85 - high / 2:.1f}' width='{wide:.1f}' height='{high:.1f}' rx='2'>"
                     f"<title>{escape(told)}</title></rect>")  # fmt: skip
        x += wide + gap
    named = {"input": "input", "conv": "convolution", "pool": "pooling", "linear": "linear", "other": "other"}
    there = {kind for _, _, kind, _ in blocks}
    keys = "".join(f"<span><i class='key block {k}'></i>{t}</span>" for k, t in named.items() if k in there)
    return "".join([*parts, "</svg>", f"<div class='legend'>{keys}</div>"])


def seen(x: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> np.ndarray:
    """A network's input (CxHxW, scaled) as the picture it stands for."""
    a = x.numpy()
    a = a * np.reshape(std, (-1, 1, 1)) + np.reshape(mean, (-1, 1, 1))
    pixels = np.clip(np.rint(a * 255), 0, 255).astype(np.uint8)
    return pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)


def write_report(
    args: Namespace, images: Images, net: Module, result: Result, history: list[dict[str, Any]], best: int, record: dict[str, Any],
    beside: tuple[dict[str, Any], str] = ({}, ""),
) -> list[str]:  # fmt: skip
    """Write it, and its charts as files of their own; `beside` is what is known besides, of rows and texts. The answer is their names."""
    import rushlight as rl

    other = images.inputs
    x = rl.zeros(1, images.channels, images.size, images.size) if other is None else other.zeros(1)
    rows = look_at(net, x)
    found, said = beside
    name = os.path.basename(os.path.abspath(args.out))
    body = "".join([
        _head(name, args, images, result, rows, record), _beside(said), curves(history, best, images.task, args.augment != "none"), result.sections(),
        "" if other is None else other.sections(images, found), _pictures(images, net, result), _variety(args, images) if other is None else "",
        _network(rows, images, tuple(x.shape[1:])), _data(images), _repeat(record),
    ])  # fmt: skip
    files = {"report.html": page(f"{printable(name)}: {images.task.shown(result.score)}", body)}
    for file, charts in (("curves.svg", lines_over_epochs(history, best, images.task)[:2]), *result.charts()):
        files[file] = svg.sheet(*charts)
    return [svg.write(os.path.join(args.out, file), text) for file, text in files.items()]


def _beside(said: str) -> str:
    """What another model reaches, as a line."""
    return f"<p class='card'>{escape(said)}</p>" if said else ""


def _number(value: str, name: str, more: str = "", main: bool = False) -> str:
    small = f"<small>{escape(more)}</small>" if more else ""
    return f"<div class='number{' main' if main else ''}'><b>{escape(value)}</b><span>{escape(name)}</span>{small}</div>"  # fmt: skip


def _head(name: str, args: Namespace, images: Images, result: Result, rows: list, record: dict[str, Any]) -> str:
    part = "test" if images.honest else "validation"
    count = len(result.losses)
    tested = counted(count, f"{part} {images.noun}")
    cards = [_number(*card, main=i == 0) for i, card in enumerate(result.cards(tested))]
    energy = "" if record.get("joules") is None else f"{record['joules'] / 3600:.2f} Wh"
    cards += [
        _number(f"{len(images.train):,}", f"{images.noun}s to train on", images.task.counted()),
        _number(short(sum(r.parameters for r in rows)), "parameters",
                f"{short(sum(r.multiplies for r in rows))} multiply-adds a {images.noun}"),
        _number(clock(record["seconds"]), "to train (min:s)", energy or record["device"].partition(":")[0]),
    ]  # fmt: skip
    warning = result.warning()
    told = f"<p class='warning'>{escape(warning)}</p>" if warning else ""
    source = escape(printable(os.path.basename(images.name) or images.name))
    what = f"{images.size}×{images.size} pixels" if images.inputs is None else images.inputs.told()
    return (
        f"<header><h1>{escape(printable(name))}</h1><p>{escape(args.model)} on {source}, {what}; "
        f"{escape(record['started'].replace('T', ' '))}</p></header>{told}<div class='numbers'>{''.join(cards)}</div>"
    )


def lines_over_epochs(history: list[dict[str, Any]], best: int, task: Task) -> list[tuple[str, str]]:
    """Loss, score and rate: titles and charts."""

    def line(name: str, kind: str, key: str) -> Line:
        return Line(name, kind, [(h["epoch"], h[key]) for h in history if key in h])

    mark = float(best) if len(history) > 1 else None
    charts = []
    percent = svg.percent if task.score == task.score_name else plain
    for key, name, show, span in (("loss", "loss", plain, None), (task.score, task.score_name, percent, task.span)):
        lines = [line("training", "two", f"train_{key}"), line("validation", "one", f"val_{key}")]
        charts.append((name, svg.line_chart(name, [x for x in lines if x.points], show=show, span=span, mark=mark)))
    charts.append(("learning rate", svg.line_chart("learning rate", [line("rate", "three", "lr")])))
    return charts


def curves(history: list[dict[str, Any]], best: int, task: Task, varied: bool) -> str:
    """Loss, score and rate over the epochs, as a part of a page."""
    charts = lines_over_epochs(history, best, task)
    told = "Training pictures are varied, so they can be harder than those of the validation." if varied else ""
    cards = "".join(f"<div class='card'><h3>{name}</h3>{drawn}</div>" for name, drawn in charts)
    return ("<h2>How it learnt</h2><p class='faint'>The dashed line is the epoch that was kept. "
            f"{told}</p><div class='grid-3'>{cards}</div>")  # fmt: skip


def _figure(caption: str, *pictures: np.ndarray) -> str:
    small = " class='small'" if max(pictures[0].shape[:2]) < 64 else ""
    drawn = "".join(f"<img{small} alt='' src='{address(pixels)}'>" for pixels in pictures)
    return f"<figure>{drawn}<figcaption>{caption}</figcaption></figure>"


def _pictures(images: Images, net: Module, result: Result) -> str:
    """Mistakes and right answers; under a mistake, which places of the picture it came from."""
    parts = []
    for title, text, shown in result.pictures():
        figures = "".join(_answered(images, net, one) for one in shown)
        places = "pictures" if images.inputs is None else "grid-3"
        inner = f"<div class='{places}'>{figures}</div>" if figures else "<p>There are none.</p>"
        if "<mark" in figures:
            text += " Marked are words without which the answer would be less sure."
        if figures.count("<img") > len(shown):
            text += f" {images.task.beside_told}"
        parts.append(f"<h2>{title}</h2><p class='faint'>{text}</p>{inner}")
    return "".join(parts)


def _answered(images: Images, net: Module, one: Picture) -> str:
    if images.inputs is not None:
        return _content(images, net, one)
    x, y = images.test[one.number]
    pixels = seen(x, images.mean, images.std)
    said = f"<b class='{one.kind}-text'>{escape(one.said)}</b> {escape(one.sure)}"
    more = f"<br>is {escape(one.true)}" if one.true else ""
    file = f"<br><span class='faint'>{escape(printable(os.path.basename(images.paths[one.number])))}</span>" if images.paths else ""  # fmt: skip
    return _figure(said + more + file, pixels, *images.task.beside(net, x, y, pixels, one))


def _content(images: Images, net: Module, one: Picture) -> str:
    """A row or a text of the test, and what was answered."""
    content = images.test.contents[one.number]
    sure = f" {escape(one.sure)}" if one.sure else ""
    said = f"<b class='{one.kind}-text'>{escape(one.said)}</b>{sure}"
    more = f", is {escape(one.true)}" if one.true else ""
    place = escape(printable(os.path.basename(images.paths[one.number])))
    inputs = images.inputs
    assert inputs is not None  # pictures have figures of their own
    weights = inputs.weights(images.task, net, content) if one.kind == "wrong" else None
    return inputs.figure(content, f"<p>{said}{more} <span class='faint'>{place}</span></p>", weights)


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
        x, y = images.train[i * step]
        told = printable(images.task.in_words(images.targets[i * step]))
        pixels = seen(x, images.mean, images.std)
        figures.append(_figure(escape(told), pixels, *images.task.drawn(pixels, y)))
    rl.set_rng_state(state)
    return (f"<h2>What it was shown</h2><p class='faint'>Training pictures as the network saw them: {in_words(args.augment)}.</p>"
            f"<div class='pictures'>{''.join(figures)}</div>")  # fmt: skip


def _network(rows: list, images: Images, shape: tuple[int, ...]) -> str:
    drawn = drawing(rows, shape)
    return (f"<h2>The network</h2><p class='faint'>High blocks see many places of the {images.noun}, wide ones have many channels.</p>"
            f"<div class='card'>{drawn}</div><details><summary>{counted(len(rows), 'layer')}</summary>"
            f"<div class='card scroll'>{table(rows)}</div></details>")  # fmt: skip


def _data(images: Images) -> str:
    title, drawn = images.task.chart(images.counts, images.targets)
    parts = [("to train on", images.train), ("to choose the best epoch", images.val), ("to test", images.test)]
    lines = "".join(f"<tr><td>{t}</td><td class='n'>{len(d):,}</td></tr>" for t, d in parts if d is not None)
    kinds: dict[str, int] = {}
    for p in images.problems:
        kinds[p.kind] = kinds.get(p.kind, 0) + 1
    lines += "".join(f"<tr><td>left out: {escape(k)}</td><td class='n'>{n}</td></tr>" for k, n in kinds.items())
    listed = "".join(f"<tr><td><code>{escape(printable(p.path))}</code></td><td>{escape(p.kind)}</td><td>{escape(printable(p.why))}</td></tr>"
                     for p in images.problems[:200])  # fmt: skip
    more = f"<details><summary>what was left out</summary><div class='card scroll'><table>{listed}</table></div></details>" if listed else ""  # fmt: skip
    noun = images.noun
    same = (
        ""
        if images.honest
        else f"<p>There was no test part: these are the validation {noun}s, which also chose the epoch.</p>"
    )
    return (f"<h2>The data</h2><p class='faint'><code>{escape(printable(images.name))}</code></p>{same}<div class='grid-2'><div class='card'>"
            f"<h3>{title}</h3>{drawn}</div><div class='card'><h3>parts</h3><table>{lines}</table></div></div>{more}")  # fmt: skip


def _repeat(record: dict[str, Any]) -> str:
    settings = "".join(f"<tr><td>{escape(k.replace('_', '-'))}</td><td><code>{escape(str(v))}</code></td></tr>"
                       for k, v in record["settings"].items() if v is not None)  # fmt: skip
    facts = {**record["versions"], "commit of the folder": record["git"] or "none",
             "machine": f"{record['machine']}, {counted(record['cores'], 'core')}", "device": record["device"]}  # fmt: skip
    if record.get("joules") is not None:
        facts["energy of the machine"] = f"{record['joules'] / 1000:.1f} kJ"
    lines = "".join(f"<tr><td>{escape(k)}</td><td>{escape(str(v))}</td></tr>" for k, v in facts.items())
    return (f"<h2>To repeat it</h2><pre>{escape(record['command'])}</pre><p class='faint'>args.json has every setting; "
            "<code>rushlight train --config args.json</code> runs it again.</p><div class='grid-2'><div class='card'>"
            f"<h3>settings</h3><table>{settings}</table></div><div class='card'><h3>versions and machine</h3><table>{lines}</table></div></div>")  # fmt: skip
