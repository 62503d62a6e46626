"""ReduceOp: how the tensors of several ranks become one, and the arithmetic of it on host arrays."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

__all__ = ["ReduceOp", "combine", "finish", "named", "prepare", "reduce_op"]


class _ReduceKind(enum.IntEnum):
    """PyTorch's reductions, with its numbers."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class ReduceOp:
    """How the tensors of several ranks become one: `SUM`, `AVG`, `PRODUCT`, `MIN`, `MAX`, `BAND`, `BOR`, `BXOR`, `PREMUL_SUM`.

    Args:
        kind: one of these.
        factor: for `PREMUL_SUM`: what inputs are multiplied by first.

    Example:
        >>> torch.distributed.ReduceOp.MAX.name
        'MAX'
    """

    __slots__ = ("factor", "kind")
    RedOpType = _ReduceKind
    kind: _ReduceKind

    SUM: ReduceOp
    AVG: ReduceOp
    PRODUCT: ReduceOp
    MIN: ReduceOp
    MAX: ReduceOp
    BAND: ReduceOp
    BOR: ReduceOp
    BXOR: ReduceOp
    PREMUL_SUM: ReduceOp

    def __init__(self, kind: Any = _ReduceKind.SUM, factor: Any = None) -> None:
        self.kind = kind.kind if isinstance(kind, ReduceOp) else _ReduceKind(kind)
        self.factor = factor

    @property
    def op(self) -> _ReduceKind:
        """The kind alone."""
        return self.kind

    @property
    def name(self) -> str:
        """The name of the kind."""
        return self.kind.name

    @property
    def value(self) -> int:
        """PyTorch's number of the kind."""
        return self.kind.value

    def __int__(self) -> int:
        return self.kind.value

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReduceOp):
            return self.kind is other.kind and self.factor is other.factor
        return isinstance(other, int) and self.kind == other

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"<RedOpType.{self.kind.name}: {self.kind.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.kind.name}"

    def __reduce__(self) -> Any:
        return (ReduceOp, (int(self.kind), self.factor))


for _kind in _ReduceKind:
    setattr(ReduceOp, _kind.name, ReduceOp(_kind))

SUM, AVG, PRODUCT, MIN, MAX = (_ReduceKind.SUM, _ReduceKind.AVG, _ReduceKind.PRODUCT, _ReduceKind.MIN, _ReduceKind.MAX)
BAND, BOR, BXOR, PREMUL_SUM = (_ReduceKind.BAND, _ReduceKind.BOR, _ReduceKind.BXOR, _ReduceKind.PREMUL_SUM)

_BY_NAME = {
    "sum": SUM, "avg": AVG, "mean": AVG, "product": PRODUCT, "min": MIN, "max": MAX,
    "band": BAND, "bor": BOR, "bxor": BXOR,
}  # fmt: skip

# What the truth of several ranks comes to: PyTorch's NCCL reduces bools as one byte, by max and min.
_OF_BOOLS: dict[_ReduceKind, Callable[..., Any]] = {
    SUM: np.logical_or, MAX: np.logical_or, BOR: np.logical_or, BXOR: np.logical_xor,
    PRODUCT: np.logical_and, MIN: np.logical_and, BAND: np.logical_and,
}  # fmt: skip
_OF_NUMBERS: dict[_ReduceKind, Callable[..., Any]] = {
    SUM: np.add, AVG: np.add, PREMUL_SUM: np.add, PRODUCT: np.multiply, MIN: np.minimum, MAX: np.maximum,
    BAND: np.bitwise_and, BOR: np.bitwise_or, BXOR: np.bitwise_xor,
}  # fmt: skip


def reduce_op(op: Any) -> ReduceOp:
    """What callers may pass: a ReduceOp, its number, or a name of the functional collectives."""
    if isinstance(op, ReduceOp):
        return op
    if isinstance(op, str) and op.lower() in _BY_NAME:
        return ReduceOp(_BY_NAME[op.lower()])
    if isinstance(op, int) and not isinstance(op, bool):
        return ReduceOp(op)
    raise TypeError(f"expected a ReduceOp, got {type(op).__name__} {op!r}")


def named(op: ReduceOp) -> str:
    return f"ReduceOp.{op.kind.name}"


def check(op: ReduceOp, dtype: np.dtype) -> None:
    """Refuse what has no meaning for a dtype."""
    kind, of = op.kind, dtype.kind
    if of == "c" and kind not in (SUM, AVG, PREMUL_SUM):
        raise ValueError(f"all_reduce does not support {op} on complex tensors")
    if kind in (BAND, BOR, BXOR) and of not in "biu":
        raise RuntimeError(f"Cannot use {named(op)} with non-integral dtype")
    if dtype == np.bool_ and kind in (AVG, PREMUL_SUM):
        raise TypeError(f"Cannot use {named(op)} with Boolean inputs")
    if kind is PREMUL_SUM and op.factor is None:
        raise ValueError("ReduceOp.PREMUL_SUM needs a factor: torch.distributed._make_nccl_premul_sum")


def prepare(op: ReduceOp, a: np.ndarray) -> np.ndarray:
    """What a rank brings: with PREMUL_SUM its tensor times the factor."""
    if op.kind is not PREMUL_SUM:
        return a
    factor = op.factor
    if hasattr(factor, "numpy"):
        factor = factor.detach().cpu().numpy()
    return (a * np.asarray(factor).astype(a.dtype)).astype(a.dtype, copy=False)


def finish(op: ReduceOp, a: np.ndarray, size: int) -> None:
    """What is left after the sum: AVG divides in place, integers towards zero as NCCL does."""
    if op.kind is not AVG:
        return
    if a.dtype.kind in "iu":
        a[...] = np.sign(a) * (np.abs(a) // size) if a.dtype.kind == "i" else a // size
    else:
        np.divide(a, a.dtype.type(size), out=a)


def combine(op: ReduceOp, parts: Iterable[np.ndarray], out: np.ndarray) -> np.ndarray:
    """The ranks' arrays as one, in the order given, in `out`; 16 bits and fewer are summed in float32.

    One rounding at the end instead of one for each rank, and the same bits on every rank. `out` may be the first array,
    and the others may be overwritten when the next is asked for.
    """
    fold = (_OF_BOOLS if out.dtype == np.bool_ else _OF_NUMBERS)[op.kind]
    small = out.dtype.kind not in "biuc" and out.dtype.itemsize < 4
    rest = (part.astype(np.float32) for part in parts) if small else iter(parts)
    total = np.empty(out.shape, np.float32) if small else out
    so_far, count = next(rest), 1
    with np.errstate(all="ignore"):  # nobody warns of MPI's own sums
        for part in rest:
            so_far = fold(so_far, part, out=total)
            count += 1
        finish(op, total, count)
        if small:
            out[...] = total
    return out
