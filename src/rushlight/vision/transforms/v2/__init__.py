"""transforms.v2: the transforms under their newer names, and those that only v2 has."""

from __future__ import annotations

from ..transforms import *  # noqa: F403 - the list of names is transforms.__all__
from ..transforms import __all__ as _names
from . import functional
from ._mixing import CutMix, MixUp
from ._newer import RGB, ConvertDtype, GaussianNoise, Identity, ToDtype, ToImage, ToPureTensor

__all__ = [  # noqa: PLE0604
    *_names, "CutMix", "MixUp", "RGB", "ConvertDtype", "GaussianNoise", "Identity", "ToDtype", "ToImage",
    "ToPureTensor", "functional",
]  # fmt: skip
