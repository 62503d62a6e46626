"""`rushlight serve`: a saved network behind HTTP, with batching, limits and a page to drop a picture on, or to fill in."""

from __future__ import annotations

import asyncio
import io
import re
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from .data.pictures import pillow_rules, read_picture
from .errors import UsageError, printable
from .pick_device import pick_device
from .predict import Input, Reader
from .report.page_style import page
from .training import checkpoint
from .words import counted

if TYPE_CHECKING:
    from argparse import Namespace


PARTS = 100  # of a form
HEADERS = 8192  # bytes of the headers of one part
BOUNDARY = 70  # characters, by RFC 2046


class BadForm(ValueError):
    """What was sent is no form, or one that nobody fills in; the message is for whoever sent it."""


def boundary_of(kind: str) -> bytes:
    """The line between the parts, out of a Content-Type."""
    found = re.search(r"""boundary=(?:"([^"]{1,200})"|([^\s;,"]{1,200}))""", kind[:1000], re.I)
    name = (found[1] or found[2]) if found else ""
    if not name or len(name) > BOUNDARY or not name.isascii():
        raise BadForm("a form needs a boundary of at most 70 characters")
    return b"\r\n--" + name.encode()


class Form:
    """The content of a form's first file, or of its first part that has some where no part has a file's name.

    `feed` takes the body as it comes. Each byte is looked at once; of parts that are not wanted nothing is kept.
    """

    def __init__(self, kind: str) -> None:
        self.line = boundary_of(kind)
        self.rest = bytearray(b"\r\n")  # the first boundary has no line before it
        self.parts = 0
        self.inside = ""  # "" before the first part, then "head", "file", "field", "end"
        self.file: bytearray | None = None
        self.field = bytearray()
        self.field_is_done = False
        self.skip = 0  # bytes in front of a part's content

    def feed(self, some: bytes) -> None:
        """Go on with more of the body."""
        self.rest += some
        while self.inside != "end" and self._step():
            pass
        if self.inside == "end":
            self.rest.clear()

    def _step(self) -> bool:
        """One part's head, or its content up to the next boundary; False where more has to come."""
        if self.inside == "head":
            return self._head()
        at = self.rest.find(self.line)
        if at < 0 or len(self.rest) < at + len(self.line) + 2:
            whole = at if at >= 0 else len(self.rest) - len(self.line) - 2
            if whole > 0:
                self._keep(self.rest[:whole])
                del self.rest[:whole]
            return False
        self._keep(self.rest[:at])
        if self.inside == "field" and self.field:
            self.field_is_done = True
        end = self.rest[at + len(self.line) : at + len(self.line) + 2]
        del self.rest[: at + len(self.line)]
        if self.inside == "file" or end == b"--":
            self.inside = "end"  # what comes behind the first file is not looked at
            return True
        self.parts += 1
        if self.parts > PARTS:
            raise BadForm(f"a form of more than {PARTS} parts")
        self.inside = "head"
        return True

    def _head(self) -> bool:
        at = self.rest.find(b"\r\n\r\n", 0, HEADERS + 4)
        if at < 0:
            if len(self.rest) > HEADERS:
                raise BadForm(f"more than {HEADERS} bytes of headers in a part of a form")
            return False
        head = bytes(self.rest[:at]).lower()
        del self.rest[: at + 2]  # the empty line's end may begin the next boundary
        is_file = re.search(rb'\r\ncontent-disposition:[^\r\n]*;\s*filename\*?=(?!"")', head)
        self.inside = "file" if is_file else "field"
        if is_file:
            self.file = bytearray()
        self.skip = 2
        return True

    def _keep(self, some: bytes | bytearray) -> None:
        """Content of the part; the line's end that its head left in front of it is not content."""
        if self.inside in ("file", "field"):
            some, self.skip = some[self.skip :], max(self.skip - len(some), 0)
            if self.inside == "file" and self.file is not None:
                self.file += some
            elif not self.field_is_done:
                self.field += some

    def content(self) -> bytes:
        """What was found."""
        return bytes(self.field if not self.file else self.file)


def _first_file(body: bytes, kind: str) -> bytes:
    """The content of a form that is there as a whole."""
    form = Form(kind)
    form.feed(body)
    return form.content()


TOP = 5
WAITING = 256  # pictures in the queue; further requests are refused
ADDRESSES = 10_000  # addresses whose rate is remembered
CONNECTIONS = 512  # at a time; beyond them the one that has asked for nothing for the longest is closed
HEAD_SECONDS = 10.0  # for a request's line and headers
BODY_SECONDS = 20.0  # for its body
IDLE_SECONDS = 5  # between two requests of a connection
SPARE = 4096  # bytes of a body beside the picture
HELD = 128 << 20  # bytes of all bodies that are being read
OPENING = 4  # pictures that are decoded at a time


def serve(args: Namespace) -> int:
    """Answer until Ctrl-C."""
    saved = checkpoint.read(args.model)
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise UsageError("serving needs Starlette and uvicorn: pip install 'rushlight[serve]'") from None
    device, why = pick_device(args.device)
    app = make_app(Reader(saved, device, TOP), args)
    config = uvicorn.Config(
        app, host=args.host, port=args.port, log_level="warning", access_log=False, http=_bounded(),
        timeout_keep_alive=IDLE_SECONDS,
    )  # fmt: skip
    try:
        bound = config.bind_socket()
    except SystemExit:  # uvicorn exits like this when the port is taken
        raise UsageError(f"port {args.port} of {args.host} cannot be had: try another --port, or 0") from None
    bound.listen()  # first of all: a client may connect as soon as it reads the line below
    where = f"http://{args.host}:{bound.getsockname()[1]}/"
    noun = app.state.noun
    page = "drop a picture on" if noun == "picture" else f"ask about a {noun}"
    print(f"Serving {args.model} on {why}: {where} has a page to {page}; POST a {noun} to {where}predict. "
          "Ctrl-C ends it.", flush=True)  # fmt: skip
    with pillow_rules():
        uvicorn.Server(config).run(sockets=[bound])
    return 0


class Batcher:
    """Pictures that come in at about the same time are answered together."""

    def __init__(self, reader: Reader, size: int, wait_ms: float) -> None:
        self.reader, self.size, self.wait = reader, size, wait_ms / 1000
        self.queue: asyncio.Queue[tuple[Any, asyncio.Future]] = asyncio.Queue(WAITING)

    async def run(self) -> None:
        """Answer batches for ever."""
        while True:
            some = [await self.queue.get()]
            end = time.monotonic() + self.wait
            while len(some) < self.size:
                try:
                    left = end - time.monotonic()
                    some.append(await asyncio.wait_for(self.queue.get(), max(left, 0)))
                except TimeoutError:
                    break
            await self._answer(some)

    async def _answer(self, some: list[tuple[Any, asyncio.Future]]) -> None:
        try:
            found = await asyncio.to_thread(self.reader.answers, [x for x, _ in some])
        except Exception as error:  # noqa: BLE001 - whoever waits must be told, whatever it was
            for _, future in some:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(some, found):
            if not future.done():
                future.set_result(answer)

    async def ask(self, x: Input) -> Any:
        """The answer to one input; asyncio.QueueFull where too many wait."""
        future = asyncio.get_running_loop().create_future()
        self.queue.put_nowait((x, future))
        return await future


class Rate:
    """So many requests a second from one address, with a burst of twice that."""

    def __init__(self, each_second: float) -> None:
        self.rate = each_second
        self.left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, address: str, now: float | None = None) -> bool:
        if not self.rate:
            return True
        now = time.monotonic() if now is None else now
        room = max(2 * self.rate, 1.0)
        tokens, before = self.left.pop(address, (room, now))
        tokens = min(room, tokens + (now - before) * self.rate)
        allowed = tokens >= 1
        self.left[address] = (tokens - 1 if allowed else tokens, now)
        if len(self.left) > ADDRESSES:
            self.left.popitem(last=False)
        return allowed


class _Refused(Exception):
    """A body that is not read to its end; the number and the sentence are the answer."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(code, why)
        self.code, self.why = code, why


class Bodies:
    """The bodies that are being read: how large one may be, how long it may take, how many bytes all hold together."""

    def __init__(self, most: int, told: str) -> None:
        self.most, self.told, self.held = most, told, 0
        self.room = max(HELD, most + SPARE)

    async def read(self, request: Any) -> bytes:
        """What was sent, read no further than allowed; a form's first file, or the body itself."""
        said = request.headers.get("content-length", "")
        if said.isdigit() and (len(said) > 18 or int(said) > self.most + SPARE):
            raise _Refused(413, self.told)
        kind = request.headers.get("content-type", "")
        size = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                form = Form(kind) if kind.startswith("multipart/form-data") else None
                parts = bytearray()
                async for some in request.stream():
                    size += len(some)
                    self.held += len(some)
                    if size > self.most + SPARE:
                        raise _Refused(413, self.told)
                    if self.held > self.room:
                        raise _Refused(503, "too much is being sent at once; try again later")
                    if form is None:
                        parts += some
                    else:
                        form.feed(some)
                return bytes(parts) if form is None else form.content()
        except TimeoutError:
            raise _Refused(408, f"not sent within {BODY_SECONDS:g} seconds") from None
        except BadForm as error:
            raise _Refused(400, str(error)) from None
        finally:
            self.held -= size


def _bounded() -> Any:
    """uvicorn's HTTP protocol, which here closes connections that ask for nothing, and has at most CONNECTIONS of them."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Bounded(H11Protocol):
        waits: Any = None  # the timer of a connection whose request is not there yet
        since = 0.0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()
            everyone: Any = self.connections
            there = [c for c in everyone if not c.transport.is_closing()]
            if len(there) > CONNECTIONS:
                # whoever has asked for nothing for the longest leaves; the newest where all have asked
                idle = [c for c in there if c.waits is not None]
                min(idle, key=lambda c: c.since, default=self).transport.abort()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _wait(self) -> None:
            """Let the timer run from the first byte of a request to the last of its headers, or from the connection on."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop()
            elif self.waits is None:
                self.since = self.loop.time()
                self.waits = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

        def _stop(self) -> None:
            if self.waits is not None:
                self.waits.cancel()
                self.waits = None

    return Bounded


def make_app(reader: Reader, args: Namespace) -> Any:
    """The Starlette application: /, /predict, /info and /health."""
    from contextlib import asynccontextmanager

    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.responses import HTMLResponse, JSONResponse
    from starlette.routing import Route

    other = reader.inputs
    batcher = Batcher(reader, args.batch_size, args.wait_ms)
    rate = Rate(args.rate)
    bodies = Bodies(int(args.max_mb * 2**20), f"larger than {args.max_mb:g} MB")
    opening = asyncio.Semaphore(OPENING)

    def refuse(code: int, why: str) -> Any:
        return JSONResponse({"error": why}, code)

    async def predict(request: Any) -> Any:
        if not rate.allows(request.client.host if request.client else ""):
            return refuse(429, f"more than {counted(args.rate, reader.task.noun)} a second; try again later")
        try:
            content = await bodies.read(request)
        except _Refused as error:
            return refuse(error.code, error.why)
        except ClientDisconnect:
            return refuse(499, "the client left")  # nobody hears it
        if other is not None:
            return await values(content)
        if not content:
            return refuse(400, "send a picture: curl --data-binary @photo.jpg, or a form with a file")
        try:
            async with opening:  # a picture can be as large as a hundred bodies
                picture = await asyncio.to_thread(read_picture, io.BytesIO(content), reader.mode, "the picture")
                x = await asyncio.to_thread(reader.prepared, picture)
        except UsageError as error:
            return refuse(400, error.sentence())
        return await answered([x])

    async def values(content: bytes) -> Any:
        """Rows as JSON, or a text."""
        assert other is not None  # pictures have a route of their own
        try:
            found = other.parsed(content)
            several = await asyncio.to_thread(lambda: [reader.input(one) for one in found])
        except ValueError as error:
            return refuse(400, printable(str(error)))
        return await answered(several, content.lstrip().startswith(b"[") and other.kind == "table")

    async def answered(several: list[Input], listed: bool = False) -> Any:
        begin = time.perf_counter()
        if len(several) > WAITING - batcher.queue.qsize():
            return refuse(503, f"too many {reader.task.noun}s are waiting; try again later")
        try:
            found = await asyncio.gather(*(batcher.ask(x) for x in several))
        except asyncio.QueueFull:
            return refuse(503, f"too many {reader.task.noun}s are waiting; try again later")
        made = [reader.task.as_json(answer) for answer in found]
        took = round((time.perf_counter() - begin) * 1000, 1)
        return JSONResponse({**({"rows": made} if listed else made[0]), "milliseconds": took})

    async def info(request: Any) -> Any:
        config = reader.saved["config"]
        names = [printable(name) for name in reader.task.names]
        return JSONResponse({"model": config["model"], "task": reader.task.kind, "classes": names, "knows": reader.task.counted(), "size": reader.saved["size"],
                             "channels": reader.saved["channels"], "device": reader.device, "input": other.page() if other is not None else {"kind": "pictures"}})  # fmt: skip

    async def health(request: Any) -> Any:
        return JSONResponse({"status": "ok"})

    async def home(request: Any) -> Any:
        return HTMLResponse(page("rushlight", _BODY, _SCRIPT))

    @asynccontextmanager
    async def alive(app: Any) -> Any:
        task = asyncio.create_task(batcher.run())
        yield
        task.cancel()

    routes = [Route("/", home), Route("/predict", predict, methods=["POST"]), Route("/info", info), Route("/health", health)]  # fmt: skip
    app = Starlette(routes=routes, lifespan=alive)
    app.state.noun = reader.task.noun
    return app


_BODY = """<header><h1>What is it?</h1><p id='info'>Drop a picture, paste one, or choose a file.</p></header>
<label id='drop' class='card' style='display:grid;place-items:center;min-height:260px;border-style:dashed;cursor:pointer;text-align:center'>
<input id='file' type='file' accept='image/*' hidden><div><img id='seen' alt='' style='max-width:100%;max-height:340px;border-radius:8px' hidden>
<p id='hint' class='faint'>Drop a picture here</p></div></label>
<form id='form' class='card' hidden><div id='fields' style='display:grid;grid-template-columns:repeat(auto-fill,minmax(200px,1fr));gap:10px'></div>
<p><button style='padding:6px 18px'>Ask</button> <span id='took' class='faint'></span></p></form><div id='answers' class='card' style='margin-top:16px' hidden></div>"""

_SCRIPT = """<script>
addEventListener('DOMContentLoaded', () => {
  const $ = id => document.getElementById(id), text = s => String(s).replace(/[&<>"']/g, c => '&#' + c.charCodeAt(0) + ';');
  fetch('/info').then(a => a.json()).then(i => { if (i.input.kind !== 'pictures') ready(i); $('info').textContent = `${i.model} knows ${i.knows}: ${i.classes.slice(0, 12).join(', ')}${i.classes.length > 12 ? ' ...' : ''}`; });
  const box = "style='width:100%;box-sizing:border-box;padding:6px;font:inherit'";
  function ready(i) {
    $('drop').hidden = true; $('drop').style.display = 'none'; $('form').hidden = false;
    if (i.input.kind === 'text') { $('fields').style.display = 'block'; $('fields').innerHTML = `<textarea id='words' rows='6' ${box} placeholder='Write or paste a text'></textarea>`; }
    else $('fields').innerHTML = i.input.columns.map((c, k) => `<label><span class='faint'>${text(c.name)}</span><br>` + (c.kind === 'category' && c.values.length ? `<select data-k='${k}' ${box}><option value=''>unknown</option>${c.values.map(v => `<option>${text(v)}</option>`).join('')}</select>` : `<input data-k='${k}' ${box} placeholder='${text(c.example)}'>`) + '</label>').join('');
    $('form').onsubmit = async e => { e.preventDefault(); const body = i.input.kind === 'text' ? $('words').value : JSON.stringify(Object.fromEntries([...document.querySelectorAll('[data-k]')].map(f => [i.input.columns[f.dataset.k].name, f.value])));
      $('answers').hidden = false; try { tell(await (await fetch('/predict', {method: 'POST', body})).json()); } catch (e) { $('took').textContent = 'The server does not answer.'; } }; }
  function tell(r) { $('answers').innerHTML = shown(r); $('took').textContent = r.error ? '' : `answered in ${r.milliseconds} ms`; }
  const bar = (name, v) => `<div class='bar-name'>${text(name)}</div><div class='bar'><i class='one' style='width:${v * 100}%'></i></div><div class='bar-value'>${(v * 100).toFixed(1)} %</div>`;
  function shares(r) { const seen = new Image(); seen.onload = () => { const c = $('mask'), g = c.getContext('2d'); c.width = seen.width; c.height = seen.height; g.drawImage(seen, 0, 0);
      const d = g.getImageData(0, 0, c.width, c.height), n = d.data; for (let i = 0; i < n.length; i += 4) { const v = n[i], h = (.02 + .618034 * v) % 1 * 6;
        [5, 3, 1].forEach((k, j) => n[i + j] = v ? 242 * (1 - .75 * Math.max(0, Math.min((k + h) % 6, 4 - (k + h) % 6, 1))) : 40); } g.putImageData(d, 0, 0); }; seen.src = r.mask;
    return "<canvas id='mask' style='width:min(100%,340px);border-radius:8px;margin-bottom:12px'></canvas><div class='bars'>" + Object.entries(r.areas).map(([n, v]) => bar(n, v)).join('') + '</div>'; }
  function around(r) { const seen = $('seen'), c = document.createElement('canvas'), g = c.getContext('2d'), names = [...new Set(r.boxes.map(b => b.class))].sort(); c.width = seen.naturalWidth; c.height = seen.naturalHeight; g.drawImage(seen, 0, 0);
    g.lineWidth = Math.max(2, c.width / 200); g.font = `${Math.max(12, c.width / 30)}px sans-serif`; r.boxes.forEach(b => { const [x, y, x2, y2] = b.box; g.strokeStyle = g.fillStyle = `hsl(${(7 + 222.5 * names.indexOf(b.class)) % 360} 90% 55%)`; g.strokeRect(x, y, x2 - x, y2 - y); g.fillText(b.class, x + 4, y - 4 > 12 ? y - 4 : y2 - 4); });
    return `<img alt='' src='${c.toDataURL()}' style='max-width:100%;border-radius:8px;margin-bottom:12px'><div class='bars'>${r.boxes.map(b => bar(b.class, b.probability)).join('') || 'nothing'}</div>`; }
  async function ask(file) {
    if (!file) return;
    $('seen').src = URL.createObjectURL(file); $('seen').hidden = false; $('hint').textContent = 'asking ...'; $('answers').hidden = false;
    try { const a = await fetch('/predict', {method: 'POST', body: file}), r = await a.json();
      $('answers').innerHTML = shown(r);
      $('hint').textContent = r.error ? 'Drop another picture' : `answered in ${r.milliseconds} ms`; }
    catch (e) { $('hint').textContent = 'The server does not answer.'; } }
  function shown(r) { return r.error ? `<p class='wrong-text'>${text(r.error)}</p>` : r.areas ? shares(r) : r.boxes ? around(r) : r.values ? Object.entries(r.values).map(([n, v]) => `<div class='number main'><b>${v}</b><span>${text(n)}</span></div>`).join('') : "<div class='bars'>" + r.answers.map(x =>
        bar((x.class ?? x.label) + (r.labels && x.probability >= .5 ? ' ✓' : ''), x.probability)).join('') + '</div>'; }
  $('file').onchange = e => ask(e.target.files[0]);
  addEventListener('dragover', e => e.preventDefault());
  addEventListener('drop', e => { e.preventDefault(); ask(e.dataTransfer.files[0]); });
  addEventListener('paste', e => ask(e.clipboardData.files[0]));
});
</script>"""
