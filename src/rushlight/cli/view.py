"""`rushlight view`: a page of this machine that compares runs while they train; nothing has to be installed."""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from ..base.locks import new_lock
from .errors import UsageError
from .report.page_style import page
from .runs import find_runs, history_of, summary

if TYPE_CHECKING:
    from argparse import Namespace

# What may be read from a run's folder, and as what.
_FILES = {"report.html": "text/html; charset=utf-8", "test.json": "application/json", "args.json": "application/json",
          "metrics.jsonl": "text/plain; charset=utf-8"}  # fmt: skip
CONNECTIONS = 64  # at a time
_LOCAL = ("127.0.0.1", "localhost", "::1")


def view(args: Namespace) -> int:
    """Serve until Ctrl-C."""
    find_runs(args.folder)  # a missing folder is reported now
    try:
        server = make_server(args.folder, args.host, args.port)
    except OSError as error:
        raise UsageError(f"port {args.port} of {args.host}: {error.strerror or error}; try another --port, or 0") from None  # fmt: skip
    where = f"http://{args.host}:{server.server_address[1]}/"
    only = " (this machine only)" if args.host in _LOCAL else " (every machine that reaches this one)"
    print(f"Showing {args.folder} at {where}{only}. Ctrl-C ends it.", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()
    return 0


def make_server(folder: str, host: str, port: int) -> ThreadingHTTPServer:
    """The server, listening but not yet answering."""
    handler = type("Handler", (_Handler,), {"folder": folder, "host": host})
    return _Server((host, port), handler)


class _Server(ThreadingHTTPServer):
    """Answers in threads, at most CONNECTIONS at a time: a further one takes the place of the oldest."""

    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        self.open: dict[Any, None] = {}  # in the order in which they came
        self.lock = new_lock()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.lock:
            oldest = next(iter(self.open)) if len(self.open) >= CONNECTIONS else None
            self.open.pop(oldest, None)
            self.open[request] = None
        if oldest is not None:
            _hang_up(oldest)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self.lock:
            self.open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves, or says nothing, is no news; anything else is told as usual."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _hang_up(connection: Any) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _split(address: str) -> SplitResult:
    """The parts of an address; none where it is not one."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


class _Handler(BaseHTTPRequestHandler):
    """/ is the page, /api/runs the numbers, /run/N/FILE a file of a run."""

    folder = host = ""
    timeout = 10  # seconds without a byte
    server_version, sys_version = "rushlight", ""

    def do_GET(self) -> None:
        if not self._known_host():
            return self._send(403, "text/plain", b"unknown host\n")
        path = posixpath.normpath(unquote(_split(self.path).path))
        if path == "/":
            return self._send(200, "text/html; charset=utf-8", page("runs", _BODY, _SCRIPT).encode())
        if path == "/api/runs":
            return self._send(200, "application/json", json.dumps(self._runs()).encode())
        parts = path.split("/")
        if len(parts) == 4 and parts[1] == "run" and parts[3] in _FILES:
            return self._file(parts[2], parts[3])
        return self._send(404, "text/plain", b"not found\n")

    def _known_host(self) -> bool:
        """Whether the request names this machine: a page from elsewhere must not read ours through a name of its own (DNS rebinding)."""
        asked = _split("//" + (self.headers.get("Host") or "")).hostname
        return self.host not in _LOCAL or asked in _LOCAL

    def _runs(self) -> list[dict[str, Any]]:
        found = []
        for path in find_runs(self.folder):
            told = summary(path)
            told["id"] = os.path.relpath(path, self.folder).replace(os.sep, "~")
            told["history"] = history_of(path)
            del told["path"]
            found.append(told)
        return found

    def _file(self, name: str, file: str) -> None:
        inside = {os.path.relpath(p, self.folder).replace(os.sep, "~"): p for p in find_runs(self.folder)}
        try:
            with open(os.path.join(inside[name], file), "rb") as f:
                content = f.read()
        except (LookupError, OSError):
            return self._send(404, "text/plain", b"not found\n")
        return self._send(200, _FILES[file], content)

    def _send(self, code: int, kind: str, content: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """A request every two seconds is not worth a line."""


_BODY = """<header><h1>Runs</h1><p id='told'>Looking ...</p></header>
<div class='grid-2'><div class='card'><h3>validation score</h3><div id='val_score'></div></div>
<div class='card'><h3>validation loss</h3><div id='val_loss'></div></div>
<div class='card'><h3>training loss</h3><div id='train_loss'></div></div>
<div class='card'><h3>learning rate</h3><div id='lr'></div></div></div>
<h2>All runs</h2><p class='faint'>Click a name to hide or show its lines.</p>
<div class='card'><table><thead><tr><th>run</th><th>model</th><th>data</th><th class='n'>epoch</th><th class='n'>validation</th>
<th class='n'>test</th><th>started</th><th></th></tr></thead><tbody id='rows'></tbody></table></div>
<h2>What differs</h2><div class='card'><table id='differs'></table></div>"""

# No library: a chart is a string of SVG. Text from files only ever goes through `text()`.
_SCRIPT = """<script>
const COLOURS = ['#0f766e','#d97706','#6366f1','#be123c','#0284c7','#65a30d','#a21caf','#78716c'];
const hidden = new Set(), colours = new Map(); let runs = [];
const text = s => String(s ?? '').replace(/[&<>"']/g, c => '&#' + c.charCodeAt(0) + ';');
const share = (r, part) => { const v = r[part + '_' + r.score]; return v == null ? '–' : r.score == 'accuracy' ? (100 * v).toFixed(1) + ' %' : r.score + ' ' + v.toFixed(3); };
function colour(id) { if (!colours.has(id)) colours.set(id, COLOURS[colours.size % COLOURS.length]); return colours.get(id); }
function keepColours(runs) { [...runs].sort((a, b) => a.started < b.started ? -1 : a.started > b.started ? 1 : 0).forEach(r => colour(r.id)); } // the oldest first, so that a later one changes none
function nice(low, high) { const r = (high - low) / 4 || 1, p = 10 ** Math.floor(Math.log10(r)), s = [1, 2, 5, 10].map(m => m * p).find(v => v >= r);
  const out = []; for (let v = Math.ceil(low / s) * s; v <= high + s / 1e6; v += s) out.push(v); return out; }
function chart(of) {
  const key = of == 'val_score' ? r => 'val_' + r.score : r => of, percent = of == 'val_score' && runs.every(r => r.score == 'accuracy');
  const W = 460, H = 260, L = 52, R = 14, T = 12, B = 34, lines = [];
  for (const r of runs) { if (hidden.has(r.id)) continue; const p = r.history.filter(h => Number.isFinite(h[key(r)])).map(h => [h.epoch, h[key(r)]]);
    if (p.length) lines.push([r, p]); }
  if (!lines.length) return "<p class='faint'>Nothing yet.</p>";
  const xs = lines.flatMap(l => l[1].map(p => p[0])), ys = lines.flatMap(l => l[1].map(p => p[1]));
  const x0 = Math.min(...xs), x1 = Math.max(...xs, x0 + 1), y0 = percent ? 0 : Math.min(0, ...ys), y1 = percent ? 1 : Math.max(...ys) * 1.05 || 1;
  const X = v => L + (W - L - R) * (v - x0) / (x1 - x0), Y = v => T + (H - T - B) * (1 - (v - y0) / (y1 - y0));
  let s = `<svg class='chart' viewBox='0 0 ${W} ${H}'>`;
  for (const v of nice(y0, y1)) s += `<line class='grid' x1='${L}' x2='${W - R}' y1='${Y(v)}' y2='${Y(v)}'/><text x='${L - 7}' y='${Y(v) + 4}' text-anchor='end'>${percent ? Math.round(v * 100) + '%' : +v.toPrecision(3)}</text>`;
  for (const v of nice(x0, x1).filter(Number.isInteger)) s += `<text x='${X(v)}' y='${H - B + 17}' text-anchor='middle'>${v}</text>`;
  for (const [r, p] of lines) { const c = colour(r.id), last = p[p.length - 1];
    s += `<polyline fill='none' stroke='${c}' stroke-width='2' points='${p.map(q => X(q[0]).toFixed(1) + ',' + Y(q[1]).toFixed(1)).join(' ')}'><title>${text(r.name)}</title></polyline><circle cx='${X(last[0])}' cy='${Y(last[1])}' r='3.5' fill='${c}'/>`; }
  return s + '</svg>';
}
function draw() {
  document.getElementById('told').textContent = runs.length + (runs.length == 1 ? ' run' : ' runs') + ', looked at again every two seconds';
  for (const k of ['val_score', 'val_loss', 'train_loss', 'lr']) document.getElementById(k).innerHTML = chart(k);
  document.getElementById('rows').innerHTML = runs.map(r => `<tr data-id='${text(r.id)}' style='cursor:pointer;opacity:${hidden.has(r.id) ? .4 : 1}'><td><i class='key' style='background:${colour(r.id)}'></i>${text(r.name)}</td>
    <td>${text(r.model)}</td><td>${text(r.data)}</td><td class='n'>${r.epoch}/${text(r.epochs)}</td><td class='n'>${share(r, 'val')}</td><td class='n'>${share(r, 'test')}</td>
    <td>${text(r.started.replace('T', ' ').slice(0, 16))}</td><td>${r.report ? `<a href='/run/${encodeURIComponent(r.id)}/report.html'>report</a>` : ''}</td></tr>`).join('');
  const keys = [...new Set(runs.flatMap(r => Object.keys(r.settings)))].filter(k => new Set(runs.map(r => JSON.stringify(r.settings[k]))).size > 1);
  document.getElementById('differs').innerHTML = keys.length ? '<tr><th></th>' + runs.map(r => `<th>${text(r.name)}</th>`).join('') + '</tr>' +
    keys.map(k => `<tr><td>${text(k)}</td>` + runs.map(r => `<td>${text(r.settings[k])}</td>`).join('') + '</tr>').join('') : '<tr><td class="faint">Nothing: there is one run, or all have the same settings.</td></tr>';
}
async function look() { try { const a = await fetch('/api/runs'); if (a.ok) { runs = await a.json(); keepColours(runs); draw(); } } catch (e) { document.getElementById('told').textContent = 'The server has ended.'; } setTimeout(look, 2000); }
addEventListener('click', e => { const row = e.target.closest('tr[data-id]'); if (!row || e.target.closest('a')) return;
  hidden.has(row.dataset.id) ? hidden.delete(row.dataset.id) : hidden.add(row.dataset.id); draw(); });
addEventListener('DOMContentLoaded', look);
</script>"""
