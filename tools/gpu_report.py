"""Everything a machine with a GPU should show, in one call: suite, benchmarks, scripts, memory checker.

    PYTHONPATH=src python3 tools/gpu_report.py --out report [--only suite,steps,...] [--scripts FOLDER]

Each part has a time limit and a log of its own; one that fails does not stop the others. `report/summary.md` says
how each ended and holds the last lines of its log, `report/ledger.jsonl` has the figures for benchmarks/ledger.jsonl. FOLDER may have the two scripts of the seeds
(cifar10_gpu.py, dezero_step52.py) and `data`, where torchvision would put it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKED = ("tests/gpu/test_cuda_kernels.py", "tests/gpu/test_cuda_library.py", "tests/capture/test_capture_cuda.py")
SHARDS = 12  # processes of the memory checker, which slows a test down by ten


class Part:
    """A command, or several side by side, with a time limit."""

    def __init__(self, name: str, seconds: float, *commands: list[str], cwd: Path = ROOT) -> None:
        self.name, self.seconds, self.commands, self.cwd = name, seconds, commands, cwd

    def run(self, out: Path) -> tuple[str, str]:
        """How it ended and the end of what it printed."""
        began = time.time()
        logs = [out / f"{self.name}{i or ''}.log" for i in range(len(self.commands))]
        children = []
        for command, log in zip(self.commands, logs):
            with open(log, "w") as f:
                children.append(subprocess.Popen(command, stdout=f, stderr=subprocess.STDOUT, cwd=self.cwd))
        codes = []
        for child in children:
            try:
                codes.append(child.wait(max(self.seconds - (time.time() - began), 1)))
            except subprocess.TimeoutExpired:
                child.kill()
                codes.append(124)
        worst = next((c for c in codes if c), 0)
        ended = "ok" if not worst else "ran out of time" if worst == 124 else f"exit {worst}"
        tail = "\n".join(log.read_text(errors="replace")[-1500:] for log in logs[:3])
        return f"{ended}, {time.time() - began:.0f} s", tail


def parts(out: Path, scripts: Path | None) -> list[Part]:
    python = sys.executable
    rushlight = [python, "-m", "rushlight"]
    found = [
        Part("devices", 20, [*rushlight, "devices"]),
        Part("suite", 180, [python, "tools/gpu_suite.py", "--processes", "14", "--out", str(out / "suite.json"), "-k", "cuda"]),
        Part("steps", 150, [python, "benchmarks/compiled.py", "--device", "cuda", "--seconds", "0.4", "--json", "--ledger", str(out / "ledger.jsonl")]),
        Part("bench", 60, [*rushlight, "bench", "--seconds", "30", "--out", str(out / "bench")]),
        Part("train", 60, [*rushlight, "train", "--device", "cuda", "--epochs", "2", "--out", str(out / "train")]),
    ]  # fmt: skip
    checker = shutil.which("compute-sanitizer")
    if checker:
        test = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *CHECKED]
        commands = [[checker, "--error-exitcode", "9", *test, "--shard", f"{i}/{SHARDS}"] for i in range(SHARDS)]
        found.append(Part("checker", 240, *commands))
    for name in ("cifar10_gpu.py", "dezero_step52.py"):
        if scripts is not None and (scripts / name).exists():
            found.append(Part(Path(name).stem, 150, [*rushlight, "run", name], cwd=scripts))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("report"))
    parser.add_argument("--only", default="", help="names of parts, with commas")
    parser.add_argument("--scripts", type=Path)
    args = parser.parse_args()
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    wanted = set(filter(None, args.only.split(",")))
    chosen = [p for p in parts(args.out, args.scripts and args.scripts.resolve()) if not wanted or p.name in wanted]
    summary = [f"# {time.strftime('%Y-%m-%d %H:%M')}, commit {_commit()}\n"]
    good = True
    for part in chosen:
        ended, tail = part.run(args.out)
        good &= ended.startswith("ok")
        print(f"{part.name:<16}{ended}", flush=True)
        summary.append(f"## {part.name}: {ended}\n\n" + "\n".join(f"    {line}" for line in tail.splitlines()) + "\n")
        (args.out / "summary.md").write_text("\n".join(summary))
    return 0 if good else 1


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT, check=False)  # fmt: skip
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
