"""The GPU's work, ours and PyTorch's in one run: eager steps, ResNet-18, products, bandwidth.

    python benchmarks/gpu.py [--only NAME ...] [--rounds 3]
    python benchmarks/gpu.py --growth         only images per second by batch and width, CPU and GPU, with a plot
    python benchmarks/gpu.py --draw RECORD    that plot again, from a record of --growth; needs no GPU

Each library works in a process of its own; the two take turns, so that both see the same machine, and every
figure is the median of the rounds. Prints a table and writes benchmarks/results/gpu-<date>.json. The growth is
what `rushlight bench` measures, kept in benchmarks/results/growth-gpu-<date>.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import compact  # noqa: E402
import ledger  # noqa: E402

HERE = Path(__file__).resolve().parent
PICTURE = HERE.parent / "docs" / "growth-gpu.png"

# name -> (unit, whether less is better, what the issue asks ours to be relative to PyTorch)
WORK = {
    "lab step, batch 4": ("us", True, 0.5),
    "lab step, batch 64": ("us", True, 0.5),
    "lab step, batch 512": ("us", True, 0.5),
    "lab step, batch 4096": ("us", True, 0.5),
    "lab script, per iteration": ("us", True, 0.25),
    "resnet18 bf16 channels_last, batch 512": ("images/s", False, 1.0),
    "resnet18 fp32/tf32, batch 512": ("images/s", False, 1.0),
    "product 4096 fp32": ("TFLOP/s", False, 0.95),
    "product 4096 tf32": ("TFLOP/s", False, 0.95),
    "product 4096 bf16": ("TFLOP/s", False, 0.95),
    "copy": ("GB/s", False, 0.9),
    "pointwise chain": ("GB/s", False, 0.8),
}


class Worker:
    """One library in its own process, asked one workload at a time."""

    def __init__(self, library: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "gpu_worker.py"), library],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, name: str) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return {"error": "the process ended"}

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def measure(names: list[str], rounds: int) -> dict[str, dict[str, Any]]:
    """The medians of every workload for both libraries."""
    workers = {"rushlight": Worker("rushlight"), "torch": Worker("torch")}
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        values: dict[str, list[float]] = {library: [] for library in workers}
        errors: dict[str, str] = {}
        for _ in range(rounds):
            for library, worker in workers.items():
                if library in errors:
                    continue
                answer = worker.ask(name)
                if "error" in answer:
                    errors[library] = answer["error"]
                else:
                    values[library].append(answer["value"])
        found[name] = {
            library: statistics.median(v) if v else None for library, v in values.items()
        } | {"errors": errors}
        print(row(name, found[name]), flush=True)
    for worker in workers.values():
        worker.close()
    return found


def row(name: str, result: dict[str, Any]) -> str:
    unit, less, goal = WORK[name]
    ours, theirs = result["rushlight"], result["torch"]
    texts = ["-" if v is None else f"{v:12,.1f}" for v in (ours, theirs)]
    line = f"{name:40} {texts[0]:>12} {texts[1]:>12} {unit:9}"
    if ours and theirs:
        ratio = ours / theirs
        good = ratio <= goal if less else ratio >= goal
        line += f" {ratio:6.2f}x  goal {'<=' if less else '>='} {goal}  {'yes' if good else 'no'}"
    for library, text in result["errors"].items():
        line += f"\n    {library}: {text[:300]}"
    return line


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    text = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True, text=True, check=False,
    ).stdout.strip()  # fmt: skip
    versions = {}
    for name in ("numpy", "cupy", "torch"):
        try:
            versions[name] = __import__(name).__version__
        except ImportError:
            versions[name] = None
    return {"gpu": text, "python": sys.version.split()[0], **versions}


def growth(seconds: float) -> dict[str, Any]:
    """What `rushlight bench` finds here: a row for each width and batch, images per second in every place."""
    from rushlight.cli import main as rushlight

    with tempfile.TemporaryDirectory() as place:
        if rushlight(["bench", "--seconds", str(seconds), "--out", place]):
            raise SystemExit("rushlight bench failed")
        return json.loads((Path(place) / "bench.json").read_text())


def draw(record: Path, picture: Path = PICTURE) -> None:
    """The picture of a record of --growth."""
    from rushlight.cli.report.drawing import draw_speeds

    found = json.loads(record.read_text())["growth"]
    print(draw_speeds(str(picture), f"training {found['model']}", found["rows"], found["places"]))


def write(path: Path, what: dict[str, Any]) -> Path:
    """A record with its date and machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {"date": datetime.date.today().isoformat(), "machine": machine(), **what}
    compact.write(path, told)
    print("written:", path)
    return path


def figures(results: dict[str, Any]) -> list[ledger.Figure]:
    """Times for the ledger: images a second become microseconds an image."""
    found = []
    for name, row in results.items():
        sides = [row.get("rushlight"), row.get("torch")]
        if not WORK[name][1]:
            sides = [v and 1e6 / v for v in sides]
        if sides[0]:
            found.append((name, *sides))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="substrings of the workloads to run")
    parser.add_argument("--rounds", type=int, default=3)
    ledger.option(parser)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--growth", action="store_true", help="only the growth, and its plot")
    parser.add_argument("--seconds", type=float, default=25, help="of the growth, about")
    parser.add_argument("--draw", type=Path, metavar="RECORD", help="only draw a growth again")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="of the growth")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE.parent / "src"))
    if args.draw:
        draw(args.draw, args.picture)
        return
    from rushlight.runtime.cuda import why_not

    reason = why_not()
    if reason is not None:
        raise SystemExit(f"benchmarks/gpu.py needs an NVIDIA GPU: {reason}")
    today = datetime.date.today()
    if args.growth:
        record = {"growth": growth(args.seconds)}
        draw(write(args.out / f"growth-gpu-{today}.json", record), args.picture)
        return
    names = [n for n in WORK if not args.only or any(o in n for o in args.only)]
    print(f"{'':40} {'rushlight':>12} {'PyTorch':>12}")
    results = measure(names, args.rounds)
    write(args.out / f"gpu-{today}.json", {"results": results})
    ledger.record(args.ledger, "steps", "cuda", figures(results))


if __name__ == "__main__":
    main()
