"""Adaptive softmax: frequent classes in the head, rare ones in cheaper clusters."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

if TYPE_CHECKING:
    from ...base.device import device
    from ...base.dtypes import dtype

    pass

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log softmax over very many classes, and its loss: rare classes get smaller layers.

    Classes are sorted by how often they occur, the most frequent first. A head decides between the
    frequent classes and the clusters of rare ones; each cluster has two small layers of its own.

    Args:
        in_features: width of the input.
        n_classes: number of classes.
        cutoffs: where clusters begin, such as [100, 1000].
        div_value: a cluster's width is the one before, divided by this.
        head_bias: True gives the head a bias.

    Shape:
        input (N, in_features), target (N,); or (in_features,), () -> a named tuple of `output`, the
        log probability of each target, and `loss`, minus their mean.

    Raises:
        ValueError: if `cutoffs` do not increase from 1 to less than `n_classes`.
        RuntimeError: if a target is out of range.

    Example:
        >>> net = nn.AdaptiveLogSoftmaxWithLoss(16, 100, cutoffs=[10, 50])
        >>> output, loss = net(torch.zeros(4, 16), torch.tensor([0, 5, 20, 99]))
        >>> output.shape
        torch.Size([4])
        >>> net.log_prob(torch.zeros(4, 16)).shape
        torch.Size([4, 100])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(Linear(in_features, width, bias=False, **where), Linear(width, size, bias=False, **where))
            )

    def reset_parameters(self) -> None:
        """Draw every weight anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster.children():
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if not _fits(input_, target_):
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension."
                if target_.dim() == 1
                else "0D or 1D target tensor expected, multi-target not supported"
            )
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        low, high = int(target.min()), int(target.max())
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{low}, {high}] were found. "
            )
        output = self.log_prob(input).gather(1, target.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probabilities of all classes, (N, n_classes)."""
        from ...operators.shape.join import cat

        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            cluster = F.log_softmax(tail(input), dim=1)
            at = self.shortlist_size + i
            parts.append(cluster + head[:, at : at + 1])
        return cat(parts, dim=1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of every sample, (N,)."""
        return self.log_prob(input).argmax(dim=1)


def _fits(input: Tensor, target: Tensor) -> bool:
    if target.dim() == 1:
        return input.size(0) == target.size(0) and input.dim() == 2
    return target.dim() == 0 and input.dim() == 1


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    if (
        cutoffs != sorted(cutoffs)
        or min(cutoffs) <= 0
        or max(cutoffs) > n_classes - 1
        or len(set(cutoffs)) != len(cutoffs)
        or any(int(c) != c for c in cutoffs)
    ):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )
