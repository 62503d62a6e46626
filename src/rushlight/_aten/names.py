"""Which inner operator of PyTorch's each kernel of ours is, and the operators as objects."""

from __future__ import annotations

from ..base.bounded import Bounded
from ..runtime.door import KERNELS
from .bodies import find
from .overloads import PACKETS, OpOverload, OpOverloadPacket, kept

SPACE = __package__.partition(".")[0]  # the namespace of kernels that PyTorch has no operator for

_RANDOM = {"normal": "randn", "uniform": "rand"}
_THEIRS = Bounded(4096)  # by kernel: a name that is not found costs milliseconds, and a profile asks at every kernel


def packet(op: str, space: str = "aten") -> OpOverloadPacket | None:
    """An operator by its name, where something computes it or one of our kernels is it."""
    if (space, op) not in PACKETS:
        known = op in KERNELS.names() if space == SPACE else find(op) is not None or _is_kernel(op)
        if not known:
            return None
    return kept(op, space)


def _is_kernel(op: str) -> bool:
    """Whether a kernel of ours is that inner operator by its facts."""
    kernels = KERNELS.whole().values()
    return any((k.facts.aten or "").partition(" ")[0] == op for k in kernels)


def operator(name: str) -> OpOverload:
    """`operator("add.Tensor")` is `torch.ops.aten.add.Tensor`."""
    op, _, overload = name.partition(".")
    return getattr(kept(op), overload or "default")


def own(kernel: str) -> OpOverload:
    """The operator of a kernel that PyTorch has none for, `torch.ops.rushlight.name.default`."""
    return kept(kernel, SPACE).default


def aten_name(kernel: str, attrs: dict) -> str | None:
    """The inner operator that a kernel is, without its overload; None where PyTorch has none."""
    if kernel == "full":
        return {0: "zeros", 1: "ones"}.get(attrs.get("value", 2), "full")
    if kernel == "random":
        return _RANDOM.get(attrs.get("kind", "")) if attrs.get("args") == () else None
    if kernel == "fill_into" and attrs.get("value") == 0:
        return "zero_"
    found = KERNELS.get(kernel)
    said = None if found is None else found.facts.aten
    if said is None:
        return kernel if _is_theirs(kernel) else None
    said = said.partition(" ")[0]
    if "pool" in kernel and "kernel" in attrs:
        said = said.replace("2d", f"{len(attrs['kernel'])}d")
    return said or None


def _is_theirs(kernel: str) -> bool:
    """Whether PyTorch has an operator of that name which does the same."""
    known = _THEIRS.get(kernel)
    if known is None:
        known = _THEIRS[kernel] = find(kernel) is not None
    return known


def shown_name(kernel: str, attrs: dict) -> str:
    """The name of a kernel's event in a profile: "aten::mm", or our own name."""
    name = aten_name(kernel, attrs)
    return f"{SPACE}::{kernel}" if name is None else f"aten::{name}"
