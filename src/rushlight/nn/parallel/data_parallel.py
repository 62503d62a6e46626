"""DataParallel on one device: PyTorch's wrapper, which only calls the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Call a module on its own device: the form of PyTorch's wrapper for several GPUs in one process.

    PyTorch splits the batch over the GPUs. rushlight trains on several GPUs with one process for
    each (`DistributedDataParallel`), so more than one device is an error.

    Args:
        device_ids: at most one device.
        output_device: accepted, and not used.
        dim: the dimension of the batch; not used.

    Raises:
        NotImplementedError: if several devices are given.

    Example:
        >>> net = nn.DataParallel(nn.Linear(2, 3))
        >>> net(torch.zeros(4, 2)).shape
        torch.Size([4, 3])
        >>> list(net.state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError(
                f"DataParallel over {len(device_ids)} devices: rushlight does not split a batch "
                "over the GPUs of one process; start one process per GPU instead"
            )
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
