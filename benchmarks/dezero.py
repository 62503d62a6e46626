"""Step 52 of the DeZero book, seconds per epoch: rushlight.dezero and the original DeZero in one run.

    python benchmarks/dezero.py --root DIR [--original DIR] [--epochs 5] [--gpu] [--json FILE]

`--root` holds MNIST/raw, packed or unpacked. `--original` is a folder with the original's package `dezero`
in it, made to import on today's NumPy; without it only our side is shown. Each side trains the script's MLP
in a process of its own, and they take turns epoch by epoch, so that a busy machine is unfair to both alike.
The ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")


def prepare(root: Path, cache: Path) -> None:
    """The two files where the original's cache has them."""
    for name in FILES:
        plain = root / "MNIST" / "raw" / name
        packed = plain.with_name(name + ".gz")
        if packed.exists():
            shutil.copy(packed, cache / packed.name)
        elif plain.exists():
            with gzip.open(cache / packed.name, "wb", 1) as f:
                f.write(plain.read_bytes())
        else:
            raise SystemExit(f"there is no {plain} and no {packed.name} beside it")


def train(cache: str, gpu: bool) -> None:
    """The script, one epoch for each line on stdin; prints seconds and loss of each as JSON."""
    import dezero
    import dezero.functions as F
    import dezero.utils
    from dezero import DataLoader, optimizers
    from dezero.models import MLP

    dezero.utils.cache_dir = cache
    train_set = dezero.datasets.MNIST(train=True)
    train_loader = DataLoader(train_set, 100)
    model = MLP((1000, 10))
    optimizer = optimizers.SGD().setup(model)
    if gpu and dezero.cuda.gpu_enable:
        train_loader.to_gpu()
        model.to_gpu()
    for _ in sys.stdin:
        start = time.perf_counter()
        sum_loss = 0.0
        for x, t in train_loader:
            y = model(x)
            loss = F.softmax_cross_entropy(y, t)
            model.cleargrads()
            loss.backward()
            optimizer.update()
            sum_loss += float(loss.data) * len(t)
        seconds = time.perf_counter() - start
        found = {"seconds": seconds, "loss": sum_loss / len(train_set)}
        print("RESULT " + json.dumps({**found, "dtype": str(model.l0.W.data.dtype)}), flush=True)


class Side:
    """One library in its own process."""

    def __init__(self, name: str, cache: Path, original: str | None, gpu: bool) -> None:
        self.name = name
        self.epochs: list[dict[str, Any]] = []
        command = [sys.executable, str(HERE), "--child", str(cache), *(["--gpu"] if gpu else [])]
        if original is not None:
            command += ["--original", original]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process: Any = subprocess.Popen(command, text=True, env=dict(os.environ), **pipes)

    def epoch(self) -> dict[str, Any]:
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("RESULT "):
                self.epochs.append(json.loads(line[7:]))
                return self.epochs[-1]
        raise SystemExit(f"{self.name} ended early")

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()

    def median(self) -> float:
        return statistics.median([e["seconds"] for e in self.epochs])


def compare(args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        prepare(Path(args.root), cache)
        sides = [Side("rushlight.dezero", cache, None, args.gpu)]
        if args.original:
            sides.append(Side("original DeZero", cache, args.original, args.gpu))
        for i in range(args.epochs):
            for side in sides:
                e = side.epoch()
                print(
                    f"epoch {i + 1}  {side.name:<17} {e['seconds']:8.3f} s  loss {e['loss']:.4f}  {e['dtype']}",
                    flush=True,
                )
        for side in sides:
            side.close()
    report = {s.name: {"median_s": s.median(), "epochs": s.epochs} for s in sides}
    if len(sides) == 2:
        report["ratio"] = sides[1].median() / sides[0].median()
        print(f"rushlight.dezero is {report['ratio']:.2f} times as fast (medians)")
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default="data", help="the folder that has MNIST/raw")
    parser.add_argument("--original", help="the folder that has the original's package dezero")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        if args.original:
            sys.path[0] = args.original  # in place of this folder, which has a dezero.py
        else:
            from rushlight.cli.scripts import alias

            alias.install()
        train(args.child, args.gpu)
        return
    report = compare(args)
    if args.json:
        Path(args.json).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
