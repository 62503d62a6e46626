"""`torch.multiprocessing.reductions`: how tensors are sent to other processes."""

from __future__ import annotations

from ..nn.parameter import Buffer, Parameter
from ..operators.memory.sharing import reduce_tensor, register

__all__ = ["init_reductions", "reduce_tensor"]


def init_reductions() -> None:
    """Let Python's multiprocessing send tensors as shared memory; `import torch.multiprocessing` does it.

    Example:
        >>> from rushlight.multiprocessing.reductions import init_reductions
        >>> init_reductions()
    """
    register(Parameter, Buffer)
