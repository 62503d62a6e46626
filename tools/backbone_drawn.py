"""Pictures that the backbone learns from besides real ones: shapes and textures, drawn by tensor operations on any device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight.nn import functional as F

SIDE = 64
_TURN = 2 * math.pi

# Outlines in polar form: corners, radius half-way between two corners, stretch of the height, and what is cut off.
SHAPES: dict[str, tuple[int, float, float, str]] = {
    "disc": (64, math.cos(math.pi / 64), 1.0, ""),
    "ellipse": (64, math.cos(math.pi / 64), 0.55, ""),
    "triangle": (3, 0.5, 1.0, ""),
    "flat triangle": (3, 0.5, 0.5, ""),
    "square": (4, math.sqrt(0.5), 1.0, ""),
    "rhombus": (4, math.sqrt(0.5), 0.5, ""),
    "pentagon": (5, math.cos(math.pi / 5), 1.0, ""),
    "hexagon": (6, math.cos(math.pi / 6), 1.0, ""),
    "octagon": (8, math.cos(math.pi / 8), 1.0, ""),
    "star of 3": (3, 0.22, 1.0, ""),
    "star of 4": (4, 0.35, 1.0, ""),
    "star of 5": (5, 0.42, 1.0, ""),
    "star of 6": (6, 0.5, 1.0, ""),
    "star of 8": (8, 0.6, 1.0, ""),
    "gear": (12, 0.78, 1.0, ""),
    "half disc": (64, math.cos(math.pi / 64), 1.0, "half"),
    "quarter disc": (64, math.cos(math.pi / 64), 1.0, "quarter"),
    "crescent": (64, math.cos(math.pi / 64), 1.0, "bite"),
    "ring": (64, math.cos(math.pi / 64), 1.0, "hole"),
    "frame": (4, math.sqrt(0.5), 1.0, "hole"),
    "rectangle": (0, 1.0, 0.5, "box"),
    "bar": (0, 1.0, 0.2, "box"),
    "plus": (0, 1.0, 0.3, "plus"),
    "corner": (0, 1.0, 0.35, "corner"),
    "tee": (0, 1.0, 0.35, "tee"),
    "flower": (5, 0.5, 1.0, "petals"),
    "clover": (3, 0.45, 1.0, "petals"),
    "arrow": (3, 0.5, 0.9, "shaft"),
}


def between(low: float, high: float, *shape: int, device: str) -> Any:
    """Numbers drawn evenly between two."""
    return low + (high - low) * rl.rand(*shape, device=device)


def plane(count: int, device: str) -> tuple[Any, Any]:
    """The two coordinates of every pixel, from -1 to 1."""
    line = (rl.arange(SIDE, device=device).float() + 0.5) * (2 / SIDE) - 1
    across = line.view(1, 1, SIDE).expand(count, SIDE, SIDE)
    return across, line.view(1, SIDE, 1).expand(count, SIDE, SIDE)


def _inside(kind: str, x: Any, y: Any) -> Any:
    """How far inside of a shape of radius 1 each point is: above 0 it is in."""
    corners, middle, stretch, cut = SHAPES[kind]
    if cut in ("box", "plus", "corner", "tee"):
        return _of_boxes(cut, stretch, x, y)
    y = y / stretch
    radius = (x * x + y * y + 1e-9).sqrt()
    angle = rl.atan2(y, x + 1e-9)
    wedge = _TURN / corners
    if cut == "petals":
        rim = 1 - middle * (1 - rl.cos(corners * angle)) / 2
    else:
        folded = (rl.remainder(angle, wedge) - wedge / 2).abs()  # 0 between corners
        folded = wedge / 2 - folded  # 0 at a corner
        qx, qy = middle * math.cos(wedge / 2), middle * math.sin(wedge / 2)
        rim = qy / (qy * rl.cos(folded) - (qx - 1) * rl.sin(folded))
    deep = rim - radius
    if cut == "half":
        return rl.minimum(deep, y)
    if cut == "quarter":
        return rl.minimum(deep, rl.minimum(x, y))
    if cut == "bite":
        return rl.minimum(deep, ((x - 0.55) ** 2 + y * y + 1e-9).sqrt() - 0.75)
    if cut == "hole":
        return rl.minimum(deep, radius - 0.6 * rim)
    if cut == "shaft":
        return rl.maximum(deep, _box(x, y, -1.3, 0.0, -0.25, 0.25))
    return deep


def _box(x: Any, y: Any, left: float, right: float, top: float, bottom: float) -> Any:
    return rl.minimum(rl.minimum(x - left, right - x), rl.minimum(y - top, bottom - y))


def _of_boxes(cut: str, thin: float, x: Any, y: Any) -> Any:
    across = _box(x, y, -1.0, 1.0, -thin, thin)
    if cut == "box":
        return across
    if cut == "plus":
        return rl.maximum(across, _box(x, y, -thin, thin, -1.0, 1.0))
    first = _box(x, y, -0.8, 0.8, 0.8 - 1.6 * thin, 0.8)
    if cut == "corner":
        return rl.maximum(first, _box(x, y, -0.8, -0.8 + 1.6 * thin, -0.8, 0.8))
    return rl.maximum(first, _box(x, y, -0.8 * thin, 0.8 * thin, -0.8, 0.8))


def cloud(count: int, cells: int, device: str, channels: int = 1) -> Any:
    """Smooth noise: `cells` random values a side, from 0 to 1, and what lies between them."""
    few = rl.rand(count, channels, cells, cells, device=device)
    return F.interpolate(few, size=(SIDE, SIDE), mode="bilinear", align_corners=False)


def ground(count: int, device: str) -> Any:
    """Backgrounds: a colour, a slope of light, smooth noise, grains, each as strong as it comes."""
    x, y = plane(count, device)
    one = (count, 1, 1, 1)
    colour = rl.rand(count, 3, 1, 1, device=device)
    slope = x.unsqueeze(1) * between(-0.3, 0.3, *one, device=device)
    slope = slope + y.unsqueeze(1) * between(-0.3, 0.3, *one, device=device)
    soft = (cloud(count, 7, device, 3) - 0.5) * between(-0.3, 0.8, *one, device=device).clamp(0)
    fine = rl.rand(count, 3, SIDE, SIDE, device=device) - 0.5
    fine = fine * between(-0.6, 1.0, *one, device=device).clamp(0)
    return colour + slope + soft + fine


def shape(kind: str, count: int, device: str) -> Any:
    """`count` pictures of one shape (three colours of 64 x 64, 0 to 1), turned, shifted, filled or outlined."""
    x, y = plane(count, device)
    one = (count, 1, 1)
    drawn = None
    for copy in range(2):  # some have two of a kind
        size = between(0.22, 0.85, *one, device=device) if copy == 0 else 0.25
        room = 0.85 - size if copy == 0 else 0.6
        dx = (x - between(-1, 1, *one, device=device) * room) / size
        dy = (y - between(-1, 1, *one, device=device) * room) / size
        turn = between(0, _TURN, *one, device=device)
        u, v = dx * turn.cos() + dy * turn.sin(), dy * turn.cos() - dx * turn.sin()
        v = v * between(0.85, 1.2, *one, device=device)
        deep = _inside(kind, u, v)
        if kind not in ("disc", "square", "ring", "frame"):  # outlined, the first two are the others
            outline = (rl.rand(*one, device=device) < 0.2).float()
            deep = deep * (1 - outline) + outline * (0.12 - (deep - 0.12).abs())
        cover = (deep * (size * SIDE / 2) + 0.5).clamp(0, 1)  # a pixel's width is soft
        if copy:
            cover = cover * (rl.rand(*one, device=device) < 0.15).float()
        drawn = cover if drawn is None else rl.maximum(drawn, cover)
    behind = ground(count, device)
    ink = behind.mean((2, 3), keepdim=True)
    away = between(0.3, 0.8, count, 3, 1, 1, device=device)
    ink = rl.where(ink > 0.5, ink - away, ink + away)
    grain = (rl.rand(count, 3, SIDE, SIDE, device=device) - 0.5) * between(
        -0.2, 0.4, count, 1, 1, 1, device=device
    ).clamp(0)
    cover = rl.as_tensor(drawn).unsqueeze(1)
    return (behind * (1 - cover) + (ink + grain) * cover).clamp(0, 1)


# -- textures --------------------------------------------------------------------------------------


def _wave(t: Any) -> Any:
    return 0.5 + 0.5 * rl.sin(t)


def _pattern(kind: str, count: int, device: str) -> Any:
    """A field from 0 to 1 of each picture: (count, 64, 64)."""
    x, y = plane(count, device)
    one = (count, 1, 1)
    often = between(7, 34, *one, device=device)
    shift = between(0, _TURN, *one, device=device)
    lean = between(-0.17, 0.17, *one, device=device)
    u, v = x * lean.cos() + y * lean.sin(), y * lean.cos() - x * lean.sin()
    sharp = between(1, 8, *one, device=device)

    def hard(t: Any) -> Any:
        return ((t - 0.5) * sharp + 0.5).clamp(0, 1)

    across, down = _wave(u * often + shift), _wave(v * often + shift)
    radius = ((x - lean) ** 2 + (y + lean) ** 2 + 1e-6).sqrt()
    angle = rl.atan2(y + lean, x - lean + 1e-9)
    soft = cloud(count, 9, device).squeeze(1)
    made: dict[str, Callable[[], Any]] = {
        "vertical stripes": lambda: hard(across),
        "horizontal stripes": lambda: hard(down),
        "rising stripes": lambda: hard(_wave((u + v) * often * 0.7 + shift)),
        "falling stripes": lambda: hard(_wave((u - v) * often * 0.7 + shift)),
        "checks": lambda: hard(0.5 + 2 * (across - 0.5) * (down - 0.5)),
        "dots": lambda: ((across * down - 0.45) * 3 * sharp).clamp(0, 1),
        "grid": lambda: ((rl.maximum(across, down) - 0.8) * 8).clamp(0, 1),
        "rings": lambda: hard(_wave(radius * often * 1.3 + shift)),
        "rays": lambda: hard(_wave(angle * rl.floor(often / 3 + 2) + shift)),
        "waves": lambda: hard(_wave(v * often + 2.2 * rl.sin(u * 6 + shift))),
        "zigzag": lambda: hard(_wave(v * often + 4 * (rl.remainder(u * 2.5, 1.0) - 0.5).abs() * 4)),
        "bricks": lambda: ((rl.maximum(_wave(v * often), _wave(u * often / 2 + math.pi * rl.floor(v * often / _TURN + 0.25))) - 0.85) * 9).clamp(0, 1),
        "marble": lambda: hard(_wave(u * often * 0.5 + 9 * soft + shift)),
        "clouds": lambda: soft,
        "blots": lambda: ((soft - 0.55) * 12).clamp(0, 1),
        "grains": lambda: rl.rand(count, SIDE, SIDE, device=device),
        "mosaic": lambda: F.interpolate(rl.rand(count, 1, 11, 11, device=device), size=(SIDE, SIDE), mode="nearest").squeeze(1),
        "slope": lambda: (0.5 + 0.5 * (x * shift.cos() + y * shift.sin())).clamp(0, 1),
        "glow": lambda: (1.1 - radius).clamp(0, 1),
        "specks": lambda: (rl.rand(count, SIDE, SIDE, device=device) > 0.95).float(),
        "plain": lambda: 0.5 + 0.0 * x,
        "hatching": lambda: rl.maximum(hard(_wave((u + v) * often + shift)), hard(_wave((u - v) * often))),
    }  # fmt: skip
    return made[kind]()


TEXTURES = (
    "vertical stripes", "horizontal stripes", "rising stripes", "falling stripes", "checks", "dots", "grid",
    "rings", "rays", "waves", "zigzag", "bricks", "marble", "clouds", "blots", "grains", "mosaic", "slope",
    "glow", "specks", "plain", "hatching",
)  # fmt: skip


def texture(kind: str, count: int, device: str) -> Any:
    """`count` pictures of one texture (three colours of 64 x 64, 0 to 1) in two colours and some noise."""
    field = _pattern(kind, count, device).unsqueeze(1)
    low = rl.rand(count, 3, 1, 1, device=device)
    away = between(0.25, 0.9, count, 3, 1, 1, device=device)
    high = rl.where(low > 0.5, low - away, low + away)
    grain = (rl.rand(count, 3, SIDE, SIDE, device=device) - 0.5) * between(
        -0.1, 0.25, count, 1, 1, 1, device=device
    ).clamp(0)
    return (low + (high - low) * field + grain).clamp(0, 1)


def pool(draw: Callable[[str, int, str], Any], kinds: Any, each: int, device: str) -> tuple[Any, Any]:
    """`each` pictures of every kind as bytes, and their labels."""
    drawn, labels = [], []
    for label, kind in enumerate(kinds):
        for begin in range(0, each, 1000):
            count = min(1000, each - begin)
            drawn.append((draw(kind, count, device) * 255).to(rl.uint8))
            labels += [label] * count
    return rl.cat(drawn), rl.tensor(labels).to(device)
