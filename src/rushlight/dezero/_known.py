"""The classes that C answers for, told to it once all of them are complete."""

from __future__ import annotations

from typing import Any

from . import _bare, _direct, core, layers
from . import functions_nn as nn
from ._arrays import gpu_types
from ._graph import Call
from ._quick import ENTROPY, LINEAR, SINGLE, quick
from ._traced import Traced


def know_all() -> None:
    """Tell C of the classes: what changes in them from now on is somebody's."""
    functions: list[tuple[type, int, Any]]
    functions = [(nn.Linear, LINEAR, None), (nn.SoftmaxCrossEntropy, ENTROPY, None)]
    functions += [(cls, SINGLE, cls._kernels[0]) for cls in (nn.Sigmoid, nn.ReLU)]
    quick.know(
        functions, [core.Variable, core.Parameter, layers.Weight],
        gpu_types=gpu_types, Call=Call, Variable=core.Variable, Layer=layers.Layer,
        params=layers.Layer.params, cleargrad=Traced.cleargrad, entropy_attrs=_direct.MEAN_ALONE,
        over=core.over, as_array=core.as_array, turned=_direct.turned, lent=_bare.lent, is_shared=_bare.is_shared,
    )  # fmt: skip
