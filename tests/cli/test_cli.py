"""The command line as its user meets it: what it says, what it refuses, what it leaves behind."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import rushlight as rl
from cli_help import CLASSES, cli, picture, write_pictures
from rushlight.cli import main
from rushlight.cli.pick_device import has_nvidia

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A folder with pictures, a small network trained on them, and what training printed."""
    folder = tmp_path_factory.mktemp("trained")
    write_pictures(folder / "pictures" / "train", 40)
    write_pictures(folder / "pictures" / "test", 12, first=100)
    done = cli("train", "--data", "pictures", "--size", 20, "--model", "lenet", "--width", 1,
               "--epochs", 6, "--batch-size", 16, "--out", "out", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (folder / "said").write_text(done.stdout)
    return folder


def call(capsys, *args: object) -> tuple[int, str, str]:
    code = main([str(a) for a in args])
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys, *args: object) -> str:
    """The one sentence on stderr; nothing else is said."""
    code, out, err = call(capsys, *args)
    assert code == 2
    assert out == ""
    assert err.startswith("rushlight: ") and err.count("\n") == 1, err
    assert "Traceback" not in err
    return err


# -- train ---------------------------------------------------------------------------------------


def test_training_says_what_it_does(trained: Path) -> None:
    said = (trained / "said").read_text()
    assert re.search(r"^Training on cpu: |^Training on cuda:0 \(", said)
    assert (
        "Images: 108 to train, 12 to choose the best epoch and 36 to test of" in said and "3x20x20, 3 classes" in said
    )
    assert len(re.findall(r"^epoch \d/6  loss [\d.]+  accuracy [\d.]+%  validation", said, re.M)) == 6
    found = re.search(r"Accuracy of the network on the 36 test images: ([\d.]+)%", said)
    assert found and float(found[1]) > 90
    for kind in CLASSES:
        assert re.search(rf"^{kind} +[\d.]+%( +(\d+|\.)){{3}}$", said, re.M)
    assert "\x1b" not in said and "\r" not in said


def test_training_leaves_its_files(trained: Path) -> None:
    out = trained / "out"
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert {"train_loss", "val_accuracy", "lr", "images_per_second"} <= lines[0].keys()
    result = json.loads((out / "test.json").read_text())
    assert result["images"] == 36 and np.array(result["confusion"]).sum() == 36
    assert result["best_epoch"] == max(lines, key=lambda x: (x["val_accuracy"], -x["val_loss"]))["epoch"]
    assert list(result["per_class"]) == list(CLASSES)
    assert len(list(out.glob("events.out.tfevents.*"))) == 1
    assert "conv1.weight" in rl.load(out / "best.pth")["model"]
    assert rl.load(out / "last.pth")["epoch"] == 6 and (out / "report.html").exists()
    assert not list(out.glob(".*")), "a temporary file was left"
    for name in ("curves.svg", "confusion.svg"):
        drawn = ElementTree.parse(out / name)  # well-formed, whatever the classes are called
        assert len(drawn.findall("{*}svg")) == (2 if name == "curves.svg" else 1)
        assert name in (trained / "said").read_text()


def test_without_tensorboard_it_says_so(trained: Path, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rushlight.utils.tensorboard", None)
    code, out, _ = call(capsys, "train", "--data", trained / "pictures", "--size", 20, "--model", "mlp",
                        "--epochs", 1, "--out", tmp_path / "o")  # fmt: skip
    assert code == 0 and "no TensorBoard events" in out


def test_quiet_and_a_flat_folder(tmp_path, capsys) -> None:
    write_pictures(tmp_path / "flat", 10)
    code, out, err = call(capsys, "train", "--data", tmp_path / "flat", "--size", 20, "--model", "mlp",
                          "--epochs", 1, "--quiet", "--out", tmp_path / "o")  # fmt: skip
    assert code == 0 and (err == "" or err.startswith("Warning: ") and err.count("\n") == 1)
    assert out.startswith("Accuracy of the network on the 6 test images: ")
    assert len(out.splitlines()) == 8


@pytest.mark.parametrize("name", ["adam", "adamw", "rmsprop", "adagrad", "adadelta", "nadam", "radam"])
def test_every_optimizer(trained: Path, tmp_path, capsys, name: str) -> None:
    code, out, _ = call(capsys, "train", "--data", trained / "pictures", "--size", 20, "--model", "mlp",
                        "--epochs", 1, "--optimizer", name, "--quiet", "--out", tmp_path / "o")  # fmt: skip
    assert code == 0 and "Accuracy" in out


@pytest.mark.parametrize("name", ["cosine", "step", "none"])
def test_every_schedule(trained: Path, tmp_path, capsys, name: str) -> None:
    code, *_ = call(capsys, "train", "--data", trained / "pictures", "--size", 20, "--model", "mlp", "--epochs",
                    4, "--lr", "0.1", "--schedule", name, "--quiet", "--out", tmp_path / "o")  # fmt: skip
    rates = [json.loads(x)["lr"] for x in (tmp_path / "o" / "metrics.jsonl").read_text().splitlines()]
    assert code == 0
    if name == "none":
        assert rates == [0.1] * 4
    elif name == "step":
        assert rates == pytest.approx([0.1, 0.01, 0.001, 0.001])
    else:
        assert rates[-1] < 1e-5 < 0.01 < max(rates)


@pytest.mark.parametrize("model", ["resnet18", "mobilenet_v2"])
def test_larger_networks(tmp_path, capsys, model: str) -> None:
    write_pictures(tmp_path / "flat", 5)
    args = ("--data", tmp_path / "flat", "--size", 32, "--model", model, "--epochs", 1, "--quiet")
    code, *_ = call(capsys, "train", *args, "--out", tmp_path / "o")
    assert code == 0
    assert call(capsys, "predict", tmp_path / "o", tmp_path / "flat" / "dots" / "0.png")[0] == 0


# -- eval and predict ----------------------------------------------------------------------------


def test_eval_repeats_the_test(trained: Path, capsys) -> None:
    said = (trained / "said").read_text()
    wanted = said[said.index("Accuracy of the network") : said.index("\n\nWrote to")]
    for model in (trained / "out" / "best.pth", trained / "out"):
        code, out, _ = call(capsys, "eval", model)
        assert code == 0
        assert out.partition("\n")[2].strip() == wanted
    code, out, _ = call(capsys, "eval", trained / "out", "--batch-size", 5, "--device", "cpu")
    assert out == f"Testing on cpu: as asked.\n{wanted}\n"


def test_predict_on_files_of_many_kinds(trained: Path, tmp_path, capsys) -> None:
    paths = []
    for kind in CLASSES:
        a = picture(kind, 500)
        large = np.kron(a, np.ones((4, 4), np.uint8))  # resized on the way in
        grey16 = (picture(kind, 501).astype(np.uint16) << 8).astype(np.uint16)
        see_through = np.dstack([a, a, a, np.full_like(a, 255)])
        for name, content in (("a.png", a), ("b.jpg", large), ("c.bmp", np.dstack([a] * 3)),
                              ("d.png", grey16), ("e.png", see_through), ("f.gif", a)):  # fmt: skip
            path = tmp_path / f"{kind}-{name}"
            Image.fromarray(content).save(path)
            paths.append(path)
    code, out, err = call(capsys, "predict", trained / "out", *paths, "--top", 2)
    assert code == 0 and err == ""
    assert len(out.splitlines()) == len(paths)
    for path, line in zip(paths, out.splitlines()):
        found = re.fullmatch(rf"{re.escape(str(path))}  +(\w+) ([\d.]+)%   (\w+) ([\d.]+)%", line)
        assert found, line
        assert found[1] == path.name.partition("-")[0]
        assert float(found[2]) >= float(found[4])


def test_predict_a_light_picture_of_dark_ones(tmp_path, capsys) -> None:
    saved = tmp_path / "o"
    code, *_ = call(capsys, "train", "--model", "mlp", "--epochs", 1, "--batch-size", 512, "--quiet", "--out", saved)
    assert code == 0
    from rushlight.vision.datasets import FashionMini

    boot = FashionMini(train=False).data[9].numpy()
    Image.fromarray(255 - boot).save(tmp_path / "light.png")
    code, plain, err = call(capsys, "predict", saved, tmp_path / "light.png")
    assert code == 0 and "try --invert" in err
    code, out, err = call(capsys, "predict", saved, tmp_path / "light.png", "--invert")
    assert code == 0 and err == "" and out != plain
    assert "Ankle boot" in out


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, says",
    [
        (["--data", "nowhere"], "no such folder"),
        (["--model", "lenat"], "there is no network 'lenat' - did you mean lenet?"),
        (["--optimizer", "sdg"], "invalid choice"),
        (["--epochs", "0"], "it must be at least 1"),
        (["--epochs", "two"], "'two' is not a whole number"),
        (["--batch-size", "-4"], "out of range"),
        (["--lr", "0"], "greater than 0"),
        (["--lr", "nan"], "out of range"),
        (["--momentum", "1.5"], "at most 1"),
        (["--width", "0"], "out of range"),
        (["--seed", "-1"], "out of range"),
        (["--device", "cuda:99"], "--device cuda:99"),
        (["--device", "gpu"], "--device gpu"),
        (["--device", "meta"], "auto, cpu, cuda and cuda:N are the choices"),
        (["--model", "vgg11", "--width", "2"], "--width is for"),
        (["--model", "vgg11"], "colour images"),
        (["--model", "mobilenet_v2"], "colour images"),
        (["--size", "99"], "have 28 pixels"),
        (["--no-such-option"], "unrecognized arguments"),
        (["--resume"], "no such file"),
        (["--data", "cifar10", "--data-dir", "empty"], "--data cifar10"),
    ],
    ids=lambda v: "-".join(v).strip("-") if isinstance(v, list) else "",
)
def test_train_refuses(tmp_path, capsys, monkeypatch, args: list[str], says: str) -> None:
    monkeypatch.chdir(tmp_path)
    if "cifar10" in args:
        monkeypatch.setattr("urllib.request.urlopen", _no_network)
    code, _, err = call(capsys, "train", *args)
    assert code == 2 and says in err.splitlines()[-1], err
    assert "Traceback" not in err
    assert not list(tmp_path.glob("runs/train/*.pth"))


def _no_network(*args, **kwargs):
    raise OSError("no network in tests")


def test_folders_that_cannot_be_used(tmp_path, capsys) -> None:
    def train(*args):
        return refused(capsys, "train", "--model", "mlp", "--epochs", 1, "--quiet", "--size", 16,
                       "--out", tmp_path / "o", *args)  # fmt: skip

    (tmp_path / "empty").mkdir()
    assert "class folder" in train("--data", tmp_path / "empty")
    write_pictures(tmp_path / "few", 3)
    write_pictures(tmp_path / "odd" / "train", 5)
    write_pictures(tmp_path / "odd" / "test", 5)
    (tmp_path / "odd" / "test" / "dots").rename(tmp_path / "odd" / "test" / "spots")
    (tmp_path / "odd" / "test" / "bars").rename(tmp_path / "odd" / "test" / "poles")
    said = train("--data", tmp_path / "odd")  # all at once
    assert all(f"class folder {n!r} of test is not in train" in said for n in ("poles", "spots"))
    write_pictures(tmp_path / "broken", 5)
    broken = tmp_path / "broken" / "dots" / "1.png"
    broken.write_text("no image")
    said = train("--data", tmp_path / "broken", "--strict")
    assert f"the first is {broken} (broken: it is not an image that Pillow can read)" in said
    for path in [*(tmp_path / "broken" / "dots").iterdir(), *(tmp_path / "broken" / "bars").iterdir()]:
        path.write_text("no image")
    said = train("--data", tmp_path / "broken")
    assert "classes 'bars', 'dots' have no picture that can be used (10 of 10 left out" in said
    (tmp_path / "file").touch()
    assert "a file, where a folder" in train("--data", tmp_path / "file")
    said = refused(capsys, "train", "--data", tmp_path / "few", "--out", tmp_path / "file" / "x")
    assert "Not a directory" in said
    assert "needs images of 16" in refused(
        capsys, "train", "--data", _flat(tmp_path), "--model", "lenet", "--size", 12, "--out", tmp_path / "o"
    )


def _flat(tmp_path: Path) -> Path:
    return write_pictures(tmp_path / "flat", 5)


def test_models_that_cannot_be_used(trained: Path, tmp_path, capsys) -> None:
    assert "no such file" in refused(capsys, "eval", tmp_path / "none.pth")
    assert "no such file" in refused(capsys, "eval", tmp_path)
    (tmp_path / "text.pth").write_text("not a network")
    assert "cannot be read" in refused(capsys, "eval", tmp_path / "text.pth")
    whole = (trained / "out" / "best.pth").read_bytes()
    (tmp_path / "half.pth").write_bytes(whole[: len(whole) // 2])
    assert "cannot be read" in refused(capsys, "predict", tmp_path / "half.pth", "x.png")
    rl.save({"fc.weight": rl.ones(2)}, tmp_path / "weights.pth")
    assert "not one that `rushlight train` wrote" in refused(capsys, "eval", tmp_path / "weights.pth")
    content = rl.load(trained / "out" / "best.pth")
    rl.save({**content, "model": {}}, tmp_path / "bare.pth")
    assert "do not fit" in refused(capsys, "predict", tmp_path / "bare.pth", "x.png")
    del content["classes"]
    rl.save(content, tmp_path / "less.pth")
    assert "incomplete: it has no classes" in refused(capsys, "eval", tmp_path / "less.pth")


def test_eval_on_other_data(trained: Path, tmp_path, capsys) -> None:
    model = trained / "out"
    said = refused(capsys, "eval", model, "--data", "fashion-mini")
    assert "28 pixels" in said or "classes" in said or "class '" in said
    write_pictures(tmp_path / "other", 5)
    (tmp_path / "other" / "dots").rename(tmp_path / "other" / "spots")
    assert "class 'spots', but the network knows 3" in refused(capsys, "eval", model, "--data", tmp_path / "other")
    code, out, _ = call(capsys, "eval", model, "--data", write_pictures(tmp_path / "more", 10))
    assert code == 0 and "on the 6 test images" in out


def test_predict_refuses_what_is_no_image(trained: Path, tmp_path, capsys) -> None:
    model = trained / "out"
    good = tmp_path / "good.png"
    Image.fromarray(picture("bars", 1)).save(good)
    assert "no such file" in refused(capsys, "predict", model, tmp_path / "none.png")
    (tmp_path / "text.png").write_text("hello")
    assert "is not an image" in refused(capsys, "predict", model, tmp_path / "text.png")
    (tmp_path / "empty").mkdir()
    assert "no pictures in it" in refused(capsys, "predict", model, tmp_path / "empty")
    whole = good.read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    assert "cannot be read" in refused(capsys, "predict", model, tmp_path / "cut.png")
    assert "out of range" in refused(capsys, "predict", model, good, "--top", 0)


# -- the rest ------------------------------------------------------------------------------------


def test_version_and_help(capsys, monkeypatch) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0 and capsys.readouterr().out == f"rushlight {rl.version.__version__}\n"
    code, out, _ = call(capsys)
    assert code == 2 and "train" in out and "predict" in out
    monkeypatch.setenv("COLUMNS", "80")
    commands = re.findall(r"^    (\w+)  ", out, re.M)
    assert len(commands) > 14
    for command in commands:
        with pytest.raises(SystemExit) as end:
            main([command, "--help"])
        shown = capsys.readouterr().out
        assert end.value.code == 0 and command in shown
        assert max(map(len, shown.splitlines())) <= 80, shown
    assert "invalid choice: 'trian'" in refused(capsys, "trian")
    assert "required" in refused(capsys, "predict")
    code, out, err = call(capsys, "run")
    assert code == 2 and "rushlight run script.py" in out and err == ""


def test_devices(capsys) -> None:
    code, out, err = call(capsys, "devices")
    assert code == 0 and err == ""
    assert re.search(rf"^cpu  +.*\n +\d+ cores, [\d.]+ GiB memory, {rl.get_num_threads()} threads?\b", out, re.M)
    assert "NumPy" in out and "engine" in out
    if rl.cuda.is_available():
        assert f"cuda:0   {rl.cuda.get_device_name(0)}  (default)" in out
    else:
        assert "(default)" in out.splitlines()[2]
        assert "not usable" in out
        assert ("pip install 'rushlight[cuda]'" in out) == has_nvidia()  # no advice that cannot help


def test_devices_hidden(capsys, monkeypatch) -> None:
    monkeypatch.setattr("rushlight.base.config.settings.no_cuda", True)
    _, out, _ = call(capsys, "devices")
    assert "not usable: RUSHLIGHT_NO_CUDA=1 hides the GPUs" in out


def test_a_reader_that_leaves(trained: Path) -> None:
    import subprocess

    from cli_help import COMMAND, environment

    process = subprocess.Popen([*COMMAND, "--help"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait()


def test_the_package_is_quick_to_say_no(capsys) -> None:
    """Neither rich, matplotlib, Pillow nor the networks are imported for a mistake in an option."""
    script = (
        "import sys\nfrom rushlight.cli import main\nassert main(['train', '--epochs', '0']) == 2\n"
        "print([m for m in ('rich', 'matplotlib', 'PIL', 'rushlight.vision', 'cupy') if m in sys.modules])"
    )
    import subprocess

    from cli_help import environment

    done = subprocess.run([sys.executable, "-c", script], env=environment(), text=True, capture_output=True)
    assert done.stdout == "[]\n", done.stderr
