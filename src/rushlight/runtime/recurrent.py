"""The description of a stack of recurrent layers that a device gets, and its answer when it can run the whole stack."""

from __future__ import annotations

from typing import NamedTuple

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


class BatchSizes(tuple[int, ...]):
    """How many sequences are alive at each step, known to Python: what `batch_sizes` holds as a tensor."""


class Recurrence(NamedTuple):
    """A stack of layers: everything about it but the lengths of its sequences."""

    mode: str  # a key of GATES
    width: int  # features of the input
    hidden: int
    projected: int  # size of the output of an LSTM with projections, else 0
    layers: int
    directions: int
    biased: bool

    @property
    def out(self) -> int:
        """Features of the output, in one direction."""
        return self.projected or self.hidden

    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of all weights, in PyTorch's order."""
        rows = GATES[self.mode] * self.hidden
        found: list[tuple[int, ...]] = []
        for cell in range(self.layers * self.directions):
            width = self.width if cell < self.directions else self.out * self.directions
            found += [(rows, width), (rows, self.out)]
            if self.biased:
                found += [(rows,), (rows,)]
            if self.projected:
                found.append((self.projected, self.hidden))
        return found


BY_LAYERS = -1  # the algorithm of a device that would rather run a stack layer by layer


class Way(NamedTuple):
    """How a device runs a stack: its algorithm, and where each weight begins in one array of all of them."""

    algorithm: int
    tf32: bool
    places: tuple[int, ...]
    size: int
