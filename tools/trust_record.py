"""Figures that add up: what the long proofs have done so far, over sessions and commits, in one small file."""

from __future__ import annotations

import datetime
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import compact

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "results" / "trust.json"


class Record:
    """One proof's line of the file: the next piece that nobody has run, and the sums of all pieces.

    Without a file the sums are of this run alone. Every piece is written at once, so that a run that is
    stopped loses the piece that it was in and no other.
    """

    def __init__(self, proof: str, path: Path | None = None) -> None:
        self.proof, self.path = proof, path
        self.began = time.monotonic()
        self.commit = _commit() if path else ""
        self.line: dict[str, Any] = self._all().get(proof) or {"next": 0, "seconds": 0, "counts": {}, "commits": {}}

    @property
    def next(self) -> int:
        """The first piece that was not run yet."""
        return self.line["next"]

    @property
    def counts(self) -> dict[str, int]:
        return self.line["counts"]

    @property
    def named(self) -> dict[str, int | None]:
        """The pieces that have names, and the main count of each (None: it was not kept); new ones shift nothing."""
        return self.line.setdefault("named", {})

    def add(self, main: str, pieces: int = 1, name: str | None = None, **counts: int) -> None:
        """Some pieces are done: their counts, of which `main` is told for this commit and this name."""
        line, now = self.line, time.monotonic()
        if name is not None:
            self.named[name] = counts[main]
        for name, n in counts.items():
            self.counts[name] = self.counts.get(name, 0) + n
        line["next"] += pieces
        line["seconds"] = round(line["seconds"] + now - self.began, 1)
        self.began = now
        if self.path is None:
            return
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        line["first"], line["last"] = line.get("first", today), today
        line["commits"][self.commit] = line["commits"].get(self.commit, 0) + counts[main]
        self._write()

    def _all(self) -> dict[str, Any]:
        if self.path is None or not self.path.exists():
            return {}
        return json.loads(self.path.read_text())

    def _write(self) -> None:
        assert self.path is not None
        whole = {**self._all(), self.proof: self.line}  # other proofs may be running
        compact.write(self.path, dict(sorted(whole.items())))


def _commit() -> str:
    asked = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "?"
