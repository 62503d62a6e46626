"""CTC loss and its gradient on every device, beside PyTorch's; also inside a compiled step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn import functional as F

torch = pytest.importorskip("torch", reason="PyTorch is the oracle")

CASES = {  # frames, samples, classes, width, blank
    "few": (12, 5, 7, 4, 0),
    "blank in the middle": (20, 3, 4, 6, 2),
    "one frame": (1, 2, 3, 1, 0),
    "many letters": (300, 3, 29, 120, 28),
    "more states than threads": (700, 2, 5, 330, 0),
}


def made(name: str) -> tuple:
    frames, samples, classes, width, blank = CASES[name]
    rng = np.random.default_rng(3)
    logits = rng.standard_normal((frames, samples, classes)).astype(np.float32)
    labels = rng.integers(0, classes - 1, (samples, width))
    labels += labels >= blank
    inputs = rng.integers(max(frames - 3, 1), frames + 1, samples)
    lengths = rng.integers(0, min(width, frames // 2) + 1, samples)
    lengths[0] = min(width, frames // 2)
    return logits, labels, inputs, lengths, blank


def run(module: Any, device: str, case: tuple, flat: bool, **options: Any) -> tuple:
    logits, labels, inputs, lengths, blank = case
    x = module.tensor(logits).to(device).requires_grad_()
    if flat:
        labels = np.concatenate([row[:n] for row, n in zip(labels, lengths)])
    given = [module.tensor(a) for a in (inputs, lengths)]
    target = module.tensor(labels).to(device)
    loss = module.nn.functional.ctc_loss(x.log_softmax(-1), target, *given, blank, **options)
    (loss * loss).sum().backward()
    return loss.detach().cpu().numpy(), x.grad.cpu().numpy()


@pytest.mark.parametrize("flat", [False, True], ids=["rows", "flat"])
@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradient_are_pytorchs(name: str, flat: bool, device: str) -> None:
    case = made(name)
    for options in ({"reduction": "none"}, {"reduction": "mean", "zero_infinity": True}):
        ours = run(rl, device, case, flat, **options)
        theirs = run(torch, "cpu", case, flat, **options)
        for a, b in zip(ours, theirs):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * max(1.0, np.abs(b[np.isfinite(b)]).max()))


def test_targets_that_cannot_be_aligned(device: str) -> None:
    logits, labels, _, _, _ = made("few")
    case = (logits, labels % 2 + 1, np.array([3, 12, 0, 1, 12]), np.array([4, 4, 0, 2, 0]), 0)
    for options in ({"reduction": "none"}, {"reduction": "sum", "zero_infinity": True}):
        for a, b in zip(run(rl, device, case, False, **options), run(torch, "cpu", case, False, **options)):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_inside_a_compiled_step(device: str) -> None:
    logits, labels, inputs, lengths, blank = made("few")
    x, target = rl.tensor(logits).to(device), rl.tensor(labels).to(device)
    frames, letters = rl.tensor(inputs), rl.tensor(lengths)
    weight = rl.ones(7, device=device, requires_grad=True)

    def step() -> Any:
        loss = rl.nn.functional.ctc_loss((x * weight).log_softmax(-1), target, frames, letters, blank)
        weight.grad = None
        loss.backward()
        return loss.detach()

    want, slope = step(), weight.grad.clone()
    compiled = rl.compile(step)
    for _ in range(4):
        got = compiled()
        np.testing.assert_allclose(got.item(), want.item(), rtol=1e-6)
        np.testing.assert_allclose(weight.grad.cpu().numpy(), slope.cpu().numpy(), rtol=1e-5, atol=1e-6)
    assert compiled.why() is None


@pytest.mark.filterwarnings("ignore:compile:UserWarning")
def test_lengths_without_room_are_refused_and_never_shortened(device: str) -> None:
    scores = rl.randn(5, 2, 4).log_softmax(2).to(device)
    targets = rl.tensor([[1, 2], [3, 1]]).to(device)
    for place in ("cpu", device):
        fine, long = rl.tensor([5, 4]).to(place), rl.tensor([5, 6]).to(place)
        two, three = rl.tensor([2, 2]).to(place), rl.tensor([2, 3]).to(place)
        step = rl.compile(lambda *given: F.ctc_loss(*given, reduction="none"))
        for _ in range(4):
            assert step(scores, targets, fine, two).isfinite().all()
        for inputs, lengths in ((long, two), (fine, three)):
            told = []
            for call in (F.ctc_loss, step):
                with pytest.raises(RuntimeError, match="ctc_loss") as caught:
                    call(scores, targets, inputs, lengths)
                told.append(str(caught.value))
            assert told[0] == told[1]
        assert step(scores, targets, fine, two).isfinite().all()
