"""Images per second by batch and width, CPU and GPU, with a plot: what `rushlight bench` measures, kept as a record.

    python benchmarks/gpu.py --growth         measures, into benchmarks/results/growth-gpu-<date>.json
    python benchmarks/gpu.py --draw RECORD    the plot again, from such a record; needs no GPU

Steps, products and bandwidth beside PyTorch are rows of compiled.py, park.py and ops.py with `--device cuda`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import compact  # noqa: E402

HERE = Path(__file__).resolve().parent
PICTURE = HERE.parent / "docs" / "growth-gpu.svg"


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
    from rushlight.cli import bench
    from rushlight.cli.report import svg

    found = json.loads(record.read_text())["growth"]
    print("drawn to", svg.write(str(picture), bench.drawing(found["model"], found["rows"], found["places"])))


def write(path: Path, what: dict[str, Any]) -> Path:
    """A record with its date and machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {"date": datetime.date.today().isoformat(), "machine": machine(), **what}
    compact.write(path, told)
    print("written:", path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--growth", action="store_true", help="measure, and draw what was found")
    parser.add_argument("--seconds", type=float, default=25, help="of the growth, about")
    parser.add_argument("--draw", type=Path, metavar="RECORD", help="only draw a growth again")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="of the growth")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE.parent / "src"))
    if args.draw:
        draw(args.draw, args.picture)
        return
    if not args.growth:
        parser.error("--growth or --draw RECORD")
    from rushlight.runtime.cuda import why_not

    reason = why_not()
    if reason is not None:
        raise SystemExit(f"benchmarks/gpu.py needs an NVIDIA GPU: {reason}")
    record = {"growth": growth(args.seconds)}
    draw(write(args.out / f"growth-gpu-{datetime.date.today()}.json", record), args.picture)


if __name__ == "__main__":
    main()
