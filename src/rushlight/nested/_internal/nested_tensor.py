"""NestedTensor: parts of different lengths, packed one behind another, with the offsets where each begins."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from itertools import pairwise
from typing import Any

from ...base.formats import jagged
from ...base.shapes import Size, wrap_dim
from ...core.tensor import Tensor
from .nested_int import RaggedSize, moved, ragged_size
from .standing import Standing


class NestedTensor(Standing):
    """Tensors that differ in one dimension, as one of shape (batch, ..., j1, ...): `layout=torch.jagged`.

    Made by `torch.nested.nested_tensor` and `nested_tensor_from_jagged`. Pointwise functions, sums, softmax,
    linear layers, norms and attention compute with it as with a padded tensor whose padding is not there.

    Args:
        values: all parts along the ragged dimension, one behind another.
        offsets: (batch + 1), where each part begins and the last one ends.
        lengths: (batch), where parts are shorter than the distance of their offsets.
        _ragged_idx: the place of the ragged dimension in the shape.

    Example:
        >>> nt = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
        >>> nt.dim(), nt.values().shape, nt.offsets()
        (3, torch.Size([3, 3]), tensor([0, 2, 3]))
        >>> nt.sum(1)
        tensor([[2., 2., 2.],
                [1., 1., 1.]])
    """

    _offsets: Tensor
    _lengths: Tensor | None
    _ragged_idx: int
    layout = jagged

    def __new__(
        cls, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, _ragged_idx: int = 1, **unused: Any
    ) -> Any:
        return cls._over(values, _offsets=offsets, _lengths=lengths, _ragged_idx=_ragged_idx)

    def _like(self, values: Tensor, ragged_idx: int | None = None) -> NestedTensor:
        """Other numbers of the same lengths."""
        offsets, lengths = self._offsets, self._lengths
        if offsets.device != values.device:
            offsets = moved(offsets, values)
            lengths = None if lengths is None else moved(lengths, values)
        at = self._ragged_idx if ragged_idx is None else ragged_idx
        return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=at)

    # -- shape ----------------------------------------------------------------------------------

    @property
    def _ragged(self) -> RaggedSize:
        return ragged_size(self._offsets if self._lengths is None else self._lengths)

    @property
    def shape(self) -> Size:
        sizes: list[Any] = [len(self), *self._values.shape]
        sizes[self._ragged_idx] = self._ragged
        return Size(sizes)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[wrap_dim(dim, self.dim())]

    def dim(self) -> int:
        return self._values.dim() + 1

    ndimension = dim

    @property
    def ndim(self) -> int:
        return self.dim()

    def __len__(self) -> int:
        return self._offsets.shape[0] - 1

    def stride(self, dim: int | None = None) -> Any:
        inner = self._values.stride()
        steps = (self._ragged * inner[self._ragged_idx - 1], *inner)
        return steps if dim is None else steps[dim]

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        whole = self._ragged_idx == 1 and self._lengths is None
        return whole and self._values.is_contiguous(*args, **kwargs)

    def data_ptr(self) -> int:
        return 0

    # -- what it is made of ---------------------------------------------------------------------

    def values(self) -> Tensor:
        """All parts, one behind another along the ragged dimension."""
        return self._values

    def offsets(self) -> Tensor:
        """Where each part begins in the values; the last number is where the last one ends."""
        return self._offsets

    def lengths(self) -> Tensor | None:
        """The lengths of the parts, where they are not the distances of the offsets; else None."""
        return self._lengths

    @property
    def _spans(self) -> list[tuple[int, int]]:
        """Where each part begins, and how long it is."""
        starts: list[int] = self._offsets.tolist()
        if self._lengths is not None:
            return list(zip(starts, self._lengths.tolist()))
        return [(a, b - a) for a, b in pairwise(starts)]

    def _parts(self) -> tuple[Tensor, ...]:
        """The parts as plain tensors, views of the values."""
        at = self._ragged_idx - 1
        return tuple([self._values.narrow(at, start, n) for start, n in self._spans])

    @property
    def _max_seqlen(self) -> int:
        return max(n for _, n in self._spans)

    @property
    def _min_seqlen(self) -> int:
        return min(n for _, n in self._spans)

    # -- what Python asks -----------------------------------------------------------------------

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        sizes = ", ".join(map(str, self.shape))
        said = f"size=({sizes}), offsets={self._offsets}"
        if self.grad_fn is not None:
            said += f", grad_fn={self.grad_fn}"
        elif self.requires_grad:
            said += ", requires_grad=True"
        return f"NestedTensor({said}, contiguous={self.is_contiguous()})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __copy__(self) -> NestedTensor:
        return self._like(copy(self._values))

    def __deepcopy__(self, memo: dict) -> NestedTensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
                "at the moment."
            )
        copied = deepcopy(self._values, memo)
        return memo.setdefault(id(self), self._like(copied))

    def __reduce_ex__(self, protocol: Any) -> Any:
        fields = {
            "values": self._values.detach(),
            "offsets": self._offsets.detach(),
            "lengths": self._lengths,
            "_ragged_idx": self._ragged_idx,
            "requires_grad": self.requires_grad,
        }
        return _rebuild_njt, (fields,)


def _rebuild_njt(fields: dict[str, Any]) -> NestedTensor:
    """What a file says of a nested tensor, as PyTorch writes it."""
    used = {k: fields[k] for k in ("values", "offsets", "lengths", "_ragged_idx") if k in fields}
    return NestedTensor(**used).requires_grad_(fields.get("requires_grad", False))


def jagged_from_list(parts: Sequence[Tensor], offsets: Tensor | None = None) -> NestedTensor:
    """The nested tensor of some parts that differ in one dimension."""
    from ...operators.create.from_data import tensor
    from ...operators.shape.join import cat

    at = ragged_dim(parts)
    if offsets is None:
        ends = [0]
        for part in parts:
            ends.append(ends[-1] + part.shape[at])
        offsets = tensor(ends, device=parts[0].device)
    return NestedTensor(cat(list(parts), at), offsets, _ragged_idx=at + 1)


def ragged_dim(parts: Sequence[Tensor]) -> int:
    """The one dimension in which parts differ; the first where all are alike."""
    shapes = [tuple(part.shape) for part in parts]
    dims = {len(shape) for shape in shapes}
    differ = [d for d in range(min(dims)) if len({shape[d] for shape in shapes}) > 1]
    if len(dims) > 1 or len(differ) > 1 or not shapes[0]:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the "
            "jagged layout only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., "
            "D_N), with ragged * dim."
        )
    return differ[0] if differ else 0
