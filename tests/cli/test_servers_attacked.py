"""`rushlight serve` and `rushlight view` under attack: slow clients, endless forms, bombs, strange pictures; others are answered.

Nothing is timed: that a server is not held is shown by its answering `/health` while an attack is not over. `python
tests/cli/test_servers_attacked.py` does the same and prints how long the answers took.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import socket
import struct
import threading
import time
import zlib
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rushlight as rl
from rushlight.cli import serve as serving
from rushlight.cli import view as viewing
from rushlight.cli.data.pictures import pillow_rules
from rushlight.cli.errors import UsageError
from rushlight.cli.serve import HEADERS, PARTS, BadForm, Form
from rushlight.cli.tasks.classification import Classification

pytest.importorskip("uvicorn")
Image = pytest.importorskip("PIL.Image")
PATIENT = 120  # seconds until a test gives up


class Mean:
    """The smallest network that can be served: how bright a picture is."""

    mode, task, device = "RGB", Classification(["bright"]), "cpu"
    inputs = None
    saved = {"config": {"model": "mean"}, "size": 8, "channels": 3}

    def prepared(self, picture: Any) -> Any:
        return rl.tensor(list(picture.resize((8, 8)).tobytes()), dtype=rl.float32)

    def answers(self, some: list[Any]) -> list[list[tuple[str, float]]]:
        return [[("bright", float(x.mean() / 255))] for x in some]


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


class Served:
    """A server in a thread of this process, and what its log says."""

    def __init__(self) -> None:
        import uvicorn

        args = Namespace(batch_size=4, wait_ms=1.0, rate=0, max_mb=16.0)
        self.app = serving.make_app(Mean(), args)
        self.log = _Log()
        config = uvicorn.Config(self.app, port=0, log_config=None, access_log=False, http=serving._bounded(), timeout_keep_alive=60)  # fmt: skip
        self.server = uvicorn.Server(config)
        self.bound = socket.socket()
        self.bound.bind(("127.0.0.1", 0))
        self.bound.listen(1024)
        self.port = self.bound.getsockname()[1]
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with pillow_rules():
            self.server.run(sockets=[self.bound])

    def __enter__(self) -> Served:
        logging.getLogger("uvicorn.error").addHandler(self.log)
        self.thread.start()
        assert self.health() == 200
        return self

    def __exit__(self, *_: Any) -> None:
        logging.getLogger("uvicorn.error").removeHandler(self.log)
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(PATIENT)
        assert not self.thread.is_alive()
        assert not [line for line in self.log.said if "Traceback" in line or "Exception" in line]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENT)

    def health(self) -> int:
        return self.ask(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")[0]

    def ask(self, content: bytes) -> tuple[int, dict]:
        with self.connect() as client:
            with contextlib.suppress(ConnectionError):  # it may answer before it has all
                client.sendall(content)
            return answer(client)

    def post(self, body: bytes, kind: str = "image/png") -> tuple[int, dict]:
        head = f"POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        return self.ask(head.encode() + body)


def answer(client: socket.socket) -> tuple[int, dict]:
    got = b""
    with contextlib.suppress(ConnectionError):
        while some := client.recv(1 << 16):
            got += some
    if not got:
        return 0, {}
    head, _, body = got.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/"):
        return 0, {}
    return int(head.split()[1]), json.loads(body) if body.startswith(b"{") else {}


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as made:
        yield made
        assert made.health() == 200


def png(size: tuple[int, int] = (20, 20)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, (255, 255, 255)).save(out, "png")
    return out.getvalue()


def bomb() -> bytes:
    """A PNG whose header claims two thousand million pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", 60_000, 40_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"0" * 1000)) + chunk(b"IEND", b"")  # fmt: skip


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
FORM = "multipart/form-data; boundary=b"
FILE = b'--b\r\nContent-Disposition: form-data; name="f"; filename="a.png"\r\n\r\n%b\r\n--b--\r\n'
BODIES = {
    "100,000 parts": (b"--b\r\nA: b\r\n\r\nx\r\n" * 100_000 + b"--b--\r\n", FORM, 400),
    "200,000 headers": (b"--b\r\n" + b"A: b\r\n" * 200_000 + b"\r\nx\r\n--b--\r\n", FORM, 400),
    "a long parameter": (b"--b\r\nContent-Disposition: form-data; filename=" + b"a;" * 10**6 + b"\r\n\r\nx\r\n--b--", FORM, 400),
    "3,000 forms in forms": (b"--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" * 3000 + b"--b--", FORM, 400),
    "no boundary": (b"--b\r\n\r\nx", "multipart/form-data", 400),
    "a long boundary": (b"x", "multipart/form-data; boundary=" + "b" * 5000, 400),
    "line ends alone": (b"\r\n" * 10**6, FORM, 400),
    "a bomb": (bomb(), "image/png", 400),
    "EPS": (EPS, "image/png", 400),
    "EPS in a form": (FILE % EPS, FORM, 400),
    "too much": (b"x" * (17 << 20), "image/png", 413),
    "no picture": (b"no picture", "image/png", 400),
    "nothing": (b"", "image/png", 400),
    "a picture": (png(), "image/png", 200),
    "a picture in a form": (FILE % png(), FORM, 200),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_answered_and_the_server_goes_on(served: Served, name: str) -> None:
    body, kind, code = BODIES[name]
    got, told = served.post(body, kind)
    assert got == code, told
    assert "error" in told or code == 200


def asked(head: bytes, more: bytes = b"", body: bytes = b"") -> bytes:
    return head + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + more + b"\r\n" + body


POST, CHUNKED = b"POST /predict", b"Transfer-Encoding: chunked\r\n"
REQUESTS = {  # what is sent, and what serve and view answer (0: view closes, or answers in HTTP 0.9)
    "a length and chunks": (asked(POST, b"Content-Length: 4\r\n" + CHUNKED, b"0\r\n\r\nGET /health HTTP/1.1\r\n\r\n"), 400, 501),
    "two lengths": (asked(POST, b"Content-Length: 5\r\nContent-Length: 6\r\n", b"xxxxxx"), 400, 501),
    "a length below zero": (asked(POST, b"Content-Length: -1\r\n", b"x"), 400, 501),
    "an endless length": (asked(POST, b"Content-Length: 99999999999999999999\r\n", b"x"), 413, 501),
    "chunked twice": (asked(POST, b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n"), 400, 501),
    "no chunk": (asked(POST, CHUNKED, b"zz\r\nx\r\n0\r\n\r\n"), 400, 501),
    "a picture in chunks": (asked(POST, CHUNKED + b"Content-Type: image/png\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (len(png()), png())), 200, 501),
    "too many chunks": (asked(POST, CHUNKED, (b"100000\r\n" + b"x" * 2**20 + b"\r\n") * 17), 413, 501),
    "100,000 trailers": (asked(POST, CHUNKED, b"0\r\n" + b"A: b\r\n" * 100_000), 400, 501),
    "100,000 headers": (asked(b"GET /health", b"A: b\r\n" * 100_000), 400, 431),
    "a megabyte in a header": (asked(b"GET /health", b"A: " + b"b" * 2**20 + b"\r\n"), 400, 431),
    "websocket": (asked(b"GET /predict", b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"), 405, 404),
    "a method of its own": (asked(b"BREW /predict"), 405, 501),
    "deep JSON": (asked(POST, b"Content-Type: application/json\r\nContent-Length: 100000\r\n", b"[" * 100_000), 400, 501),
    "a path upwards": (asked(b"GET /%2e%2e/%2e%2e/etc/passwd"), 404, 404),
    "a null in a path": (asked(b"GET /%00"), 404, 404),
    "no host": (b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", 400, 403),
    "no HTTP": (bytes(range(256)) * 100, 400, 0),
}  # fmt: skip


def test_odd_requests_are_answered(served: Served, tmp_path: Path) -> None:
    for name, (sent, code, _) in REQUESTS.items():
        assert served.ask(sent)[0] == code, name
    with viewing.make_server(str(tmp_path), "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            for name, (sent, _, code) in REQUESTS.items():
                with socket.create_connection(server.server_address[:2], timeout=PATIENT) as client:
                    with contextlib.suppress(ConnectionError):
                        client.sendall(sent)
                    got = answer(client)[0]
                assert got in (code, 0), (name, got)  # 0: it was closed before all was sent
        finally:
            server.shutdown()
            thread.join()


def test_others_are_answered_while_slow_clients_send(served: Served) -> None:
    """Bodies and headers that never end: a hundred of them are open, and stay so, while others are answered."""
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    with contextlib.ExitStack() as held:
        slow = [held.enter_context(served.connect()) for _ in range(100)]
        for i, client in enumerate(slow):
            client.sendall(head + b"x" * 1000 if i % 2 else head[:30])
        for _ in range(5):
            assert served.health() == 200
            assert served.post(png())[0] == 200
        for client in slow:
            client.settimeout(0.001)
            with pytest.raises(TimeoutError):  # not answered, not closed
                client.recv(1)


def test_bodies_and_headers_have_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(serving, "BODY_SECONDS", 0.2)
    with Served() as served:
        with served.connect() as silent, served.connect() as head, served.connect() as body:
            head.sendall(b"GET /health HTTP/1.1\r\nHo")
            body.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000\r\n\r\nx")
            assert answer(silent) == (0, {}) and answer(head) == (0, {})  # closed
            assert answer(body) == (408, {"error": "not sent within 0.2 seconds"})


def test_so_many_bytes_are_held_and_not_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "HELD", 0)
    with Served() as served:
        room = (16 << 20) + serving.SPARE
        head = b"POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 16777216\r\n\r\n"
        with served.connect() as first, served.connect() as second:
            first.sendall(head + b"x" * (room // 2))
            with contextlib.suppress(ConnectionError):
                second.sendall(head + b"x" * (16 << 20))
            codes = [answer(second)[0]]
            with contextlib.suppress(ConnectionError):
                first.sendall(b"x" * ((16 << 20) - room // 2))
            codes.append(answer(first)[0])
        assert 503 in codes
        assert served.post(png())[0] == 200  # and what was held is free again


def test_connections_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "CONNECTIONS", 8)
    with Served() as served, contextlib.ExitStack() as held:
        idle = [held.enter_context(served.connect()) for _ in range(20)]
        assert served.health() == 200
        assert len(served.server.server_state.connections) <= 9
        assert answer(idle[0]) == (0, {})  # whoever waited longest was closed


def test_a_client_that_leaves_is_no_news(served: Served) -> None:
    for sent in (b"", b"POST /pre", b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx"):
        for _ in range(5):
            with served.connect() as client:
                client.sendall(sent)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert served.health() == 200  # and nothing was said, see `Served`


def test_a_form_takes_memory_for_its_file_alone() -> None:
    form = Form(FORM)
    form.feed(b"--b\r\n\r\n")
    for _ in range(100):
        form.feed(b"x" * 100_000 + b"\r\n--b\r\n\r\n" if form.parts < PARTS - 1 else b"x" * 100_000)
    assert len(form.content()) == 100_000 and len(form.rest) < 2 * HEADERS
    with pytest.raises(BadForm, match="bytes of headers"):
        Form(FORM).feed(b"--b\r\n" + b"a" * (HEADERS + 10))


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "webp", "bmp", "tiff", "ppm", "ico", "tga"])
def test_named_formats_are_read_and_no_others(tmp_path: Path, ending: str) -> None:
    from rushlight.cli.data.pictures import open_picture
    from rushlight.vision.datasets.folder import default_loader
    from rushlight.vision.io import decode_image

    path = tmp_path / f"a.{ending}"
    Image.new("RGB", (16, 16), (255, 0, 0)).save(path)
    assert open_picture(path).size == (16, 16) and default_loader(str(path)).size == (16, 16)
    path.write_bytes(EPS)
    for read, kind in ((open_picture, UsageError), (default_loader, OSError)):
        with pytest.raises(kind):
            read(str(path))
    with pytest.raises(RuntimeError):
        decode_image(rl.tensor(list(EPS), dtype=rl.uint8))


def test_view_answers_while_others_hold_it(
    tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewing, "CONNECTIONS", 8)
    with viewing.make_server(str(tmp_path), "127.0.0.1", 0) as server, contextlib.ExitStack() as held:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            where = server.server_address[:2]
            slow = [held.enter_context(socket.create_connection(where, timeout=PATIENT)) for _ in range(40)]
            for i, client in enumerate(slow):
                with contextlib.suppress(ConnectionError):
                    client.sendall(b"GET / HTTP/1.1\r\nHo" if i % 2 else b"")
            for path in ("/", "/api/runs", "/run/..%2f..%2fetc/args.json", "/run/%00/report.html"):
                with socket.create_connection(where, timeout=PATIENT) as client:
                    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                    assert answer(client)[0] == (404 if path.startswith("/run") else 200)
            assert len(server.open) <= 9
            for client in slow:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        finally:
            server.shutdown()
            thread.join()
    assert "Traceback" not in capfd.readouterr().err


if __name__ == "__main__":
    with Served() as target:
        for label, (sent, kind, _) in BODIES.items():
            begin, worst = time.perf_counter(), 0.0
            attack = threading.Thread(target=target.post, args=(sent, kind))
            attack.start()
            while attack.is_alive():
                asked = time.perf_counter()
                target.health()
                worst = max(worst, time.perf_counter() - asked)
            print(f"{label}: {time.perf_counter() - begin:.2f} s, /health meanwhile at most {worst:.3f} s")
