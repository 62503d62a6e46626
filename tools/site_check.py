"""Opens every page of the built site in a headless Chromium: no page writes an error to the console, and search finds names.

    python tools/site_check.py [--site site] [--pictures FOLDER] [--all]

Talks to the browser over its debugging pipe, so nothing has to be installed but `chromium`. Pages of the repository's sources are
opened with --all only; they have no script of their own.
"""

from __future__ import annotations

import argparse
import base64
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--window-size=1300,1100", "--hide-scrollbars",
)  # fmt: skip
SEARCHES = {
    "conv2d": "/rushlight.nn.functional.html#conv2d",
    "cross_entropy": "/rushlight.nn.functional.html#cross_entropy",
    "텐서": "lab/ko",
    "テンソル": "lab/ja",
    "anfitrión": "lab/es",
}
PICTURES = (
    "index.html",
    "start.html",
    "performance.html",
    "lab/en.html",
    "lab/ko.html",
    "lab/ja.html",
    "lab/es.html",
    "reference/rushlight.nn.html",
)


class Browser:
    """A Chromium and one tab of it."""

    def __init__(self, program: str, home: str):
        read, self._out = os.pipe()
        self._in, write = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4; the shell puts them there.
        command = [program, *FLAGS, f"--user-data-dir={home}"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{read} 4>&{write}', "-", *command],
            pass_fds=(read, write), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read)
        os.close(write)
        self._rest, self._number, self.errors = b"", 0, list[str]()
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> Any:
        """Sends a command and waits for its answer; errors of the page that come before it are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != self._number:
            self._hear(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _message(self) -> Any:
        while b"\0" not in self._rest:
            more = os.read(self._in, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self._rest += more
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def _hear(self, event: Any) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(
                params["exceptionDetails"].get("exception", {}).get("description", "an exception")
            )
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(str([a.get("value", a.get("description")) for a in params["args"]]))

    def run(self, code: str) -> Any:
        return self.ask("Runtime.evaluate", expression=code)["result"].get("value")

    def wait(self, code: str, seconds: float = 20) -> Any:
        """The first true value of an expression."""
        end = time.monotonic() + seconds
        while not (value := self.run(code)) and time.monotonic() < end:
            time.sleep(0.05)
        return value

    def open(self, url: str) -> None:
        self.ask("Page.navigate", url=url)
        self.wait(
            f"document.readyState == 'complete' && location.href.startsWith({url.split('?')[0]!r})"
        )

    def picture(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site without a line for each file."""

    def log_message(self, *args: Any) -> None:
        pass


def check(browser: Browser, base: str, pages: list[str], pictures: Path | None) -> list[str]:
    """What is wrong with the pages, and with search."""
    faults = []
    for page in pages:
        browser.errors.clear()
        browser.open(f"{base}/{page}")
        time.sleep(0.05)
        if not browser.run("document.querySelector('article h1') != null"):
            faults.append(f"{page}: no heading")
        faults += [f"{page}: {error}" for error in browser.errors]
        if pictures and page in PICTURES:
            browser.picture(pictures / page.replace("/", "-").replace(".html", ".png"))
    for words, place in SEARCHES.items():
        browser.open(f"{base}/start.html?q={words}")
        found = browser.wait(
            "Array.from(document.querySelectorAll('.md-search-result__link')).map(a => a.pathname + a.hash).join(' ')"
        )
        if place not in (found or ""):
            faults.append(f"search for {words} does not find {place}: {(found or '')[:300]}")
        if pictures and words == "conv2d":
            browser.picture(pictures / "search.png")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=ROOT / "site")
    parser.add_argument("--pictures", type=Path, help="a folder for screenshots of some pages")
    parser.add_argument("--all", action="store_true", help="pages of source files, too")
    args = parser.parse_args()
    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if program is None:
        print("no Chromium here")
        return 2
    pages = sorted(str(p.relative_to(args.site)) for p in args.site.rglob("*.html"))
    pages = [
        p for p in pages if p != "404.html" and (args.all or not p.startswith("repository/src"))
    ]
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(args.site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(program, home)
        try:
            faults = check(browser, f"http://127.0.0.1:{server.server_port}", pages, args.pictures)
        finally:
            browser.close()
            server.shutdown()
    print(
        "\n".join(faults)
        or f"{len(pages)} pages without an error; search finds {', '.join(SEARCHES)}"
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
