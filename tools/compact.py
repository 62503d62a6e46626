"""JSON that people read and git compares: a line for each thing, however much is in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def text(data: Any, deep: int, level: int = 0) -> str:
    """The JSON of `data`; what stands `deep` levels down has one line."""
    if level == deep or not data or not isinstance(data, dict | list):
        return json.dumps(data, ensure_ascii=False)
    pad = " " * (level + 1)
    if isinstance(data, dict):
        rows = [f"{json.dumps(str(k))}: {text(v, deep, level + 1)}" for k, v in data.items()]
    else:
        rows = [text(v, deep, level + 1) for v in data]
    opening, closing = "{}" if isinstance(data, dict) else "[]"
    return f"{opening}\n{pad}" + f",\n{pad}".join(rows) + f"\n{' ' * level}{closing}"


def write(path: Path | str, data: Any, deep: int = 2) -> None:
    """Write the file whole or not at all."""
    path = Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text(data, deep) + "\n", encoding="utf-8")
    os.replace(part, path)
