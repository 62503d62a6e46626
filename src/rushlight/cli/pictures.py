"""Reading one image file, whatever it holds."""

from __future__ import annotations

import struct
import warnings
import zlib
from typing import Any

from .errors import UsageError


def open_picture(path: str, mode: str = "RGB") -> Any:
    """The PIL image of a file, upright and in `mode`; UsageError when it is none."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise UsageError("image files need Pillow: pip install 'rushlight[vision]'") from None
    try:
        with warnings.catch_warnings(), Image.open(path) as opened:
            warnings.simplefilter("ignore")  # of tags that Pillow skips
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            opened.load()
            picture = ImageOps.exif_transpose(opened)
            return _as_mode(picture, mode)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not an image") from None
    except UnidentifiedImageError:
        raise UsageError(f"{path} is not an image that Pillow can read") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise UsageError(f"{path} is too large an image") from None
    except (OSError, ValueError, SyntaxError, EOFError, OverflowError, MemoryError, LookupError,
            TypeError, ArithmeticError, AttributeError, struct.error, zlib.error) as error:  # fmt: skip
        raise UsageError(f"{path} cannot be read: {error}") from None


def _as_mode(picture: Any, mode: str) -> Any:
    """`convert`, but 16-bit grey keeps its upper bits and what is transparent becomes black."""
    from PIL import Image

    if picture.mode.startswith("I;16"):
        import numpy as np

        picture = Image.fromarray((np.asarray(picture).astype(np.uint16) >> 8).astype(np.uint8))
    if picture.has_transparency_data:
        seen = picture.convert("RGBA")
        ground = Image.new("RGBA", seen.size, (0, 0, 0, 255))
        picture = Image.alpha_composite(ground, seen)
    return picture.convert(mode)
