"""Which classifier's heads are one launch, and how it is cut; passes ask here without a GPU."""

from __future__ import annotations

from typing import NamedTuple

from ..processors import multiprocessors

MOST_CLASSES = 16  # a thread keeps four columns of the weight for each
_MOST_COLUMNS = 2048  # four a thread
_MOST_ROWS = 8192  # every block counts the targets
_FEW = 16  # rows of a head whose gradients are all made by one block
_FEW_COLUMNS = 512  # ... which reads the weight alone
_MOST_BLOCKS = 1024  # each leaves 8 bytes where sources.counter() has room
_TYPES = frozenset("feE")


class HeadCut(NamedTuple):
    """Threads that share a row, such teams in a block, and rows of a team."""

    team: int
    teams: int
    rows: int

    @property
    def per_block(self) -> int:
        return self.teams * self.rows

    def constants(self) -> dict[str, int]:
        """As kernels/head.cu names them."""
        return {"TEAM": self.team, "TEAMS": self.teams, "ROWS": self.rows}


def is_joined_head(m: int, n: int, k: int, char: str) -> bool:
    """Whether a layer of m rows, n classes and k inputs goes with its loss in one launch."""
    few = 0 < n <= MOST_CLASSES and 0 < m <= _MOST_ROWS and 0 < k <= _MOST_COLUMNS
    if not few or k % 4 or char not in _TYPES:
        return False
    return m <= _MOST_BLOCKS * step_cut(m, k).per_block


def is_whole_head(m: int, n: int, k: int, char: str) -> bool:
    """Whether that launch gives the gradients of weight and bias, too."""
    return is_joined_head(m, n, k, char) and m <= _FEW and k <= _FEW_COLUMNS


def _team(k: int) -> int:
    """The threads that hold a row, four numbers each: whole warps, a power of two of them."""
    team = 32
    while 4 * team < k:
        team *= 2
    return team


def step_cut(m: int, k: int) -> HeadCut:
    """Blocks of at most 256 threads: first one for each multiprocessor, then more rows in each."""
    team = _team(k)
    teams = max(1, 256 // team)
    while teams > 1 and m <= multiprocessors() * (teams // 2):
        teams //= 2
    rows = 1
    while rows < (4 if team < 512 else 2) and m > multiprocessors() * teams * rows:
        rows *= 2
    return HeadCut(team, teams, rows)


def whole_cut(m: int, k: int) -> HeadCut:
    """One block of 512 threads: teams without rows have a share of the weight's gradient."""
    team = _team(k)
    return HeadCut(team, 512 // team, -(-m // (512 // team)))
