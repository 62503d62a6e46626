"""LinearCrossEntropyLoss: a classifier's last Linear and its cross entropy as one layer."""

from __future__ import annotations

import dataclasses
import warnings
from math import prod
from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from .. import functional as F
from .linear import Linear
from .module import Module

if TYPE_CHECKING:
    from ...base.device import device
    from ...base.dtypes import dtype


@dataclasses.dataclass
class LinearCrossEntropyOptions:
    """How PyTorch cuts the batch into pieces; rushlight computes it whole, so nothing here has effect.

    Args:
        allow_retain_graph, batch_chunk_size, chunking_method, acc_policy, acc_dtype: PyTorch's
            settings.

    Example:
        >>> nn.LinearCrossEntropyOptions().chunking_method
        'auto'
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(Module):
    """A classifier's last Linear and its cross entropy as one layer.

    Args:
        in_features: width of the input.
        num_classes: number of classes.
        out_features: further dimensions of the scores, behind the classes.
        bias: True gives the Linear a bias.
        reduction, weight, ignore_index, label_smoothing: as in `CrossEntropyLoss`.
        options: how PyTorch cuts the batch into pieces; a warning says that it has no effect.

    Shape:
        input (N, in_features), target (N,) of class numbers -> one number, or (N,) if not reduced.

    Attributes:
        linear: the Linear.

    Example:
        >>> loss = nn.LinearCrossEntropyLoss(4, 3)
        >>> _ = nn.init.zeros_(loss.linear.weight)
        >>> loss(torch.zeros(2, 4), torch.tensor([0, 2])).item()
        1.0986123085021973
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__()
        if options is not None:
            warnings.warn(
                "LinearCrossEntropyLoss: rushlight computes the logits whole; options have no "
                "effect on the result and save no memory",
                stacklevel=2,
            )
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.register_buffer("weight", weight)
        self.linear = Linear(
            in_features, num_classes * prod(self.out_features), bias, device, dtype
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        logits = self.linear(input)
        if self.out_features:
            logits = logits.unflatten(-1, (self.num_classes, *self.out_features))
        return F.cross_entropy(
            logits,
            target,
            self.weight,
            ignore_index=-100 if self.ignore_index is None else self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
