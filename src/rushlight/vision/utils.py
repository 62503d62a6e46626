"""Pictures laid out in a grid, saved, and drawn into."""

from __future__ import annotations

import io
import math
import os
import warnings
from typing import Any

import numpy as np

from ..base import dtypes
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..io.atomic import atomic_write
from ..operators.create.from_data import from_numpy, tensor
from ..operators.pointwise.select import where
from ..operators.shape.join import cat, stack
from ._pillow import need
from .transforms.functional import convert_image_dtype

__all__ = [
    "draw_bounding_boxes", "draw_keypoints", "draw_segmentation_masks", "flow_to_image", "make_grid",
    "save_image",
]  # fmt: skip


def _palette(count: int) -> list[tuple[int, int, int]]:
    """Colours that are far from each other, one for each object."""
    steps = np.array([2**25 - 1, 2**15 - 1, 2**21 - 1])
    return [tuple(int(v) for v in i * steps % 255) for i in range(count)]  # type: ignore[misc]


def _colours(colors: Any, count: int) -> list[Any]:
    """A colour for each object, as (red, green, blue)."""
    if colors is None:
        return _palette(count)
    if isinstance(colors, list):
        if len(colors) < count:
            raise ValueError(
                f"Number of colors must be equal or larger than the number of objects, but got {len(colors)} < {count}."
            )
    elif not isinstance(colors, (tuple, str)):
        raise ValueError(f"colors must be a tuple or a string, or a list thereof, but got {colors}.")
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colors}.")
    each = colors if isinstance(colors, list) else [colors] * count
    read = need("ImageColor").getrgb
    return [read(c)[:3] if isinstance(c, str) else c for c in each]


def _check(image: Any, wanted: str = "The image must be a tensor") -> None:
    if not isinstance(image, Tensor):
        raise TypeError(f"{wanted}, got {type(image)}")
    if not (image.dtype is dtypes.uint8 or image.is_floating_point()):
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.ndim != 3:
        raise ValueError("Pass individual images, not batches")


def _canvas(image: Tensor) -> Any:
    """The picture as PIL draws on it, in colour."""
    pixels = convert_image_dtype(image, dtypes.uint8)
    rows = pixels.expand(3, -1, -1) if pixels.shape[0] == 1 else pixels
    return need().fromarray(np.ascontiguousarray(rows.permute(1, 2, 0).cpu().numpy()))


def _back(canvas: Any, image: Tensor) -> Tensor:
    made = from_numpy(np.array(canvas).transpose(2, 0, 1).copy()).to(image.device)
    return convert_image_dtype(made, image.dtype)


@no_grad()
def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: list[str | None] | None = None,
    colors: Any = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Any = None,
    label_background_colors: Any = None,
    fill_labels: bool = False,
) -> Tensor:
    """Draw boxes, and names beside them, into a picture.

    Args:
        image: (C, H, W), uint8 or floats from 0 to 1, with 1 or 3 channels.
        boxes: (N, 4) corners, or (N, 8) four corners of turned boxes.
        labels: a name for each box, or None.
        colors: one colour, or a list with one for each: names or (red, green, blue).
        fill: also tint the inside.
        width: of the lines, in pixels.
        font: a TrueType file.
        font_size: its size.
        label_colors: colours of the names; those of the boxes if None.
        label_background_colors: colours behind the names, with `fill_labels`.
        fill_labels: draw a background behind the names.

    Returns:
        A new picture with 3 channels.

    Raises:
        TypeError: if the picture is no tensor.
        ValueError: for another dtype or shape, or too few labels or colours.

    Example:
        >>> from rushlight.vision.utils import draw_bounding_boxes
        >>> picture = torch.zeros(3, 4, 4, dtype=torch.uint8)
        >>> draw_bounding_boxes(picture, torch.tensor([[0, 0, 2, 2]]), colors="red")[0]
        tensor([[255, 255, 255,   0],
                [255,   0, 255,   0],
                [255, 255, 255,   0],
                [  0,   0,   0,   0]], dtype=torch.uint8)
    """
    _check(image, "Tensor expected")
    if image.shape[0] not in (1, 3):
        raise ValueError("Only grayscale and RGB images are supported")
    count = boxes.shape[0]
    if count and boxes.shape[-1] == 4 and ((boxes[:, 0] > boxes[:, 2]).any() or (boxes[:, 1] > boxes[:, 3]).any()):
        raise ValueError(
            "Boxes need to be in (xmin, ymin, xmax, ymax) format. Use torchvision.ops.box_convert to convert them"
        )
    if count == 0:
        warnings.warn("boxes doesn't contain any box. No box was drawn", stacklevel=2)
        return image
    names = [None] * count if labels is None else labels
    if len(names) != count:
        raise ValueError(
            f"Number of boxes ({count}) and labels ({len(names)}) mismatch. Please specify labels for each box."
        )
    lines = _colours(colors, count)
    words = lines if label_colors is None else _colours(label_colors, count)
    behind = _colours(label_background_colors, count) if label_background_colors else lines
    canvas = _canvas(image)
    pen = need("ImageDraw").Draw(canvas, "RGBA" if fill else None)
    letters = _font(font, font_size)
    for box, line, name, word, back in zip(boxes.to(dtypes.int64).tolist(), lines, names, words, behind):
        inside = (*line, 100) if fill else None
        if len(box) == 8:
            _turned_box(pen, box, inside, line, width)
        else:
            pen.rectangle(box, fill=inside, outline=line, width=width)
        if name is not None:
            at = (box[0] + width + 1, box[1] + width + 1)
            if fill_labels:
                left, top, right, bottom = pen.textbbox(at, name, font=letters)
                pen.rectangle([left - 1, top - 1, right + 1, bottom + 1], fill=back)
            pen.text(at, name, fill=word, font=letters)
    return _back(canvas, image)


def _turned_box(pen: Any, box: list[int], inside: Any, line: Any, width: int) -> None:
    """Four lines, the first of which is dashed, so that one sees where the box begins, and the inside over them."""
    points = [(box[i], box[i + 1]) for i in range(0, 8, 2)]
    (x, y), (x1, y1) = points[:2]
    length, along = math.hypot(x1 - x, y1 - y), math.atan2(y1 - y, x1 - x)
    for begin in range(0, math.ceil(length), 10):
        ends = [begin, min(begin + 5, length)]
        dash = [(x + math.cos(along) * d, y + math.sin(along) * d) for d in ends]
        pen.line(dash, width=width, fill=line)
    for i in range(1, 4):
        pen.line([points[i], points[(i + 1) % 4]], width=width, fill=line)
    pen.polygon(points, fill=inside, outline=None, width=0)


def _font(font: str | None, size: int | None) -> Any:
    fonts = need("ImageFont")
    if font is None:
        if size is not None:
            warnings.warn("Argument 'font_size' will be ignored since 'font' is not set.", stacklevel=3)
        return fonts.load_default()
    return fonts.truetype(font=font, size=size or 10)


@no_grad()
def draw_segmentation_masks(image: Tensor, masks: Tensor, alpha: float = 0.8, colors: Any = None) -> Tensor:
    """Tint the parts of a picture that masks show.

    Args:
        image: (3, H, W), uint8 or floats from 0 to 1.
        masks: (N, H, W) or (H, W), bool.
        alpha: 0 shows the picture only, 1 the colours only; pixels of several masks are tinted black.
        colors: one colour, or a list with one for each mask: names or (red, green, blue).

    Raises:
        TypeError: if the picture is no tensor.
        ValueError: for another dtype or shape.

    Example:
        >>> from rushlight.vision.utils import draw_segmentation_masks
        >>> mask = torch.tensor([[True, False]])
        >>> draw_segmentation_masks(torch.full((3, 1, 2), 100, dtype=torch.uint8), mask, 0.5, "red")[:, 0]
        tensor([[177, 100],
                [ 50, 100],
                [ 50, 100]], dtype=torch.uint8)
    """
    _check(image)
    if image.shape[0] != 3:
        raise ValueError("Pass an RGB image. Other Image formats are not supported")
    masks = masks[None] if masks.ndim == 2 else masks
    if masks.ndim != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype is not dtypes.bool_:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    if masks.numel() == 0:
        warnings.warn("masks doesn't contain any mask. No mask was drawn", stacklevel=2)
        return image
    painted = image.clone()
    for mask, colour in zip(masks, _colours(colors, masks.shape[0])):
        shade = tensor(colour, dtype=dtypes.uint8, device=image.device)[:, None, None]
        painted = where(mask, convert_image_dtype(shade, image.dtype), painted)
    painted = painted.masked_fill(masks.sum(0) > 1, 0)  # black where masks meet, as in torchvision
    return (image * (1 - alpha) + painted * alpha).to(image.dtype)


@no_grad()
def draw_keypoints(
    image: Tensor,
    keypoints: Tensor,
    connectivity: list[tuple[int, int]] | None = None,
    colors: Any = None,
    radius: int = 2,
    width: int = 3,
    visibility: Tensor | None = None,
) -> Tensor:
    """Draw the points of objects, and lines between them, into a picture.

    Args:
        image: (3, H, W), uint8 or floats from 0 to 1.
        keypoints: (N, K, 2), the (x, y) of K points of N objects.
        connectivity: pairs of points that a line joins.
        colors: one colour for all: a name or (red, green, blue).
        radius: of the points.
        width: of the lines.
        visibility: (N, K), false for points that are not drawn.

    Raises:
        TypeError: if the picture is no tensor.
        ValueError: for another dtype or shape.

    Example:
        >>> from rushlight.vision.utils import draw_keypoints
        >>> picture = torch.zeros(3, 5, 5, dtype=torch.uint8)
        >>> draw_keypoints(picture, torch.tensor([[[2, 2]]]), colors="red", radius=1)[0].sum() > 0
        tensor(True)
    """
    _check(image)
    if image.shape[0] != 3:
        raise ValueError("Pass an RGB image. Other Image formats are not supported")
    if keypoints.ndim != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    if visibility is not None and tuple(visibility.shape[:2]) != tuple(keypoints.shape[:2]):
        raise ValueError(
            "keypoints and visibility must have the same dimensionality for num_instances and K. Got "
            f"visibility.shape={tuple(visibility.shape)} and keypoints.shape={tuple(keypoints.shape)}"
        )
    canvas = _canvas(image)
    pen = need("ImageDraw").Draw(canvas)
    colour = _colours(colors, 1)[0] if isinstance(colors, (str, tuple)) else colors
    points = keypoints[..., :2].to(dtypes.int64).tolist()
    shown = [[True] * len(p) for p in points]
    if visibility is not None:
        shown = visibility.reshape(tuple(keypoints.shape[:2])).to(dtypes.bool_).tolist()
    for row, seen in zip(points, shown):
        for (x, y), visible in zip(row, seen):
            if visible:
                pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colour, outline=None, width=0)
        for start, end in connectivity or []:
            if seen[start] and seen[end]:
                pen.line((*row[start], *row[end]), width=width)
    return _back(canvas, image)


@no_grad()
def flow_to_image(flow: Tensor) -> Tensor:
    """Motion as a picture: its direction is the hue, its speed the strength of the colour (Baker et al. 2011).

    Args:
        flow: (2, H, W) or (N, 2, H, W) floats, the motion of each pixel to the right and down.

    Returns:
        (3, H, W) or (N, 3, H, W), uint8.

    Raises:
        ValueError: for another dtype or shape.

    Example:
        >>> from rushlight.vision.utils import flow_to_image
        >>> flow_to_image(torch.zeros(2, 1, 1)).flatten().tolist()
        [255, 255, 255]
    """
    if flow.dtype is not dtypes.float32:
        raise ValueError(f"Flow should be of dtype torch.float, got {flow.dtype}.")
    shape = tuple(flow.shape)
    single = flow.ndim == 3
    batch = flow[None] if single else flow
    if batch.ndim != 4 or batch.shape[1] != 2:
        raise ValueError(f"Input flow should have shape (2, H, W) or (N, 2, H, W), got {shape}.")
    motion = batch.cpu().numpy()
    longest = np.sqrt((motion**2).sum(1)).max(initial=0)
    made = _wheel_colours(motion / (longest + np.finfo(np.float32).eps))
    image = from_numpy(made).to(flow.device)
    return image[0] if single else image


def _wheel() -> np.ndarray:
    """The colours of the circle of hues, from red over yellow, green, cyan, blue and magenta."""
    parts = []
    # length of the part, the channel at its height, the channel that moves, whether it rises
    for length, full, moves, rises in (
        (15, 0, 1, True), (6, 1, 0, False), (4, 1, 2, True), (11, 2, 1, False), (13, 2, 0, True), (6, 0, 2, False),
    ):  # fmt: skip
        part = np.zeros((length, 3), np.float32)
        part[:, full] = 255
        ramp = np.floor(255 * np.arange(length, dtype=np.float32) / length)
        part[:, moves] = ramp if rises else 255 - ramp
        parts.append(part)
    return np.concatenate(parts)


def _wheel_colours(motion: np.ndarray) -> np.ndarray:
    wheel = _wheel()
    count = len(wheel)
    speed = np.sqrt((motion**2).sum(1))
    angle = np.arctan2(-motion[:, 1], -motion[:, 0]) / np.float32(math.pi)
    place = (angle + 1) / 2 * (count - 1)
    low = np.floor(place).astype(np.int64)
    high = (low + 1) % count
    share = place - low
    made = np.zeros((len(motion), 3, *motion.shape[2:]), np.uint8)
    for c in range(3):
        column = wheel[:, c]
        colour = (1 - share) * (column[low] / 255) + share * (column[high] / 255)
        made[:, c] = np.floor(255 * (1 - speed * (1 - colour)))
    return made


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
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
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


_generate_color_palette = _palette  # libraries take it from here


def _Image_fromarray(obj: Any, mode: str) -> Any:
    """An array as a PIL image of a mode that fits its bytes."""
    rows = np.ascontiguousarray(obj)
    return need().frombytes(mode, (rows.shape[1], rows.shape[0]), rows.tobytes())


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
