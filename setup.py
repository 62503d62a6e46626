"""The one part of the build that pyproject.toml cannot say: the optional C extensions."""

from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/rushlight/runtime/cpu/native")
# Pieces in C of what is in Python too: extension -> source
PIECES = {
    "rushlight.runtime.cuda.code._launch": "src/rushlight/runtime/cuda/code/native/launch.c",
    "rushlight.core._call": "src/rushlight/core/native/call.c",
}


def native() -> list[Extension]:
    """The engine's extension; without NumPy's headers or a compiler rushlight installs without it."""
    try:
        import numpy
    except ImportError:
        return []
    return [
        Extension(
            "rushlight.runtime.cpu._native",
            sources=[str(path) for path in sorted(NATIVE.glob("*.c"))],
            depends=[str(path) for path in sorted(NATIVE.glob("*.h"))],
            include_dirs=[numpy.get_include()],
            # -fno-math-errno lets sqrtf be one instruction; NaN and inf keep their meaning.
            extra_compile_args=[
                "-O3",
                "-std=gnu11",
                "-fno-math-errno",
                "-fno-trapping-math",
                "-pthread",
            ],
            extra_link_args=["-pthread"],
            optional=True,
        )
    ]


def pieces() -> list[Extension]:
    """Calls of ops and launches of kernels; without a compiler both are made in Python."""
    return [
        Extension(
            name,
            sources=[source],
            extra_compile_args=["-O2", "-std=gnu11"],
            libraries=["dl"],
            optional=True,
        )
        for name, source in PIECES.items()
    ]


setup(ext_modules=native() + pieces())
