"""Rows for interpolation and sampling on grids."""

import platform

import numpy as np

from optable import Row, T


def _bytes(got: np.ndarray, want: np.ndarray) -> None:
    """Equal where it was tried; PyTorch has vectors of its own for bytes on x86, which may round by one."""
    apart = 0 if platform.machine() == "aarch64" else 1
    assert np.abs(got.astype(int) - want.astype(int)).max() <= apart


ROWS = [
    Row("F.interpolate", T(1, 2, 4), scale_factor=2),
    Row("F.interpolate", T(1, 2, 5, 4), size=(3, 7), mode="nearest-exact"),
    Row("F.interpolate", T(1, 2, 5), size=8, mode="linear"),
    Row("F.interpolate", T(1, 2, 3, 4), scale_factor=2, mode="bilinear", align_corners=True),
    Row("F.interpolate", T(1, 2, 5, 4), size=(5, 4), mode="bilinear"),
    Row("F.interpolate", T(1, 2, 5, 4), size=(3, 2), mode="area"),
    *[Row("F.interpolate", T(2, 2, 7, 9, dtype="uint8", low=0, high=255), size=(4, 13), mode=mode,
          antialias=smooth, _id=f"bytes {mode} {smooth}", _compare=_bytes)
      for mode in ("bilinear", "bicubic") for smooth in (False, True)],
    Row("F.interpolate", T(2, 2, 7, 9, dtype="uint8", low=0, high=255), size=(4, 13), mode="lanczos",
        antialias=True, align_corners=False, _id="bytes lanczos", _compare=_bytes, _since="2.13"),
    Row("F.interpolate", T(1, 2, 7, 9, dtype="uint8", low=0, high=255), scale_factor=(0.7, 1.6), mode="bilinear",
        _id="bytes by a factor", _compare=_bytes),
    Row("F.interpolate", T(1, 2, 7, 9, dtype="uint8", low=0, high=255), size=(5, 4), mode="bicubic",
        align_corners=True, _id="bytes from corner to corner", _compare=_bytes),
    Row("F.grid_sample", T(1, 2, 4, 4), T(1, 2, 2, 2, low=-1.3, high=1.3), align_corners=True),
    Row("F.grid_sample", T(2, 1, 4, 3), T(2, 2, 2, 2, low=-1.5, high=1.5), padding_mode="border",
        align_corners=False),
    Row("F.grid_sample", T(1, 1, 4, 3), T(1, 3, 3, 2, low=-3.5, high=3.5),
        padding_mode="reflection", align_corners=False),
    Row("F.grid_sample", T(1, 1, 4, 3), T(1, 3, 3, 2, low=-3.5, high=3.5),
        padding_mode="reflection", align_corners=True),
    Row("F.grid_sample", T(1, 2, 4, 4), T(1, 3, 3, 2, low=-1.3, high=1.3, grad=False),
        mode="nearest", align_corners=False),
    Row("F.grid_sample", T(1, 1, 4, 4), T(1, 2, 2, 2, low=-1.3, high=1.3), mode="bicubic",
        align_corners=False),
    Row("F.grid_sample", T(1, 1, 4, 4), T(1, 2, 2, 2, low=-1.9, high=1.9), mode="bicubic",
        padding_mode="reflection", align_corners=True),
    Row("F.grid_sample", T(1, 1, 3, 3, 3), T(1, 1, 2, 2, 3, low=-1.2, high=1.2),
        align_corners=False),
    Row("F.affine_grid", T(2, 2, 3), (2, 1, 3, 4), align_corners=False),
    Row("F.affine_grid", T(1, 3, 4), (1, 1, 2, 2, 3), align_corners=False),
]  # fmt: skip
