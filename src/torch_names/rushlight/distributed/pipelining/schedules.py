"""Schedules: in which order a rank runs microbatches forward and back through its stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from ...core.modes import no_grad
from ...runtime.thread import here
from .chunks import merged, pieces

__all__ = [
    "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "get_schedule_class",
]  # fmt: skip

# What ("forward", "backward", or its halves "inputs" and "weights"), stage, microbatch.
Order = list[tuple[str, int, int]]


class _Schedule:
    """Runs what `order` says: a step of a batch that is cut into microbatches."""

    def __init__(
        self,
        stages: list[Any],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        self._stages = {stage.stage_index: stage for stage in stages}
        self._n_microbatches, self._loss_fn = n_microbatches, loss_fn
        self._specs = args_chunk_spec, kwargs_chunk_spec, output_merge_spec
        self.scale_grads = scale_grads
        self._rank, self._ranks = stages[0].group_rank, stages[0].group_size
        self._order = self.order()

    def order(self) -> Order:
        """What this rank does."""
        raise NotImplementedError

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run a batch through the pipeline and back: the outputs on the rank of the last stage, None elsewhere.

        Args:
            *args, **kwargs: the batch, on the rank of the first stage; arguments with names go to the rank's own stages.
            target: what `loss_fn` compares with, on the rank of the last stage.
            losses: a list that gets the loss of each microbatch there.
            return_outputs: whether the outputs are kept and put together.
            loss_kwargs: more arguments of `loss_fn`.
        """
        if self._loss_fn is not None and not here.grad:
            raise RuntimeError("step() requires gradients to be enabled for backward computation; use eval() instead")
        return self._run(args, kwargs, target, losses, return_outputs, loss_kwargs or {}, self._loss_fn is not None)

    def eval(self, *args: Any, target: Any = None, losses: list | None = None, **kwargs: Any) -> Any:
        """The same without backward."""
        with no_grad():
            return self._run(args, kwargs, target, losses, True, {}, False)

    def _run(
        self, args: Any, kwargs: Any, target: Any, losses: list | None, keeps: bool, more: dict, back: bool
    ) -> Any:
        count = self._n_microbatches
        inputs = pieces(args, count, self._specs[0] if args else None)
        named = pieces(kwargs, count, self._specs[1] if kwargs else None)
        targets = pieces(target, count)
        outputs: dict[int, Any] = {}
        told: dict[int, Any] = {}
        left = Counter(stage for kind, stage, _ in self._order if kind in ("backward", "inputs"))
        for stage in self._stages.values():
            stage.has_backward = back
        for kind, index, microbatch in self._order:
            stage = self._stages[index]
            if kind == "forward":
                output = stage.forward_one(microbatch, inputs[microbatch], named[microbatch], self._stages)
                if stage.is_last:
                    outputs[microbatch] = output.detach() if keeps and hasattr(output, "detach") else output
                    if self._loss_fn is not None and (back or target is not None):
                        told[microbatch] = self._loss_fn(output, targets[microbatch], **more)
            elif back and kind == "weights":
                stage.weights_one(microbatch)
            elif back:
                left[index] -= 1
                stage.backward_one(microbatch, told.get(microbatch), left[index] == 0, self._stages, kind == "inputs")
        for stage in self._stages.values():
            stage.finish()
            if back:
                stage.ended(count if self.scale_grads else 1)
        if told and losses is not None:
            losses[:] = [told[m] for m in range(count)]
        if not keeps or not outputs:
            return None
        return merged([outputs[m] for m in range(count)], self._specs[2])


class _Single(_Schedule):
    """A schedule of one stage a rank."""

    def __init__(
        self,
        stage: Any,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        if n_microbatches < stage.num_stages and isinstance(self, Schedule1F1B):
            raise ValueError(f"Number of microbatches ({n_microbatches}) must be greater than or equal to the number of stages ({stage.num_stages}).")  # fmt: skip
        self._stage = stage
        super().__init__([stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads)  # fmt: skip


class _Several(_Schedule):
    """A schedule of several stages a rank: rank r has the stages r, r + ranks, ..."""

    def __init__(
        self,
        stages: list[Any],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads)  # fmt: skip


class _ScheduleForwardOnly(_Single):
    """All microbatches forward."""

    def order(self) -> Order:
        index = self._stage.stage_index
        return [("forward", index, m) for m in range(self._n_microbatches)]


class ScheduleGPipe(_ScheduleForwardOnly):
    """All microbatches forward, then all of them back; every microbatch's activations are kept meanwhile.

    Args:
        stage: this rank's stage.
        n_microbatches: into how many pieces a batch is cut.
        loss_fn: called with an output and a target; without it there is no backward.
        args_chunk_spec, kwargs_chunk_spec, output_merge_spec: along which dimensions, where that is not 0.
        scale_grads: divide gradients by the number of microbatches, as losses are means.

    Example:
        >>> torch.distributed.pipelining.ScheduleGPipe.__name__
        'ScheduleGPipe'
    """

    def order(self) -> Order:
        there = super().order()
        return there + [("backward", stage, m) for _, stage, m in there]


class Schedule1F1B(_Single):
    """One microbatch forward, one back: a rank keeps no more of them than there are stages from it to the last.

    Args:
        stage, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as for `ScheduleGPipe`.

    Example:
        >>> torch.distributed.pipelining.Schedule1F1B.__name__
        'Schedule1F1B'
    """

    def order(self) -> Order:
        index, count = self._stage.stage_index, self._n_microbatches
        ahead = min(count, self._stage.num_stages - index)
        made: Order = [("forward", index, m) for m in range(ahead)]
        for m in range(count):
            made.append(("backward", index, m))
            if m + ahead < count:
                made.append(("forward", index, m + ahead))
        return made


class ScheduleLoopedBFS(_Several):
    """Several stages a rank: all microbatches through the first, then through the next, and back.

    Args:
        stages: this rank's stages.
        n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as for `ScheduleGPipe`.
        backward_requires_autograd, defer_pp_recv: accepted.

    Example:
        >>> torch.distributed.pipelining.ScheduleLoopedBFS.__name__
        'ScheduleLoopedBFS'
    """

    def order(self) -> Order:
        count = self._n_microbatches
        own = sorted(self._stages)
        return [("forward", s, m) for s in own for m in range(count)] + [
            ("backward", s, m) for s in reversed(own) for m in reversed(range(count))
        ]


def _rounds(count: int, ranks: int, name: str) -> int:
    """How many microbatches a round has."""
    rounds = max(1, count // ranks)
    each, rest = divmod(count, rounds)
    if rest:
        raise ValueError(f"{name} requires the number of microbatches to be a multiple of the number of rounds ({rounds}), but got {count}.")  # fmt: skip
    return each


class ScheduleInterleaved1F1B(_Several):
    """Several stages a rank, one microbatch forward and one back in turn.

    Args:
        stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as for `ScheduleLoopedBFS`.
        backward_requires_autograd, defer_pp_recv: accepted.

    Raises:
        ValueError: if the microbatches are no multiple of the rounds.

    Example:
        >>> torch.distributed.pipelining.ScheduleInterleaved1F1B.__name__
        'ScheduleInterleaved1F1B'
    """

    def order(self) -> Order:
        count, rank, ranks, local = self._n_microbatches, self._rank, self._ranks, len(self._stages)
        each = _rounds(count, ranks, "Interleaved 1F1B")
        seen: Counter[tuple[str, int]] = Counter()

        def one(kind: str, turn: int) -> tuple[str, int, int]:
            place = turn // each % local
            stage = (place if kind == "forward" else local - 1 - place) * ranks + rank
            seen[kind, stage] += 1
            return kind, stage, seen[kind, stage] - 1

        whole = local * count
        ahead = min(whole, (local - 1) * each + 2 * (ranks - 1 - rank))
        made = [one("forward", turn) for turn in range(ahead)]
        for turn in range(whole):
            if turn + ahead < whole:
                made.append(one("forward", turn + ahead))
            made.append(one("backward", turn))
        return made


class _ZeroBubble(_Several):
    """Gradients of inputs first, which another rank waits for; those of weights where a rank would stand still."""

    _turns_back = False  # stage s of n lies on the rank of stage n - 1 - s: the last one comes back to the first rank

    def __init__(
        self, stages: list[Any], n_microbatches: int, loss_fn: Callable[..., Any] | None = None, args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, scale_grads: bool = True,
        backward_requires_autograd: bool = True, defer_pp_recv: bool = False,
    ) -> None:  # fmt: skip
        if self._turns_back and len(stages) != 2:
            name = type(self).__name__.removeprefix("Schedule")
            raise ValueError(f"{name} requires exactly 2 stages per rank, but got {len(stages)}.")
        for stage in stages:
            stage.rank_of = self.rank_of
        super().__init__(stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads)  # fmt: skip

    def rank_of(self, stage: int) -> int:
        ranks = self._ranks
        return 2 * ranks - 1 - stage if self._turns_back and stage >= ranks else stage % ranks

    def order(self) -> Order:
        """What this rank does where every rank does at each tick the most urgent of what it can."""
        stages, count = self._ranks * len(self._stages), self._n_microbatches
        own = [[s for s in reversed(range(stages)) if self.rank_of(s) == r] for r in range(self._ranks)]
        done = {kind: [0] * stages for kind in ("forward", "inputs", "weights")}
        made: list[Order] = [[] for _ in own]
        while any(n < count for n in done["weights"]):
            begun = [self._next(mine, {k: list(v) for k, v in done.items()}, stages) for mine in own]
            for rank, action in enumerate(begun):
                if action is not None:
                    kind, stage = action
                    made[rank].append((kind, stage, done[kind][stage]))
                    done[kind][stage] += 1
        return made[self._rank]

    def _next(self, own: list[int], done: dict[str, list[int]], stages: int) -> tuple[str, int] | None:
        forward, inputs, weights = done["forward"], done["inputs"], done["weights"]
        for s in own:
            if inputs[s] < (forward[s] if s == stages - 1 else inputs[s + 1]):
                return "inputs", s
        for s in own:
            before = self._n_microbatches if s == 0 else forward[s - 1]
            if forward[s] < before and forward[s] - weights[s] < stages - s:
                return "forward", s
        return next((("weights", s) for s in own if weights[s] < inputs[s]), None)


class ScheduleInterleavedZeroBubble(_ZeroBubble):
    """Several stages a rank; gradients of weights are computed where a rank would wait for another.

    Args:
        stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as for `ScheduleLoopedBFS`.
        backward_requires_autograd, defer_pp_recv: accepted.

    Raises:
        ValueError: if the microbatches are no multiple of the rounds.

    Example:
        >>> torch.distributed.pipelining.ScheduleInterleavedZeroBubble.__name__
        'ScheduleInterleavedZeroBubble'
    """

    def order(self) -> Order:
        _rounds(self._n_microbatches, self._ranks, "Zero bubble")
        return super().order()


class ScheduleZBVZeroBubble(_ZeroBubble):
    """The same over two stages a rank, which come back: rank 0 has the first and the last.

    Args:
        stages: this rank's stages, r and 2 n - 1 - r on rank r of n.
        n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as for `ScheduleLoopedBFS`.
        backward_requires_autograd, defer_pp_recv: accepted.

    Raises:
        ValueError: if a rank has not two stages.

    Example:
        >>> torch.distributed.pipelining.ScheduleZBVZeroBubble.__name__
        'ScheduleZBVZeroBubble'
    """

    _turns_back = True


class ScheduleDualPipeV(ScheduleZBVZeroBubble):
    """As `ScheduleZBVZeroBubble`, for at least as many microbatches as stages; forward and backward do not overlap here.

    Args:
        stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as for `ScheduleZBVZeroBubble`.
        backward_requires_autograd, defer_pp_recv: accepted.

    Raises:
        ValueError: if a rank has not two stages, or there are fewer microbatches than stages.

    Example:
        >>> torch.distributed.pipelining.ScheduleDualPipeV.__name__
        'ScheduleDualPipeV'
    """

    def order(self) -> Order:
        count, stages = self._n_microbatches, 2 * self._ranks
        if count < stages:
            raise ValueError(f"DualPipeV requires at least as many microbatches as stages, but got {count} microbatches and {stages} stages.")  # fmt: skip
        return super().order()


def get_schedule_class(schedule_name: str) -> type[_Schedule]:
    """The schedule of a name, as "1F1B" or "GPipe", in any case of letters.

    Args:
        schedule_name: the class's name without `Schedule`.

    Raises:
        ValueError: if there is none.

    Example:
        >>> from torch.distributed.pipelining.schedules import get_schedule_class
        >>> get_schedule_class("gpipe").__name__
        'ScheduleGPipe'
    """
    kinds = (Schedule1F1B, ScheduleDualPipeV, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble, ScheduleLoopedBFS,
             ScheduleZBVZeroBubble)  # fmt: skip
    found = {k.__name__.removeprefix("Schedule").lower(): k for k in kinds}.get(schedule_name.lower())
    if found is None:
        names = [kind.__name__.removeprefix("Schedule") for kind in kinds]
        raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {names}")
    return found
