"""Presence: a rank's own line to the store, by which it hears who has died and says where it is."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from ..base.locks import new_lock
from . import frames
from .errors import DistBackendError
from .store import TCPStore, connect

__all__ = ["Presence"]


class Presence:
    """One connection that stays open while the rank lives, and a thread that listens to it."""

    def __init__(self, store: TCPStore, rank: int, progress: Callable[[], dict[str, Any]]) -> None:
        self.store = store
        self.rank = rank
        self.gone: dict[int, str] = {}
        self._progress = progress
        self._sending = new_lock()
        self._socket: socket.socket | None = connect(store.host, store.port, 30.0)
        self._socket.settimeout(None)
        self._pid = os.getpid()
        self._say("present", str(rank))
        threading.Thread(target=self._listen, name="rushlight presence", daemon=True).start()

    def _say(self, *fields: str) -> None:
        with self._sending:
            if self._socket is not None:
                frames.send(self._socket, *fields)

    def tell(self, kind: str, *fields: str) -> None:
        """Tell the launcher something: an error's traceback, that the end is near."""
        try:
            self._say(kind, *fields)
        except OSError:
            pass  # nobody listens any more

    def _listen(self) -> None:
        line = self._socket
        try:
            while line is not None and (message := frames.receive(line)) is not None:
                kind = message[0].decode()
                if kind == "gone":
                    self.gone[int(message[1])] = message[2].decode()
                elif kind == "where":
                    self._say("at", message[1].decode(), json.dumps(self._progress()))
        except OSError:
            return  # closed by `leave`

    def check(self, doing: str) -> None:
        """Raise when a rank has died, with its number."""
        gone = {r: why for r, why in self.gone.items() if r != self.rank}
        if gone:
            who = ", ".join(f"rank {r} ({why})" for r, why in sorted(gone.items()))
            raise DistBackendError(
                f"[Rank {self.rank}] {doing} cannot end: {who} is gone. What the other ranks had done "
                "is unchanged; start the job again from its last checkpoint."
            )

    def where(self) -> dict[str, Any]:
        """Where the other ranks are: {"at": {rank: progress}, "gone": {rank: why}}."""
        try:
            return self.store.where(f"{self.rank}-{os.getpid()}-{id(self)}")
        except (RuntimeError, ValueError):
            return {"at": {}, "gone": {}}

    def leave(self) -> None:
        """Say goodbye, so that nobody takes the end of this process for a death."""
        if self._pid != os.getpid():
            return  # a forked child has no line of its own
        self.tell("bye")
        with self._sending:
            line, self._socket = self._socket, None
        if line is not None:
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            line.close()
