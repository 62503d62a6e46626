"""Drawings in pictures, and the outputs of layers inside models."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.vision import models, transforms, utils
from rushlight.vision.models.feature_extraction import create_feature_extractor, get_graph_node_names

Image = pytest.importorskip("PIL.Image")
DARK = torch.zeros(3, 20, 30, dtype=torch.uint8)


def test_boxes() -> None:
    boxes = torch.tensor([[2, 3, 12, 15], [8, 5, 28, 18]])
    made = utils.draw_bounding_boxes(DARK, boxes, colors=["red", (0, 0, 255)])
    assert made[:, 3, 5].tolist() == [255, 0, 0] and made[:, 18, 20].tolist() == [0, 0, 255]
    assert made[:, 10, 15].tolist() == [0, 0, 0] and not DARK.any()
    filled = utils.draw_bounding_boxes(DARK, boxes[:1], colors="red", fill=True)
    assert 0 < filled[0, 8, 8] < 255
    floats = utils.draw_bounding_boxes(DARK.float(), boxes, colors="red")
    assert floats.dtype is torch.float32 and floats.max() == 1
    assert utils.draw_bounding_boxes(DARK[:1], boxes).shape == (3, 20, 30)
    named = utils.draw_bounding_boxes(DARK, boxes, ["a", None], colors="red", fill_labels=True)
    assert named.any() and not torch.equal(named, made)
    corners = torch.tensor([[5, 2, 15, 5, 12, 15, 2, 12]])
    assert utils.draw_bounding_boxes(DARK, corners, colors="red")[0, 2, 5] == 255


def test_boxes_that_are_wrong() -> None:
    boxes = torch.tensor([[2, 3, 12, 15]])
    with pytest.raises(TypeError, match="Tensor expected"):
        utils.draw_bounding_boxes(np.zeros((3, 4, 4), np.uint8), boxes)
    with pytest.raises(ValueError, match="dtype"):
        utils.draw_bounding_boxes(DARK.int(), boxes)
    with pytest.raises(ValueError, match="individual images"):
        utils.draw_bounding_boxes(DARK[None], boxes)
    with pytest.raises(ValueError, match="^Number of boxes"):
        utils.draw_bounding_boxes(DARK, boxes, ["a", "b"])
    with pytest.raises(ValueError, match="Number of colors"):
        utils.draw_bounding_boxes(DARK, boxes.expand(2, 4), colors=["red"])
    with pytest.raises(ValueError, match="xmin"):
        utils.draw_bounding_boxes(DARK, boxes.flip(1))
    with pytest.warns(UserWarning, match="any box"):
        assert utils.draw_bounding_boxes(DARK, boxes[:0]) is DARK


def test_masks() -> None:
    masks = torch.zeros(2, 20, 30, dtype=torch.bool)
    masks[0, :10] = True
    masks[1, 5:15] = True
    grey = torch.full((3, 20, 30), 100, dtype=torch.uint8)
    made = utils.draw_segmentation_masks(grey, masks, 0.5, ["red", "blue"])
    assert made[:, 2, 0].tolist() == [177, 50, 50]
    assert made[:, 7, 0].tolist() == [50, 50, 50]  # black where masks meet, as in torchvision
    assert made[:, 12, 0].tolist() == [50, 50, 177]
    assert made[:, 19, 0].tolist() == [100, 100, 100]
    with pytest.raises(ValueError, match="dtype bool"):
        utils.draw_segmentation_masks(grey, masks.int())
    with pytest.raises(ValueError, match="same height and width"):
        utils.draw_segmentation_masks(grey, masks[:, :5])


def test_points() -> None:
    points = torch.tensor([[[5.0, 5.0], [20.0, 10.0]]])
    made = utils.draw_keypoints(DARK, points, connectivity=[(0, 1)], colors="red", radius=1, width=1)
    assert made[:, 5, 5].tolist()[0] == 255 and made.sum() > 255 * 12
    hidden = utils.draw_keypoints(DARK, points, colors="red", visibility=torch.tensor([[True, False]]))
    assert hidden[0, 5, 5] == 255 and hidden[0, 10, 20] == 0
    with pytest.raises(ValueError, match="num_instances"):
        utils.draw_keypoints(DARK, points[0])


def test_motion() -> None:
    """Numbers of torchvision 0.28."""
    flow = torch.linspace(-1, 1, 2 * 2 * 3).reshape(2, 2, 3)
    assert utils.flow_to_image(flow).tolist() == FLOW
    assert utils.flow_to_image(flow[None]).shape == (1, 3, 2, 3)
    with pytest.raises(ValueError, match=r"\(2, H, W\)"):
        utils.flow_to_image(torch.zeros(3, 2, 2))
    with pytest.raises(ValueError, match="dtype"):
        utils.flow_to_image(torch.zeros(2, 2, 2, dtype=torch.float64))


FLOW = [[[0, 35, 56], [128, 209, 255]], [[226, 255, 255], [255, 255, 242]], [[255, 212, 89], [56, 35, 0]]]

# -- outputs of layers ---------------------------------------------------------------------------------


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
        self.relu = nn.ReLU()
        self.last = nn.Linear(6, 2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = self.first(x)
        y = self.relu(y + 1) + self.relu(y)
        return self.last(self.drop(y) if self.training else y)


@pytest.mark.filterwarnings("ignore:NOTE")
def test_names_of_nodes() -> None:
    train, test = get_graph_node_names(Small())
    assert test == ["x", "first.0", "first.1", "add", "relu", "relu_1", "add_1", "last"]
    assert train == [*test[:-1], "drop", "last"]
    with pytest.warns(UserWarning, match="different"):
        get_graph_node_names(Small())
    names = get_graph_node_names(models.resnet18())[0]
    assert names[:6] == ["x", "conv1", "bn1", "relu", "maxpool", "layer1.0.conv1"]
    assert names[10:12] == ["layer1.0.add", "layer1.0.relu_1"] and len(names) == 70
    # building blocks of `ops` are one node each
    assert get_graph_node_names(models.mobilenet_v3_small())[0][1:3] == ["features.0", "features.1.block.0"]


def test_features() -> None:
    model = Small().eval()
    make = create_feature_extractor(model, {"first": "a", "add_1": "b"}, suppress_diff_warning=True)
    x = torch.randn(3, 4)
    out = make(x)
    assert list(out) == ["a", "b"] and not make.training
    y = model.first(x)
    assert torch.equal(out["a"], y) and torch.equal(out["b"], torch.relu(y + 1) + y)
    assert set(make.state_dict()) == {"first.0.weight", "first.0.bias"}
    assert make.first[0] is model.first[0] if hasattr(make.first, "__getitem__") else True
    both = create_feature_extractor(model, train_return_nodes=["drop"], eval_return_nodes={"last": "out"})
    assert list(both.train()(x)) == ["drop"] and torch.equal(both.eval()(x)["out"], model(x))


def test_features_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="is not present in model"):
        create_feature_extractor(Small(), ["fir"], suppress_diff_warning=True)
    with pytest.raises(ValueError, match="should be specified"):
        create_feature_extractor(Small())
    with pytest.raises(ValueError, match="both should be specified"):
        create_feature_extractor(Small(), train_return_nodes=["last"])


def test_features_of_a_transformer() -> None:
    model = models.VisionTransformer(32, 16, 2, 2, 8, 16, num_classes=3).eval()
    make = create_feature_extractor(model, {"encoder.layers.encoder_layer_0": "a", "heads": "b"})
    out = make(torch.randn(1, 3, 32, 32))
    assert out["a"].shape == (1, 5, 8) and out["b"].shape == (1, 3)
    with pytest.raises(AssertionError, match="Wrong image height"):
        model(torch.randn(1, 3, 48, 32))


# -- elastic deformation -----------------------------------------------------------------------------------


def test_elastic() -> None:
    """Numbers of torchvision 0.28."""
    x = torch.linspace(0, 1, 36).reshape(1, 6, 6).repeat(1, 5, 5)
    torch.manual_seed(1)
    made = transforms.ElasticTransform(alpha=80.0, sigma=3.0)(x).flatten()[::7][1:5]
    assert np.allclose(made.numpy(), [0.0057257, 0.2577386, 0.8627087, 0.0], atol=1e-5)
    still = torch.zeros(1, 30, 30, 2)
    assert torch.allclose(transforms.functional.elastic_transform(x, still), x, atol=1e-5)
    picture = Image.new("L", (10, 12), 7)
    assert transforms.ElasticTransform(sigma=0.5)(picture).size == (10, 12)
    with pytest.raises(ValueError, match="displacement shape"):
        transforms.functional.elastic_transform(x, still[:, :5])
    with pytest.raises(TypeError, match="alpha should be"):
        transforms.ElasticTransform(alpha="much")
