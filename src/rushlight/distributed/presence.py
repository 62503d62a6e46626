"""Presence: a rank's own line to the store, by which it hears who has died and says where it is."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..base.locks import new_lock
from . import frames
from .errors import DistBackendError
from .store import TCPStore, connect

__all__ = ["Presence"]

_ON_ITS_WAY_S = 2.0


class Presence:
    """One connection that stays open while the rank lives, and a thread that listens to it."""

    def __init__(self, store: TCPStore, rank: int, progress: Callable[[], dict[str, Any]]) -> None:
        self.store = store
        self.rank = rank
        self.gone: dict[int, str] = {}
        self.left: dict[int, float] = {}  # ended in peace, and when that was heard
        self.lost = ""
        self._progress = progress
        self._sending = new_lock()
        self._socket = connect(store.host, store.port, 30.0)
        self._socket.settimeout(None)
        self._pid = os.getpid()
        self._say("present", str(rank))
        # a child of this process must not keep the line open when this process has died
        os.register_at_fork(after_in_child=self._socket.close)
        threading.Thread(target=self._listen, name="rushlight presence", daemon=True).start()

    def _say(self, *fields: str) -> None:
        with self._sending:
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
            while (message := frames.receive(line)) is not None:
                kind = message[0].decode()
                if kind == "gone":
                    self.gone[int(message[1])] = message[2].decode()
                elif kind == "left":
                    self.left[int(message[1])] = time.monotonic()
                elif kind == "where":
                    self._say("at", message[1].decode(), json.dumps(self._progress()))
        except TimeoutError:  # the kernel asked for the store's host, and nobody answered
            self.lost = f"the host of the store, {self.store.host}, is not reached any more"
        except OSError:
            return  # the process ends

    @property
    def broken(self) -> str:
        """Why not every rank can be met any more; empty while all can."""
        return self.lost or (f"rank {min(self.gone)} died" if self.gone else "")

    def check(self, doing: str, ranks: Sequence[int]) -> None:
        """Raise when a rank has died, or one of these has ended its script; with its number."""
        if self.lost:
            raise DistBackendError(f"[Rank {self.rank}] {doing} cannot end: {self.lost}. Start the job again from its last checkpoint.")  # fmt: skip
        gone = {r: why for r, why in self.gone.items() if r != self.rank}
        # what a rank sent before it ended may still be on its way
        late = time.monotonic() - _ON_ITS_WAY_S
        gone |= {
            r: "its script has ended" for r, at in self.left.items() if r in ranks and at < late
        }
        if gone:
            who = ", ".join(f"rank {r} ({why})" for r, why in sorted(gone.items()))
            raise DistBackendError(
                f"[Rank {self.rank}] {doing} cannot end: {who} is gone. Start the job again from its "
                "last checkpoint."
            )

    def where(self) -> dict[str, Any]:
        """Where the other ranks are: {"at": {rank: progress}, "gone": {rank: why}}."""
        try:
            return self.store.where(f"{self.rank}-{os.getpid()}-{id(self)}")
        except (RuntimeError, ValueError):
            return {"at": {}, "gone": {}}

    def leave(self) -> None:
        """Say goodbye, so that nobody takes the end of this process for a death."""
        if self._pid == os.getpid():  # a forked child has no line of its own
            self.tell("bye")
