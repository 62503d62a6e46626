"""vmap by a loop: a function of one sample, called for every sample of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..base.device import CPU
from ..base.trees import broadcast_prefix, tree_flatten, tree_structure, tree_unflatten
from ..core.tensor import Tensor
from ..operators.shape.join import stack
from ..runtime import devices
from ..runtime.thread import here


def vmap(
    func: Callable,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """`func` for every slice of its arguments along `in_dims`, the results stacked along `out_dims`.

    The samples are computed one after the other: the results are those of PyTorch's vmap, the speed is
    that of a Python loop, and `chunk_size` changes nothing.

    Args:
        func: a function of one sample.
        in_dims: the dimension of each argument that is mapped over; None for one that all samples share.
        out_dims: where the new dimension stands in the results.
        randomness: "error" refuses random numbers, "different" draws for each sample, "same" draws once.
        chunk_size: accepted and not needed.

    Raises:
        ValueError: if the sizes along `in_dims` differ, or an argument has no such dimension.

    Example:
        >>> dot = torch.func.vmap(torch.dot)
        >>> dot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
        tensor([3., 4.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec, dims, size = _inputs(func, in_dims, args)
        named, names = tree_flatten(
            kwargs, _like_a_tensor
        )  # keyword arguments are mapped over dim 0
        results = []
        with _draws(randomness) as rewind:
            for i in range(size):
                rewind()
                one = [x if d is None else _one_of(x, d, i) for x, d in zip(leaves, dims)]
                more = [_one_of(x, 0, i) if _like_a_tensor(x) else x for x in named]
                with _graphs_kept(i < size - 1):
                    results.append(func(*tree_unflatten(one, spec), **tree_unflatten(more, names)))
        return _stacked(func, results, out_dims)

    return mapped


def _like_a_tensor(x: Any) -> bool:
    """Whether something has dims to map over: a tensor, or a container that answers for one."""
    return isinstance(x, Tensor) or hasattr(type(x), "__torch_function__")


def _one_of(x: Any, dim: int, index: int) -> Any:
    """Sample `index` along a dim."""
    if isinstance(x, Tensor):
        return x.select(dim, index)
    return x[(slice(None),) * (dim % x.dim()) + (index,)]


def _inputs(func: Callable, in_dims: Any, args: tuple) -> tuple[list, Any, list, int]:
    """The leaves of the arguments, their shape, the dim each is mapped over, and the batch size."""
    name = getattr(func, "__name__", repr(func))
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            where + "expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying "
            "to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args, _like_a_tensor)
    dims = broadcast_prefix(in_dims, args, _like_a_tensor)
    if dims is None:
        raise ValueError(
            where
            + "in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_structure(in_dims)} but inputs has structure {spec}."
        )
    for x, dim in zip(leaves, dims):
        _check(where, x, dim)
    sizes = [x.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ValueError(where + "at least one input must be mapped over a dim.")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return leaves, spec, dims, sizes[0]


def _check(where: str, x: Any, dim: Any) -> None:
    if dim is None:
        return
    if not _like_a_tensor(x):
        raise ValueError(
            where
            + f"Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap "
            "over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -x.dim() <= dim < x.dim():
        raise ValueError(
            where
            + f"Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
            f"{x.dim()} so expected in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}."
        )


def _stacked(func: Callable, results: list[Any], out_dims: Any) -> Any:
    if not results:
        raise ValueError("vmap: the mapped dimension is empty, and there is no result to stack")
    flat = [tree_flatten(r, _like_a_tensor) for r in results]
    spec = flat[0][1]
    dims = broadcast_prefix(out_dims, results[0], _like_a_tensor)
    if dims is None:
        raise ValueError(
            f"vmap(..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of the results, {spec}."
        )
    stacked = []
    for k, dim in enumerate(dims):
        column = [leaves[k] for leaves, _ in flat]
        if dim is not None and not _like_a_tensor(column[0]):
            name = getattr(func, "__name__", repr(func))
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(column[0])}. Did "
                "you mean to set out_dims= to None for output?"
            )
        stacked.append(column[0] if dim is None else stack(column, dim))
    return tree_unflatten(stacked, spec)


@contextmanager
def _graphs_kept(wanted: bool) -> Iterator[None]:
    """Let backward passes leave graphs whole: the next sample goes through them, too."""
    before = here.graphs_kept
    here.graphs_kept = before or wanted
    try:
        yield
    finally:
        here.graphs_kept = before


@contextmanager
def _draws(randomness: str) -> Iterator[Callable[[], None]]:
    """Hold random numbers to the rule: none at all, those of the first sample, or as they come."""
    streams = [devices.backend_of(CPU).stream(CPU), *devices.open_streams("cuda")]
    before = [s.get_state() for s in streams]

    def rewind() -> None:
        if randomness == "same":
            for stream, state in zip(streams, before):
                stream.set_state(state)

    yield rewind
    if randomness == "error":
        for stream, state in zip(streams, before):
            if bytes(stream.get_state()) != bytes(state):
                raise RuntimeError(
                    "vmap: called random operation while in randomness error mode. Please either use the "
                    "'same' or 'different' randomness flags on vmap or perform the randomness operation "
                    "out of vmap"
                )
