"""FullyShardedDataParallel: the older face of `fully_shard`, a module around a module."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.config import launcher
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...distributed import lifecycle
from ...distributed.collectives import broadcast
from ...distributed.device_mesh import DeviceMesh, init_device_mesh
from ...distributed.groups import group_of
from ..modules.module import Module
from ..utils.clip_grad import clip_grad_norm_
from .fsdp_options import (
    BackwardPrefetch,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from .fsdp_states import WRAPPED, FsdpStates, cleaned
from .fsdp_wrap import wrap_parts
from .fully_shard import FSDPModule, _cast, _owned, attach
from .shard_places import Layout
from .shards import Shards

__all__ = ["FullyShardedDataParallel"]


HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


def layout_for(
    module: Any, group: Any, mesh: Any, strategy: ShardingStrategy | None, offload: Any, device_id: Any
) -> tuple[Layout, ShardingStrategy]:
    """Where the parameters of a model lie, and the strategy that is meant."""
    strategy = strategy or ShardingStrategy.FULL_SHARD
    away = bool(offload is not None and offload.offload_params)
    device = _device_type(module, device_id, away)
    if mesh is not None and group is not None:
        raise ValueError("Cannot pass both process_group and device_mesh at the same time. Please just pass only one of them.")  # fmt: skip
    if strategy in HYBRID:
        return Layout(_hybrid(group, mesh, device), away), strategy
    if mesh is not None and mesh.ndim != 1:
        raise ValueError(f"Expected device_mesh to have ndim=1 but got {mesh.ndim}")
    one = group_of(group if mesh is None else mesh)
    if one.size() == 1 and strategy is not ShardingStrategy.NO_SHARD:
        warnings.warn(f"FSDP is switching to use `NO_SHARD` instead of {strategy} since the world size is 1.", stacklevel=4)  # fmt: skip
        strategy = ShardingStrategy.NO_SHARD
    if strategy is ShardingStrategy.NO_SHARD:
        alone = lifecycle.new_group([one.world.rank], use_local_synchronization=True)
        ranks = np.array(one.ranks).reshape(-1, 1)
        return Layout(DeviceMesh(device, ranks, _groups=[one, alone]), away), strategy
    made = mesh or DeviceMesh.from_group(one, device)
    return Layout(made, away), strategy


def _device_type(module: Any, device_id: Any, away: bool) -> str:
    """Where the parameters are computed with."""
    from ...runtime.cuda import why_not

    if device_id is not None:
        return "cuda" if isinstance(device_id, int) else str(device_id).partition(":")[0]
    if any(p.is_cuda for p in module.parameters()):
        return "cuda"
    return "cuda" if away and why_not() is None else "cpu"


def _hybrid(group: Any, mesh: Any, device: str) -> Any:
    """The first dim copies, the second cuts."""
    if mesh is not None:
        if mesh.ndim != 2:
            raise ValueError(f"Expected device_mesh to have ndim=2 but got {mesh.ndim}")
        return mesh
    if group is None:
        world = group_of().size()
        inside = int(launcher("LOCAL_WORLD_SIZE") or world)
        return init_device_mesh(device, (world // inside, inside))
    if not isinstance(group, tuple) or len(group) != 2:
        raise ValueError(
            "Expected process_group to be passed in as either None or a tuple of (shard group, replicate group) "
            f"for hybrid strategies, got {group!r}"
        )
    cut, copies = group
    ranks = np.full((copies.size(), cut.size()), -1)
    ranks[copies.rank(), :] = cut.ranks
    ranks[:, cut.rank()] = copies.ranks
    return DeviceMesh(device, ranks, _groups=[copies, cut])


@dataclass(frozen=True)
class _Precision:
    """A `MixedPrecision` in the words of `fully_shard`."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = False
    cast_root: bool = False


class FullyShardedDataParallel(FsdpStates, Module):
    """Train one model in several processes that keep a part of its parameters each.

    Parameters are gathered before a wrapped module runs and freed after it; gradients are averaged and cut.
    Parameters are seen as with `use_orig_params=True`: each is a `DTensor`, cut along its first dimension.

    Args:
        module: the model; all processes make the same one.
        process_group: the processes; all if None. For hybrid strategies two groups: those that cut, those that copy.
        sharding_strategy: a `ShardingStrategy`; `FULL_SHARD` if None.
        cpu_offload: a `CPUOffload`.
        auto_wrap_policy: which parts are wrapped by themselves.
        backward_prefetch, forward_prefetch, limit_all_gathers: accepted; the order of the last pass says what is
            gathered ahead.
        mixed_precision: a `MixedPrecision`.
        ignored_modules, ignored_states: modules, or parameters, that every process keeps whole.
        param_init_fn: called with every part whose parameters are on the device "meta".
        device_id: where the model is moved to first.
        sync_module_states: begin with the values of rank 0.
        use_orig_params: accepted; see above.
        device_mesh: in place of `process_group`; of two dimensions, the first has copies.

    Raises:
        ValueError: if the strategy and the groups do not fit.
        NotImplementedError: if `keep_low_precision_grads` is asked for.

    Example:
        >>> from rushlight.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
        >>> one = ShardingStrategy.NO_SHARD  # one process has nobody to share with
        >>> net = FullyShardedDataParallel(nn.Linear(2, 1), sharding_strategy=one)
        >>> net(torch.ones(3, 2)).sum().backward()
        >>> sorted(net.state_dict())
        ['bias', 'weight']
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: Any = None,
        _layout: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(module, FullyShardedDataParallel):
            raise ValueError("FSDP was applied to a module that is wrapped already")
        if mixed_precision is not None and mixed_precision.keep_low_precision_grads:
            raise NotImplementedError("MixedPrecision(keep_low_precision_grads=True): gradients have the dtype of their parameters")  # fmt: skip
        ignored = _ignored(ignored_modules, ignored_states)
        if _layout is None:
            _prepare(module, param_init_fn, device_id)
            _layout = layout_for(module, process_group, device_mesh, sharding_strategy, cpu_offload, device_id)
            if sync_module_states:
                _from_rank_0(module, _layout, ignored)
        layout, strategy = _layout
        self.sharding_strategy, self.mixed_precision = strategy, mixed_precision
        if auto_wrap_policy is not None:
            shared: dict[str, Any] = {"_layout": _layout, "mixed_precision": mixed_precision, "ignored_states": ignored_states, "ignored_modules": ignored_modules}  # fmt: skip
            self._wrap_parts(module, auto_wrap_policy, shared, ignored)
        _cast_buffers(module, mixed_precision)
        shards = Shards(_owned(module, ignored), layout, _precision(mixed_precision))
        keeps = strategy in (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)  # fmt: skip
        attach(module, shards, False if keeps else None)
        self._fsdp_wrapped_module = module
        self._settings = StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())  # fmt: skip
        self._summoned = False
        self._register_load_state_dict_pre_hook(self._before_load)

    def _wrap_parts(self, module: Module, policy: Any, shared: dict[str, Any], ignored: set[int]) -> None:
        precision = shared["mixed_precision"]
        if precision is not None and precision._module_classes_to_ignore:
            _wrap_exact(module, tuple(precision._module_classes_to_ignore), shared)
        wrap_parts(module, policy, lambda part, **more: FullyShardedDataParallel(part, **{**shared, **more}), ignored)

    # -- what it holds ----------------------------------------------------------------------------

    @property
    def module(self) -> Module:
        """The module inside."""
        return self._fsdp_wrapped_module

    @property
    def _shards(self) -> Shards:
        return self._fsdp_wrapped_module._fsdp.shards

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == WRAPPED:
                raise
            return getattr(super().__getattr__(WRAPPED), name)

    def __getitem__(self, key: int) -> Any:
        return self._fsdp_wrapped_module[key]

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrapped modules inside a module; with `root_only` those that no other contains.

        Args:
            root_only: only the outermost ones.
        """
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if not root_only:
            return found
        inner = {id(m) for f in found for m in f.modules() if m is not f}
        return [f for f in found if id(f) not in inner]

    def check_is_root(self) -> bool:
        """Whether no other wrapped module contains this one; known after the first forward."""
        return self._fsdp_wrapped_module._fsdp.root

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters by name; inside `summon_full_params` by the names that they have without wrappers."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield (cleaned(name) if self._summoned else name), param

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
        """Buffers by name; inside `summon_full_params` by the names that they have without wrappers."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield (cleaned(name) if self._summoned else name), buffer

    # -- what it does -----------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._fsdp_wrapped_module(*args, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Add gradients up on each process inside the block, without an exchange; they are whole meanwhile."""
        all_shards = [m._fsdp.shards for m in self.modules() if isinstance(m, FSDPModule)]
        before = [s.sync for s in all_shards]
        for s in all_shards:
            s.sync = False
        try:
            yield
        finally:
            for s, sync in zip(all_shards, before):
                s.sync = sync

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale gradients so that the norm of all of them, on all processes, is at most `max_norm`.

        Args:
            max_norm: the largest norm.
            norm_type: which norm.

        Returns:
            the norm before scaling.
        """
        total: Any = clip_grad_norm_(list(self.parameters()), max_norm, norm_type)
        return total.full_tensor() if hasattr(total, "full_tensor") else total

    def apply(self, fn: Any) -> Any:
        """Call a function on every module inside, while their parameters are whole.

        Args:
            fn: a function of one module.
        """
        with self.summon_full_params(self):
            return super().apply(fn)

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Inside the block parameters are whole; all processes enter it.

        Args:
            module: a module that is wrapped, or contains wrapped ones.
            recurse: gather those inside, too.
            writeback: keep what was changed inside the block.
            rank0_only: only the first process gets them.
            offload_to_cpu: they are on the host.
            with_grads: so are gradients.
        """
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported, as model parameter shapes will be different across ranks, and writing to them can lead to inconsistencies across ranks when the context is exited.")  # fmt: skip
        found = FullyShardedDataParallel.fsdp_modules(module)
        if not recurse:
            found = [f for f in found if f is module]
        with ExitStack() as stack:
            for f in found:
                stack.enter_context(f._whole(writeback, rank0_only, offload_to_cpu, with_grads))
            yield

    @contextmanager
    def _whole(self, writeback: bool, rank0_only: bool, to_cpu: bool, with_grads: bool) -> Iterator[None]:
        shards = self._shards
        shards.follow()
        shards.forget_ahead()
        if shards.gathered:
            shards.reshard()
        shards.unshard(precise=True)
        if with_grads:
            shards.show_gradients()
        seen = not rank0_only or shards.layout.group.rank() == 0
        if seen:
            for p in shards.places if to_cpu else ():
                p.full._a = p.full.detach().cpu()._a
            shards.show()
        self._summoned = seen
        try:
            yield
        finally:
            if writeback:
                shards.write_back()
            shards.take_gradients(writeback and with_grads)
            shards.reshard()
            self._summoned = False

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Not supported: gradients are averaged by reduce-scatter.

        Args:
            state, hook: as in PyTorch.
        """
        raise NotImplementedError("FullyShardedDataParallel.register_comm_hook: use MixedPrecision(reduce_dtype=...) to send fewer bytes")  # fmt: skip


def _precision(given: MixedPrecision | None) -> _Precision:
    if given is None:
        return _Precision()
    return _Precision(given.param_dtype, given.reduce_dtype, None, given.cast_forward_inputs, given.cast_root_forward_inputs)  # fmt: skip


def _ignored(modules: Any, states: Any) -> set[int]:
    """Modules and parameters to leave alone, by identity."""
    if modules is not None and states is not None:
        raise ValueError("Cannot pass both ignored_modules and ignored_states at the same time. Please just pass ignored_states.")  # fmt: skip
    found: set[int] = set()
    for given in (*(modules or ()), *(states or ())):
        if isinstance(given, Tensor):
            found.add(id(given))
        else:
            found.update(map(id, given.modules()))
            found.update(map(id, given.parameters()))
    return found


def _prepare(module: Module, param_init_fn: Any, device_id: Any) -> None:
    """Give values to parameters on "meta", and bring the model to its device."""
    waiting = [m for m in module.modules() if any(t is not None and t.is_meta for t in (*m._parameters.values(), *m._buffers.values()))]  # fmt: skip
    for m in waiting:
        if param_init_fn is not None:
            param_init_fn(m)
        else:
            m.to_empty(device="cpu" if device_id is None else device_id, recurse=False)
            m.reset_parameters()
    if device_id is not None:
        module.to(f"cuda:{device_id}" if isinstance(device_id, int) else device_id)


def _from_rank_0(module: Module, layout: Any, ignored: set[int]) -> None:
    groups = [g for g in (layout[0].copies, layout[0].group) if g is not None and g.size() > 1]
    with no_grad():
        for t in (*module.parameters(), *module.buffers()):
            if id(t) not in ignored:
                for group in groups:
                    broadcast(t.detach(), group=group, group_src=0)


def _cast_buffers(module: Module, precision: MixedPrecision | None) -> None:
    """Buffers of this part, not of parts that are wrapped already, in the dtype that is asked for."""
    if precision is None or precision.buffer_dtype is None:
        return
    stack: list[Any] = [module]
    while stack:
        m = stack.pop()
        for name, buffer in m._buffers.items():
            if buffer is not None and buffer.is_floating_point():
                m._buffers[name] = buffer.to(precision.buffer_dtype)
        stack.extend(c for c in m._modules.values() if c is not None and not isinstance(c, FullyShardedDataParallel))


def _wrap_exact(module: Module, kinds: tuple[type, ...], shared: dict[str, Any]) -> None:
    """Wrap parts that need all digits, such as batch norms, by themselves and without other dtypes."""
    low = shared["mixed_precision"].param_dtype
    found = []
    for m in list(module.modules()):
        for name, child in list(m._modules.items()):
            if child is not None and isinstance(child, kinds):
                found.append(type(child))
                made = FullyShardedDataParallel(child, **{**shared, "mixed_precision": None})
                if low is not None:
                    made.register_forward_pre_hook(_up)
                    made.register_forward_hook(lambda m, args, out: _cast(out, low))
                m._modules[name] = made
    if found:
        warnings.warn(
            f"Both mixed precision and an auto_wrap_policy were specified to FSDP, where the wrapped module has submodules of type {found}. "
            "These modules will be wrapped as separate FSDP instances with mixed precision disabled.",
            stacklevel=5,
        )


def _up(module: Any, args: Any) -> Any:
    from ...base.dtypes import float32

    return tuple([_cast(a, float32) for a in args])
