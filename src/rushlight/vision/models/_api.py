"""Weights that a model can be built with, and the register of models by name."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ...hub import load_state_dict_from_url

__all__ = [
    "Weights", "WeightsEnum", "get_model", "get_model_builder", "get_model_weights", "get_weight",
    "list_models",
]  # fmt: skip


@dataclass
class Weights:
    """Where weights are, the transforms they expect, and facts about them."""

    url: str
    transforms: Callable
    meta: dict[str, Any]


class WeightsEnum(Enum):
    """The weights of one kind of model."""

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """One of these weights, given as such or by name; None stays None."""
        if isinstance(obj, str):
            obj = cls[obj.replace(cls.__name__ + ".", "")]
        elif obj is not None and not isinstance(obj, cls):
            raise TypeError(
                f"Invalid Weight class provided; expected {cls.__name__} but received "
                f"{type(obj).__name__}."
            )
        return obj

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The weights, from the cache or downloaded into it."""
        return load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self._name_}"

    @property
    def url(self) -> str:
        return self.value.url

    @property
    def transforms(self) -> Callable:
        return self.value.transforms

    @property
    def meta(self) -> dict[str, Any]:
        return self.value.meta


_MODELS: dict[str, Callable] = {}


def register_model(name: str | None = None) -> Callable[[Callable], Callable]:
    """Make a builder known to `get_model`."""

    def register(fn: Callable) -> Callable:
        key = name if name is not None else fn.__name__
        if key in _MODELS:
            raise ValueError(f"An entry is already registered under the name '{key}'.")
        _MODELS[key] = fn
        return fn

    return register


def list_models(
    module: Any = None,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
) -> list[str]:
    """The names of the models there are, sorted; filters are shell patterns."""
    names = {k for k, fn in _MODELS.items() if module is None or fn.__module__ == module.__name__}
    if include:
        wanted = [include] if isinstance(include, str) else list(include)
        names = {n for pattern in wanted for n in fnmatch.filter(names, pattern)}
    if exclude:
        unwanted = [exclude] if isinstance(exclude, str) else list(exclude)
        names -= {n for pattern in unwanted for n in fnmatch.filter(names, pattern)}
    return sorted(names)


def get_model_builder(name: str) -> Callable:
    """The function that builds a model."""
    found = _MODELS.get(name.lower())
    if found is None:
        raise ValueError(f"Unknown model {name}. Known ones: {', '.join(sorted(_MODELS))}")
    return found


def get_model(name: str, **config: Any) -> Any:
    """A model by its name."""
    return get_model_builder(name)(**config)


def get_weight(name: str) -> WeightsEnum:
    """Weights by their full name, such as "ResNet50_Weights.IMAGENET1K_V2"."""
    kind, _, member = name.partition(".")
    if not member:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    models = sys.modules[__name__.rpartition(".")[0]]
    found = getattr(models, kind, None)
    if found is None or not issubclass(found, WeightsEnum):
        raise ValueError(f"The weight enum '{kind}' for the specific method couldn't be retrieved.")
    return found[member]


def get_model_weights(name: Callable | str) -> Any:
    """The weights there are for a model, given by name or builder."""
    builder = get_model_builder(name) if isinstance(name, str) else name
    found = getattr(builder, "weights_enum", None)
    if found is None:
        raise ValueError(f"{getattr(builder, '__name__', builder)} has no pretrained weights.")
    return found
