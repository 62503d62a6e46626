"""Objects between processes over a Unix socket, with big arrays in anonymous shared memory.

A large message lies in a memory file without a name (`memfd_create`), whose descriptor travels over the
socket. The sender is free again at once, nothing can be left behind in /dev/shm however a process dies,
and the size of /dev/shm does not limit a batch.
"""

from __future__ import annotations

import io
import os
import pickle
import socket
import struct
from typing import Any

import numpy as np

from ..core.tensor import Tensor, wrap
from ..runtime.thread import settle

# Below this the two extra system calls cost more than copying through the socket.
SHARED_FROM = 64 * 1024
_HEADER = struct.Struct("<QII")  # bytes of the pickle, number of buffers, 1 if they are shared
_HAS_MEMFD = hasattr(os, "memfd_create")


class _Pickler(pickle.Pickler):
    """Pickles tensors through their arrays, whose memory then travels outside the pickle."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not Tensor or obj._a.__class__ is not np.ndarray:
            return NotImplemented
        if not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
                "does not support crossing process boundaries.  If you just want to transfer the "
                "data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
            )
        settle()
        a = np.ascontiguousarray(obj._a).reshape(obj._a.shape)
        raw = pickle.PickleBuffer(a.reshape(-1).view(np.uint8).data)
        return _rebuild, (raw, a.dtype, a.shape, obj.requires_grad)


def _rebuild(raw: Any, dtype: np.dtype, shape: tuple[int, ...], requires_grad: bool) -> Tensor:
    a = np.frombuffer(raw, np.uint8).view(dtype).reshape(shape)
    t = wrap(a if a.flags.writeable else a.copy())
    return t.requires_grad_() if requires_grad else t


class Channel:
    """One end of a connection; `send` and `receive` whole objects."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def fileno(self) -> int:
        return self.sock.fileno()

    def close(self) -> None:
        self.sock.close()

    def send(self, obj: Any) -> None:
        """Send an object; what cannot be pickled raises before anything is sent."""
        buffers: list[pickle.PickleBuffer] = []
        out = io.BytesIO()
        _Pickler(out, protocol=5, buffer_callback=buffers.append).dump(obj)
        data = out.getbuffer()
        raws = [b.raw() for b in buffers]
        shared = _HAS_MEMFD and len(data) + sum(len(r) for r in raws) >= SHARED_FROM
        lengths = struct.pack(f"<{len(raws)}Q", *[len(r) for r in raws])
        head = _HEADER.pack(len(data), len(raws), shared) + lengths
        if not shared:
            self.sock.sendall(b"".join([head, data, *raws]))
            return
        fd = os.memfd_create("rushlight-batch")
        try:
            _write_all(fd, [data, *raws])
            # The descriptor rides on the first byte; the rest follows as usual.
            socket.send_fds(self.sock, [head[:1]], [fd])
        finally:
            os.close(fd)
        self.sock.sendall(head[1:])

    def receive(self) -> Any:
        """The next object; EOFError when the other end is closed."""
        first, fds, _, _ = socket.recv_fds(self.sock, 1, 1)
        if not first:
            raise EOFError
        try:
            head = first + self._exactly(_HEADER.size - 1)
            size, count, shared = _HEADER.unpack(head)
            lengths = struct.unpack(f"<{count}Q", self._exactly(8 * count))
            places = [np.empty(n, np.uint8) for n in (size, *lengths)]
            if shared:
                _read_all(fds[0], places)
            else:
                for place in places:
                    self._fill(place.data)
        finally:
            for fd in fds:
                os.close(fd)
        return pickle.loads(places[0].data, buffers=places[1:])

    def _exactly(self, n: int) -> bytes:
        data = bytearray(n)
        self._fill(memoryview(data))
        return bytes(data)

    def _fill(self, view: memoryview) -> None:
        while len(view):
            got = self.sock.recv_into(view)
            if not got:
                raise EOFError
            view = view[got:]


def _write_all(fd: int, parts: list[Any]) -> None:
    offset = 0
    for part in parts:
        view = memoryview(part)
        done = 0
        while done < len(view):
            done += os.pwrite(fd, view[done:], offset + done)
        offset += len(view)


def _read_all(fd: int, places: list[np.ndarray]) -> None:
    offset = 0
    for place in places:
        view = place.data
        done = 0
        while done < len(view):
            got = os.preadv(fd, [view[done:]], offset + done)
            if not got:
                raise EOFError
            done += got
        offset += len(view)


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
