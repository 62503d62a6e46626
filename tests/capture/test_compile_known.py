"""Functions of this package that compute on tensors are part of programs, wherever their code lies."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import rushlight as rl
from rushlight import masked
from rushlight.base.errors import HostReadError
from rushlight.signal import windows
from rushlight.vision import ops

SCALE, ZERO = rl.tensor([0.1, 0.2]), rl.tensor([0, 1], dtype=rl.int32)
KEPT = rl.tensor([[True, False], [True, True], [False, True], [True, True]])
BOXES = rl.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 4.0]])
Batch = namedtuple("Batch", "state reward")  # noqa: PYI024


class Sides(NamedTuple):
    low: Any
    high: Any = 2.0


class Pair(tuple):
    """A tuple that says how it is made."""

    def __new__(cls, *parts: Any) -> Pair:
        return super().__new__(cls, parts)


def corners(x: Any) -> Any:
    """Boxes of any numbers (4, 2)."""
    low = x.T.reshape(-1, 2)[:2]
    return rl.cat([low, low + 1 + x.T.reshape(-1, 2)[2:].abs()], 1)


COMPUTE: dict[str, Callable[[Any], Any]] = {
    "quantised": lambda x: rl.fake_quantize_per_channel_affine(x, SCALE, ZERO, 1, -8, 7),
    "masked sum": lambda x: masked.sum(x, 1, mask=KEPT),
    "masked softmax": lambda x: masked.softmax(x, 0, mask=KEPT),
    "masked variance": lambda x: masked.var(x, 0, unbiased=False, mask=KEPT),
    "window": lambda x: x * windows.hann(4)[:, None],
    "focal": lambda x: ops.sigmoid_focal_loss(x, (x > 0).float(), reduction="mean"),
    "overlaps": lambda x: ops.box_iou(corners(x), BOXES),
    "boxes": lambda x: ops.generalized_box_iou_loss(corners(x), BOXES, reduction="sum"),
    "named tuple": lambda x: Batch(x, x * 2).reward + Batch(reward=x, state=1.5).state,
    "typed tuple": lambda x: Sides(x).low * Sides(x)._replace(high=3.0).high,
    "own tuple": lambda x: Pair(x, x + 1)[1] * len(Pair(x)),
    "deformed": lambda x: ops.deform_conv2d(x.reshape(1, 2, 2, 2), x.reshape(1, 8, 1, 1), rl.ones(1, 2, 2, 2)),
}


@pytest.mark.parametrize("name", COMPUTE)
def test_what_computes_is_part_of_a_program(name: str) -> None:
    compute, draw = COMPUTE[name], np.random.default_rng(0)
    step = rl.compile(compute, fullgraph=True)
    for _ in range(5):
        x = rl.tensor(draw.standard_normal((4, 2)).astype("f4"), requires_grad=True)
        y = x.detach().clone().requires_grad_()
        found, wanted = step(x), compute(y)
        found.sum().backward()
        wanted.sum().backward()
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-6)
        np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["nms", "roi_align"])
def test_what_looks_at_values_is_not(name: str) -> None:
    picture = rl.randn(1, 2, 8, 8)
    calls = {
        "nms": lambda boxes: ops.nms(boxes, boxes.sum(1), 0.5),
        "roi_align": lambda boxes: ops.roi_align(picture, [boxes], 2),
    }
    step = rl.compile(calls[name], fullgraph=True)
    with pytest.raises(HostReadError):
        for i in range(5):
            step(BOXES * (1 + i))


def test_a_block_is_no_handler_of_errors() -> None:
    """Behind a change that lasts, whether somebody catches what a check of places may raise is looked up in the code."""
    kept, at = rl.zeros(3, 2), rl.tensor([2, 0])

    def step(x: Any) -> Any:
        with rl.no_grad():
            kept.fill_(1.0)
            kept.index_copy_(0, at, x)
            return kept * 2

    compiled = rl.compile(step, fullgraph=True)
    for k in range(5):
        x = rl.full((2, 2), float(k))
        assert compiled(x).tolist() == [[2.0 * k] * 2, [2.0] * 2, [2.0 * k] * 2]


MANY = [[[j] for j in range(70)] for _ in range(70)]


class _Listed:
    """Its `_modules` is no dict of modules."""

    _modules = {"size"}
    size = 2.0

    def __init__(self) -> None:
        self._modules = {"size"}


LISTED = _Listed()


def test_a_state_of_very_many_objects_is_not_followed_to_its_end() -> None:
    fn = rl.compile(lambda x: x * MANY[3][4][0])
    with pytest.warns(UserWarning, match="more than 4,000 objects"):
        for _ in range(4):
            assert fn(rl.ones(2)).tolist() == [4.0, 4.0]
    MANY[3][4][0] = 5
    try:
        assert fn(rl.ones(2)).tolist() == [5.0, 5.0]
    finally:
        MANY[3][4][0] = 4


def test_modules_that_are_no_table() -> None:
    fn = rl.compile(lambda x: x * LISTED.size)
    for _ in range(4):
        assert fn(rl.ones(2)).tolist() == [2.0, 2.0]
    LISTED.size = 3.0
    try:
        assert fn(rl.ones(2)).tolist() == [3.0, 3.0]
    finally:
        del LISTED.size
