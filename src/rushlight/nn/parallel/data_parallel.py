"""DataParallel on one device: PyTorch's wrapper, which passes everything through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls the wrapped module on its own device.

    PyTorch splits the batch over several GPUs in one process. rushlight trains on several GPUs with
    one process each, so asking for more than one device here raises instead of quietly using one.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
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
