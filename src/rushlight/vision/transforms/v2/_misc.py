"""Normalising, dtypes, blurs, noise, holes, JPEG, and functions as transforms."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....base import dtypes
from ....base.arrays import Array
from ....base.dtypes import dtype as Dtype
from ....core.tensor import Tensor
from ....operators.matrix.matmul import mm
from ... import tv_tensors
from ..._pillow import is_pil_image
from ...tv_tensors import Image, Video
from .. import _batch, _fixed, _random_colour
from .._batch import PlannedTransform, Stage
from .._draw import uniform
from . import functional as F
from ._query import has_any
from ._transform import Transform, number_or_two, two_sizes

if TYPE_CHECKING:
    from ....base.dtypes import dtype


class Identity(Transform):
    """The sample as it is.

    Example:
        >>> v2.Identity()(torch.tensor([1, 2]))
        tensor([1, 2])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part as it is."""
        return inpt

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _batch.same(stage)


class Lambda(Transform):
    """Any function as a transform, for all parts of a sample or those of some classes.

    Args:
        lambd: the function.
        types: the classes; all if none are given.

    Example:
        >>> v2.Lambda(lambda x: x * 2, int)({"a": 3, "b": "c"})
        {'a': 6, 'b': 'c'}
    """

    _transformed_types = (object,)

    def __init__(self, lambd: Callable[[Any], Any], *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or self._transformed_types

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """What the function makes of the part."""
        return self.lambd(inpt) if isinstance(inpt, self.types) else inpt

    def extra_repr(self) -> str:
        name = getattr(self.lambd, "__name__", None)
        said = [name] if name else []
        return ", ".join([*said, f"types={[t.__name__ for t in self.types]}"])


class _NoPictures(Transform):
    """A transform that PIL images are too little for."""

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if has_any(flat_inputs, is_pil_image):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")


class LinearTransformation(_NoPictures):
    """As `vision.transforms.LinearTransformation`, of every part of a sample that it concerns."""

    _v1_transform_cls = _fixed.LinearTransformation
    _transformed_types = (F.is_pure_tensor, Image, Video)

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        matrix, mean = transformation_matrix, mean_vector
        if matrix.size(0) != matrix.size(1):
            raise ValueError(f"transformation_matrix should be square. Got {tuple(matrix.size())} rectangular matrix.")
        if mean.size(0) != matrix.size(0):
            raise ValueError(
                f"mean_vector should have the same length {mean.size(0)} as any one of the dimensions of the "
                f"transformation_matrix [{tuple(matrix.size())}]"
            )
        if matrix.device != mean.device:
            raise ValueError(f"Input tensors should be on the same device. Got {matrix.device} and {mean.device}")
        if matrix.dtype != mean.dtype:
            raise ValueError(f"Input tensors should have the same dtype. Got {matrix.dtype} and {mean.dtype}")
        self.transformation_matrix, self.mean_vector = matrix, mean

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part times the matrix."""
        *_, c, h, w = shape = inpt.shape
        if c * h * w != self.transformation_matrix.shape[0]:
            raise ValueError(
                f"Input tensor and transformation matrix have incompatible shape.[{c} x {h} x {w}] != "
                f"{self.transformation_matrix.shape[0]}"
            )
        if inpt.device.type != self.mean_vector.device.type:
            raise ValueError(
                "Input tensor should be on the same device as transformation matrix and mean vector. "
                f"Got {inpt.device} vs {self.mean_vector.device}"
            )
        flat = inpt.as_subclass(Tensor).reshape(-1, c * h * w) - self.mean_vector
        output = mm(flat, self.transformation_matrix.to(flat.dtype)).reshape(shape)
        return tv_tensors.wrap(output, like=inpt) if isinstance(inpt, (Image, Video)) else output


class Normalize(_NoPictures):
    """(picture - mean) / std, channel by channel."""

    _v1_transform_cls = _fixed.Normalize
    _functional, _given = F.normalize, ("mean", "std", "inplace")

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std = list(mean), list(std)
        self.inplace = inplace

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _fixed.Normalize(self.mean, self.std).__batched__(stage)


class GaussianBlur(Transform):
    """Blurred with a Gaussian of random width."""

    _v1_transform_cls = _random_colour.GaussianBlur
    _functional, _given = F.gaussian_blur, ("kernel_size",)

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = two_sizes(kernel_size, "Kernel size should be a tuple/list of two integers")
        if any(k <= 0 or k % 2 == 0 for k in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        self.sigma = number_or_two(sigma, "sigma")
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max). Got {self.sigma}")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The width."""
        sigma = uniform(self.sigma[0], self.sigma[1])
        return {"sigma": [sigma, sigma]}


class GaussianNoise(Transform):
    """Normal noise added to pictures and videos of floating point or of bytes.

    Args:
        mean, sigma: of the noise, for pictures of [0, 1].
        clip: keep the result within the range of a picture.

    Raises:
        ValueError: if the picture has another dtype.

    Example:
        >>> v2.GaussianNoise(sigma=0.0)(torch.ones(1, 1, 2))
        tensor([[[1., 1.]]])
    """

    _functional, _given = F.gaussian_noise, ("mean", "sigma", "clip")

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean, self.sigma, self.clip = mean, sigma, clip


def _in_dtype(stage: Stage, dtype: dtype, scale: bool) -> PlannedTransform | None:
    """Pictures of a batch in another dtype."""
    kind = dtype.np
    if stage.pil or stage.dtype == kind:
        return _batch.same(stage)
    if not scale or (stage.dtype.kind == "f" and kind.kind == "f"):
        return _batch.cast(stage, kind)
    if stage.dtype != np.uint8 or kind not in (np.float32, np.float64):
        return None

    def run(x: Array, words: np.ndarray) -> Any:
        out = x.astype(kind, order="C")
        out *= kind.type(1.0 / 255)  # multiplied, not divided, as a single picture is
        return out

    return PlannedTransform(run, stage._replace(dtype=kind), pointwise=True)


class ToDtype(Transform):
    """Another dtype, the numbers of pictures and videos scaled to that dtype's range if `scale`.

    Args:
        dtype: for pictures and videos; or a dict from kinds of input to dtypes, with "others" for the rest and None
            for those that stay.
        scale: scale pictures and videos.

    Example:
        >>> v2.ToDtype(torch.float32, scale=True)(torch.tensor([[[0, 255]]], dtype=torch.uint8))
        tensor([[[0., 1.]]])
    """

    _transformed_types = (Tensor,)

    def __init__(self, dtype: dtype, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, (dict, Dtype)):
            raise ValueError(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead")
        if isinstance(dtype, dict) and Tensor in dtype and (Image in dtype or Video in dtype):
            warnings.warn(
                "Got `dtype` values for `torch.Tensor` and either `tv_tensors.Image` or `tv_tensors.Video`. "
                "Note that a plain `torch.Tensor` will *not* be transformed by this (or any other transformation) "
                "in case a `tv_tensors.Image` or `tv_tensors.Video` is present in the input."
            )
        self.dtype = dtype
        self.scale = scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part in its dtype."""
        pictured = F.is_pure_tensor(inpt) or isinstance(inpt, (Image, Video))
        if not isinstance(self.dtype, dict):
            dtype = self.dtype if pictured else None
        elif type(inpt) in self.dtype or "others" in self.dtype:
            dtype = self.dtype[type(inpt)] if type(inpt) in self.dtype else self.dtype["others"]
            if dtype is None and self.scale and pictured:
                warnings.warn(
                    "scale was set to True but no dtype was specified for images or videos: no scaling will be done."
                )
        else:
            raise ValueError(
                f"No dtype was specified for type {type(inpt)}. "
                "If you only need to convert the dtype of images or videos, you can just pass e.g. dtype=torch.float32. "
                "If you're passing a dict as dtype, "
                'you can use "others" as a catch-all key '
                'e.g. dtype={tv_tensors.Mask: torch.int64, "others": None} to pass-through the rest of the inputs.'
            )
        return inpt if dtype is None else self._call_kernel(F.to_dtype, inpt, dtype=dtype, scale=self.scale)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return None if isinstance(self.dtype, dict) else _in_dtype(stage, self.dtype, self.scale)


class ConvertImageDtype(Transform):
    """The former name of ToDtype(dtype, scale=True).

    Example:
        >>> v2.ConvertImageDtype()(torch.tensor([[[0, 255]]], dtype=torch.uint8))
        tensor([[[0., 1.]]])
    """

    _v1_transform_cls = _fixed.ConvertImageDtype

    def __init__(self, dtype: dtype = dtypes.float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part in that dtype."""
        return self._call_kernel(F.to_dtype, inpt, dtype=self.dtype, scale=True)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _in_dtype(stage, self.dtype, True)
