"""Copies that are made over and over between the same places: several arrays in one launch, prepared in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy

from ....base.arrays import DeviceArray
from ..code.launch import Result
from ..code.sources import blocks_for, load

MOST = 4  # arrays of one launch


def _grid(nbytes: int, count: int = 1) -> tuple[int, int, int]:
    return (max(1, blocks_for(-(-nbytes // 16))), count, 1)


def copies_into(targets: Sequence[Any]) -> Callable[..., None] | None:
    """A launch that copies dense arrays, one for each of `targets`, to their memory.

    None where a launch cannot: host memory, gaps, or too many arrays.
    """
    n = len(targets)
    if not 1 <= n <= MOST or not all(a.__class__ is cupy.ndarray for a in targets):
        return None
    if not all(a._c_contiguous for a in targets):
        return None
    rest = (0,) * (MOST - n)
    places, sizes = [a.data.ptr for a in targets], [a.nbytes for a in targets]
    constants = (*rest, *places, *rest, *sizes, *rest)
    launch = load("copies.cu", "copy_four")
    return launch.fixed(_grid(max(sizes), n), 256, *constants, head=n)


def copies_between(arrays: Sequence[Any]) -> Callable[..., None] | None:
    """A launch that copies arrays like these, whose memory has no gaps, to others that are laid out as they are.

    It takes four sources and four targets, None for those that are not there; None for what a launch cannot do.
    """
    n = len(arrays)
    if not 1 <= n <= MOST or not all(a.__class__ is cupy.ndarray for a in arrays):
        return None
    sizes = [a.nbytes for a in arrays]
    launch = load("copies.cu", "copy_four")
    return launch.fixed(_grid(max(sizes), n), 256, *sizes, *(0,) * (MOST - n), head=2 * MOST)


def copies_of(a: DeviceArray) -> Callable[[Any], Any] | None:
    """A launch that gives new copies of dense arrays like `a`; None for others."""
    if a.__class__ is not cupy.ndarray or not a._c_contiguous or not a.size:
        return None
    results = (Result(1, a.shape, a.dtype),)
    launch = load("copies.cu", "copy_one")
    return launch.prepared(_grid(a.nbytes), 256, results, a.nbytes, head=2)
