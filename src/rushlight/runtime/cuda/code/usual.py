"""The kernels that most networks ask for, compiled before they are asked for: `usual.xz` has their sources.

`usual-sm_90.xz` beside it has their machine code, for each architecture that a wheel was built for. For others the first
process that uses a GPU compiles them in the background, on cores that it has to spare, while Python builds its network;
`rushlight warm` compiles them at once. tools/usual_kernels.py writes all of these files.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import lzma
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ....base.config import settings
from ....base.locks import new_lock

_FILE = Path(__file__).with_name("usual.xz")
_KERNELS = Path(__file__).parents[1] / "kernels"
_MOST_THREADS = 12
_SPARE_FROM = 4  # cores from which a program does not need all of them


def parts_of(text: str) -> list[str]:
    """A source as names of files, which begin with @, and what stands between them: the reverse of `whole`."""
    parts = [text]
    for path in sorted(_KERNELS.iterdir()):
        name, found = path.name, path.read_text()
        cut: list[str] = []
        for part in parts:
            if part.startswith("@"):
                cut.append(part)
                continue
            for i, rest in enumerate(part.split(found)):
                cut += ["@" + name] if i else []
                cut += [rest] if rest else []
        parts = cut
    return parts


def whole(parts: list[str]) -> str:
    return "".join([(_KERNELS / p[1:]).read_text() if p.startswith("@") else p for p in parts])


class UsualKernel(NamedTuple):
    """One of the list."""

    text: str
    options: tuple[str, ...]  # all but those of every kernel
    networks: frozenset[int]  # those that asked for it when the list was made


def usual() -> list[UsualKernel]:
    """The list, those that most networks asked for first."""
    literals, asked = json.loads(lzma.decompress(_FILE.read_bytes()))
    return [
        UsualKernel(whole([literals[i] for i in parts]), tuple([literals[i] for i in options]), frozenset(networks))
        for parts, options, networks in asked
    ]


def packed(asked: Iterable[UsualKernel]) -> bytes:
    """What `usual` reads."""
    literals: dict[str, int] = {}

    def number(text: str) -> int:
        return literals.setdefault(text, len(literals))

    rows = [([number(p) for p in parts_of(k.text)], [number(o) for o in k.options], sorted(k.networks)) for k in asked]
    return lzma.compress(json.dumps([list(literals), rows]).encode(), preset=9)


def key_of(text: str, options: tuple[str, ...]) -> str:
    """What a kernel's machine code is found by."""
    return hashlib.sha256("\0".join((*options, text)).encode()).hexdigest()[:40]


def packed_codes(codes: dict[str, bytes]) -> bytes:
    """What `shipped` reads."""
    sizes = {key: len(code) for key, code in codes.items()}
    return lzma.compress(json.dumps(sizes).encode() + b"\n" + b"".join(codes.values()), preset=9)


@lru_cache(4)
def shipped(arch: str) -> dict[str, bytes]:
    """Machine code that came with the package: for an architecture, or for the first one of its generation."""
    for name in (arch, f"{arch[:-1]}0"):
        try:
            head, _, rest = lzma.decompress(_FILE.with_name(f"usual-{name}.xz").read_bytes()).partition(b"\n")
        except (OSError, lzma.LZMAError):
            continue
        found, at = {}, 0
        for key, size in json.loads(head).items():
            found[key] = rest[at : at + size]
            at += size
        return found
    return {}


class CompileWork:
    """The list for one architecture, compiled by several threads until it is done or stopped.

    What the program asks for meanwhile tells which networks it is like, and their kernels come first.
    """

    def __init__(self, compiler: Any, arch: str, threads: int, told: Callable[[int, int], None] | None = None) -> None:
        self._compiler, self.told = compiler, told  # compile.py
        self.made = self.done = self.count = 0
        self.stopped = False
        self._arch = arch
        self._lock = new_lock()
        self._left: dict[Path, tuple[UsualKernel, tuple[str, ...]]] | None = None
        self._order: list[Path] = []  # of what is left, the next one last
        self._all: dict[Path, UsualKernel] = {}
        self._alike: Counter[int] = Counter()  # networks that asked for what this program asks for
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    def start(self) -> CompileWork:
        self._compiler.heard = self.heard
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Begin no more of them, and wait for those under way: the compiler must be out when the process ends."""
        self.stopped = True
        self.wait()

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()
        self._compiler.heard = None

    def heard(self, path: Path) -> None:
        """The program asks for a kernel."""
        if threading.current_thread() in self._threads:
            return
        with self._lock:
            found = self._all.get(path)
            if found is not None:
                self._alike.update(found.networks)
                self._order = []

    def _next(self) -> tuple[UsualKernel, tuple[str, ...]] | None:
        with self._lock:
            if self._left is None:
                self._left = {}
                for kernel in usual():
                    flags = (*self._compiler.OPTIONS, *kernel.options, f"-arch={self._arch}")
                    path = self._compiler.path_of(kernel.text, flags)
                    self._all[path], self._left[path] = kernel, (kernel, flags)
                self.count = len(self._left)
            if not self._order:
                self._order = sorted(self._left, key=self._worth)
            return self._left.pop(self._order.pop()) if self._order else None

    def _worth(self, path: Path) -> int:
        """How likely the program is to ask for a kernel: networks count by how much they are like it."""
        return sum((1 + self._alike[n]) ** 3 for n in self._all[path].networks)

    def _run(self) -> None:
        _step_back()
        while not self.stopped:
            one = self._next()
            if one is None:
                break
            kernel, flags = one
            made = not self._compiler.is_kept(kernel.text, flags)
            if made:
                try:
                    self._compiler.cubin(kernel.text, flags)
                except Exception:  # noqa: BLE001 - whoever asks for it is told why
                    made = False
            with self._lock:
                self.made, self.done = self.made + made, self.done + 1
                if self.told is not None:
                    self.told(self.done, self.count)


def _step_back() -> None:
    """Let this thread wait for all others of the machine."""
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        except OSError:
            pass


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def begin(compiler: Any) -> None:
    """Compile what is missing in the background; on a small machine, and where nothing can be kept, nothing."""
    if cores() >= _SPARE_FROM and settings.compiles_ahead:
        given = (compiler, compiler.arch())
        threading.Thread(target=_in_the_background, args=given, daemon=True).start()


def _in_the_background(compiler: Any, arch: str) -> None:
    _step_back()
    folder = Path(settings.cache_dir) / "cuda"
    try:
        told = hashlib.sha256(_FILE.read_bytes()).hexdigest()[:12]
        mark = folder / f"usual-{told}-{arch}-{compiler.version()}"
        if mark.exists() or shipped(arch):
            return
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "usual.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # one process of a machine does it
            work = CompileWork(compiler, arch, min(_MOST_THREADS, cores() // 2)).start()
            atexit.register(work.stop)
            work.wait()
            atexit.unregister(work.stop)
            if not work.stopped:
                mark.touch()
    except OSError:  # another process is at it, or nothing can be read or written
        return


def warm(compiler: Any, arch: str, told: Callable[[int, int], None]) -> tuple[int, int, float]:
    """Compile them all for an architecture, now: how many were made, how many there are, and the seconds it took."""
    begun = time.perf_counter()
    work = CompileWork(compiler, arch, cores(), told).start()
    work.wait()
    return work.made, work.count, time.perf_counter() - begun
