"""Which places of a picture an answer comes from: Grad-CAM (Selvaraju et al. 2017) on the last convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...core.tensor import Tensor
    from ...nn.modules.module import Module

_WARM = np.array([255.0, 110.0, 0.0])  # the colour of the places that count


def places(task: Any, net: Module, x: Tensor) -> np.ndarray | None:
    """How much each place of a network's input (CxHxW) counts, 0 to 1; None without a convolution that has places."""
    import rushlight as rl
    import rushlight.nn.functional as F

    maps: list[Any] = []

    def keep(layer: Module, inputs: Any, out: Any) -> None:
        if out.shape[-1] > 1 and out.shape[-2] > 1:
            maps[:] = [out]

    hooks = [m.register_forward_hook(keep) for m in net.modules() if isinstance(m, rl.nn.Conv2d)]
    try:
        with rl.enable_grad():
            out = net(x[None].detach().requires_grad_())
            if not maps:
                return None
            (gradient,) = rl.autograd.grad(task.strongest(out).sum(), maps)
    finally:
        for hook in hooks:
            hook.remove()
    weight = gradient.mean((2, 3), keepdim=True)
    heat = (weight * maps[0].detach()).sum(1, keepdim=True).clamp(0)
    heat = F.interpolate(heat, size=x.shape[-2:], mode="bilinear", align_corners=False)[0, 0].numpy()
    return heat / heat.max() if heat.max() > 0 else heat


def marked(pixels: np.ndarray, heat: np.ndarray) -> np.ndarray:
    """A picture, greyed, with the places that count in a warm colour."""
    grey = pixels if pixels.ndim == 2 else pixels.mean(2)
    share = 0.75 * heat[:, :, None]
    mixed = (0.35 + 0.65 * grey[:, :, None]) * (1 - share) + _WARM * share
    return np.clip(np.rint(mixed), 0, 255).astype(np.uint8)
