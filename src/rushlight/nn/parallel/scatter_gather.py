"""PyTorch's functions for several devices in one process, for the one device there is here."""

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
    """Move inputs to a device; with one device, the list has one entry.

    Args:
        inputs: a tensor, or a structure of tensors.
        target_gpus: one device.
        dim: the dimension of the batch; not used with one device.

    Raises:
        NotImplementedError: if several devices are given.

    Example:
        >>> nn.parallel.scatter(torch.tensor([1, 2]), ["cpu"])
        [tensor([1, 2])]
    """
    device = _one(target_gpus, "scatter")
    return [tree_map(lambda t: t.to(device) if isinstance(t, Tensor) else t, inputs)]


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Move outputs to a device; with one device, there is one of them.

    Args:
        outputs: a list of one output.
        target_device: where it goes.
        dim: the dimension of the batch; not used with one device.

    Raises:
        NotImplementedError: if there are several outputs.

    Example:
        >>> nn.parallel.gather([torch.tensor([1, 2])], "cpu")
        tensor([1, 2])
    """
    outputs = list(outputs)
    _one(outputs, "gather")
    return tree_map(lambda t: t.to(target_device) if isinstance(t, Tensor) else t, outputs[0])


def replicate(network: Any, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """Copy a module to devices; with one device it is the module itself, in a list.

    Args:
        network: the module.
        devices: one device.
        detach: only False: there is no copy whose parameters could be cut off.

    Raises:
        NotImplementedError: if several devices are given.

    Example:
        >>> nn.parallel.replicate(nn.ReLU(), ["cpu"])
        [ReLU()]
    """
    _one(devices, "replicate")
    if detach:
        raise NotImplementedError("replicate(detach=True): with one device there is no copy; use copy.deepcopy")
    return [network]


def parallel_apply(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Any = None, devices: Any = None
) -> list[Any]:
    """Call each module with its own inputs, and return the list of outputs.

    Args:
        modules: the modules.
        inputs: for each a tuple of arguments, or one argument.
        kwargs_tup: for each a dict of keyword arguments.
        devices: one for each module; modules stay where they are.

    Example:
        >>> nn.parallel.parallel_apply([nn.ReLU(), nn.Tanh()], [torch.tensor([-1.0])] * 2)
        [tensor([0.]), tensor([-0.7616])]
    """
    named = kwargs_tup or [{}] * len(modules)
    if not len(modules) == len(inputs) == len(named) == len(devices or modules):
        raise AssertionError("The number of modules is not equal to the number of inputs")
    calls = zip(modules, inputs, named)
    return [m(*(x if isinstance(x, (list, tuple)) else (x,)), **kw) for m, x, kw in calls]
