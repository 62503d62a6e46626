"""Which of the names that public PyTorch scripts use rushlight has: counted, weighted, listed.

A name counts when it resolves to something that does not merely refuse; that it behaves as PyTorch's
is what the tests say, not this tool. Attributes that only objects have are looked for in the source
of their class.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RANKING = HERE / "api-rank.csv"

# Names of the ranking that begin with a class, and where the class is.
CLASSES = {
    "Tensor": "Tensor",
    "Module": "nn.Module",
    "Optimizer": "optim.Optimizer",
    "Scheduler": "optim.lr_scheduler.LRScheduler",
    "LRScheduler": "optim.lr_scheduler.LRScheduler",
    "Parameter": "nn.Parameter",
    "Generator": "Generator",
}
MODULES = {"torch": "rushlight", "torchvision": "rushlight.vision"}
MISSING = object()
# Names of the ranking that PyTorch 2.13 does not have either: scripts of other versions, and slips of their authors.
NOT_PYTORCHS = {"torch.nn.Dense", "torch.nn.avg_pool", "torch.onnx._export"}


def resolve(name: str) -> Any:
    """The object a ranked name stands for in rushlight, or MISSING."""
    head, *rest = name.split(".")
    if head in CLASSES:
        path = ["rushlight", *CLASSES[head].split("."), *rest]
    elif head in MODULES:
        path = [*MODULES[head].split("."), *rest]
    else:
        return MISSING
    return walk(path)


def walk(path: list[str]) -> Any:
    """Follow a dotted path through modules and attributes."""
    owner: Any = importlib.import_module(path[0])
    known = path[0]
    for part in path[1:]:
        known = f"{known}.{part}"
        try:
            owner = getattr(owner, part)
        except AttributeError:
            owner = instance_attribute(owner, part)
            if owner is MISSING:
                try:
                    owner = importlib.import_module(known)
                except ImportError:
                    return MISSING
        except NotImplementedError:
            return MISSING
    return MISSING if getattr(owner, "not_yet", False) is True else owner  # there, but refuses


def instance_attribute(owner: Any, name: str) -> Any:
    """An attribute that only objects have, such as an optimizer's `param_groups`."""
    if not isinstance(owner, type):
        return MISSING
    for cls in owner.__mro__:
        if name in getattr(cls, "__annotations__", {}) or name in getattr(cls, "__slots__", ()):
            return name
    try:
        import inspect
        import re

        assigned = re.search(rf"self\.{name}\s*[:=]", inspect.getsource(owner))
        return name if assigned else MISSING
    except (OSError, TypeError):
        return MISSING


def namespace(name: str) -> str:
    """The part of PyTorch a name belongs to: `torch.nn`, `Tensor`, `torchvision.transforms`."""
    parts = name.split(".")
    return parts[0] if len(parts) < 3 else ".".join(parts[:2])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ranking", nargs="?", type=Path, default=RANKING)
    parser.add_argument("--missing", type=int, default=60, help="how many missing names to list")
    options = parser.parse_args(argv)
    if not options.ranking.is_file():
        print(f"no ranking of names at {options.ranking}; nothing to count")
        return 0
    with options.ranking.open(newline="") as file:
        ranked = [(row["name"], int(row["scripts"])) for row in csv.DictReader(file)]
    gone = sorted(name for name, _ in ranked if name in NOT_PYTORCHS)
    report([row for row in ranked if row[0] not in NOT_PYTORCHS], options.missing)
    if gone:
        print(f"\nnot counted, because PyTorch 2.13 does not have them: {', '.join(gone)}")
    return 0


def report(ranked: list[tuple[str, int]], limit: int) -> None:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    missing = []
    for name, scripts in ranked:
        found = resolve(name) is not MISSING
        for key in (namespace(name), "all"):
            cell = counts[key]
            cell[0] += found
            cell[1] += 1
            cell[2] += scripts * found
            cell[3] += scripts
        if not found:
            missing.append((scripts, name))
    print(f"{'namespace':32}{'names':>12}{'':>8}{'by scripts':>16}")
    for key, (have, total, used, uses) in sorted(counts.items(), key=lambda kv: -kv[1][3]):
        print(f"{key:32}{have:>6}/{total:<6}{have / total:>7.0%}{used / uses:>15.1%}")
    if missing:
        print(f"\nmissing, most used first ({len(missing)} in all):")
        for scripts, name in sorted(missing, reverse=True)[:limit]:
            print(f"{scripts:>6}  {name}")


if __name__ == "__main__":
    sys.exit(main())
