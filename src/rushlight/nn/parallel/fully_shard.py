"""`fully_shard`: a module whose parameters are spread over the ranks, whole only while they are used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...base.trees import tree_leaves, tree_map
from ...core.tape import numbers
from ...core.tensor import Tensor
from ...distributed.device_mesh import DeviceMesh, init_device_mesh
from ...distributed.groups import group_of
from ...runtime.thread import here
from ..modules.module import Module
from .shards import Order, Shards

__all__ = [
    "CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "fully_shard",
]  # fmt: skip


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes: of gathered parameters, of gradients on their way, of results.

    Args:
        param_dtype: of the parameters while they are whole.
        reduce_dtype: of gradients while they are exchanged.
        output_dtype: of what the module returns.
        cast_forward_inputs: cast the module's inputs to `param_dtype`.

    Example:
        >>> from rushlight.distributed.fsdp import MixedPrecisionPolicy
        >>> MixedPrecisionPolicy(param_dtype=torch.bfloat16).cast_forward_inputs
        True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Keep the shards on the device: the default.

    Example:
        >>> from rushlight.distributed.fsdp import OffloadPolicy
        >>> OffloadPolicy()
        OffloadPolicy()
    """


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Keep the shards on the host; `fully_shard` refuses it.

    Args:
        pin_memory: use page-locked memory.

    Example:
        >>> from rushlight.distributed.fsdp import CPUOffloadPolicy
        >>> CPUOffloadPolicy().pin_memory
        True
    """

    pin_memory: bool = True


class FSDPModule:
    """What `fully_shard` adds to a module's class.

    Example:
        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        >>> from rushlight.distributed.fsdp import FSDPModule, fully_shard
        >>> isinstance(fully_shard(nn.Linear(2, 1)), FSDPModule)
        True
        >>> dist.destroy_process_group()
    """

    _fsdp: _State

    def unshard(self, async_op: bool = False) -> None:
        """Make the whole parameters now."""
        self._fsdp.shards.unshard()
        self._fsdp.shards.show()

    def reshard(self) -> None:
        """Free the whole parameters."""
        self._fsdp.shards.reshard()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:  # fmt: skip
        """Without it, gradients are added up whole on each rank and exchanged by a later pass."""
        for module in self.modules() if recurse else [self]:  # type: ignore[attr-defined]
            if isinstance(module, FSDPModule):
                module._fsdp.shards.sync = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether the whole parameters are freed between forward and backward, of this module and those inside it."""
        for module in self.modules() if recurse else [self]:  # type: ignore[attr-defined]
            if isinstance(module, FSDPModule):
                module._fsdp.after_forward = reshard_after_forward

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted: every backward pass here ends by itself."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Accepted: the order of the pass before says what is gathered ahead."""

    set_modules_to_backward_prefetch = set_modules_to_forward_prefetch


class _State:
    """What belongs to one sharded module."""

    def __init__(self, module: Any, shards: Shards, after_forward: bool | None) -> None:
        self.shards = shards
        self.after_forward = after_forward
        self.order: Order | None = None
        self.root = False
        self.start = 0
        module.register_forward_pre_hook(self.before, prepend=True, with_kwargs=True)
        module.register_forward_hook(self.after, prepend=False, always_call=False)
        module.register_state_dict_pre_hook(self.whole_is_not_saved)

    def whole_is_not_saved(self, module: Any, *args: Any) -> None:
        if self.shards.gathered:
            self.shards.reshard()

    def _become_part(self, module: Any) -> None:
        """The first module that runs is the root of those inside it."""
        if self.order is not None:
            return
        order, self.root = Order(), True
        for m in module.modules():
            if isinstance(m, FSDPModule):
                m._fsdp.order = m._fsdp.shards.order = order
                order.all.append(m._fsdp.shards)

    def before(self, module: Any, args: Any, kwargs: Any) -> Any:
        self._become_part(module)
        assert self.order is not None
        self.shards.unshard()
        self.shards.show()
        self.order.forward(self.shards)
        self.start = next(numbers)
        if here.grad:
            self.shards.expect()
        dtype = self.shards.policy.param_dtype
        if dtype is not None and self.shards.policy.cast_forward_inputs:
            return tree_map(lambda t: _cast(t, dtype), (args, kwargs))
        return None

    def after(self, module: Any, args: Any, out: Any) -> Any:
        assert self.order is not None
        reshard = self.after_forward if self.after_forward is not None else not self.root
        if self.root:
            self.order.end_of_forward()
        if reshard or not here.grad:
            outputs = [t for t in tree_leaves(out) if isinstance(t, Tensor)]
            if here.grad:
                self.shards.let_go(outputs, self.start)
            self.shards.reshard()
        dtype = self.shards.policy.output_dtype
        return out if dtype is None else tree_map(lambda t: _cast(t, dtype), out)


def _cast(t: Any, dtype: Any) -> Any:
    return t.to(dtype) if isinstance(t, Tensor) and t.is_floating_point() else t


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[..., Any] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),
    offload_policy: OffloadPolicy = OffloadPolicy(),
    ignored_params: Any = None,
    **options: Any,
) -> Any:
    """Spread a module's parameters over the ranks, except those of parts that are sharded already.

    Shard the parts first (each block of a transformer), then the whole; make the optimiser afterwards.

    Args:
        module: a module, or a list of modules; changed in place and returned.
        mesh: the ranks, of one dimension; all if not given.
        reshard_after_forward: free the whole parameters between forward and backward; the outermost module keeps
            them if not given.
        shard_placement_fn: not supported; parameters are cut along their first dimension.
        mp_policy: dtypes, a `MixedPrecisionPolicy`.
        offload_policy: shards stay on their device.
        ignored_params: parameters that every rank keeps whole.
        options: accepted and not needed.

    Raises:
        NotImplementedError: if an option is not supported.

    Example:
        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        >>> from rushlight.distributed.fsdp import fully_shard
        >>> net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        >>> for layer in net:
        ...     _ = fully_shard(layer)
        >>> _ = fully_shard(net)
        >>> net(torch.ones(4, 2)).shape
        torch.Size([4, 1])
        >>> dist.destroy_process_group()
    """
    if isinstance(offload_policy, CPUOffloadPolicy):
        raise NotImplementedError("fully_shard(offload_policy=CPUOffloadPolicy()): shards stay on their device")  # fmt: skip
    if shard_placement_fn is not None:
        raise NotImplementedError(
            "fully_shard(shard_placement_fn=...): parameters are cut along dim 0"
        )
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    mesh = mesh or init_device_mesh("cpu", (group_of().size(),))
    if mesh.ndim != 1:
        raise NotImplementedError("fully_shard over a mesh of two dims: pass mesh['name'] of one")
    for m in modules:
        if isinstance(m, FSDPModule):
            raise AssertionError(f"fully_shard was called on {type(m).__name__} already")
        owned = _owned(m, set(map(id, ignored_params or ())))
        shards = Shards(owned, mesh, mp_policy)
        cls = type(m)
        m.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {})
        after = None if reshard_after_forward is None else bool(reshard_after_forward)
        m._fsdp = _State(m, shards, after)
    return module


def _owned(module: Module, ignored: set[int]) -> list[tuple[list[tuple[Any, str]], Any]]:
    """The parameters below a module that no sharded part has, each with where it is registered."""
    found: dict[int, tuple[list[tuple[Any, str]], Any]] = {}
    stack: list[Any] = [module]
    while stack:
        m = stack.pop(0)
        for name, param in m._parameters.items():
            if param is not None and id(param) not in ignored:
                found.setdefault(id(param), ([], param))[0].append((m, name))
        stack.extend(
            c for c in m._modules.values() if c is not None and not isinstance(c, FSDPModule)
        )
    return list(found.values())
