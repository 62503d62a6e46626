"""Post-local SGD's hook: gradients are averaged over all ranks at first, later among the ranks of a host."""
# ruff: noqa: N801, N802, N803, N816, N999 - as PyTorch spells them

from __future__ import annotations

from typing import Any

from ....futures import Future
from ...lifecycle import new_subgroups
from .bucket import GradBucket
from .debugging_hooks import noop_hook
from .default_hooks import allreduce_hook

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """What the hook goes by.

    Args:
        process_group: the ranks of the first steps; all if None.
        subgroup: those of later ones; the ranks of this host if None.
        start_localSGD_iter: how many steps are the first.
        post_local_gradient_allreduce: whether gradients are averaged at all from then on.

    Example:
        >>> from rushlight.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState
        >>> PostLocalSGDState(None, None, start_localSGD_iter=100).iter
        0
    """

    __slots__ = ["iter", "post_local_gradient_allreduce", "process_group", "start_localSGD_iter", "subgroup"]

    def __init__(
        self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter, self.iter = start_localSGD_iter, 0
        self.post_local_gradient_allreduce = post_local_gradient_allreduce


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future:
    """The average of gradients over the ranks that the step is for.

    Args:
        state: a `PostLocalSGDState`.
        bucket: of gradients.
    """
    if state.iter < state.start_localSGD_iter:
        state.iter += bucket.is_last()
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup = new_subgroups()[0]
    return allreduce_hook(state.subgroup, bucket)
