"""A scripted first visit: what a stranger types in the first minutes, what each takes, how it ends, and how large things are.

    python tools/first_visit.py [--test]        a fresh clone: `make train` (and `make test`), `pip install .`, and what follows
    python tools/first_visit.py --wheel FILE    short: a wheel that is built already, where no compiler is in reach (CI, `make wheel`)

What follows is the same: an empty environment, `rushlight train --data` before its extras are there, the README's program and commands
with a folder of drawn pictures, the lab with the pictures of the package, three wrong turns. The first step that does not end as it
should, or an installation that is larger than it may be, ends the visit with status 1; times are told and not judged.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_MB = 130  # of `pip install .`, with NumPy and the fastest engine, without bytecode (docs/start.md#size)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
ENGINES = """
import rushlight as torch
from rushlight.runtime.cpu import engine
import rushlight.core._call, rushlight.runtime.cpu._native, rushlight.runtime.cuda.code._launch
assert "site-packages" in torch.__file__, torch.__file__
x = torch.randn(4, 4, requires_grad=True)
(x @ x).relu().sum().backward()
print("engines in C: calls, CPU, launches")
"""
# What is typed wrong, what the answer must say; each ends with another status than 0, on one screen and without a traceback.
WRONG = {
    "rushlight train --data nowhere": "nowhere",
    "rushlight train --task detect": "--task",
    "rushlight run": "script",
}


def megabytes(*folders: Path, bytecode: bool = False) -> float:
    """What the files of folders weigh; one that has two names counts once. Bytecode is Python's copy of what is there."""
    files = {f.stat().st_ino: f.stat().st_size for d in folders for f in [d, *d.rglob("*")]
             if f.is_file() and not f.is_symlink() and (bytecode or f.suffix != ".pyc")}  # fmt: skip
    return sum(files.values()) / 1e6


def typed(page: str) -> list[str]:
    """The lines of a page that begin with `rushlight`, as they would be typed."""
    lines = re.findall(r"^    (rushlight .*)$", page, re.M)
    return [re.split(r"\s+#\s", line)[0].strip() for line in lines]


class Visit:
    """The steps of one visit, in a folder of its own."""

    def __init__(self, home: Path, compiler: bool) -> None:
        self.home, self.work, self.env = home, home / "work", home / "env"
        self.work.mkdir()
        kept = ("PIP_", "SSL_", "REQUESTS_", "LANG")
        self.names = {k: v for k, v in os.environ.items() if k.startswith(kept)}
        here = [str(self.env / "bin"), *([os.environ["PATH"]] if compiler else [])]
        self.names |= {"PATH": os.pathsep.join(here), "HOME": str(home)}
        self.names |= {} if compiler else {"CC": "no-compiler-here"}
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        print(f"{'seconds':>8}  {'status':>6}  {'MB':>6}  step")

    def row(self, step: str, seconds: float, status: int | str = "", mb: float | None = None) -> None:
        size = "" if mb is None else f"{mb:.1f}"
        print(f"{seconds:8.1f}  {status!s:>6}  {size:>6}  {step}", flush=True)

    def do(self, step: str, *command: object, says: str = "", fails: bool = False, cwd: Path | None = None,
           sizes: tuple[Path, ...] = ()) -> str:  # fmt: skip
        """Runs a step; SystemExit where it ends otherwise than it should."""
        begun = time.monotonic()
        words = [str(c) for c in command]
        words[0] = shutil.which(words[0], path=self.names["PATH"]) or words[0]
        done = subprocess.run(words, cwd=cwd or self.work, env=self.names, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        self.row(step, time.monotonic() - begun, done.returncode, megabytes(*sizes) if sizes else None)
        bad = (
            f"ended with status {done.returncode}" if bool(done.returncode) != fails
            else f"does not say {says!r}" if says not in done.stdout
            else "answers with a traceback" if fails and "Traceback" in done.stdout
            else "answers with more than 30 lines" if fails and done.stdout.count("\n") > 30
            else ""
        )  # fmt: skip
        if bad:
            raise SystemExit(f"{done.stdout}\nfirst visit: {step}: {bad}")
        return done.stdout

    def clone(self, test: bool) -> Path:
        """A fresh clone, and the two commands in it."""
        where = self.home / "rushlight"
        self.do("git clone", "git", "clone", "-q", "--no-local", ROOT, where, sizes=(where,))
        self.do("make train", "make", "train", cwd=where, sizes=(where / ".venv",))
        if test:
            self.do("make test", "make", "test", cwd=where)
        return where

    def install(self, what: str, shown: str) -> None:
        """Without extras first, which is what is weighed; then with what the command line needs."""
        venv.create(self.env, with_pip=True)
        packages = next((self.env / "lib").glob("python*")) / "site-packages"
        before = {p.name for p in packages.iterdir()} | {packages.parent.name}
        self.do(f"pip install {shown}", "pip", "install", "-q", what)
        added = [p for d in (packages, self.env / "lib") for p in d.iterdir() if p.name not in before]
        weight = megabytes(*added)
        for one in sorted(added, key=megabytes, reverse=True)[:6]:
            self.row(f"   of it {one.name}", 0, "", megabytes(one))
        self.row("all that was installed", 0, "", weight)
        self.row("   with the bytecode that pip writes", 0, "", megabytes(*added, bytecode=True))
        if weight > MOST_MB:
            raise SystemExit(f"first visit: {weight:.0f} MB were installed; {MOST_MB} are allowed")
        self.do("its engines", "python", "-c", ENGINES)
        subprocess.run([sys.executable, ROOT / "tools/drawn_set.py", "shapes", self.work / "photos"], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        self.do("train --data without its extras", "rushlight", "train", "--data", "photos", says="rushlight[cli]", fails=True)  # fmt: skip
        self.do(f"pip install '{shown}[cli]'", "pip", "install", "-q", f"{what}[cli]", sizes=(packages,))

    def read_me(self, short: bool) -> None:
        """The README's program, then its commands, in their order."""
        page = (ROOT / "README.md").read_text()
        (program,) = PYTHON.findall(page)
        self.do("README: its program", "python", "-c", program, says=re.findall(r"# (\d\.\d+)", program)[-1])
        for line in typed(page):
            words = shlex.split(line)
            for script in (w for w in words if w.endswith(".py")):
                shutil.copy(ROOT / "examples/curve.py", self.work / script)
            short_form = ["--epochs", "1"] if short and words[1] == "train" and "--resume" not in words else []
            self.do(f"README: {shlex.join(words + short_form)}", *words, *short_form)

    def lab(self) -> None:
        """All blocks of the lab as one script, with the pictures of the package; it prints what the page shows, but for rounding."""
        page = (ROOT / "docs/lab/en.md").read_text()
        script = "\n".join(PYTHON.findall(page)).replace("online = True", "online = False")
        (self.work / "lab.py").write_text(script)
        said = self.do("the lab's blocks", "python", "lab.py", says="images/s")
        printed = "".join(x for x in said.splitlines(True) if "images/s" not in x)
        shown = "".join(re.findall(r"^```text\n(.*?)^```$", page, re.S | re.M))
        words = [NUMBER.sub("#", text) for text in (printed, shown)]
        pairs = zip(*([float(n) for n in NUMBER.findall(text)] for text in (printed, shown)))
        if words[0] != words[1] or any(abs(a - b) > 0.15 * b for a, b in pairs):
            raise SystemExit(f"first visit: the lab prints\n{printed}\nand shows\n{shown}")

    def wrong_turns(self) -> None:
        for line, says in WRONG.items():
            self.do(f"wrong: {line}", *line.split(), says=says, fails=True)


def visit(wheel: Path | None = None, test: bool = False) -> None:
    """The whole visit, or the short one of a wheel."""
    with tempfile.TemporaryDirectory(prefix="first-visit-") as place:
        one = Visit(Path(place), compiler=wheel is None)
        if wheel is None:
            one.install(str(one.clone(test)), ".")
        else:
            one.row("the wheel", 0, "", megabytes(wheel))
            one.install(str(wheel.resolve()), "the wheel")
        one.read_me(short=wheel is not None)
        one.lab()
        one.wrong_turns()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--test", action="store_true", help="`make test` in the clone, too")
    args = parser.parse_args()
    visit(args.wheel, args.test)


if __name__ == "__main__":
    main()
