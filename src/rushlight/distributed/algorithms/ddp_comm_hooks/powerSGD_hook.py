"""PowerSGD (Vogels, Karimireddy and Jaggi, 2019): gradients go as products of two thin matrices.

One step of the power method for the sum of all ranks' matrices: P = M Q is summed and made orthonormal, Q = M' P is
averaged, and P Q' is what every rank takes. What that leaves out is added to the next step's gradient.
"""
# ruff: noqa: N816, N999 - as PyTorch spells them

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....base.refusal import refuser
from ....core.modes import no_grad
from ....core.tensor import Tensor
from ....futures import Future
from ....operators.matrix.linalg_factor import qr
from ....operators.random.generator import fork_rng, manual_seed
from ....operators.shape.join import cat, stack
from ... import collectives
from ...groups import group_of
from .bucket import GradBucket
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What PowerSGD's hooks keep between steps.

    Args:
        process_group: the ranks that exchange; all if None.
        matrix_approximation_rank: columns of the thin matrices.
        start_powerSGD_iter: steps before this one send whole gradients.
        min_compression_rate: a matrix that is not made smaller by this factor is sent whole.
        use_error_feedback: add what a step left out to the next one.
        warm_start: begin with the thin matrices of the step before.
        orthogonalization_epsilon: added to the norms by which columns are divided.
        random_seed: of the first thin matrices, the same on every rank.
        compression_stats_logging_frequency: kept; `compression_stats()` tells how much was sent.
        batch_tensors_with_same_shape: multiply matrices of one shape together.

    Example:
        >>> torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2).iter
        0
    """

    def __init__(
        self, process_group: Any, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1_000,  # noqa: N803
        min_compression_rate: float = 2, use_error_feedback: bool = True, warm_start: bool = True,
        orthogonalization_epsilon: float = 0, random_seed: int = 0, compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:  # fmt: skip
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank, self.start_powerSGD_iter = matrix_approximation_rank, start_powerSGD_iter
        self.min_compression_rate, self.orthogonalization_epsilon = min_compression_rate, orthogonalization_epsilon
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Tensor] = {}
        self.p_memory_dict: dict[int, list[Tensor]] = {}
        self.q_memory_dict: dict[int, list[Tensor]] = {}
        self.iter = self.total_numel_before_compression = self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, process_group=None)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step when its last bucket has come."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """How many times fewer numbers were sent, and the numbers before and after."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0, before, after)


def _orthonormal(batch: Tensor, epsilon: float) -> None:
    """Make the columns of each matrix orthonormal, in place."""
    columns = batch.shape[2]
    if columns > 2 and batch.element_size() > 2:
        batch.copy_(qr(batch)[0])
        return
    for i in range(columns):
        column = batch[:, :, i : i + 1]
        column /= (column * column).sum(1, keepdim=True).sqrt() + epsilon
        rest = batch[:, :, i + 1 :]
        rest -= (column * rest).sum(1, keepdim=True) * column


def _thin_products(state: PowerSGDState, index: int, batches: list[Tensor]) -> Iterator[Tensor]:
    """Of each batch of matrices that ranks have: their average, nearly."""
    group = group_of(state.process_group)
    ranks = [min(*batch.shape[1:], state.matrix_approximation_rank) for batch in batches]
    if state.warm_start and index in state.q_memory_dict:
        qs = state.q_memory_dict[index]
    else:
        with fork_rng(devices=[]):
            manual_seed(int(state.rng.randint(1_000_000_000)))
            qs = [
                b.new_empty((len(b), b.shape[2], r), device="cpu").normal_().to(b.device)
                for b, r in zip(batches, ranks)
            ]
    for q in qs:
        _orthonormal(q, state.orthogonalization_epsilon)
    ps = _sums([batch @ q for batch, q in zip(batches, qs)], group)
    for p in ps:
        _orthonormal(p, state.orthogonalization_epsilon)
    qs = [q / group.size() for q in _sums([b.transpose(1, 2) @ p for b, p in zip(batches, ps)], group)]
    state.total_numel_after_compression += sum(thin.numel() for thin in ps + qs)
    if state.warm_start:
        state.p_memory_dict[index], state.q_memory_dict[index] = ps, qs
    return (p @ q.transpose(1, 2) for p, q in zip(ps, qs))


def _sums(tensors: list[Tensor], group: Any) -> list[Tensor]:
    """The sums over all ranks, by one message."""
    if not tensors:
        return []
    flat = cat([t.reshape(-1) for t in tensors])
    collectives.all_reduce(flat, group=group)
    return [part.view(t.shape) for t, part in zip(tensors, flat.split([t.numel() for t in tensors]))]


@no_grad()
def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:  # noqa: N802
    """Send each matrix of a bucket as two thin ones, and the rest whole.

    Args:
        state: a `PowerSGDState`.
        bucket: the gradients.
    """
    flat, index = bucket.buffer(), bucket.index()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    if index in state.error_dict:
        flat.add_(state.error_dict[index])
    whole = flat.clone() if state.use_error_feedback else None
    shapes: dict[Any, list[Tensor]] = defaultdict(list)
    others: list[Tensor] = []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1)
        rows, columns = matrix.shape
        rank = min(rows, columns, state.matrix_approximation_rank)
        if (rows + columns) * rank * state.min_compression_rate < rows * columns:
            shapes[matrix.shape].append(matrix)
        else:
            others.append(gradient)
    state.total_numel_before_compression += flat.numel()
    state.total_numel_after_compression += sum(gradient.numel() for gradient in others)
    group = group_of(state.process_group)
    for gradient, total in zip(others, _sums(others, group)):
        gradient.copy_(total / group.size())
    together = (
        [[m] for ms in shapes.values() for m in ms] if not state.batch_tensors_with_same_shape else [*shapes.values()]
    )
    for matrices, product in zip(together, _thin_products(state, index, [stack(ms) for ms in together])):
        for matrix, made in zip(matrices, product):
            matrix.copy_(made)
    if whole is not None:
        state.error_dict[index] = whole - flat
    state.maybe_increase_iter(bucket)
    done: Future = Future()
    done.set_result(flat)
    return done


batched_powerSGD_hook = refuser(
    "distributed.algorithms.ddp_comm_hooks.powerSGD_hook", "has no batched PowerSGD (PyTorch 2.13's ends in an AssertionError)",
    "Use powerSGD_hook.",
)("batched_powerSGD_hook")  # fmt: skip
