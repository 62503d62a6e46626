"""Transforms without chance: conversions, resizing, fixed crops, padding, normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arrays import Array
from ...base.dtypes import dtype as Dtype
from ...base.dtypes import from_np, get_default_dtype
from ...core.tensor import Tensor
from ...nn import Module
from ...operators.create.from_data import as_tensor
from ...operators.matrix.matmul import mm
from .._shown import Shown, ShownModule
from . import _batch
from . import functional as F
from ._batch import PlannedTransform, Stage
from ._convert import largest
from ._geometry_tensor import ltrb
from ._modes import InterpolationMode, as_mode

if TYPE_CHECKING:
    from .._pillow import Picture


class ToTensor(Shown):
    """A PIL image or (H, W, C) array as a (C, H, W) tensor; bytes become floats of [0, 1].

    Raises:
        TypeError: if it is neither of them.

    Example:
        >>> transforms.ToTensor()(np.array([[[0], [255]]], np.uint8))
        tensor([[[0., 1.]]])
    """

    def __init__(self) -> None:
        pass

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        if not stage.pil or stage.dtype != np.uint8:
            return None
        return _scaled(stage, get_default_dtype().np)


def _scaled(stage: Stage, kind: np.dtype) -> PlannedTransform:
    """Integers divided by the largest of them, in the float dtype `kind`."""
    top = kind.type(largest(from_np(stage.dtype)))

    def run(x: Array, words: np.ndarray) -> Any:
        out = x.astype(kind, order="C")
        out /= top
        return out

    return PlannedTransform(run, Stage(stage.shape, kind, False), pointwise=True)


class PILToTensor(Shown):
    """A PIL image as a (C, H, W) tensor of its own numbers.

    Example:
        >>> from PIL import Image
        >>> transforms.PILToTensor()(Image.new("RGB", (4, 2))).shape
        torch.Size([3, 2, 4])
    """

    def __init__(self) -> None:
        pass

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _batch.same(stage._replace(pil=False)) if stage.pil else None


class ConvertImageDtype(Module):
    """A tensor image in another dtype, scaled to that dtype's range.

    Example:
        >>> transforms.ConvertImageDtype(torch.float32)(torch.tensor([[[0, 255]]], dtype=torch.uint8))
        tensor([[[0., 1.]]])
    """

    def __init__(self, dtype: Dtype) -> None:
        super().__init__()
        if not isinstance(dtype, Dtype):
            raise TypeError("Argument dtype should be of type torch.dtype")
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        if stage.pil or not self.dtype.is_floating_point:
            return None
        kind = self.dtype.np
        if stage.dtype == kind:
            return _batch.same(stage)
        if stage.dtype.kind == "f" and kind.kind == "f":
            return _batch.cast(stage, kind)
        if stage.dtype == np.uint8 and kind in (np.float32, np.float64):
            return _scaled(stage, kind)
        return None


class ToPILImage:
    """A (C, H, W) tensor or (H, W, C) array as a PIL image.

    Args:
        mode: Pillow's mode, such as "RGB"; found from the channels if not given.

    Example:
        >>> import PIL
        >>> transforms.ToPILImage()(torch.zeros(3, 2, 4)).size
        (4, 2)
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        inside = "" if self.mode is None else f"mode={self.mode}"
        return f"{type(self).__name__}({inside})"


class Normalize(ShownModule):
    """(image - mean) / std, channel by channel.

    Args:
        mean, std: one number for each channel.
        inplace: change the picture itself.

    Raises:
        TypeError: if the picture is not a tensor of floating point.

    Example:
        >>> transforms.Normalize([0.5], [0.5])(torch.tensor([[[0.0, 0.5, 1.0]]]))
        tensor([[[-1.,  0.,  1.]]])
    """

    _shows = ("mean", "std")

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        if stage.pil or stage.dtype.kind != "f":
            return None
        mean, std = (_per_channel(v, stage) for v in (self.mean, self.std))
        if mean is None or std is None or (std == 0).any():
            return None  # the error is raised by the way one by one

        def run(x: Array, words: np.ndarray) -> Any:
            x -= _batch.beside(x, mean)
            x /= _batch.beside(x, std)
            return x

        # Tensors and arrays are read where they lie: what is written into them is seen.
        given = ((self.mean, mean), (self.std, std))
        reads = tuple([a for values, a in given if type(values) not in (list, tuple)])
        return PlannedTransform(run, stage, pointwise=True, reads=reads)


def _per_channel(values: Any, stage: Stage) -> np.ndarray | None:
    a = as_tensor(values, dtype=from_np(stage.dtype)).detach().cpu().numpy()
    return a.reshape(-1, 1, 1) if a.ndim == 1 and len(a) in (1, stage.shape[0]) else None


class Resize(ShownModule):
    """The image in another size: (height, width), or one number for the shorter edge.

    Args:
        size: (height, width), or one number.
        max_size: the longer edge gets no longer.
        interpolation: an `InterpolationMode`.
        antialias: average over the pixels that become one.

    Example:
        >>> transforms.Resize(8)(torch.zeros(3, 16, 32)).shape
        torch.Size([3, 8, 16])
    """

    _shows = ("size", "interpolation.value", "max_size", "antialias")

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.max_size = max_size
        self.interpolation = as_mode(interpolation)
        self.antialias = antialias

    def forward(self, img: Picture) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        size = [self.size] if isinstance(self.size, int) else list(self.size)
        unchanged = F._resized(*stage.shape[1:], size, self.max_size) == list(stage.shape[1:])
        return _batch.same(stage) if unchanged else None


class CenterCrop(ShownModule):
    """The middle of the image, with a black rim where the image is smaller.

    Args:
        size: (height, width), or one number for a square.

    Example:
        >>> transforms.CenterCrop(8)(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 8, 8])
    """

    _shows = ("size",)

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = F.pair(size)

    def forward(self, img: Picture) -> Any:
        return F.center_crop(img, self.size)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        rim, top, left = F.centre_window(*stage.shape[1:], *self.size)
        wider = _batch.rim(stage, rim, 0, "constant")
        if wider is None:
            return None
        inner = _batch.window(wider.after, top, left, *self.size)
        return PlannedTransform(lambda x, w: inner.run(wider.run(x, w), w), inner.after)


class Pad(ShownModule):
    """A rim around the image: one number, (left/right, top/bottom), or (left, top, right, bottom).

    Args:
        padding: how wide.
        fill: the colour.
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    Example:
        >>> transforms.Pad(1)(torch.ones(1, 1, 2))
        tensor([[[0., 0., 0., 0.],
                 [0., 1., 1., 0.],
                 [0., 0., 0., 0.]]])
    """

    _shows = ("padding", "fill", "padding_mode")

    def __init__(
        self, padding: int | Sequence[int], fill: float | Sequence[float] | None = 0, padding_mode: str = "constant"
    ) -> None:
        super().__init__()
        F.check_padding(padding, fill, padding_mode)
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Picture) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _batch.rim(stage, ltrb(self.padding), self.fill, self.padding_mode)


class FiveCrop(ShownModule):
    """The four corners and the centre, as a tuple.

    Args:
        size: (height, width), or one number for a square.

    Raises:
        ValueError: if the picture is smaller.

    Example:
        >>> [crop.shape[-1] for crop in transforms.FiveCrop(8)(torch.zeros(3, 32, 32))]
        [8, 8, 8, 8, 8]
    """

    _shows = ("size",)

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = F.pair(size)

    def forward(self, img: Picture) -> tuple[Any, ...]:
        return F.five_crop(img, self.size)


class TenCrop(ShownModule):
    """The five crops of the image and of its mirror image, as a tuple.

    Args:
        size: (height, width), or one number for a square.
        vertical_flip: the mirror image is upside down.

    Raises:
        ValueError: if the picture is smaller.

    Example:
        >>> len(transforms.TenCrop(8)(torch.zeros(3, 32, 32)))
        10
    """

    _shows = ("size", "vertical_flip")

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = F.pair(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Picture) -> tuple[Any, ...]:
        return F.ten_crop(img, self.size, self.vertical_flip)


class Grayscale(ShownModule):
    """The image without colour, in one channel or three.

    Args:
        num_output_channels: 1 or 3.

    Example:
        >>> transforms.Grayscale()(torch.zeros(3, 32, 32)).shape
        torch.Size([1, 32, 32])
    """

    _shows = ("num_output_channels",)

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Picture) -> Any:
        return F.rgb_to_grayscale(img, num_output_channels=self.num_output_channels)


class LinearTransformation(Module):
    """A tensor image, flattened, less a mean vector, times a square matrix: whitening, say.

    Args:
        transformation_matrix: (D, D), where D is the number of elements of a picture.
        mean_vector: (D,).

    Raises:
        ValueError: if the sizes do not fit.

    Example:
        >>> transforms.LinearTransformation(torch.eye(2) * 2, torch.ones(2))(torch.tensor([[[1.0, 3.0]]]))
        tensor([[[0., 4.]]])
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns:
            raise ValueError(f"transformation_matrix should be square. Got {rows} x {columns} rectangular matrix.")
        if mean_vector.shape[0] != rows:
            raise ValueError(
                f"mean_vector should have the same length {mean_vector.shape[0]} as any one of the "
                f"dimensions of the transformation_matrix [{rows} x {columns}]"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor: Tensor) -> Tensor:
        size = tensor.shape[-3:].numel()
        if size != self.transformation_matrix.shape[0]:
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape. "
                f"[{tensor.shape[-3]} x {tensor.shape[-2]} x {tensor.shape[-1]}] != "
                f"{self.transformation_matrix.shape[0]}"
            )
        flat = tensor.reshape(-1, size) - self.mean_vector
        return mm(flat, self.transformation_matrix).reshape(tensor.shape)
