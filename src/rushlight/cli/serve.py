"""`rushlight serve`: a saved network behind HTTP, with batching, limits and a page to drop a picture on."""

from __future__ import annotations

import asyncio
import io
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from .data.pictures import pillow_rules, read_picture
from .errors import UsageError
from .pick_device import pick_device
from .predict import Reader
from .report.page_style import page
from .training import checkpoint

if TYPE_CHECKING:
    from argparse import Namespace

    from ..core.tensor import Tensor

TOP = 5
WAITING = 256  # pictures in the queue; further requests are refused
ADDRESSES = 10_000  # addresses whose rate is remembered


def serve(args: Namespace) -> int:
    """Answer until Ctrl-C."""
    saved = checkpoint.read(args.model)
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise UsageError(
            "serving needs Starlette and uvicorn: pip install 'rushlight[serve]'"
        ) from None
    device, why = pick_device(args.device)
    app = make_app(Reader(saved, device, TOP), args)
    config = uvicorn.Config(
        app, host=args.host, port=args.port, log_level="warning", access_log=False
    )
    try:
        bound = config.bind_socket()
    except SystemExit:  # uvicorn exits like this when the port is taken
        raise UsageError(
            f"port {args.port} of {args.host} cannot be had: try another --port, or 0"
        ) from None
    bound.listen()  # first of all: a client may connect as soon as it reads the line below
    where = f"http://{args.host}:{bound.getsockname()[1]}/"
    print(f"Serving {args.model} on {why}: {where} has a page to drop a picture on; POST a picture to {where}predict. "
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

    async def ask(self, x: Tensor) -> list[tuple[str, float]]:
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


class _TooLarge(Exception):
    pass


async def _body(request: Any, most: int) -> bytes:
    """What was sent, read no further than allowed; a form's first file, or the body itself."""
    told = request.headers.get("content-length")
    if told and told.isdigit() and int(told) > most + 4096:
        raise _TooLarge
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most + 4096:
            raise _TooLarge
        parts.append(part)
    content = b"".join(parts)
    kind = request.headers.get("content-type", "")
    return _first_file(content, kind) if kind.startswith("multipart/form-data") else content


def _first_file(content: bytes, kind: str) -> bytes:
    """The first file of a form (`curl -F file=@photo.jpg`), or its first part where none has a file's name."""
    from email.parser import BytesParser
    from email.policy import HTTP

    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + content)  # fmt: skip
    parts = list(message.iter_parts()) if message.is_multipart() else []
    for part in sorted(parts, key=lambda p: not p.get_filename()):
        found = part.get_payload(decode=True)
        if isinstance(found, bytes) and found:
            return found
    return b""


def make_app(reader: Reader, args: Namespace) -> Any:
    """The Starlette application: /, /predict, /info and /health."""
    from contextlib import asynccontextmanager

    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, JSONResponse
    from starlette.routing import Route

    batcher = Batcher(reader, args.batch_size, args.wait_ms)
    rate = Rate(args.rate)
    most = int(args.max_mb * 2**20)

    def refuse(code: int, why: str) -> Any:
        return JSONResponse({"error": why}, code)

    async def predict(request: Any) -> Any:
        if not rate.allows(request.client.host if request.client else ""):
            return refuse(429, f"more than {args.rate:g} pictures a second; try again later")
        try:
            content = await _body(request, most)
        except _TooLarge:
            return refuse(413, f"larger than {args.max_mb:g} MB")
        if not content:
            return refuse(
                400, "send a picture: curl --data-binary @photo.jpg, or a form with a file"
            )
        try:
            picture = await asyncio.to_thread(
                read_picture, io.BytesIO(content), reader.mode, "the picture"
            )
            x = await asyncio.to_thread(reader.prepared, picture)
        except UsageError as error:
            return refuse(400, error.sentence())
        begin = time.perf_counter()
        try:
            answer = await batcher.ask(x)
        except asyncio.QueueFull:
            return refuse(503, "too many pictures are waiting; try again later")
        found = [{"class": name, "probability": round(p, 6)} for name, p in answer]
        return JSONResponse(
            {"answers": found, "milliseconds": round((time.perf_counter() - begin) * 1000, 1)}
        )

    async def info(request: Any) -> Any:
        config = reader.saved["config"]
        return JSONResponse({"model": config["model"], "classes": reader.classes, "size": reader.saved["size"],
                             "channels": reader.saved["channels"], "device": reader.device})  # fmt: skip

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
    return Starlette(routes=routes, lifespan=alive)


_BODY = """<header><h1>What is it?</h1><p id='info'>Drop a picture, paste one, or choose a file.</p></header>
<label id='drop' class='card' style='display:grid;place-items:center;min-height:260px;border-style:dashed;cursor:pointer;text-align:center'>
<input id='file' type='file' accept='image/*' hidden><div><img id='seen' alt='' style='max-width:100%;max-height:340px;border-radius:8px' hidden>
<p id='hint' class='faint'>Drop a picture here</p></div></label><div id='answers' class='card' style='margin-top:16px' hidden></div>"""

_SCRIPT = """<script>
addEventListener('DOMContentLoaded', () => {
  const $ = id => document.getElementById(id), text = s => String(s).replace(/[&<>"']/g, c => '&#' + c.charCodeAt(0) + ';');
  fetch('/info').then(a => a.json()).then(i => $('info').textContent = `${i.model} knows ${i.classes.length} classes: ${i.classes.slice(0, 12).join(', ')}${i.classes.length > 12 ? ' ...' : ''}`);
  async function ask(file) {
    if (!file) return;
    $('seen').src = URL.createObjectURL(file); $('seen').hidden = false; $('hint').textContent = 'asking ...'; $('answers').hidden = false;
    try { const a = await fetch('/predict', {method: 'POST', body: file}), r = await a.json();
      $('answers').innerHTML = r.error ? `<p class='wrong-text'>${text(r.error)}</p>` : "<div class='bars'>" + r.answers.map(x =>
        `<div class='bar-name'>${text(x.class)}</div><div class='bar'><i class='one' style='width:${x.probability * 100}%'></i></div><div class='bar-value'>${(x.probability * 100).toFixed(1)} %</div>`).join('') + '</div>';
      $('hint').textContent = r.error ? 'Drop another picture' : `answered in ${r.milliseconds} ms`; }
    catch (e) { $('hint').textContent = 'The server does not answer.'; } }
  $('file').onchange = e => ask(e.target.files[0]);
  addEventListener('dragover', e => e.preventDefault());
  addEventListener('drop', e => { e.preventDefault(); ask(e.dataTransfer.files[0]); });
  addEventListener('paste', e => ask(e.clipboardData.files[0]));
});
</script>"""
