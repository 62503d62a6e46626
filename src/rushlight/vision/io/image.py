"""Picture files to tensors and back, by way of Pillow."""

from __future__ import annotations

import io
import os
import struct
import zlib
from enum import Enum
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...io.atomic import atomic_write
from ...io.errors import CorruptFileError
from ...operators.create.from_data import from_numpy
from .._pillow import need, open_picture

__all__ = [
    "ImageReadMode", "decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png",
    "read_file", "read_image", "write_file", "write_jpeg", "write_png",
]  # fmt: skip


class ImageReadMode(Enum):
    """Which channels a picture is read with.

    Example:
        >>> io.ImageReadMode.RGB.name
        'RGB'
    """

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_PIL_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}
# What Pillow's decoders raise over damaged files.
_BROKEN = (
    OSError, ValueError, SyntaxError, EOFError, OverflowError, MemoryError, LookupError, TypeError,
    ArithmeticError, AttributeError, NotImplementedError, struct.error, zlib.error,
)  # fmt: skip
_AS_THEY_ARE = ("L", "LA", "RGB", "RGBA")


def read_file(path: str) -> Tensor:
    """The bytes of a file as a uint8 tensor.

    Args:
        path: the file.

    Raises:
        RuntimeError: if it cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     io.write_file(folder + "/a", torch.tensor([104, 105], dtype=torch.uint8))
        ...     io.read_file(folder + "/a")
        tensor([104, 105], dtype=torch.uint8)
    """
    try:
        with open(path, "rb") as f:
            return from_numpy(np.frombuffer(bytearray(f.read()), np.uint8))
    except OSError as error:
        raise RuntimeError(f"[Errno {error.errno}] {error.strerror}: '{path}'") from None


def write_file(filename: str, data: Tensor) -> None:
    """Write a uint8 tensor of one dim as the bytes of a file.

    Args:
        filename: the file; it is whole or not there.
        data: uint8, of one dimension.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     io.write_file(folder + "/a", torch.tensor([104, 105], dtype=torch.uint8))
        ...     pathlib.Path(folder, "a").read_text()
        'hi'
    """
    with atomic_write(filename) as f:
        f.write(data.cpu().numpy().tobytes())


def _mode(mode: Any) -> ImageReadMode:
    if isinstance(mode, str):
        return ImageReadMode[mode.upper()]
    return ImageReadMode(mode) if isinstance(mode, int) else mode


def _decode(raw: bytes, mode: Any, turn: bool) -> Tensor:
    image = need()
    wanted = _mode(mode)
    try:
        with open_picture(io.BytesIO(raw)) as picture:
            if turn:
                picture = need("ImageOps").exif_transpose(picture)
            if wanted is not ImageReadMode.UNCHANGED:
                picture = picture.convert(_PIL_MODES[wanted])
            elif picture.mode not in _AS_THEY_ARE:
                alpha = "transparency" in picture.info
                picture = picture.convert("RGBA" if alpha else "L" if picture.mode == "1" else "RGB")
            a = np.array(picture)
    except (*_BROKEN, image.DecompressionBombError) as error:
        raise CorruptFileError(f"the bytes are no picture that can be decoded: {error}") from None
    a = a[:, :, None] if a.ndim == 2 else a
    return from_numpy(np.ascontiguousarray(a.transpose(2, 0, 1)))


def _bytes(input: Any) -> bytes:
    if not isinstance(input, Tensor) or input.ndim != 1 or input.dtype.name != "uint8":
        raise RuntimeError("Expected a non empty 1-dimensional tensor of dtype uint8.")
    if input.numel() == 0:
        raise RuntimeError("Expected a non empty 1-dimensional tensor.")
    return input.cpu().numpy().tobytes()


def decode_image(
    input: Tensor | str, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """The picture in the bytes of a file, or in the file of that path, as uint8 (C, H, W).

    Args:
        input: the bytes as uint8, or a path.
        mode: an `ImageReadMode`.
        apply_exif_orientation: turn the picture as its file says.

    Raises:
        CorruptFileError: if the file is damaged.

    Example:
        >>> import PIL  # needs Pillow
        >>> io.decode_image(io.encode_png(torch.zeros(3, 2, 4, dtype=torch.uint8))).shape
        torch.Size([3, 2, 4])
    """
    if isinstance(input, (str, os.PathLike)):
        input = read_file(os.fspath(input))
    return _decode(_bytes(input), mode, apply_exif_orientation)


def decode_png(input: Tensor, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Tensor:
    """As `decode_image`, of the bytes of a PNG file."""
    return _decode(_bytes(input), mode, apply_exif_orientation)


def decode_jpeg(
    input: Tensor, mode: Any = ImageReadMode.UNCHANGED, device: Any = "cpu", apply_exif_orientation: bool = False
) -> Tensor:
    """As `decode_image`, of the bytes of a JPEG file."""
    return _decode(_bytes(input), mode, apply_exif_orientation).to(device)


def read_image(path: str, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Tensor:
    """The picture of a file as uint8 (C, H, W).

    Args:
        path: the file.
        mode: an `ImageReadMode`.
        apply_exif_orientation: turn the picture as its file says.

    Raises:
        CorruptFileError: if the file is damaged.

    Example:
        >>> import PIL, tempfile  # needs Pillow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     io.write_png(torch.zeros(3, 2, 4, dtype=torch.uint8), folder + "/a.png")
        ...     io.read_image(folder + "/a.png").shape
        torch.Size([3, 2, 4])
    """
    raw = read_file(os.fspath(path))
    return _decode(_bytes(raw), mode, apply_exif_orientation)


def _encode(input: Tensor, kind: str, **options: Any) -> bytes:
    if input.dtype.name != "uint8":
        raise RuntimeError(f"Input tensor dtype should be uint8, but got {input.dtype}")
    if input.ndim != 3 or input.shape[0] not in (1, 3):
        raise RuntimeError(f"Input data should be a 3-dimensional tensor of 1 or 3 channels, got {tuple(input.shape)}")
    a = input.cpu().numpy().transpose(1, 2, 0)
    memory = io.BytesIO()
    rows = np.ascontiguousarray(a[:, :, 0] if a.shape[2] == 1 else a)
    need().fromarray(rows).save(memory, format=kind, **options)
    return memory.getvalue()


def _tensor_of(raw: bytes) -> Tensor:
    return from_numpy(np.frombuffer(bytearray(raw), np.uint8))


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """The bytes of a PNG file of a uint8 (C, H, W) picture.

    Args:
        input: uint8, (C, H, W).
        compression_level: 0 to 9.

    Example:
        >>> import PIL  # needs Pillow
        >>> bytes(io.encode_png(torch.zeros(3, 2, 4, dtype=torch.uint8))[1:4])
        b'PNG'
    """
    return _tensor_of(_encode(input, "PNG", compress_level=compression_level))


def encode_jpeg(input: Tensor, quality: int = 75) -> Tensor:
    """As `encode_png`, of a JPEG file; `quality` is one of 1 to 100."""
    if not 1 <= quality <= 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    return _tensor_of(_encode(input, "JPEG", quality=quality))


def write_png(input: Tensor, filename: str, compression_level: int = 6) -> None:
    """Save a uint8 (C, H, W) picture as a PNG file.

    Args:
        input: uint8, (C, H, W).
        filename: the file; it is whole or not there.
        compression_level: 0 to 9.

    Example:
        >>> import PIL, tempfile  # needs Pillow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     io.write_png(torch.zeros(3, 2, 4, dtype=torch.uint8), folder + "/a.png")
        ...     io.read_image(folder + "/a.png").shape
        torch.Size([3, 2, 4])
    """
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: Tensor, filename: str, quality: int = 75) -> None:
    """As `write_png`, as a JPEG file; `quality` is one of 1 to 100."""
    write_file(filename, encode_jpeg(input, quality))
