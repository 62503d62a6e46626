"""Kernels that write into given memory on the CPU: what lets a replay run without allocating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import devices
from ...runtime.cpu import numpy_body
from ...runtime.cpu.engine import active
from ...runtime.cpu.joins import is_native as is_native
from ..joined.sequences import embedding_add_into, rotary_into
from ..program.instructions import Instruction

_TABLE: dict[str, Into] = {}


class Into:
    """How one kernel computes into `out`: `body(*inputs, out=..., **attrs)` or code of its own."""

    def __init__(self, body: Callable[..., Any], accepts: Callable[[Instruction], bool]) -> None:
        self.body = body
        self.accepts = accepts

    def lines(self, low: Any, ins: Instruction, operands: list[str], outs: list[str]) -> list[str]:
        call = low._name(self.body, f"{ins.name}_")
        attrs = [f"{k}={low.operand(v)}" for k, v in ins.attrs.items()]
        out = outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
        return [f"{call}({', '.join([*operands, *attrs, f'out={out}'])})"]


class NativeInto:
    """A kernel of the CPU engine, bound to the arrays its results go into."""

    def bound(self, low: Any, ins: Instruction) -> Any:
        """The kernel, and the arrays into which it writes."""
        arrays = tuple([low.array(s) for s in ins.outputs])
        return active().into(ins.name, numpy_body(ins.kernel), arrays)  # type: ignore[union-attr]

    def lines(self, low: Any, ins: Instruction, operands: list[str], outs: list[str]) -> list[str]:
        call = self.bound(low, ins)
        attrs = [f"{k}={low.operand(v)}" for k, v in ins.attrs.items()]
        return [f"{low._name(call, f'{ins.name}_')}({', '.join([*operands, *attrs])})"]


_NATIVE_INTO = NativeInto()


def find(ins: Instruction) -> Into | NativeInto | None:
    """The way to compute an instruction into given memory, or None.

    A kernel of the CPU engine comes before NumPy's.
    """
    if is_native(ins.name):
        return _NATIVE_INTO if _takes_memory(ins) else None
    found = _TABLE.get(ins.name)
    if found is None:
        ufunc = getattr(ins.kernel.generic, "ufunc", None)
        if not isinstance(ufunc, str):
            return None
        found = _TABLE[ins.name] = Into(getattr(np, ufunc), _fits)
    return found if found.accepts(ins) else None


def _takes_memory(ins: Instruction) -> bool:
    """Whether the engine can be given the memory of an instruction's results."""
    if ins.writes or not 0 < len(ins.outputs) <= 4 or ins.name in devices.overrides("cpu"):
        return False
    return hasattr(active(), "into") and not any(
        o.storage.number in {s.storage.number for s in ins.reads} for o in ins.outputs
    )


def _fits(ins: Instruction) -> bool:
    """Whether a ufunc's own result dtype is the slot's, so that `out=` changes nothing."""
    return not ins.writes and ins.outputs[0].dtype.kind != "V"


def register(name: str, accepts: Callable[[Instruction], bool] = _fits) -> Callable:
    """Give the kernel `name` a body with `out=`."""

    def add(body: Callable[..., Any]) -> Callable[..., Any]:
        _TABLE[name] = Into(body, accepts)
        return body

    return add


def _float_dense(ins: Instruction) -> bool:
    """float32 or float64 throughout, and a dense result: what BLAS writes directly."""
    out = ins.outputs[0]
    return out.dtype.char in "fd" and all(s.dtype == out.dtype for s in ins.reads)


@register("relu")
def _relu(x: Any, *, out: Any) -> None:
    np.maximum(x, 0, out=out)


@register("relu_grad")
def _relu_grad(gy: Any, y: Any, *, out: Any) -> None:
    np.copyto(out, gy)
    np.copyto(out, 0, where=y <= 0)


@register("mm", _float_dense)
def _mm(a: Any, b: Any, *, out: Any) -> None:
    np.matmul(a, b, out=out)


@register("mm_tn", _float_dense)
def _mm_tn(a: Any, b: Any, *, out: Any) -> None:
    np.matmul(a.T, b, out=out)


def _clone(x: Any, *, out: Any, order: Any = None) -> None:
    np.copyto(out, x)


register("clone")(_clone)
register("snapshot")(_clone)
register("embedding_add")(embedding_add_into)
register("rotary")(rotary_into)
