"""Small files that ask for endless time or memory: refused in seconds, by `load`, old files and `predict`."""

from __future__ import annotations

import io
import json
import pickle
import resource
import struct
import subprocess
import sys
import tarfile
import zipfile

import pytest

import rushlight as rl
from rushlight.io import CorruptFileError

MARK, STOP = b"(", b"."


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def whole(n: int) -> bytes:
    raw = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def put(i: int) -> bytes:
    return b"r" + struct.pack("<I", i)


def get(i: int) -> bytes:
    return b"j" + struct.pack("<I", i)


def storage(numel: int = 1) -> bytes:
    """A storage of float32 that the file really holds."""
    return (MARK + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + whole(numel)) + b"tQ"


def expanded(numel: int = 2**40) -> bytes:
    """A tensor of 2**40 elements that are all the same one."""
    size = whole(numel) + b"\x85"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage()
        + b"K\x00"
        + size
        + b"K\x00\x85\x89"
        + b"ccollections\nOrderedDict\n)RtR"
    )


def call(name: str, *args: bytes) -> bytes:
    module, _, attr = name.rpartition(".")
    return f"c{module}\n{attr}\n".encode() + MARK + b"".join(args) + b"tR"


def nested_key(depth: int) -> bytes:
    return b"}" + b")" + b"\x85" * depth + b"K\x01s"


def doubled_key(levels: int) -> bytes:
    """((((), ()), ((), ())), ...): so many levels, and twice the hashing for each."""
    parts = b")" + put(0)
    for i in range(levels):
        parts += b"0" + get(i) + get(i) + b"\x86" + put(i + 1)
    return b"}" + parts + b"K\x01s"


def many_encodes(times: int) -> bytes:
    long = text("x" * 200_000) + put(0) + b"0"
    each = b"c_codecs\nencode\n" + MARK + get(0) + text("latin1") + b"tR"
    return b"](" + long + each * times + b"e"


def copies(name: str, times: int) -> bytes:
    """One list of 50,000 numbers, copied again and again."""
    made = b"](" + b"K\x01" * 50_000 + b"e" + put(0) + b"0"
    module, _, attr = name.rpartition(".")
    one = f"c{module}\n{attr}\n".encode() + MARK + get(0) + b"tR"
    return b"](" + made + one * times + b"e"


def chained_default_dicts(n: int) -> bytes:
    """One in the other; freed by recursion in C, which crashes the interpreter."""
    one = b"ccollections\ndefaultdict\ncbuiltins\nlist\n\x85R"
    return one + (text("k") + one) * n + b"s" * n


BUILDERS = {
    "nested tuples as a key": lambda: nested_key(1_000_000),
    "a key that hashes for ever": lambda: doubled_key(48),
    "a set of what hashes for ever": lambda: doubled_key(48)[1:-3].join([b"\x8f(", b"\x90"]),
    "a frozenset of what hashes for ever": lambda: b"(" + doubled_key(48)[1:-3] + b"\x91",
    "a Counter of what hashes for ever": lambda: call(
        "collections.Counter", b"](" + doubled_key(48)[1:-3] + b"e"
    ),
    "an OrderedDict of what hashes for ever": lambda: call(
        "collections.OrderedDict", b"](" + doubled_key(48)[1:-3] + b"K\x01\x86e"
    ),
    "integers of one hash": lambda: b"}("
    + b"".join(whole(i * (2**61 - 1)) + b"N" for i in range(1, 50_000))
    + b"u",
    "text encoded 20,000 times": lambda: many_encodes(20_000),
    "a list copied 5,000 times": lambda: copies("builtins.list", 5000),
    "a set copied 5,000 times": lambda: copies("builtins.set", 5000),
    "a size copied 5,000 times": lambda: copies("torch.Size", 5000),
    "a bytearray of 2**40": lambda: call("builtins.bytearray", whole(2**40)),
    "a number of a long text": lambda: call("builtins.int", text("9" * 100_000)),
    "a tensor called": lambda: b"ctorch\nTensor\n" + whole(2**33) + b"\x85R",
    "lists in lists": lambda: b"]" * 200_000 + b"a" * 199_999,
    "200,000 defaultdicts": lambda: chained_default_dicts(200_000),
    "a mark as a value": lambda: b"}" + text("k") + b"(s",
    **{
        f"{name} of 2**40 elements": lambda name=name: call(name, expanded())
        for name in (
            "builtins.list", "builtins.set", "builtins.frozenset", "torch.Size",
            "collections.Counter", "collections.OrderedDict", "builtins.bytearray",
            "builtins.complex", "_codecs.encode", "torch.device",
        )
    },
}  # fmt: skip
ATTACKS = {name: b"\x80\x02" + make() + STOP for name, make in BUILDERS.items()}


def zipped(pickled: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        z.writestr("archive/byteorder", "little")
        z.writestr("archive/data/0", b"\0\0\0\0")
        z.writestr("archive/version", "3\n")
    return buffer.getvalue()


def legacy(pickled: bytes) -> bytes:
    head = [pickle.dumps(h, 2) for h in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    return b"".join([*head, pickled, pickle.dumps(["0"], 2), struct.pack("<q", 1), b"\0\0\0\0"])


# Loads one file with little memory and time, and says how it went.
READ = """
import io, resource, sys
import rushlight as rl
from rushlight.io import CorruptFileError
rl.ones(2) + 1
with open("/proc/self/statm") as f:
    now = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 300_000_000, now + 300_000_000))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for path in sys.argv[1:]:
    try:
        rl.load(path)
    except CorruptFileError as error:
        assert "\\n" not in str(error) and "MemoryError" not in str(error), error
    else:
        sys.exit(path + " was loaded")
"""


@pytest.mark.parametrize("form", [zipped, legacy])
def test_attacks_are_refused_in_bounded_time_and_memory(form, tmp_path) -> None:
    """All of them in one process of 300 MB and 60 seconds of processor time."""
    paths = []
    for i, (name, raw) in enumerate(ATTACKS.items()):
        path = tmp_path / f"{i} {name.replace('/', ' ')[:40]}.pth"
        path.write_bytes(form(raw))
        paths.append(str(path))
    done = subprocess.run([sys.executable, "-c", READ, *paths], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_smallest_attack_is_small() -> None:
    assert len(b"\x80\x02" + doubled_key(24) + STOP) < 481


@pytest.mark.parametrize(
    "name", ["a key that hashes for ever", "nested tuples as a key", "builtins.list of 2**40 elements"]
)
@pytest.mark.parametrize("form", [zipped, legacy])
def test_predict_refuses_them_in_one_line(name, form, tmp_path) -> None:
    path = tmp_path / "model.pth"
    path.write_bytes(form(ATTACKS[name]))
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "predict", str(path), "image.png"],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "cannot be read" in done.stderr


def test_what_real_files_hold_is_within_the_budget() -> None:
    """Containers of plain keys, tuples among them, many and large."""
    keys = {("a", 1, None, (2.0, b"c")): 1, 3: "x", b"raw": 2, 1.5: 0, True: 1}
    content = {
        "keys": keys,
        "sets": [{i, str(i)} for i in range(1000)],
        "frozen": frozenset(("a", "b")),
        "numbers": list(range(100_000)),
        "bytes": [bytes([i % 256]) * 100 for i in range(1000)],
        "raw": bytearray(b"abc"),
        "complex": 1 + 2j,
        "deep": _deep(300),
        "tensors": {rl.float32: rl.ones(3), rl.device("cpu"): rl.zeros(2)},
    }
    buffer = io.BytesIO()
    rl.save(content, buffer)
    buffer.seek(0)
    back = rl.load(buffer)
    for name in ("keys", "sets", "frozen", "numbers", "bytes", "raw", "complex", "deep"):
        assert back[name] == content[name], name
    assert rl.equal(back["tensors"][rl.float32], rl.ones(3))


def _deep(levels: int) -> list:
    found: list = []
    for _ in range(levels):
        found = [found]
    return found


def test_records_that_overlap_are_counted_once_each(tmp_path) -> None:
    """A thousand entries of one megabyte that lie over each other are no gigabyte."""
    pickled = b"\x80\x02]("
    for key in range(1000):
        pickled += storage(250_000).replace(text("0"), text(str(key)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        z.writestr("archive/data/0", bytes(1_000_000))
        z.writestr("archive/data.pkl", pickled + b"e.")
        first = z.infolist()[0]
        for key in range(1, 1000):
            twin = zipfile.ZipInfo(f"archive/data/{key}")
            twin.file_size = twin.compress_size = 1_000_000
            twin.CRC, twin.header_offset = first.CRC, first.header_offset
            z.filelist.append(twin)
            z.NameToInfo[twin.filename] = twin
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    buffer.seek(0)
    with pytest.raises(CorruptFileError):
        rl.load(buffer)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_old_files_may_not_claim_more_than_they_hold() -> None:
    raw = legacy(b"\x80\x02" + storage(2**40) + STOP)
    with pytest.raises(CorruptFileError, match="claims"):
        rl.load(io.BytesIO(raw))


CLAIMS = {
    "nothing, but too long": [0, 2**61],
    "65 dims": [1] * 65,
    "beyond the machine": [0, 2**63],
    "negative": [-1],
    "no numbers": [1.5],
    "a product that overflows": [2**32, 2**32],
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_size_that_no_tensor_has_is_a_damaged_file(claim: str) -> None:
    from rushlight.io import safetensors

    pytest.importorskip("safetensors")
    size = CLAIMS[claim]
    bytes_of = 4 if claim == "65 dims" else 0
    told = {"a": {"dtype": "F32", "shape": size, "data_offsets": [0, bytes_of]}}
    head = json.dumps(told).encode()
    with pytest.raises(CorruptFileError):
        safetensors.load(struct.pack("<Q", len(head)) + head + bytes(bytes_of))


ARCHIVES = {
    "a file as a folder": ["a", "a/b"],
    "a folder as a file": ["a/b", "a"],
    "a name too long": ["x" * 300],
    "out of the folder": ["../x"],
}


@pytest.mark.parametrize("ending", ["zip", "tar"])
@pytest.mark.parametrize("kind", ARCHIVES)
def test_names_that_no_file_can_have(tmp_path, kind: str, ending: str) -> None:
    from rushlight.vision.datasets.utils import extract_archive

    path = tmp_path / f"x.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as z:
            for name in ARCHIVES[kind]:
                z.writestr(name, b"content")
    else:
        with tarfile.open(path, "w") as t:
            for name in ARCHIVES[kind]:
                info = tarfile.TarInfo(name)
                info.size = 7
                t.addfile(info, io.BytesIO(b"content"))
    try:
        extract_archive(path, tmp_path / "to" / "here")
    except CorruptFileError:
        pass
    else:
        assert kind == "out of the folder" and ending == "zip"  # its names lead inside by zipfile's rule
    assert not (tmp_path / "to" / "x").exists() and not (tmp_path / "x").exists()
