"""A network as a table - layers, shapes, parameters, multiply-adds - and as a drawing."""

from __future__ import annotations

from html import escape
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
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
