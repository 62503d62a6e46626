"""Spread tensors made from sizes, and modules whose parameters are spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...operators.create import filled
from .dtensor import DTensor, _mesh_or_world, _positive, distribute_tensor, spread
from .moving import rows_of
from .placement_types import Replicate

__all__ = ["distribute_module", "empty", "full", "ones", "rand", "randn", "zeros"]


def _sizes(size: tuple) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def _made(make: Callable[[tuple[int, ...]], Tensor], size: tuple, mesh: Any, placements: Any, requires_grad: bool) -> DTensor:  # fmt: skip
    """Only this rank's part is made."""
    mesh = _mesh_or_world(mesh)
    shape = _sizes(size)
    kinds = _positive(placements or (Replicate(),) * mesh.ndim, len(shape))
    local = list(shape)
    for i, kind in enumerate(kinds):
        if kind.is_partial():
            raise ValueError("A new DTensor cannot have Partial placements")
        if kind.is_shard():
            dim: int = kind.dim  # type: ignore[attr-defined]
            first, last = rows_of(local[dim], mesh.size(i), mesh.get_coordinate()[i])
            local[dim] = last - first
    made = spread(DTensor, make(tuple(local)), mesh, kinds, shape)
    return made.requires_grad_(requires_grad)


def zeros(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None, device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """Zeros, spread over a mesh.

    Args:
        size: sizes of the whole.
        requires_grad: whether gradients are wanted.
        dtype: of the elements.
        layout: accepted and not needed.
        device_mesh: the ranks; all if not given.
        placements: for each dim of the mesh; `Replicate()` if not given.

    Example:
        >>> from rushlight.distributed.tensor import Shard, zeros
        >>> zeros(4, 2, device_mesh=dist.init_device_mesh("cpu", (1,)), placements=[Shard(0)]).shape
        torch.Size([4, 2])
    """
    return _made(lambda s: filled.zeros(s, dtype=dtype), size, device_mesh, placements, requires_grad)


def ones(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None, device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """As `zeros`: ones, spread over a mesh."""
    return _made(lambda s: filled.ones(s, dtype=dtype), size, device_mesh, placements, requires_grad)


def empty(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None, device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """As `zeros`: memory without values, spread over a mesh."""
    return _made(lambda s: filled.empty(s, dtype=dtype), size, device_mesh, placements, requires_grad)


def full(size: Any, fill_value: Any, *, requires_grad: bool = False, dtype: Any = None, layout: Any = None, device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """One value everywhere, spread over a mesh.

    Args:
        size: sizes of the whole.
        fill_value: the value.
        requires_grad, dtype, layout, device_mesh, placements: as in `zeros`.

    Example:
        >>> dist.tensor.full((2,), 7.0, device_mesh=dist.init_device_mesh("cpu", (1,))).full_tensor()
        tensor([7., 7.])
    """
    return _made(lambda s: filled.full(s, fill_value, dtype=dtype), (tuple(size),), device_mesh, placements, requires_grad)  # fmt: skip


def _random(draw: str, size: tuple, requires_grad: bool, dtype: Any, mesh: Any, placements: Any) -> DTensor:
    """Every rank draws the whole, as one process would, and keeps its part."""
    made = empty(*size, dtype=dtype, device_mesh=mesh, placements=placements)
    with no_grad():
        getattr(made, draw)()
    made.requires_grad_(requires_grad)
    return made


def rand(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None, device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """As `zeros`: uniform random numbers; ranks with one seed have parts of one tensor."""
    return _random("uniform_", size, requires_grad, dtype, device_mesh, placements)


def randn(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None, device_mesh: Any = None, placements: Any = None) -> DTensor:  # fmt: skip
    """As `zeros`: normal random numbers; ranks with one seed have parts of one tensor."""
    return _random("normal_", size, requires_grad, dtype, device_mesh, placements)


def distribute_module(
    module: Any,
    device_mesh: Any = None,
    partition_fn: Callable[[str, Any, Any], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Any:
    """Make DTensors of a module's parameters and buffers, and let functions prepare what goes in and out.

    Args:
        module: changed in place and returned.
        device_mesh: the ranks.
        partition_fn: called with name, part and mesh for every part; it replaces parameters by DTensors. What it
            leaves is whole on every rank.
        input_fn: called with module, inputs and mesh before forward; what it returns are the inputs.
        output_fn: called with module, outputs and mesh after forward; what it returns is the output.

    Example:
        >>> net = dist.tensor.distribute_module(nn.Linear(2, 3), dist.init_device_mesh("cpu", (1,)))
        >>> net.weight.placements
        (Replicate(),)
    """
    mesh = _mesh_or_world(device_mesh)
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        _replicate(part, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, inputs, out: output_fn(m, out, mesh))
    return module


def _replicate(module: Any, mesh: Any) -> None:
    """Parameters and buffers that are not spread yet are whole on every rank."""
    for held in (module._parameters, module._buffers):
        for name, t in list(held.items()):
            if t is not None and not isinstance(t, DTensor):
                held[name] = as_parameter(distribute_tensor(t, mesh), held is module._parameters)


def as_parameter(t: DTensor, is_parameter: bool = True) -> DTensor:
    """Mark a DTensor as one that modules and optimisers know as a parameter."""
    if is_parameter:
        t._is_param = True  # type: ignore[attr-defined]
    return t
