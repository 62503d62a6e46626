"""In what rushlight may differ from PyTorch in the databases of PyTorch's own tests, and why."""

from __future__ import annotations

from functools import cache

# (reason, {kinds of difference: the entries})
KNOWN: list[tuple[str, dict[str, str]]] = []


@cache
def table(device: str) -> frozenset[tuple[str, str]]:
    """Every (entry, kind) that is excused."""
    return frozenset(
        (name, kind)
        for _, rows in KNOWN
        for kinds, names in rows.items()
        for kind in kinds.split()
        for name in names.split(", ")
    )


def excused(name: str, kind: str, device: str) -> bool:
    known = table(device)
    return (name, kind) in known or (name, kind.partition(":")[0]) in known
