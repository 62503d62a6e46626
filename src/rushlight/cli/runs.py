"""`rushlight runs`: the runs of a folder, what they were and what came out."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from .errors import UsageError, printable
from .tasks.classification import Classification
from .tasks.kinds import KINDS

if TYPE_CHECKING:
    from argparse import Namespace

MOST = 1000


def list_runs(args: Namespace) -> int:
    """A line for each run, the newest first."""
    found = [summary(path) for path in find_runs(args.folder)]
    if not found:
        raise UsageError(f"{args.folder}: there are no runs in it; `rushlight train` makes one")
    if args.json:
        print(json.dumps(found, indent=1))
        return 0
    lines = [("run", "started", "model", "epochs", "score", "validation", "test", "data")]
    for r in found:
        task = KINDS[r["task"]](())
        val, test = (task.shown(v) if v is not None else "-" for v in (r[f"val_{r['score']}"], r[f"test_{r['score']}"]))
        lines.append((printable(r["name"]), r["started"][:16].replace("T", " "), r["model"] or "?", f"{r['epoch']}/{r['epochs'] or '?'}",
                      task.score_name, val, test, printable(r["data"] or "?")))  # fmt: skip
    wide = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(f"{cell:{'<<<><>><'[i]}{wide[i]}}" for i, cell in enumerate(line)).rstrip())
    return 0


def find_runs(folder: str) -> list[str]:
    """Folders of runs inside a folder (or the folder itself), the newest first."""
    if not os.path.isdir(folder):
        raise UsageError(f"{folder}: no such folder; `rushlight train` makes runs/")
    found = []
    for root, inner, files in os.walk(folder):
        inner[:] = sorted(n for n in inner if not n.startswith("."))[:MOST]
        if "args.json" in files or "metrics.jsonl" in files:
            found.append(root)
            inner.clear()
        if os.path.relpath(root, folder).count(os.sep) >= 3:
            inner.clear()
    return sorted(found, key=_changed, reverse=True)[:MOST]


def _changed(path: str) -> float:
    return max(os.path.getmtime(os.path.join(path, n)) for n in ("args.json", "metrics.jsonl") if n in os.listdir(path))


def history_of(path: str) -> list[dict[str, Any]]:
    """The epochs of a run so far; lines that are no epochs are left out."""
    found = []
    try:
        with open(os.path.join(path, "metrics.jsonl"), encoding="utf-8") as f:
            for line in f:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict) and isinstance(entry.get("epoch"), int):
                    found.append(entry)
    except OSError:
        pass
    return found


def _json(path: str, name: str) -> dict[str, Any]:
    try:
        with open(os.path.join(path, name), encoding="utf-8") as f:
            content = json.load(f)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def summary(path: str) -> dict[str, Any]:
    """What a list or a page shows of a run."""
    args, test, history = _json(path, "args.json"), _json(path, "test.json"), history_of(path)
    settings = args.get("settings") if isinstance(args.get("settings"), dict) else {}
    assert settings is not None
    task = KINDS.get(str(settings.get("task")), Classification)
    values = [h[f"val_{task.score}"] for h in history if isinstance(h.get(f"val_{task.score}"), float)]
    found = test.get(task.score)
    return {
        "name": os.path.basename(os.path.abspath(path)), "path": path, "started": str(args.get("started") or ""),
        "model": settings.get("model"), "data": settings.get("data"), "epochs": settings.get("epochs"),
        "epoch": len(history), "task": task.kind, "score": task.score, f"val_{task.score}": max(values, default=None),
        f"test_{task.score}": found if isinstance(found, (int, float)) else None,
        "settings": settings, "report": os.path.exists(os.path.join(path, "report.html")),
    }  # fmt: skip
