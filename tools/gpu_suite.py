"""Run the whole suite on a machine with a GPU, in several processes, and sum up what they saw.

PYTHONPATH=src python3 tools/gpu_suite.py [--processes 12] [--out results.json] [pytest options]

Needs pytest, hypothesis and cuDNN; without it it stops, since half of
the GPU's code would not run, unless `--without-cudnn` is given.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--out", default="gpu-suite.json")
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--without-cudnn", action="store_true")
    args, rest = parser.parse_known_args()
    if not args.without_cudnn and _machine()["cudnn"] is None:
        print("cuDNN is not installed: see the beginning of this file")
        return 2
    begin = time.time()
    wide = {"COLUMNS": "300"}  # so that each failure's reason stands beside its name
    environment = {**os.environ, **wide, "OMP_NUM_THREADS": "1", "RUSHLIGHT_NUM_THREADS": "1"}
    children = []
    for i in range(args.processes):
        command = [sys.executable, "-m", "pytest", "--shard", f"{i}/{args.processes}", "-p", "no:cacheprovider",
                   "--maxfail=200", "--tb=line", *rest]  # fmt: skip
        children.append(
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**environment, "SUITE_PROCESS": f"gw{i}"},  # tests take ports by it
            )
        )  # fmt: skip
    counts: dict[str, int] = {}
    failed: list[str] = []
    for child in children:
        left = max(args.seconds - (time.time() - begin), 1)
        try:
            output, _ = child.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            output = _stopped(child)
            counts["timed out processes"] = counts.get("timed out processes", 0) + 1
        failed += re.findall(r"^(?:FAILED|ERROR) (.*)$", output, re.M)
        closing = [line for line in output.splitlines() if re.search(r"\d+ (passed|failed)", line)]
        for n, what in re.findall(r"(\d+) (passed|failed|skipped|error)", closing[-1] if closing else ""):
            counts[what] = counts.get(what, 0) + int(n)
    summary = {"seconds": round(time.time() - begin, 1), **_machine(), "counts": counts, "failed": failed[:200]}
    with open(args.out, "w") as f:
        json.dump(summary, f, indent=1)
    print("\n".join(line[:230] for line in failed[:60]))
    print(json.dumps({k: v for k, v in summary.items() if k != "failed"}))
    return 1 if counts.get("failed") or counts.get("error") else 0


def _stopped(child: subprocess.Popen[str]) -> str:
    """What a process that takes too long has seen so far, if it still says that."""
    child.send_signal(signal.SIGINT)
    try:
        return child.communicate(timeout=20)[0]
    except subprocess.TimeoutExpired:
        child.kill()
        return child.communicate()[0]


def _machine() -> dict[str, object]:
    import cupy
    import numpy

    import rushlight

    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": rushlight.cuda.get_device_name(0),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "cupy": cupy.__version__,
        "cudnn": rushlight.backends.cudnn.version(),
        "engine": os.environ.get("RUSHLIGHT_CPU_ENGINE", "auto"),
    }


if __name__ == "__main__":
    sys.exit(main())
