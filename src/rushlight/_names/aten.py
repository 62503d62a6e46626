"""`torch.ops.aten`: PyTorch's inner names of operators, answered by the functions and methods users call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .refusal import refuser

ROOT = __package__.rpartition(".")[0]


class Overloads:
    """An operator by its inner name: called, or as one of its overloads, `aten.add.Tensor`.

    All overloads are one function here; each is an object of its own, since libraries keep them as keys.
    """

    def __init__(self, name: str, body: Callable[..., Any]) -> None:
        self.__name__, self._body = name, body

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._body(*args, **kwargs)

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("_"):
            raise AttributeError(f"{self!r} has no attribute {overload!r}", name=overload, obj=self)
        found = Overloads(f"{self.__name__}.{overload}", self._body)
        setattr(self, overload, found)
        return found

    def __repr__(self) -> str:
        return f"aten.{self.__name__}"


def find(op: str) -> Overloads | None:
    """The overloads of an operator that a function, a method or one of the bodies below does; or None."""
    root = sys.modules[ROOT]
    for body in (_OWN.get(op), *_public(root, op)):
        if callable(body):
            return Overloads(op, body)
    return None


def _public(root: Any, op: str) -> list[Any]:
    """What users call by that name, where they do. Private names of ours are not PyTorch's."""
    if op.startswith("_"):
        return []
    places = (root, root.nn.functional, root.Tensor, root.linalg, root.special)
    return [getattr(place, op, None) for place in places]


def _slice(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)]


def _index(x: Any, indices: Any) -> Any:
    return x[tuple(slice(None) if i is None else i for i in indices)]


def _to_copy(x: Any, **options: Any) -> Any:
    return x.to(**{name: value for name, value in options.items() if value is not None}, copy=True)


def _pin_memory(x: Any, device: Any = None) -> Any:
    return x.pin_memory()


def _convolution(*args: Any) -> Any:
    """`convolution` with PyTorch's switches for its own kernels behind its arguments."""
    return sys.modules[ROOT].convolution(*args[:9])


def _alias(x: Any) -> Any:
    return x.view(x.shape)


def _sparse_addmm(x: Any, sparse: Any, dense: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return sys.modules[ROOT].sparse.addmm(x, sparse, dense, beta=beta, alpha=alpha)


_refuse = refuser("ops.aten", "has no such sparse kernel", "Use rushlight.sparse.mm.")

_OWN: dict[str, Callable[..., Any]] = {
    "_convolution": _convolution, "slice": _slice, "index": _index, "_to_copy": _to_copy, "_pin_memory": _pin_memory, "alias": _alias,
    "_sparse_addmm": _sparse_addmm, "_sparse_mm_reduce_impl": _refuse("_sparse_mm_reduce_impl"),
}  # fmt: skip
