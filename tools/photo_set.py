"""Makes folders of real photographs to train on: squares cut from pictures that scikit-image and scikit-learn carry.

    python tools/photo_set.py FOLDER [--set ground|things] [--each 122]

`ground`: brick, grass and gravel of scikit-image, three classes that only their texture tells apart.
`things`: cat, coffee, motorcycle (scikit-image), flower and temple (scikit-learn), five classes in colour.
Each photograph is cut into a grid of cells; a cell belongs to the training part or to the test, never to both,
so that no pixel of the test was seen in training. Needs `pip install scikit-image scikit-learn pillow`.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np

SETS = {
    "ground": {"brick": "skimage/data/brick.png", "grass": "skimage/data/grass.png",
               "gravel": "skimage/data/gravel.png"},
    "things": {"cat": "skimage/data/chelsea.png", "coffee": "skimage/data/coffee.png",
               "motorcycle": "skimage/data/motorcycle_left.png",
               "flower": "sklearn/datasets/images/flower.jpg",
               "temple": "sklearn/datasets/images/china.jpg"},
}  # fmt: skip
CELL = 128  # pixels of a cell's side; a square is cut from within one
LEAST = 72  # pixels of the smallest square
TEST = 4  # one cell in so many is for the test


def photograph(name: str) -> np.ndarray:
    """The pixels of a picture inside an installed package, which is not imported."""
    from PIL import Image

    package, _, inside = name.partition("/")
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"{package} is not installed: pip install scikit-image scikit-learn")
    with Image.open(Path(found.submodule_search_locations[0]) / inside) as opened:
        return np.asarray(opened.convert("RGB"))


def squares(photo: np.ndarray, each: int, rng: np.random.Generator) -> dict[str, list[np.ndarray]]:
    """`each` squares of a photograph, a fifth of them from cells kept for the test."""
    high, wide = photo.shape[0] // CELL, photo.shape[1] // CELL
    cells = [(y * CELL, x * CELL) for y in range(high) for x in range(wide)]
    order = rng.permutation(len(cells))
    held = max(1, len(cells) // TEST)
    parts = {"test": [cells[i] for i in order[:held]], "train": [cells[i] for i in order[held:]]}
    counts = {"test": each // 5, "train": each - each // 5}
    found: dict[str, list[np.ndarray]] = {}
    for part, places in parts.items():
        found[part] = []
        for i in range(counts[part]):
            y, x = places[i % len(places)]
            side = int(rng.integers(LEAST, CELL + 1))
            dy, dx = (int(v) for v in rng.integers(0, CELL - side + 1, 2))
            found[part].append(photo[y + dy : y + dy + side, x + dx : x + dx + side])
    return found


def write(folder: Path, which: str, each: int, seed: int = 0) -> int:
    """FOLDER/train|test/CLASS/N.jpg; the answer is how many."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    count = 0
    for name, source in SETS[which].items():
        for part, cut in squares(photograph(source), each, rng).items():
            inside = folder / part / name
            inside.mkdir(parents=True, exist_ok=True)
            for i, pixels in enumerate(cut):
                Image.fromarray(pixels).save(inside / f"{i:03}.jpg", quality=92)
                count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", dest="which", choices=SETS, default="ground")
    parser.add_argument("--each", type=int, default=122)
    args = parser.parse_args()
    count = write(args.folder, args.which, args.each)
    print(f"{count} pictures in {args.folder}: {', '.join(SETS[args.which])}")


if __name__ == "__main__":
    main()
