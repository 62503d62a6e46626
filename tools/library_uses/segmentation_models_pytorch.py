"""Uses of segmentation_models_pytorch."""

import segmentation_models_pytorch as smp
import torch

LIBRARY = "segmentation-models-pytorch"


def a_unet() -> object:
    net = smp.Unet("resnet18", encoder_weights=None, classes=2).eval()
    out = net(torch.randn(1, 3, 64, 64))
    out.pow(2).mean().backward()
    return out.mean((2, 3)), sum(p.grad.norm() for p in net.parameters() if p.grad is not None)


def a_feature_pyramid() -> object:
    net = smp.FPN("mobilenet_v2", encoder_weights=None, classes=1).eval()
    return net(torch.randn(1, 3, 64, 64)).mean()


def losses_and_scores() -> object:
    x, y = torch.randn(2, 1, 8, 8), torch.randint(2, (2, 1, 8, 8))
    found = smp.metrics.get_stats(x.sigmoid(), y, mode="binary", threshold=0.5)
    losses = [smp.losses.DiceLoss("binary"), smp.losses.FocalLoss("binary")]
    return [f(x, y) for f in losses], smp.metrics.iou_score(*found, reduction="micro")
