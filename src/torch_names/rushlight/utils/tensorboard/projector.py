"""Points for TensorBoard's projector: tables of numbers and labels, a sheet of pictures, and what belongs together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np


def write_points(folder: str, points: np.ndarray) -> None:
    """One row of numbers for each point."""
    with open(os.path.join(folder, "tensors.tsv"), "w") as f:
        f.writelines(["\t".join([str(v) for v in row.tolist()]) + "\n" for row in points])


def write_labels(folder: str, labels: Sequence[Any], header: Sequence[str] | None) -> None:
    """One row for each point; with a header each has several labels."""
    rows = [str(x) for x in labels]
    if header:
        rows = ["\t".join(header), *["\t".join(map(str, row)) for row in labels]]
    with open(os.path.join(folder, "metadata.tsv"), "w", encoding="utf8") as f:
        f.writelines([row + "\n" for row in rows])


def sheet(pictures: np.ndarray) -> np.ndarray:
    """Pictures (N, C, H, W) of one square sheet, row by row, as (H, W, C) bytes."""
    n, channels, height, width = pictures.shape
    side = int(np.ceil(n**0.5))
    full = np.zeros((side * side, channels, height, width), np.float64)
    full[:n] = pictures
    grid = full.reshape(side, side, channels, height, width).transpose(0, 3, 1, 4, 2)
    grid = grid.reshape(side * height, side * width, channels)
    grid = grid if pictures.dtype == np.uint8 else grid * 255
    return np.repeat(grid, 3, 2).astype(np.uint8) if channels == 1 else grid.astype(np.uint8)


def description(tag: str, step: str, where: str, labels: bool, pictures: np.ndarray | None) -> str:
    """The entry of one set of points in projector_config.pbtxt."""
    lines = [f'tensor_name: "{tag}:{step}"', f'tensor_path: "{where}/tensors.tsv"']
    if labels:
        lines.append(f'metadata_path: "{where}/metadata.tsv"')
    if pictures is not None:
        height, width = pictures.shape[2:]
        lines += ["sprite {", f'  image_path: "{where}/sprite.png"']
        lines += [f"  single_image_dim: {n}" for n in (width, height)] + ["}"]
    return "embeddings {\n" + "".join([f"  {line}\n" for line in lines]) + "}\n"
