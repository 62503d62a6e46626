"""All families of models: parameter counts, numbers of torchvision from the same seed, training, arguments."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight.vision import models
from rushlight.vision.models import convnext, efficientnet, regnet, swin_transformer, vision_transformer

PUBLISHED = [n for n in models.list_models() if hasattr(models.get_model_builder(n), "weights_enum")]
NAMES = [n for n in PUBLISHED if hasattr(models, n)]  # the others are tested with their tasks

# What torchvision 0.28 gives for manual_seed(0), 10 classes and linspace(-1, 1) as two pictures of 64 x 64 (MaxViT: of 224 x 224): the first four of the first.
FROM_TORCHVISION = {
    "shufflenet_v2_x0_5": [-0.0220724, -0.0302601, 0.00712999, 0.0144014],
    "regnet_x_400mf": [-0.0191996, 0.0201735, 0.00915625, -0.0291994],
    "regnet_y_400mf": [-0.0159318, 0.00250133, 0.00273836, -0.000271648],
    "densenet121": [-0.156388, 0.000434987, -0.161174, -0.584445],
    "maxvit_t": [-0.0060876, -0.34917, 0.0900628, 0.220386],
    "swin_t": [-0.597321, 0.238957, 0.340096, 0.0939397],
    "swin_v2_t": [0.0186979, 0.445645, 0.681326, 0.37779],
    "convnext_tiny": [-0.0799562, 0.378583, 0.656637, -0.151033],
    "efficientnet_v2_s": [1.9399e-06, -1.06363e-06, -7.51585e-07, 4.10899e-07],
    "mobilenet_v3_small": [-2.14736e-11, 7.51362e-11, -3.95365e-11, 7.66731e-11],
}


def test_there_are_many() -> None:
    assert len(NAMES) == 80


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_parameters(name: str) -> None:
    kinds = models.get_model_weights(name)
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    if name == "googlenet":
        options["aux_logits"] = False  # its published count is that of the network alone
    first = next(iter(kinds))
    if name.startswith("vit"):
        options["image_size"] = first.meta["min_size"][0]
    with torch.device("meta"):
        model = models.get_model(name, **options)
    told = {w.meta["num_params"] for w in kinds if w.meta["min_size"] == first.meta["min_size"]}
    assert told == {sum(p.numel() for p in model.parameters())}
    assert kinds.DEFAULT in list(kinds)


@pytest.mark.parametrize("name", FROM_TORCHVISION)
def test_numbers_of_torchvision(name: str) -> None:
    torch.manual_seed(0)
    model = models.get_model(name, num_classes=10).eval()
    side = 224 if name == "maxvit_t" else 64
    x = torch.linspace(-1, 1, 2 * 3 * side * side).reshape(2, 3, side, side)
    with torch.no_grad():
        y = model(x)[0, :4].numpy()
    np.testing.assert_allclose(y, FROM_TORCHVISION[name], rtol=2e-3, atol=1e-14)


SMALL = {
    "convnext": lambda: convnext.ConvNeXt(
        [convnext.CNBlockConfig(8, 16, 1), convnext.CNBlockConfig(16, None, 2)], 0.1, num_classes=5
    ),
    "efficientnet": lambda: efficientnet.EfficientNet(
        [efficientnet.MBConvConfig(1, 3, 1, 8, 8, 1, True), efficientnet.MBConvConfig(4, 3, 2, 8, 16, 2)], 0.1, num_classes=5
    ),
    "densenet": lambda: models.DenseNet(4, (2, 2), 8, num_classes=5),
    "maxvit": lambda: models.MaxVit((40, 40), 8, 5, [8, 16], [1, 2], 4, 0.1, num_classes=5),
    "densenet, memory": lambda: models.DenseNet(4, (2, 2), 8, num_classes=5, memory_efficient=True),
    "regnet": lambda: regnet.RegNet(
        regnet.BlockParams.from_init_params(4, 8, 8.0, 2.0, 8, se_ratio=0.25), num_classes=5, stem_width=8
    ),
    "shufflenet": lambda: models.ShuffleNetV2([1, 1, 1], [8, 16, 32, 64, 32], num_classes=5),
    "swin": lambda: swin_transformer.SwinTransformer([4, 4], 8, [2, 2], [1, 2], [4, 4], num_classes=5),
    "swin v2": lambda: swin_transformer.SwinTransformer(
        [4, 4], 8, [2, 1], [1, 2], [4, 4], num_classes=5, block=swin_transformer.SwinTransformerBlockV2,
        downsample_layer=swin_transformer.PatchMergingV2,
    ),
    "vit": lambda: vision_transformer.VisionTransformer(40, 8, 2, 2, 16, 32, num_classes=5),
}  # fmt: skip


@pytest.mark.parametrize("what", SMALL)
def test_they_train(what: str, device: str) -> None:
    torch.manual_seed(0)
    model = SMALL[what]().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    x = torch.randn(8, 3, 40, 40).to(device)
    y = torch.tensor([0, 1, 2, 3, 4, 0, 1, 2]).to(device)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.grad is not None for p in model.parameters())
    assert losses[-1] < losses[0]


def test_what_maxvit_refuses() -> None:
    with pytest.raises(ValueError, match=r"Input size \(16, 16\) of block 0 is not divisible by partition size 7"):
        models.maxvit_t(input_size=(64, 64))


@pytest.mark.parametrize("name, size, outputs", [("googlenet", 64, 3), ("inception_v3", 299, 2)])
def test_classifiers_halfway(name: str, size: int, outputs: int) -> None:
    model = models.get_model(name, num_classes=3, init_weights=False)
    x = torch.randn(2, 3, size, size)
    made = model.train()(x)
    assert len(made) == outputs and made.logits.shape == (2, 3) and made[-1].shape == (2, 3)
    with torch.no_grad():
        assert model.eval()(x).shape == (2, 3)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(AssertionError, match="indivisible"):
        vision_transformer.VisionTransformer(30, 8, 1, 1, 8, 8)
    with pytest.raises(AssertionError, match="Wrong image height! Expected 40 but got 32!"):
        SMALL["vit"]()(torch.zeros(1, 3, 32, 40))
    with pytest.raises(ValueError, match="should not be empty"):
        convnext.ConvNeXt([])
    with pytest.raises(TypeError):
        models.Swin_T_Weights.verify(models.ViT_B_16_Weights.DEFAULT)


def test_positions_for_another_size() -> None:
    state = SMALL["vit"]().state_dict()
    larger = vision_transformer.interpolate_embeddings(64, 8, dict(state))
    assert larger["encoder.pos_embedding"].shape == (1, 65, 16)
    vision_transformer.VisionTransformer(64, 8, 2, 2, 16, 32, num_classes=5).load_state_dict(larger)
