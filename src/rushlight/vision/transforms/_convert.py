"""Between PIL images, NumPy arrays and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import dtypes
from ...base.dtypes import dtype as Dtype
from ...base.dtypes import get_default_dtype
from ...core.tensor import Tensor
from ...operators.create.from_data import from_numpy
from .._pillow import is_pil_image, need

if TYPE_CHECKING:
    from .._pillow import PILImage

# PIL modes whose pixels are not bytes.
_WIDE_MODES = {"I": np.int32, "I;16": np.uint16, "I;16L": np.uint16, "I;16B": np.uint16, "F": np.float32}
_LARGEST = {"uint8": 255, "int8": 127, "int16": 2**15 - 1, "uint16": 2**16 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}


def largest(d: Dtype) -> int:
    """The number that stands for full brightness in a dtype."""
    return _LARGEST.get(d.name, 1)


def pixels(pic: Any) -> np.ndarray:
    """The pixels of a PIL image as a fresh (H, W, C) array."""
    a = np.array(pic, _WIDE_MODES.get(pic.mode, np.uint8), copy=True)
    if pic.mode == "1":
        a = 255 * a
    return a.reshape(pic.size[1], pic.size[0], len(pic.getbands()))


def to_tensor(pic: PILImage | np.ndarray) -> Tensor:
    """A PIL image or an (H, W, C) array as a (C, H, W) tensor; bytes become floats of [0, 1].

    Args:
        pic: a PIL image, or an array (H, W, C).

    Raises:
        TypeError: if it is neither of them.

    Example:
        >>> TF.to_tensor(np.array([[[0], [255]]], np.uint8))
        tensor([[[0., 1.]]])
    """
    if is_pil_image(pic):
        a = pixels(pic)
    elif isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        a = pic[:, :, None] if pic.ndim == 2 else pic
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    t = from_numpy(np.array(a.transpose(2, 0, 1), order="C"))
    if a.dtype == np.uint8:
        return t.to(get_default_dtype()).div_(255)
    return t


def pil_to_tensor(pic: Any) -> Tensor:
    """A PIL image as a (C, H, W) tensor of its own numbers.

    Args:
        pic: a PIL image.

    Raises:
        TypeError: if it is something else.

    Example:
        >>> from PIL import Image
        >>> TF.pil_to_tensor(Image.new("RGB", (4, 2))).shape
        torch.Size([3, 2, 4])
    """
    if not is_pil_image(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    a = np.array(pic, copy=True)
    a = a.reshape(pic.size[1], pic.size[0], len(pic.getbands()))
    return from_numpy(a).permute(2, 0, 1)


def convert_image_dtype(image: Tensor, dtype: Dtype | None = None) -> Tensor:
    """The image in another dtype, its numbers scaled to that dtype's range.

    Args:
        image: a tensor.

    Example:
        >>> TF.convert_image_dtype(torch.tensor([0, 255], dtype=torch.uint8), torch.float32)
        tensor([0., 1.])
    """
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    d = get_default_dtype() if dtype is None else dtype
    source = image.dtype
    if source == d:
        return image
    if source.is_floating_point:
        return image.to(d) if d.is_floating_point else _float_to_integer(image, d)
    if d.is_floating_point:
        return image.to(d) / largest(source)
    return _integer_to_integer(image, d)


def _float_to_integer(image: Tensor, d: Dtype) -> Tensor:
    narrow = image.dtype == dtypes.float32 and d in (dtypes.int32, dtypes.int64)
    if narrow or (image.dtype == dtypes.float64 and d == dtypes.int64):
        raise RuntimeError(f"The cast from {image.dtype} to {d} cannot be performed safely.")
    # A little below the next whole number, so that 1.0 becomes the largest number, not one more.
    return image.mul(largest(d) + 1.0 - 1e-3).to(d)


def _integer_to_integer(image: Tensor, d: Dtype) -> Tensor:
    before, after = largest(image.dtype), largest(d)
    if before > after:
        return image.div((before + 1) // (after + 1), rounding_mode="floor").to(d)
    return image.to(d) * ((after + 1) // (before + 1))


_DEFAULT_MODES = {2: ("LA", ["LA"]), 3: ("RGB", ["RGB", "YCbCr", "HSV"]), 4: ("RGBA", ["RGBA", "CMYK", "RGBX"])}
_GREY_MODES = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}


def to_pil_image(pic: Tensor | np.ndarray, mode: str | None = None) -> Any:
    """A (C, H, W) tensor or an (H, W, C) array as a PIL image; floats are taken to be of [0, 1].

    Args:
        pic: a tensor (C, H, W), or an array (H, W, C).
        mode: Pillow's mode, such as "RGB"; found from the channels if not given.

    Example:
        >>> import PIL
        >>> TF.to_pil_image(torch.zeros(3, 2, 4)).size
        (4, 2)
    """
    a = _as_rows(pic, mode)
    if a.shape[2] > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {a.shape[2]} channels.")
    image = need()
    if a.shape[2] == 1:
        return _grey_image(image, a[:, :, 0], mode)
    if a.shape[2] not in _DEFAULT_MODES:
        raise TypeError(f"Input type {a.dtype} is not supported")
    default, permitted = _DEFAULT_MODES[a.shape[2]]
    if mode is not None and mode not in permitted:
        raise ValueError(f"Only modes {permitted} are supported for {a.shape[2]}D inputs")
    if a.dtype != np.uint8:
        raise TypeError(f"Input type {a.dtype} is not supported")
    made = image.frombytes(default, (a.shape[1], a.shape[0]), np.ascontiguousarray(a).tobytes())
    if mode is None or mode == default:
        return made
    return image.frombytes(mode, made.size, made.tobytes())


def _grey_image(image: Any, a: np.ndarray, mode: str | None) -> Any:
    expected = _GREY_MODES.get(a.dtype.name)
    if expected is None:
        raise TypeError(f"Input type {a.dtype} is not supported")
    if mode is not None and mode != expected:
        raise ValueError(f"Incorrect mode ({mode}) supplied for input type {a.dtype}. Should be {expected}")
    raw = a.astype(a.dtype.newbyteorder("<"))
    return image.frombytes(expected, (a.shape[1], a.shape[0]), np.ascontiguousarray(raw).tobytes())


def _as_rows(pic: Tensor | np.ndarray, mode: str | None) -> np.ndarray:
    """A tensor's or an array's pixels as (H, W, C)."""
    if isinstance(pic, Tensor):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        t = pic.detach()
        if t.dtype.is_floating_point and mode != "F":
            t = t.mul(255).to(dtypes.uint8)
        a = t.cpu().numpy()
        return a[:, :, None] if a.ndim == 2 else a.transpose(1, 2, 0)
    if not isinstance(pic, np.ndarray):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    return pic[:, :, None] if pic.ndim == 2 else pic
