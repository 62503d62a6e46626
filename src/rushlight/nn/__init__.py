"""nn: parameters, modules and everything built of them."""

# ruff: noqa: F401, F403 - names are re-exported, and listed once, in the modules' `__all__`

from ..base.signatures import show_plainly
from . import attention, functional, grad, init, modules, parallel, parameter, utils
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *modules.__all__,
    "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter",
    "attention", "functional", "grad", "init", "modules", "parallel", "parameter", "utils",
]  # fmt: skip

show_plainly([*globals().values(), *vars(init).values(), *vars(utils).values()])
del show_plainly
