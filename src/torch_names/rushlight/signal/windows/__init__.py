"""`torch.signal.windows`: weights that fade a piece of a signal in and out."""

from .cosines import blackman, general_cosine, general_hamming, hamming, hann, nuttall
from .shapes import bartlett, cosine, exponential, gaussian, kaiser

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip
