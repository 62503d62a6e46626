"""Ranks' output: every rank writes to a socket, and what arrives is printed with the rank in front."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from ...base.locks import new_lock
from .. import frames

__all__ = ["Streams", "connect_streams"]

LOST = "the line to it was lost: its host is gone, or the process that watched it"
_LAST_LINES = 200  # of each rank's errors, to show again what came first


def connect_streams(host: str, port: int, key: str, rank: int) -> dict[str, socket.socket]:
    """Sockets for a rank's stdout and stderr, and one by which its agent reports."""
    lines = {}
    for name in ("stdout", "stderr", "agent"):
        line = frames.watched(socket.create_connection((host, port), timeout=30))
        line.settimeout(None)
        frames.send(line, key, name, str(rank))
        lines[name] = line
    return lines


def _lines_of(line: socket.socket) -> Iterator[bytes]:
    """Lines until the other side has closed, or is lost."""
    try:
        yield from line.makefile("rb")
    except OSError:
        return


class Streams:
    """The launcher's end: prints lines of all ranks, writes log files, hears the agents."""

    def __init__(self, host: str, chosen: Any, on_report: Any) -> None:
        self.key = os.urandom(16).hex()
        self.chosen = chosen
        self._on_report = on_report
        self._printing = new_lock()
        self.errors: dict[int, deque[str]] = {}
        self.agents: dict[int, socket.socket] = {}
        self._readers: list[threading.Thread] = []
        self._listener = socket.create_server((host, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        self.shown = {int(r) for r in chosen.local_ranks_filter.split(",") if r.strip()}

    def _accept(self) -> None:
        while True:
            try:
                line, (host, *_) = self._listener.accept()
            except OSError:
                return
            reader = threading.Thread(target=self._read, args=(frames.watched(line), host), daemon=True)
            self._readers.append(reader)
            reader.start()

    def _read(self, line: socket.socket, host: str) -> None:
        with line:
            head = frames.receive(line)
            if head is None or len(head) != 3 or head[0].decode() != self.key:
                return  # a stranger
            name, rank = head[1].decode(), int(head[2])
            if name == "agent":
                self._hear(line, rank, host)
            else:
                self._print_lines(line, name, rank)

    def _hear(self, line: socket.socket, rank: int, host: str) -> None:
        """What a rank's agent reports; an agent that goes without a word was killed, or its host is lost."""
        self.agents[rank] = line
        ended = False
        try:
            while (message := frames.receive(line)) is not None:
                ended = True
                self._on_report(rank, [m.decode() for m in message])
        except OSError:
            pass  # no answer from its host for too long
        if not ended:
            self._on_report(rank, ["ended", "1", "0", host, LOST])

    def _print_lines(self, line: socket.socket, name: str, rank: int) -> None:
        out = sys.stdout if name == "stdout" else sys.stderr
        last = self.errors.setdefault(rank, deque(maxlen=_LAST_LINES))
        log = self._log(name, rank)
        for raw in _lines_of(line):
            text = raw.decode(errors="replace")
            if name == "stderr":
                last.append(text)
            if log is not None:
                log.write(text)
                log.flush()
            self._show(out, rank, text)
        if log is not None:
            log.close()

    def _show(self, out: Any, rank: int, text: str) -> None:
        if self.shown and rank % self.chosen.nproc_per_node not in self.shown:
            return
        with self._printing:
            try:
                front = "" if self.chosen.plain else f"[rank{rank}]: "
                out.write(front + text if text.endswith("\n") else f"{front}{text}\n")
                out.flush()
            except (BrokenPipeError, ValueError):
                pass  # nobody reads any more; the ranks go on

    def _log(self, name: str, rank: int) -> Any:
        if not self.chosen.log_dir:
            return None
        folder = os.path.join(self.chosen.log_dir, str(rank))
        os.makedirs(folder, exist_ok=True)
        return open(os.path.join(folder, f"{name}.log"), "a", encoding="utf-8")

    def close(self, patience: float = 5.0) -> None:
        """Print what is still on its way, then stop listening."""
        for reader in self._readers:
            reader.join(patience)
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
