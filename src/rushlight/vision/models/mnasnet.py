"""MNASNet (Tan et al. 2018), with torchvision's names and weights."""

from __future__ import annotations

from functools import partial

from ... import nn
from ...core.tensor import Tensor
from ._build import build
from ._initial import initialise

__all__ = [
    "MNASNet", "MNASNet0_5_Weights", "MNASNet0_75_Weights", "MNASNet1_0_Weights",
    "MNASNet1_3_Weights", "mnasnet0_5", "mnasnet0_75", "mnasnet1_0", "mnasnet1_3",
]  # fmt: skip


_MOMENTUM = 1 - 0.9997  # of batch norms


class _InvertedResidual(nn.Module):
    """Widen by 1x1, filter each channel, narrow by 1x1."""

    def __init__(
        self, in_ch: int, out_ch: int, kernel_size: int, stride: int, expansion_factor: int, bn_momentum: float = 0.1
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        if kernel_size not in (3, 5):
            raise ValueError(f"kernel_size should be 3 or 5 instead of {kernel_size}")
        inside = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        norm = partial(nn.BatchNorm2d, momentum=bn_momentum)
        self.layers = nn.Sequential(
            nn.Conv2d(in_ch, inside, 1, bias=False), norm(inside), nn.ReLU(inplace=True),
            nn.Conv2d(inside, inside, kernel_size, padding=kernel_size // 2, stride=stride, groups=inside, bias=False),
            norm(inside), nn.ReLU(inplace=True), nn.Conv2d(inside, out_ch, 1, bias=False), norm(out_ch),
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return self.layers(input) + input if self.apply_residual else self.layers(input)


def _stack(i: int, o: int, kernel: int, stride: int, widen: int, repeats: int) -> nn.Sequential:
    first = _InvertedResidual(i, o, kernel, stride, widen, _MOMENTUM)
    rest = [_InvertedResidual(o, o, kernel, 1, widen, _MOMENTUM) for _ in range(repeats - 1)]
    return nn.Sequential(first, *rest)


def _round(value: float, divisor: int = 8) -> int:
    """The multiple of `divisor` nearest to a value, and not less than 0.9 of it."""
    nearest = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return nearest if nearest >= 0.9 * value else nearest + divisor


class MNASNet(nn.Module):
    """A network found by search; `alpha` says how wide it is.

    Args:
        alpha: a factor on the channels.
        num_classes: of the result.
        dropout: the probability in front of the last layer.

    Raises:
        ValueError: if `alpha` is not positive.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.MNASNet(1.0, num_classes=10)
        >>> net.classifier[-1]
        Linear(in_features=1280, out_features=10, bias=True)
    """

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha, self.num_classes = alpha, num_classes
        a, b, *c = [_round(d * alpha) for d in (32, 16, 24, 40, 80, 96, 192, 320)]
        norm = partial(nn.BatchNorm2d, momentum=_MOMENTUM)
        self.layers = nn.Sequential(
            nn.Conv2d(3, a, 3, padding=1, stride=2, bias=False), norm(a), nn.ReLU(inplace=True),
            nn.Conv2d(a, a, 3, padding=1, stride=1, groups=a, bias=False), norm(a), nn.ReLU(inplace=True),
            nn.Conv2d(a, b, 1, padding=0, stride=1, bias=False), norm(b),
            _stack(b, c[0], 3, 2, 3, 3), _stack(c[0], c[1], 5, 2, 3, 3), _stack(c[1], c[2], 5, 2, 6, 3),
            _stack(c[2], c[3], 3, 1, 6, 2), _stack(c[3], c[4], 5, 2, 6, 4), _stack(c[4], c[5], 3, 1, 6, 1),
            nn.Conv2d(c[5], 1280, 1, padding=0, stride=1, bias=False), norm(1280), nn.ReLU(inplace=True),
        )  # fmt: skip
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes))
        initialise(self, lambda w: nn.init.kaiming_uniform_(w, mode="fan_out", nonlinearity="sigmoid"))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.layers(x).mean([2, 3]))


MNASNet0_5_Weights, mnasnet0_5 = build("MNASNet0_5", partial(MNASNet, 0.5))
MNASNet0_75_Weights, mnasnet0_75 = build("MNASNet0_75", partial(MNASNet, 0.75))
MNASNet1_0_Weights, mnasnet1_0 = build("MNASNet1_0", partial(MNASNet, 1.0))
MNASNet1_3_Weights, mnasnet1_3 = build("MNASNet1_3", partial(MNASNet, 1.3))
