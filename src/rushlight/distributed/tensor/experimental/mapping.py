"""`local_map`: a function of plain tensors, called with each rank's parts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ....base.trees import tree_flatten, tree_unflatten
from ....core.tensor import Tensor
from ..dtensor import DTensor

__all__ = ["local_map"]


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: Any = None,
    in_grad_placements: Any = None,
    device_mesh: Any = None,
    *,
    redistribute_inputs: bool = False,
) -> Callable[..., Any]:
    """A function over DTensors made of one over plain tensors; without `func` a decorator.

    Args:
        func: called with this rank's parts.
        out_placements: how its result lies, or a tuple of that for each value of it, None for what is no tensor.
        in_placements: for each argument how it must lie, None for what is no DTensor.
        in_grad_placements: for each argument how its gradient lies.
        device_mesh: the ranks of the result; those of the first DTensor if not given.
        redistribute_inputs: let arguments that lie otherwise be moved.

    Raises:
        ValueError: if an argument lies otherwise.
        AssertionError: if placements and values do not fit.

    Example:
        >>> from rushlight.distributed.tensor import Shard, ones
        >>> from rushlight.distributed.tensor.experimental import local_map
        >>> doubled = local_map(lambda x: x * 2, out_placements=[Shard(0)])
        >>> doubled(ones(2, device_mesh=dist.init_device_mesh("cpu", (1,)), placements=[Shard(0)])).full_tensor()
        tensor([2., 2.])
    """
    options = (out_placements, in_placements, in_grad_placements, device_mesh, redistribute_inputs)
    if func is None:
        return lambda given: functools.partial(_mapped, given, options)
    return functools.partial(_mapped, func, options)


def _mapped(func: Callable[..., Any], options: tuple, *args: Any, **kwargs: Any) -> Any:
    outs, ins, grads, mesh, moves = options
    flat, form = tree_flatten(args)
    if ins is not None and len(ins) != len(flat):
        raise AssertionError(f"in_placements length {len(ins)} does not match the number of input args {len(flat)}!")
    spreads = [arg for arg in flat if isinstance(arg, DTensor)]
    parts = [_part(arg, i, ins, grads, moves) for i, arg in enumerate(flat)]
    result = func(*tree_unflatten(parts, form), **kwargs)
    if not spreads:
        return result
    values, form = tree_flatten(result)
    kinds = outs if isinstance(outs, tuple) else (outs,)
    if len(values) != len(kinds):
        raise AssertionError(f"local_map requires one PlacementType be provided for each output value, received {len(kinds)} out_placements but {len(values)} is expected!")  # fmt: skip
    return tree_unflatten([_spread(v, kind, mesh or spreads[0].device_mesh) for v, kind in zip(values, kinds)], form)


def _part(arg: Any, i: int, ins: Any, grads: Any, moves: bool) -> Any:
    wanted = None if ins is None else ins[i]
    if not isinstance(arg, DTensor):
        if wanted is not None and not isinstance(arg, Tensor):
            raise AssertionError(f"Non-Tensor input {arg} expects None placements but received {wanted}!")
        return arg
    if ins is not None:
        if wanted is None:
            raise AssertionError(f"DTensor input {arg} expects placements but received {wanted}!")
        if arg.placements != tuple(wanted):
            if not moves:
                raise ValueError(f"arg {arg} in local_map has a mismatched placements: arg placements is {arg.placements} but the input placements is {tuple(wanted)}! If redistribute_inputs is wanted, set redistribute_inputs=True to local_map.")  # fmt: skip
            arg = arg.redistribute(placements=tuple(wanted))
    if grads is None:
        return arg.to_local()
    if grads[i] is None:
        raise AssertionError(f"DTensor input {arg} expects in grad placements but received None!")
    return arg.to_local(grad_placements=tuple(grads[i]))


def _spread(value: Any, kinds: Any, mesh: Any) -> Any:
    if isinstance(value, DTensor):
        raise AssertionError(f"torch.Tensor output expected but received {type(value)}: {value}")
    if isinstance(value, Tensor):
        return DTensor.from_local(value, mesh, kinds, run_check=False)
    if kinds is not None:
        raise AssertionError(f"Non-tensor output {value} expects None placements but received {kinds}!")
    return value
