"""Reading one image file, whatever it holds, the same way for training, testing, predicting and serving."""

from __future__ import annotations

import contextlib
import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import UsageError

if TYPE_CHECKING:
    from ...vision._pillow import PILImage

# How files of pictures end; other files in a folder are reported and ignored.
ENDINGS = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm",
    ".pbm", ".pnm", ".avif", ".jp2", ".ico", ".tga",
)  # fmt: skip
# Photographs that Pillow does not read.
_UNREAD = (".heic", ".heif", ".dng", ".cr2", ".cr3", ".nef", ".arw")
# A picture is kept at so many times the pixels the network looks at, so that crops have something to cut.
KEPT = 1.5
# Of a panorama the middle is kept: at most so many times as long as wide.
LONGEST = 3.0
# Pillow raises all of these over damaged files.
BROKEN = (
    OSError, ValueError, SyntaxError, EOFError, OverflowError, MemoryError, LookupError, TypeError,
    ArithmeticError, AttributeError, struct.error, zlib.error,
)  # fmt: skip


class TooLarge(UsageError):
    """A picture with more pixels than anybody photographs: a decompression bomb, or a map."""


@contextlib.contextmanager
def pillow_rules() -> Iterator[None]:
    """Pillow's warnings as we want them: decompression bombs are errors, odd tags are nothing.

    Filters of warnings belong to the whole process: code that opens pictures in several threads must hold this around all of them.
    """
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tags that Pillow skips
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield


def need_pillow() -> None:
    """UsageError where there is no Pillow."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise UsageError("image files need Pillow: pip install 'rushlight[cli]'") from None


def open_picture(path: Any, mode: str = "RGB") -> Any:
    """The PIL image of a file, upright and in `mode`; UsageError when it is none."""
    need_pillow()
    with pillow_rules():  # before the file is opened: its header already can claim any size
        return read_picture(path, mode)


def read_picture(path: Any, mode: str = "RGB", name: str | None = None) -> Any:
    """`open_picture` inside `pillow_rules`; `path` may be an open file, which `name` then tells of."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    from ...vision._pillow import open_picture as open_from

    name = name or str(path)
    try:
        with open_from(path) as opened:
            opened.load()
            return _as_mode(ImageOps.exif_transpose(opened), mode)
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{name} is a folder, not an image") from None
    except UnidentifiedImageError:
        raise UsageError(f"{name} is not an image that Pillow can read{to_save(name)}") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise TooLarge(f"{name} is too large an image{_pixels(error)}") from None
    except BROKEN as error:
        raise UsageError(f"{name} cannot be read: {error}") from None


def to_save(name: str) -> str:
    """What to do with a photograph that Pillow does not read, behind what is said of it."""
    ending = next((e for e in _UNREAD if name.lower().endswith(e)), None)
    return f": save {ending} files as JPEG or PNG first" if ending else ""


def picture_size(path: str) -> tuple[int, int]:
    """How wide and high a picture stands upright, by its head alone; 0, 0 where that cannot be read."""
    from ...vision._pillow import open_picture as open_from

    try:
        with open_from(path) as opened:
            wide, high = opened.size
            return (high, wide) if opened.getexif().get(0x0112, 1) >= 5 else (wide, high)
    except BROKEN:  # the scan opens it again and says what is wrong
        return 0, 0


def _pixels(error: Exception) -> str:
    """How many pixels Pillow found too many, and how many it takes."""
    from PIL import Image

    found, most = re.search(r"\((\d+) pixels\)", str(error)), Image.MAX_IMAGE_PIXELS
    if found is None or not most:
        return ""
    return f": {int(found[1]) / 1e6:,.0f} million pixels, where {most / 1e6:,.0f} million are the most"


def _as_mode(picture: PILImage, mode: str) -> Any:
    """`convert`, but greys of 16 and 32 bits keep their upper bits, and transparent pixels become black."""
    from PIL import Image

    if picture.mode.startswith(("I", "F")):
        picture = Image.fromarray(_eight_bits(picture))
    if picture.has_transparency_data:
        seen = picture.convert("RGBA")
        ground = Image.new("RGBA", seen.size, (0, 0, 0, 255))
        picture = Image.alpha_composite(ground, seen)
    return picture.convert(mode)


def _eight_bits(picture: PILImage) -> Any:
    """Grey of 16 bits, of 32 bits or of floating point as bytes."""
    import numpy as np

    a = np.asarray(picture)
    if picture.mode.startswith("I;16") or (a.dtype.kind in "iu" and a.max(initial=0) > 255):
        return (np.clip(a, 0, 65535).astype(np.uint16) >> 8).astype(np.uint8)
    if a.dtype.kind == "f" and a.max(initial=0) <= 1:
        a = a * 255
    return np.clip(np.nan_to_num(a), 0, 255).astype(np.uint8)


def kept_side(size: int) -> int:
    """The shorter side of a picture that is kept for a network that looks at `size` pixels."""
    return round(size * KEPT)


def middle(wide: int, high: int) -> tuple[int, int, int, int]:
    """What is kept of a panorama: the ends are cut off."""
    longest = int(min(wide, high) * LONGEST)
    left, top = max(0, wide - longest) // 2, max(0, high - longest) // 2
    return left, top, wide - left, high - top


def shrink(picture: PILImage, side: int, how: Any = None) -> Any:
    """A picture with its shorter side at most `side` and the ends of a panorama cut off.

    Everything that reaches a network comes through here, cached or not: the pixels are the same.
    """
    from PIL import Image

    if middle(*picture.size) != (0, 0, *picture.size):
        picture = picture.crop(middle(*picture.size))
    wide, high = picture.size
    short = min(wide, high)
    if short > side:
        size = (max(1, round(wide * side / short)), max(1, round(high * side / short)))
        gap = 3.0 if how is None else None
        picture = picture.resize(size, Image.Resampling.BILINEAR if how is None else how, reducing_gap=gap)
    return picture


def read_mask(path: str) -> Any:
    """The number of every pixel (height x width, bytes); UsageError where a file has no such numbers."""
    import numpy as np

    from ...vision._pillow import open_picture as open_from

    need_pillow()
    try:
        with pillow_rules(), open_from(path) as opened:
            a = np.asarray(opened.convert("RGB") if opened.mode in ("RGBA", "CMYK", "YCbCr") else opened)
    except BROKEN as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if a.ndim == 3:
        if (a != a[:, :, :1]).any():
            raise UsageError(f"{path} is a colour picture, where a number for every pixel is expected")
        a = a[:, :, 0]
    if a.dtype.kind not in "bui" or a.min(initial=0) < 0 or a.max(initial=0) > 255:
        raise UsageError(f"{path} has pixels that are no numbers from 0 to 255")
    return a.astype(np.uint8)
