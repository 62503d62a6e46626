"""Views as copies: `view_copy`, `permute_copy` and the like, whose results do not share memory with the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.formats import contiguous_format
from ...base.shapes import whole, wrap_dim
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ..memory.copies import detach
from .diagonal import diagonal
from .dim_order import permute, t, transpose
from .expand import squeeze, unsqueeze
from .split import split_with_sizes, unbind
from .strided import as_strided
from .windows import select


def _alias(input: Tensor) -> Tensor:
    return input[...]


def _slice(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    first, last = [None if i is None else whole(i, name) for name, i in (("start", start), ("end", end))]
    at = wrap_dim(dim, input._a.ndim)
    if whole(step, "step") <= 0:
        raise RuntimeError("slice step must be positive")
    return input[(slice(None),) * at + (slice(first, last, step),)]


_VIEWS: dict[str, Callable[..., Any]] = {
    "alias": _alias,
    "as_strided": as_strided,
    "detach": detach,
    "diagonal": diagonal,
    "expand": lambda input, size, implicit=False: input.expand(size),
    "permute": permute,
    "select": select,
    "slice": _slice,
    "split": lambda input, split_size, dim=0: input.split(split_size, dim),
    "split_with_sizes": split_with_sizes,
    "squeeze": squeeze,
    "t": t,
    "transpose": transpose,
    "unbind": unbind,
    "unfold": lambda input, dimension, size, step: input.unfold(dimension, size, step),
    "unsqueeze": unsqueeze,
    "view": lambda input, size: input.view(size),
}


# Where there is no function of that name whose example could be read.
_EXAMPLES = {
    "alias": "\n\nExample:\n    >>> torch.alias_copy(torch.arange(2))\n    tensor([0, 1])\n",
    "slice": "\n\nExample:\n    >>> torch.slice_copy(torch.arange(5), 0, 1, 3)\n    tensor([1, 2])\n",
}


def _copying(name: str, view: Callable[..., Any]) -> None:
    def copy(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        shown = view(input, *args, **kwargs)
        if isinstance(shown, tuple):
            parts = tuple(part.clone(memory_format=contiguous_format) for part in shown)
            if out is not None and len(out) != len(parts):
                raise RuntimeError(
                    f"{name}_copy_out expected an out= argument of size {len(parts)}, got size {len(out)}"
                )
            said = into_same(out, parts)
            return said if out is None else None
        return into_same(out, shown.clone(memory_format=contiguous_format))

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"As `{name}`, but the result is a copy and not a view.{_EXAMPLES.get(name, '')}"
    public("torch")(copy)


for _name, _view in _VIEWS.items():
    _copying(_name, _view)
