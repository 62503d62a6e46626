"""Small sets that anybody can make again, to see what `rushlight train` learns from few pictures, rows and texts.

    python tools/drawn_set.py shapes FOLDER             330 pictures of three shapes on noise, one of them broken
    python tools/drawn_set.py things FOLDER             6 classes of 56: three shapes, three textures
    python tools/drawn_set.py tags FOLDER               300 pictures with up to four shapes, labels.csv tells which
    python tools/drawn_set.py masks FOLDER              240 pictures with circles and squares, and a mask of each
    python tools/drawn_set.py boxes FOLDER              240 pictures with up to four shapes, and boxes around them (COCO)
    python tools/drawn_set.py number FOLDER             300 pictures of a disc, labels.csv tells how much of the page it covers
    python tools/drawn_set.py table FOLDER              600 flats, rents.csv tells their rent: numbers, categories, a date, cells that are missing
    python tools/drawn_set.py text FOLDER               3 folders of 100 short texts: orders, complaints, thanks
    python tools/drawn_set.py cifar FOLDER DATA         10 classes of 50: CIFAR-10's test pictures as JPEG of mixed sizes

Drawn by Pillow, not by what draws for the backbone (tools/backbone_drawn.py). The pictures of `cifar` come with a test
folder of 100 others a class; none of them was seen by the backbone.
"""

from __future__ import annotations

import json
import math
import pickle
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

CIFAR = "airplane automobile bird cat deer dog frog horse ship truck".split()
Draws = np.random.Generator


def noise(draw: Draws, wide: int, high: int) -> Image.Image:
    """Grains around a colour."""
    middle = draw.integers(60, 196, 3)
    grains = draw.normal(0, draw.uniform(10, 45), (high, wide, 3))
    return Image.fromarray(np.clip(middle + grains, 0, 255).astype(np.uint8))


def colour(draw: Draws) -> tuple[int, ...]:
    return tuple(int(v) for v in draw.integers(0, 256, 3))


def shape(draw: Draws, kind: str) -> Image.Image:
    """A circle, square, triangle or star somewhere on noise."""
    wide, high = (int(v) for v in draw.integers(60, 241, 2))
    page = noise(draw, wide, high)
    add_shape(draw, page, kind, min(wide, high) * draw.uniform(0.16, 0.4))
    return page


def add_shape(
    draw: Draws, page: Image.Image, kind: str, radius: float, mask: Image.Image | None = None, number: int = 0
) -> tuple[float, float, float, float]:
    """Draw one of that size somewhere on a page, and its number on the same place of a mask; the answer are its corners."""
    wide, high = page.size
    x, y = draw.uniform(radius, wide - radius), draw.uniform(radius, high - radius)
    pens = [(ImageDraw.Draw(page), None)] + ([(ImageDraw.Draw(mask), number)] if mask else [])
    if kind == "circle":
        ink = colour(draw)
        for pen, value in pens:
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), value or ink)
        return x - radius, y - radius, x + radius, y + radius
    corners = {"triangle": 3, "square": 4, "star": 10}[kind]
    turn = draw.uniform(0, 2 * math.pi)
    points = []
    for i in range(corners):
        far = radius * (0.45 if kind == "star" and i % 2 else 1)
        angle = turn + i * 2 * math.pi / corners
        points.append((x + far * math.cos(angle), y + far * math.sin(angle)))
    ink = colour(draw)
    for pen, value in pens:
        pen.polygon(points, value or ink)
    across, down = zip(*points)
    return min(across), min(down), max(across), max(down)


def texture(draw: Draws, kind: str) -> Image.Image:
    """Stripes, checks or spots of two colours."""
    wide, high = (int(v) for v in draw.integers(60, 241, 2))
    page = Image.new("RGB", (wide, high), colour(draw))
    pen, ink, step = ImageDraw.Draw(page), colour(draw), int(draw.integers(8, 26))
    if kind == "stripes":
        lean = int(draw.integers(-high, high))
        for x in range(-2 * wide, 3 * wide, 2 * step):
            pen.line((x, 0, x + lean, high), ink, step)
    for y in range(0, high, step):
        for x in range(0, wide, step):
            if kind == "checks" and (x + y) // step % 2:
                pen.rectangle((x, y, x + step, y + step), ink)
            elif kind == "spots" and draw.random() < 0.5:
                r = step * draw.uniform(0.2, 0.5)
                pen.ellipse((x - r, y - r, x + r, y + r), ink)
    grains = draw.normal(0, 12, (high, wide, 3))
    return Image.fromarray(np.clip(np.asarray(page) + grains, 0, 255).astype(np.uint8))


def write(folder: Path, kinds: tuple[str, ...], each: int, seed: int = 0) -> None:
    """`each` pictures of every kind."""
    for number, kind in enumerate(kinds):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for i in range(each):
            draw = np.random.default_rng([seed, number, i])
            make = texture if kind in ("stripes", "checks", "spots") else shape
            make(draw, kind).save(folder / kind / f"{i:03}.png")


def shapes(folder: Path) -> None:
    """110 each of circles, squares and triangles, one file of them broken."""
    write(folder, ("circle", "square", "triangle"), 110)
    broken = folder / "circle" / "000.png"
    broken.write_bytes(broken.read_bytes()[:200])


def tags(folder: Path, count: int = 300) -> None:
    """Every shape is there or not, whatever the others do."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["file,labels"]
    for i in range(count):
        draw = np.random.default_rng([1, i])
        side = int(draw.integers(90, 161))
        page = noise(draw, side, side)
        there = [kind for kind in ("circle", "square", "triangle", "star") if draw.random() < 0.4]
        for kind in there:
            add_shape(draw, page, kind, side * draw.uniform(0.12, 0.22))
        page.save(folder / f"{i:03}.png")
        lines.append(f"{i:03}.png,{'|'.join(there)}")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")


def number(folder: Path, count: int = 300) -> None:
    """A disc, and how many hundredths of the page it covers."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["file,covered"]
    for i in range(count):
        draw = np.random.default_rng([2, i])
        side = int(draw.integers(60, 161))
        page = noise(draw, side, side)
        radius = side * draw.uniform(0.08, 0.48)
        add_shape(draw, page, "circle", radius)
        page.save(folder / f"{i:03}.png")
        lines.append(f"{i:03}.png,{100 * math.pi * radius**2 / side**2:.2f}")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")


def masks(folder: Path, count: int = 240) -> None:
    """One to three circles and squares, and which of them each pixel belongs to."""
    for inner in ("images", "masks"):
        (folder / inner).mkdir(parents=True, exist_ok=True)
    for i in range(count):
        draw = np.random.default_rng([3, i])
        wide, high = (int(v) for v in draw.integers(90, 181, 2))
        page, mask = noise(draw, wide, high), Image.new("L", (wide, high))
        for _ in range(int(draw.integers(1, 4))):
            kind = ("circle", "square")[int(draw.integers(2))]
            add_shape(draw, page, kind, min(wide, high) * draw.uniform(0.1, 0.25), mask, 1 + (kind == "square"))
        page.save(folder / "images" / f"{i:03}.jpg", quality=90)
        mask.save(folder / "masks" / f"{i:03}.png")
    (folder / "classes.txt").write_text("background\ncircle\nsquare\n")


def boxes(folder: Path, count: int = 240) -> None:
    """None to four circles, squares and triangles, and where they are."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    kinds = ("circle", "square", "triangle")
    pictures, around = [], []
    for i in range(count):
        draw = np.random.default_rng([4, i])
        wide, high = (int(v) for v in draw.integers(100, 201, 2))
        page = noise(draw, wide, high)
        for _ in range(int(draw.integers(0, 5))):
            number = int(draw.integers(3))
            radius = min(wide, high) * draw.uniform(0.08, 0.22)
            x1, y1, x2, y2 = add_shape(draw, page, kinds[number], radius)
            box = [round(v, 2) for v in (x1, y1, x2 - x1, y2 - y1)]
            around.append({"id": len(around), "image_id": i, "category_id": number, "bbox": box, "iscrowd": 0})
        page.save(folder / "images" / f"{i:03}.jpg", quality=90)
        pictures.append({"id": i, "file_name": f"{i:03}.jpg", "width": wide, "height": high})
    names = [{"id": i, "name": name} for i, name in enumerate(kinds)]
    content = {"images": pictures, "annotations": around, "categories": names}
    (folder / "boxes.json").write_text(json.dumps(content))


def table(folder: Path, count: int = 600) -> None:
    """Flats, and the rent that follows from most of their columns but for a tenth of chance."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(5)
    worth = {"centre": 1.5, "river": 1.3, "north": 1.0, "east": 0.9, "docks": 0.8}
    lines = ["flat,area,rooms,district,balcony,built,offered,colour of the door,rent"]
    for i in range(count):
        area, rooms = draw.uniform(20, 140), int(draw.integers(1, 6))
        district, balcony = str(draw.choice(list(worth))), bool(draw.random() < 0.4)
        built, day = int(draw.integers(1900, 2024)), int(draw.integers(0, 1500))
        rent = (area * 9 + rooms * 30) * worth[district] * (1 + 0.15 * (built > 2000)) * (1 + day / 8000)
        rent = (rent + 60 * balcony) * draw.normal(1, 0.05)
        cells = [str(i + 1), f"{area:.1f}", str(rooms), district, "yes" if balcony else "no", str(built) if draw.random() < 0.9 else "",
                 str(np.datetime64("2019-01-01") + day), str(draw.choice(["red", "green", "blue"])), f"{rent:.0f}"]  # fmt: skip
        lines.append(",".join(cells))
    (folder / "rents.csv").write_text("\n".join(lines) + "\n")


SAID = {
    "order": ("please send {n} {things} to our {place}", "I would like to order {n} {things}", "we need {n} more {things} for the {place}",
              "can you deliver {n} {things} by friday?", "put {n} {things} on my bill, thank you"),
    "complaint": ("the {things} arrived broken, all {n} of them", "I am still waiting for {n} {things} since monday", "{n} of the {things} are of the wrong size",
                  "your {things} fell apart in the {place}, please take them back", "nobody at the {place} answers, where are my {n} {things}?"),
    "thanks": ("thank you for the {n} {things}, they look lovely", "the {things} are just right for our {place}", "wonderful {things}, all {n} arrived in time",
               "our {place} is happy with the {things}", "many thanks, we like all {n} {things}"),
}  # fmt: skip


def text(folder: Path, each: int = 100) -> None:
    """Letters to a shop, some with a slip of the keys; none is there twice."""
    draw, seen = np.random.default_rng(6), set()
    things = ("chairs", "lamps", "tables", "cups", "shelves", "pillows", "curtains", "mirrors")
    places = ("office", "kitchen", "school", "workshop", "hotel", "flat", "garden")
    for kind, forms in SAID.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        made = 0
        while made < each:
            form = str(draw.choice(forms))
            told = form.format(n=int(draw.integers(2, 90)), things=draw.choice(things), place=draw.choice(places))
            if draw.random() < 0.3:
                at = int(draw.integers(0, len(told) - 1))
                told = told[:at] + told[at + 1] + told[at] + told[at + 2 :]
            if told not in seen:
                seen.add(told)
                (folder / kind / f"{made:03}.txt").write_text(told + "\n")
                made += 1


def cifar(folder: Path, data: Path, each: int = 50, tested: int = 100) -> None:
    """CIFAR-10's test pictures, enlarged 2 to 6 times and saved as JPEG."""
    with open(data / "cifar-10-batches-py" / "test_batch", "rb") as f:
        batch = pickle.load(f, encoding="latin1")
    pixels = np.asarray(batch["data"]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    labels = np.asarray(batch["labels"])
    draw = np.random.default_rng(0)
    for label, name in enumerate(CIFAR):
        for i, at in enumerate(np.flatnonzero(labels == label)[: each + tested]):
            place = folder / ("train" if i < each else "test") / name
            place.mkdir(parents=True, exist_ok=True)
            size = tuple(int(v) for v in (32 * draw.uniform(2, 6) * draw.uniform(0.8, 1.25, 2)))
            page = Image.fromarray(pixels[at]).resize(size, Image.Resampling.BICUBIC)
            page.save(place / f"{i:03}.jpg", quality=int(draw.integers(70, 96)))


def main() -> None:
    which, folder, *rest = sys.argv[1:]
    if which == "shapes":
        shapes(Path(folder))
    elif which in (
        others := {"tags": tags, "number": number, "masks": masks, "boxes": boxes, "table": table, "text": text}
    ):
        others[which](Path(folder))
    elif which == "things":
        write(Path(folder), ("circle", "star", "triangle", "stripes", "checks", "spots"), 56)
    else:
        cifar(Path(folder), Path(rest[0]))


if __name__ == "__main__":
    main()
