"""Files: PyTorch's .pth read and written safely, safetensors, and writes that are whole or not there."""

from .atomic import atomic_write
from .errors import CorruptFileError, UntrustedFileWarning
from .pth import load, save

__all__ = ["CorruptFileError", "UntrustedFileWarning", "atomic_write", "load", "save"]
