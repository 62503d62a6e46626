"""Helpers of the model builders: older spellings of arguments, layers by name, round channel counts."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ...core.tensor import Tensor
from ...nn import Module, ModuleDict
from ._api import WeightsEnum

_Builder = TypeVar("_Builder", bound=Callable)


def _ovewrite_named_param(kwargs: dict[str, Any], param: str, new_value: Any) -> None:
    """Set an argument that the weights decide; another value given by the user is an error."""
    if kwargs.setdefault(param, new_value) != new_value:
        raise ValueError(f"The parameter '{param}' expected value {new_value} but got {kwargs[param]} instead.")


def _ovewrite_value_param(param: str, actual: Any, expected: Any) -> Any:
    """The value that the weights decide."""
    if actual is not None and actual != expected:
        raise ValueError(f"The parameter '{param}' expected value {expected} but got {actual} instead.")
    return expected


def _make_divisible(v: float, divisor: int, min_value: int | None = None) -> int:
    """The multiple of `divisor` nearest to v, at least `min_value`, and not less than 0.9 v."""
    low = divisor if min_value is None else min_value
    nearest = max(low, int(v + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * v else nearest


def handle_legacy_interface(**weights: tuple[str, Any]) -> Callable[[_Builder], _Builder]:
    """Let a builder take `pretrained=True` and positional weights, as programs before 0.13 do.

    weights=("pretrained", ResNet18_Weights.IMAGENET1K_V1) says which weights were meant.
    """

    def decorate(builder: _Builder) -> _Builder:
        @functools.wraps(builder)
        def build(*args: Any, **kwargs: Any) -> Any:
            # Older builders began with (pretrained, progress).
            for (name, _), value in zip((*weights.items(), ("progress", None)), args):
                kwargs[name] = value
            for name, (old, default) in weights.items():
                _translate(kwargs, name, old, default)
            return builder(**kwargs)

        kinds = [d for _, d in weights.values() if isinstance(d, WeightsEnum)]
        if kinds:
            build.weights_enum = type(kinds[0])  # type: ignore[attr-defined]
        return cast("_Builder", build)

    return decorate


def _translate(kwargs: dict[str, Any], name: str, old: str, default: Any) -> None:
    """Replace the older spelling of one weights argument."""
    given = kwargs.get(name)
    if old not in kwargs and not isinstance(given, bool):
        return
    asked = kwargs.pop(old) if old in kwargs else given
    if callable(default) and not isinstance(default, WeightsEnum):
        default = default(kwargs)
    if asked and default is None:
        raise ValueError(f"No weights available for model {kwargs}")
    warnings.warn(
        f"The parameter '{old}' is deprecated since 0.13 and may be removed in the future, please "
        f"use '{name}' instead: {name}={default if asked else None}.",
        UserWarning,
        stacklevel=3,
    )
    kwargs[name] = default if asked else None


def check(condition: object, said: str) -> None:
    """Raise AssertionError if false; while `fx` traces a model nothing is known yet, and nothing is checked."""
    if isinstance(condition, bool) and not condition:
        raise AssertionError(said)


class IntermediateLayerGetter(ModuleDict):
    """The first layers of a model, up to the last one asked for; calling it gives their outputs."""

    def __init__(self, model: Module, return_layers: dict[str, str]) -> None:
        names = [name for name, _ in model.named_children()]
        if not set(return_layers).issubset(names):
            raise ValueError("return_layers are not present in model")
        last = max(names.index(str(k)) for k in return_layers)
        kept = list(model.named_children())[: last + 1]
        super().__init__(OrderedDict(kept))
        self.return_layers = {str(k): str(v) for k, v in return_layers.items()}

    def forward(self, x: Tensor) -> OrderedDict[str, Tensor]:
        out: OrderedDict[str, Tensor] = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                out[self.return_layers[name]] = x
        return out
