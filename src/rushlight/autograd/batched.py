"""vmap: a function of one sample, called once for a batch whose samples the kernels compute together."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from ..base.device import CPU
from ..base.trees import broadcast_prefix, tree_flatten, tree_structure, tree_unflatten
from ..core.gradients.mapped import enter, leave
from ..core.tensor import Tensor
from ..operators.shape.join import cat, stack
from ..runtime import devices
from ..runtime.batch.arrays import BatchedArray, Level, SharedWrite, ValuesWanted, open_batched
from ..runtime.thread import here

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def vmap(
    func: Callable[_Arguments, _Result],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[_Arguments, _Result]:
    """`func` for every slice of its arguments along `in_dims`, the results stacked along `out_dims`.

    The function is called once, with tensors that look like one sample; kernels compute all samples at once where
    runtime/batch has a rule for them, and otherwise one after the other. A function that asks for values, which
    PyTorch refuses, is called for each sample.

    Args:
        func: a function of one sample.
        in_dims: the dimension of each argument that is mapped over; None for one that all samples share.
        out_dims: where the new dimension stands in the results.
        randomness: "error" refuses random numbers, "different" draws for each sample, "same" draws once.
        chunk_size: how many samples are computed at a time; None for all.

    Raises:
        ValueError: if the sizes along `in_dims` differ, or an argument has no such dimension.

    Example:
        >>> dot = torch.func.vmap(torch.dot)
        >>> dot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
        tensor([3., 4.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec, dims, size = _inputs(func, in_dims, args)

        def call(values: list[Any]) -> Any:
            return func(*tree_unflatten(values, spec), **kwargs)  # what is given by keyword, all samples share

        def part(values: list[Any], count: int) -> Any:
            return _mapped(func, call, values, dims, count, out_dims, randomness)

        if chunk_size is None or chunk_size >= size:
            return part(leaves, size)
        parts = []
        with draws("same" if randomness == "same" else "different") as rewind:  # each chunk says what else is an error
            for start in range(0, size, chunk_size):
                rewind()
                count = min(chunk_size, size - start)
                parts.append(part(_some_of(leaves, dims, start, count), count))
        return _in_a_row(parts, out_dims)

    return mapped


def _some_of(values: list[Any], places: list[Any], start: int, count: int) -> list[Any]:
    return [
        x if d is None else x[(slice(None),) * (d % x.dim()) + (slice(start, start + count),)]
        for x, d in zip(values, places)
    ]


def _in_a_row(parts: list[Any], out_dims: Any) -> Any:
    """The results of several chunks as one."""
    flat = [tree_flatten(p, _like_a_tensor) for p in parts]
    dims = broadcast_prefix(out_dims, parts[0], _like_a_tensor)
    assert dims is not None
    columns = [
        column[0] if d is None else cat(list(column), d)
        for column, d in zip(zip(*[leaves for leaves, _ in flat]), dims)
    ]
    return tree_unflatten(columns, flat[0][1])


def _mapped(
    func: Callable, call: Callable, values: list[Any], places: list[Any], size: int, out_dims: Any, randomness: str
) -> Any:
    """The results for all samples: together, or one after the other where that cannot be."""
    mapped = [x for x, d in zip(values, places) if d is not None]
    plain = all(isinstance(x, Tensor) and x._a.__class__ in _plain() for x in mapped)
    if plain and not here.function_modes:  # a mode, as that of forward derivatives, sees each sample
        level = Level(size, randomness)
        states = _states()
        shared: tuple[Any, str] | None = None
        try:
            return _together(func, call, values, places, level, out_dims)
        except ValuesWanted as error:
            if level.changed:  # a second call would change it again
                raise
            if isinstance(error, SharedWrite):
                shared = error.memory, str(error)
            for stream, state in states:
                stream.set_state(state)
        if shared is not None and _outlives(shared[0]):
            raise RuntimeError(shared[1])
    return _one_by_one(func, call, values, places, size, out_dims, randomness)


def _outlives(memory: Callable[[], Any]) -> bool:
    """Whether somebody holds memory of a call that is over: then it was there before, or is seen afterwards."""
    if memory() is None:
        return False
    gc.collect()
    return memory() is not None


def _plain() -> set[type]:
    """Classes of arrays that samples can be taken from."""
    open_batched()
    return {*devices.classes_with_memory(), BatchedArray}


def _states() -> list[tuple[Any, Any]]:
    streams = [devices.backend_of(CPU).stream(CPU), *devices.open_streams("cuda")]
    return [(s, s.get_state()) for s in streams]


def _together(func: Callable, call: Callable, values: list[Any], places: list[Any], level: Level, out_dims: Any) -> Any:
    if here.tracer is not None:
        here.tracer.interrupt("a function is mapped over samples")
    before = here.vmaps
    here.vmaps = (*before, level)
    try:
        given = [x if d is None else enter(x.movedim(d, 0), level) for x, d in zip(values, places)]
        edges = {id(x): x._edge for x, d in zip(given, places) if d is not None}
        result = call(given)
        leaves, spec = tree_flatten(result, _like_a_tensor)
        dims = _out_places(func, result, leaves, spec, out_dims)
        whole = {
            (id(s), d % x.dim()): x
            for s, x, d in zip(given, values, places)
            if d is not None and s._edge is edges[id(s)]
        }
        made = [x if d is None else _out(x, level, d, whole) for x, d in zip(leaves, dims)]
    finally:
        here.vmaps = before
        level.open = False
    return tree_unflatten(made, spec)


def _out(x: Any, level: Level, dim: int, whole: dict[tuple[int, int], Any]) -> Any:
    if not isinstance(x, Tensor):  # a container of tensors
        return stack([x] * level.size, dim)
    if (came := whole.get((id(x), dim % (x.dim() + 1)))) is not None:
        return came  # an argument, as it was given or with other values
    out = leave(x, level)
    return out if dim == 0 else out.movedim(0, dim)


def _out_places(func: Callable, result: Any, leaves: list[Any], spec: Any, out_dims: Any) -> list[Any]:
    """The dim of each result where its samples shall stand."""
    dims = broadcast_prefix(out_dims, result, _like_a_tensor)
    if dims is None:
        raise ValueError(
            f"vmap(..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"out_dims has structure {tree_structure(out_dims)}, but outputs has structure {spec}."
        )
    for x, dim in zip(leaves, dims):
        if dim is not None and not _like_a_tensor(x):
            name = getattr(func, "__name__", repr(func))
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did "
                "you mean to set out_dims= to None for output?"
            )
    return dims


def _one_by_one(
    func: Callable, call: Callable, values: list[Any], places: list[Any], size: int, out_dims: Any, randomness: str
) -> Any:
    """The function called for each sample."""
    results = []
    with draws(randomness) as rewind:
        for i in range(size):
            rewind()
            with _graphs_kept(i < size - 1):
                results.append(call([x if d is None else _one_of(x, d, i) for x, d in zip(values, places)]))
    return _stacked(func, results, out_dims)


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
            where + "in_dims is not compatible with the structure of `inputs`. in_dims has structure "
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
            where + f"Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap "
            "over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -x.dim() <= dim < x.dim():
        raise ValueError(
            where + f"Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
            f"{x.dim()} so expected in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}."
        )


def _stacked(func: Callable, results: list[Any], out_dims: Any) -> Any:
    if not results:
        raise ValueError("vmap: the mapped dimension is empty, and there is no result to stack")
    flat = [tree_flatten(r, _like_a_tensor) for r in results]
    spec = flat[0][1]
    dims = _out_places(func, results[0], flat[0][0], spec, out_dims)
    columns = [[leaves[k] for leaves, _ in flat] for k in range(len(dims))]
    stacked = [c[0] if d is None else stack(c, d) for c, d in zip(columns, dims)]
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
def draws(randomness: str) -> Iterator[Callable[[], None]]:
    """Hold random numbers to the rule: none at all, those of the first sample, or as they come."""
    before = _states()

    def rewind() -> None:
        if randomness == "same":
            for stream, state in before:
                stream.set_state(state)

    yield rewind
    if randomness == "error":
        for stream, state in before:
            if bytes(stream.get_state()) != bytes(state):
                raise RuntimeError(
                    "vmap: called random operation while in randomness error mode. Please either use the "
                    "'same' or 'different' randomness flags on vmap or perform the randomness operation "
                    "out of vmap"
                )
