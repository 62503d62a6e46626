"""Kernels that passes made, tried before a GPU's program is captured: compiled, and compared with their parts."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ...backend.cuda.arrays import CUPY
from ...backend.door import KERNELS, run
from ...base.dtypes import from_np
from ..program import Instruction, Program, Slot
from ..record import WrongKernel
from . import (  # noqa: F401 - register
    casts,
    conv_relu,
    convs_cuda,
    epilogues_cuda,
    fused_cuda,
    norms_cuda,
)
from .convs import JOINED_CONVS
from .epilogues import JOINED
from .parts import PARTS, agrees

_JOINED = JOINED | JOINED_CONVS | frozenset(PARTS) | {"fused"}
_MADE_BY_PASSES = _JOINED | {"relu", "relu_grad", "max_pool", "sum", "clone"}


def try_kernels(program: Program) -> None:
    """Run what passes made once: kernels cannot be compiled during a capture.

    Kernels that join several are compared with their generic bodies on the way.
    """
    tried: set[tuple] = set()
    for ins in program.instructions:
        if not (ins.name in _MADE_BY_PASSES or _is_turned(ins)) or ins.has_effect:
            continue
        if any(s.storage.device == "cpu" for s in ins.reads):
            continue
        kind = _kind(ins)
        if kind in tried:
            continue
        tried.add(kind)
        try:
            _try(ins)
        except WrongKernel:
            raise
        except Exception as error:
            if ins.name in _JOINED:
                raise WrongKernel(
                    f"the kernel {ins.name} made for {ins.line} fails: {error}", ins.name
                ) from error


def _is_turned(ins: Instruction) -> bool:
    """Whether a pass may have chosen the memory order of its images."""
    return not ins.is_view and any(
        len(s.shape) == 4 and s.strides[1] == s.dtype.itemsize and not s.dense
        for s in (*ins.reads, *ins.outputs)
    )


def _kind(ins: Instruction) -> tuple:
    """Equal for instructions that run the same kernels in the same way."""
    operands = [
        (i.shape, i.strides, i.dtype) if i.__class__ is Slot else repr(i) for i in ins.inputs
    ]
    return (ins.name, repr(sorted(ins.attrs.items())), *operands)


def _try(ins: Instruction) -> None:
    """Run an instruction on random numbers, and a joined one beside its parts."""
    arrays = [_example(i) if i.__class__ is Slot else i for i in ins.inputs]
    if ins.name in PARTS:
        if not agrees(ins.name, arrays, ins.attrs):
            raise WrongKernel(
                f"the kernel {ins.name} made for {ins.line} disagrees with its parts", ins.name
            )
        return
    out = run(ins.kernel, cupy.ndarray, arrays, ins.attrs)
    if ins.name not in _JOINED:
        return
    attrs = {k: "float32" if v == "bfloat16" else v for k, v in ins.attrs.items()}
    expected = ins.kernel.generic(CUPY, *[_wide(a) for a in arrays], **attrs)
    pairs = zip(out if ins.several else (out,), expected if ins.several else (expected,))
    if not all(_agree(a, b) for a, b in pairs):
        raise WrongKernel(
            f"the kernel {ins.name} made for {ins.line} disagrees with its parts", ins.name
        )


def _example(slot: Slot) -> Any:
    """Numbers laid out as a slot is: small random ones, over and over."""
    low, span = slot.extent()
    memory = cupy.zeros(max(span, 1), np.uint8)
    array = cupy.ndarray(slot.shape, slot.dtype, memory.data - low, slot.strides)
    if slot.dtype.kind in "fV" and slot.size:
        some = np.random.RandomState(slot.number).randn(4093)
        some = np.round(some * 8).astype(np.float32) / 8  # few digits: sums are exact in any dtype
        values = cupy.asarray(some)[cupy.arange(slot.size) % some.size].reshape(slot.shape)
        run(KERNELS["copy_into"], cupy.ndarray, (array, _cast(values, slot.dtype)), {})
    elif slot.dtype == np.uint8 and slot.size:  # places of maxima, some of them nowhere
        some = np.random.RandomState(slot.number).choice([0, 1, 255], slot.size).astype(np.uint8)
        array[...] = cupy.asarray(some.reshape(slot.shape))
    return array


def _cast(a: Any, dtype: np.dtype) -> Any:
    """By our own kernel: CuPy does not know bfloat16 well."""
    if a.dtype == dtype:
        return a
    attrs = {"to": from_np(dtype), "source": from_np(a.dtype)}
    return run(KERNELS["cast"], cupy.ndarray, (a,), attrs)


def _wide(a: Any) -> Any:
    wide = isinstance(a, cupy.ndarray) and a.dtype.kind == "V"
    return _cast(a, np.dtype(np.float32)) if wide else a


def _agree(a: Any, b: Any) -> bool:
    tolerance = 3e-2 if a.dtype.itemsize == 2 else 1e-3 if a.dtype.itemsize == 4 else 1e-8
    x, y = _wide(a).astype(np.float64), cupy.asarray(b).astype(np.float64)
    if x.shape != y.shape:
        return False
    if not x.size:
        return True
    if a.dtype == np.uint8:  # places of maxima: rounding makes some numbers equal
        return bool((x == y).mean() > 0.9)
    near = tolerance * cupy.abs(y) + tolerance * 10 * cupy.maximum(cupy.abs(y).mean(), 1e-6)
    return bool(((cupy.abs(x - y) <= near) | (cupy.isnan(x) & cupy.isnan(y))).all())
