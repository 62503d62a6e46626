"""The parts of the build that pyproject.toml cannot say: two folders that become one package, optional C extensions."""

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, files
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import which
from types import ModuleType

from setuptools import Extension, find_namespace_packages, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

# PyTorch's names that are no engine: apart in the source, beside the others in a wheel.
NAMES = Path("src/torch_names/rushlight")
_FOLDERS = {name: NAMES / name.replace(".", "/") for name in find_namespace_packages(str(NAMES))}
NAMED = {f"rushlight.{n}": folder for n, folder in _FOLDERS.items() if (folder / "__init__.py").exists()}
ENGINE, NATIVE = "rushlight.runtime.cpu._native", Path("src/rushlight/runtime/cpu/native")
# Pieces in C of what is in Python too: extension -> folder of its sources
PIECES = {
    "rushlight.runtime.cuda.code._launch": Path("src/rushlight/runtime/cuda/code/native"),
    "rushlight.core._call": Path("src/rushlight/core/native"),
    "rushlight.capture._native": Path("src/rushlight/capture/native"),
    "rushlight.dezero._in_c": Path("src/rushlight/dezero/native"),
    "rushlight.distributed._sends": Path("src/rushlight/distributed/native"),
}
# Python's own flags ask for a debugger's tables, a fifth of the time to compile; CFLAGS=-g has them still.
NO_DEBUGGER = [] if "-g" in os.environ.get("CFLAGS", "").split() else ["-g0"]


LOOPS = "loops.c"  # compiled for each instruction set and part; a set is whole with all of its parts
SETS = {"BASE": "", "AVX2": "avx2 fma", "AVX512": "avx512f avx512dq"}  # and the flags of a processor that has it
PARTS = ("IMAGES", "PRODUCTS", "NUMBERS")


def sets_of(machine: str, flags: set[str]) -> list[str]:
    """The instruction sets, narrowest first, of a machine of this kind with these flags."""
    every = list(SETS) if machine.lower() in ("x86_64", "amd64") else ["BASE"]
    return [name for name in every if flags >= set(SETS[name].split())]


def built_sets(own: bool, machine: str, flags: set[str]) -> tuple[list[str], int]:
    """The sets to compile, and which of them is the first whole one: the last, in an engine for this machine alone.

    Narrow images take narrower vectors: of a set that is not whole the images' loops are there."""
    if own and flags:
        found = sets_of(machine, flags)
        return found, len(found) - 1
    return sets_of(machine, set(" ".join(SETS.values()).split())), 0


def flags_here() -> set[str]:
    """What the processor says of itself; empty where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return {flag for line in lines if line.startswith("flags") for flag in line.split()}


def native() -> list[Extension]:
    """The engine's extension; without NumPy's headers or a compiler rushlight installs without it."""
    try:
        import numpy
    except ImportError:
        return []
    return [
        Extension(
            ENGINE,
            sources=[str(path) for path in sorted(NATIVE.glob("*.c"))],
            depends=[str(path) for path in sorted(NATIVE.glob("*.h"))],
            include_dirs=[numpy.get_include()],
            # -fno-math-errno lets sqrtf be one instruction; NaN and inf keep their meaning.
            extra_compile_args=[
                "-O3",
                "-std=gnu11",
                "-fno-math-errno",
                "-fno-trapping-math",
                "-fvisibility=hidden",
                "-pthread",
                *NO_DEBUGGER,
            ],
            extra_link_args=["-pthread"],
            optional=True,
        )
    ]


def pieces() -> list[Extension]:
    """Calls of ops and launches of kernels; without a compiler both are made in Python."""
    try:  # an array's shape and dtype are read without a call
        import numpy
    except ImportError:
        return []
    return [
        Extension(
            name,
            sources=[str(path) for path in sorted(folder.glob("*.c"))],
            depends=[str(path) for path in sorted(folder.glob("*.h"))],
            extra_compile_args=["-O2", "-std=gnu11", "-fvisibility=hidden", *NO_DEBUGGER],
            include_dirs=[numpy.get_include()],
            libraries=["dl"],
            optional=True,
        )
        for name, folder in PIECES.items()
    ]


def loaded(path: Path | str, name: str) -> ModuleType:
    """A module of the package that needs nothing of it, by its file."""
    spec = spec_from_file_location(name, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_points(folder: Path) -> Path:
    """What the engine's C takes from the records of pointwise ops: a header of codes, loops and entries."""
    printers = loaded("src/rushlight/runtime/point.py", "point")
    points = {}
    for path in sorted(Path("src/rushlight/operators").rglob("*.py")):
        text = path.read_text()
        if "Point(" in text:
            points |= printers.records(text)
    made, text = folder / "point_made.h", printers.header(points)
    if not made.exists() or made.read_text() != text:  # else nothing is compiled anew
        folder.mkdir(parents=True, exist_ok=True)
        made.write_text(text)
    return made


class AllCores(build_ext):
    """Compiles all files side by side, and in a checkout for this machine alone: users wait for it.

    RUSHLIGHT_ALL_SETS=1 has all instruction sets in a checkout too, as a wheel and an install from the sdist do."""

    def run(self) -> None:
        every = bool(os.environ.get("RUSHLIGHT_ALL_SETS"))
        self.own = bool(self.inplace or self.editable_mode) and not every
        self.force = self.force or not self.own  # what is there may have been compiled for fewer
        super().run()

    def build_extensions(self) -> None:
        sets, whole = built_sets(self.own, platform.machine(), flags_here())
        print(f"compiling rushlight's C for {', '.join(sets[whole:])} on {os.cpu_count()} cores")
        told = [("INSTRUCTION_SETS", str(len(sets))), ("FIRST_WHOLE_SET", str(whole))]
        loops = [
            (name, part) for i, name in reversed(list(enumerate(sets))) for part in (PARTS if i >= whole else PARTS[:1])
        ]
        made = write_points(Path(self.build_temp))
        for extension in self.extensions:
            if extension.name == ENGINE:
                extension.include_dirs.append(str(made.parent))
                extension.depends.append(str(made))
        one_by_one = self.compiler.compile

        def compile(sources: list[str], output_dir: str, macros: list[tuple], **options: object) -> list[str]:
            def one(source: str, folder: str, more: list[tuple]) -> list[str]:
                return one_by_one([source], output_dir=folder, macros=[*macros, *more], **options)

            # The loops take long: they come first, so that no core waits for the last of them.
            work = [
                pool.submit(
                    one, source, f"{output_dir}/{name}_{part}", [(f"LOOPS_{name}", None), (f"LOOPS_{part}", None)]
                )
                for source in sources
                if Path(source).name == LOOPS
                for name, part in loops
            ]
            work += [pool.submit(one, source, output_dir, told) for source in sources if Path(source).name != LOOPS]
            return [name for each in work for name in each.result()]

        self.compiler.compile = compile
        self.parallel = len(self.extensions)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            super().build_extensions()


class OnePackage(build_py):
    """Puts the modules of PyTorch's names into the package, and writes the stubs that type checkers and editors read."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        found = super().find_package_modules(package, package_dir)
        return found + (super().find_package_modules(package, str(NAMES)) if package == "rushlight" else [])

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), "tools/stubs.py"]

    def run(self) -> None:
        super().run()
        package = Path(self.build_lib, "rushlight")
        out = [] if self.editable_mode else ["--out", str(package)]
        self.spawn([sys.executable, "tools/stubs.py", *out])
        if not self.editable_mode:
            self.pack_onednn(package / "runtime/cpu/onednn")

    def pack_onednn(self, folder: Path) -> None:
        """One copy of oneDNN without a debugger's names, and its licence, where its wheel is among what the build needs.

        That wheel has three copies of 55 MB and would be a dependency; this is one of 44 MB."""
        try:
            listed = files("onednn-cpu-gomp") or []
        except PackageNotFoundError:
            return
        for file in listed:
            if file.name in ("libdnnl.so.3", "LICENSE", "THIRD-PARTY-PROGRAMS"):
                self.copy_file(str(file.locate()), str(folder / file.name))
        if strip := which("strip"):
            self.spawn([strip, "--strip-unneeded", str(folder / "libdnnl.so.3")])


setup(
    packages=find_packages("src", include=["rushlight*"]) + list(NAMED),
    package_dir={"": "src", **{name: str(folder) for name, folder in NAMED.items()}},
    ext_modules=native() + pieces(),
    cmdclass={"build_ext": AllCores, "build_py": OnePackage},
)
