"""Uses of auraloss: how far one sound is from another."""

import auraloss
import torch

LIBRARY = "auraloss"


def over_resolutions() -> object:
    loss_of = auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[64, 128], hop_sizes=[16, 32], win_lengths=[64, 128])
    x, y = torch.randn(2, 1, 1024, requires_grad=True), torch.randn(2, 1, 1024)
    loss = loss_of(x, y)
    loss.backward()
    return loss, x.grad.norm(), x.grad[0, 0, :20]


def in_time() -> object:
    x, y = torch.randn(2, 2, 512), torch.randn(2, 2, 512)
    time = auraloss.time
    return [
        f(x, y)
        for f in (
            time.SISDRLoss(),
            time.ESRLoss(),
            time.LogCoshLoss(),
            auraloss.freq.SumAndDifferenceSTFTLoss([64], [16], [64]),
        )
    ]
