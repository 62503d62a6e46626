"""Whether a path pays: some of its stretches are left to eager, and the usual times of both are compared."""

from __future__ import annotations

_TURNS = 6  # stretches that are left to eager before it is decided
_BETWEEN = 3  # replays for each of them: the two take turns, since others use the machine, too


class Trial:
    """The times of one path, in seconds."""

    __slots__ = ("eager", "is_over", "replayed")

    def __init__(self) -> None:
        self.eager: list[float] = []
        self.replayed: list[float] = []
        self.is_over = False  # whether it is known if the path pays

    def wants_eager(self) -> bool:
        """Whether the next stretch is left to eager."""
        turns = len(self.eager)
        return turns < _TURNS and not self.is_over and len(self.replayed) >= _BETWEEN * (turns + 1)

    def skip(self) -> None:
        """Compare nothing: eager calls would need their memory beside the program's."""
        self.is_over = True

    def took_eager(self, seconds: float) -> None:
        """A stretch was left to eager."""
        self.eager.append(seconds)
        self.is_over = len(self.eager) >= _TURNS

    def took_replay(self, seconds: float) -> None:
        """A stretch was replayed."""
        if len(self.eager) < _TURNS:
            self.replayed.append(seconds)

    def is_loss(self) -> bool:
        """Whether it is known that eager is quicker."""
        return len(self.eager) >= _TURNS and usual(self.eager) < usual(self.replayed)

    def text(self) -> str:
        """What was measured, for a report."""
        replay, eager = usual(self.replayed) * 1e6, usual(self.eager) * 1e6
        return f"it does not pay: {replay:.0f} us replayed, {eager:.0f} us eager"


def usual(times: list[float]) -> float:
    """The time that a quarter of them stays below: where others use the machine most are too long."""
    return sorted(times)[len(times) // 4]
