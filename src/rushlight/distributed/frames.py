"""Messages of the rendezvous over a socket: a few byte strings each, with a bound on their size."""

from __future__ import annotations

import hashlib
import hmac
import socket
import struct

__all__ = ["proof", "receive", "send", "watched"]

_COUNT = struct.Struct("!I")
_LENGTH = struct.Struct("!Q")
_MOST_FIELDS = 1 << 20
_MOST_BYTES = 1 << 30
_QUIET_S, _EVERY_S, _TRIES = 1, 1, 3  # a host that is gone is noticed after four seconds


def watched(line: socket.socket) -> socket.socket:
    """A line whose other host may vanish without a word (no power, no network): the kernel asks for it."""
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _QUIET_S), ("TCP_KEEPALIVE", _QUIET_S), ("TCP_KEEPINTVL", _EVERY_S),
        ("TCP_KEEPCNT", _TRIES), ("TCP_USER_TIMEOUT", (_QUIET_S + _EVERY_S * _TRIES) * 1000),
    ):  # fmt: skip
        option = getattr(socket, name, None)  # systems have some of these
        if option is not None:
            line.setsockopt(socket.IPPROTO_TCP, option, value)
    return line


def proof(token: str, question: bytes) -> bytes:
    """The answer to `question` of one who knows the token, which itself is never sent."""
    return hmac.new(token.encode(), question, hashlib.sha256).digest()


def send(to: socket.socket, *fields: bytes | str) -> None:
    """Send one message."""
    raw = [f.encode() if isinstance(f, str) else bytes(f) for f in fields]
    to.sendall(_COUNT.pack(len(raw)) + b"".join(_LENGTH.pack(len(f)) + f for f in raw))


def receive(of: socket.socket) -> list[bytes] | None:
    """The next message, or None when the other side is gone."""
    head = _exactly(of, _COUNT.size)
    if head is None:
        return None
    (count,) = _COUNT.unpack(head)
    if count > _MOST_FIELDS:
        raise ConnectionError(f"{count} fields in one message: this is no rendezvous of rushlight")
    fields = []
    for _ in range(count):
        head = _exactly(of, _LENGTH.size)
        if head is None:
            return None
        (length,) = _LENGTH.unpack(head)
        if length > _MOST_BYTES:
            raise ConnectionError(f"a value of {length} bytes is over the store's limit of 1 GiB")
        body = _exactly(of, length)
        if body is None:
            return None
        fields.append(body)
    return fields


def _exactly(of: socket.socket, count: int) -> bytes | None:
    got = bytearray()
    while len(got) < count:
        try:
            part = of.recv(min(count - len(got), 1 << 20))
        except (ConnectionResetError, BrokenPipeError):
            return None
        if not part:
            return None
        got += part
    return bytes(got)
