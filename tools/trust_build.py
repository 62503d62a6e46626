"""What rushlight is built of: the native engine under sanitizers, and its dependencies' bounds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLAGS = (
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1"
)
TESTS = ["tests/test_cpu_engine.py", "tests/test_threads.py", "tests/test_pool_order.py", "tests/test_matmul.py"]  # fmt: skip


def _libraries() -> str:
    found = [
        subprocess.check_output(["gcc", f"-print-file-name=lib{name}.so"], text=True).strip()
        for name in ("asan", "ubsan")
    ]
    return " ".join(f for f in found if os.path.isabs(f))


def sanitizers(count: int, seed: int) -> tuple[str, bool]:
    """Build the engine with the address and undefined sanitizers beside the sources, run its tests."""
    preload = _libraries()
    if not preload:
        return "this gcc has no sanitizers, nothing was run", True
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        copy.mkdir()
        archive = subprocess.check_output(["git", "archive", "HEAD"], cwd=ROOT)
        subprocess.run(["tar", "x", "-C", str(copy)], input=archive, check=True)
        setup = copy / "setup.py"  # at -O3 the sanitizers' checks take many minutes to compile
        setup.write_text(setup.read_text().replace('"-O3"', '"-O1"'))
        env = {**os.environ, "CFLAGS": FLAGS, "LDFLAGS": "-fsanitize=address,undefined"}
        build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j", "2"]
        subprocess.run(build, cwd=copy, env=env, check=True, stdout=subprocess.DEVNULL)
        env = {**os.environ, "PYTHONPATH": str(copy / "src"), "LD_PRELOAD": preload,
               "PYTHONMALLOC": "malloc", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
               "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:halt_on_error=1"}  # fmt: skip
        done = subprocess.run([sys.executable, "-m", "pytest", *TESTS], cwd=copy, env=env,
                              capture_output=True, text=True)  # fmt: skip
    text = done.stdout + done.stderr
    found = re.findall(r"(?:runtime error:|ERROR: AddressSanitizer).*", text)
    last = text.strip().splitlines()[-1] if text.strip() else ""
    if done.returncode:
        print(text[-4000:], file=sys.stderr)
    whole = done.returncode in (0, 1)  # a test that fails for another reason is the suite's to tell
    return f"{' '.join(TESTS)}: {len(found)} findings ({last})", whole and not found


def supply(count: int, seed: int) -> tuple[str, bool]:
    """Bounds of every dependency, a lock file of exact versions, and pip-audit where it is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *(d for group in project["optional-dependencies"].values() for d in group)]  # fmt: skip
    open_ended = [d for d in listed if not re.search(r"==|(>=.*<|<.*>=)", d)]
    locked = [line for line in (ROOT / "requirements-ci.txt").read_text().splitlines() if line and line[0] != "#"]  # fmt: skip
    loose = [line for line in locked if "==" not in line]
    said = f"{len(listed)} dependencies, {len(open_ended)} without bounds, {len(locked)} locked"
    if open_ended or loose:
        print(f"without bounds: {open_ended}; not exact: {loose}", file=sys.stderr)
    if shutil.which("pip-audit") is None:
        return said + ", pip-audit is not installed", not open_ended and not loose
    done = subprocess.run(["pip-audit", "-r", str(ROOT / "requirements-ci.txt"), "--no-deps"], capture_output=True, text=True)  # fmt: skip
    return said + f", pip-audit ended with {done.returncode}", not open_ended and not loose and done.returncode == 0  # fmt: skip
