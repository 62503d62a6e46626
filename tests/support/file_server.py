"""A web server of this machine: files by name, transfers that break off, and answers of a test's own."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


class FileServer(ThreadingHTTPServer):
    """Sends `files`; breaks off after `cut` bytes the first `breaks` times; remembers what was `asked`.

    `/KIND/NAME` is answered by `answers[KIND]`, a function of the handler and the file's content.
    """

    def __init__(self, answers: dict[str, Callable[[BaseHTTPRequestHandler, bytes], None]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.cut, self.breaks, self.ranges = 0, 0, True
        self.answers = answers


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server, name, wanted = self.server, unquote(self.path[1:]), self.headers.get("Range")
        server.asked.append((name, wanted))
        kind, _, rest = name.partition("/")
        own = server.answers.get(kind)
        content = server.files.get(rest if own else name)
        if content is None:
            self.send_error(404)
            return
        if own:
            own(self, content)
            return
        start = int(wanted[len("bytes=") : -1]) if wanted and server.ranges else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        end = len(content)
        if server.breaks:
            server.breaks -= 1
            end, self.close_connection = start + server.cut, True
        if self.command == "GET":
            self.wfile.write(content[start:end])

    do_HEAD = do_GET

    def log_message(self, *args: object) -> None:
        """Quiet."""


@contextmanager
def serving(answers: dict[str, Callable[[BaseHTTPRequestHandler, bytes], None]] | None = None) -> Iterator[FileServer]:
    """A server for one test."""
    made = FileServer(answers or {})
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    gc.collect()  # a connection that was left open is told here, in the test that left it
    made.shutdown()
    made.server_close()
    thread.join()
