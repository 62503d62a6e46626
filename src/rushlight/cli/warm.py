"""`rushlight warm`: compile the GPU kernels that most networks ask for, so that no first step waits for a compiler."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ..base.config import settings
from .errors import UsageError
from .words import counted


def warm(arch: str | None) -> int:
    """Compile them for this machine's GPU, or for the architecture that is named."""
    if arch is None:
        from ..runtime.cuda import why_not

        reason = why_not()
        if reason is not None:
            raise UsageError(f"no GPU to compile for: {reason} `--arch sm_90` compiles for another machine's")
    elif not re.fullmatch(r"sm_[1-9]\d{1,2}[af]?", arch):
        raise UsageError(f"--arch {arch}: a name such as sm_90 is expected")
    try:
        from ..runtime.cuda.code import compile as code
        from ..runtime.cuda.code import usual
    except ImportError as error:
        raise UsageError(f"CuPy is missing ({error}): pip install 'rushlight[cuda]'") from None
    shown = sys.stderr.isatty()

    def told(done: int, count: int) -> None:
        if shown:
            end = "\n" if done == count else ""
            print(f"\r{done} of {count} kernels", end=end, file=sys.stderr, flush=True)

    arch = arch or code.arch()
    made, count, seconds = usual.warm(code, arch, told)
    before = "" if made == count else f", {count - made} there before"
    kernels, folder = counted(made, "kernel"), Path(settings.cache_dir) / "cuda"
    print(f"{kernels} compiled for {arch} in {seconds:.1f} s{before}: {folder}")
    return 0
