"""Pictures laid out in a grid, saved, and drawn into."""

from __future__ import annotations

import io
import math
import os
from typing import Any

from ..base import dtypes
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..io.atomic import atomic_write
from ..operators.shape.join import cat, stack
from ._drawing import (
    draw_bounding_boxes,
    draw_keypoints,
    draw_segmentation_masks,
    flow_to_image,
)
from ._pillow import need

__all__ = [
    "draw_bounding_boxes", "draw_keypoints", "draw_segmentation_masks", "flow_to_image", "make_grid",
    "save_image",
]  # fmt: skip


def _batch_of(tensor: Any) -> Tensor:
    """A picture, a batch of pictures or a list of them as a batch with three channels."""
    if not isinstance(tensor, (Tensor, list, tuple)) or (
        isinstance(tensor, (list, tuple)) and not all(isinstance(t, Tensor) for t in tensor)
    ):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    t = tensor if isinstance(tensor, Tensor) else stack(list(tensor), 0)
    if t.ndim == 2:
        t = t[None]
    if t.ndim == 3:
        t = t[None]
    if t.ndim == 4 and t.shape[1] == 1:
        t = cat((t, t, t), 1)
    return t


def _scaled(t: Tensor, value_range: tuple[float, float] | None) -> Tensor:
    low, high = value_range or (float(t.min()), float(t.max()))
    return t.clamp(low, high).sub_(low).div_(max(high - low, 1e-5))


@no_grad()
def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """One picture (3, H, W) that shows a batch, `nrow` of them in a row.

    Args:
        tensor: (N, C, H, W), one picture, or a list of pictures.
        nrow: pictures in a row.
        padding: pixels between them.
        normalize: bring the values to [0, 1],
        value_range: from these limits; from the smallest and largest value if not given;
        scale_each: for each picture alone.
        pad_value: the colour between them.

    Example:
        >>> from rushlight.vision.utils import make_grid
        >>> make_grid(torch.ones(4, 1, 2, 2), nrow=2, padding=1)[0]
        tensor([[0., 0., 0., 0., 0., 0., 0.],
                [0., 1., 1., 0., 1., 1., 0.],
                [0., 1., 1., 0., 1., 1., 0.],
                [0., 0., 0., 0., 0., 0., 0.],
                [0., 1., 1., 0., 1., 1., 0.],
                [0., 1., 1., 0., 1., 1., 0.],
                [0., 0., 0., 0., 0., 0., 0.]])
    """
    t = _batch_of(tensor)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError(
                "value_range has to be a tuple (min, max) if specified. min and max are numbers"
            )
        t = stack([_scaled(x, value_range) for x in t]) if scale_each else _scaled(t, value_range)
    if t.shape[0] == 1:
        return t[0]
    n, channels = t.shape[0], t.shape[1]
    columns = min(nrow, n)
    rows = math.ceil(n / columns)
    high, wide = t.shape[2] + padding, t.shape[3] + padding
    grid = t.new_full((channels, high * rows + padding, wide * columns + padding), pad_value)
    for k in range(n):
        top, left = k // columns * high + padding, k % columns * wide + padding
        grid[:, top : top + high - padding, left : left + wide - padding] = t[k]
    return grid


@no_grad()
def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Save a picture, or a batch of them as a grid; more arguments are `make_grid`'s.

    Args:
        tensor: as in `make_grid`; values of [0, 1].
        fp: a path, or a binary file that is open for writing.
        format: such as "png"; from the path's ending if not given.
        kwargs: as in `make_grid`.

    Example:
        >>> import PIL.Image, tempfile
        >>> from rushlight.vision.utils import save_image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_image(torch.ones(4, 3, 8, 8), folder + "/grid.png")
        ...     with PIL.Image.open(folder + "/grid.png") as grid:
        ...         grid.size
        (42, 12)
    """
    grid = make_grid(tensor, **kwargs)
    # Rounded to the nearest of the 256 levels.
    levels = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to("cpu", dtypes.uint8)
    made = need().fromarray(levels.contiguous().numpy())
    if not isinstance(fp, (str, os.PathLike)):
        made.save(fp, format=format)
        return
    kind = format or need().registered_extensions().get(os.path.splitext(fp)[1].lower())
    if kind is None:
        raise ValueError(f"unknown file extension: {os.path.splitext(fp)[1]}")
    memory = io.BytesIO()
    made.save(memory, format=kind)
    with atomic_write(fp) as f:
        f.write(memory.getbuffer())


def _log_api_usage_once(obj: Any) -> None:
    """torchvision counts here what is used; rushlight counts nothing."""
