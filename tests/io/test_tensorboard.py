"""Event files, read back by an independent reader of the record and protobuf formats."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest

import rushlight as rl
from rushlight.utils.tensorboard import SummaryWriter
from rushlight.utils.tensorboard.events import crc32c


def unmask(word: int) -> int:
    word = (word - 0xA282EAD8) & 0xFFFFFFFF
    return (word >> 17 | word << 15) & 0xFFFFFFFF


def records(raw: bytes):
    at = 0
    while at < len(raw):
        (length,) = struct.unpack_from("<Q", raw, at)
        assert unmask(struct.unpack_from("<I", raw, at + 8)[0]) == crc32c(raw[at : at + 8])
        data = raw[at + 12 : at + 12 + length]
        assert unmask(struct.unpack_from("<I", raw, at + 12 + length)[0]) == crc32c(data)
        yield data
        at += length + 16


def fields(data: bytes) -> dict[int, list]:
    found: dict[int, list] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value = struct.unpack_from("<d", data, at)[0]
            at += 8
        elif key & 7 == 5:
            value = struct.unpack_from("<f", data, at)[0]
            at += 4
        else:
            n = varint()
            value = data[at : at + n]
            at += n
        found.setdefault(key >> 3, []).append(value)
    return found


def values(folder):
    """(step, tag, fields of the value) of every summary in a run."""
    out = []
    for file in sorted(folder.glob("events*")):
        for i, data in enumerate(records(file.read_bytes())):
            event = fields(data)
            if i == 0:
                assert event[3] == [b"brain.Event:2"]
                continue
            for summary in event[5]:
                value = fields(fields(summary)[1][0])
                out.append((event.get(2, [0])[0], value[1][0].decode(), value))
    return out


def test_checksum_is_castagnolis():
    assert crc32c(b"123456789") == 0xE3069283


def test_scalars_histograms_text(tmp_path):
    with SummaryWriter(tmp_path) as w:
        w.add_scalar("loss", 0.5, 3)
        w.add_scalar("acc", rl.tensor(0.25), 4)
        w.add_histogram("w", rl.arange(100.0), 1)
        w.add_text("note", "hello", 2)
        w.add_scalars("both", {"a": 1.0, "b": 2.0}, 5)
    got = {tag: (step, value) for step, tag, value in values(tmp_path)}
    assert got["loss"][0] == 3 and got["loss"][1][2] == [0.5] and got["acc"][1][2] == [0.25]
    histogram = fields(got["w"][1][5][0])
    assert histogram[1] == [0.0] and histogram[2] == [99.0] and histogram[3] == [100.0]
    assert sum(np.frombuffer(histogram[7][0], "<f8")) == 100
    assert fields(got["note/text_summary"][1][8][0])[8] == [b"hello"]
    assert values(tmp_path / "both_a")[0][2][2] == [1.0] and values(tmp_path / "both_b")[0][0] == 5


def test_images_are_pngs(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    with SummaryWriter(tmp_path) as w:
        w.add_image("one", rl.ones(3, 4, 5) * 0.5, 1)
        w.add_images("two", rl.zeros(2, 1, 4, 5), 1)
        with pytest.raises(ValueError, match="input format are different"):
            w.add_image("bad", rl.zeros(4, 5))
    pictures = {tag: fields(value[4][0]) for _, tag, value in values(tmp_path)}
    assert pictures["one"][1] == [4] and pictures["one"][2] == [5]
    opened = Image.open(io.BytesIO(pictures["one"][4][0]))
    assert opened.size == (5, 4) and opened.getpixel((0, 0)) == (127, 127, 127)
    assert Image.open(io.BytesIO(pictures["two"][4][0])).size == (10, 4)
