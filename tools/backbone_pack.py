"""The data pack of the backbone: real pictures made small, in one file that NumPy and xz can read anywhere."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

# Of CIFAR-10's training pictures the first 40,000 are trained on, the next 2,000 watch; the test set is not touched.
CIFAR_TRAIN, CIFAR_WATCH = 40_000, 2_000
GREY_EACH = 10_000  # of MNIST and of Fashion-MNIST
CLIP_SIDE = 64
CLIP_LEAST, CLIP_MOST = 20, 130  # pictures of a subject
CLIP_BYTES = 60_000  # of a file
GLYPH_SIDE = 32
GLYPHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghijnqrty0123456789?!&@#%+="


def cosines() -> np.ndarray:
    """The 8 x 8 matrix of the discrete cosine transform (JPEG's)."""
    k, n = np.meshgrid(np.arange(8), np.arange(8), indexing="ij")
    matrix = np.sqrt(0.25) * np.cos(np.pi * (2 * n + 1) * k / 16)
    matrix[0] /= np.sqrt(2)
    return matrix.astype(np.float32)


def _steps(coarse: float) -> np.ndarray:
    """How coarsely each coefficient is kept: high frequencies more so."""
    u, v = np.meshgrid(np.arange(8), np.arange(8), indexing="ij")
    steps = coarse * (1 + 0.35 * (u + v))
    steps[0, 0] = 8.2  # the mean of a block goes up to 1,024, and 127 is the largest that is kept
    return steps.astype(np.float32)


_TO_YCC = np.array([[0.299, 0.587, 0.114], [-0.1687, -0.3313, 0.5], [0.5, -0.4187, -0.0813]], np.float32)
LIGHT, COLOUR = 4.5, 7.0  # steps of the light and of the two colours


def _squeeze(planes: np.ndarray, coarse: float) -> np.ndarray:
    """(N, H, W) as int8 coefficients, those of one frequency beside each other."""
    count, high, wide = planes.shape
    blocks = planes.reshape(count, high // 8, 8, wide // 8, 8).transpose(0, 1, 3, 2, 4)
    c = cosines()
    found = np.rint(c @ blocks @ c.T / _steps(coarse)).clip(-127, 127).astype(np.int8)
    return np.ascontiguousarray(found.transpose(3, 4, 1, 2, 0))


def _unfold(kept: np.ndarray, coarse: float) -> np.ndarray:
    blocks = kept.transpose(4, 2, 3, 0, 1).astype(np.float32) * _steps(coarse)
    c = cosines()
    planes = (c.T @ blocks @ c).transpose(0, 1, 3, 2, 4)
    count, rows, _, columns, _ = planes.shape
    return planes.reshape(count, rows * 8, columns * 8)


def squeeze(pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of (N, 3, 32, 32) as coefficients of the light and of colours at half the size."""
    ycc = np.einsum("ij,njhw->nihw", _TO_YCC, pictures.astype(np.float32))
    half = ycc[:, 1:].reshape(len(ycc), 2, 16, 2, 16, 2).mean((3, 5)).reshape(-1, 16, 16)
    return _squeeze(ycc[:, 0] - 128, LIGHT), _squeeze(half, COLOUR)


def unfold(light: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """The bytes of (N, 3, 32, 32) again, nearly."""
    y = _unfold(light, LIGHT) + 128
    cc = _unfold(colour, COLOUR).reshape(len(y), 2, 16, 16).repeat(2, 2).repeat(2, 3)
    ycc = np.concatenate([y[:, None], cc], 1)
    back = np.einsum("ij,njhw->nihw", np.linalg.inv(_TO_YCC).astype(np.float32), ycc)
    return np.rint(back).clip(0, 255).astype(np.uint8)


def cifar(folder: Path) -> dict[str, np.ndarray]:
    """The first 42,000 training pictures of CIFAR-10."""
    data, labels = [], []
    for i in range(1, 6):
        with open(folder / "cifar-10-batches-py" / f"data_batch_{i}", "rb") as f:
            batch = pickle.load(f, encoding="latin1")  # the file that we laid out ourselves
        data.append(batch["data"])
        labels += batch["labels"]
    count = CIFAR_TRAIN + CIFAR_WATCH
    light, colour = squeeze(np.concatenate(data)[:count].reshape(count, 3, 32, 32))
    return {"cifar_light": light, "cifar_colour": colour, "cifar_labels": np.array(labels[:count], np.int8)}


def grey(folder: Path, name: str) -> dict[str, np.ndarray]:
    """Training pictures of MNIST or Fashion-MNIST."""
    raw = folder / name / "raw"
    pixels = np.frombuffer((raw / "train-images-idx3-ubyte").read_bytes(), np.uint8, offset=16)
    labels = np.frombuffer((raw / "train-labels-idx1-ubyte").read_bytes(), np.uint8, offset=8)
    low = name.lower()
    return {low: pixels.reshape(-1, 28, 28)[:GREY_EACH], f"{low}_labels": labels[:GREY_EACH].astype(np.int8)}


def clip_art(folder: Path) -> dict[str, np.ndarray]:
    """Debian's openclipart-png (public domain) by subject: colours and opacity of 64 x 64, 32 levels each."""
    from PIL import Image

    top = folder / "usr/share/openclipart/png"
    subjects = defaultdict(list)
    for path in sorted(top.rglob("*.png")):
        subject = "/".join(path.relative_to(top).parts[:-1][:2])
        if not subject.startswith(("unsorted", "special/examples")):
            subjects[subject].append(path)
    pixels, labels, names = [], [], []
    for subject, paths in sorted(subjects.items()):
        paths.sort(key=lambda p: hashlib.sha256(p.name.encode()).digest())
        seen: list[np.ndarray] = []
        for path in paths:
            if len(seen) == CLIP_MOST:
                break
            if path.stat().st_size > CLIP_BYTES:  # some have hundreds of millions of pixels
                continue
            with Image.open(path) as opened:
                wide, high = opened.size
                if max(wide, high) > 6 * min(wide, high) or min(wide, high) < 12:
                    continue
                small = opened.convert("RGBA")
            small.thumbnail((CLIP_SIDE, CLIP_SIDE), Image.Resampling.BOX, reducing_gap=2.0)
            whole = Image.new("RGBA", (CLIP_SIDE, CLIP_SIDE))
            whole.paste(small, ((CLIP_SIDE - small.width) // 2, (CLIP_SIDE - small.height) // 2))
            a = np.asarray(whole).transpose(2, 0, 1) >> 3
            seen.append(a * (a[3:] > 0))
        if len(seen) >= CLIP_LEAST:
            labels += [len(names)] * len(seen)
            names.append(subject)
            pixels += seen
    return {"clip": np.stack(pixels), "clip_labels": np.array(labels, np.int16), "clip_names": np.array(names)}


def glyphs() -> dict[str, np.ndarray]:
    """Letters, digits and signs of the fonts that matplotlib carries, grey on black."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFont

    fonts = Path(matplotlib.get_data_path(), "fonts/ttf")
    drawn, labels = [], []
    for path in sorted(fonts.glob("*.ttf")):
        if not path.name.startswith(("DejaVu", "STIXGeneral")) or "Display" in path.name:
            continue
        font = ImageFont.truetype(str(path), 26)
        for label, sign in enumerate(GLYPHS):
            page = Image.new("L", (GLYPH_SIDE, GLYPH_SIDE))
            ImageDraw.Draw(page).text((16, 16), sign, 255, font, anchor="mm")
            drawn.append(np.asarray(page))
            labels.append(label)
    return {"glyph": np.stack(drawn), "glyph_labels": np.array(labels, np.int8)}


def write(folder: Path, out: Path) -> None:
    """Everything that `folder` holds, as one file."""
    parts: dict[str, Any] = {}
    for name, made in (("CIFAR-10", lambda: cifar(folder)), ("MNIST", lambda: grey(folder, "MNIST")),
                       ("Fashion-MNIST", lambda: grey(folder, "FashionMNIST")),
                       ("clip art", lambda: clip_art(folder)), ("glyphs", glyphs)):  # fmt: skip
        parts |= made()
        print(f"{name}: read", flush=True)
    held = io.BytesIO()
    np.savez(held, **parts)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(lzma.compress(held.getvalue(), preset=4))
    print(f"{out}: {os.path.getsize(out) / 2**20:.1f} MiB, {len(parts['clip']):,} clip arts of {len(parts['clip_names'])} "
          f"subjects, {len(parts['glyph']):,} glyphs")  # fmt: skip


def read(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a pack."""
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as content:
        return {name: content[name] for name in content.files}
