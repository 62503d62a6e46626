"""`torch.cuda.amp.common`: whether mixed precision on a GPU is out of the question."""

from .._gpus import is_available

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU that could do it.

    Example:
        >>> from rushlight.cuda.amp.common import amp_definitely_not_available
        >>> amp_definitely_not_available() != torch.cuda.is_available()
        True
    """
    return not is_available()
