"""Memory formats and layouts: in which order the dims of a tensor lie in memory."""

from __future__ import annotations

from typing import Any

from .config import settings


class memory_format:  # noqa: N801 - the name users print
    """The order in which a tensor's elements lie in memory: `torch.contiguous_format`, `torch.channels_last` and so on.

    Args:
        name: its name; there are no others than those of this module.

    Example:
        >>> torch.zeros(1, 2, 3, 3).to(memory_format=torch.channels_last).stride()
        (18, 1, 6, 2)
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{settings.module}.{self.name}"

    def __reduce__(self) -> Any:
        return (by_name, (self.name,))


class layout:  # noqa: N801
    """How a tensor is stored: `torch.strided`, or `torch.sparse_coo` for sparse ones.

    Args:
        name: its name; there are no others than those of this module.

    Example:
        >>> torch.zeros(2).layout
        torch.strided
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{settings.module}.{self.name}"

    def __reduce__(self) -> Any:
        return (layout_by_name, (self.name,))


class qscheme:  # noqa: N801
    """How numbers are made integers: `torch.per_tensor_affine` and so on. Libraries compare them; no tensor has one.

    Args:
        name: its name; there are no others than those of this module.

    Example:
        >>> torch.per_tensor_affine
        torch.per_tensor_affine
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{settings.module}.{self.name}"

    def __reduce__(self) -> Any:
        return (qscheme_by_name, (self.name,))


QSCHEMES = {
    name: qscheme(name)
    for name in (
        "per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric",
        "per_channel_affine_float_qparams",
    )
}  # fmt: skip


def qscheme_by_name(name: str) -> qscheme:
    """A scheme by its name: how pickle finds it."""
    return QSCHEMES[name]


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
jagged = layout("jagged")  # of nested tensors
SPARSE = (sparse_coo, sparse_csr, sparse_csc)

LAYOUTS = (strided, sparse_coo, jagged)
# Layouts of matrices that are no `Tensor`, and those that libraries compare others with.
NAMED = (sparse_csr, sparse_csc, layout("sparse_bsr"), layout("sparse_bsc"))


def layout_by_name(name: str) -> layout:
    for known in LAYOUTS + NAMED:
        if known.name == name:
            return known
    raise NotImplementedError(f"layout {name}: rushlight has no tensors of it")


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

FORMATS = (contiguous_format, preserve_format, channels_last, channels_last_3d)
_by_name = {f.name: f for f in FORMATS}


def by_name(name: str) -> memory_format:
    return _by_name[name]


# Which axes lie outermost to innermost, by format and rank.
ORDERS = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}


def order_of(fmt: memory_format, ndim: int) -> tuple[int, ...]:
    """The axes of a channels-last tensor from the outermost to the innermost."""
    order = ORDERS[fmt]
    if ndim != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {fmt.name} format")
    return order


def dense_order(shape: tuple, shown: list[tuple[tuple, tuple]]) -> list[int]:
    """The dims of a result without gaps from the outermost to the innermost, by the (shape, strides) of its inputs.

    The first input that tells two dims apart decides; a dim along which an input repeats its elements tells nothing.
    """
    ndim = len(shape)
    steps = [_aligned(*one, ndim) for one in shown if len(one[0]) <= ndim]
    order = list(range(ndim - 1, -1, -1))  # innermost first
    for start in range(1, ndim):
        at = start
        for place in range(at - 1, -1, -1):
            further = _is_further(order[place], order[at], shape, steps)
            if further < 0:
                break
            if further > 0:  # they change places; those between them, of which nothing is known, stay
                order[place], order[at] = order[at], order[place]
                at = place
    return order[::-1]


def _aligned(shape: tuple, strides: tuple, ndim: int) -> list[int]:
    """Strides beside the dims of the result; 0 where they say nothing."""
    ahead = [0] * (ndim - len(shape))
    return ahead + [step if size > 1 else 0 for size, step in zip(shape, strides)]


def _is_further(one: int, other: int, shape: tuple, steps: list[list[int]]) -> int:
    """1 if dim `one` lies further out than `other`, -1 if further in, 0 if no input tells."""
    for step in steps:
        if step[one] and step[other]:
            if step[one] != step[other]:
                return 1 if step[one] > step[other] else -1
            if shape[one] > shape[other]:
                return 1
    return 0
