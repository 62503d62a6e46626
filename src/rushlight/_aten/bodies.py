"""What PyTorch's inner operators compute: the functions and methods users call, and a few of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..base.refusal import refuser
from ..core.public import NAMESPACES

ROOT = __package__.rpartition(".")[0]


def find(op: str) -> Callable[..., Any] | None:
    """The function, the method or one of the bodies below that does what an inner operator does; or None."""
    root, inner = sys.modules[ROOT], NAMESPACES["aten"]
    own = inner[op] if op in inner.names() else None
    return next((body for body in (_OWN.get(op), own, *_public(root, op)) if callable(body)), None)


def _public(root: Any, op: str) -> list[Any]:
    """What users call by that name, where they do. Of private names only those that were published are PyTorch's."""
    if op.startswith("_"):
        found = getattr(root, op, None)
        return [found] if op in NAMESPACES["torch"].names() else []
    space, _, name = op.partition("_")
    if space in ("fft", "linalg", "special") and (body := getattr(getattr(root, space), name, None)):
        return [body]
    places = (root, root.nn.functional, root.Tensor, root.linalg, root.special)
    return [getattr(place, op, None) for place in places]


def _slice(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)]


def _index(x: Any, indices: Any) -> Any:
    return x[tuple(slice(None) if i is None else i for i in indices)]


def _to_copy(x: Any, **options: Any) -> Any:
    pinned = options.pop("pin_memory", None)
    options.pop("layout", None)
    made = x.to(**{name: value for name, value in options.items() if value is not None}, copy=True)
    return made.pin_memory() if pinned else made


def _pin_memory(x: Any, device: Any = None) -> Any:
    return x.pin_memory()


def _convolution(*args: Any) -> Any:
    """`convolution` with PyTorch's switches for its own kernels behind its arguments."""
    return sys.modules[ROOT].convolution(*args[:9])


def _alias(x: Any) -> Any:
    return x.view(x.shape)


def _softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    return x.softmax(dim)


def _log_softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    return x.log_softmax(dim)


def _threshold_backward(g: Any, x: Any, threshold: float) -> Any:
    return g.masked_fill(x <= threshold, 0)


def _unsafe_view(x: Any, size: Any) -> Any:
    return x.reshape(size)


def _local_scalar_dense(x: Any) -> Any:
    return x.item()


def _max_pool(dims: int) -> Callable[..., Any]:
    def body(*args: Any) -> Any:
        pool = getattr(sys.modules[ROOT].nn.functional, f"max_pool{dims}d")
        return pool(*args, return_indices=True)

    return body


def _max_pool2d_backward(g: Any, x: Any, *args: Any) -> Any:
    flat = g.new_zeros(*x.shape[:-2], x.shape[-2] * x.shape[-1])
    return flat.scatter_add(-1, args[-1].flatten(-2), g.flatten(-2)).reshape(x.shape)


def _sparse_addmm(x: Any, sparse: Any, dense: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return sys.modules[ROOT].sparse.addmm(x, sparse, dense, beta=beta, alpha=alpha)


_refuse = refuser("ops.aten", "has no such sparse kernel", "Use rushlight.sparse.mm.")

_OWN: dict[str, Callable[..., Any]] = {
    "_softmax": _softmax, "_log_softmax": _log_softmax, "threshold_backward": _threshold_backward,
    "_unsafe_view": _unsafe_view, "_local_scalar_dense": _local_scalar_dense,
    "max_pool2d_with_indices_backward": _max_pool2d_backward,
    "max_pool2d_with_indices": _max_pool(2), "max_pool3d_with_indices": _max_pool(3),
    "_convolution": _convolution, "slice": _slice, "index": _index, "_to_copy": _to_copy, "_pin_memory": _pin_memory, "alias": _alias,
    "_sparse_addmm": _sparse_addmm, "_sparse_mm_reduce_impl": _refuse("_sparse_mm_reduce_impl"),
}  # fmt: skip
