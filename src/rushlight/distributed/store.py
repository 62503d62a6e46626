"""Stores: where ranks leave small values for each other before and beside their collectives."""

from __future__ import annotations

import datetime
import os
import socket
import tempfile
import time
from typing import Any

from ..base.config import launcher
from ..base.locks import new_rlock
from . import frames
from .errors import DistBackendError, DistNetworkError, DistStoreError
from .store_server import StoreServer

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

DEFAULT_TIMEOUT = datetime.timedelta(seconds=300)


def seconds(timeout: Any, default: datetime.timedelta = DEFAULT_TIMEOUT) -> float:
    """A timeout in seconds, from a timedelta or a number."""
    timeout = default if timeout is None else timeout
    return timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """Keys and values that all ranks see; `HashStore`, `TCPStore` and `FileStore` say where they are kept.

    Example:
        >>> store = torch.distributed.HashStore()
        >>> store.set("step", "3")
        >>> store.get("step")
        b'3'
    """

    timeout = DEFAULT_TIMEOUT

    def _ask(self, name: str, *fields: bytes | str, patience: float = 0.0) -> list[bytes]:
        raise NotImplementedError

    def set(self, key: str, value: Any) -> None:
        """Give a key a value, text or bytes."""
        self._ask("set", key, _bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key; waits until somebody has set it."""
        limit = seconds(self.timeout)
        answer = self._ask("get", key, str(limit), patience=limit)
        if answer[0] == b"timeout":
            raise DistStoreError(f"wait timeout after {limit * 1000:.0f}ms, keys: /{key}")
        return answer[1]

    def add(self, key: str, amount: int) -> int:
        """Add `amount` to a key's number, which begins at 0; the new number."""
        return int(self._ask("add", key, str(amount))[1])

    def append(self, key: str, value: Any) -> None:
        """Put `value` at the end of a key's value."""
        self._ask("append", key, _bytes(value))

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are set."""
        return self._ask("check", *keys)[1] == b"1"

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        return self._ask("delete", key)[1] == b"1"

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set `desired_value` if the key has `expected_value`; the value it has afterwards."""
        return self._ask("swap", key, _bytes(expected_value), _bytes(desired_value))[1]

    def num_keys(self) -> int:
        """How many keys are set."""
        return int(self._ask("count")[1])

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """How long `get` and `wait` wait."""
        self.timeout = timeout

    def wait(self, keys: list[str], timeout: Any = None) -> None:
        """Wait until all keys are set."""
        limit = seconds(timeout, self.timeout)
        answer = self._ask("wait", str(limit), *keys, patience=limit)
        if answer[0] == b"timeout":
            missing = ", ".join("/" + k.decode() for k in answer[1:])
            raise DistStoreError(f"wait timeout after {limit * 1000:.0f}ms, keys: {missing}")

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values of several keys; waits until all are set."""
        return [self.get(k) for k in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Set several keys."""
        for k, v in zip(keys, values):
            self.set(k, v)

    def has_extended_api(self) -> bool:
        """Whether `append`, `multi_get` and `multi_set` are there: yes."""
        return True


class HashStore(Store):
    """A store inside one process.

    Example:
        >>> store = torch.distributed.HashStore()
        >>> store.add("visits", 2), store.add("visits", 1)
        (2, 3)
    """

    def __init__(self) -> None:
        self._server = _Local()

    def _ask(self, name: str, *fields: bytes | str, patience: float = 0.0) -> list[bytes]:
        return self._server._answer(name, [_bytes(f) for f in fields])


class _Local(StoreServer):
    """A server's keys without its socket."""

    def __init__(self) -> None:
        import threading

        self.values = {}
        self.changed = threading.Condition(new_rlock())


class TCPStore(Store):
    """A store that one process serves and the others reach over the network.

    Args:
        host_name, port: where it is served; port 0 takes a free one, which is `store.port`.
        world_size: how many processes use it;
        wait_for_workers: wait until they are all there.
        is_master: serve it from this process.
        timeout: how long to try to connect, and how long `get` waits.
        multi_tenant, master_listen_fd, use_libuv: accepted and not needed.

    Raises:
        DistNetworkError: if the server cannot be reached, or the port is taken.

    Example:
        >>> store = torch.distributed.TCPStore("localhost", 0, is_master=True)
        >>> store.set("step", "3")
        >>> store.get("step")
        b'3'
        >>> store.close()
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: Any = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        self.host = host_name
        self.timeout = DEFAULT_TIMEOUT if timeout is None else timeout
        self.server = _serve(host_name, port) if is_master else None
        self.port = self.server.port if self.server else port
        self._lock = new_rlock()
        self._socket = connect(host_name, self.port, seconds(timeout))
        if wait_for_workers and world_size is not None and world_size > 0:
            self._wait_for_workers(world_size)

    def _wait_for_workers(self, count: int) -> None:
        if self.add("init/", 1) >= count:
            self.set("init/all", b"1")
        if self.server is not None:
            self.wait(["init/all"])

    def _ask(self, name: str, *fields: bytes | str, patience: float = 0.0) -> list[bytes]:
        with self._lock:
            self._socket.settimeout(patience + 60)
            try:
                frames.send(self._socket, name, *fields)
                answer = frames.receive(self._socket)
            except OSError as error:
                raise DistNetworkError(self._lost(str(error))) from None
        if answer is None:
            raise DistNetworkError(self._lost("the connection was closed"))
        if answer[0] == b"error":
            raise DistStoreError(answer[1].decode())
        return answer

    def _lost(self, why: str) -> str:
        return f"the store at {self.host}:{self.port} does not answer: {why}"

    def ready(self, host: str, attempt: int) -> None:
        """Say that the launcher of a host waits for an attempt; its line to the server is this store's."""
        self._ask("ready", host, str(attempt))

    def where(self, question: str) -> dict[str, Any]:
        """Where every rank is at the moment, and which are gone; see `meeting.py`."""
        import json

        return json.loads(self._ask("where", question, patience=10)[1])

    def close(self) -> None:
        """Leave the store; the process that serves it ends it for all."""
        line, self._socket = self.__dict__.get("_socket"), None  # type: ignore[assignment]
        if line is not None:
            line.close()
        server: Any = self.__dict__.get("server")
        if server is not None:
            server.close()

    __del__ = close


def own_address(host: str) -> str | None:
    """The address that a name stands for, where it is one of this host's."""
    try:
        address = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
        with socket.socket() as trial:
            trial.bind((address, 0))
    except OSError:
        return None
    return str(address)


def listens_at(host: str) -> str:
    """The address at which the store of `host` is served: no more than others need to reach it; "" is every one."""
    if host in ("localhost", "127.0.0.1", "::1"):
        # Kubernetes' operators call the first pod localhost, inside of it.
        return "" if launcher("KUBERNETES_SERVICE_HOST") else "127.0.0.1"
    address = own_address(host)
    # A name that stands for this host elsewhere, such as a service's; or this host's own, which others know otherwise.
    return "" if address is None or address.startswith("127.") else address


def _serve(host: str, port: int) -> StoreServer:
    try:
        return StoreServer(listens_at(host), port)
    except OSError as error:
        raise DistNetworkError(
            "The server socket has failed to listen on any local network address. "
            f"port: {port}, useIpv6: false, code: {-(error.errno or 0)}, name: EADDRINUSE, message: "
            f"{error.strerror}"
        ) from None


def connect(host: str, port: int, patience: float) -> socket.socket:
    """A connection to a server that may still be starting."""
    until = time.monotonic() + patience
    pause = 0.01
    while True:
        try:
            found = socket.create_connection((host, port), timeout=max(min(patience, 10), 0.1))
            return _admitted(frames.watched(found), host, port)
        except OSError as error:  # a scheduler may give names to hosts later than it starts the ranks
            if time.monotonic() + pause > until:
                nameless = isinstance(error, socket.gaierror)
                hint = "Its name is not known here" if nameless else "Is the process of rank 0 running?"
                raise DistNetworkError(
                    f"The client socket has timed out after {patience * 1000:.0f}ms while trying to "
                    f"connect to ({host}, {port}): {error}. {hint}"
                ) from None
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)


def _admitted(line: socket.socket, host: str, port: int) -> socket.socket:
    """The line, after it has shown that this side knows the token, where one is set."""
    token = launcher("RUSHLIGHT_STORE_TOKEN")
    if not token:
        return line
    frames.send(line, "hello")
    asked = frames.receive(line)
    if asked is not None and asked[0] == b"prove":
        frames.send(line, "proof", frames.proof(token, asked[1]))
        if frames.receive(line) == [b"ok"]:
            return line
        why = "does not take the token of this process"
    else:
        why = "asks for no token, and this process has one"
    line.close()
    raise DistBackendError(f"the store at {host}:{port} {why}: RUSHLIGHT_STORE_TOKEN must be the same on every rank")


class FileStore(Store):
    """A store in a file that all ranks can open; every change rewrites it under a lock.

    Args:
        file_name: the file.
        world_size: how many ranks use it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     one, two = [torch.distributed.FileStore(folder + "/store", 2) for _ in range(2)]
        ...     one.set("step", "3")
        ...     two.get("step")
        b'3'
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path = file_name
        self.world_size = world_size

    def _ask(self, name: str, *fields: bytes | str, patience: float = 0.0) -> list[bytes]:
        raw = [_bytes(f) for f in fields]
        until = time.monotonic() + patience
        if name in ("get", "wait"):  # the server would wait; here the file is looked at again
            raw[1 if name == "get" else 0] = b"0"
        while True:
            answer = self._once(name, raw)
            if answer[0] != b"timeout" or time.monotonic() >= until:
                return answer
            time.sleep(0.02)

    def _once(self, name: str, raw: list[bytes]) -> list[bytes]:
        import fcntl
        import json

        with open(self.path, "a+b") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.seek(0)
            text = f.read()
            server = _Local()
            server.values = {k: v.encode("latin1") for k, v in json.loads(text or b"{}").items()}
            before = dict(server.values)
            answer = server._answer(name, raw)
            if server.values != before:
                _replace(f, json.dumps({k: v.decode("latin1") for k, v in server.values.items()}))
        return answer


def _replace(f: Any, text: str) -> None:
    f.seek(0)
    f.truncate()
    f.write(text.encode())
    f.flush()


class PrefixStore(Store):
    """Another store whose keys all begin alike.

    Args:
        prefix: how they begin.
        store: the other store.

    Example:
        >>> store = torch.distributed.HashStore()
        >>> torch.distributed.PrefixStore("first", store).set("step", "3")
        >>> store.get("first/step")
        b'3'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix = prefix
        self.underlying_store = store
        self.timeout = store.timeout

    _WITH_KEYS = {"set": 1, "get": 1, "add": 1, "append": 1, "delete": 1, "swap": 1}

    def _ask(self, name: str, *fields: bytes | str, patience: float = 0.0) -> list[bytes]:
        add = f"{self.prefix}/".encode()
        raw = [_bytes(f) for f in fields]
        if name in self._WITH_KEYS:
            raw[0] = add + raw[0]
        elif name == "check":
            raw = [add + k for k in raw]
        elif name == "wait":
            raw[1:] = [add + k for k in raw[1:]]
        return self.underlying_store._ask(name, *raw, patience=patience)


def private_folder() -> str:
    """A new folder that only this user can read."""
    folder = tempfile.mkdtemp(prefix="rushlight-ranks-")
    os.chmod(folder, 0o700)
    return folder
