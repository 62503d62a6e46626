"""Weights that a model can be built with, and the register of models by name."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any, Self, TypeVar

from ...hub import load_state_dict_from_url
from ...nn import Module

__all__ = ["Weights", "WeightsEnum", "get_model", "get_model_builder", "get_model_weights", "get_weight", "list_models"]


_Builder = TypeVar("_Builder", bound=Callable)


@dataclass
class Weights:
    """Where weights are, the transforms they expect, and facts about them.

    Args:
        url: of the file.
        transforms: makes the transforms.
        meta: facts by name.

    Example:
        >>> models.ResNet18_Weights.DEFAULT.value.meta["min_size"]
        (1, 1)
    """

    url: str
    transforms: Callable
    meta: dict[str, Any]


_KINDS = """Weights for {model}: what its `weights` argument takes, as a member or by the member's name.

Each member has a `url`, the `transforms` that its pictures need, and facts in `meta`.

Args:
    value: a `Weights`; members are asked for by name.

Example:
    >>> models.get_weight("{name}.DEFAULT").meta["num_params"]
    {count}
"""


class WeightsEnum(Enum):
    """The weights of one kind of model; each model has a table of them, such as `ResNet18_Weights`.

    Example:
        >>> list(models.ResNet18_Weights)
        [ResNet18_Weights.IMAGENET1K_V1]
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Write the docstring of a table of weights."""
        super().__init_subclass__(**kwargs)
        default = cls.__members__.get("DEFAULT")
        if default is not None and not cls.__dict__.get("__doc__"):
            cls.__doc__ = _KINDS.format(
                model=cls.__name__.removesuffix("_Weights"), name=cls.__name__, count=default.meta["num_params"]
            )

    @classmethod
    def verify(cls, obj: WeightsEnum | str | None) -> Self | None:
        """One of these weights, given as such or by name; None stays None."""
        if isinstance(obj, str):
            name = obj.replace(cls.__name__ + ".", "")
            if name not in cls.__members__:
                raise KeyError(f"{cls.__name__} has no {name!r}; it has {', '.join(cls.__members__)}")
            obj = cls[name]
        elif obj is not None and not isinstance(obj, cls):
            raise TypeError(
                f"Invalid Weight class provided; expected {cls.__name__} but received {type(obj).__name__}."
            )
        return obj

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The weights, from the cache or downloaded into it."""
        return load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self._name_}"

    @property
    def url(self) -> str:
        """Where the file is."""
        return self.value.url

    @property
    def transforms(self) -> Callable:
        """Makes the transforms that a picture needs first."""
        return self.value.transforms

    @property
    def meta(self) -> dict[str, Any]:
        """Facts about the weights: the number of parameters, the quality on the test set."""
        return self.value.meta


_MODELS: dict[str, Callable] = {}


def register_model(name: str | None = None) -> Callable[[_Builder], _Builder]:
    """Make a builder known to `get_model`."""

    def register(fn: _Builder) -> _Builder:
        key = name if name is not None else fn.__name__
        if key in _MODELS:
            raise ValueError(f"An entry is already registered under the name '{key}'.")
        _MODELS[key] = fn
        return fn

    return register


def list_models(
    module: ModuleType | None = None,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
) -> list[str]:
    """The names of the models there are, sorted.

    Args:
        module: only those of this module, such as `models.detection`.
        include, exclude: patterns as shells have them, one or several.

    Example:
        >>> models.list_models(include="resnet*", exclude=["*cifar", "*small"])
        ['resnet101', 'resnet152', 'resnet18', 'resnet34', 'resnet50']
    """
    names = {k for k, fn in _MODELS.items() if module is None or fn.__module__ == module.__name__}
    if include:
        wanted = [include] if isinstance(include, str) else list(include)
        names = {n for pattern in wanted for n in fnmatch.filter(names, pattern)}
    if exclude:
        unwanted = [exclude] if isinstance(exclude, str) else list(exclude)
        names -= {n for pattern in unwanted for n in fnmatch.filter(names, pattern)}
    return sorted(names)


def get_model_builder(name: str) -> Callable:
    """As `get_model`: the function that makes it."""
    found = _MODELS.get(name.lower())
    if found is None:
        raise ValueError(f"Unknown model {name}. Known ones: {', '.join(sorted(_MODELS))}")
    return found


def get_model(name: str, **config: Any) -> Module:
    """A model by its name.

    Args:
        name: as in `list_models()`.
        config: arguments of its builder.

    Raises:
        ValueError: if there is no such model.

    Example:
        >>> models.get_model("lenet", num_classes=3)(torch.ones(1, 3, 32, 32)).shape
        torch.Size([1, 3])
    """
    return get_model_builder(name)(**config)


def get_weight(name: str) -> WeightsEnum:
    """Weights by their full name.

    Args:
        name: such as "ResNet50_Weights.IMAGENET1K_V2".

    Raises:
        ValueError: if there are no such weights.

    Example:
        >>> models.get_weight("ResNet50_Weights.DEFAULT")
        ResNet50_Weights.IMAGENET1K_V2
    """
    kind, _, member = name.partition(".")
    if not member:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    models = sys.modules[__name__.rpartition(".")[0]]
    places = (models, models.detection, models.segmentation)
    found = next((getattr(m, kind) for m in places if hasattr(m, kind)), None)
    if not isinstance(found, type) or not issubclass(found, WeightsEnum):
        raise ValueError(f"The weight enum '{kind}' for the specific method couldn't be retrieved.")
    return found[member]


def get_model_weights(name: Callable | str) -> Any:
    """The weights there are for a model.

    Args:
        name: of the model, or its builder.

    Raises:
        ValueError: if it has no pretrained weights.

    Example:
        >>> list(models.get_model_weights("resnet50"))
        [ResNet50_Weights.IMAGENET1K_V1, ResNet50_Weights.IMAGENET1K_V2]
    """
    builder = get_model_builder(name) if isinstance(name, str) else name
    found = getattr(builder, "weights_enum", None)
    if found is None:
        raise ValueError(f"{getattr(builder, '__name__', builder)} has no pretrained weights.")
    return found
