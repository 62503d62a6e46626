"""`torch.version`: which versions of what this is."""

from __future__ import annotations

from .base.version import __version__ as __version__

debug = False
hip = None
xpu = None
git_version = "unknown"


def __getattr__(name: str) -> str | None:
    """`cuda` is looked up when asked, because the answer needs CuPy."""
    if name != "cuda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .runtime.cuda import why_not

    if why_not() is not None:
        return None
    import cupy

    number = cupy.cuda.runtime.runtimeGetVersion()
    return f"{number // 1000}.{number % 1000 // 10}"
