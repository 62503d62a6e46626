"""Products of groups of matrices that lie one after the other in one: the experts of a mixture."""

from __future__ import annotations

from typing import Any

from ...core.public import public
from ...core.tensor import Tensor
from ..shape.join import cat, stack


def _product(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None) -> Tensor:
    flat_a, flat_b = mat_a.dim() == 2, mat_b.dim() == 2
    if not flat_a and not flat_b:
        if offs is not None:
            raise RuntimeError("Have to provide offsets if there is a 2d matrix, and only then")
        return mat_a @ mat_b
    if offs is None:
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, and only then")
    ends = offs.tolist()
    parts = [slice(start, end) for start, end in zip([0, *ends], ends)]
    if flat_a and flat_b:  # groups of what is summed over
        return stack([mat_a[:, p] @ mat_b[p] for p in parts])
    if flat_a:
        made = cat([mat_a[p] @ b for p, b in zip(parts, mat_b)])
        left = mat_a.shape[0] - made.shape[0]
        return cat([made, made.new_zeros(left, made.shape[1])]) if left else made
    made = cat([a @ mat_b[:, p] for p, a in zip(parts, mat_a)], 1)
    left = mat_b.shape[1] - made.shape[1]
    return cat([made, made.new_zeros(made.shape[0], left)], 1) if left else made


@public("functional")
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """Products of several pairs of matrices; a side of two dimensions holds its matrices one after the other.

    Args:
        mat_a: the left matrices, or all their rows (or, beside a flat `mat_b`, columns) in one.
        mat_b: the right matrices, or all their columns (or rows) in one.
        offs: where each group ends in the flat side; rows behind the last end are zero.
        bias: refused, as by PyTorch.
        out_dtype: the dtype of the result.

    Example:
        >>> a, b = torch.ones(3, 2), torch.stack([torch.eye(2), 2 * torch.eye(2)])
        >>> F.grouped_mm(a, b, offs=torch.tensor([1, 3], dtype=torch.int32))
        tensor([[1., 1.],
                [2., 2.],
                [2., 2.]])
    """
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    made = _product(mat_a, mat_b, offs)
    return made if out_dtype is None else made.to(out_dtype)


@public("torch")
def _grouped_mm(
    self: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    return grouped_mm(self, mat2, offs=offs, bias=bias, out_dtype=out_dtype)
