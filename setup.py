"""The one part of the build that pyproject.toml cannot say: the optional C extensions."""

from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/rushlight/backend/cpu/native")
LAUNCH = "src/rushlight/backend/cuda/native/launch.c"


def native() -> list[Extension]:
    """The engine's extension; without NumPy's headers or a compiler rushlight installs without it."""
    try:
        import numpy
    except ImportError:
        return []
    return [
        Extension(
            "rushlight.backend.cpu._native",
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


def launch() -> list[Extension]:
    """Kernel launches in C; it needs no CUDA to be built, and without it they are made in Python."""
    return [
        Extension(
            "rushlight.backend.cuda._launch",
            sources=[LAUNCH],
            extra_compile_args=["-O2", "-std=gnu11"],
            libraries=["dl"],
            optional=True,
        )
    ]


setup(ext_modules=native() + launch())
