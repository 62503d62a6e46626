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
    """The fields of a packed sequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences as one run of steps: step t holds the first `batch_sizes[t]` sequences."""

    _known: tuple[int, ...] | None = None  # the batch sizes, where Python knows them

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
        """The batch sizes as numbers, without a look at the tensor where they were given as numbers.

        A compiled function can have packed sequences then: a look at a tensor's values would end its program.
        """
        if self._known is None:
            return tuple([int(n) for n in self.batch_sizes.tolist()])
        return self._known

    def knowing(self, counts: tuple[int, ...] | None) -> PackedSequence:
        """Itself, with its batch sizes as numbers."""
        self._known = counts
        return self

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences in another dtype or on another device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [
            None if t is None else t.to(data.device)
            for t in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *moved).knowing(self._known)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(self.data.cuda(*args, **kwargs).device)

    def cpu(self) -> PackedSequence:
        return self.to("cpu")

    def pin_memory(self) -> PackedSequence:
        return type(self)(self.data.pin_memory(), *self[1:]).knowing(self._known)

    def double(self) -> PackedSequence:
        return self.to(dtype=dtypes.float64)

    def float(self) -> PackedSequence:
        return self.to(dtype=dtypes.float32)

    def half(self) -> PackedSequence:
        return self.to(dtype=dtypes.float16)

    def long(self) -> PackedSequence:
        return self.to(dtype=dtypes.int64)

    def int(self) -> PackedSequence:
        return self.to(dtype=dtypes.int32)

    def short(self) -> PackedSequence:
        return self.to(dtype=dtypes.int16)

    def char(self) -> PackedSequence:
        return self.to(dtype=dtypes.int8)

    def byte(self) -> PackedSequence:
        return self.to(dtype=dtypes.uint8)

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that puts everything back."""
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
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} "
            f"(batch_size={batch})"
        )
    if (sizes <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    return sizes


def _step_rows(sizes: np.ndarray, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """For lengths in falling order: how many run at each step, and the rows t * batch + b."""
    steps = np.arange(int(sizes.max()))
    running = sizes[None, :] > steps[:, None]  # (time, sequence)
    t, b = np.nonzero(running)
    return running.sum(axis=1).astype(np.int64), t * batch + b


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch (T, B, *), leaving the padding out."""
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
            f"Expected lengths of at most {input.size(0)}, the padded length, but got "
            f"{int(sizes.max())}"
        )
    batch_sizes, rows = _step_rows(sizes, batch)
    flat = input.reshape(-1, *input.shape[2:])
    data = flat.index_select(0, from_numpy(rows).to(input.device))
    packed = PackedSequence(data, from_numpy(batch_sizes), order, back)
    return packed if isinstance(lengths, Tensor) else packed.knowing(tuple(batch_sizes.tolist()))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch of a packed one, and the lengths."""
    data, _, _, back = sequence
    counts = np.asarray(sequence.counts())
    steps = len(counts)
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
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences of different lengths, padding the shorter ones."""
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    longest = max(s.size(0) for s in sequences)
    rows = []
    for s in sequences:
        missing = longest - s.size(0)
        if missing:
            padding = s.detach().new_full((missing, *s.shape[1:]), padding_value)
            s = cat([padding, s] if padding_side == "left" else [s, padding], 0)
        rows.append(s.unsqueeze(0 if batch_first else 1))
    return cat(rows, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, without their padding."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    sizes = as_tensor(lengths).tolist()
    return [row[:n] for row, n in zip(padded_sequences.unbind(0), sizes)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences of different lengths."""
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
