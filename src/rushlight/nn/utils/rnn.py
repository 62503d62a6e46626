"""Sequences of different lengths: padded to one tensor, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base import dtypes
from ...core.tensor import Tensor
from ...operators.create.from_data import as_tensor, from_numpy
from ...operators.shape.join import cat

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence_(NamedTuple):  # noqa: N801 - PyTorch's name
    """The fields of a packed sequence, as a named tuple; `PackedSequence` is made of it.

    Example:
        >>> nn.utils.rnn.PackedSequence_._fields
        ('data', 'batch_sizes', 'sorted_indices', 'unsorted_indices')
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """A batch of sequences of different lengths without padding, which recurrent layers take.

    `pack_padded_sequence` and `pack_sequence` make it; nobody has to call it.

    Attributes:
        data: all elements, (sum of lengths, *): first the first element of every sequence, then the
            second of all that have one, and so on.
        batch_sizes: how many sequences have a first element, a second, and so on.
        sorted_indices: the order, longest first, in which sequences stand; None if they were
            sorted.
        unsorted_indices: the order that undoes it.

    Example:
        >>> a, b = torch.tensor([1, 2, 3]), torch.tensor([4, 5])
        >>> packed = nn.utils.rnn.pack_sequence([a, b])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
        >>> _, h = nn.GRU(1, 4)(nn.utils.rnn.pack_sequence([torch.zeros(3, 1), torch.zeros(2, 1)]))
        >>> h.shape
        torch.Size([1, 2, 4])
    """

    _known: tuple[int, ...] | None = None  # the batch sizes as Python numbers, if known

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:  # a pair (data, batch_sizes), the form of old scripts
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":  # type: ignore[union-attr]
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequences in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return PackedSequence_.__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)  # type: ignore[return-value]

    def counts(self) -> tuple[int, ...]:
        """Return the batch sizes as Python numbers.

        Where they were given as numbers, the tensor is not read: reading a tensor's values would end a
        compiled program.
        """
        if self._known is None:
            return tuple([int(n) for n in self.batch_sizes.tolist()])
        return self._known

    def knowing(self, counts: tuple[int, ...] | None) -> PackedSequence:
        """Keep the batch sizes as Python numbers as well, and return itself."""
        self._known = counts
        return self

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the same sequences in another dtype or on another device.

        Example:
            >>> nn.utils.rnn.pack_sequence([torch.ones(2)]).to(torch.float64).data.dtype
            torch.float64
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [None if t is None else t.to(data.device) for t in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *moved).knowing(self._known)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the same sequences on a GPU."""
        return self.to(self.data.cuda(*args, **kwargs).device)

    def cpu(self) -> PackedSequence:
        """Return the same sequences in host memory."""
        return self.to("cpu")

    def pin_memory(self) -> PackedSequence:
        """Return the same sequences in page-locked memory."""
        return type(self)(self.data.pin_memory(), *self[1:]).knowing(self._known)

    def double(self) -> PackedSequence:
        """Return the same sequences in float64."""
        return self.to(dtype=dtypes.float64)

    def float(self) -> PackedSequence:
        """Return the same sequences in float32."""
        return self.to(dtype=dtypes.float32)

    def half(self) -> PackedSequence:
        """Return the same sequences in float16."""
        return self.to(dtype=dtypes.float16)

    def long(self) -> PackedSequence:
        """Return the same sequences in int64."""
        return self.to(dtype=dtypes.int64)

    def int(self) -> PackedSequence:
        """Return the same sequences in int32."""
        return self.to(dtype=dtypes.int32)

    def short(self) -> PackedSequence:
        """Return the same sequences in int16."""
        return self.to(dtype=dtypes.int16)

    def char(self) -> PackedSequence:
        """Return the same sequences in int8."""
        return self.to(dtype=dtypes.int8)

    def byte(self) -> PackedSequence:
        """Return the same sequences in uint8."""
        return self.to(dtype=dtypes.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the sequences are on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Return whether the sequences are in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes another.

    Args:
        permutation: (n,) of the numbers 0 to n - 1; None gives None.

    Example:
        >>> nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    order = permutation.cpu().numpy()
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return from_numpy(back).to(permutation.device)


def _lengths_of(lengths: Any, batch: int) -> np.ndarray:
    if isinstance(lengths, Tensor):
        if lengths.device.type != "cpu":
            raise RuntimeError(
                "'lengths' argument should be a 1D CPU int64 tensor, but got 1D "
                f"{lengths.device} {lengths.dtype} tensor"
            )
        sizes = lengths.numpy().astype(np.int64)
    else:
        sizes = np.asarray([int(n) for n in lengths], dtype=np.int64)
    if len(sizes) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={batch})"
        )
    if (sizes <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    return sizes


def _step_rows(sizes: np.ndarray, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """For lengths sorted longest first: the batch size of each step, and the rows t * batch + b."""
    steps = np.arange(int(sizes.max()))
    running = sizes[None, :] > steps[:, None]  # (time, sequence)
    t, b = np.nonzero(running)
    return running.sum(axis=1).astype(np.int64), t * batch + b


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch: leave the padding out.

    Args:
        input: (T, N, *), or (N, T, *) if `batch_first`.
        lengths: (N,), the length of each sequence, as a list or a tensor on the CPU.
        batch_first: which dimension of the input is the batch.
        enforce_sorted: the sequences are sorted, longest first; False sorts them.

    Raises:
        RuntimeError: if a length is not positive, or the order is wrong and `enforce_sorted` is
            True.

    Example:
        >>> padded = torch.tensor([[1, 2, 3], [4, 5, 0]])
        >>> packed = nn.utils.rnn.pack_padded_sequence(padded, [3, 2], batch_first=True)
        >>> packed.data
        tensor([1, 4, 2, 5, 3])
    """
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    batch = input.size(0 if batch_first else 1)
    sizes = _lengths_of(lengths, batch)
    order = back = None
    if enforce_sorted:
        if (np.diff(sizes) > 0).any():
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
                "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence "
                "to sidestep this requirement if you do not need ONNX exportability."
            )
    else:
        by_length = np.argsort(-sizes, kind="stable")
        sizes = sizes[by_length]
        order = from_numpy(by_length).to(input.device)
        back = from_numpy(np.argsort(by_length)).to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    if int(sizes.max()) > input.size(0):
        raise RuntimeError(
            f"Expected lengths of at most {input.size(0)}, the padded length, but got {int(sizes.max())}"
        )
    batch_sizes, rows = _step_rows(sizes, batch)
    flat = input.reshape(-1, *input.shape[2:])
    data = flat.index_select(0, from_numpy(rows).to(input.device))
    packed = PackedSequence(data, from_numpy(batch_sizes), order, back)
    return packed if isinstance(lengths, Tensor) else packed.knowing(tuple(batch_sizes.tolist()))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Undo `pack_padded_sequence`: return the padded batch and the lengths.

    Args:
        sequence: a packed sequence.
        batch_first: return (N, T, *) instead of (T, N, *).
        padding_value: what is put behind shorter sequences.
        total_length: T; the longest sequence's length if None.

    Raises:
        ValueError: if `total_length` is less than the longest sequence.

    Example:
        >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
        >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 5, 0]]), tensor([3, 2]))
    """
    data, _, _, back = sequence
    counts = np.asarray(sequence.counts())
    steps = len(counts)
    if not steps:
        raise RuntimeError("batch_sizes can not be empty")
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    batch = int(counts[0])
    running = np.zeros((steps, batch), dtype=bool)
    running[: len(counts)] = np.arange(batch)[None, :] < counts[:, None]
    rows = np.full((steps, batch), len(data), dtype=np.int64)  # the row after the last is padding
    rows[running] = np.arange(len(data))
    padding = data.detach().new_full((1, *data.shape[1:]), padding_value)
    flat = cat([data, padding], 0).index_select(0, from_numpy(rows.ravel()).to(data.device))
    out = flat.reshape(steps, batch, *data.shape[1:])
    lengths = from_numpy(running.sum(axis=0).astype(np.int64))
    if batch_first:
        out = out.transpose(0, 1)
    if back is not None:
        out = out.index_select(0 if batch_first else 1, back)
        lengths = lengths[back.cpu()]
    return out, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences of different lengths, with padding.

    Args:
        sequences: tensors (L, *) that differ in L only.
        batch_first: return (N, T, *) instead of (T, N, *).
        padding_value: what is put behind shorter sequences.
        padding_side: "right" (behind) or "left" (before).

    Example:
        >>> a, b = torch.tensor([1, 2, 3]), torch.tensor([4, 5])
        >>> nn.utils.rnn.pad_sequence([a, b], batch_first=True)
        tensor([[1, 2, 3],
                [4, 5, 0]])
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.size(0) for s in sequences)
    rows = []
    for s in sequences:
        missing = longest - s.size(0)
        if missing:
            padding = s.detach().new_full((missing, *s.shape[1:]), padding_value)
            s = cat([padding, s] if padding_side == "left" else [s, padding], 0)
        rows.append(s.unsqueeze(0 if batch_first else 1))
    return cat(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Undo `pad_sequence`: return the sequences as a list.

    Args:
        padded_sequences: (T, N, *), or (N, T, *) if `batch_first`.
        lengths: (N,), the length of each sequence.
        batch_first: which dimension is the batch.

    Example:
        >>> padded = torch.tensor([[1, 2, 3], [4, 5, 0]])
        >>> nn.utils.rnn.unpad_sequence(padded, torch.tensor([3, 2]), batch_first=True)
        [tensor([1, 2, 3]), tensor([4, 5])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    sizes = as_tensor(lengths).tolist()
    return [row[:n] for row, n in zip(padded_sequences.unbind(0), sizes)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences of different lengths.

    Args:
        sequences: tensors (L, *) that differ in L only.
        enforce_sorted: the sequences are sorted, longest first; False sorts them.

    Example:
        >>> a, b = torch.tensor([1, 2, 3]), torch.tensor([4, 5])
        >>> nn.utils.rnn.pack_sequence([a, b]).data
        tensor([1, 4, 2, 5, 3])
    """
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Undo `pack_sequence`: return the sequences as a list.

    Args:
        packed_sequences: a packed sequence.

    Example:
        >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
        >>> nn.utils.rnn.unpack_sequence(packed)
        [tensor([1, 2, 3]), tensor([4, 5])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
