"""`loss_parallel`: cross entropy of scores whose classes are cut over ranks, without gathering them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ....runtime.thread import here

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """A block in which `cross_entropy` takes scores that are cut along the classes.

    The scores are a DTensor whose classes one dim of the mesh cuts; the other dims may cut the batch. Targets are class
    numbers, whole on the ranks that share the classes, and a weight is whole everywhere. The loss is a DTensor:
    whole along the dim that cuts the classes; `reduction="sum"` leaves summands where the batch is cut, and
    `reduction="mean"` needs a mesh of one dim. Label smoothing and probabilities as targets are not supported.

    Raises:
        ValueError: inside of it, if the classes of the scores are not cut by exactly one dim of the mesh.

    Example:
        >>> from rushlight.distributed.tensor import Shard, distribute_tensor
        >>> from rushlight.distributed.tensor.parallel import loss_parallel
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> scores = distribute_tensor(torch.zeros(2, 4), mesh, [Shard(1)]).requires_grad_()
        >>> with loss_parallel():
        ...     loss = F.cross_entropy(scores, torch.tensor([0, 3]))
        ...     loss.backward()
        >>> loss.placements, round(loss.item(), 4)
        ((Replicate(),), 1.3863)
    """
    before, here.losses_cut = here.losses_cut, True
    try:
        yield
    finally:
        here.losses_cut = before
