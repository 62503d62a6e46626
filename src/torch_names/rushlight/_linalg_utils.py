"""Products with matrices that may be missing, for `lobpcg`."""

from __future__ import annotations

from typing import Any

from .core.tensor import Tensor


def matmul(A: Any, B: Tensor) -> Tensor:
    """`A @ B`; None is the identity.

    Example:
        >>> from rushlight._linalg_utils import matmul
        >>> matmul(None, torch.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    return B if A is None else A @ B


def qform(A: Any, S: Tensor) -> Tensor:
    """`S.mH @ A @ S`.

    Example:
        >>> from rushlight._linalg_utils import qform
        >>> qform(None, torch.ones(2, 1))
        tensor([[2.]])
    """
    return S.mH @ matmul(A, S)
