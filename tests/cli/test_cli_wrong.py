"""Sixty wrong invocations: each is answered by one line that says what to do, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_help import write_pictures
from rushlight.cli import main

Image = pytest.importorskip("PIL.Image")

# (what is typed, words of the answer); {d} is a folder with the things that `place` makes.
WRONG: list[tuple[str, str]] = [
    ("trian", "did you mean train?"),
    ("predct {d}/run x.png", "did you mean predict?"),
    ("evall {d}/run", "did you mean eval?"),
    ("exprot {d}/run", "did you mean export?"),
    ("device", "did you mean devices?"),
    ("train extra", "unrecognized arguments: extra"),
    ("train {d}/photos", "did you mean --data {d}/photos?"),
    ("train --epochs 1 --minutes 1", "both say how long: give one of them"),
    ("train --epoks 3", "did you mean --epochs?"),
    ("train --batchsize 3", "did you mean --batch-size?"),
    ("train --epochs", "expected one argument"),
    ("train --epochs 0", "at least 1"),
    ("train --epochs many", "'many' is not a whole number"),
    ("train --epochs 1.5", "is not a whole number"),
    ("train --batch-size -4", "at least 1"),
    ("train --accumulate 0", "at least 1"),
    ("predict runs/train pictures --csv found.csv", "put > in front of the file"),
    ("train --lr 0", "greater than 0"),
    ("train --lr fast", "'fast' is not a number"),
    ("train --lr inf", "out of range"),
    ("train --momentum 2", "at most 1"),
    ("train --weight-decay -1", "at least 0"),
    ("train --label-smoothing 1", "at most 0.9"),
    ("train --mixup -1", "at least 0"),
    ("train --val-split 1.5", "at most 0.9"),
    ("train --test-split -1", "at least 0"),
    ("train --size 4", "at least 8"),
    ("train --size 64", "have 28 pixels: leave --size out"),
    ("train --seed -1", "at least 0"),
    ("train --workers 1000", "at most 64"),
    ("train --patience 3 --val-split 0", "leave out --val-split 0"),
    ("train --width 0.3", "quarters"),
    ("train --width 0.5 --model lenet", "only ResNets"),
    ("train --width 2 --model vgg11 --data {d}/photos", "--width is for"),
    ("train --model resnet81", "did you mean resnet18?"),
    ("train --model vgg11", "try resnet18"),
    ("train --model vgg11 --size 24 --data {d}/photos", "give a larger --size"),
    ("train --optimizer adma", "did you mean adam?"),
    ("train --schedule cosin", "did you mean cosine?"),
    ("train --augment stong", "did you mean strong?"),
    ("train --cache ram", "choose from auto, memory, disk, none"),
    ("train --amp bf61", "did you mean bf16?"),
    ("train --device cpu --amp fp16", "on the CPU use --amp bf16"),
    ("train --log tensorbord", "choose from wandb, mlflow"),
    ("train --device cdua", "did you mean cuda?"),
    ("train --device gpu", "did you mean cuda?"),
    ("train --device cpu0", "did you mean cpu?"),
    ("train --device cuda:99", "--device c"),
    ("train --freeze", "give --weights FILE"),
    ("train --weights {d}/none.pth", "no such file; imagenet or hf:OWNER/NAME"),
    ("train --weights hf:resnet", "OWNER/NAME is expected"),
    ("train --weights {d}/text.csv", "cannot be read"),
    ("train --data {d}/phots", "did you mean {d}/photos?"),
    ("train --data cifra10", "did you mean cifar10?"),
    ("train --data {d}/empty", "it needs a folder of pictures or texts for each class; or"),
    ("train --data {d}/one", "only one class"),
    ("train --data {d}/nested", "did you mean --data {d}/nested/inner?"),
    ("train --data {d}/loose", "without a class"),
    ("train --data {d}/text.csv", "no column can be learnt from: Left out column a: it has one value only"),
    ("train --data {d}/text.csv --target c", "has the columns a, b"),
    ("train --data {d}/text.csv --task masks", "--task masks is for pictures"),
    ("train --data {d}/numbers.csv", "its first line has numbers, where the names of the columns"),
    ("train --data {d}/twice.csv", "two columns are called 'a'"),
    ("train --data {d}/long.csv", "line 3: it has 3 cells, and the first line 2"),
    ("train --data {d}/nothing.csv", "no line has a value under b"),
    ("train --data {d}/same.csv", "only one class, 'x'"),
    ("train --data {d}/names.csv", "nearly every line has its own value under b"),
    ("train --data {d}/latin.csv", "is not UTF-8 text"),
    ("train --data {d}/void.csv", "it has no line"),
    ("train --data {d}/rows.csv --size 64", "--size is for pictures, and these are rows"),
    ("train --data {d}/rows.csv --model lenet", "looks at pictures, and these are rows"),
    ("train --data {d}/rows.csv --input tabel", "did you mean table?"),
    ("train --data {d}/rows.csv --input pictures", "its first line must be path,label"),
    ("train --data {d}/photos --input table", "--input table is for a .csv file"),
    ("train --data {d}/photos --model transformer", "reads texts, and these are pictures"),
    ("train --input text", "--input text is for a .csv file, and fashion-mini"),
    ("train --data {d}/short.csv", "(1 line without a value under label: left out.)"),
    ("train --data {d}/split.csv", "train, val or test is expected"),
    (
        "train --data {d}/a.png",
        "a file, where a folder or a .csv file is expected: in such a folder there is a folder of pictures",
    ),
    ("train --data {d}/hole", "classes 'cats', 'dogs' have no picture that can be used"),
    ("train --config {d}/none.toml", "no such file"),
    ("train --config {d}/bad.toml", "cannot be read"),
    ("train --config {d}/odd.toml", "did you mean epochs?"),
    ("train --config {d}/range.toml", "at least 1"),
    ("train --resume --out {d}/nothing", "`rushlight train` writes one"),
    ("train --out {d}/a.png/x", "cannot be written to"),
    ("train --data {d}/photos --out {d}/photos", "is a folder of --data {d}/photos"),
    ("train --data {d}/photos --out {d}/photos/dots", "choose one of its own"),
    ("train --data {d}/photos --fold 1/100", "the most that a class has is 5 pictures: --folds 5, or fewer"),
    ("train --data {d}/spaced", "did you mean --data '{d}/spaced/my pictures'?"),
    ("train --data {d}/again.csv", "9 of 9 left out"),
    ("train --data {d}/drawn", "no picture has a box (the first left out: {d}/drawn/labels/1.txt, line 1: numbers"),
    ("train --data {d}/colours", "no mask has two values (the first left out: {d}/colours/masks/1.png"),
    ("train --data {d}/round", "no picture that can be used"),
    ("doctor --weight", "arguments: --weight; see `rushlight doctor --help`"),
    ("stubs {d}/a.png", "a.png is no folder"),
    ("eval", "required: MODEL"),
    ("eval {d}/none.pth", "no such file"),
    ("eval {d}/a.png", "cannot be read"),
    ("predict {d}/none.pth a.png", "no such file"),
    ("predict {d}/none.pth", "required"),
    ("predict m a.png --csv --json", "not allowed with"),
    ("predict m a.png --top 0", "at least 1"),
    ("export {d}/none.pth", "no such file"),
    ("export m --to onx", "did you mean onnx?"),
    ("export m --opset 3", "at least 13"),
    ("export m --to pth --opset 18", "leave them out"),
    ("serve {d}/none.pth", "no such file"),
    ("serve m --port 99999", "at most 65535"),
    ("view {d}/nowhere", "no such folder"),
    ("runs {d}/nowhere", "no such folder"),
    ("runs {d}/empty", "there are no runs in it"),
    ("bench --model lenat", "did you mean lenet?"),
    ("bench --batches a,b", "whole numbers with commas"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Folders and files of every kind that cannot be used, and one that can."""
    d = tmp_path_factory.mktemp("wrong")
    write_pictures(d / "photos", 5)
    (d / "empty").mkdir()
    write_pictures(d / "all", 5)
    (d / "one").mkdir()
    (d / "all" / "dots").rename(d / "one" / "dots")
    write_pictures(d / "nested" / "inner", 5)
    write_pictures(d / "spaced" / "my pictures", 5)
    (d / "loose").mkdir()
    picture = (d / "photos" / "dots" / "0.png").read_bytes()
    (d / "loose" / "1.png").write_bytes(picture)
    (d / "a.png").write_bytes(picture)
    for name in ("drawn/images", "colours/images", "colours/masks"):
        (d / name).mkdir(parents=True)
        Image.new("RGB", (24, 24), "red").save(d / name / "1.png")
    (d / "drawn" / "labels").mkdir()
    (d / "drawn" / "labels" / "1.txt").write_text("cat 1 2\n")
    (d / "again.csv").write_text("path,label\n" + "".join(f"a.png,{'xy'[i % 2]}\n" for i in range(9)))
    write_pictures(d / "round", 0)
    (d / "round" / "itself").symlink_to(d / "round" / "itself")
    for name in ("cats", "dogs"):
        (d / "hole" / name).mkdir(parents=True)
    (d / "text.csv").write_text("a,b\n1,2\n")
    (d / "short.csv").write_text("path,label\na.png,cat\nb.png\n")
    (d / "split.csv").write_text("path,label,split\na.png,cat,trian\n")
    for name, text in {
        "numbers": "1,2\n3,4\n", "twice": "a,a,b\n1,2,x\n", "long": "a,b\n1,2\n1,2,3\n", "nothing": "a,b\n1,\n2,NA\n",
        "same": "a,b\n1,x\n2,x\n", "names": "a,b\n" + "".join(f"{i % 3},n{i}\n" for i in range(9)), "void": "",
        "rows": "a,label\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in (3, 1, 4, 5, 9, 2, 6, 8)),
    }.items():  # fmt: skip
        (d / f"{name}.csv").write_text(text)
    (d / "latin.csv").write_bytes("stadt,label\nKöln,a\nBonn,b\n".encode("latin-1"))
    (d / "bad.toml").write_text("epochs = = 3\n")
    (d / "odd.toml").write_text("epoch = 3\n")
    (d / "range.toml").write_text("epochs = 0\n")
    return d


def test_there_are_sixty() -> None:
    assert len(WRONG) >= 60 and len({typed for typed, _ in WRONG}) == len(WRONG)


@pytest.mark.parametrize("typed, says", WRONG, ids=[typed for typed, _ in WRONG])
def test_one_line_and_what_to_do(typed: str, says: str, place: Path, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("urllib.request.urlopen", _no_network)
    code = main([word.format(d=place) for word in typed.split()])
    out, err = capsys.readouterr()
    assert code == 2 and out == "", (code, out, err)
    assert err.startswith("rushlight: ") and err.count("\n") == 1 and "Traceback" not in err, err
    assert says.format(d=place) in err
    assert not list(tmp_path.glob("**/*.pth"))


def _no_network(*args, **kwargs):
    raise OSError("no network in tests")


def test_suggestions_are_of_this_machine(capsys) -> None:
    """`cdua` is cuda's misspelling, not that of a device of other frameworks."""
    assert main(["train", "--device", "cdua"]) == 2
    said = capsys.readouterr().err
    assert "meta" not in said and "xpu" not in said and "mps" not in said
