"""Augmentation by drawn operations, and mixed batches: torchvision's numbers from the same seed, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight.vision import transforms
from rushlight.vision.transforms import AutoAugmentPolicy, v2


def picture() -> torch.Tensor:
    rows = torch.arange(24).reshape(24, 1) * 7
    columns = torch.arange(32).reshape(1, 32) * 5
    return torch.stack([(rows + columns * c) % 256 for c in (1, 2, 3)]).to(torch.uint8)


# What torchvision 0.28 makes of the picture from seeds 0 to 7: the sum of its numbers. Where a point lies between two
# pixels, one of them is a matter of rounding.
SUMS = {
    "imagenet": (transforms.AutoAugment(), [293667, 293667, 292472, 285592, 254558, 250176, 299648, 268613]),
    "cifar10": (
        transforms.AutoAugment(AutoAugmentPolicy.CIFAR10),
        [299648, 282799, 293667, 293667, 291584, 293667, 299648, 293667],
    ),
    "svhn": (
        transforms.AutoAugment(AutoAugmentPolicy.SVHN),
        [287872, 140966, 268837, 339540, 286442, 247980, 286530, 287872],
    ),
    "rand": (
        transforms.RandAugment(num_ops=3, magnitude=12, fill=9),
        [257988, 224871, 153118, 263792, 169080, 368395, 237506, 289786],
    ),
    "trivial": (transforms.TrivialAugmentWide(), [0, 305411, 167792, 299648, 263936, 239196, 167792, 255042]),
    "augmix": (transforms.AugMix(), [294831, 288343, 296606, 297999, 295407, 292965, 297105, 241409]),
}


@pytest.mark.parametrize("what", SUMS)
def test_torchvisions_pictures(what: str) -> None:
    made, want = SUMS[what]
    got = []
    for seed in range(8):
        torch.manual_seed(seed)
        got.append(int(made(picture()).long().sum().item()))
    np.testing.assert_allclose(got, want, rtol=4e-4)


@pytest.mark.parametrize("what", SUMS)
def test_pil_pictures_stay_what_they_are(what: str) -> None:
    pytest.importorskip("PIL")
    torch.manual_seed(1)
    given = transforms.functional.to_pil_image(picture())
    made = SUMS[what][0](given)
    assert type(made).__name__ == "Image" and made.size == given.size and made.mode == given.mode


@pytest.mark.parametrize(
    "kind, seed, total, first",
    [
        (v2.MixUp, 3, 56484508.0, [0.6064560, 0.3935440, 0.0]),
        (v2.MixUp, 5, 48180744.0, [0.1429708, 0.8570292, 0.0]),
        (v2.CutMix, 3, 61295712.0, [0.875, 0.125, 0.0]),
        (v2.CutMix, 5, 54577248.0, [0.5, 0.5, 0.0]),
    ],
)
def test_mixed_batches(kind: type, seed: int, total: float, first: list[float]) -> None:
    x = torch.arange(4 * 3 * 6 * 8, dtype=torch.float32).reshape(4, 3, 6, 8)
    y = torch.tensor([0, 1, 2, 1])
    torch.manual_seed(seed)
    pictures, labels = kind(num_classes=3, alpha=0.7)(x, y)
    weighted = (pictures.double() * torch.arange(x.numel()).reshape(x.shape)).sum().item()
    assert weighted == pytest.approx(total, rel=1e-6)
    np.testing.assert_allclose(labels[0].numpy(), first, rtol=1e-5)
    by_name = kind(num_classes=3)({"image": x, "label": y})
    assert set(by_name) == {"image", "label"} and by_name["label"].shape == (4, 3)


def test_what_is_refused() -> None:
    x, y = torch.zeros(2, 3, 4, 4), torch.tensor([0, 1])
    with pytest.raises(ValueError, match="num_classes must be passed"):
        v2.MixUp()(x, y)
    with pytest.raises(ValueError, match="labels should be index based"):
        v2.CutMix(num_classes=2)(x[0], y[0])
    with pytest.raises(ValueError, match="concentration"):
        v2.MixUp(alpha=-1.0)
    with pytest.raises(ValueError, match="severity"):
        transforms.AugMix(severity=11)
    with pytest.raises(ValueError, match="not recognized"):
        transforms.AutoAugment("imagenet")
