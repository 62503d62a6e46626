"""Data pipes: iterable datasets that are chained by methods, each step a class of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....data.dataset import Dataset, IterableDataset

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]


class _Pipe:
    """Steps that were registered by name are methods of every pipe of their kind."""

    functions: dict[str, Callable]

    def __getattr__(self, name: str) -> Any:
        made = type(self).functions.get(name)
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return lambda *args, **kwargs: made(self, *args, **kwargs)

    @classmethod
    def register_function(cls, function_name: str, function: Callable) -> None:
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, name: str, made: Any, **kwargs: Any) -> None:
        if name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {name} as it is already taken")
        cls.functions[name] = made


class IterDataPipe(_Pipe, IterableDataset):
    """A step that is iterated over."""

    functions = {}

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


class MapDataPipe(_Pipe, Dataset):
    """A step that is indexed."""

    functions = {}


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable:
    """Decorator of a pipe's class: `pipe.name(...)` makes one."""

    def register(cls: Any) -> Any:
        home = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        home.register_datapipe_as_function(name, cls)
        return cls

    return register
