"""`functorch.experimental`: names that moved to `torch.func`."""

from ..func import functionalize, replace_all_batch_norm_modules_

__all__ = ["functionalize", "replace_all_batch_norm_modules_"]
