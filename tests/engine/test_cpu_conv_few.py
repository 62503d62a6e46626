"""Convolutions of few channels and narrow rows in the CPU's engine: what lies in the gaps between rows counts for nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rushlight.runtime.cpu import engine_native
from rushlight.runtime.door import KERNELS

try:
    engine = engine_native.load()
except ImportError as error:  # pragma: no cover - built in CI
    pytest.skip(str(error), allow_module_level=True)

NAMES = ("conv", "conv_grad_input", "conv_grad_weight")


def _numpy(name: str, *arrays: Any, **attrs: Any) -> Any:
    return KERNELS[name].generic(np, *arrays, **attrs)


def _how(padding: int = 0, stride: int = 1) -> dict[str, Any]:
    return {"stride": (stride, stride), "padding": (padding, padding), "dilation": (1, 1), "groups": 1}


def _agree(x: Any, w: Any, how: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    y = _numpy("conv", x, w, None, **how)
    g = rng.standard_normal(y.shape).astype(np.float32)
    calls: list[tuple[tuple, dict[str, Any]]] = [
        ((x, w, None), how),
        ((g, w), {"x_shape": x.shape, **how}),
        ((g, x), {"w_shape": w.shape, **how}),
    ]
    for name, (arrays, attrs) in zip(NAMES, calls):
        kernel = engine.kernel(name, lambda *a, **k: pytest.fail("refused"))
        assert kernel is not None
        found, expected = kernel(*arrays, **attrs), _numpy(name, *arrays, **attrs)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3, err_msg=name)


@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize(
    ("images", "channels", "outs", "size", "kernel"),
    [(70, 3, 6, 32, 5), (3, 6, 16, 14, 5), (2, 1, 6, 28, 5), (5, 2, 3, 19, 3), (2, 3, 7, 61, 3)],
)
def test_against_numpy(images: int, channels: int, outs: int, size: int, kernel: int, padding: int) -> None:
    """Seventy images are several rounds of buffers, the last of them a smaller one."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((images, channels, size, size)).astype(np.float32)
    w = rng.standard_normal((outs, channels, kernel, kernel)).astype(np.float32)
    _agree(x, w, _how(padding))


def test_rows_of_a_larger_image() -> None:
    """The gaps between rows are numbers of somebody else, here none at all."""
    rng = np.random.default_rng(0)
    whole = np.full((2, 3, 20, 36), np.nan, np.float32)
    x = whole[..., :32]
    x[...] = rng.standard_normal(x.shape)
    _agree(x, rng.standard_normal((6, 3, 5, 5)).astype(np.float32), _how())


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_only_taps_that_meet_it_see_an_infinite_input(odd: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 2, 24, 32)).astype(np.float32)
    x[1, 0, 3, 31] = odd  # the last column: only the last column of taps meets it
    g = rng.standard_normal((2, 6, 20, 28)).astype(np.float32)
    kernel = engine.kernel("conv_grad_weight", lambda *a, **k: pytest.fail("refused"))
    assert kernel is not None
    attrs = {"w_shape": (6, 2, 5, 5), **_how()}
    found, expected = kernel(g, x, **attrs), _numpy("conv_grad_weight", g, x, **attrs)
    assert np.isfinite(found[:, 1]).all() and np.isfinite(found[:, 0, :, :4]).all()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))


def test_calls_in_a_sequence_are_made_in_order_until_one_fails() -> None:
    out, seen = np.zeros(3, np.float32), []
    relu = engine.into("relu", lambda *a, **k: pytest.fail("refused"), (out,))
    calls = [
        (relu, (np.array([-1.0, 0.0, 2.0], np.float32),), {}),
        (seen.append, (1,), {}),
        (int, ("no number",), {}),
        (seen.append, (2,), {}),
    ]
    with pytest.raises(ValueError, match="no number"):
        engine.sequence(calls)()
    assert out.tolist() == [0.0, 0.0, 2.0] and seen == [1]
    with pytest.raises(TypeError, match="a call is"):
        engine.sequence([relu])
