"""State dicts of FullyShardedDataParallel: whole, this rank's parts, or spread; of the model and its optimiser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core.tensor import Tensor
from ...distributed import state_dicts as of_ranks
from ...distributed.groups import group_of
from ...distributed.objects import broadcast_object_list
from ...distributed.tensor.dtensor import DTensor, distribute_tensor, local_of, spread
from .fsdp_options import (
    CONFIGS,
    FullOptimStateDictConfig,
    OptimStateDictConfig,
    OptimStateKeyType,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)

__all__ = ["WRAPPED", "FsdpStates", "cleaned"]

WRAPPED = "_fsdp_wrapped_module"
cleaned = of_ranks.cleaned


class FsdpStates:
    """The part of FullyShardedDataParallel that makes and reads state dicts."""

    _settings: StateDictSettings
    _shards: Any
    _fsdp_wrapped_module: Any

    # -- which kind -------------------------------------------------------------------------------

    @classmethod
    def set_state_dict_type(
        cls,
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Choose the kind of state dicts of all wrapped modules inside a module; returns what was chosen before.

        Args:
            state_dict_type: whole, local or sharded.
            state_dict_config, optim_state_dict_config: how they are made.
        """
        kinds = CONFIGS[state_dict_type]
        config, optim = state_dict_config or kinds[0](), optim_state_dict_config or kinds[1]()
        for given, expected in ((config, kinds[0]), (optim, kinds[1])):
            if not isinstance(given, expected):
                raise RuntimeError(f"Expected state_dict_config of type {expected} but got {type(given)}")
        before = cls.get_state_dict_type(module)
        for m in _wrapped(module):
            m._settings = StateDictSettings(state_dict_type, config, optim)
        return before

    @staticmethod
    def get_state_dict_type(module: Any) -> StateDictSettings:
        """The kind of state dicts of the wrapped modules inside a module."""
        found = _wrapped(module)
        if not found:
            raise RuntimeError("There is no FullyShardedDataParallel module inside")
        return found[0]._settings

    @classmethod
    @contextmanager
    def state_dict_type(
        cls,
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Inside the block state dicts are of this kind.

        Args:
            module: a module.
            state_dict_type: whole, local or sharded.
            state_dict_config, optim_state_dict_config: how they are made.
        """
        before = cls.set_state_dict_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            cls.set_state_dict_type(module, before.state_dict_type, before.state_dict_config, before.optim_state_dict_config)  # fmt: skip

    # -- the model --------------------------------------------------------------------------------

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The state of the module inside, under its own names; all processes call it.

        Args:
            args, destination, prefix, keep_vars: as in `Module.state_dict`.
        """
        inner = self._fsdp_wrapped_module
        found = inner.state_dict(*args, destination=destination, prefix=prefix, keep_vars=keep_vars)
        chosen = self._settings
        scalars = self._scalars()
        for key, value in list(found.items()):
            if key.startswith(prefix) and isinstance(value, Tensor):
                found[key] = _shown(value, chosen, key[len(prefix) :] in scalars)
        only_first = getattr(chosen.state_dict_config, "rank0_only", False)
        if only_first and group_of(self._shards.layout.group).world.rank != 0:
            for key in [k for k in found if k.startswith(prefix)]:
                del found[key]
        return found

    def _scalars(self) -> set[str]:
        """Names of parameters without dims: they are cut as if they had one."""
        alone = {id(p.sharded) for p in self._shards.places if p.scalar}
        if not alone:
            return set()
        named = self._fsdp_wrapped_module.named_parameters()
        return {cleaned(n) for n, p in named if id(p) in alone}

    def _before_load(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Give the keys of a state dict the names that the modules have here, and cut what is whole."""
        shards = self._shards
        shards.follow()
        shards.forget_ahead()
        if shards.gathered:
            shards.reshard()
        inside = f"{prefix}{WRAPPED}."
        for key in [k for k in state if k.startswith(prefix) and not k.startswith(inside)]:
            state[inside + key[len(prefix) :]] = state.pop(key)
        paths = {id(m): path for path, m in self._fsdp_wrapped_module.named_modules()}
        for place in shards.places:
            for module, name in place.owners:
                path = paths[id(module)]
                key = f"{inside}{path}.{name}" if path else inside + name
                if key in state and isinstance(state[key], Tensor):
                    state[key] = self._cut(state[key], place.sharded)

    def _cut(self, value: Any, like: Any) -> Any:
        if isinstance(value, DTensor):
            return value
        if self._settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
            if tuple(value.shape) == tuple(like._a.shape):
                return spread(DTensor, value, like.device_mesh, like.placements, like.full_shape)
            return value
        if not value.dim():
            value = value.reshape(1)
        if tuple(value.shape) != tuple(like.full_shape):
            return value  # load_state_dict tells what does not fit
        return distribute_tensor(value, like.device_mesh, like.placements, src_data_rank=None)

    # -- its optimiser ----------------------------------------------------------------------------

    @staticmethod
    def optim_state_dict(model: Any, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict[str, Any]:
        """The state of an optimiser by the names of the parameters, of the kind that is set; all processes call it.

        Args:
            model: the model.
            optim: its optimiser.
            optim_state_dict: accepted; the optimiser's own is used.
            group: accepted and not needed.
        """
        chosen = FsdpStates.get_state_dict_type(model)
        config: Any = chosen.optim_state_dict_config
        found = of_ranks.get_optimizer_state_dict(model, optim)
        for held in found["state"].values():
            for key, value in held.items():
                if isinstance(value, Tensor):
                    held[key] = _shown(value, chosen, False, config.offload_to_cpu)
        if getattr(config, "rank0_only", False) and group_of().rank() != 0:
            return {}
        return found

    @staticmethod
    def optim_state_dict_to_load(
        model: Any,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """What `optim.load_state_dict` takes, from what `optim_state_dict` gave.

        Args:
            model: the model.
            optim: its optimiser.
            optim_state_dict: states by the names of the parameters.
            is_named_optimizer, group: accepted and not needed.
            load_directly: load it, too.
        """
        made = of_ranks.to_load(of_ranks.names_of(model), optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @classmethod
    def full_optim_state_dict(
        cls, model: Any, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """The whole state of an optimiser, on the first process or on all.

        Args:
            model: the model.
            optim: its optimiser.
            optim_input, group: accepted and not needed.
            rank0_only: other processes get an empty one.
        """
        config = FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=rank0_only)
        with cls.state_dict_type(model, StateDictType.FULL_STATE_DICT, None, config):
            return cls.optim_state_dict(model, optim)

    @classmethod
    def sharded_optim_state_dict(cls, model: Any, optim: Any, group: Any = None) -> dict[str, Any]:
        """The state of an optimiser as spread tensors.

        Args:
            model: the model.
            optim: its optimiser.
            group: accepted and not needed.
        """
        with cls.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            return cls.optim_state_dict(model, optim)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any], model: Any, optim_input: Any = None, optim: Any = None
    ) -> dict[str, Any]:
        """What `optim.load_state_dict` takes, from a whole state that every process has.

        Args:
            full_optim_state_dict: from `full_optim_state_dict`.
            model: the model.
            optim_input: accepted and not needed.
            optim: its optimiser.
        """
        return FsdpStates.optim_state_dict_to_load(model, optim, full_optim_state_dict)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: Any,
        optim_input: Any = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """What `optim.load_state_dict` takes, from a whole state that the first process has.

        Args:
            full_optim_state_dict: from `full_optim_state_dict`; None on other processes.
            model: the model.
            optim_input: accepted and not needed.
            optim: its optimiser.
            group: the processes; all if not given.
        """
        told = [full_optim_state_dict]
        broadcast_object_list(told, group=group, group_src=0)
        assert told[0] is not None
        return FsdpStates.optim_state_dict_to_load(model, optim, told[0])

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: OptimStateKeyType,
        model: Any,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """A whole state by names instead of numbers, or by numbers instead of names.

        Args:
            optim_state_dict: the state.
            optim_state_key_type: what it shall go by.
            model: the model, wrapped or not.
            optim_input: accepted and not needed.
            optim: its optimiser.
        """
        params = [p for g in optim.param_groups for p in g["params"]]
        names = of_ranks.names_of(model)
        numbers = {names[id(p)]: i for i, p in enumerate(params)}
        if optim_state_key_type is OptimStateKeyType.PARAM_NAME:
            numbers = {i: n for n, i in numbers.items()}  # type: ignore[misc]
        groups = [{**g, "params": [numbers[k] for k in g["params"]]} for g in optim_state_dict["param_groups"]]
        state = {numbers.get(k, k): v for k, v in optim_state_dict["state"].items()}
        return {"state": state, "param_groups": groups}


def _wrapped(module: Any) -> list[Any]:
    return [m for m in module.modules() if isinstance(m, FsdpStates)]


def _shown(value: Tensor, chosen: StateDictSettings, scalar: bool, to_cpu: bool | None = None) -> Tensor:
    """A tensor of a state dict of the kind that is chosen."""
    if isinstance(value, DTensor):
        if chosen.state_dict_type is StateDictType.FULL_STATE_DICT:
            value = value.full_tensor()
            value = value.reshape(()) if scalar else value
        elif chosen.state_dict_type is StateDictType.LOCAL_STATE_DICT:
            value = local_of(value).detach()
    move = chosen.state_dict_config.offload_to_cpu if to_cpu is None else to_cpu
    return value.cpu() if move else value
