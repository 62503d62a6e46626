"""Nested tensors in files: how PyTorch describes them, and how they are made again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any

from ..core.tensor import Tensor
from .budget import Noted
from .errors import CorruptFileError

_HOME = "torch.nested._internal.nested_tensor"


def described(t: Any, name: Callable[[str, str], Any]) -> tuple:
    """The function and the arguments that a file holds for a nested tensor."""
    values = t.values().detach()
    if not hasattr(t, "offsets"):
        return name("torch._utils", "_rebuild_nested_tensor"), (values, *_places(t))
    fields = {
        "values": values,
        "offsets": t.offsets().detach(),
        "lengths": t.lengths(),
        "_ragged_idx": t._ragged_idx,
        "requires_grad": t.requires_grad,
    }
    made_by: tuple = (name(_HOME, "_rebuild_njt"), name(_HOME, "NestedTensor"), (fields,), {})
    return name("torch._tensor", "_rebuild_from_type_v2"), made_by


def _places(t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sizes, strides and beginnings of the parts."""
    from ..operators.create.from_data import tensor

    sizes = [list(part.shape) for part in t.unbind()]
    strides = [[prod(size[i + 1 :]) for i in range(len(size))] for size in sizes]
    starts = [sum(map(prod, sizes[:i])) for i in range(len(sizes))]
    return tensor(sizes), tensor(strides), tensor(starts)


def jagged(fields: Any) -> Any:
    """A nested tensor of values and offsets, after both were checked."""
    from ..nested import nested_tensor_from_jagged

    if type(fields) is not dict:
        raise CorruptFileError("the file describes a nested tensor wrongly")
    values, offsets, lengths = (fields.get(k) for k in ("values", "offsets", "lengths"))
    at = fields.get("_ragged_idx", 1)
    if not isinstance(values, Tensor) or not _fit(values, offsets, lengths, at):
        raise CorruptFileError("the file describes a nested tensor wrongly")
    made = nested_tensor_from_jagged(values, offsets, lengths, jagged_dim=at)
    return made.requires_grad_(fields.get("requires_grad") is True)


def _fit(values: Tensor, offsets: Any, lengths: Any, at: Any) -> bool:
    """Whether the parts lie inside the values."""
    if type(at) is not int or not 1 <= at <= values.dim():
        return False
    for given in (offsets, lengths):
        if given is not None and not _is_row(given):
            return False
    starts = [] if offsets is None else offsets.tolist()
    if len(starts) < 2 or starts[0] < 0 or any(a > b for a, b in pairwise(starts)):
        return False
    if lengths is not None:
        counts = lengths.tolist()
        ends = [a + n for a, n in zip(starts, counts)]
        return len(counts) == len(starts) - 1 and min(counts) >= 0 and max(ends) <= values.shape[at - 1]
    return starts[-1] <= values.shape[at - 1]


def _is_row(t: Tensor) -> bool:
    return isinstance(t, Tensor) and t.dim() == 1 and t.dtype.name in ("int32", "int64")


def strided(buffer: Any, sizes: Any, strides: Any, starts: Any) -> Any:
    """A nested tensor of parts that lie one behind another."""
    from ..nested import as_nested_tensor

    rows = [t.tolist() if isinstance(t, Tensor) and t.dtype.name == "int64" else None for t in (sizes, strides, starts)]
    if not isinstance(buffer, Tensor) or buffer.dim() != 1 or None in rows:
        raise CorruptFileError("the file describes a nested tensor wrongly")
    parts = []
    for size, stride, start in zip(*rows):
        if type(size) is not list or type(stride) is not list or len(size) != len(stride):
            raise CorruptFileError("the file describes a nested tensor wrongly")
        if min([start, *size, *stride]) < 0:
            raise CorruptFileError("the file describes a nested tensor wrongly")
        if 0 not in size and start + sum((n - 1) * s for n, s in zip(size, stride)) >= buffer.numel():
            raise CorruptFileError("a part of a nested tensor reaches beyond its buffer")
        parts.append(buffer.as_strided(size, stride, start) if 0 not in size else buffer.new_empty(size))
    return as_nested_tensor(parts)


def _never_called(*args: object) -> Any:
    raise CorruptFileError("the file calls the class of nested tensors")


REBUILDERS: dict[str, Callable[..., Any]] = {
    f"{_HOME}._rebuild_njt": jagged,
    f"{_HOME}.NestedTensor": _never_called,  # the type that stands beside the function
    "torch._utils._rebuild_nested_tensor": strided,
    "torch._dynamo.decorators._DimRange": Noted,
}
