"""Pillow, imported when a picture is first touched."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeAlias

    from PIL.Image import Image as PILImage

    from ..core.tensor import Tensor

    Picture: TypeAlias = Tensor | PILImage  # what transforms take


def need(part: str = "Image") -> Any:
    """The module `PIL.<part>`; an ImportError that says what to install when there is no Pillow."""
    from importlib import import_module

    try:
        return import_module(f"PIL.{part}")
    except ImportError:
        raise ImportError(
            "this needs Pillow, which is not installed: pip install 'rushlight[vision]' "
            "(tensors and NumPy arrays work without it)."
        ) from None


# The only formats that are opened, whatever a file's name says: some of the others (EPS) start programs.
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "DIB", "TIFF", "PPM", "AVIF", "JPEG2000", "ICO", "TGA")


def open_picture(source: Any) -> Any:
    """The picture of a path or of an open file; `PIL.UnidentifiedImageError` for all but our formats."""
    image = need()
    image.init()
    return image.open(source, formats=[f for f in FORMATS if f in image.OPEN])


def available() -> bool:
    """Whether Pillow can be imported."""
    try:
        need()
    except ImportError:
        return False
    return True


def is_pil_image(x: object) -> bool:
    """Whether x is a PIL image; Pillow is not imported to find out."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(x, module.Image)
