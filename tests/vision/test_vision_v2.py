"""`tv_tensors` and `transforms.v2` beside the numbers that torchvision 0.28.0 gave."""

from __future__ import annotations

import json

import pytest

import rushlight
import rushlight.vision
import vision_v2_cases as cases
import vision_v2_more  # noqa: F401

pytest.importorskip("PIL")
EXPECTED = json.loads(cases.EXPECTED.read_text())


def test_every_use_has_numbers() -> None:
    assert list(EXPECTED) == list(cases.USES)


@pytest.mark.parametrize("name", cases.USES)
def test_as_torchvision(name: str) -> None:
    found = cases.answer(cases.Bench(rushlight, rushlight.vision), name)
    # Strengths are a linspace, whose last bit depends on how wide PyTorch's vectors are: some bytes differ by one.
    # Pillow's contrast of a picture is rounded otherwise on x86 than on aarch64.
    by_pillow = (
        name.startswith(("adjust_contrast", "RandAugment", "TrivialAugmentWide")) and "pil" in name
    )
    loose = 1.0 if by_pillow or name.startswith(("AutoAugment", "AugMix")) else 0.0
    wrong = list(cases.differences(found, EXPECTED[name], loose=loose))
    assert not wrong, "\n".join([*wrong[:5], str(found), str(EXPECTED[name])])
