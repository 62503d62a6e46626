"""The whole story of a folder of pictures: scanned, trained, reported, predicted, exported, served, resumed."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rushlight as rl
from cli_help import CLASSES, cli, picture, start, write_pictures
from rushlight.cli.data.augment import MARGIN
from rushlight.cli.predict import Reader
from rushlight.cli.squares import SQUARES, put_before

Image = pytest.importorskip("PIL.Image")

TRAIN = ("train", "--data", "photos", "--size", 20, "--model", "lenet", "--epochs", 8, "--batch-size", 16,
         "--optimizer", "adam", "--lr", "0.005", "--augment", "none")  # fmt: skip


@pytest.fixture(scope="module")
def story(tmp_path_factory) -> Path:
    """A folder of pictures, some of which cannot be used, and a run trained on it."""
    root = tmp_path_factory.mktemp("story")
    photos = write_pictures(root / "photos", 40)
    (photos / "dots" / "broken.jpg").write_bytes(b"\xff\xd8\xff not a picture")
    (photos / "dots" / "empty.png").touch()
    (photos / "dots" / "notes.txt").write_text("these are dots")
    shutil.copy(photos / "bars" / "1.png", photos / "bars" / "again.png")
    shutil.copy(photos / "bars" / "2.png", photos / "plain" / "wrong.png")
    Image.fromarray(picture("plain", 900)).save(photos / "plain" / "a.webp", lossless=True)
    Image.fromarray(picture("plain", 901)).save(photos / "plain" / "b.gif")
    Image.fromarray(picture("bars", 902).astype(np.uint16) << 8).save(photos / "bars" / "c.png")
    done = cli(*TRAIN, cwd=root)
    assert done.returncode == 0, done.stderr
    (root / "said").write_text(done.stdout)
    return root


@pytest.fixture(scope="module")
def run(story: Path) -> Path:
    return story / "runs" / "train"


def test_the_scan(story: Path, run: Path) -> None:
    said = (story / "said").read_text()
    assert "Left out as broken: 1 picture" in said and "broken.jpg" in said
    assert "Left out as empty: 1 picture" in said and "Left out as duplicate: 1 picture" in said
    assert "Left out as contradiction: 2 pictures" in said and "which is bars and not plain" in said
    assert "Not looked at, because no picture: 1 other file (" in said
    assert re.search(r"^Classes: bars \(\d+\), dots \(\d+\), plain \(\d+\); to train on", said, re.M)
    problems = json.loads((run / "scan.json").read_text())
    assert sorted(p["kind"] for p in problems) == ["broken", "contradiction", "contradiction", "duplicate", "empty"]
    strict = cli(*TRAIN, "--strict", cwd=story)
    assert strict.returncode == 2 and "--strict: 5 of 127 pictures cannot be used" in strict.stderr


def test_it_learns_and_says_so(story: Path, run: Path) -> None:
    said = (story / "said").read_text()
    assert json.loads((run / "test.json").read_text())["accuracy"] > 0.85
    assert "Recipe: lenet" in said and "Chosen for" in said and "no better than chance" not in said
    assert said.rstrip().splitlines()[-1] == (
        "Look at it: open runs/train/report.html in a browser, or rushlight view runs"
    )
    args = json.loads((run / "args.json").read_text())
    assert args["settings"]["model"] == "lenet" and args["command"].startswith("rushlight train --data photos")


class Page(html.parser.HTMLParser):
    """What a page loads from elsewhere, and its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.headings: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag, attrs) -> None:
        self.inside = tag
        for name, value in attrs:
            if name in ("src", "href") and not (value or "").startswith("data:"):
                self.outside.append(value)

    def handle_data(self, data) -> None:
        if self.inside in ("h1", "h2"):
            self.headings.append(data)
            self.inside = ""


def test_the_report_is_one_file(run: Path) -> None:
    text = (run / "report.html").read_text()
    page = Page()
    page.feed(text)
    assert page.outside == [] and "http://" not in text and "https://" not in text
    for title in ("How it learnt", "Where it is right", "The worst mistakes", "What it was shown", "The network", "The data", "To repeat it"):  # fmt: skip
        assert title in page.headings
    assert text.count("<img") >= 20 and "confusion matrix" in text and "rushlight train --data photos" in text


def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no browser is installed: apt install chromium")


def screenshot(address: str, folder: Path, *more: str) -> tuple[np.ndarray, str]:
    """What a page looks like in a browser, and what it wrote to the console."""
    shot = folder / "shot.png"
    done = subprocess.run(
        [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
         f"--user-data-dir={folder / 'profile'}", "--window-size=1100,2400", "--enable-logging=stderr", "--v=0",
         f"--screenshot={shot}", *more, address],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert shot.exists(), done.stderr[-2000:]
    with Image.open(shot) as opened:
        return np.asarray(opened.convert("RGB")), "\n".join(
            line for line in done.stderr.splitlines() if "CONSOLE" in line
        )


def test_the_report_in_a_browser(run: Path, tmp_path) -> None:
    pixels, console = screenshot((run / "report.html").as_uri(), tmp_path)
    assert console == ""
    assert pixels.shape == (2400, 1100, 3)
    assert len(np.unique(pixels.reshape(-1, 3)[::97], axis=0)) > 50, "the page is empty"
    teal = (np.abs(pixels.astype(int) - (15, 118, 110)).sum(axis=2) < 12).sum()
    assert teal > 2000, "there are no charts"


def test_predict_goes_on_past_bad_files(story: Path, run: Path, tmp_path) -> None:
    good = sorted((story / "photos" / "bars").glob("1?.png"))[:3]
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"nothing")
    done = cli("predict", run, *good, bad, tmp_path / "none.png", "--csv", "--top", 2, cwd=story)
    assert done.returncode == 1 and done.stderr.count("\n") == 2
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 5 and list(rows[0]) == ["path", "class_1", "probability_1", "class_2", "probability_2", "error"]
    assert {r["path"] for r in rows if r["error"]} == {str(bad), str(tmp_path / "none.png")}
    done = cli("predict", run, "photos/dots", "--json", cwd=story)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    answers = [x["answers"][0]["class"] for x in lines if "answers" in x]
    assert done.returncode == 1 and len(lines) == 42 and answers.count("dots") > 30
    listed = subprocess.run(
        [*rl_command(), "predict", str(run), "-"], input=f"{good[0]}\n{good[1]}\n", text=True, capture_output=True,
        cwd=story, env=environment(),
    )  # fmt: skip
    assert listed.returncode == 0 and len(listed.stdout.splitlines()) == 2


def rl_command() -> list[str]:
    from cli_help import COMMAND

    return COMMAND


def environment() -> dict[str, str]:
    from cli_help import environment as own

    return own()


def test_eval_by_class(story: Path, run: Path) -> None:
    done = cli("eval", run, "--by-class", cwd=story)
    assert done.returncode == 0 and "most often taken for" in done.stdout
    told = json.loads(cli("eval", run, "--json", cwd=story).stdout)
    saved = json.loads((run / "test.json").read_text())
    assert told == {k: saved[k] for k in told}
    low, high = told["interval_95"]
    assert low <= told["accuracy"] <= high and 0 <= told["calibration_error"] <= 1


def test_exports_agree(story: Path, run: Path, tmp_path) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    done = cli("export", run, "--out", tmp_path / "m.onnx", cwd=story)
    assert done.returncode == 0, done.stderr
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    from rushlight.cli import evaluate
    from rushlight.cli.training import checkpoint

    net = evaluate.network_of(checkpoint.read(str(run)))
    for batch in (1, 7):
        x = rl.randn(batch, 3, 20, 20)
        (found,) = session.run(["scores"], {"image": x.numpy()})
        with rl.no_grad():
            assert np.abs(found - net(x).numpy()).max() <= 1e-5
    about = session.get_modelmeta().custom_metadata_map
    assert json.loads(about["classes"]) == list(CLASSES)
    done = cli("export", run, "--bytes", "--out", tmp_path / "b.onnx", cwd=story)
    assert done.returncode == 0 and "bytes N x height x width x 3, the pixels of pictures of any size" in done.stdout, (
        done.stderr
    )
    session = runtime.InferenceSession(str(tmp_path / "b.onnx"), providers=["CPUExecutionProvider"])
    pixels = np.random.default_rng(0).integers(0, 256, (3, 20, 20, 3), np.uint8)
    (found,) = session.run(["scores"], {"image": pixels})
    mean, std = (np.array(json.loads(about[name]), np.float32) for name in ("mean", "std"))
    x = ((pixels / np.float32(255) - mean) / std).astype(np.float32).transpose(0, 3, 1, 2)
    with rl.no_grad():
        assert np.abs(found - net(rl.from_numpy(x.copy())).numpy()).max() <= 1e-4
    refused = cli("export", run, "--bytes", "--to", "pth", cwd=story)
    assert refused.returncode == 2 and "are for --to onnx" in refused.stderr


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("fit, margin", [("squash", 1), ("pad", 1), ("crop", MARGIN)])
def test_an_onnx_of_bytes_makes_the_squares_that_predict_makes(channels: int, fit: str, margin: float) -> None:
    """But for Pillow's shortcut in making large pictures small: less than a grey value on average."""
    pytest.importorskip("onnxruntime")
    saved = {"size": 32, "channels": channels, "mean": (0.485, 0.456, 0.406)[:channels], "std": (0.2,) * channels,
             "config": {"fit": fit}, "data": "photos"}  # fmt: skip
    program = rl.onnx.export(rl.nn.Hardtanh(-9, 9), (rl.zeros(1, channels, 32, 32),), input_names=[SQUARES], dynamic_axes={SQUARES: {0: "batch"}})  # fmt: skip
    put_before(program.model_proto, saved, margin)
    session = program.session()
    for wide, high, mean, most in (
        (32, 32, 0.05, 1),
        (33, 20, 0.05, 1),
        (300, 200, 0.6, 15),
        (1, 1, 0.01, 0.01),
        (70, 700, 0.6, 15),
    ):
        few = np.random.default_rng(0).integers(0, 256, (-(-high // 3), -(-wide // 3), channels), np.uint8)
        picture = Image.fromarray(few.squeeze(2) if channels == 1 else few).resize((wide, high))
        x = Reader.prepared(SimpleNamespace(saved=saved), picture).x
        (found,) = session.run(None, {"image": np.asarray(picture).reshape(1, high, wide, channels)})
        off = np.abs(found[0] - x.numpy()) * 255 * 0.2
        assert off.mean() <= mean and off.max() <= most + 0.01, (wide, high, off.mean(), off.max())


def test_exports_of_weights(story: Path, run: Path, tmp_path) -> None:
    saved = rl.load(run / "best.pth", map_location="cpu")["model"]
    assert cli("export", run, "--to", "pth", "--out", tmp_path / "w.pth", cwd=story).returncode == 0
    assert all(rl.equal(v, saved[k]) for k, v in rl.load(tmp_path / "w.pth").items())
    pytest.importorskip("safetensors")
    from rushlight.io import safetensors

    assert cli("export", run, "--to", "safetensors", "--out", tmp_path / "w.safetensors", cwd=story).returncode == 0
    assert all(rl.equal(v, saved[k]) for k, v in safetensors.load_file(tmp_path / "w.safetensors").items())
    again = cli(*TRAIN[:-8], "--epochs", 1, "--weights", tmp_path / "w.pth", "--freeze", "--out", "tuned", cwd=story)
    assert again.returncode == 0, again.stderr
    tuned = rl.load(story / "tuned" / "last.pth", map_location="cpu")["model"]
    moved = [k for k in tuned if not rl.equal(tuned[k], saved[k])]
    assert moved == ["fc3.weight", "fc3.bias"]


def ask(address: str, body: bytes | None = None) -> tuple[int, dict]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body), timeout=600) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_serving(story: Path, run: Path, tmp_path) -> None:
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    process = start("serve", run, "--port", 0, "--max-mb", 0.02, "--rate", 4, cwd=story)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert found, line + process.stdout.read()
        at = found[0]
        assert ask(at + "health") == (200, {"status": "ok"})
        assert ask(at + "info")[1]["classes"] == list(CLASSES)
        content = (story / "photos" / "bars" / "11.png").read_bytes()
        code, answer = ask(at + "predict", content)
        assert code == 200 and answer["answers"][0]["class"] == "bars"
        assert ask(at + "predict", b"no picture")[0] == 400
        assert ask(at + "predict", b"x" * 60_000)[0] == 413
        codes = [ask(at + "predict", content)[0] for _ in range(12)]
        assert 429 in codes and set(codes) <= {200, 429}
    finally:
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.stdout.close()
        process.wait(600)


def test_view_and_runs(story: Path, run: Path, tmp_path) -> None:
    listed = cli("runs", cwd=story)
    assert listed.returncode == 0 and re.search(r"^train +\d{4}-\d\d-\d\d .* lenet +8/8", listed.stdout, re.M)
    process = start("view", "runs", "--port", 0, cwd=story)
    assert process.stdout is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert found
        runs = ask(found[0] + "api/runs")[1]
        assert [r["name"] for r in runs] == ["train"] and len(runs[0]["history"]) == 8
        with urllib.request.urlopen(found[0] + "run/train/report.html") as page:
            assert b"How it learnt" in page.read()
        for secret in ("run/train/best.pth", "run/..%2F..%2Fsaid/args.json", "../said"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(found[0] + secret)
            refused.value.close()
        strange = urllib.request.Request(found[0], headers={"Host": "evil.example:80"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(strange)
        refused.value.close()
        if shutil.which("chromium"):
            pixels, console = screenshot(found[0], tmp_path, "--virtual-time-budget=4000")
            assert console == ""
            teal = (np.abs(pixels.astype(int) - (15, 118, 110)).sum(axis=2) < 12).sum()
            assert teal > 500, "there are no curves"
    finally:
        process.send_signal(signal.SIGINT)
        process.stdout.close()
        process.wait(600)


def test_resumed_with_more_epochs(story: Path, run: Path) -> None:
    longer = story / "longer"
    shutil.copytree(run, longer)
    done = cli("train", "--resume", "--out", longer, "--epochs", 10, cwd=story)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(x) for x in (longer / "metrics.jsonl").read_text().splitlines()]
    assert [x["epoch"] for x in lines] == list(range(1, 11))
    assert lines[8]["lr"] > lines[7]["lr"], "the longer schedule goes on where it would be"
    fewer = cli("train", "--resume", "--out", longer, "--epochs", 3, cwd=story)
    assert fewer.returncode == 2 and "can only raise them" in fewer.stderr


def test_nothing_is_overwritten(story: Path, run: Path) -> None:
    before = os.path.getmtime(run / "last.pth")
    again = cli("train", "--config", run / "args.json", "--epochs", 1, "--quiet", cwd=story)
    assert again.returncode == 0, again.stderr
    assert os.path.getmtime(run / "last.pth") == before and (story / "runs" / "train-2" / "last.pth").exists()
    settings = json.loads((story / "runs" / "train-2" / "args.json").read_text())["settings"]
    assert settings["epochs"] == 1 and settings["lr"] == 0.005
