"""Batches taken apart and put together for several devices, of which one process here uses one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.trees import tree_map
from ...core.tensor import Tensor

__all__ = ["gather", "parallel_apply", "replicate", "scatter"]


def _one(devices: Sequence[Any], name: str) -> Any:
    if len(devices) != 1:
        raise NotImplementedError(
            f"{name} over {len(devices)} devices: rushlight does not split a batch over the GPUs of one "
            "process; start one process per GPU instead"
        )
    return devices[0]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """The inputs on the one target device, as a list of one share."""
    device = _one(target_gpus, "scatter")
    return [tree_map(lambda t: t.to(device) if isinstance(t, Tensor) else t, inputs)]


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """The one share of the outputs on the target device."""
    outputs = list(outputs)
    _one(outputs, "gather")
    return tree_map(lambda t: t.to(target_device) if isinstance(t, Tensor) else t, outputs[0])


def replicate(network: Any, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """The network itself for the one device it lives on."""
    _one(devices, "replicate")
    return [network]


def parallel_apply(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Any = None, devices: Any = None
) -> list[Any]:
    """Each module called with its own inputs."""
    named = kwargs_tup or [{}] * len(modules)
    if not len(modules) == len(inputs) == len(named):
        raise AssertionError("The number of modules is not equal to the number of inputs")
    calls = zip(modules, inputs, named)
    return [m(*(x if isinstance(x, (list, tuple)) else (x,)), **kw) for m, x, kw in calls]
