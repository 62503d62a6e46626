"""Boxes around things: which pictures have which, as COCO's .json files and YOLO's .txt files say it."""

from __future__ import annotations

import json
import math
import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..errors import UsageError, printable
from ..tasks.boxes import Box, Boxes, Outlines
from ..words import counted
from .files import Listing, Sample, walk
from .paired import Pairs, first_of, pairs, part_inside
from .pictures import ENDINGS, picture_size, pillow_rules
from .table import PARTS

Made = tuple[str, Outlines, str]  # of a sample


def _listing(
    path: str, found: list[Made], names: list[str], layout: str, others: list[str], notes: list[str]
) -> Listing:
    if not any(target.boxes for _, target, _ in found):
        raise UsageError(f"--data {path}: no picture has a box{first_of(t.why for _, t, _ in found)}: there is nothing to learn")  # fmt: skip
    room = max(len(target.boxes) for _, target, _ in found)
    samples = [Sample(name, target._replace(room=room), part) for name, target, part in found]
    empty = sum(not target.boxes and not target.why for _, target, _ in found)
    if empty:
        notes = [*notes, f"{counted(empty, 'picture')} without a box: taken for pictures of nothing."]
    return Listing(path, samples, names, layout, others, tuple(notes), Boxes.kind)


# -- YOLO ----------------------------------------------------------------------------------------


def yolo_pairs(path: str, folders: list[str]) -> Pairs:
    """Folders of pictures beside folders of .txt files."""
    found = [pair for pair in pairs(path, folders) if os.path.basename(pair[1]).lower() == "labels"]
    return [pair for pair in found if any(name.endswith(".txt") for name in walk(pair[1]))]


def with_yolo(path: str, found: Pairs) -> Listing:
    """Every picture with the lines of its .txt file: `class x y wide high`, parts of the picture, or a polygon."""
    made: list[Made] = []
    names, others = _names(path), []
    for images, labels, part in found:
        here = list(walk(images))
        pictures = [name for name in here if name.lower().endswith(ENDINGS)]
        others += [name for name in here if not name.lower().endswith(ENDINGS)]
        with pillow_rules(), ThreadPoolExecutor() as pool:
            sizes = list(pool.map(picture_size, pictures))
        for picture, size in zip(pictures, sizes):
            about = os.path.join(labels, os.path.splitext(os.path.relpath(picture, images))[0] + ".txt")
            boxes, why = _lines(about)
            made.append((picture, Outlines(boxes, size, 0, why), part or part_inside(picture, images)))
    most = max((box.number for _, target, _ in made for box in target.boxes), default=-1)
    if names and most >= len(names):
        raise UsageError(f"--data {path}: there is a box of class {most}, and names for {len(names)} (counted from 0)")
    names = names or [str(i) for i in range(most + 1)]
    return _listing(path, made, names, "folders images and labels (YOLO)", others, [])


def _lines(path: str) -> tuple[tuple[Box, ...], str]:
    """The boxes of a file, or why it cannot be used; without a file there are none."""
    try:
        with open(path, encoding="utf-8-sig") as f:
            rows = [line.split() for line in f if line.strip()]
    except FileNotFoundError:
        return (), ""
    except (OSError, UnicodeDecodeError) as error:
        return (), f"{path} cannot be read: {error}"
    found = []
    for i, row in enumerate(rows, 1):
        try:
            number, values = float(row[0]), [float(v) for v in row[1:]]
        except ValueError:
            return (), f"{path}, line {i}: numbers are expected"
        if number != int(number) or not 0 <= number < 10_000 or len(values) < 4:
            return (), f"{path}, line {i}: `class x y wide high` is expected"
        if not all(-0.5 <= v <= 1.5 for v in values):
            return (), f"{path}, line {i}: parts of the picture, from 0 to 1, are expected"
        if len(values) >= 6 and len(values) % 2 == 0:  # a polygon
            x1, y1, x2, y2 = min(values[::2]), min(values[1::2]), max(values[::2]), max(values[1::2])
        else:
            x, y, wide, high = values[:4]
            x1, y1, x2, y2 = x - wide / 2, y - high / 2, x + wide / 2, y + high / 2
        if box := inside_picture(int(number), x1, y1, x2, y2):
            found.append(box)
    return tuple(found), ""


def inside_picture(number: int, x1: float, y1: float, x2: float, y2: float) -> Box | None:
    """A box of parts of a picture, cut at its edges; None where nothing is left."""
    x1, y1, x2, y2 = (min(max(v, 0.0), 1.0) for v in (x1, y1, x2, y2))
    return Box(number, x1, y1, x2, y2) if x2 > x1 and y2 > y1 else None


def _names(path: str) -> list[str]:
    """`names` of a .yaml file, or the lines of classes.txt; none where there is neither."""
    for name in sorted(os.listdir(path)):
        if name.lower().endswith((".yaml", ".yml")):
            with open(os.path.join(path, name), encoding="utf-8-sig", errors="replace") as f:
                found = names_of_yaml(f.read())
            if found:
                return found
    for name in ("classes.txt", "obj.names", os.path.join("labels", "classes.txt")):
        try:
            with open(os.path.join(path, name), encoding="utf-8-sig") as f:
                return [line.strip() for line in f if line.strip()]
        except (OSError, UnicodeDecodeError):
            continue
    return []


def names_of_yaml(text: str) -> list[str]:
    """The list or the numbered lines under `names:`."""

    def bare(item: str) -> str:
        item = item.strip()
        return item[1:-1] if len(item) > 1 and item[0] == item[-1] and item[0] in "'\"" else item.partition(" #")[0].strip()  # fmt: skip

    found = re.search(r"^names:[ \t]*(.*(?:\n(?:[ \t-].*)?)*)", text, re.M)
    if found is None:
        return []
    body = found[1].strip()
    if body.startswith("["):
        return [bare(item) for item in body[1:].partition("]")[0].replace("\n", " ").split(",") if item.strip()]
    rows = [row.strip() for row in body.strip("{}").replace(",", "\n").split("\n")]
    listed = [bare(row[1:]) for row in rows if row.startswith("-")]
    numbered = {int(m[1]): bare(m[2]) for row in rows if (m := re.match(r"(\d+)\s*:(.*)", row))}
    return listed or [numbered.get(i, str(i)) for i in range(max(numbered, default=-1) + 1)]


# -- COCO ----------------------------------------------------------------------------------------


def coco_files(path: str, folders: list[str]) -> tuple[dict[str, str], list[str]]:
    """The .json files with boxes, of the folder, of its parts or of `annotations`, and the part of each; what is wrong with others that look as if they should have some."""
    found: dict[str, str] = {}
    odd = []
    for inner in ("", *(n for n in folders if n.lower() in PARTS or n.lower() == "annotations")):
        here = os.path.join(path, inner)
        files = [n for n in sorted(os.listdir(here)) if n.lower().endswith(".json")]
        files = [n for n in files if n.startswith("instances")] or files
        for name in files:
            why = _no_coco(os.path.join(here, name))
            if why:
                odd.append(f"{os.path.join(here, name)} {why}")
            elif why is not None:
                part = PARTS.get(inner.lower(), "") or next((PARTS[w] for w in _words(name) if w in PARTS), "")
                found[os.path.join(here, name)] = part
    return found, odd


def _words(name: str) -> list[str]:
    return re.split(r"[^a-z]+", name.lower())


def _read(path: str) -> Any:
    with open(path, encoding="utf-8-sig") as f:
        return json.load(f)


def _no_coco(path: str) -> str | None:
    """Why a file has no boxes as COCO's have them: "" where it has, None where nothing says that it should."""
    lists = ("images", "annotations", "categories")
    try:
        content = _read(path)
    except (OSError, ValueError, RecursionError) as error:
        return f"cannot be read: {printable(str(error))}"
    there = [k for k in lists if isinstance(content, dict) and isinstance(content.get(k), list)]
    if not there:
        return None
    lacking = [k for k in lists if k not in there]
    return f"lacks the list{'s' * (len(lacking) > 1)} {' and '.join(lacking)}, which COCO's files have" if lacking else ""  # fmt: skip


def with_coco(path: str, files: dict[str, str]) -> Listing:
    """Every picture of some files with its boxes; crowds are left out."""
    made: list[Made] = []
    names: list[str] = []
    left = {"crowd": 0, "empty": 0}
    for file, part in files.items():
        if why := _no_coco(file):
            raise UsageError(f"--data {file} {why}")
        if why is None:
            raise UsageError(f"--data {file}: lists `images`, `annotations` and `categories` are expected, as COCO has them")  # fmt: skip
        try:
            made += _of_file(path, file, part, _read(file), names, left)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"--data {file} is not as COCO's files are: {'it lacks ' if isinstance(error, KeyError) else ''}{printable(str(error))}") from None  # fmt: skip
    notes = []
    if left["crowd"]:
        notes.append(f"{counted(left['crowd'], 'crowd')} of no single thing: left out.")
    if left["empty"]:
        notes.append(f"{counted(left['empty'], 'box', 'boxes')} without an area inside the picture: left out.")
    if len(files) == 1:  # one file of all parts: they are drawn here
        made = [(name, target, "") for name, target, _ in made]
    return _listing(path, made, names, "COCO's annotations", [], notes)


def _of_file(path: str, file: str, part: str, content: Any, names: list[str], left: dict[str, int]) -> list[Made]:
    number = {}
    used = {one["category_id"] for one in content["annotations"]}
    for category in sorted(content["categories"], key=lambda c: c["id"]):
        if category["id"] in used:  # Roboflow has one above the others that nothing is
            name = str(category["name"])
            names += [name] if name not in names else []
            number[category["id"]] = names.index(name)
    of: dict[Any, list[Any]] = {}
    for one in content["annotations"]:
        if one["category_id"] not in number:
            raise ValueError(f"no category has the id {one['category_id']!r}, which is an annotation's category_id")
        of.setdefault(one["image_id"], []).append(one)
    places = _places(path, file, part)
    pictures = [_where(places, str(image["file_name"])) for image in content["images"]]
    found = []
    with pillow_rules():
        for image, picture in zip(content["images"], pictures):
            size = (int(image.get("width") or 0), int(image.get("height") or 0))
            if min(size) < 1:
                size = picture_size(picture)
            boxes = []
            for one in of.get(image["id"], ()):
                if one.get("iscrowd"):
                    left["crowd"] += 1
                    continue
                x, y, wide, high = (float(v) for v in one["bbox"])
                if not math.isfinite(x + y + wide + high):
                    raise ValueError(f"bbox {one['bbox']}")
                w, h = (max(n, 1) for n in size)
                box = inside_picture(number[one["category_id"]], x / w, y / h, (x + wide) / w, (y + high) / h)
                left["empty"] += box is None
                boxes += [box] if box else []
            found.append((picture, Outlines(tuple(boxes), size, 0, ""), part))
    return found


def _places(path: str, file: str, part: str) -> list[str]:
    """Where the pictures of a file may lie: beside it, in `images`, or in a folder that is called as its part is."""
    here = os.path.dirname(file) or "."
    roots = list(dict.fromkeys((here, os.path.join(here, "images"), path, os.path.join(path, "images"))))
    inner = [os.path.join(root, name) for root in roots[2:] or roots if os.path.isdir(root)
             for name in sorted(os.listdir(root)) if part and part in [PARTS.get(w) for w in _words(name)]]  # fmt: skip
    return [*roots, *inner]


def _where(places: list[str], name: str) -> str:
    name = name.replace("\\", "/")
    return next((p for place in places if os.path.exists(p := os.path.join(place, name))), os.path.join(places[0], name))  # fmt: skip
