"""Pictures inside a page: arrays as PNG data addresses, written with zlib alone."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...core.tensor import Tensor


def encode(pixels: np.ndarray) -> bytes:
    """A PNG file of a uint8 array, HxW grey or HxWx3."""
    high, wide = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    rows = np.ascontiguousarray(pixels, np.uint8).reshape(high, -1)
    raw = np.concatenate([np.zeros((high, 1), np.uint8), rows], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", wide, high, 8, colour, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    chunks = [struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
              for name, data in parts]  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def address(pixels: np.ndarray) -> str:
    """A data: address that an <img> shows."""
    return "data:image/png;base64," + base64.b64encode(encode(pixels)).decode("ascii")


def seen(x: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> np.ndarray:
    """A network's input (CxHxW, scaled) as the picture it stands for."""
    a = x.numpy()
    a = a * np.reshape(std, (-1, 1, 1)) + np.reshape(mean, (-1, 1, 1))
    pixels = np.clip(np.rint(a * 255), 0, 255).astype(np.uint8)
    return pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)
