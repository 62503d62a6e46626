"""The parts of the build that pyproject.toml cannot say: two folders that become one package, optional C extensions."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

# PyTorch's names that are no engine: apart in the source, beside the others in a wheel.
NAMES = Path("src/torch_names/rushlight")
NAMED = {f"rushlight.{name}": NAMES / name.replace(".", "/") for name in find_packages(str(NAMES))}
NATIVE = Path("src/rushlight/runtime/cpu/native")
# Pieces in C of what is in Python too: extension -> folder of its sources
PIECES = {
    "rushlight.runtime.cuda.code._launch": Path("src/rushlight/runtime/cuda/code/native"),
    "rushlight.core._call": Path("src/rushlight/core/native"),
    "rushlight.capture._versions": Path("src/rushlight/capture/native"),
    "rushlight.capture.loops._match": Path("src/rushlight/capture/loops/native"),
    "rushlight.dezero._in_c": Path("src/rushlight/dezero/native"),
}
# Python's own flags ask for a debugger's tables, a fifth of the time to compile; CFLAGS=-g has them still.
NO_DEBUGGER = [] if "-g" in os.environ.get("CFLAGS", "").split() else ["-g0"]


def last_to_be_done(source: Path) -> tuple[bool, str]:
    """An order: the loops of an instruction set, of which each file has all, before the bindings."""
    return not source.name.startswith("isa_"), source.name


def native() -> list[Extension]:
    """The engine's extension; without NumPy's headers or a compiler rushlight installs without it."""
    try:
        import numpy
    except ImportError:
        return []
    return [
        Extension(
            "rushlight.runtime.cpu._native",
            # Those that take long to compile come first, so that no core waits for the last of them.
            sources=[str(path) for path in sorted(NATIVE.glob("*.c"), key=last_to_be_done)],
            depends=[str(path) for path in sorted(NATIVE.glob("*.h"))],
            include_dirs=[numpy.get_include()],
            # -fno-math-errno lets sqrtf be one instruction; NaN and inf keep their meaning.
            extra_compile_args=[
                "-O3",
                "-std=gnu11",
                "-fno-math-errno",
                "-fno-trapping-math",
                "-pthread",
                *NO_DEBUGGER,
            ],
            extra_link_args=["-pthread"],
            optional=True,
        )
    ]


def pieces() -> list[Extension]:
    """Calls of ops and launches of kernels; without a compiler both are made in Python."""
    try:  # with NumPy's headers an array's shape and dtype are read without a call
        import numpy

        headers = {
            "include_dirs": [numpy.get_include()],
            "define_macros": [("NUMPY_HEADERS", "1")],
        }
    except ImportError:
        headers = {}
    return [
        Extension(
            name,
            sources=[str(path) for path in sorted(folder.glob("*.c"))],
            depends=[str(path) for path in sorted(folder.glob("*.h"))],
            extra_compile_args=["-O2", "-std=gnu11", "-fvisibility=hidden", *NO_DEBUGGER],
            libraries=["dl"],
            optional=True,
            **headers,
        )
        for name, folder in PIECES.items()
    ]


class AllCores(build_ext):
    """Compiles the files of an extension side by side: the engine has many, and users wait for them."""

    def build_extensions(self) -> None:
        one_by_one = self.compiler.compile

        def compile(sources: list[str], **options: object) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = pool.map(lambda source: one_by_one([source], **options), sources)
                return [name for names in objects for name in names]

        self.compiler.compile = compile
        super().build_extensions()


class OnePackage(build_py):
    """Puts the modules of PyTorch's names, and their stubs, into the package."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        found = super().find_package_modules(package, package_dir)
        return found + (
            super().find_package_modules(package, str(NAMES)) if package == "rushlight" else []
        )

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), *map(str, NAMES.glob("*.pyi"))]

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for stub in NAMES.glob("*.pyi"):
                self.copy_file(str(stub), str(Path(self.build_lib, "rushlight", stub.name)))


setup(
    packages=find_packages("src", include=["rushlight*"]) + list(NAMED),
    package_dir={"": "src", **{name: str(folder) for name, folder in NAMED.items()}},
    ext_modules=native() + pieces(),
    cmdclass={"build_ext": AllCores, "build_py": OnePackage},
)
