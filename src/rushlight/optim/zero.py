"""ZeroRedundancyOptimizer: every rank keeps the optimiser's state of its share of the parameters only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..distributed.algorithms.join import Join, Joinable, JoinHook
from ..distributed.collectives import broadcast
from ..distributed.groups import group_of
from ..distributed.objects import gather_object
from ..operators.create.filled import empty
from ..operators.shape.join import cat
from .optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Wraps an optimiser: a step updates this rank's parameters, then all ranks tell each other theirs."""

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer(overlap_with_ddp=True): step after backward")
        self.process_group = group_of(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._class, self._options = optimizer_class, defaults
        self._ready = False
        self._saved: list[Any] | None = None
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self._ready = True
        self._share()

    def _share(self) -> None:
        """Give each rank parameters, the largest first, always to the one that has least."""
        self.owner: dict[int, int] = {}
        loads = [0] * self.world_size
        everyone = [p for g in self.param_groups for p in g["params"]]
        for p in sorted(everyone, key=lambda p: -p.numel()):
            rank = loads.index(min(loads))
            self.owner[id(p)] = rank
            loads[rank] += p.numel()
        groups = []
        for g in self.param_groups:
            mine = [p for p in g["params"] if self.owner[id(p)] == self.rank]
            groups.append({**{k: v for k, v in g.items() if k != "params"}, "params": mine})
        self.optim = self._class([g for g in groups if g["params"]] or _nothing(groups), **self._options)
        self.state = self.optim.state
        self._mine = [i for i, g in enumerate(groups) if g["params"]] or [0]
        for i, inner in zip(self._mine, self.optim.param_groups):
            for key, value in inner.items():
                self.param_groups[i].setdefault(key, value)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if self._ready:
            kept = dict(self.optim.state)
            self._share()
            self.optim.state.update({p: s for p, s in kept.items() if self.owner[id(p)] == self.rank})

    def _pass_options(self) -> None:
        """What schedulers changed belongs to the inner optimiser too."""
        for i, inner in zip(self._mine, self.optim.param_groups):
            for key, value in self.param_groups[i].items():
                if key != "params":
                    inner[key] = value

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's parameters, then send them to all."""
        Join.notify_join_context(self)
        self._pass_options()
        loss = self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        self._tell_all()
        return loss

    def _tell_all(self) -> None:
        everyone = [p for g in self.param_groups for p in g["params"]]
        with no_grad():
            for rank in range(self.world_size):
                kinds: dict[Any, list[Tensor]] = {}
                for p in everyone:
                    if self.owner[id(p)] == rank:
                        kinds.setdefault((str(p.dtype), str(p.device)), []).append(p)
                for params in kinds.values():
                    flat = cat([p.detach().reshape(-1) for p in params])
                    broadcast(flat, group=self.process_group, group_src=rank)
                    if rank != self.rank:
                        for p, part in zip(params, flat.split([p.numel() for p in params])):
                            p.copy_(part.view(p.shape))

    # -- uneven inputs ----------------------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without batches does for this optimiser: its part of each step."""
        return _StepHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The processes that share the state."""
        return self.process_group

    # -- files ------------------------------------------------------------------------------------

    def _numbers(self) -> dict[int, int]:
        everyone = [p for g in self.param_groups for p in g["params"]]
        return {id(p): i for i, p in enumerate(everyone)}

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring all states to rank `to`, before `state_dict()` there; every rank calls it."""
        numbers = self._numbers()
        mine = {numbers[id(p)]: state for p, state in self.optim.state.items()}
        found: list[Any] | None = [None] * self.world_size if self.process_group.world.rank == to else None
        gather_object(mine, found, dst=to, group=self.process_group)
        self._saved = found

    def state_dict(self) -> dict[str, Any]:
        """All states in the form of the wrapped optimiser, where `consolidate_state_dict` brought them."""
        if self._saved is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the "
                "global state."
            )
        numbers = self._numbers()
        groups = []
        for g in self.param_groups:
            packed = {k: v for k, v in g.items() if k != "params"}
            groups.append({**packed, "params": [numbers[id(p)] for p in g["params"]]})
        state: dict[int, Any] = {}
        for part in self._saved:
            state.update(part)
        return {"state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over this rank's share of a whole state dict."""
        numbers = self._numbers()
        wanted = {numbers[id(p)] for g in self.optim.param_groups for p in g["params"]}
        order: dict[int, int] = {}
        for g in self.optim.param_groups:
            for p in g["params"]:
                order[numbers[id(p)]] = len(order)
        groups = []
        for i, inner in zip(self._mine, self.optim.param_groups):
            saved = state_dict["param_groups"][i]
            places = [order[numbers[id(p)]] for p in inner["params"]]
            groups.append({**{k: v for k, v in saved.items() if k != "params"}, "params": places})
            for key, value in saved.items():
                if key != "params":
                    self.param_groups[i][key] = value
        state = {order[n]: s for n, s in state_dict["state"].items() if n in wanted}
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        self.state = self.optim.state


class _StepHook(JoinHook):
    """Steps for a rank that has no more batches: its parameters are nobody else's."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        self.optimizer.step()


def _nothing(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A rank without parameters, where there are fewer than ranks: an empty one that never changes."""
    return [{**groups[0], "params": [empty(0)]}]
