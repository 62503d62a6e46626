"""Refused arguments of stft and istft, and the counting of operations, beside PyTorch's."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])


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
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        lib.renorm(lib.ones(2), 2, 0, 1.0)


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
