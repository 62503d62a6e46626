"""What rushlight is built of: the native engine under sanitizers, and its dependencies' bounds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import lock
from trust_record import Record

ROOT = Path(__file__).resolve().parents[1]
BUILDS = ROOT / "build" / "sanitized"
LIMIT = 1800  # seconds for one test file, which takes many times its usual time
# The thread sanitizer cannot follow a process that forks while it has threads, nor libgomp's barriers.
THREADED = [
    "engine/test_threads.py",
    "ops/test_pool_order.py",
    "engine/test_thread_state.py",
    "engine/test_cpu_engine.py",
]
UNFORKED = "(thread or pool or order) and not fork and not another_library and not workers"


# Files of the suite that run nothing of the native engine, and what they run instead.
ELSEWHERE = {
    "test_doc_commands.py": "reads the pages and asks commands for their help",
    "test_emulated_gpu.py": "kernels for GPUs in a library that another compiler makes; runs where it is found",
    "test_ledger.py": "reads and writes lines of figures",
    "test_packaging.py": "reads what a wheel would hold",
    "test_release.py": "git in a small repository",
    "test_site.py": "MkDocs, links, and short programs of the pages in processes of their own",
    "test_site_files.py": "reads first lines",
    "test_types.py": "mypy, pyright and stubs",
}


# A test that sends itself SIGSEGV, as a worker that crashes: no error of memory.
_SENT = re.compile(r"SUMMARY: AddressSanitizer: SEGV .* in kill$", re.M)


@dataclass(frozen=True)
class Sanitizer:
    """One of gcc's sanitizers: how it is built and put before Python, and what its findings look like."""

    name: str
    flag: str
    libraries: tuple[str, ...]
    options: dict[str, str]
    finding: str

    def preload(self) -> str:
        """The shared libraries that must be there before everything else; empty where gcc has none."""
        asked = [["gcc", f"-print-file-name=lib{name}.so"] for name in self.libraries]
        found = [subprocess.check_output(a, text=True).strip() for a in asked]
        return " ".join(f for f in found if os.path.isabs(f))

    def build(self) -> Path:
        """The tree of the last commit, built with this sanitizer in a folder of its own; what was built stays."""
        copy = BUILDS / self.name
        archive = subprocess.check_output(["git", "archive", "HEAD"], cwd=ROOT)
        for name in ("src", "tests", "tools"):  # what was deleted must go, what is built stays
            for old in (copy / name).rglob("*"):
                if old.is_file() and old.suffix != ".so":
                    old.unlink()
        copy.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "x", "-m", "-C", str(copy)], input=archive, check=True)
        setup = copy / "setup.py"  # at -O3 the sanitizers' checks take many minutes to compile
        setup.write_text(setup.read_text().replace('"-O3"', '"-O1"'))
        flags = f"{self.flag} -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1"
        env = {**os.environ, "CFLAGS": flags, "LDFLAGS": self.flag}
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j", "2"]
        subprocess.run(command, cwd=copy, env=env, check=True, stdout=subprocess.DEVNULL)
        return copy

    def run(self, copy: Path, tests: list[str]) -> tuple[int, list[str], str]:
        """How many tests ran, what the sanitizer said, and what else went wrong."""
        with tempfile.TemporaryDirectory() as folder:
            options = {k: f"{v}:log_path={folder}/log" for k, v in self.options.items()}
            # OpenBLAS's own threads, like libgomp's, wait for each other in ways that no sanitizer sees.
            env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(copy / "src"), "LD_PRELOAD": self.preload(),
                   "PYTHONMALLOC": "malloc", **options}  # fmt: skip
            command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
            try:
                done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, timeout=LIMIT)
            except subprocess.TimeoutExpired:
                return 0, [], f"not done after {LIMIT} seconds"
            told = [f.read_text(errors="replace") for f in Path(folder).glob("log*")]
            logs = "".join([t for t in told if not _SENT.search(t)])
        text = done.stdout + done.stderr + logs
        found = re.findall(self.finding, text)
        ran = re.search(r"(\d+) tests ran", text)
        # A test that fails for another reason is the suite's to tell; a process that dies is not.
        wrong = "" if done.returncode in (0, 1, 5) else f"pytest ended with {done.returncode}"
        if found or wrong:
            print(text[-6000:], file=sys.stderr, flush=True)
        elif done.returncode == 1:
            failed = re.findall(r"^(?:FAILED|ERROR) .*", done.stdout, re.M)
            print("\n".join(failed), file=sys.stderr, flush=True)
        return int(ran[1]) if ran else 0, found, wrong


ADDRESS = Sanitizer(
    "address", "-fsanitize=address,undefined", ("asan", "ubsan"),
    {"ASAN_OPTIONS": f"suppressions={ROOT / 'tools' / 'asan.txt'}:detect_leaks=0:abort_on_error=1:halt_on_error=1",
     "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"},
    r"(?:runtime error:|ERROR: AddressSanitizer).*",
)  # fmt: skip
THREAD = Sanitizer(
    "thread", "-fsanitize=thread", ("tsan",),
    {"TSAN_OPTIONS": f"suppressions={ROOT / 'tools' / 'tsan.txt'}:report_signal_unsafe=0"},
    r"WARNING: ThreadSanitizer.*",
)  # fmt: skip


def _under(sanitizer: Sanitizer, slices: list[list[str]], count: int, record: Record) -> tuple[str, bool]:
    """So many of the slices that the record does not have, in order; all again when it has them all."""
    if not sanitizer.preload():
        return f"this gcc has no {sanitizer.name} sanitizer, nothing was run", True
    copy = sanitizer.build()
    wrong = []
    missing = [s for s in slices if s[0] not in record.named] or slices
    for tests in missing[: count or len(missing)]:
        ran, found, why = sanitizer.run(copy, tests)
        if found or why:
            wrong.append(f"{tests[0]}: {why or found[0]}")
        record.add("tests", name=tests[0], slices=1, tests=ran, findings=len(found), unfinished=bool(why))
        print(f"{' '.join(tests)}: {ran} tests, {len(found)} findings {why}", flush=True)
    counts = record.counts
    said = (
        f"{counts['tests']:,} tests of {len(record.named)} of {len(slices)} files, "
        f"{counts['findings']} findings, {counts['unfinished']} not finished"
    )
    return said, not wrong


def sanitizers(count: int, seed: int, record: Record) -> tuple[str, bool]:
    """The suite under the address and undefined sanitizers, `count` of its files at a time (0: all)."""
    files = [f for f in sorted((ROOT / "tests").glob("*/test_*.py")) if f.name not in ELSEWHERE]
    return _under(ADDRESS, [[str(f.relative_to(ROOT))] for f in files], count, record)


def threads(count: int, seed: int, record: Record) -> tuple[str, bool]:
    """The pool's and the threads' tests under the thread sanitizer."""
    return _under(THREAD, [[f"tests/{f}", "-k", UNFORKED] for f in THREADED], count, record)


def unlike_lock() -> tuple[list[str], list[str]]:
    """Packages that requirements-ci.lock does not have yet, and those of another version or without a hash there."""
    text = lock.LOCK.read_text()
    wanted, found = lock.versions(lock.VERSIONS.read_text()), lock.versions(text)
    pieces = re.split(r"^(?=[a-z0-9])", text, flags=re.M)[1:]
    bare = {n for p in pieces if "--hash=sha256:" not in p for n in lock.versions(p)}
    wrong = [n for n in found if wanted.get(n, found[n]) != found[n] or n in bare]
    return sorted(set(wanted) - set(found)), sorted(wrong)


def supply(count: int, seed: int, record: Record) -> tuple[str, bool]:
    """Bounds of every dependency, exact versions with hashes for CI, and pip-audit where it is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *(d for group in project["optional-dependencies"].values() for d in group)]
    open_ended = [d for d in listed if not re.search(r"==|(>=.*<|<.*>=)", d)]
    locked = [line for line in (ROOT / "requirements-ci.txt").read_text().splitlines() if line and line[0] != "#"]
    new, wrong = unlike_lock()
    loose = [line for line in locked if "==" not in line] + wrong
    said = f"{len(listed)} dependencies, {len(open_ended)} without bounds, {len(locked)} locked, {len(new)} of them without hashes yet"
    if open_ended or loose:
        print(f"without bounds: {open_ended}; not exact or not hashed: {loose}", file=sys.stderr)
    if shutil.which("pip-audit") is None:
        return said + ", pip-audit is not installed", not open_ended and not loose
    done = subprocess.run(["pip-audit", "-r", str(ROOT / "requirements-ci.txt"), "--no-deps"], capture_output=True, text=True)  # fmt: skip
    return said + f", pip-audit ended with {done.returncode}", not open_ended and not loose and done.returncode == 0
