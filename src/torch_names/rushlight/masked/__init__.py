"""`torch.masked`: reductions that leave elements out, and tensors that carry their mask."""

from . import calls as _calls  # noqa: F401 - teaches masked tensors the functions
from .moments import mean, std, var
from .reductions import (
    _canonical_dim,  # noqa: F401 - names that libraries take
    _combine_input_and_mask,  # noqa: F401
    _input_mask,  # noqa: F401
    _output_mask,  # noqa: F401
    _reduction_identity,  # noqa: F401
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    sum,
)
from .sparse import where as _where  # noqa: F401
from .tensors import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum",
    "is_masked_tensor", "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip
