"""Dataset files: the published layouts, damaged ones, downloads, folders."""

from __future__ import annotations

import hashlib
import io
import os
import pickle

import numpy as np
import pytest

from file_server import serving
from vision_data import CLASSES, cifar_batch, idx, pack_cifar10, write_cifar10, write_cifar100, write_mnist

pytest.importorskip("PIL")
from PIL import Image

import rushlight
from rushlight import hub
from rushlight.io.errors import CorruptFileError
from rushlight.vision import datasets, transforms
from rushlight.vision.datasets import mnist, utils
from rushlight.vision.datasets.cifar import read_pickle
from rushlight.vision.datasets.utils import check_integrity, download_url, extract_archive


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_cifar10_as_published(tmp_path, protocol: int) -> None:
    write_cifar10(tmp_path, 12, protocol)
    train, test = datasets.CIFAR10(tmp_path), datasets.CIFAR10(tmp_path, train=False)
    assert (len(train), len(test)) == (60, 12)
    assert train.data.shape == (60, 32, 32, 3) and train.data.dtype == np.uint8
    wanted = np.concatenate([cifar_batch(12, k)["data"] for k in range(5)])
    assert (train.data == wanted.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)).all()
    assert train.targets == sum((cifar_batch(12, k)["labels"] for k in range(5)), [])
    assert train.classes == CLASSES and train.class_to_idx["cat"] == 3
    img, target = test[3]
    assert img.size == (32, 32) and img.mode == "RGB" and target == test.targets[3]


def test_python_2_wrote_the_published_pickles(tmp_path) -> None:
    """Bytes spelt as text, numpy.core names, protocol 2: what lies in the archive."""
    data = cifar_batch(4, 0)["data"]
    raw = (
        b"\x80\x02}q\x01(U\x0bbatch_labelq\x02U\x04testU\x06labelsq\x03]q\x04(K\x01K\x02K\x00K\x09e"
        b"U\x04dataq\x05cnumpy.core.multiarray\n_reconstruct\nq\x06cnumpy\nndarray\nq\x07K\x00\x85"
        b"U\x01b\x87Rq\x08(K\x01K\x04M\x00\x0c\x86cnumpy\ndtype\nq\x09U\x02u1K\x00K\x01\x87Rq\x0a"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + len(data.tobytes()).to_bytes(4, "little")
        + data.tobytes()
        + b"tbu."
    )
    assert (pickle.loads(raw, encoding="latin1")["data"] == data).all()
    found = read_pickle(raw)
    assert (found["data"] == data).all() and found["labels"] == [1, 2, 0, 9]


def test_cifar100(tmp_path) -> None:
    write_cifar100(tmp_path)
    train = datasets.CIFAR100(tmp_path)
    assert len(train) == 12 and len(train.classes) == 100


def test_an_archive_is_unpacked(tmp_path) -> None:
    folder = write_cifar10(tmp_path)
    pack_cifar10(tmp_path, folder)
    assert len(datasets.CIFAR10(tmp_path)) == 60
    assert (folder / "data_batch_1").is_file()


def test_an_archive_that_climbs_out_stays_in(tmp_path) -> None:
    import tarfile

    root = tmp_path / "root"
    root.mkdir()
    with tarfile.open(root / "cifar-10-python.tar.gz", "w:gz") as tar:
        evil = tarfile.TarInfo("../evil")
        evil.size = 4
        tar.addfile(evil, io.BytesIO(b"evil"))
        link = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted"):
        datasets.CIFAR10(root)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", [datasets.MNIST, datasets.FashionMNIST, datasets.KMNIST])
def test_mnist_as_published(tmp_path, kind, packed: bool) -> None:
    write_mnist(tmp_path, kind.__name__, 20, packed)
    train, test = kind(tmp_path), kind(tmp_path, train=False)
    assert train.data.shape == (20, 28, 28) and train.data.dtype == rushlight.uint8
    assert train.targets.dtype == rushlight.int64
    assert not (train.data == test.data).all()
    img, target = train[2]
    assert img.mode == "L" and type(target) is int and target == train.targets[2]
    assert len(train.classes) == 10 and train.class_to_idx[train.classes[4]] == 4


def test_missing_files_say_where_they_belong(tmp_path) -> None:
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted. You can use") as error:
        datasets.CIFAR10(tmp_path)
    assert str(tmp_path / "cifar-10-batches-py") in str(error.value)
    assert "data_batch_5" in str(error.value)
    with pytest.raises(RuntimeError, match="Dataset not found") as error:
        datasets.MNIST(tmp_path)
    assert str(tmp_path / "MNIST" / "raw") in str(error.value)
    assert "t10k-labels-idx1-ubyte.gz" in str(error.value)


def test_printed_form(tmp_path) -> None:
    write_cifar10(tmp_path)
    chain = transforms.Compose([transforms.ToTensor()])
    dataset = datasets.CIFAR10(str(tmp_path), train=False, transform=chain)
    assert repr(dataset).splitlines() == [
        "Dataset CIFAR10",
        "    Number of datapoints: 12",
        f"    Root location: {tmp_path}",
        "    Split: Test",
        "    StandardTransform",
        "Transform: Compose(",
        "               ToTensor()",
        "           )",
    ]


# -- damage --------------------------------------------------------------------------------------


class Evil:
    def __reduce__(self):
        return os.system, ("echo evil > evil.txt",)


HOSTILE = {
    "os.system": pickle.dumps({"data": Evil()}),
    "builtins.eval": b"\x80\x02cbuiltins\neval\nX\x03\x00\x00\x001+1\x85R.",
    "call a dtype object": b"\x80\x02cnumpy\nndarray\n(K\x01tR.",
    "huge text": b"\x80\x02X\xff\xff\xff\xffabc.",
    "huge bytes": b"\x80\x04\x8e" + (2**62).to_bytes(8, "little") + b"abc.",
    "object array": pickle.dumps({"data": np.array([Evil()], dtype=object)}),
    "records": pickle.dumps({"data": np.zeros(3, [("a", "i4")])}),
    "not a dict": pickle.dumps([1, 2]),
    "empty": b"",
    "only stop": b".",
    "deep": b"\x80\x02" + b"(" * 100000 + b".",
    "nested": b"\x80\x02" + b"]" * 50000 + b"a" * 49999 + b".",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles(tmp_path, monkeypatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorruptFileError):
        read_pickle(HOSTILE[name])
    assert not list(tmp_path.iterdir())


def test_a_huge_memo_number_takes_no_memory() -> None:
    """CPython's own reader would make a table of 64 GB for this."""
    assert read_pickle(b"\x80\x02}r\xff\xff\xff\xff.") == {}


def mutate(rng: np.random.Generator, raw: bytes, head: int) -> bytes:
    """Bytes flipped, cut off, doubled or put in; most of it near the beginning and the end."""
    a = bytearray(raw)
    kind = rng.integers(0, 5)
    near = int(rng.integers(0, min(head, len(a))))
    at = near if rng.random() < 0.7 else int(rng.integers(0, len(a)))
    if kind == 0:
        for _ in range(int(rng.integers(1, 6))):
            spot = int(rng.integers(0, min(head, len(a)))) if rng.random() < 0.7 else at
            a[spot] = int(rng.integers(0, 256))
    elif kind == 1:
        del a[at:]
    elif kind == 2:
        del a[at : at + int(rng.integers(1, 9))]
    elif kind == 3:
        a[at:at] = rng.bytes(int(rng.integers(1, 9)))
    else:
        a[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"])
    return bytes(a)


def test_damaged_cifar_files(tmp_path) -> None:
    """1500 mutations: read as right, or one clear error; nothing else."""
    folder = write_cifar10(tmp_path, 3)
    rng = np.random.default_rng(0)
    refused = 0
    for name in ("data_batch_2", "batches.meta", "data_batch_5"):
        right = (folder / name).read_bytes()
        for _ in range(500):
            (folder / name).write_bytes(mutate(rng, right, 400))
            try:
                found = datasets.CIFAR10(tmp_path)
            except RuntimeError as error:
                assert str(error).startswith("Dataset not found or corrupted.")
                refused += 1
            else:
                assert found.data.shape[1:] == (32, 32, 3) and len(found.targets) == len(found.data)
        (folder / name).write_bytes(right)
    assert 500 < refused < 1500
    assert len(datasets.CIFAR10(tmp_path)) == 15


@pytest.mark.parametrize("packed", [False, True])
def test_damaged_mnist_files(tmp_path, packed: bool) -> None:
    """1000 mutations each of plain and packed files."""
    folder = write_mnist(tmp_path, n=3, packed=packed)
    rng = np.random.default_rng(1)
    refused = 0
    for name in sorted(os.listdir(folder))[2:]:
        right = (folder / name).read_bytes()
        for _ in range(500):
            (folder / name).write_bytes(mutate(rng, right, 24))
            try:
                found = datasets.MNIST(tmp_path)
            except RuntimeError as error:
                assert str(error).startswith("Dataset not found or corrupted.")
                refused += 1
            else:
                assert found.data.ndim == 3 and len(found.data) == len(found.targets)
        (folder / name).write_bytes(right)
    assert refused > 500


def test_a_small_file_cannot_ask_for_much_memory(tmp_path) -> None:
    head = bytes([0, 0, 8, 3]) + b"\xff\xff\xff\xff" * 3
    with pytest.raises(CorruptFileError):
        mnist.parse_idx(head + b"\0" * 100)
    with pytest.raises(CorruptFileError):
        mnist.parse_idx(bytes([0, 0, 8, 200]) + b"\0" * 1000)


def test_labels_must_belong_to_classes(tmp_path) -> None:
    folder = write_mnist(tmp_path)
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(np.full(20, 11)))
    with pytest.raises(RuntimeError, match="belong together"):
        datasets.MNIST(tmp_path)


# -- downloads -----------------------------------------------------------------------------------


@pytest.fixture
def server():
    with serving() as made:
        yield made


BODY = bytes(range(256)) * 2000
MD5 = hashlib.md5(BODY).hexdigest()


def test_a_download(tmp_path, server, capsys) -> None:
    server.files["a.bin"] = BODY
    download_url(server.url + "a.bin", tmp_path, md5=MD5)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert sorted(os.listdir(tmp_path)) == ["a.bin"]
    assert "a.bin: 512.0 kB downloaded" in capsys.readouterr().err
    download_url(server.url + "a.bin", tmp_path, md5=MD5)  # it is there
    assert len(server.asked) == 1


def test_a_broken_download_goes_on(tmp_path, server) -> None:
    server.files["a.bin"] = BODY
    server.cut, server.breaks = 100_000, 2
    download_url(server.url + "a.bin", tmp_path, md5=MD5)
    assert [r for _, r in server.asked] == [None, "bytes=100000-", "bytes=200000-"]
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_a_later_try_goes_on_where_the_last_broke_off(tmp_path, server) -> None:
    server.files["a.bin"] = BODY
    server.cut, server.breaks = 1000, 3
    with pytest.raises(hub.DownloadError, match="connection ended"):
        download_url(server.url + "a.bin", tmp_path, md5=MD5)
    assert sorted(os.listdir(tmp_path)) == ["a.bin.part"]
    download_url(server.url + "a.bin", tmp_path, md5=MD5)
    assert server.asked[-1][1] == "bytes=3000-"
    assert check_integrity(tmp_path / "a.bin", MD5)


def test_a_server_that_knows_no_ranges(tmp_path, server) -> None:
    server.files["a.bin"] = BODY
    server.ranges = False
    (tmp_path / "a.bin.part").write_bytes(b"something else")
    download_url(server.url + "a.bin", tmp_path, md5=MD5)
    assert check_integrity(tmp_path / "a.bin", MD5)


def test_a_part_that_is_already_whole(tmp_path, server) -> None:
    server.files["a.bin"] = BODY
    (tmp_path / "a.bin.part").write_bytes(BODY + b"more")
    download_url(server.url + "a.bin", tmp_path, md5=MD5)
    assert check_integrity(tmp_path / "a.bin", MD5)


def test_a_wrong_file_is_thrown_away(tmp_path, server) -> None:
    server.files["a.bin"] = BODY[:-1] + b"!"
    with pytest.raises(hub.DownloadError, match="checksum"):
        download_url(server.url + "a.bin", tmp_path, md5=MD5)
    assert not os.listdir(tmp_path)
    with pytest.raises(hub.DownloadError, match="404"):
        download_url(server.url + "b.bin", tmp_path)


def test_the_second_mirror_helps(tmp_path, server) -> None:
    server.files["good/a.bin"] = BODY
    download_url([server.url + "bad/a.bin", server.url + "good/a.bin"], tmp_path, md5=MD5)
    assert check_integrity(tmp_path / "a.bin", MD5)


def test_mnist_by_download(tmp_path, server, monkeypatch) -> None:
    folder = write_mnist(tmp_path / "source", packed=True)
    resources = []
    for name, _ in datasets.MNIST.resources:
        raw = (folder / name).read_bytes()
        server.files[name] = raw
        resources.append((name, hashlib.md5(raw).hexdigest()))
    monkeypatch.setattr(datasets.MNIST, "resources", resources)
    monkeypatch.setattr(datasets.MNIST, "mirrors", [server.url])
    root = tmp_path / "target"
    assert len(datasets.MNIST(root, download=True)) == 20
    asked = len(server.asked)
    assert len(datasets.MNIST(root, train=False, download=True)) == 20
    assert len(server.asked) == asked


def test_cifar_by_download(tmp_path, server, monkeypatch) -> None:
    source = tmp_path / "source"
    archive = pack_cifar10(source, write_cifar10(source))
    server.files["cifar-10-python.tar.gz"] = archive.read_bytes()
    monkeypatch.setattr(datasets.CIFAR10, "url", server.url + "cifar-10-python.tar.gz")
    monkeypatch.setattr(datasets.CIFAR10, "tgz_md5", hashlib.md5(archive.read_bytes()).hexdigest())
    root = tmp_path / "target"
    assert len(datasets.CIFAR10(root, download=True)) == 60
    asked = len(server.asked)
    (root / "cifar-10-batches-py" / "data_batch_3").write_bytes(b"damaged")
    assert len(datasets.CIFAR10(root)) == 60  # from the archive that is there
    (root / "cifar-10-python.tar.gz").write_bytes(b"damaged")
    (root / "cifar-10-batches-py" / "data_batch_3").unlink()
    assert len(datasets.CIFAR10(root, download=True)) == 60
    assert len(server.asked) == asked + 1


def test_without_a_network(tmp_path, monkeypatch) -> None:
    dead = "http://127.0.0.1:9/"  # the discard port: nobody listens
    monkeypatch.setattr(datasets.CIFAR10, "url", dead + "cifar-10-python.tar.gz")
    monkeypatch.setattr(datasets.MNIST, "mirrors", [dead])
    with pytest.raises(RuntimeError, match="could not be downloaded") as error:
        datasets.CIFAR10(tmp_path, download=True)
    assert f"place these files in {tmp_path} by hand" in str(error.value)
    assert "cifar-10-python.tar.gz" in str(error.value)
    with pytest.raises(RuntimeError, match="could not be downloaded") as error:
        datasets.MNIST(tmp_path, download=True)
    assert str(tmp_path / "MNIST" / "raw") in str(error.value)
    assert "train-images-idx3-ubyte.gz" in str(error.value)


def test_extract_archive(tmp_path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.zip", "w") as z:
        z.writestr("inside/b.txt", "hello")
    extract_archive(tmp_path / "a.zip", tmp_path / "out")
    assert (tmp_path / "out" / "inside" / "b.txt").read_text() == "hello"
    for ending, opened in utils._COMPRESSED_FILE_OPENERS.items():
        with opened(tmp_path / f"b.txt{ending}", "wb") as f:
            f.write(b"hello")
        assert extract_archive(tmp_path / f"b.txt{ending}").read_text() == "hello"
    assert utils._detect_file_type("a.b.tar.bz2") == (".tar.bz2", ".tar", ".bz2")
    assert utils._detect_file_type("a.tbz2") == (".tbz2", ".tar", ".bz2")
    (tmp_path / "a.xyz").write_text("")
    with pytest.raises(RuntimeError, match="archive type"):
        extract_archive(tmp_path / "a.xyz")


# -- folders, fakes and the embedded pictures -----------------------------------------------------


def test_image_folder(tmp_path) -> None:
    for k, name in enumerate(("dog", "cat", "bird")):
        (tmp_path / name / "deep").mkdir(parents=True)
        Image.new("RGB", (5, 4), (k, 2, 3)).save(tmp_path / name / "b.png")
        Image.new("L", (5, 4), k).save(tmp_path / name / "deep" / "a.JPG", format="PNG")
        (tmp_path / name / "notes.txt").write_text("no picture")
    found = datasets.ImageFolder(tmp_path, transform=transforms.ToTensor())
    assert found.classes == ["bird", "cat", "dog"] and found.class_to_idx["dog"] == 2
    assert len(found) == 6 and found.targets == [0, 0, 1, 1, 2, 2] and found.imgs is found.samples
    assert [os.path.relpath(p, tmp_path) for p, _ in found.samples[:2]] == ["bird/b.png", "bird/deep/a.JPG"]
    x, target = found[0]
    assert x.shape == (3, 4, 5) and target == 0


def test_image_folder_says_what_is_wrong(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        datasets.ImageFolder(tmp_path)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        datasets.ImageFolder(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="Found no valid file for the classes empty"):
        datasets.ImageFolder(tmp_path)
    assert len(datasets.ImageFolder(tmp_path, allow_empty=True)) == 0


def test_fake_data_is_the_same_every_time() -> None:
    torch = pytest.importorskip("torch")
    fake = datasets.FakeData(5, (3, 8, 8), 10, random_offset=4)
    rushlight.manual_seed(0)
    before = rushlight.get_rng_state()
    img, target = fake[2]
    assert (rushlight.get_rng_state() == before).all()
    torch.manual_seed(6)
    noise = torch.randn(3, 8, 8)
    assert target == torch.randint(0, 10, (1,)).item()
    # Bytes as `byte()` makes them: the whole part, modulo 256.
    wanted = (noise * 255).to(torch.int64).remainder(256).permute(1, 2, 0).numpy()
    near = (np.asarray(img).astype(int) - wanted + 1) % 256
    assert (near <= 2).all()
    with pytest.raises(IndexError):
        fake[5]


def test_fashion_mini() -> None:
    train, test = datasets.FashionMini(), datasets.FashionMini(train=False)
    assert (len(train), len(test)) == (12000, 3000)
    for part in (train, test):
        assert part.data.dtype == rushlight.uint8 and part.data.shape[1:] == (28, 28)
        assert part.targets.bincount().tolist() == [len(part) // 10] * 10
    assert train.classes == datasets.FashionMNIST.classes
    assert hashlib.md5(train.data.numpy().tobytes()).hexdigest() == TRAIN_MD5
    again = datasets.FashionMini()
    again.data.zero_()
    assert datasets.FashionMini().data.any()  # each has its own pictures


TRAIN_MD5 = "0bcda24d4e39896c87943d7de5dca62a"


def test_the_embedded_pictures_are_small_and_come_with_their_licence() -> None:
    from importlib.resources import files

    folder = files("rushlight.vision") / "embedded"
    assert (folder / "fashion-mini.xz").stat().st_size < 6_000_000
    notice = (folder / "NOTICE.fashion-mnist").read_text(encoding="utf-8")
    assert "MIT" in notice and "Zalando SE" in notice
