"""Boxes and points of a picture; both know its size."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from ...core.tensor import Tensor
from ._base import TVTensor


class BoundingBoxFormat(Enum):
    """What the numbers of a box are; angles are in degrees, counter-clockwise.

    XYXY: two corners. XYWH: the top left corner, width and height. CXCYWH: the centre, width and height.
    XYWHR, CXCYWHR: the same with an angle. XYXYXYXY: four corners, clockwise from the top left one.

    Example:
        >>> tv_tensors.BoundingBoxFormat["XYWH"].value
        'XYWH'
    """

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


_TURNED = ("XYWHR", "CXCYWHR", "XYXYXYXY")


def is_rotated_bounding_format(format: BoundingBoxFormat | str) -> bool:
    """Whether boxes of a format may be turned.

    Args:
        format: a `BoundingBoxFormat`, or its name.

    Raises:
        ValueError: if it is neither.

    Example:
        >>> tv_tensors.is_rotated_bounding_format("XYWHR")
        True
    """
    if not isinstance(format, (BoundingBoxFormat, str)):
        raise ValueError(f"format should be str or BoundingBoxFormat, got {type(format)}")
    return (format if isinstance(format, str) else format.value) in _TURNED


class BoundingBoxes(TVTensor):
    """Boxes of one picture: (N, 4), or (N, 5) or (N, 8) for those that may be turned.

    Args:
        data: what `torch.as_tensor` takes; one box may be (4,).
        format: a `BoundingBoxFormat`, or its name.
        canvas_size: (height, width) of the picture.
        clamping_mode: how transforms cut boxes that reach out of the picture: "soft", "hard", or None for not at
            all. It matters for turned boxes only.
        dtype, device, requires_grad: those of `data` if not given.

    Raises:
        ValueError: if the shape or the mode is wrong, or turned boxes are whole numbers.

    Example:
        >>> boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYWH", canvas_size=(8, 8))
        >>> boxes.format.name, boxes.canvas_size
        ('XYWH', (8, 8))
    """

    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None
    _fields = ("format", "canvas_size", "clamping_mode")

    def __new__(
        cls,
        data: Any,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if not tensor.is_floating_point() and is_rotated_bounding_format(format):
            raise ValueError(f"Rotated bounding boxes should be floating point tensors, got {tensor.dtype}.")
        fields = {"format": format, "canvas_size": canvas_size, "clamping_mode": clamping_mode}
        return cls._checked(tensor, fields)

    @classmethod
    def _checked(cls, tensor: Tensor, fields: Mapping[str, Any]) -> Any:
        """Boxes of a tensor that came from outside."""
        if tensor.ndim not in (1, 2):
            raise ValueError(f"Expected a 1D or 2D tensor, got {tensor.ndim}D")
        mode, kind = fields["clamping_mode"], fields["format"]
        if mode is not None and mode not in ("hard", "soft"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {mode}.")
        kind = BoundingBoxFormat[kind.upper()] if isinstance(kind, str) else kind
        rows = tensor.unsqueeze(0) if tensor.ndim == 1 else tensor
        return cls._made(rows, {**fields, "format": kind})

    @classmethod
    def wrap(cls, tensor: Tensor, like: TVTensor, **kwargs: Any) -> Any:
        """As `TVTensor.wrap`, with the shape checked."""
        return cls._checked(tensor, {n: kwargs.get(n, getattr(like, n)) for n in cls._fields})

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return self._make_repr(**{n: getattr(self, n) for n in self._fields})


class KeyPoints(TVTensor):
    """Points (x, y) of one picture: (..., 2).

    Args:
        data: what `torch.as_tensor` takes; one point may be (2,).
        canvas_size: (height, width) of the picture.
        dtype, device, requires_grad: those of `data` if not given.

    Raises:
        ValueError: if the last dimension is not of size 2.

    Example:
        >>> tv_tensors.KeyPoints([1, 2], canvas_size=(8, 8))
        KeyPoints([[1, 2]], canvas_size=(8, 8))
    """

    canvas_size: tuple[int, int]
    _fields = ("canvas_size",)

    def __new__(
        cls,
        data: Any,
        *,
        canvas_size: tuple[int, int],
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        return cls._checked(tensor, {"canvas_size": canvas_size})

    @classmethod
    def _checked(cls, tensor: Tensor, fields: Mapping[str, Any]) -> Any:
        """Points of a tensor that came from outside."""
        if tensor.ndim == 1:
            tensor = tensor.unsqueeze(0)
        elif tensor.shape[-1] != 2:
            raise ValueError(f"Expected a tensor of shape (..., 2), not {tensor.shape}")
        return cls._made(tensor, fields)

    @classmethod
    def wrap(cls, tensor: Tensor, like: TVTensor, **kwargs: Any) -> Any:
        """As `TVTensor.wrap`, with the shape checked."""
        return cls._checked(tensor, {n: kwargs.get(n, getattr(like, n)) for n in cls._fields})

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return self._make_repr(canvas_size=self.canvas_size)
