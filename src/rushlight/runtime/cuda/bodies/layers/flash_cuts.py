"""How attention's own kernels for float32 are cut into blocks, and which heads they take; nothing here needs a GPU."""

from __future__ import annotations

from typing import NamedTuple

ENABLED = True  # right on an H200 on 17 November 2026: benchmarks/results
WIDEST = 128  # most numbers of a head
ALL_WIDEST = 64  # and of one whose gradients one kernel makes


def fits(width: int, values: int) -> bool:
    """Whether there are kernels for heads of so many numbers: rows begin at multiples of 16 bytes."""
    return ENABLED and all(w % 4 == 0 and 0 < w <= WIDEST for w in (width, values))


class FlashCut(NamedTuple):
    """How a kernel shares its work: tiles of 16 rows of a warp, warps, columns of a step, blocks a multiprocessor has at once."""

    tiles: int
    warps: int
    step: int
    blocks: int

    @property
    def rows(self) -> int:
        """Rows of a block."""
        return 16 * self.tiles * self.warps


def padded(width: int) -> int:
    """A head's numbers rounded up to those of a tile."""
    return 32 if width <= 32 else 64 if width <= 64 else 128


def shared_bytes(name: str, cut: FlashCut, width: int, values: int, everything: bool = False) -> int:
    """Bytes of shared memory of a block."""
    both, steps = width + values, 2 * cut.step
    numbers = {
        "flash_forward": cut.rows * width + steps * both,
        "flash_queries": cut.rows * both + steps * both,
        "flash_keys": cut.rows * both + steps * both + 2 * steps,
    }[name]
    if everything:
        numbers += steps * values + cut.step * cut.rows
    return 4 * numbers


# By kernel, precision (tensor cores or not) and the wider head: from large blocks, which read less, to small ones, for
# few heads of few queries. Backward, "whole" is `flash_keys` where one block has all the keys.
CUTS: dict[tuple[str, int, int], tuple[FlashCut, ...]] = {
    ("flash_forward", 1, 32): (FlashCut(2, 4, 32, 4), FlashCut(1, 4, 32, 4), FlashCut(1, 2, 32, 4)),
    ("flash_forward", 0, 32): (FlashCut(2, 4, 64, 2), FlashCut(1, 4, 32, 4), FlashCut(1, 2, 32, 4)),
    ("flash_forward", 1, 64): (FlashCut(2, 4, 64, 2), FlashCut(1, 4, 32, 4), FlashCut(1, 2, 32, 4)),
    ("flash_forward", 0, 64): (FlashCut(2, 4, 64, 2), FlashCut(1, 4, 32, 3), FlashCut(1, 2, 32, 4)),
    ("flash_forward", 1, 128): (FlashCut(1, 8, 32, 1), FlashCut(1, 4, 32, 2), FlashCut(1, 2, 32, 2)),
    ("flash_forward", 0, 128): (FlashCut(1, 8, 32, 1), FlashCut(1, 4, 32, 2), FlashCut(1, 2, 32, 2)),
    ("flash_queries", 1, 32): (FlashCut(2, 4, 32, 2), FlashCut(1, 4, 32, 4), FlashCut(1, 2, 32, 4)),
    ("flash_queries", 0, 32): (FlashCut(2, 4, 32, 2), FlashCut(1, 4, 32, 2), FlashCut(1, 2, 32, 4)),
    ("flash_queries", 1, 64): (FlashCut(1, 4, 32, 3), FlashCut(1, 2, 32, 4)),
    ("flash_queries", 0, 64): (FlashCut(1, 4, 32, 2), FlashCut(1, 2, 32, 4)),
    ("flash_queries", 1, 128): (FlashCut(1, 4, 16, 2), FlashCut(1, 2, 16, 3)),
    ("flash_queries", 0, 128): (FlashCut(1, 4, 16, 2), FlashCut(1, 2, 16, 3)),
    ("flash_keys", 1, 32): (FlashCut(2, 4, 32, 2), FlashCut(1, 4, 32, 3), FlashCut(1, 2, 32, 4)),
    ("flash_keys", 0, 32): (FlashCut(2, 4, 32, 2), FlashCut(1, 4, 32, 2), FlashCut(1, 2, 32, 4)),
    ("flash_keys", 1, 64): (FlashCut(2, 4, 16, 2), FlashCut(1, 4, 32, 2), FlashCut(1, 2, 32, 4)),
    ("flash_keys", 0, 64): (FlashCut(2, 4, 16, 2), FlashCut(1, 4, 16, 2), FlashCut(1, 2, 16, 4)),
    ("flash_keys", 1, 128): (FlashCut(1, 4, 16, 2), FlashCut(1, 2, 16, 3)),
    ("flash_keys", 0, 128): (FlashCut(1, 4, 16, 2), FlashCut(1, 2, 16, 3)),
    ("whole", 1, 32): (FlashCut(2, 4, 32, 2),),
    ("whole", 0, 32): (FlashCut(2, 4, 32, 2),),
    ("whole", 1, 64): (FlashCut(2, 4, 32, 2),),
    ("whole", 0, 64): (FlashCut(2, 4, 32, 2),),
}
