"""Settings of runs, curves of precision, charts, meshes, points and graphs in event files, read back byte by byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.utils.tensorboard import SummaryWriter
from test_tensorboard import fields, records


def events(folder: Path) -> list[dict]:
    """The events of the one file in a folder, after its first record."""
    (path,) = folder.glob("events*")
    return [fields(raw) for raw in records(path.read_bytes())][1:]


def values(folder: Path) -> dict[str, dict]:
    """The values of summaries by their tags."""
    found = {}
    for event in events(folder):
        for summary in event.get(5, []):
            value = fields(fields(summary)[1][0])
            found[value[1][0].decode()] = value
    return found


def told(value: dict) -> tuple[str, dict]:
    """Which plugin a value is for, and what it is told."""
    data = fields(fields(value[9][0])[1][0])
    return data[1][0].decode(), fields(data[2][0]) if 2 in data else {}


def numbers(value: dict) -> np.ndarray:
    tensor = fields(value[8][0])
    shape = [fields(d)[1][0] for d in fields(tensor[2][0])[2]]
    return np.frombuffer(tensor[5][0], "<f4").reshape(shape)


def test_precision_and_recall(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as w:
        labels, scores = rl.tensor([1, 0, 1, 1]), rl.tensor([0.9, 0.8, 0.3, 0.1])
        w.add_pr_curve("pr", labels, scores, 3, num_thresholds=11)
    value = values(tmp_path)["pr"]
    kind, data = told(value)
    assert kind == "pr_curves" and data[2] == [11]
    tp, fp, tn, fn, precision, recall = numbers(value)
    assert (tp[0], fp[0], tn[0], fn[0]) == (3, 1, 0, 0)
    assert (tp[5], fp[5], tn[5], fn[5]) == (1, 1, 0, 2)
    assert precision[9] == 1.0 and recall[9] == pytest.approx(1 / 3)
    assert events(tmp_path)[0][2] == [3]


def test_charts_of_ones_own(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as w:
        w.add_custom_scalars({"A": {"one": ["Multiline", ["a", "b"]], "two": ["Margin", [*"xyz"]]}})
        with pytest.raises(AssertionError, match="Expected 3 tags, got 2"):
            w.add_custom_scalars_marginchart(["a", "b"])
    value = values(tmp_path)["custom_scalars__config__"]
    layout = fields(fields(value[8][0])[8][0])
    category = fields(layout[2][0])
    assert category[1] == [b"A"] and told(value)[0] == "custom_scalars"
    one, two = (fields(chart) for chart in category[2])
    assert fields(one[2][0])[1] == [b"a", b"b"]
    assert fields(fields(two[3][0])[1][0]) == {1: [b"x"], 2: [b"y"], 3: [b"z"]}


def test_meshes(tmp_path: Path) -> None:
    points = rl.arange(12.0).reshape(1, 4, 3)
    with SummaryWriter(tmp_path) as w:
        w.add_mesh("m", points, faces=rl.tensor([[[0, 1, 2]]]), config_dict={"camera": 1})
    found = values(tmp_path)
    assert found.keys() == {"m_VERTEX", "m_FACE"}
    np.testing.assert_array_equal(numbers(found["m_VERTEX"]), points.numpy())
    _, data = told(found["m_FACE"])
    assert data[3] == [2] and data[7] == [0b110] and data[5] == [b'{"camera": 1}']


def test_settings_of_a_run(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as w:
        w.add_hparams({"lr": 0.1, "kind": "x"}, {"acc": 0.5}, {"kind": ["x", "y"]}, "one")
        with pytest.raises(ValueError, match="value should be one of"):
            w.add_hparams({"lr": [1]}, {})
        with pytest.raises(TypeError, match="should be dictionary"):
            w.add_hparams([], {})  # type: ignore[arg-type]
    found = values(tmp_path / "one")
    _, data = told(found["_hparams_/experiment"])
    infos = [fields(i) for i in fields(data[2][0])[4]]
    assert [i[1][0] for i in infos] == [b"lr", b"kind"] and [i[4][0] for i in infos] == [3, 1]
    assert len(fields(infos[1][5][0])[1]) == 2
    start = [fields(h) for h in fields(told(found["_hparams_/session_start_info"])[1][3][0])[1]]
    assert {h[1][0]: fields(h[2][0]) for h in start} == {b"lr": {2: [0.1]}, b"kind": {3: [b"x"]}}
    assert found["acc"][2] == [0.5]


def test_points_for_the_projector(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as w:
        w.add_embedding(rl.tensor([[0.0, 1.5], [2.0, 3.0]]), ["a", "b"], rl.rand(2, 3, 4, 4), 7, "set")
        w.add_embedding(rl.zeros(1, 2), [["x", 1]], metadata_header=["name", "k"])
        with pytest.raises(AssertionError, match="#labels should equal"):
            w.add_embedding(rl.zeros(2, 2), ["a"])
    folder = tmp_path / "00007" / "set"
    assert (folder / "tensors.tsv").read_text() == "0.0\t1.5\n2.0\t3.0\n"
    assert (folder / "metadata.tsv").read_text() == "a\nb\n"
    assert (folder / "sprite.png").read_bytes().startswith(b"\x89PNG")
    labels = tmp_path / "00000" / "default" / "metadata.tsv"
    assert labels.read_text() == "name\tk\nx\t1\n"
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 2 and config.count("single_image_dim: 4") == 2
    assert 'tensor_path: "00007/set/tensors.tsv"' in config


def test_the_graph_of_a_network(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    with SummaryWriter(tmp_path) as w:
        w.add_graph(net, rl.ones(1, 3, 8, 8))
    graph = fields(events(tmp_path)[0][4][0])
    nodes = {n[1][0].decode(): n for n in map(fields, graph[1])}
    conv = nodes["Sequential/Conv2d[0]/convolution"]
    assert conv[2] == [b"aten::convolution"]
    assert conv[3] == [b"input/input", b"Sequential/Conv2d[0]/weight", b"Sequential/Conv2d[0]/bias"]
    assert nodes["Sequential/ReLU[1]/relu"][3] == [b"Sequential/Conv2d[0]/convolution"]
    assert nodes["output/output.1"][3] == [b"Sequential/Linear[3]/addmm"]


def test_summaries_that_libraries_write_themselves(tmp_path: Path) -> None:
    from rushlight.utils.tensorboard.summary import hparams

    with SummaryWriter(tmp_path) as w:
        for summary in hparams({"lr": rl.tensor(0.5)}, {"loss": 1.0}):
            w._get_file_writer().add_summary(summary)
    names = {f"_hparams_/{n}" for n in ("experiment", "session_start_info", "session_end_info")}
    assert values(tmp_path).keys() == names
