"""`fully_shard`: a module whose parameters are spread over the ranks, whole only while they are used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...base.errors import NotYet
from ...base.trees import tree_leaves, tree_map
from ...core.gradients.tape import numbers
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...distributed.device_mesh import DeviceMesh, init_device_mesh
from ...distributed.groups import group_of
from ...runtime.thread import here
from ..modules.module import Module
from .shard_places import Layout
from .shards import Order, Shards

__all__ = [
    "CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle",
    "fully_shard", "register_fsdp_forward_method",
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
    """Keep the shards, their gradients and the optimiser's state on the host; GPUs see whole parameters only.

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
        >>> from rushlight.distributed.fsdp import FSDPModule, fully_shard
        >>> isinstance(fully_shard(nn.Linear(2, 1)), FSDPModule)
        True
    """

    _fsdp: _ShardedModule

    def unshard(self, async_op: bool = False) -> Any:
        """Make the whole parameters now; with `async_op` return something to wait for."""
        shards = self._fsdp.shards
        shards.follow()
        if async_op:
            shards.gather_ahead()
            return UnshardHandle(shards)
        shards.unshard()
        shards.show()
        return None

    def reshard(self) -> None:
        """Free the whole parameters."""
        self._fsdp.shards.reshard()

    def _each(self, recurse: bool) -> list[_ShardedModule]:
        """What belongs to this module, and to the sharded ones inside it."""
        modules = self.modules() if recurse else [self]  # type: ignore[attr-defined]
        return [m._fsdp for m in modules if isinstance(m, FSDPModule)]

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Without it, gradients are added up whole on each rank and exchanged by a later pass."""
        for state in self._each(recurse):
            state.shards.sync = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Without it, replicas of a mesh of two dims add their gradients up, for a later pass to exchange."""
        for state in self._each(recurse):
            state.shards.sync_copies = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether the whole parameters are freed between forward and backward, of this module and those inside it."""
        for state in self._each(recurse):
            state.after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether the whole parameters are freed after backward; kept, the next forward needs no gather."""
        for state in self._each(recurse):
            state.shards.after_backward = reshard_after_backward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide the sum of the gradients by this number instead of the number of ranks."""
        self._fsdp.shards.divide = float(factor)

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted: every backward pass here ends by itself."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Accepted: backward gathers what it needs, and nothing else."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Accepted: the order of the pass before says what is gathered ahead."""

    set_modules_to_backward_prefetch = set_modules_to_forward_prefetch


class UnshardHandle:
    """What `unshard(async_op=True)` returns.

    Args:
        shards: the parameters that are on their way.

    Example:
        >>> from rushlight.distributed.fsdp import fully_shard
        >>> net = fully_shard(nn.Linear(2, 1))
        >>> net.unshard(async_op=True).wait()
        >>> type(net.weight).__name__
        'Parameter'
        >>> net.reshard()
    """

    def __init__(self, shards: Shards) -> None:
        self._shards: Shards | None = shards

    def wait(self) -> None:
        """Wait until the module has its whole parameters."""
        if self._shards is not None:
            self._shards.unshard()
            self._shards.show()
            self._shards = None


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Gather a sharded module's parameters for another method than `forward`, too.

    Args:
        module: the sharded module; others are left alone.
        method_name: the method, such as "generate".

    Raises:
        ValueError: if there is no such method.

    Example:
        >>> from rushlight.distributed.fsdp import fully_shard, register_fsdp_forward_method
        >>> class Net(nn.Linear):
        ...     def twice(self, x):
        ...         return self.forward(x) * 2
        >>> net = fully_shard(Net(2, 1))
        >>> register_fsdp_forward_method(net, "twice")
        >>> net.twice(torch.ones(3, 2, device=net.weight.device)).shape
        torch.Size([3, 1])
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)
    state = module._fsdp

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before(module, args, kwargs) or (args, kwargs)
        return state.after(module, args, method(*args, **kwargs))

    object.__setattr__(module, method_name, call)


class _ShardedModule:
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
        self.shards.follow()
        self.shards.unshard()
        self.shards.show()
        self.order.forward(self.shards)
        self.start = next(numbers)
        if here.grad:
            self.shards.expect()
        policy = self.shards.policy
        dtype = policy.param_dtype
        cast = policy.cast_forward_inputs or (self.root and getattr(policy, "cast_root", False))
        if dtype is not None and cast:
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
    dp_mesh_dims: Any = None,
) -> Any:
    """Spread a module's parameters over the ranks, except those of parts that are sharded already.

    Shard the parts first (each block of a transformer), then the whole; make the optimiser afterwards.

    Args:
        module: a module, or a list of modules; changed in place and returned.
        mesh: the ranks; all in one line if not given. Of two dimensions, the first has copies of what the second
            cuts.
        reshard_after_forward: free the whole parameters between forward and backward; the outermost module keeps
            them if not given.
        shard_placement_fn: called with a parameter; `Shard(dim)` that it returns says which dimension is cut, the
            first if None.
        mp_policy: dtypes, a `MixedPrecisionPolicy`.
        offload_policy: `CPUOffloadPolicy()` keeps shards, gradients and the optimiser's work on the host.
        ignored_params: parameters that every rank keeps whole.
        dp_mesh_dims: only None; of a mesh of two dimensions the first is copied, the second cut.

    Raises:
        ValueError: if the mesh has more than two dimensions, or a parameter has none.
        AssertionError: if two dimensions of the mesh have no names.
        NotImplementedError: if a dimension other than the first cannot be cut evenly.

    Example:
        >>> from rushlight.distributed.fsdp import fully_shard
        >>> net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        >>> for layer in net:
        ...     _ = fully_shard(layer)
        >>> _ = fully_shard(net)
        >>> net(torch.ones(4, 2, device=net[0].weight.device)).shape
        torch.Size([4, 1])
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    if dp_mesh_dims is not None:
        raise NotYet("fully_shard: dp_mesh_dims; give the mesh of the data-parallel dimensions")
    mesh = mesh or init_device_mesh(default_device(), (group_of().size(),))
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    if not isinstance(reshard_after_forward, (bool, int, type(None))):
        raise ValueError(
            "reshard_after_forward should be a bool or an int representing the group size to reshard to, not "
            f"{reshard_after_forward}"
        )
    offload = isinstance(offload_policy, CPUOffloadPolicy)
    layout = Layout(mesh, offload, getattr(offload_policy, "pin_memory", False))
    for m in modules:
        if isinstance(m, FSDPModule):
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. "
                f"fully_shard has already been applied to the following module:\n{m}"
            )
        owned = _owned(m, set(map(id, ignored_params or ())))
        for owners, param in owned:
            if not param.dim():
                raise ValueError(
                    "fully_shard doesn't support scalar parameters. Change "
                    f"{owners[0][1]} to a 1D tensor with numel equal to 1."
                )
        _to_the_mesh(m, owned, layout)
        after = None if reshard_after_forward is None else bool(reshard_after_forward)
        attach(m, Shards(owned, layout, mp_policy, shard_placement_fn), after)
    return module


def attach(module: Any, shards: Shards, after_forward: bool | None) -> None:
    """Let a module's passes gather and free its shards."""
    cls = type(module)
    module.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {})
    module._fsdp = _ShardedModule(module, shards, after_forward)


def default_device() -> str:
    """GPUs where there are some, else the host."""
    from ...runtime.cuda import why_not

    return "cuda" if why_not() is None else "cpu"


def _to_the_mesh(module: Module, owned: Any, layout: Layout) -> None:
    """Parameters and buffers lie where the mesh says, unless they are on no device yet."""
    if layout.mesh.device_type == "cpu":
        return
    device = layout.device()
    with no_grad():
        for _, param in owned:
            if param.device.type not in ("meta", layout.mesh.device_type):
                param.data = param.data.to(device)
        for buffer in module.buffers():
            if buffer.device.type not in ("meta", layout.mesh.device_type):
                buffer.data = buffer.data.to(device)


def _owned(module: Module, ignored: set[int]) -> list[tuple[list[tuple[Any, str]], Any]]:
    """The parameters below a module that no sharded part has, each with where it is registered."""
    found: dict[int, tuple[list[tuple[Any, str]], Any]] = {}
    stack: list[Any] = [module]
    while stack:
        m = stack.pop(0)
        for name, param in m._parameters.items():
            if param is not None and id(param) not in ignored:
                found.setdefault(id(param), ([], param))[0].append((m, name))
        stack.extend(c for c in m._modules.values() if c is not None and not isinstance(c, FSDPModule))
    return list(found.values())
