"""Builders of models and the tables of their weights, from a line each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ... import nn
from ._api import Weights, WeightsEnum, register_model
from ._utils import _ovewrite_named_param, _ovewrite_value_param, handle_legacy_interface


def weights(name: str, default: str = "", **entries: Weights) -> Any:
    """An enum of weights; its `DEFAULT` is the last entry, or the one named."""
    chosen = entries[default or list(entries)[-1]]
    module = sys._getframe(1).f_globals["__name__"]
    return WeightsEnum(name, {**entries, "DEFAULT": chosen}, module=module)  # type: ignore[call-arg]


def build(
    name: str,
    kinds: Any,
    make: Callable[..., nn.Module],
    doc: str,
    adjust: Callable | None = None,
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


_ON = """{said}

Args:
    weights: a member of `{kinds}` or its name, which is downloaded; None for random ones.
    progress: show the download.
    num_classes: the number of classes; {classes} unless weights say otherwise.
    weights_backbone: a member of `{below}`, where `weights` is None; it is downloaded, None for random ones.
    kwargs: arguments of the network's class.

Example:
    >>> from rushlight.vision import models
    >>> with torch.device("meta"):  # shapes alone; without this line, with random weights
    ...     net = models.get_model("{name}", num_classes=5, weights_backbone=None)
    >>> net.training
    True
"""


def build_on(
    name: str,
    kinds: Any,
    make: Callable[..., nn.Module],
    doc: str,
    *,
    backbone: Any,
    classes: int,
    decided: dict[str, Any] | None = None,
    after: Callable[[nn.Module, Any], None] | None = None,
) -> Any:
    """The public builder of a model that stands on the network of another.

    `make(num_classes, weights_backbone, trained, **kwargs)` builds it; `backbone` is an enum of weights, or the
    member that is loaded unless the caller says otherwise; `classes` counts them where nothing else does;
    `decided` are arguments that the weights decide; `after(model, weights)` is called once they are loaded.
    """
    module = sys._getframe(1).f_globals["__name__"]
    family = type(backbone) if isinstance(backbone, WeightsEnum) else backbone
    usual = backbone if isinstance(backbone, WeightsEnum) else None

    def builder(
        *,
        weights: Any = None,
        progress: bool = True,
        num_classes: int | None = None,
        weights_backbone: WeightsEnum | str | None = usual,
        **kwargs: Any,
    ) -> nn.Module:
        weights = kinds.verify(weights)
        below = family.verify(weights_backbone)
        if weights is not None:
            below = None
            wanted = {"num_classes": len(weights.meta["categories"]), **(decided or {})}
            num_classes = _ovewrite_value_param(
                "num_classes", num_classes, wanted.pop("num_classes")
            )
            for key, value in wanted.items():
                kwargs[key] = _ovewrite_value_param(key, kwargs.get(key), value)
        count = classes if num_classes is None else num_classes
        model = make(count, below, weights is not None, progress=progress, **kwargs)
        if weights is not None:
            model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
            if after is not None:
                after(model, weights)
        return model

    builder.__name__ = builder.__qualname__ = name
    builder.__doc__ = _ON.format(
        said=doc, kinds=kinds.__name__, below=family.__name__, classes=classes, name=name
    )
    builder.__module__ = module
    trained = usual if usual is not None else next(iter(family))
    made = handle_legacy_interface(
        weights=("pretrained", list(kinds)[-1]), weights_backbone=("pretrained_backbone", trained)
    )(builder)
    return register_model(name)(made)
