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

from trust_record import Record

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = "-fsanitize=address,undefined"
THREAD = "-fsanitize=thread"
TESTS = ["tests/test_cpu_engine.py", "tests/test_threads.py", "tests/test_pool_order.py", "tests/test_matmul.py"]  # fmt: skip
THREADED = ["tests/test_threads.py", "tests/test_cpu_engine.py", "tests/test_pool_order.py"]  # fmt: skip


def _libraries(*names: str) -> str:
    found = [
        subprocess.check_output(["gcc", f"-print-file-name=lib{name}.so"], text=True).strip()
        for name in names
    ]
    return " ".join(f for f in found if os.path.isabs(f))


def _tested(sanitizer: str, preload: str, options: dict[str, str], tests: list[str], log: str) -> tuple[str, bool]:  # fmt: skip
    """Build a copy of the tree with a sanitizer, run tests there; what it found and whether that is nothing."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        copy.mkdir()
        archive = subprocess.check_output(["git", "archive", "HEAD"], cwd=ROOT)
        subprocess.run(["tar", "x", "-C", str(copy)], input=archive, check=True)
        setup = copy / "setup.py"  # at -O3 the sanitizers' checks take many minutes to compile
        setup.write_text(setup.read_text().replace('"-O3"', '"-O1"'))
        flags = f"{sanitizer} -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1"
        env = {**os.environ, "CFLAGS": flags, "LDFLAGS": sanitizer}
        build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j", "2"]
        subprocess.run(build, cwd=copy, env=env, check=True, stdout=subprocess.DEVNULL)
        options = {k: v.replace("LOG", str(Path(folder) / "log")) for k, v in options.items()}
        env = {**os.environ, "PYTHONPATH": str(copy / "src"), "LD_PRELOAD": preload, "PYTHONMALLOC": "malloc", **options}  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True)
        logs = "".join([f.read_text(errors="replace") for f in Path(folder).glob("log*")])
    text = done.stdout + done.stderr + logs
    found = re.findall(log, text)
    last = next((line for line in text.splitlines() if "tests ran" in line), "nothing ran")
    if done.returncode or found:
        print(text[-4000:], file=sys.stderr)
    whole = done.returncode in (0, 1)  # a test that fails for another reason is the suite's to tell
    return f"{' '.join(tests)}: {len(found)} findings ({last})", whole and not found


def sanitizers(count: int, seed: int, record: Record) -> tuple[str, bool]:
    """The engine and its tests under the address and undefined sanitizers."""
    preload = _libraries("asan", "ubsan")
    if not preload:
        return "this gcc has no sanitizers, nothing was run", True
    options = {"UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
               "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:halt_on_error=1"}  # fmt: skip
    return _tested(
        ADDRESS, preload, options, TESTS, r"(?:runtime error:|ERROR: AddressSanitizer).*"
    )


def threads(count: int, seed: int, record: Record) -> tuple[str, bool]:
    """The engine's pool and the tests of threads under the thread sanitizer, which cannot follow a fork."""
    preload = _libraries("tsan")
    if not preload:
        return "this gcc has no thread sanitizer, nothing was run", True
    ours = f"suppressions={ROOT / 'tools' / 'tsan.txt'} log_path=LOG"
    options = {"TSAN_OPTIONS": f"{ours} report_signal_unsafe=0"}
    chosen = [*THREADED, "-k", "(thread or pool or order) and not fork and not another_library"]
    return _tested(THREAD, preload, options, chosen, r"WARNING: ThreadSanitizer.*")


def supply(count: int, seed: int, record: Record) -> tuple[str, bool]:
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
