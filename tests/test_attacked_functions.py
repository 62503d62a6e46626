"""Functions that were attacked with random arguments beside PyTorch: what differed, kept as tests."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])


@BOTH
def test_resize_takes_the_order_of_the_memory_it_is_told(lib: Any) -> None:
    turned = lib.arange(6.0).reshape(2, 3).t().resize_(3, 2, memory_format=lib.contiguous_format)
    assert turned.stride() == (2, 1) and turned.flatten().tolist() == list(range(6))
    image = lib.arange(8.0).resize_(1, 2, 2, 2, memory_format=lib.channels_last)
    assert image.stride() == (8, 1, 4, 2)
    assert image[0, 1].tolist() == [[1.0, 3.0], [5.0, 7.0]]
    kept = lib.arange(8.0).resize_as_(image, memory_format=lib.preserve_format)
    assert kept.stride() == image.stride() and kept.equal(image)
    assert lib.arange(8.0).resize_as_(image).stride() == (8, 4, 2, 1)
    with pytest.raises(RuntimeError, match="Unsupported memory format ?Preserve"):
        lib.arange(4.0).resize_(4, memory_format=lib.preserve_format)


def test_memory_that_grows_away_from_its_views_is_told() -> None:
    def with_view() -> Any:
        x = rl.arange(6.0)
        return x, x[2:]

    for grow in (0, 1):
        pair = with_view()
        with pytest.warns(UserWarning, match="do not share the new one"):
            pair[grow].resize_(7)
    shared = rl.arange(6.0)
    other = shared.detach()
    with pytest.warns(UserWarning, match="do not share the new one"):
        shared.resize_(7)
    assert other.shape == (6,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = rl.arange(6.0).resize_(9)
        assert alone[:6].tolist() == list(range(6))
        rl.empty(0).resize_(3)
        with_view()[0].resize_(3)
        rl.arange(6.0)[2:].resize_(4)
