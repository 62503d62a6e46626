"""Containers of parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from ...core.tensor import Tensor
from ..parameter import Parameter
from ._members import typename
from .module import Module


def _as_parameter(value: Any) -> Any:
    """Tensors become parameters; anything else is kept as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _line(key: object, value: Any, label: Callable[[Tensor], Any]) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    size = "x".join(str(s) for s in value.size())
    where = f" ({value.device})" if value.is_cuda else ""
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {kind} containing: [{label(value.data)} of size {size}{where}]"


class ParameterList(Module):
    """Hold parameters in a list, so that they belong to the module that has the list.

    Tensors that are put in become parameters; other values are kept as they are.

    Args:
        values: values to begin with.

    Example:
        >>> class Scales(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.scales = nn.ParameterList([torch.ones(2) for _ in range(3)])
        ...     def forward(self, x):
        ...         return x * self.scales[0] + self.scales[1]
        >>> len(list(Scales().parameters()))
        3
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _key(self, idx: Any) -> str:
        idx = operator.index(idx)
        if not -len(self) <= idx < len(self):
            raise IndexError(f"index {idx} is out of range")
        return str(idx % len(self) if idx < 0 else idx)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            start, stop, step = idx.indices(len(self))
            return type(self)([self[i] for i in range(start, stop, step)])
        return getattr(self, self._key(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._key(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Any:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [k for k in super().__dir__() if not k.isdigit()]

    def append(self, value: Any) -> Any:
        """Add a value at the end and return the list; a tensor becomes a parameter.

        Example:
            >>> len(nn.ParameterList().append(torch.ones(2)))
            1
        """
        self._size += 1
        self[len(self) - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        """Add values at the end and return the list; tensors become parameters.

        Example:
            >>> len(nn.ParameterList().extend([torch.ones(2), torch.ones(3)]))
            2
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_line(i, p, lambda t: t.dtype) for i, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Hold parameters in a dictionary, so that they belong to the module that has it.

    Tensors that are put in become parameters; other values are kept as they are. Names keep the
    order in which they were added.

    Args:
        parameters: a mapping of names to values, or pairs.

    Example:
        >>> scales = nn.ParameterDict({"left": torch.ones(2), "right": torch.zeros(2)})
        >>> scales["left"].requires_grad
        True
        >>> [name for name, _ in scales.named_parameters()]
        ['left', 'right']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attr(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, self._attr(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return a new ParameterDict with the same values."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key; a key that is missing gets `default` first.

        Example:
            >>> nn.ParameterDict().setdefault("scale", torch.ones(1)).requires_grad
            True
        """
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove every value."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take the value of a key out and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the newest pair out and return it."""
        key, _ = self._keys.popitem()
        self._keys[key] = None  # `pop` below deletes it
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or `default` if it is missing."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new ParameterDict with these keys, all with the value `default`."""
        return ParameterDict((k, default) for k in keys)

    def keys(self) -> Any:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return pairs of name and value."""
        return ((k, self[k]) for k in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[k] for k in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping or of pairs; a name that is there is replaced.

        Example:
            >>> scales = nn.ParameterDict({"a": torch.ones(2)})
            >>> scales.update({"b": torch.zeros(2)})
            >>> list(scales.keys())
            ['a', 'b']
        """
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but "
                f"got {type(parameters).__name__}"
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            for key, value in parameters.items():
                self[key] = value
        elif isinstance(parameters, Container) and hasattr(parameters, "items"):
            for key, value in sorted(parameters.items()):
                self[key] = value
        else:
            for j, pair in enumerate(parameters):
                self._add_pair(j, pair)

    def _add_pair(self, j: int, pair: Any) -> None:
        if not isinstance(pair, Iterable):
            raise TypeError(f"ParameterDict update sequence element #{j} should be Iterable; is{type(pair).__name__}")
        entry = tuple(pair)
        if len(entry) != 2:
            raise ValueError(f"ParameterDict update sequence element #{j} has length {len(entry)}; 2 is required")
        self[entry[0]] = entry[1]

    def extra_repr(self) -> str:
        return "\n".join(_line(k, p, typename) for k, p in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        both = other.copy()
        both.update(self)
        return both

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self
