"""`tv_tensors` and `transforms.v2` beside the numbers that torchvision 0.28.0 gave."""

from __future__ import annotations

import json

import pytest

import rushlight
import rushlight as rl
import rushlight.vision
import vision_v2_cases as cases
import vision_v2_more  # noqa: F401
from rushlight.vision import transforms
from rushlight.vision.transforms import v2

pytest.importorskip("PIL")
EXPECTED = json.loads(cases.EXPECTED.read_text())


def test_every_use_has_numbers() -> None:
    assert list(EXPECTED) == list(cases.USES)


@pytest.mark.parametrize("name", cases.USES)
def test_as_torchvision(name: str) -> None:
    found = cases.answer(cases.Bench(rushlight, rushlight.vision), name)
    # Strengths are a linspace, whose last bit depends on how wide PyTorch's vectors are: some bytes differ by one.
    # Pillow's contrast of a picture is rounded otherwise on x86 than on aarch64.
    by_pillow = name.startswith(("adjust_contrast", "RandAugment", "TrivialAugmentWide")) and "pil" in name
    loose = 1.0 if by_pillow or name.startswith(("AutoAugment", "AugMix")) else 0.0
    wrong = list(cases.differences(found, EXPECTED[name], loose=loose))
    assert not wrong, "\n".join([*wrong[:5], str(found), str(EXPECTED[name])])


@pytest.mark.parametrize("name", ["RandomErasing", "ColorJitter", "Resize", "RandomRotation"])
def test_the_same_of_the_first_generation(name: str) -> None:
    given: tuple = {"Resize": (4,), "RandomRotation": (10,)}.get(name, ())
    first = getattr(v2, name)(*given).__prepare_scriptable__()
    assert type(first) is getattr(transforms, name)
    again = getattr(transforms, name)(*given)
    for attribute in ("p", "brightness", "interpolation", "degrees", "antialias"):
        assert getattr(first, attribute, None) == getattr(again, attribute, None)
    with pytest.raises(RuntimeError, match="cannot be JIT scripted"):
        v2.RandomResize(2, 4).__prepare_scriptable__()


def test_who_counts_uses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight import _C

    heard: list[str] = []
    monkeypatch.setattr(_C, "_log_api_usage_once", heard.append)
    v2.functional.hflip(rl.zeros(1, 2, 2))
    assert heard == [f"{v2.functional.hflip.__module__}.horizontal_flip"]


def test_resizing_keeps_the_order_in_memory() -> None:
    image = rl.zeros(1, 3, 4, 5, dtype=rl.uint8).contiguous(memory_format=rl.channels_last)[0]
    for mode in ("nearest", "bilinear"):
        made = v2.functional.resize(image, [6, 7], interpolation=transforms.InterpolationMode(mode))
        assert made.stride() == (1, 21, 3)


@pytest.mark.parametrize("name", ["RandomRotation", "RandomAffine", "RandomPerspective"])
def test_colours_that_are_none(name: str) -> None:
    given = () if name == "RandomPerspective" else (10,)
    with pytest.raises(TypeError, match="Fill should be either a sequence or a number"):
        getattr(transforms, name)(*given, fill={})
