"""Folders and tables that nobody prepared: odd names, odd separators, splits that leave nothing, one picture a step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cli_help import CLASSES, COMMAND, environment, picture, write_pictures
from rushlight.cli import main
from rushlight.cli.data.listing import list_pictures
from rushlight.cli.data.pictures import TooLarge, open_picture
from rushlight.cli.data.sources import find_source, load_images
from rushlight.cli.errors import UsageError
from rushlight.cli.tasks.classification import ClassResult
from rushlight.cli.training import folder_of_run

Image = pytest.importorskip("PIL.Image")

SMALL = ["--model", "lenet", "--size", "16", "--epochs", "1"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    return write_pictures(tmp_path_factory.mktemp("data") / "photos", 20)


def load(path: Path, **more):
    plain = {"size": 16, "augment": "none", "val_split": 0.1, "test_split": 0.2, "cache": "memory", "quiet": True,
             "strict": False, "class_weights": False, "balanced": False, "fold": None, "erase": 0.0, "data_dir": "data", "fit": None}  # fmt: skip
    return load_images(find_source(os.fspath(path)), SimpleNamespace(**{**plain, **more}))


# -- tables ----------------------------------------------------------------------------------------


def written(photos: Path, head: str = "path,label", separator: str = ",", slash: str = "/") -> str:
    rows = [f"{kind}/{i}.png,{kind}" for kind in CLASSES for i in range(20)]
    rows = [row.replace("/", slash) for row in rows]
    return "\n".join([head, *rows, ""]).replace(",", separator)


@pytest.mark.parametrize("separator", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_tables_as_programs_write_them(photos: Path, separator: str, coding: str, end: str) -> None:
    path = photos / "table.csv"
    path.write_bytes(written(photos, separator=separator).replace("\n", end).encode(coding))
    found = list_pictures(str(path))
    assert found.classes == sorted(CLASSES) and len(found.samples) == 60
    assert all(os.path.exists(s.path) for s in found.samples)


@pytest.mark.parametrize("head", ["Image Path,Class Name", "file_name,category", "filepath,labels"])
def test_columns_by_their_usual_names(photos: Path, head: str) -> None:
    path = photos / "table.csv"
    path.write_text(written(photos, head))
    assert list_pictures(str(path)).classes == sorted(CLASSES)


def test_paths_of_windows(photos: Path) -> None:
    path = photos / "table.csv"
    path.write_text(written(photos, slash="\\"))
    assert all(os.path.exists(s.path) for s in list_pictures(str(path)).samples)


@pytest.mark.parametrize(
    "content, says",
    [
        ("path,label\ncaf\xe9.png,cat\n".encode("latin-1"), "is not UTF-8"),
        (b"path,label\n", "no line after the first"),
        (b"", "it has no line"),
    ],
    ids=["latin", "head", "empty"],
)
def test_tables_that_cannot_be_used(tmp_path, content: bytes, says: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(UsageError, match=says):
        list_pictures(str(tmp_path / "t.csv"))


# -- splits, batches -------------------------------------------------------------------------------


def test_a_batch_of_one_is_told_in_a_sentence(tmp_path, capsys) -> None:
    write_pictures(tmp_path / "few", 5)
    args = ["train", "--data", str(tmp_path / "few"), "--model", "resnet18", "--size", "8", "--batch-size", "1"]
    assert main([*args, "--out", str(tmp_path / "run"), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "larger --batch-size" in said


# -- what the scan tells ---------------------------------------------------------------------------


def test_a_contradiction_in_a_folder_with_words_of_ours(tmp_path) -> None:
    """What is told of a picture is for people; the program does not read it again."""
    root = write_pictures(tmp_path / "the same file as , which is x", 8)
    shutil.copy(root / "bars" / "1.png", root / "dots" / "wrong.png")
    images = load(root)
    assert sorted(p.kind for p in images.problems) == ["contradiction"] * 2
    kept = len(images.train) + len(images.val) + len(images.test)
    assert kept == 23 and not any(p.endswith("wrong.png") for p in images.paths)


def test_a_problem_does_not_repeat_the_path(tmp_path) -> None:
    root = write_pictures(tmp_path / "photos", 8)
    (root / "bars" / "page.png").write_text("<html>")
    Image.new("L", (12_000, 9_000)).save(root / "bars" / "map.png")
    why = {p.kind: p.why for p in load(root).problems}
    assert why["broken"] == "it is not an image that Pillow can read"
    assert why["too large"] == "it is too large an image: 108 million pixels, where 89 million are the most"
    with pytest.raises(TooLarge, match=r"map\.png is too large an image: 108 million"):
        open_picture(root / "bars" / "map.png")


# -- names -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> Path:
    """Classes that are no UTF-8, mathematics, HTML, several lines, emoji, and very long."""
    root = os.fsencode(tmp_path_factory.mktemp("odd")) + b"/photos \xe9"
    names = [b"caf\xe9", b"$a_{$ 5$^^", b"<script>x<b>", b"new\nline", "🐱".encode(), b"a" * 200]
    for n, name in enumerate(names):
        os.makedirs(root + b"/" + name)
        for i in range(6):
            pixels = picture(CLASSES[n % 3], 10 * n + i)
            with open(root + b"/" + name + b"/%d \xff.png" % i, "wb") as f:
                Image.fromarray(pixels).save(f, "PNG")
    return Path(os.fsdecode(root))


@pytest.mark.parametrize("cache", ["memory", "disk"])
def test_odd_names_are_trained_on_and_reported(odd: Path, tmp_path, monkeypatch, cache: str) -> None:
    monkeypatch.setattr("rushlight.base.config.settings.cache_dir", str(tmp_path / "cache"))
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/run \xe9"))
    assert main(["train", "--data", str(odd), *SMALL, "--out", str(out), "--cache", cache]) == 0
    text = (out / "report.html").read_text("utf-8")
    assert "<script>x" not in text and "caf\\udce9" in text
    assert (out / "confusion.svg").stat().st_size > 1000
    assert main(["train", "--config", str(out / "args.json"), "--out", str(tmp_path / "again")]) == 0


def test_odd_names_on_a_strict_terminal(odd: Path, tmp_path) -> None:
    """A terminal that knows no surrogates, or only ASCII, shows escapes and does not stop the program."""
    where = {**environment(), "PYTHONIOENCODING": "ascii:strict"}

    def call(*args: object) -> str:
        done = subprocess.run([*COMMAND, *map(str, args)], cwd=tmp_path, env=where, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode("ascii")

    assert "Look at it" in call("train", "--data", odd, *SMALL, "--out", "run")
    assert call("predict", "run", odd, "--csv").count(".png") == 36
    assert "caf" in call("eval", "run", "--by-class")


def test_long_names_do_not_break_tables() -> None:
    n = np.zeros(4)
    names = ["a" * 200, "b"]
    result = ClassResult(names, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), n + 1, n == 0, n)
    for text in (result.table(), result.table(by_class=True)):
        assert max(map(len, text.splitlines()[3:])) < 120 and "aaa..." in text


# -- chance ----------------------------------------------------------------------------------------


def test_chance_is_not_claimed_where_pictures_are_too_few() -> None:
    """One of three right answers more than chance: it may be chance, and that is what is said."""
    truth = np.repeat(np.arange(6), 2)
    answers = np.where(np.arange(12) < 4, truth, (truth + 1) % 6)
    n = np.zeros(12)
    some = ClassResult(list("abcdef"), truth, answers, n, n == 0, n).warning()
    assert some is not None and "may be chance" in some and "13.8% and 60.9%" in some
    none = ClassResult(list("abcdef"), truth, truth * 0, n, n == 0, n).warning()
    assert none is not None and "no better than chance" in none


# -- folders of runs -------------------------------------------------------------------------------


def test_runs_that_start_together_have_folders_of_their_own(photos: Path, tmp_path) -> None:
    args = [*COMMAND, "train", "--data", str(photos), *SMALL, "--quiet"]
    both = [subprocess.Popen(args, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [p.wait(600) for p in both] == [0, 0]
    for name in ("train", "train-2"):
        assert (tmp_path / "runs" / name / "report.html").exists()


def test_a_run_in_its_first_epoch_is_not_overwritten(photos: Path, tmp_path, capsys) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "args.json").write_text("{}")
    args = ["train", "--data", str(photos), *SMALL, "--out", str(tmp_path / "run")]
    assert main(args) == 0 and (tmp_path / "run-2" / "last.pth").exists()
    assert "holds a run already" in capsys.readouterr().out
    assert (tmp_path / "run" / "args.json").read_text() == "{}"


def test_runs_among_the_pictures_are_no_class(tmp_path, monkeypatch, capsys) -> None:
    folder = write_pictures(tmp_path / "photos", 8)
    monkeypatch.chdir(folder)
    for _ in range(2):
        assert main(["train", "--data", ".", *SMALL]) == 0
        assert "'runs'" not in capsys.readouterr().out
    (folder / "runs" / "train" / "seen.png").write_bytes((folder / CLASSES[0] / "0.png").read_bytes())
    assert list_pictures(".").classes == sorted(CLASSES)


def test_a_network_that_the_last_step_broke_is_told(photos: Path, tmp_path, capsys) -> None:
    args = ["train", "--data", str(photos), *SMALL, "--lr", "1e30", "--epochs", "1", "--batch-size", "64"]
    assert main([*args, "--out", str(tmp_path / "run")]) == 2
    assert "the validation loss of epoch 1 is" in capsys.readouterr().err


def test_a_mistake_leaves_no_folder(photos: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--data", str(tmp_path / "none")]) == 2
    assert os.listdir(tmp_path) == []


def test_resumed_from_another_folder_and_after_a_move(tmp_path, monkeypatch, capsys) -> None:
    write_pictures(tmp_path / "photos", 8)
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--data", "photos", *SMALL, "--out", "run", "--quiet"]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = ["train", "--resume", "--out", "../run", "--quiet"]
    assert main([*again, "--epochs", "2"]) == 0
    assert main([*again, "--epochs", "3", "--data", "../photos/"]) == 0
    write_pictures(tmp_path / "others", 8)
    assert main([*again, "--epochs", "4", "--data", "../others"]) == 2
    assert "was trained with --data" in capsys.readouterr().err
    (tmp_path / "photos").rename(tmp_path / "moved")
    assert main([*again, "--epochs", "4", "--data", "../moved"]) == 0
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 4
    shutil.rmtree(tmp_path / "moved" / "dots")
    assert main([*again, "--epochs", "5"]) == 2


# -- what comes out --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(photos: Path, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", "--data", str(photos), *SMALL, "--out", str(out), "--quiet"]) == 0
    return out


def test_exports_do_not_take_the_place_of_the_run(run: Path, capsys) -> None:
    before = (run / "best.pth").read_bytes()
    assert main(["export", str(run), "--to", "pth", "--out", str(run / "best.pth")]) == 2
    assert "would be lost" in capsys.readouterr().err
    assert (run / "best.pth").read_bytes() == before
    assert main(["export", str(run), "--to", "pth"]) == 0
    assert f"torch.load({str(run / 'model.pth')!r})" in capsys.readouterr().out


def test_answers_come_in_the_order_of_the_files(photos: Path, run: Path, tmp_path, capsys) -> None:
    named = [photos / "bars" / "1.png", tmp_path / "none.png", photos / "dots" / "2.png"]
    assert main(["predict", str(run), *map(str, named), "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["path"] for line in lines] == [str(p) for p in named]
    assert ["error" in line for line in lines] == [False, True, False]


def test_a_profile_shows_loading_beside_the_step(photos: Path, tmp_path, capsys, monkeypatch) -> None:
    from rushlight._aten import names

    asked: list[str] = []
    find = names.find
    monkeypatch.setattr(names, "find", lambda op: asked.append(op) or find(op))
    names._THEIRS.clear()
    assert main(["train", "--data", str(photos), *SMALL, "--profile", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    shown = {line.split()[0]: line.split()[-1] for line in said.splitlines() if line.strip()}
    assert shown["load"] == shown["step"] == "10"
    assert asked and len(asked) == len(set(asked)), "a kernel's name is looked up once"


def test_ranks_can_stand_in_a_file(tmp_path, capsys) -> None:
    (tmp_path / "a.toml").write_text("nproc = 0\n")
    assert main(["train", "--config", str(tmp_path / "a.toml")]) == 2
    assert "--nproc" in capsys.readouterr().err
    (tmp_path / "b.toml").write_text("name = 'x'\n")
    assert main(["train", "--config", str(tmp_path / "b.toml")]) == 2
    assert "there is no setting 'name'" in capsys.readouterr().err


# -- servers ---------------------------------------------------------------------------------------


def test_a_form_with_other_fields_before_the_file() -> None:
    from rushlight.cli.serve import Form, _first_file

    def first_file(content: bytes, kind: str) -> bytes:
        found = [_first_file(content, kind)]
        for size in (1, 2, 3, 7):  # however it comes in
            form = Form(kind)
            for i in range(0, len(content), size):
                form.feed(content[i : i + size])
            found.append(form.content())
        assert len(set(found)) == 1
        return found[0]

    lines = ["--b", 'Content-Disposition: form-data; name="token"', "", "abc", "--b",
             'Content-Disposition: form-data; name="f"; filename="a.png"', "", "PICTURE", "--b--", ""]  # fmt: skip
    kind = "multipart/form-data; boundary=b"
    assert first_file("\r\n".join(lines).encode(), kind) == b"PICTURE"
    assert first_file("\r\n".join([*lines[:4], "--b--", ""]).encode(), kind) == b"abc"
    assert first_file("\r\n".join([*lines[:3], "", *lines[4:]]).encode(), kind) == b"PICTURE"
    assert first_file(b"no form", kind) == b""


@pytest.mark.parametrize(
    "host, path, code",
    [("localhost", "/", 200), ("127.0.0.1:1", "/api/runs", 200), ("[::1]", "/", 200), ("[", "/", 403),
     ("evil.example", "/", 403), ("", "/", 403), ("localhost.evil.example:80", "/", 403), ("localhost", "//[", 404)],
)  # fmt: skip
def test_view_answers_only_this_machine(run: Path, host: str, path: str, code: int) -> None:
    import http.client

    from rushlight.cli.view import make_server

    with make_server(str(run.parent), "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            asked = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
            asked.putrequest("GET", path, skip_host=True)
            asked.putheader("Host", host)
            asked.endheaders()
            with asked.getresponse() as answer:
                assert answer.status == code
            asked.close()
        finally:
            server.shutdown()
            thread.join()


# -- leaving, and being without a network ----------------------------------------------------------


def test_ctrl_c_while_pictures_are_looked_at(tmp_path, monkeypatch) -> None:
    """It waits for the pictures at hand only, and nothing is left behind."""
    from rushlight.cli.data import folders as scan

    root = write_pictures(tmp_path / "photos", 40)
    looked: list[str] = []

    leaving = threading.Event()

    def look(path: str, *rest: object):
        looked.append(path)
        if len(looked) == 5:
            raise KeyboardInterrupt
        if len(looked) > 5:
            leaving.wait(600)
        return whole(path, *rest)

    class Pool(scan.ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(False, cancel_futures=cancel_futures)
            leaving.set()
            super().shutdown(wait)

    whole = scan._look
    monkeypatch.setattr(scan, "_look", look)
    monkeypatch.setattr(scan, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(scan.os, "cpu_count", lambda: 1)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["train", "--data", str(root), *SMALL, "--quiet"]) == 130
    assert len(looked) in (5, 6) and os.listdir(".") == []


def test_a_hub_that_cannot_be_reached(photos: Path, tmp_path, monkeypatch, capsys) -> None:
    from urllib.error import URLError

    def nothing(*args: object, **more: object) -> None:
        raise URLError("no network in tests")

    monkeypatch.setattr("rushlight.cli.training.weights._promised_hash", nothing)
    monkeypatch.setattr("rushlight.hub.get_dir", lambda: str(tmp_path))
    args = ["train", "--data", str(photos), "--weights", "hf:timm/resnet18.a1_in1k", "--epochs", "1"]
    assert main([*args, "--size", "48", "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert "cannot be had: no network in tests. Without a network, place it as" in said
    assert said.count("\n") == 1


def test_a_run_is_repeated_from_another_folder(tmp_path, monkeypatch) -> None:
    """`args.json` means the pictures that the run meant, though others of that name lie here."""
    write_pictures(tmp_path / "a" / "photos", 8)
    monkeypatch.chdir(tmp_path / "a")
    assert main(["train", "--data", "photos", *SMALL, "--out", "run", "--quiet"]) == 0
    (tmp_path / "b" / "photos").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "b")
    assert main(["train", "--config", "../a/run/args.json", "--out", "run", "--quiet"]) == 0
    one, two = (json.loads((tmp_path / x / "run" / "args.json").read_text())["settings"] for x in "ab")
    assert two.pop("data") == str(tmp_path / "a" / "photos") and one.pop("data") == "photos"
    assert one == two
    assert main(["train", "--config", "../a/run/args.json", "--out", "timed", "--quiet", "--minutes", "0.001"]) == 0
    assert json.loads((tmp_path / "b" / "timed" / "args.json").read_text())["settings"]["minutes"] == 0.001


def test_a_folder_that_cannot_be_read_is_not_passed_over(run: Path, tmp_path, monkeypatch, capsys) -> None:
    hidden = write_pictures(tmp_path / "photos", 8) / "dots" / "more"
    hidden.mkdir()
    seen = os.scandir

    def scandir(path):
        if os.fspath(path) == str(hidden):
            raise PermissionError(13, "Permission denied", str(hidden))
        return seen(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for words in (["train", "--data", str(tmp_path / "photos"), *SMALL], ["predict", str(run), str(tmp_path)]):
        assert main(words) == 2
        assert f"{hidden} cannot be read: Permission denied" in capsys.readouterr().err


# -- links upwards, tables that lead nowhere, two runs at once ---------------------------------------


def test_a_link_back_to_the_classes_is_not_followed(tmp_path) -> None:
    folder = write_pictures(tmp_path / "d", 6)
    (folder / CLASSES[0] / "back").symlink_to("..", target_is_directory=True)
    found = list_pictures(str(folder))
    assert len(found.samples) == 6 * len(CLASSES)  # the other classes' pictures are not this one's


def test_a_table_whose_pictures_are_all_missing_says_where_they_were_looked_for(tmp_path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("path,label\nx.png,a\ny.png,b\n")
    with pytest.raises(UsageError, match=r"2 of 2 left out, the first is .*x\.png, missing") as caught:
        load(table)
    assert str(tmp_path) in str(caught.value) and "class folder" not in str(caught.value)


def test_two_runs_do_not_share_a_folder(photos: Path, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(folder_of_run, "_LINGER_S", 0.0)
    held = folder_of_run.make(str(tmp_path / "o"))
    words = ["train", "--data", str(photos), *SMALL, "--quiet", "--out", str(tmp_path / "o")]
    if held is not None:  # a system with locks
        assert main(words) == 2
        said = capsys.readouterr().err
        assert "another `rushlight train` writes to it" in said and said.count("\n") == 1
    folder_of_run.release(held)
    assert main(words) == 0
    assert main([*words, "--epochs", "2", "--resume"]) == 0  # the first has let it go
    with pytest.raises(UsageError, match="another `rushlight train`"):
        folder_of_run.make(str(tmp_path / "o"))  # a new run that chose it before the first wrote anything
