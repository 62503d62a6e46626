"""What GoogLeNet and Inception share: their convolution, their first weights, and classifiers halfway."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ... import nn
from ...core.tensor import Tensor
from ...operators.shape.join import cat
from ._utils import _ovewrite_named_param


class BasicConv2d(nn.Module):
    """A convolution without bias, a norm and relu."""

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.relu(self.bn(self.conv(x)), inplace=True)


def as_trained(x: Tensor) -> Tensor:
    """Pictures normalised as ImageNet's usually are, as these weights expect them."""
    rows = ((0.229, 0.485), (0.224, 0.456), (0.225, 0.406))
    parts = [x[:, i].unsqueeze(1) * (std / 0.5) + (mean - 0.5) / 0.5 for i, (std, mean) in enumerate(rows)]
    return cat(parts, 1)


def initialise(model: nn.Module, asked: bool | None, std: Callable[[nn.Module], float], name: str) -> None:
    """Truncated normal weights, unless they are refused; said once that this may change."""
    if asked is None:
        warnings.warn(
            f"The default weight initialization of {name} will be changed in future releases of torchvision. If you "
            "wish to keep the old behavior (which leads to long initialization times due to scipy/scipy#11299), "
            "please set init_weights=True.",
            FutureWarning,
            stacklevel=4,
        )
    if asked is False:
        return
    for m in model.modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            nn.init.trunc_normal_(m.weight, mean=0.0, std=std(m), a=-2, b=2)
        elif isinstance(m, nn.BatchNorm2d):
            nn.init.constant_(m.weight, 1)
            nn.init.constant_(m.bias, 0)


def drop_aux(kwargs: dict[str, Any], names: tuple[str, ...]) -> Callable[[nn.Module], None] | None:
    """Files of weights hold the auxiliary classifiers, too: they are built, and removed where they are not wanted."""
    wanted = kwargs.get("aux_logits", len(names) == 1)
    if "transform_input" not in kwargs:
        _ovewrite_named_param(kwargs, "transform_input", True)
    kwargs["aux_logits"] = True
    kwargs["init_weights"] = False
    if wanted:
        return None

    def without(model: nn.Module) -> None:
        model.aux_logits = False
        for name in names:
            setattr(model, name, None)

    return without
