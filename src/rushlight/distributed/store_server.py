"""The server behind TCPStore: keys and values, and which ranks are alive.

It is the meeting place of the ranks, never a way for tensors. A rank that is present keeps a connection open;
when that closes without a goodbye the rank has died, and all others are told its number. Whoever waited too long
asks here where the others are: the question goes to the ranks, and a thread in each answers.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from ..base.config import launcher
from ..base.locks import new_lock
from . import frames

__all__ = ["StoreServer"]

ANSWERS_WITHIN_S = 2.0


class StoreServer:
    """Listens on a port and serves every connection in a thread of its own."""

    def __init__(self, host: str = "", port: int = 0, on_event: Callable[..., None] | None = None) -> None:
        self.values: dict[str, bytes] = {}
        self.changed = threading.Condition(new_lock())
        self.present: dict[int, socket.socket] = {}
        self.hosts: dict[str, int] = {}  # launchers, and the attempt for which each is ready
        self.gone: dict[int, str] = {}
        self.answers: dict[str, dict[int, str]] = {}
        self.unreached: set[socket.socket] = set()
        self._sending = new_lock()
        self._on_event = on_event or (lambda *event: None)
        self._closed = False
        self._token = launcher("RUSHLIGHT_STORE_TOKEN") or ""
        self.listener = _listener(host, port)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, name="rushlight store", daemon=True).start()

    def close(self) -> None:
        self._closed = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # not connected: closing is enough
        self.listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            frames.watched(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        host = ""
        with client:
            try:
                if self._token and not self._admits(client):
                    return
                while (message := frames.receive(client)) is not None:
                    name = message[0].decode("ascii", "replace")
                    if name == "present":
                        self._stay_with(client, int(message[1]))
                        return
                    if name == "ready":
                        host = message[1].decode()
                    frames.send(client, *self._answer(name, message[1:]))
            except (ConnectionError, OSError, ValueError, IndexError):
                return  # a stranger, or a client that went away in the middle of a word
            finally:
                if host:
                    with self.changed:
                        del self.hosts[host]
                        self.changed.notify_all()

    def _do_ready(self, host: bytes, attempt: bytes) -> list[bytes]:
        with self.changed:
            self.hosts[host.decode()] = int(attempt)
            self.changed.notify_all()
        return [b"ok"]

    def _admits(self, client: socket.socket) -> bool:
        """Whether the other side knows the token; nothing else of it is listened to before that."""
        message = frames.receive(client)
        if message != [b"hello"]:
            frames.send(client, "error", "this store needs a token: set RUSHLIGHT_STORE_TOKEN as on rank 0")
            return False
        question = secrets.token_bytes(32)
        frames.send(client, "prove", question)
        message = frames.receive(client)
        if message is None or len(message) != 2:
            return False
        known = hmac.compare_digest(message[1], frames.proof(self._token, question))
        frames.send(client, "ok" if known else "error")
        return known

    def _answer(self, name: str, rest: list[bytes]) -> list[bytes]:
        act = getattr(self, f"_do_{name}", None)
        if act is None:
            return [b"error", f"no such request: {name}".encode()]
        return act(*rest)

    # -- keys and values --------------------------------------------------------------------------

    def _do_set(self, key: bytes, value: bytes) -> list[bytes]:
        with self.changed:
            self.values[key.decode()] = value
            self.changed.notify_all()
        return [b"ok"]

    def _do_get(self, key: bytes, seconds: bytes) -> list[bytes]:
        if self._wait_for([key.decode()], float(seconds)):
            return [b"timeout"]
        with self.changed:
            return [b"ok", self.values.get(key.decode(), b"")]

    def _do_wait(self, seconds: bytes, *keys: bytes) -> list[bytes]:
        missing = self._wait_for([k.decode() for k in keys], float(seconds))
        return [b"timeout", *[k.encode() for k in missing]] if missing else [b"ok"]

    def _wait_for(self, keys: list[str], seconds: float) -> list[str]:
        until = time.monotonic() + seconds
        with self.changed:
            while missing := [k for k in keys if k not in self.values]:
                left = until - time.monotonic()
                if left <= 0:
                    return missing
                self.changed.wait(left)
        return []

    def _do_add(self, key: bytes, amount: bytes) -> list[bytes]:
        with self.changed:
            total = int(self.values.get(key.decode(), b"0")) + int(amount)
            self.values[key.decode()] = str(total).encode()
            self.changed.notify_all()
        return [b"ok", str(total).encode()]

    def _do_append(self, key: bytes, value: bytes) -> list[bytes]:
        with self.changed:
            self.values[key.decode()] = self.values.get(key.decode(), b"") + value
            self.changed.notify_all()
        return [b"ok"]

    def _do_check(self, *keys: bytes) -> list[bytes]:
        with self.changed:
            return [b"ok", b"1" if all(k.decode() in self.values for k in keys) else b"0"]

    def _do_delete(self, key: bytes) -> list[bytes]:
        with self.changed:
            return [b"ok", b"1" if self.values.pop(key.decode(), None) is not None else b"0"]

    def _do_swap(self, key: bytes, expected: bytes, desired: bytes) -> list[bytes]:
        with self.changed:
            held = self.values.get(key.decode())
            if (held is None and not expected) or held == expected:
                self.values[key.decode()] = held = desired
                self.changed.notify_all()
            return [b"ok", expected if held is None else held]

    def _do_count(self) -> list[bytes]:
        with self.changed:
            return [b"ok", str(len(self.values)).encode()]

    # -- who is there -----------------------------------------------------------------------------

    def _stay_with(self, client: socket.socket, rank: int) -> None:
        """Serve the connection by which a rank is present until it ends."""
        with self.changed:
            self.present[rank] = client
            gone = dict(self.gone)
        for dead, why in gone.items():
            self._push(client, "gone", str(dead), why)
        farewell, why = False, "its process ended"
        try:
            farewell = self._listen_to(client, rank)
        except OSError:
            why = "its host is not reached any more"
        if client in self.unreached:
            why = "its host is not reached any more"
        with self.changed:
            self.unreached.discard(client)
            current = self.present.get(rank) is client  # else it belongs to an earlier attempt
            if current:
                del self.present[rank]
        self._on_event("left" if farewell else "lost", rank, [])
        if current and not farewell:
            self.tell_gone(rank, why)

    def _listen_to(self, client: socket.socket, rank: int) -> bool:
        """Hear what a rank says until its line ends; whether it said goodbye."""
        farewell = False
        while (message := frames.receive(client)) is not None:
            kind = message[0].decode()
            if kind == "bye":
                farewell = True
                with self.changed:
                    others = [c for r, c in self.present.items() if r != rank]
                for one in (*others, client):  # who leaves hears it last: then all know
                    self._push(one, "left", str(rank))
            elif kind == "at":
                with self.changed:
                    self.answers.get(message[1].decode(), {})[rank] = message[2].decode()
                    self.changed.notify_all()
            else:
                self._on_event(kind, rank, [m.decode("utf-8", "replace") for m in message[1:]])
        return farewell

    def tell_gone(self, rank: int, why: str) -> None:
        """Tell every rank that one has died."""
        with self.changed:
            if rank in self.gone:
                return
            self.gone[rank] = why
            others = list(self.present.values())
        for client in others:
            self._push(client, "gone", str(rank), why)

    def forget_gone(self) -> None:
        """Another attempt of the same job begins: the ranks of the last one, dead or alive, count no more."""
        with self.changed:
            self.gone.clear()
            self.present.clear()

    def _push(self, client: socket.socket, *fields: str) -> None:
        with self._sending:
            try:
                frames.send(client, *fields)
            except ConnectionError:
                pass  # it is gone too; its own thread notices
            except OSError:
                self.unreached.add(client)  # the kernel says it once: that thread will only see an end

    def _do_where(self, question: bytes) -> list[bytes]:
        """Ask every rank where it is; those that do not answer in time are left out."""
        key = question.decode()
        with self.changed:
            found = self.answers[key] = {}
            asked: dict[int, Any] = dict(self.present)
        for client in asked.values():
            self._push(client, "where", key)
        until = time.monotonic() + ANSWERS_WITHIN_S
        with self.changed:
            while len(found) < len(asked) and time.monotonic() < until:
                self.changed.wait(0.1)
            del self.answers[key]
            told = {rank: json.loads(text) for rank, text in found.items()}
            return [b"ok", json.dumps({"at": told, "gone": self.gone}).encode()]


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    return listener
