"""Resizing images: interpolate in all its modes, axis by axis."""

from __future__ import annotations

import warnings
from math import floor
from typing import Any

from ...base import dtypes
from ...base.shapes import MOST, a_number, check_size, in_range
from ...core.public import public
from ...core.tensor import Tensor
from ..layers.pool_adaptive import averaged
from ..made_of.guards import FLOATS, unsupported
from .resample_kernels import ResamplePlan, along_axes, resample_bytes

_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_SMOOTH_DIMS = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4, "lanczos": 4}
_KINDS = {"linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic", "lanczos": "lanczos"}


def _sizes(x: Tensor, size: Any, scale_factor: Any, recompute: Any) -> tuple[list[int], list[float] | None]:
    """The output size, and the scale factors if positions are computed with them."""
    spatial = list(x._a.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return _given_size(spatial, size), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (list, tuple)):
        if len(scale_factor) != len(spatial):
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {spatial} and scale_factor of shape "
                f"{tuple(scale_factor)}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                "format and scale_factor in (s1, s2, ...,sK) format."
            )
        scales = [float(s) for s in scale_factor]
    else:
        scales = [float(scale_factor)] * len(spatial)
    out = [floor(float(n) * s) for n, s in zip(spatial, scales)]
    return out, None if recompute else scales


def _given_size(spatial: list[int], size: Any) -> list[int]:
    if not isinstance(size, (list, tuple)):
        size = (size,) * len(spatial)
    if len(size) != len(spatial):
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {spatial} and output size of {size}. Please provide input tensor "
            "in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
        )
    return list(in_range("size", tuple([a_number(n, "size") for n in size])))


def _check_mode(x: Tensor, mode: str, align_corners: Any, antialias: bool) -> None:
    ndim = x._a.ndim
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and ndim == 4 and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and ndim == 4 and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    known = mode in ("nearest", "area", "nearest-exact") or mode in _SMOOTH_DIMS
    needs = _SMOOTH_DIMS.get(mode, ndim)
    if ndim in (3, 4, 5) and known and needs != ndim and mode not in ("bicubic", "lanczos"):
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {needs}D input")
    if ndim not in (3, 4, 5) or not known or needs != ndim:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: "
            f"{_MODES} (got {mode})"
        )


def _step(n: int, m: int, scale: float | None, align: bool) -> float:
    """Input positions per output position."""
    if align:
        return (n - 1) / (m - 1) if m > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else n / m


@public("functional")
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize signals, images or volumes.

    Args:
        input: (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: the size of the result, one number or one per dimension.
        scale_factor: or how many times as large it is.
        mode: "nearest", "nearest-exact", "area", "linear" (signals), "bilinear", "bicubic" and "lanczos"
            (images) or "trilinear" (volumes).
        align_corners: True puts the outermost pixels' centres of input and result on each other;
            for the linear modes and bicubic.
        recompute_scale_factor: compute the factor again from the rounded size.
        antialias: blur while shrinking; bilinear, bicubic, and lanczos, which needs it.

    Raises:
        ValueError: if both or none of `size` and `scale_factor` are given.
        NotImplementedError: if the mode does not fit the number of dimensions.

    Example:
        >>> x = torch.tensor([[[1.0, 3.0]]])
        >>> F.interpolate(x, scale_factor=2)
        tensor([[[1., 1., 3., 3.]]])
        >>> F.interpolate(x, size=3, mode="linear", align_corners=True)
        tensor([[[1., 2., 3.]]])
        >>> F.interpolate(torch.zeros(1, 3, 64, 64), size=(32, 48), mode="bilinear").shape
        torch.Size([1, 3, 32, 48])
    """
    if size is not None and scale_factor is None and recompute_scale_factor:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    _check_mode(input, mode, align_corners, antialias)
    out, scales = _sizes(input, size, scale_factor, recompute_scale_factor)
    if scale_factor is not None and max(out, default=0) > MOST:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    spatial = input._a.shape[2:]
    if min((*out, *spatial)) > 0:
        check_size((*input._a.shape[:2], *out), input._a.itemsize)
    if min((*out, *spatial)) <= 0 and mode != "area":
        names = ("D", "H", "W")[-len(out) :]
        before = ", ".join(f"{a}: {n}" for a, n in zip(names, spatial))
        after = ", ".join(f"{a}: {n}" for a, n in zip(names, out))
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({before}) output ({after})"
        )
    if mode == "area":
        return averaged(input, tuple(out))
    by_bytes = input.dtype is dtypes.uint8 and mode not in ("linear", "trilinear")
    if input._a.dtype.kind not in FLOATS and not by_bytes:
        raise unsupported(f"compute_indices_weights_{_KINDS.get(mode, mode).replace('-', '_')}", input.dtype)
    if _KINDS.get(mode) and input.ndim == 4 and input.dtype is dtypes.uint8 and resample_bytes.is_whole(input):
        return _resized(input, out, scales, mode, bool(align_corners), antialias, in_bytes=True)
    if mode in _SMOOTH_DIMS and input._a.dtype.kind == "u":
        wide = _resized(input.to(dtypes.float32), out, scales, mode, bool(align_corners), antialias)
        return wide.round().clamp(0, 255).to(input.dtype)
    return _resized(input, out, scales, mode, bool(align_corners), antialias)


def _resized(
    x: Tensor,
    out: list[int],
    scales: list[float] | None,
    mode: str,
    align: bool,
    antialias: bool,
    in_bytes: bool = False,
) -> Tensor:
    kind = _KINDS.get(mode, mode)
    steps: list[tuple[int, ResamplePlan]] = []
    for i, m in enumerate(out):
        n = x._a.shape[2 + i]
        step = _step(n, m, None if scales is None else scales[i], align)
        # PyTorch's trilinear mode ignores the scale of an axis whose size stays the same.
        if n == m and (step == 1.0 or mode == "trilinear"):
            continue
        steps.append((2 + i, ResamplePlan("smooth-" + kind if antialias else kind, n, m, step, align)))
    if not in_bytes:
        return along_axes(x, steps)
    for axis, plan in reversed(steps):
        x = resample_bytes(x, axis=axis, plan=plan, flip=False)
    return x if steps else x.clone()


@public("functional")
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """As `nn.functional.interpolate`, under its old name; deprecated."""
    _deprecated("upsample", "interpolate")
    return interpolate(input, size, scale_factor, mode, align_corners)


@public("functional")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """As `nn.functional.interpolate` with `mode="nearest"`; deprecated."""
    _deprecated("upsample_nearest", "interpolate")
    return interpolate(input, size, scale_factor, mode="nearest")


@public("functional")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """As `nn.functional.interpolate` with `mode="bilinear", align_corners=True`; deprecated."""
    _deprecated("upsample_bilinear", "interpolate")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"`nn.functional.{old}` is deprecated. Use `nn.functional.{new}` instead.", stacklevel=3)
