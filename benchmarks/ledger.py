"""The ledger: one line for every figure that was measured beside PyTorch, by commit and machine.

    python benchmarks/ledger.py compare A B            what lost more than 5 % from commit A to commit B; exit code 1 if any
    python benchmarks/ledger.py draw                   the picture of docs/performance.md
    python benchmarks/ledger.py nightly                a few training steps of the CPU, added and compared with the night before
    python benchmarks/ops.py --ledger [FILE]           any benchmark with that option adds its figures

A line has commit, date, machine, benchmark, row, ours and PyTorch's (of one run, in the benchmark's own unit, smaller is
better; PyTorch's may be missing) and ratio, PyTorch's over ours. Machines swing, so ratios are compared where there are
any, and only figures of the same machine, benchmark and row. A record whose commit nobody wrote down stands under the one
that brought it; where only ratios are known, PyTorch's is 1.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LEDGER = ROOT / "benchmarks" / "ledger.jsonl"
PICTURE = ROOT / "docs" / "ledger.png"
LOSS = 0.05
NIGHTLY = ("lab4", "lab64", "wide64")
Line = dict[str, Any]
Figure = tuple[str, float, float | None]  # row, ours, PyTorch's


def option(parser: argparse.ArgumentParser) -> None:
    """`--ledger [FILE]`, for benchmarks."""
    parser.add_argument("--ledger", nargs="?", type=Path, const=LEDGER, help="add the figures to this file")


def machine(device: str = "cpu") -> str:
    """A name for machines of one kind: no host name stands in the file."""
    if device == "cuda":
        import cupy

        name = cupy.cuda.runtime.getDeviceProperties(0)["name"]
        return name.decode() if isinstance(name, bytes) else str(name)
    return f"{platform.machine()}, {os.cpu_count()} cores"


def head() -> str:
    """The commit of this tree; a tree without git, as a copy on another machine, may be told it by RUSHLIGHT_COMMIT."""
    told = os.environ.get("RUSHLIGHT_COMMIT")
    if told:
        return told[:8]
    asked = ["git", "rev-parse", "--short=8", "HEAD"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def record(path: Path | None, benchmark: str, device: str, figures: Iterable[Figure]) -> None:
    """Add figures of this commit, measured now; nothing where nobody asked for it."""
    if path is None:
        return
    where, when, commit = machine(device), datetime.date.today().isoformat(), head()
    add(path, [line(commit, when, where, f"{benchmark} {device}", *one) for one in figures])


def line(commit: str, date: str, machine: str, benchmark: str, row: str, ours: float, torch: float | None) -> Line:
    ratio = None if torch is None else round(torch / ours, 4)
    return {"commit": commit, "date": date, "machine": machine, "benchmark": benchmark, "row": row,
            "ours": round(ours, 4), "torch": torch if torch is None else round(torch, 4), "ratio": ratio}  # fmt: skip


def add(path: Path, lines: Iterable[Line]) -> None:
    """Lines at the end; after one that was cut off, a new one begins."""
    before = path.read_bytes() if path.exists() else b""
    with open(path, "ab") as f:
        f.write(b"\n" if before and not before.endswith(b"\n") else b"")
        f.writelines(json.dumps(one).encode() + b"\n" for one in lines)


def read(path: Path) -> list[Line]:
    """All lines; one that was cut off by a crash is left out."""
    found = []
    for number, text in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        try:
            found.append(json.loads(text))
        except ValueError:
            print(f"{path.name}, line {number}: no JSON, left out", file=sys.stderr)
    return found


def _of(lines: list[Line], commit: str) -> dict[tuple[str, str, str], Line]:
    """The last figure of each place at a commit, which may be cut short."""
    mine = [n for n in lines if n["commit"].startswith(commit) or commit.startswith(n["commit"])]
    return {(n["machine"], n["benchmark"], n["row"]): n for n in mine}


def compare(lines: list[Line], a: str, b: str, loss: float = LOSS) -> tuple[list[str], int]:
    """What is worse at commit b than at a by more than `loss`, the worst first, and how much was compared."""
    before, after = _of(lines, a), _of(lines, b)
    told = []
    common = [place for place in before if place in after]
    for place in common:
        x, y = before[place], after[place]
        by_ratio = x["ratio"] is not None and y["ratio"] is not None
        kept = y["ratio"] / x["ratio"] if by_ratio else x["ours"] / y["ours"]
        if kept < 1 - loss:
            unit = "of PyTorch" if by_ratio else "alone"
            pair = (x["ratio"], y["ratio"]) if by_ratio else (x["ours"], y["ours"])
            told.append((kept, f"{', '.join(place)}: {pair[0]:g} -> {pair[1]:g} {unit} ({kept - 1:+.0%})"))
    return [text for _, text in sorted(told)], len(common)


def draw(lines: list[Line], path: Path) -> None:
    """A panel for each benchmark of a machine: the geometric mean of its ratios by commit, the oldest first."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    known = sorted([n for n in lines if n["ratio"]], key=lambda n: n["date"])
    commits = list(dict.fromkeys(n["commit"] for n in known))
    kinds = list(dict.fromkeys(n["machine"] for n in known))
    figure, panels = plt.subplots(len(kinds), 1, figsize=(10, 3.6 * len(kinds)), squeeze=False, layout="constrained")
    for (axis,), kind in zip(panels, kinds):
        mine = [n for n in known if n["machine"] == kind]
        here = [c for c in commits if any(n["commit"] == c for n in mine)]
        for name in dict.fromkeys(n["benchmark"] for n in mine):
            points = []
            for place, commit in enumerate(here):
                logs = [math.log(n["ratio"]) for n in mine if (n["commit"], n["benchmark"]) == (commit, name)]
                points += [(place, math.exp(sum(logs) / len(logs)))] if logs else []
            axis.plot(*zip(*points), marker="o", ms=4, label=name)
        axis.set_xticks(range(len(here)), here, rotation=45, fontsize=8)
        axis.axhline(1, color="black", lw=0.8)
        axis.set(ylabel="PyTorch's time over ours", yscale="log", title=kind)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def nightly(path: Path, seconds: float, rounds: int) -> list[str]:
    """Training steps of the CPU benchmark, ours and PyTorch's by turns; what is worse than the night before."""
    before = [n["commit"] for n in read(path) if n["benchmark"] == "nightly cpu"][-1:]
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "cpu.json"
        command = [sys.executable, str(ROOT / "benchmarks" / "cpu.py"), "--columns", *NIGHTLY, "--frameworks",
                   "rushlight", "PyTorch", "rushlight compiled", "--rounds", str(rounds), "--seconds", str(seconds),
                   "--no-memory", "--out", str(out)]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        columns = json.loads(out.read_text())["columns"]
    record(path, "nightly", "cpu", of_columns(columns))
    return compare(read(path), before[0], head())[0] if before else []


def of_columns(columns: dict[str, dict[str, float]]) -> list[Figure]:
    """Figures of the CPU benchmark, eager and compiled."""
    found = []
    for column, row in columns.items():
        for side, name in (("rushlight", column), ("rushlight compiled", f"{column} compiled")):
            if side in row:
                found.append((name, row[side], row.get("PyTorch")))
    return found


def of_rows(table: dict[str, dict[str, Any]], unit: str, peer: str, sides: dict[str, str]) -> list[Figure]:
    """Figures of rows that have a dict for each side: `sides` has what is added to the row's name for ours."""
    found = []
    for row, by_side in table.items():
        if not isinstance(by_side, dict):  # of the machine, not of a row
            continue
        torch = by_side.get(peer, {}).get(unit)
        for side, name in sides.items():
            if unit in by_side.get(side, {}):
                found.append((row + name, by_side[side][unit], torch))
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ledger", type=Path, default=LEDGER)
    ways = parser.add_subparsers(dest="way", required=True)
    two = ways.add_parser("compare", help="what lost from one commit to another")
    two.add_argument("before")
    two.add_argument("after")
    two.add_argument("--loss", type=float, default=LOSS, help="a share that is still alike")
    ways.add_parser("draw").add_argument("--picture", type=Path, default=PICTURE)
    night = ways.add_parser("nightly")
    night.add_argument("--seconds", type=float, default=0.5, help="of one framework in one round")
    night.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(argv)
    if args.way == "draw":
        draw(read(args.ledger), args.picture)
        return 0
    if args.way == "nightly":
        told = nightly(args.ledger, args.seconds, args.rounds)
    else:
        told, common = compare(read(args.ledger), args.before, args.after, args.loss)
        if not common:
            raise SystemExit(f"{args.ledger.name} has no figure of both {args.before} and {args.after}")
        print(f"{common} figures of both")
    print("\n".join(told) or "nothing lost")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
