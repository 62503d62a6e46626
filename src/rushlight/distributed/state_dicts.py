"""State dicts of models and optimisers whose parameters may be spread over ranks: whole or in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..base.trees import tree_map
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.create.filled import empty
from ..operators.create.like import zeros_like
from .groups import group_of
from .tensor.dtensor import DTensor, distribute_tensor, spread

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


class _IncompatibleKeys(NamedTuple):
    """What `set_model_state_dict` found on one side only."""

    missing_keys: list[str]
    unexpected_keys: list[str]


@dataclass
class StateDictOptions:
    """Whether state dicts are whole, on the host, strict, and who reads them."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


_WRAPPERS = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.")


def cleaned(name: str) -> str:
    """A parameter's name without the wrappers that are inside a model."""
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def _name(name: str, model: Any) -> str:
    """A parameter's name without wrappers; DDP, the outermost one, has a `reducer`."""
    return cleaned(name.removeprefix("module.") if hasattr(model, "reducer") else name)


def _state_of(model: Any) -> dict[str, Any]:
    """The state dict of a model; of one in FullyShardedDataParallel, with spread tensors."""
    wrapped = [m for m in model.modules() if hasattr(type(m), "set_state_dict_type")]
    if not wrapped:
        return model.state_dict()
    cls = type(wrapped[0])
    sharded = next(k for k in type(wrapped[0]._settings.state_dict_type) if k.name == "SHARDED_STATE_DICT")
    with cls.state_dict_type(model, sharded):
        return model.state_dict()


def _out(value: Any, options: StateDictOptions) -> Any:
    if isinstance(value, DTensor) and options.full_state_dict:
        value = value.full_tensor()
    if isinstance(value, Tensor) and options.cpu_offload:
        value = value.cpu()
    return value


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model; whole with `full_state_dict`, where all ranks call it."""
    chosen = options or StateDictOptions()
    frozen = {_name(n, model) for n, p in model.named_parameters() if not p.requires_grad}
    found = {}
    for name, value in _state_of(model).items():
        name = _name(name, model)
        if chosen.ignore_frozen_params and name in frozen:
            continue
        found[name] = _out(value, chosen)
    if chosen.full_state_dict and chosen.cpu_offload and group_of().rank() != 0:
        return {}  # as PyTorch: the whole is kept by rank 0 alone
    return found


def set_model_state_dict(
    model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Fill a model from a state dict, whole or in parts."""
    chosen = options or StateDictOptions()
    own = {_name(n, model): v for n, v in _state_of(model).items()}
    given = from_rank0(model_state_dict) if chosen.broadcast_from_rank0 else model_state_dict
    missing = [n for n in own if n not in given]
    extra = [n for n in given if n not in own]
    if chosen.strict and (missing or extra):
        raise RuntimeError(f"Error(s) in loading state_dict: missing keys {missing}, unexpected keys {extra}")
    empty_places = {}
    if chosen.broadcast_from_rank0 or chosen.full_state_dict:
        named = (*model.named_parameters(), *model.named_buffers())
        empty_places = {_name(n, model): t for n, t in named if t.device.type == "meta"}
    device = next((v.device for v in own.values() if isinstance(v, Tensor) and v.device.type != "meta"), None)
    with no_grad():
        for name, target in own.items():
            if name in given and isinstance(target, Tensor):
                value = _arrived(given[name])
                if name in empty_places:
                    target = _made_room(empty_places[name], device)
                _fill(target, value, name)
    return _IncompatibleKeys(missing, extra)


class _OnItsWay:
    """A tensor of rank 0 whose values are sent when somebody asks: never is more than one whole on a rank."""

    def __init__(self, shape: Any, dtype: Any, held: Tensor | None = None) -> None:
        self.shape, self.dtype, self.held = shape, dtype, held

    def __reduce__(self) -> Any:
        return _OnItsWay, (self.shape, self.dtype)


def from_rank0(given: dict[str, Any]) -> dict[str, Any]:
    """Rank 0's state dict on every rank, its tensors as promises; all ranks ask for them in one order."""
    from .objects import broadcast_object_list

    promised = tree_map(lambda v: _OnItsWay(tuple(v.shape), v.dtype, v) if isinstance(v, Tensor) else v, given)
    told = [promised]
    broadcast_object_list(told, 0)
    return promised if group_of().rank() == 0 else told[0]


def _arrived(value: Any) -> Any:
    """The value itself, or what rank 0 promised."""
    if not isinstance(value, _OnItsWay):
        return value
    from .collectives import broadcast

    whole = value.held
    if whole is None:
        whole = empty(value.shape, dtype=value.dtype)
    whole = whole.detach().cpu().contiguous()
    broadcast(whole, 0)
    return whole


def _made_room(target: Tensor, device: Any) -> Tensor:
    """A parameter or buffer that was on no device, now with memory for this rank's part."""
    if isinstance(target, DTensor):
        device = target.device_mesh.device_type
    local = target.to_local() if isinstance(target, DTensor) else target
    target.data = empty(tuple(local.shape), dtype=local.dtype, device=device or "cpu")
    return target


def _fill(target: Tensor, value: Any, name: str) -> None:
    if isinstance(target, DTensor) and not isinstance(value, DTensor):
        if tuple(value.shape) != tuple(target.full_shape):
            raise RuntimeError(f"size mismatch for {name}: {tuple(value.shape)} for {target.full_shape}")
        value = distribute_tensor(value, target.device_mesh, target.placements, src_data_rank=None)
    plain = value.to_local().detach() if isinstance(value, DTensor) else value
    into = target.to_local().detach() if isinstance(target, DTensor) else target
    if tuple(plain.shape) != tuple(into.shape):
        raise RuntimeError(f"size mismatch for {name}: {tuple(plain.shape)} for {tuple(into.shape)}")
    into.copy_(plain.to(into.dtype))


def names_of(model: Any) -> dict[int, str]:
    """The names of a model's parameters, without wrappers, by identity."""
    return {id(p): _name(n, model) for n, p in model.named_parameters()}


def init_optim_state(optimizer: Any) -> None:
    """Give a new optimiser the state it will have, by a step of no length; one that has gradients is left alone.

    So a new run has tensors that a checkpoint can be read into.
    """
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    for p in params:
        if p.requires_grad:
            p.grad = zeros_like(p)
    rates = [group.get("lr") for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = group["lr"] * 0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _with_state(optimizers: Any) -> list[Any]:
    """The optimisers, each with the state it will have."""
    found = [optimizers] if hasattr(optimizers, "param_groups") else list(optimizers)
    for optimizer in found:
        init_optim_state(optimizer)
    return found


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """An optimiser's state by the names of the parameters; states are spread as their parameters are."""
    chosen = options or StateDictOptions()
    names = names_of(model)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _with_state(optimizers):
        for group in optimizer.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            groups.append({**packed, "params": [names[id(p)] for p in group["params"]]})
        for p, held in optimizer.state.items():
            state[names[id(p)]] = {k: _out(_like(p, v), chosen) for k, v in held.items()}
    if chosen.full_state_dict and chosen.cpu_offload and group_of().rank() != 0:
        return {}
    found = {"state": state, "param_groups": groups}
    return _flat(found) if chosen.flatten_optimizer_state_dict else found


def _flat(nested: dict[str, Any]) -> dict[str, Any]:
    """A state in one level: `state.NAME.KEY`, and `param_groups.NAME.KEY` for every parameter by itself."""
    found = {f"state.{n}.{k}": v for n, held in nested["state"].items() for k, v in held.items()}
    for group in nested["param_groups"]:
        options = {k: v for k, v in group.items() if k != "params"}
        found.update({f"param_groups.{n}.{k}": v for n in group["params"] for k, v in options.items()})
    return found


def _nested(flat: dict[str, Any], names: dict[int, str], optimizer: Any) -> dict[str, Any]:
    """What `_flat` made, in the groups of an optimiser."""
    inside: dict[str, dict[str, Any]] = {}
    for key, value in flat.items():
        path, _, last = key.rpartition(".")
        inside.setdefault(path, {})[last] = value
    groups = [[names[id(p)] for p in g["params"]] for g in optimizer.param_groups]
    state = {n: inside[f"state.{n}"] for g in groups for n in g if f"state.{n}" in inside}
    told = [{**inside.get(f"param_groups.{g[0]}", {}), "params": g} for g in groups]
    return {"state": state, "param_groups": told}


def _like(param: Any, value: Any) -> Any:
    """A state of a sharded parameter's shape is a part, as the parameter is."""
    if isinstance(param, DTensor) and isinstance(value, Tensor) and value._a.shape == param._a.shape and value.dim():
        return spread(DTensor, value, param.device_mesh, param.placements, param.full_shape)
    return value


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Fill an optimiser from what `get_optimizer_state_dict` gave."""
    chosen = options or StateDictOptions()
    given = from_rank0(optim_state_dict) if chosen.broadcast_from_rank0 else optim_state_dict
    names = names_of(model)
    for optimizer in _with_state(optimizers):
        nested = given if "param_groups" in given else _nested(given, names, optimizer)
        optimizer.load_state_dict(to_load(names, optimizer, nested))


def to_load(names: dict[int, str], optimizer: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A state by names as `optimizer.load_state_dict` takes it: by numbers, spread as the parameters are."""
    params = [p for g in optimizer.param_groups for p in g["params"]]
    places = {id(p): i for i, p in enumerate(params)}
    state = {}
    for p in params:
        held = given["state"].get(names[id(p)])
        if held is not None:
            state[places[id(p)]] = {k: _local(p, _arrived(v)) for k, v in held.items()}
    by_name = {n: g for g in given["param_groups"] for n in g["params"]}
    groups = []
    for g in optimizer.param_groups:
        saved = by_name[names[id(g["params"][0])]]
        packed = {k: v for k, v in saved.items() if k != "params"}
        groups.append({**packed, "params": [places[id(p)] for p in g["params"]]})
    return {"state": state, "param_groups": groups}


def _local(param: Any, value: Any) -> Any:
    if isinstance(value, DTensor):
        return value
    whole = isinstance(value, Tensor) and isinstance(param, DTensor) and value.dim()
    if whole and tuple(value.shape) == tuple(param.full_shape):
        return distribute_tensor(value, param.device_mesh, param.placements, src_data_rank=None)
    return value


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both."""
    return (get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizers, options=options))


def set_state_dict(
    model: Any,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Fill both."""
    told = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return told
