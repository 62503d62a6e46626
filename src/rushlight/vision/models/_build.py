"""Builders of models and the tables of their weights, from a line each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ... import nn
from ._api import Weights, WeightsEnum, register_model
from ._utils import _ovewrite_named_param, handle_legacy_interface


def weights(name: str, default: str = "", **entries: Weights) -> Any:
    """An enum of weights; its `DEFAULT` is the last entry, or the one named."""
    chosen = entries[default or list(entries)[-1]]
    module = sys._getframe(1).f_globals["__name__"]
    return WeightsEnum(name, {**entries, "DEFAULT": chosen}, module=module)  # type: ignore[call-arg]


def build(
    name: str, kinds: Any, make: Callable[..., nn.Module], doc: str, adjust: Callable | None = None
) -> Any:
    """The public builder of a model: `make(**kwargs)`, and the weights where they are asked for.

    `adjust(kwargs, weights)` changes arguments that these weights decide; it answers what to do with the model
    once they are loaded, or None.
    """
    module = sys._getframe(1).f_globals["__name__"]
    first = next(iter(kinds))

    def builder(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> nn.Module:
        weights = kinds.verify(weights)
        after = None
        if weights is not None:
            _ovewrite_named_param(kwargs, "num_classes", 1000)
            after = adjust(kwargs, weights) if adjust is not None else None
        model = make(**kwargs)
        if weights is not None:
            model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
            if after is not None:
                after(model)
        return model

    builder.__name__ = builder.__qualname__ = name
    builder.__doc__, builder.__module__ = doc, module
    made = handle_legacy_interface(weights=("pretrained", first))(builder)
    return register_model(name)(made)
