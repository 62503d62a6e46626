"""Uses of monai."""

import numpy as np
import torch
from library_use import trained
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import Compose, EnsureType, NormalizeIntensity, RandFlip, RandGaussianNoise

LIBRARY = "monai"


def _unet() -> UNet:
    return UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,), num_res_units=1)


def segmentation() -> object:
    net, loss = _unet(), DiceCELoss(to_onehot_y=True, softmax=True)
    x, y = torch.randn(2, 1, 16, 16), torch.randint(2, (2, 1, 16, 16))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    return trained(optimizer, 3, lambda: loss(net(x), y))


def windows_and_metrics() -> object:
    out = sliding_window_inference(torch.randn(1, 1, 20, 20), (16, 16), 2, _unet().eval())
    hard = torch.nn.functional.one_hot(out.argmax(1), 2).movedim(-1, 1)
    metric = DiceMetric()
    metric(hard, hard)
    return out.mean((2, 3)), metric.aggregate(), DiceLoss(sigmoid=True)(out, hard)


def transforms() -> object:
    chain = Compose(
        [NormalizeIntensity(), RandFlip(prob=1.0, spatial_axis=0), RandGaussianNoise(prob=1.0), EnsureType()]
    ).set_random_state(0)
    return chain(np.arange(16, dtype="f").reshape(1, 4, 4))
