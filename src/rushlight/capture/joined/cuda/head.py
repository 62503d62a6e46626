"""A classifier's head on a GPU: our own kernels, or the parts where they refuse what they are given."""

from __future__ import annotations

from typing import Any

import cupy

from ....runtime.cuda.small import head
from ....runtime.door import KERNELS, kernel_for, run
from ..head import step_by_parts, whole_by_parts


def _part(name: str, *arrays: Any, **attrs: Any) -> Any:
    return run(KERNELS[name], cupy.ndarray, arrays, attrs)


@kernel_for("cuda", "head_step")
def head_step(*arrays: Any, **attrs: Any) -> Any:
    """The loss, its gradients by the logits and by the layer's input."""
    out = head.step(*arrays, **attrs)
    return step_by_parts(_part, *arrays, **attrs) if out is NotImplemented else out


@kernel_for("cuda", "head_whole")
def head_whole(*arrays: Any, **attrs: Any) -> Any:
    """The loss, its gradients by the layer's input, weight and bias."""
    out = head.whole(*arrays, **attrs)
    return whole_by_parts(_part, *arrays, **attrs) if out is NotImplemented else out
