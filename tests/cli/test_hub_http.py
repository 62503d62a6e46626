"""Weights from a web server of this machine: hashes, hostile answers, redirections, the trainer's `--weights`.

Transfers that break off and go on are in tests/vision/test_vision_datasets.py.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

import pytest

import rushlight as rl
from cli_help import write_pictures
from file_server import serving
from rushlight import hub
from rushlight.base.config import settings
from rushlight.cli import main
from rushlight.cli.training import weights
from rushlight.vision import models


def answer(handler, status: int, body: bytes, headers: dict) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, str(value))
    handler.end_headers()
    handler.wfile.write(body)


def other_part(handler, content: bytes) -> None:
    """The first time half of the file, then a part that does not begin where the half ends."""
    if handler.headers.get("Range"):
        where = {"Content-Range": f"bytes 0-{len(content) - 1}/{len(content)}"}
        answer(handler, 206, content, {"Content-Length": len(content), **where})
    else:
        again = [path for path, _ in handler.server.asked if f"/{path}" == handler.path]
        half = content[: len(content) // 2] if len(again) == 1 else content
        answer(handler, 200, half, {"Content-Length": len(content)})


def new_version(handler, content: bytes) -> None:
    """The first time half of an older file, then the rest of a newer one for whoever does not ask for the same version."""
    wanted, begin = handler.headers.get("If-Range"), handler.headers.get("Range")
    if begin and wanted in (None, '"new"'):
        at = int(begin[6:-1])
        where = {"Content-Range": f"bytes {at}-{len(content) - 1}/{len(content)}"}
        answer(handler, 206, content[at:], {"Content-Length": len(content) - at, **where})
    elif begin:
        answer(handler, 200, content, {"Content-Length": len(content), "ETag": '"new"'})
    else:
        old = bytes(len(content) // 2)
        answer(handler, 200, old, {"Content-Length": len(content), "ETag": '"old"'})


HOSTILE = {
    "file": lambda h, c: answer(h, 302, b"", {"Location": "file:///etc/passwd"}),
    "around": lambda h, c: answer(h, 302, b"", {"Location": h.path}),
    "short": lambda h, c: answer(h, 200, c[:100], {"Content-Length": len(c)}),
    "no number": lambda h, c: answer(h, 200, c, {"Content-Length": "many"}),
    "negative": lambda h, c: answer(h, 200, c, {"Content-Length": -5}),
    "unasked": lambda h, c: answer(h, 206, c[50:], {"Content-Range": f"bytes 50-{len(c) - 1}/{len(c)}"}),
    "huge": lambda h, c: answer(h, 200, c, {"Content-Length": 2**62}),
    "no http": lambda h, c: h.wfile.write(b"\x00\xff" * 50_000),
    "header": lambda h, c: answer(h, 200, c, {"X": "a" * 100_000}),
    "other": other_part,
    "new": new_version,
}


def moved(handler, content: bytes) -> None:
    """Where the file is, and its hash."""
    where = {"Location": handler.path.removeprefix("/moved")}
    answer(handler, 302, b"", {**where, "X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"'})


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_own_dir", str(tmp_path / "hub"))
    with serving({**HOSTILE, "moved": moved}) as made:
        yield made


def put(server, net, name: str) -> str:
    """A network's weights on the server, with the beginning of their hash in the name."""
    path = Path(hub.get_dir()) / "made.pth"
    path.parent.mkdir(parents=True, exist_ok=True)
    rl.save(net.state_dict(), path)
    content = path.read_bytes()
    path.unlink()
    full = f"{name}-{hashlib.sha256(content).hexdigest()[:8]}.pth"
    server.files[full] = content
    return full


def left() -> list[str]:
    return sorted(os.listdir(Path(hub.get_dir()) / "checkpoints"))


def test_a_hash_that_fits_and_one_that_does_not(server) -> None:
    net = models.get_model("lenet")
    name = put(server, net, "lenet")
    found = hub.load_state_dict_from_url(f"{server.url}{name}", progress=False, check_hash=True)
    assert all(rl.equal(found[k], v) for k, v in net.state_dict().items())
    asked = len(server.asked)
    hub.load_state_dict_from_url(f"{server.url}{name}", progress=False, check_hash=True)
    assert len(server.asked) == asked and left() == [name]  # from the cache
    server.files["lenet-00000000.pth"] = server.files[name]
    with pytest.raises(RuntimeError, match="checksum|hash"):
        hub.load_state_dict_from_url(f"{server.url}lenet-00000000.pth", progress=False, check_hash=True)
    assert left() == [name]


@pytest.mark.parametrize("kind", [k for k in HOSTILE if k not in ("other", "new")])
def test_a_hostile_server(kind: str, server, tmp_path) -> None:
    """One error, and nothing that looks whole."""
    server.files["a.bin"] = os.urandom(5000)
    with pytest.raises(hub.DownloadError):
        hub.download_url_to_file(f"{server.url}{quote(kind)}/a.bin", tmp_path / "a.bin", None, False)
    assert not (tmp_path / "a.bin").exists()


@pytest.mark.parametrize("kind", ["other", "new"])
def test_parts_that_do_not_belong_together(kind: str, server, tmp_path) -> None:
    server.files["a.bin"] = os.urandom(5000)
    hub.download_url_to_file(f"{server.url}{kind}/a.bin", tmp_path / "a.bin", None, False)
    assert (tmp_path / "a.bin").read_bytes() == server.files["a.bin"]


def test_what_is_left_of_another_version(server, tmp_path) -> None:
    """Without a hash nobody could tell, so that the file is fetched as a whole."""
    server.files["a.bin"] = os.urandom(5000)
    (tmp_path / "a.bin.part").write_bytes(bytes(100))
    hub.download_url_to_file(f"{server.url}a.bin", tmp_path / "a.bin", None, False)
    assert (tmp_path / "a.bin").read_bytes() == server.files["a.bin"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk(server, tmp_path) -> None:
    server.files["a.bin"] = os.urandom(5000)
    (tmp_path / "a.bin.part").symlink_to("/dev/full")
    sha = hashlib.sha256(server.files["a.bin"]).hexdigest()
    with pytest.raises(hub.DownloadError, match="cannot be written: No space left"):
        hub.download_url_to_file(f"{server.url}a.bin", tmp_path / "a.bin", sha, False)
    assert os.listdir(tmp_path) == []


def serve_imagenet(server, monkeypatch, damage: bool = False) -> None:
    """SqueezeNet's ImageNet weights come from this server."""
    name = put(server, models.squeezenet1_1(), "squeezenet1_1")
    if damage:
        content = bytearray(server.files[name])
        content[len(content) // 2] ^= 1
        server.files[name] = bytes(content)
    kind = type(models.SqueezeNet1_1_Weights.DEFAULT.value)
    entry = models.SqueezeNet1_1_Weights.DEFAULT.value
    made = kind(f"{server.url}{name}", entry.transforms, entry.meta)
    monkeypatch.setattr(models.SqueezeNet1_1_Weights.DEFAULT, "_value_", made)


@pytest.mark.parametrize("damage", [False, True], ids=["whole", "damaged"])
def test_train_from_imagenet(damage: bool, server, tmp_path, monkeypatch, capsys) -> None:
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    serve_imagenet(server, monkeypatch, damage)
    write_pictures(tmp_path / "photos", 6)
    code = main(["train", "--data", "photos", "--model", "squeezenet1_1", "--weights", "imagenet", "--freeze",
                 "--epochs", "1", "--size", "32", "--out", "run"])  # fmt: skip
    out, err = capsys.readouterr()
    if damage:
        assert code == 2 and "--weights imagenet: " in err and "checksum is wrong" in err
        assert not (tmp_path / "run/last.pth").exists()
    else:
        assert code == 0 and "the head is new" in out, err


def test_the_hub_tells_the_hash_with_its_redirection(server) -> None:
    name = put(server, models.get_model("lenet"), "lenet")
    promised = weights._promised_hash(f"{server.url}moved/{name}")
    assert promised == hashlib.sha256(server.files[name]).hexdigest()
    target = str(Path(hub.get_dir()) / "lenet.pth")
    hub.download_url_to_file(f"{server.url}moved/{name}", target, promised, progress=False)
    assert Path(target).read_bytes() == server.files[name]
    with pytest.raises(RuntimeError, match="checksum|hash"):
        hub.download_url_to_file(f"{server.url}moved/{name}", target + "2", "0" * 64, progress=False)
    assert not os.path.exists(target + "2")


def test_torch_home(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(hub, "_own_dir", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub") and hub._get_torch_home() == str(tmp_path)
    monkeypatch.setenv("TORCH_HOME", "~/weights")
    assert hub.get_dir() == os.path.expanduser("~/weights/hub")
    monkeypatch.delenv("TORCH_HOME")
    assert hub.get_dir() == os.path.join(settings.cache_dir, "hub")
