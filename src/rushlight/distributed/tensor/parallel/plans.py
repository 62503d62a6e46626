"""`parallelize_module`: which part of a model is cut in which way."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from typing import Any

from .styles import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Any,
    device_mesh: Any = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Any:
    """Cut the parameters of a model over the ranks of a mesh, as a plan says.

    Args:
        module: changed in place and returned.
        device_mesh: the ranks, of one dimension; all if not given.
        parallelize_plan: a style for the module itself, or styles by the names of its parts; `*` stands for any one
            part of a name.
        src_data_rank: the rank whose values count; None: every rank has the same.

    Raises:
        TypeError: if the plan is something else.

    Example:
        >>> from rushlight.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
        >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> net = parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        >>> net[0].weight.placements, net(torch.ones(3, 4)).shape
        ((Shard(dim=0),), torch.Size([3, 2]))
    """
    from ..dtensor import _mesh_or_world

    mesh = _mesh_or_world(device_mesh)
    if mesh.ndim != 1:
        raise ValueError(f"parallelize_module needs a mesh of one dim, such as mesh['tp']; got {mesh}")
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call will do nothing.", stacklevel=2)  # fmt: skip
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        _apply_at(module, path, path.split("."), mesh, style, src_data_rank)
    return module


def _apply_at(module: Any, path: str, names: list[str], mesh: Any, style: Any, src: Any) -> None:
    """Find the parts that a path with stars names, and cut each of them."""
    if path == "":
        parallelize_module(module, mesh, style, src_data_rank=src)
        return
    found = [(n, child) for n, child in module.named_children() if fnmatch(n, names[0])]
    if not found:
        warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{names[0]}' in module {type(module).__name__}", stacklevel=4)  # fmt: skip
        return
    for _, child in found:
        rest = names[1:]
        _apply_at(child, ".".join(rest), rest, mesh, style, src)
