"""stft, istft, renorm and the counting of operations: numbers, gradients and errors beside PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])

SIGNAL = np.random.RandomState(0).randn(2, 64)
CASES = [
    {"n_fft": 16},
    {"n_fft": 16, "hop_length": 5, "win_length": 10, "window": "hann_window"},
    {"n_fft": 16, "center": False, "normalized": True},
    {"n_fft": 16, "onesided": False, "pad_mode": "constant"},
    {"n_fft": 15, "hop_length": 4, "window": "hamming_window"},
]


def options(lib, case):
    made = dict(case)
    if "window" in made:
        made["window"] = getattr(lib, made["window"])(
            case.get("win_length", case["n_fft"]), dtype=lib.float64
        )
    return made


@pytest.mark.filterwarnings("ignore:A window was not provided")
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("ndim", [1, 2])
def test_forward_backward_and_back_again(case, ndim):
    results = []
    for lib in (rushlight, torch):
        x = lib.tensor(SIGNAL if ndim == 2 else SIGNAL[0], dtype=lib.float64).requires_grad_()
        given = options(lib, case)
        out = lib.stft(x, **given, return_complex=True)
        (out.abs() ** 2).sum().backward()
        given.pop("pad_mode", None)
        back = None
        if case.get("center", True):
            back = lib.istft(out.detach(), **given, length=x.shape[-1]).numpy()
        results.append(
            (out.detach().numpy(), x.grad.numpy(), back, lib.view_as_real(out.detach()).numpy())
        )
    for ours, theirs in zip(*results):
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


@BOTH
def test_wrong_sizes_are_told(lib):
    x = lib.zeros(32)
    with pytest.raises(RuntimeError, match="return_complex"):
        lib.stft(x, 8)
    with pytest.raises(RuntimeError, match="1D or 2D"):
        lib.stft(lib.zeros(1, 1, 32), 8, return_complex=True)
    with pytest.raises(RuntimeError, match="n_fft"):
        lib.stft(x, 64, center=False, return_complex=True)
    with pytest.raises(RuntimeError, match="win_length"):
        lib.stft(x, 8, win_length=9, return_complex=True)
    with pytest.raises(RuntimeError, match="complex"):
        lib.istft(lib.zeros(5, 4), 8)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("dim", [0, -1])
def test_renorm(p, dim):
    results = []
    for lib in (rushlight, torch):
        x = lib.tensor(SIGNAL[:, :6].reshape(3, 4), dtype=lib.float64).requires_grad_()
        out = lib.renorm(x, p, dim, 1.5)
        out.sin().sum().backward()
        changed = x.detach().clone().renorm_(p, dim, 0.5)
        results.append((out.detach().numpy(), x.grad.numpy(), changed.numpy()))
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        rushlight.renorm(rushlight.ones(2), 2, 0, 1.0)


def test_flops_are_counted():
    totals = []
    for lib in (rushlight, torch):
        net = lib.nn.Sequential(
            lib.nn.Conv2d(3, 4, 3, groups=1), lib.nn.ReLU(), lib.nn.Flatten(), lib.nn.Linear(144, 5)
        )
        mode = __import__(f"{lib.__name__}.utils.flop_counter", fromlist=["x"]).FlopCounterMode
        with mode(display=False) as counted, lib.no_grad():
            net(lib.zeros(2, 3, 8, 8)) @ lib.ones(5, 7)
        totals.append(counted.get_total_flops())
    assert totals[0] == totals[1]
