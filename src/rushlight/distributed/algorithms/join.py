"""`Join`: ranks with different numbers of batches; those that are through answer for the others' collectives."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...operators.create.filled import ones, zeros
from .. import collectives
from ..groups import ProcessGroup

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank without batches does: `main_hook` for each batch of the others, `post_hook` at the end."""

    def main_hook(self) -> None:
        """Take part in the collectives of one batch."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once all ranks are through."""


class _Config:
    """What `Join` tells a joinable."""

    def __init__(self, enable: bool, throw: bool, first: bool) -> None:
        self.enable, self.throw_on_early_termination, self.is_first_joinable = enable, throw, first


class Joinable:
    """A class whose collectives can be answered by ranks that are through."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config = _Config(False, False, False)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        raise NotImplementedError

    @property
    def join_device(self) -> Any:
        raise NotImplementedError

    @property
    def join_process_group(self) -> Any:
        raise NotImplementedError


class Join:
    """Inside, ranks may have different numbers of batches."""

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._enable, self._throw = enable, throw_on_early_termination
        self._hooks = [j.join_hook(**kwargs) for j in joinables]
        self._group: ProcessGroup = joinables[0].join_process_group
        self._device = joinables[0].join_device
        for j in joinables:
            if j.join_process_group is not self._group:
                raise ValueError("Using join context manager with multiple process groups")
        for i, j in enumerate(joinables):
            j._join_config = _Config(enable, throw_on_early_termination, i == 0)

    def __enter__(self) -> Join:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        for j in self._joinables:
            j._join_config = _Config(False, False, False)
        if not self._enable or kind is not None:
            return
        through, last = False, True
        while not through:
            count = self._active()
            if count == 0:
                through = True
                continue
            if self._throw:
                self._tell(True)
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            last = False
        for hook in self._hooks:
            hook.post_hook(last)

    def _active(self) -> int:
        """How many ranks still have batches; this one does not."""
        number = zeros(1, device=self._device)
        collectives.all_reduce(number, group=self._group)
        return int(number.item())

    def _tell(self, ended: bool) -> None:
        collectives.all_reduce(ones(1, device=self._device), group=self._group)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Called by a joinable before each batch: this rank still has one."""
        config = getattr(joinable, "_join_config", None)
        if config is None or not config.is_first_joinable or not config.enable:
            return None
        number: Tensor = ones(1, device=joinable.join_device)
        work = collectives.all_reduce(number, group=joinable.join_process_group, async_op=True)
        if config.throw_on_early_termination:
            flag = zeros(1, device=joinable.join_device)
            if int(_waited(work, number).item()) < joinable.join_process_group.size():
                collectives.all_reduce(flag, group=joinable.join_process_group)
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


def _waited(work: Any, number: Tensor) -> Tensor:
    work.wait()
    return number
