"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

def get_image_backend() -> _b.str:
    """What reads picture files."""
def set_image_backend(backend: _b.str) -> None:
    """Choose what reads picture files: Pillow is the only choice."""
from . import datasets as datasets
from . import io as io
from . import models as models
from . import ops as ops
from . import transforms as transforms
from . import tv_tensors as tv_tensors
from . import utils as utils

__version__: _b.str
