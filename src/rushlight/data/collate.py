"""Collating: a list of samples becomes one batch of tensors, leaf by leaf."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ..base import dtypes
from ..core.tensor import Tensor, wrap

FunctionMap = dict[Any, Callable[..., Any]]  # by a class, or a tuple of classes

_NOT_COLLATABLE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_collate(batch: Any) -> Any:
    """Stack the samples of a batch; dicts, tuples and lists are collated element by element.

    Args:
        batch: a list of samples of the same structure, with tensors, arrays or numbers of equal shapes.

    Raises:
        TypeError: if a sample is something else.
        RuntimeError: if lengths or shapes differ.

    Example:
        >>> torch.utils.data.default_collate([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}])
        {'x': tensor([1, 2]), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: FunctionMap | None = None) -> Any:
    """Collate a batch by functions for the classes of its samples; containers are collated element by element.

    Args:
        batch: a list of samples of the same structure.
        collate_fn_map: functions of `(batch, *, collate_fn_map)` by the class of a sample, or by several; the
            sample's own class is looked for first, then the first one that it is an instance of.

    Raises:
        TypeError: if a sample is no container, and of none of these classes.
        RuntimeError: if lengths differ.

    Example:
        >>> from rushlight.utils.data._utils.collate import collate
        >>> collate([{"x": 1}, {"x": 2}], collate_fn_map={int: lambda batch, *, collate_fn_map: sum(batch)})
        {'x': 3}
    """
    first = batch[0]
    if collate_fn_map is not None:
        fn = collate_fn_map.get(type(first))
        if fn is None:
            fn = next((f for kind, f in collate_fn_map.items() if isinstance(first, kind)), None)
        if fn is not None:
            return fn(batch, collate_fn_map=collate_fn_map)

    def inner(column: Any) -> Any:
        return collate(column, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _remade_mapping(first, {k: inner([d[k] for d in batch]) for k in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*[inner(column) for column in zip(*batch)])
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [inner(column) for column in zip(*batch)]
        return columns if type(first) in (list, tuple) else _remade_sequence(first, columns)
    raise TypeError(_NOT_COLLATABLE.format(type(first)))


def collate_tensor_fn(batch: Any, *, collate_fn_map: FunctionMap | None = None) -> Any:
    """Tensors of one shape, stacked."""
    from ..operators.shape.join import stack

    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: FunctionMap | None = None) -> Any:
    """Arrays as tensors, collated as those are."""
    from ..operators.create.from_data import as_tensor

    if batch[0].dtype.kind in "SUO":
        raise TypeError(_NOT_COLLATABLE.format(batch[0].dtype))
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: FunctionMap | None = None) -> Tensor:
    """NumPy's numbers as one tensor."""
    return wrap(np.array(batch, dtype=np.result_type(*batch)))


def collate_float_fn(batch: Any, *, collate_fn_map: FunctionMap | None = None) -> Tensor:
    """Floats as a tensor of float64."""
    return _numbers(batch, dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: FunctionMap | None = None) -> Tensor:
    """Integers as a tensor."""
    return _numbers(batch, None)


def collate_str_fn(batch: Any, *, collate_fn_map: FunctionMap | None = None) -> Any:
    """Texts stay a list."""
    return batch


# What `default_collate` does with each class; a program may add classes of its own.
default_collate_fn_map: FunctionMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _numbers(batch: Any, dtype: Any) -> Tensor:
    """Python numbers as PyTorch's `tensor(batch)`, without the general machinery in the plain case."""
    kinds = set(map(type, batch))
    if kinds == {int}:
        try:
            return wrap(np.array(batch, np.int64))
        except OverflowError:
            raise ValueError("Overflow when unpacking long long") from None
    if kinds == {float}:
        return wrap(np.array(batch, np.float64))
    from ..operators.create.from_data import tensor

    return tensor(list(batch), dtype=dtype)


def default_convert(data: Any) -> Any:
    """NumPy arrays inside `data` as tensors, everything else as it is; used without batching.

    Example:
        >>> torch.utils.data.default_convert({"x": np.array([1, 2]), "name": "a"})
        {'x': tensor([1, 2]), 'name': 'a'}
    """
    from ..operators.create.from_data import as_tensor

    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    return map_leaves(data, default_convert)


def map_leaves(data: Any, fn: Callable[[Any], Any]) -> Any:
    """`fn` over the members of a container, in a container of its kind; other data as it is."""
    if isinstance(data, Mapping):
        return _remade_mapping(data, {k: fn(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*[fn(v) for v in data])
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        members = [fn(v) for v in data]
        return members if type(data) in (list, tuple) else _remade_sequence(data, members)
    return data


def _remade_mapping(like: Mapping, members: dict) -> Any:
    """`members` in a mapping of the user's kind where that can be made, else in a dict."""
    if type(like) is dict:
        return members
    try:
        if isinstance(like, MutableMapping):
            made = copy.copy(like)  # keeps what else it carries, like a default factory
            made.update(members)
            return made
        return type(like)(members)  # type: ignore[call-arg]
    except TypeError:
        return members


def _remade_sequence(like: Sequence, members: list) -> Any:
    if isinstance(like, tuple):
        return members
    try:
        if isinstance(like, MutableSequence):
            made = copy.copy(like)
            for i, value in enumerate(members):
                made[i] = value
            return made
        return type(like)(members)  # type: ignore[call-arg]
    except TypeError:
        return members
