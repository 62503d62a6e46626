"""`torch.utils.tensorboard`: a SummaryWriter that TensorBoard reads."""

from .writer import SummaryWriter

__all__ = ["SummaryWriter"]
