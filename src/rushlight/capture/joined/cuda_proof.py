"""Kernels that passes made, tried before a GPU's program is captured: compiled, and compared with their parts."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import float32, from_np
from ...operators.layers.pool_kernels import max_pool
from ...operators.memory.casting import cast_op
from ...operators.memory.copies import clone_op
from ...operators.pointwise.activation import relu_grad, relu_op
from ...operators.reduce.sums import sum_op
from ...runtime.cuda.arrays import CUPY
from ...runtime.cuda.bodies.fills import row_major
from ...runtime.cuda.code.compile import NotCompiled, compiling_ahead
from ...runtime.cuda.memory.host_copies import to_host
from ...runtime.cuda.memory.streams import current
from ...runtime.door import KERNELS, run
from ..program.instructions import Instruction, Program
from ..program.slots import Slot
from ..record.recorder import WrongKernel
from . import cuda_convs as convs_cuda  # noqa: F401 - register, as the next ones do
from . import cuda_epilogues as epilogues_cuda  # noqa: F401
from . import cuda_fused as fused_cuda  # noqa: F401
from . import cuda_norms as norms_cuda  # noqa: F401
from . import cuda_row_group as row_group_cuda  # noqa: F401
from .convs import JOINED_CONVS
from .epilogues import JOINED, JOINED_HEADS
from .fused import Step
from .proof import PARTS, agrees, are_near

_JOINED = JOINED | JOINED_CONVS | JOINED_HEADS | frozenset(PARTS) | {"fused", "row_group"}
_MADE_BY_PASSES = _JOINED | {op.name for op in (relu_op, relu_grad, max_pool, sum_op, clone_op)}

# So many numbers are compared with what NumPy computes: CuPy would compile kernels of its own, 1 s each, for
# parts that run once. A generic convolution unfolds its images, which takes as many times the room as a kernel
# has elements.
_FEW, _FEW_OF_CONVS = 1 << 21, 1 << 19
_LOOKED_AT = 1 << 19  # numbers at each end of a larger result that are compared, and as many in between
_TO_DEVICE, _ON_DEVICE = 1, 3


def try_kernels(program: Program) -> None:
    """Run what passes made once: kernels cannot be compiled during a capture.

    Kernels that join several are compared with their generic bodies on the way. Whatever has to be compiled is
    compiled side by side: an instruction whose kernels are not there yet has its turn again.
    """
    kinds: dict[tuple, Instruction] = {}
    for ins in program.instructions:
        if _is_made(ins):
            kinds.setdefault(_kind(ins), ins)
    waiting = list(kinds.values())
    with compiling_ahead() as ahead:
        while waiting:
            waiting = [ins for ins in waiting if not _tried(ins)]
            ahead.wait()


def _is_made(ins: Instruction) -> bool:
    """Whether a pass made or changed it, so that its kernels may be new, or the library has a choice."""
    chosen = ins.kernel.facts.is_of("product", "convolution", "attention")
    tried = ins.name in _MADE_BY_PASSES or chosen or _is_turned(ins)
    if not tried or ins.has_effect:
        return False
    return all(s.storage.device != "cpu" for s in ins.reads)


def _tried(ins: Instruction) -> bool:
    """Try an instruction; False when one of its kernels is still being compiled."""
    try:
        _try(ins)
    except NotCompiled:
        return False
    except WrongKernel:
        raise
    except Exception as error:
        if ins.name in _JOINED:
            raise WrongKernel(f"the kernel {ins.name} made for {ins.line} fails: {error}", ins.name) from error
    return True


def _is_turned(ins: Instruction) -> bool:
    """Whether a pass may have chosen the memory order of its images."""
    return not ins.is_view and any(
        len(s.shape) == 4 and s.strides[1] == s.dtype.itemsize and not s.dense for s in (*ins.reads, *ins.outputs)
    )


def _kind(ins: Instruction) -> tuple:
    """Equal for instructions that run the same kernels in the same way."""
    operands = [(i.shape, i.strides, i.dtype) if i.__class__ is Slot else repr(i) for i in ins.inputs]
    return (ins.name, repr(sorted(ins.attrs.items())), *operands)


def _try(ins: Instruction) -> None:
    """Run an instruction on random numbers, and a joined one beside its parts."""
    examples = {s.number: _example(s) for s in ins.reads}
    arrays = [examples[i.number] if i.__class__ is Slot else i for i in ins.inputs]
    if ins.name in PARTS:
        try:
            right = agrees(ins.name, arrays, ins.attrs)
        except NotCompiled:  # perhaps only its parts are missing: start the compilation of its own kernels, too
            run(ins.kernel, cupy.ndarray, arrays, ins.attrs)
            raise
    else:
        out = run(ins.kernel, cupy.ndarray, arrays, ins.attrs)
        right = ins.name not in _JOINED or _agrees(ins, arrays, out if ins.several else (out,))
    if not right:
        raise WrongKernel(f"the kernel {ins.name} made for {ins.line} disagrees with its parts", ins.name)


def _agrees(ins: Instruction, arrays: list[Any], outs: tuple) -> bool:
    """Whether results are those of the parts: NumPy's where that is quick, else the kernels that eager runs, or CuPy's."""
    xp: Any = CUPY
    if sum(s.size for s in ins.reads) <= (_FEW_OF_CONVS if ins.name in JOINED_CONVS else _FEW):
        xp, outs = np, tuple([to_host(a) for a in outs])
        arrays = [_on_host(i) if i.__class__ is Slot else i for i in ins.inputs]
    attrs: dict[str, Any] = {k: "float32" if v == "bfloat16" else v for k, v in ins.attrs.items()}
    if xp is CUPY and "steps" in attrs:
        values = _step_by_step(arrays, attrs["steps"])
        chosen = [values[i] for i in attrs["outs"]] if ins.several else values[-1:]
        return all(_agree(xp, a, b) for a, b in zip(outs, chosen))  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        expected = ins.kernel.generic(xp, *[_wide(a) for a in arrays], **attrs)
        pairs = zip(outs, expected if ins.several else (expected,))
        return all(_agree(xp, a, b) for a, b in pairs)


def _step_by_step(arrays: list[Any], steps: tuple[Step, ...]) -> list[Any]:
    """The values of a joined kernel's steps by the kernels that eager runs, which are compiled already."""
    values: list[Any] = []
    for step in steps:
        held = {"in": arrays, "step": values}
        given = [v if kind == "number" else held[kind][v] for kind, v in step.operands]
        values.append(run(KERNELS[step.kernel], cupy.ndarray, given, dict(step.attrs)))
    return values


# -- numbers to try with ----------------------------------------------------------------------------


def _pattern(slot: Slot) -> np.ndarray:
    """Numbers that a slot's memory holds, over and over: small random ones, in any order."""
    random = np.random.RandomState(slot.number)
    if slot.dtype.kind in "fV":  # few digits: sums are exact in any dtype
        return (np.round(random.randn(4093) * 8) / 8).astype(slot.dtype)
    if slot.dtype == np.uint8 and len(slot.shape) > 1:  # places of maxima, some of them nowhere
        return random.choice([0, 1, 255], 4093).astype(np.uint8)
    return np.zeros(4093, slot.dtype)


def _example(slot: Slot) -> Any:
    """An array that lies as a slot does; copies on the device spread the pattern, which needs no kernel."""
    low, span = slot.extent()
    some = _pattern(slot)
    memory = cupy.ndarray((max(span, some.nbytes),), np.uint8)
    start, done = memory.data.ptr, some.nbytes
    runtime.memcpyAsync(start, some.ctypes.data, done, _TO_DEVICE, current.ptr)
    while done < span:
        more = min(done, span - done)
        runtime.memcpyAsync(start + done, start, more, _ON_DEVICE, current.ptr)
        done += more
    return cupy.ndarray(slot.shape, slot.dtype, memory.data - low, slot.strides)


def _on_host(slot: Slot) -> np.ndarray:
    """The same array in host memory."""
    low, span = slot.extent()
    memory = np.resize(_pattern(slot).view(np.uint8), max(span, 1))
    return np.ndarray(slot.shape, slot.dtype, memory, -low, slot.strides)


# -- results ------------------------------------------------------------------------------------------


def _wide(a: Array) -> Any:
    """bfloat16 as float32, which array libraries know better; and on the host, where it is slow, float16."""
    if isinstance(a, np.ndarray):
        return a.astype(np.float32) if a.dtype.kind in "fV" and a.itemsize == 2 else a
    if not isinstance(a, cupy.ndarray) or a.dtype.kind != "V":
        return a
    attrs = {"to": float32, "source": from_np(a.dtype)}
    return run(cast_op.kernel, cupy.ndarray, (a,), attrs)


def _looked_at(a: Any) -> np.ndarray:
    """A result in host memory; of a large one both ends, where kernels go wrong, and some numbers in between."""
    flat = to_host(row_major(a)).reshape(-1)
    if flat.size <= 4 * _LOOKED_AT:
        return flat
    between = flat[_LOOKED_AT : -_LOOKED_AT : flat.size // _LOOKED_AT | 1]  # odd: in no step with rows
    return np.concatenate([flat[:_LOOKED_AT], between, flat[-_LOOKED_AT:]])


def _agree(xp: ArrayModule, a: Array, b: Array) -> bool:
    tolerance = 3e-2 if a.dtype.itemsize == 2 else 1e-3 if a.dtype.itemsize == 4 else 1e-8
    b = b if b.__class__ is cupy.ndarray else xp.asarray(b)
    if xp is CUPY and a.shape == b.shape:
        xp, a, b = np, _looked_at(a), _looked_at(b)  # type: ignore[assignment]
    if a.dtype == np.uint8:  # places of maxima: rounding makes some numbers equal
        return a.shape == b.shape and (not a.size or bool((a == b).mean() > 0.9))
    return are_near(xp, a, b, tolerance, _wide)
