"""The one part of the build that pyproject.toml cannot say: the optional C extensions."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

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


setup(ext_modules=native() + pieces(), cmdclass={"build_ext": AllCores})
