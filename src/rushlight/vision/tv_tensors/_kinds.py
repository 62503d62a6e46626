"""Pictures, videos and masks."""

from __future__ import annotations

from typing import Any

from .._pillow import is_pil_image
from ..transforms._convert import pil_to_tensor
from ._base import TVTensor


class Image(TVTensor):
    """A picture, or several: (..., C, H, W).

    Args:
        data: what `torch.as_tensor` takes, or a PIL image; (H, W) becomes (1, H, W).
        dtype, device, requires_grad: those of `data` if not given.

    Raises:
        ValueError: if it has fewer than two dimensions.

    Example:
        >>> tv_tensors.Image([[0.0, 1.0]])
        Image([[[0., 1.]]], )
    """

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        given = pil_to_tensor(data) if is_pil_image(data) else data
        tensor = cls._to_tensor(given, dtype, device, requires_grad)
        if tensor.ndim < 2:
            raise ValueError(f"Tensor must be 2D or higher, got {tensor.ndim}D tensor.")
        return (tensor.unsqueeze(0) if tensor.ndim == 2 else tensor).as_subclass(cls)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return self._make_repr()


class Video(TVTensor):
    """A film, or several: (..., T, C, H, W).

    Args:
        data: what `torch.as_tensor` takes.
        dtype, device, requires_grad: those of `data` if not given.

    Raises:
        ValueError: if it has fewer than four dimensions.

    Example:
        >>> tv_tensors.Video(torch.zeros(5, 3, 2, 4)).shape
        torch.Size([5, 3, 2, 4])
    """

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if tensor.ndim < 4:
            raise ValueError
        return tensor.as_subclass(cls)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return self._make_repr()


class Mask(TVTensor):
    """Masks of things, or the class of every pixel: (..., H, W).

    Args:
        data: what `torch.as_tensor` takes, or a PIL image.
        dtype, device, requires_grad: those of `data` if not given.

    Example:
        >>> tv_tensors.Mask([[True, False]])
        Mask([[ True, False]])
    """

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        given = pil_to_tensor(data) if is_pil_image(data) else data
        return cls._to_tensor(given, dtype, device, requires_grad).as_subclass(cls)
