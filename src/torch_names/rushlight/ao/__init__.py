"""`torch.ao`: the place of PyTorch's quantisation, whose classes programs ask for."""

from . import quantization

__all__ = ["quantization"]
