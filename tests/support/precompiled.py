"""The emulator's header, compiled once for a whole run: a quarter of the time that g++ takes for a kernel.

g++ takes `NAME.gch` in place of `NAME` when both lie in one folder and the options are the same, and reads the text otherwise.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

# Shared arrays are static here; those of a template would be one array for all libraries with GNU's unique symbols.
# A GPU refuses an address that is not aligned, a host reads from it: so that it stops here, too, it is told to.
FLAGS = ("-std=c++20 -fno-gnu-unique -O1 -w -fPIC -fsanitize=alignment -fsanitize-undefined-trap-on-error").split()


def precompiled(header: Path, folder: Path, command: list[str]) -> Path:
    """A copy of `header` in `folder`, with its compiled form for these options beside it."""
    text = header.read_text()
    key = hashlib.sha256("\0".join([*command, text]).encode()).hexdigest()[:20]
    copy = folder / f"{header.stem}-{key}.h"
    made = folder / f"{copy.name}.gch"
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        own = folder / f"{copy.stem}-{os.getpid()}"
        source, new = own.with_suffix(".h"), own.with_suffix(".new")
        source.write_text(text)
        subprocess.run([*command, "-x", "c++-header", "-o", new, source], check=True)
        source.replace(copy)  # in one piece: other processes may be looking
        new.replace(made)
    return copy
