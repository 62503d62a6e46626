"""A few benchmarks every night: one line a night in a history file, and a picture of how they go.

    python benchmarks/nightly.py                       measure, add a line to benchmarks/history.jsonl, draw history.png
    python benchmarks/nightly.py --draw-only           only the picture
    0 3 * * *  cd rushlight && .venv/bin/python benchmarks/nightly.py      as a cron job

Training steps of the CPU benchmark and single taped operations, ours and PyTorch's in turns, so that a slow night hits
both: the picture shows the ratio, which does not hang on the machine's mood. A change of more than 10 % against the
median of the seven nights before is told, and the exit code is 1. Nights of another machine are another line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HISTORY = ROOT / "benchmarks" / "history.jsonl"
WORSE, NIGHTS = 1.10, 7
COLUMNS = ("lab4", "lab64", "wide64")


def measure(seconds: float, rounds: int) -> dict[str, float]:
    """By column: our microseconds over PyTorch's, and ours alone."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "cpu.json"
        command = [sys.executable, str(ROOT / "benchmarks" / "cpu.py"), "--columns", *COLUMNS, "--frameworks", "rushlight",
                   "PyTorch", "rushlight compiled", "--rounds", str(rounds), "--seconds", str(seconds), "--no-memory",
                   "--out", str(out)]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = json.loads(out.read_text())["columns"]
    return ratios(found)


def ratios(columns: dict[str, dict[str, float]]) -> dict[str, float]:
    """Of each column, eager and compiled: the time over PyTorch's."""
    made = {}
    for column, row in columns.items():
        made[column] = round(row["rushlight"] / row["PyTorch"], 4)
        made[f"{column} compiled"] = round(row["rushlight compiled"] / row["PyTorch"], 4)
    return made


def entry(found: dict[str, float]) -> dict[str, Any]:
    """A line of the history: when, which commit, where, what."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return {"date": datetime.date.today().isoformat(), "commit": commit.stdout.strip(), "machine": machine(),
            "load": round(os.getloadavg()[0], 2), "ratios": found}  # fmt: skip


def machine() -> str:
    """A name for machines of one kind: no host name stands in the file."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def read(path: Path) -> list[dict[str, Any]]:
    """The nights so far; a line that was cut off by a crash is left out."""
    nights = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            nights.append(json.loads(line))
        except ValueError:
            print(f"{path.name}: a line that is no JSON is left out", file=sys.stderr)
    return nights


def add(path: Path, night: dict[str, Any]) -> None:
    """One line more; after a line that was cut off, a new one begins."""
    before = path.read_bytes() if path.exists() else b""
    with open(path, "ab") as f:
        f.write(
            (b"\n" if before and not before.endswith(b"\n") else b"")
            + json.dumps(night).encode()
            + b"\n"
        )


def worse(nights: list[dict[str, Any]]) -> list[str]:
    """What the last night did worse than the median of those before it, on the same kind of machine."""
    *before, last = nights
    alike = [n for n in before if n["machine"] == last["machine"]][-NIGHTS:]
    told = []
    for name, now in last["ratios"].items():
        known = [n["ratios"][name] for n in alike if name in n["ratios"]]
        if known and now > WORSE * statistics.median(known):
            told.append(
                f"{name}: {now:.2f} of PyTorch's time, {statistics.median(known):.2f} before"
            )
    return told


def draw(nights: list[dict[str, Any]], path: Path) -> None:
    """Ratios by night, a panel for each kind of machine."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    kinds = list(dict.fromkeys(n["machine"] for n in nights))
    figure, panels = plt.subplots(
        len(kinds), 1, figsize=(9, 4 * len(kinds)), squeeze=False, layout="constrained"
    )
    for (axis,), kind in zip(panels, kinds):
        mine = [n for n in nights if n["machine"] == kind]
        places = range(len(mine))
        for name in dict.fromkeys(k for n in mine for k in n["ratios"]):
            axis.plot(places, [n["ratios"].get(name) for n in mine], marker="o", ms=3, label=name)
        step = max(1, len(mine) // 12)
        axis.set_xticks(list(places)[::step], [n["date"][5:] for n in mine][::step], rotation=45)
        axis.axhline(1, color="black", lw=0.8)
        axis.set(ylabel="time over PyTorch's", ylim=(0, None), title=kind)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, ncols=2)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--history", type=Path, default=HISTORY)
    parser.add_argument("--picture", type=Path, help="(default: beside the history)")
    parser.add_argument("--draw-only", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.5, help="of one framework in one round")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(argv)
    if not args.draw_only:
        add(args.history, entry(measure(args.seconds, args.rounds)))
    nights = read(args.history)
    if not nights:
        raise SystemExit(f"{args.history}: there are no nights yet")
    draw(nights, args.picture or args.history.with_suffix(".png"))
    told = [] if args.draw_only else worse(nights)
    print("\n".join(told) or f"{len(nights)} nights, nothing worse")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
