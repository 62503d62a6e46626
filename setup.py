"""The one part of the build that pyproject.toml cannot say: the optional native CPU engine."""

from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/rushlight/backend/cpu/native")


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


setup(ext_modules=native())
