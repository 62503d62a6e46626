"""Kernels that may raise because of values: on the CPU they may only wait when it is known that they will not.

An error must come from the line that made it. So indices that come from outside of a stretch are looked at when the
kernel is met; a kernel whose values cannot be looked at ends the stretch, and is run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime.door import Kernel
from .piece import native

_NEVER = frozenset(
    "_sample_dirichlet _standard_gamma bernoulli binomial check copy_slices gather_grad index index_grad index_put "
    "index_put_into index_select gather scatter scatter_add scatter_reduce multinomial one_hot poisson resize "
    "ctc_loss ctc_loss_grad histc histogram histogram_edges searchsorted".split()
)
_INTEGERS = frozenset("floor_divide remainder fmod trunc_divide gcd lcm pow".split())


def rows_inside(arrays: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Whether the positions are rows of the table (in C: `native/bind.c`)."""
    weight, indices = arrays[0], arrays[1]
    return within(indices, weight.shape[0])


def classes_inside(arrays: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Whether targets are classes, or ignored (in C, where none is ignored: `native/bind.c`)."""
    x, target = arrays[0], arrays[1]
    if x.ndim < 2 or within(target, x.shape[1]):
        return x.ndim > 1
    ignored = target == attrs.get("ignore_index", -100)
    return within(target[~ignored], x.shape[1])


def within(a: Any, size: int) -> bool:
    """Whether positions lie in [0, size)."""
    found = None if native is None else native.within(a, size)
    if found is not None:
        return found
    return a.size == 0 or (int(a.min()) >= 0 and int(a.max()) < size)


# kernel -> which operand holds the values, and whether they are harmless
_CHECKS: dict[str, tuple[int, Callable[[Sequence[Any], dict[str, Any]], bool]]] = {
    "embedding": (1, rows_inside),
    "cross_entropy_fused": (1, classes_inside),
    "nll_loss": (1, classes_inside),
}


def look_of(kernel: Kernel, arrays: Sequence[Any]) -> tuple[int, Callable[..., bool]] | None:
    """The check of values that a kernel on the CPU needs before it may wait, or None."""
    found = _CHECKS.get(kernel.name)
    return found if found is not None and arrays[found[0]].__class__ is np.ndarray else None


def breaks(kernel: Kernel, arrays: Sequence[Any], is_made: Callable[[Any], bool]) -> bool:
    """Whether a kernel has to be run where it comes; `is_made` tells what the stretch itself made."""
    hosts = [a for a in arrays if a.__class__ is np.ndarray]
    if not hosts:
        return False
    name = kernel.name
    if name in _NEVER or name.startswith("linalg_"):
        return True
    if name in _INTEGERS:
        return all(a.dtype.kind in "iub" for a in hosts)
    found = look_of(kernel, arrays)
    return found is not None and is_made(arrays[found[0]])
