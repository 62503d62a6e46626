"""Transform: what all transforms of the second generation share; they take a sample of any structure."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Sequence
from enum import Enum
from inspect import Parameter, cleandoc, signature
from typing import Any

from ....base.trees import tree_flatten, tree_unflatten
from ....core.tensor import Tensor
from ....nn import Module
from ..._pillow import is_pil_image
from ...tv_tensors import Image, Video
from .._draw import rand
from .._modes import InterpolationMode
from ._query import check_type, has_any
from .functional._registry import is_pure_tensor, kernel_of


def _as_of_the_second(doc: str) -> str:
    """The sections of a docstring of the first generation, for its twin here."""
    said = cleandoc(doc).partition("\n\n")[2]
    said = said.replace("from rushlight.vision import transforms", "from rushlight.vision.transforms import v2")
    said = re.sub(r"(?<!vision\.)transforms\.", "v2.", said)
    said = said.replace("an `InterpolationMode`.", "an `InterpolationMode`, or its name.")
    return re.sub(r"(\n\s+fill: [^;.\n]*).*", r"\1, or a dict from kinds of input to colours.", said)


class Transform(Module):
    """The base of all transforms, and of your own: write `transform`, and `make_params` if something is drawn.

    A transform is called with one sample or several arguments, of any structure of tuples, lists and dicts. Pictures,
    videos, masks, boxes and points in it are changed, the rest goes through. A plain tensor counts as a picture if it
    is the first one, and nothing else in the sample is a picture or a video.

    Example:
        >>> class Negative(v2.Transform):
        ...     def transform(self, inpt, params): return -inpt
        >>> Negative()({"image": torch.tensor([1, 2]), "label": 3})
        {'image': tensor([-1, -2]), 'label': 3}
    """

    _transformed_types: tuple[Any, ...] = (Tensor, is_pil_image)
    _v1_transform_cls: type | None = None

    _functional: Any = None  # what `transform` calls
    _given: tuple[str, ...] = ()  # attributes that are options of it

    def __init_subclass__(cls) -> None:
        """Take what is the same as in the first generation: draws, and all of the docstring but its first line."""
        super().__init_subclass__()
        first: Any = vars(cls).get("_v1_transform_cls")
        if hasattr(first, "get_params"):
            cls.get_params = staticmethod(first.get_params)  # type: ignore[attr-defined]
        said = vars(cls).get("__doc__")
        if said and "Example:" not in said and first is not None and first.__doc__:
            cls.__doc__ = f"{said}\n\n{_as_of_the_second(first.__doc__)}"

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse a sample that the transform is not for.

        Args:
            flat_inputs: the parts of the sample.
        """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """What is drawn once for all parts of a sample.

        Args:
            flat_inputs: the parts that are changed.
        """
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One part of a sample, changed.

        Args:
            inpt: the part.
            params: what `make_params` gave.
        """
        functional = type(self)._functional
        if functional is None:
            raise NotImplementedError
        options = {name: getattr(self, name) for name in self._given}
        if hasattr(self, "_fill"):
            options["fill"] = fill_for(self._fill, inpt)
        return self._call_kernel(functional, inpt, **params, **options)

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        """The arguments of the same transform of the first generation."""
        given = {}
        for name, parameter in signature(self._v1_transform_cls or type(self)).parameters.items():
            value = getattr(self, name, None)
            if value is None and parameter.default is not Parameter.empty:
                value = parameter.default
            if name == "fill" and isinstance(value, dict):
                raise ValueError(f"{type(self).__name__}() can not be scripted for fill={value}.")
            if name == "interpolation" and isinstance(value, str):
                value = InterpolationMode(value)
            given[name] = value
        return given

    def __prepare_scriptable__(self) -> Module:
        """That transform, which TorchScript understands."""
        if self._v1_transform_cls is None:
            raise RuntimeError(
                f"Transform {type(self).__name__} cannot be JIT scripted. torchscript is only supported for backward "
                "compatibility with transforms which are already in torchvision.transforms. For torchscript support "
                "(on tensors only), you can use the functional API instead."
            )
        return self._v1_transform_cls(**self._extract_params_for_v1_transform())

    def _call_kernel(self, functional: Callable, inpt: Any, *args: Any, **kwargs: Any) -> Any:
        return kernel_of(functional, type(inpt), allow_passthrough=True)(inpt, *args, **kwargs)

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        """Which parts of a sample are changed."""
        plain = not has_any(flat_inputs, Image, Video, is_pil_image)
        needs = []
        for inpt in flat_inputs:
            wanted = check_type(inpt, self._transformed_types)
            if wanted and is_pure_tensor(inpt):
                wanted, plain = plain, False  # only the first plain tensor is a picture
            needs.append(wanted)
        return needs

    def _changed(self, flat_inputs: list[Any], spec: Any) -> Any:
        needs = self._needs_transform_list(flat_inputs)
        params = self.make_params([x for x, wanted in zip(flat_inputs, needs) if wanted])
        made = [self.transform(x, params) if wanted else x for x, wanted in zip(flat_inputs, needs)]
        return tree_unflatten(made, spec)

    def forward(self, *inputs: Any) -> Any:
        """The sample with its parts changed; see `Transform`."""
        flat_inputs, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        self.check_inputs(flat_inputs)
        return self._changed(flat_inputs, spec)

    def extra_repr(self) -> str:
        shown = (bool, int, float, str, tuple, list, Enum)
        return ", ".join(
            f"{name}={value}"
            for name, value in self.__dict__.items()
            if not name.startswith("_") and name != "training" and isinstance(value, shown)
        )


class Sometimes(Transform):
    """A transform that is applied with probability p."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        super().__init__()
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        """The sample, perhaps with its parts changed; see `Transform`."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat_inputs, spec = tree_flatten(sample)
        self.check_inputs(flat_inputs)
        return sample if rand() >= self.p else self._changed(flat_inputs, spec)


# -- arguments that several transforms have -------------------------------------------------------


def _check_fill(fill: object) -> Any:
    """A fill, its numbers as floats."""
    if fill is not None and not isinstance(fill, (numbers.Number, tuple, list)):
        raise TypeError("Got inappropriate fill arg, only Numbers, tuples, lists and dicts are allowed.")
    return [float(v) for v in fill] if isinstance(fill, (tuple, list)) else fill


def fills(fill: float | Sequence[float] | dict[Any, Any] | None) -> dict[Any, Any]:
    """Fills by the kind of input; a single one is for all of them."""
    if isinstance(fill, dict):
        return {kind: _check_fill(value) for kind, value in fill.items()}
    return {"others": _check_fill(fill)}


def fill_for(known: dict[Any, Any], inpt: object) -> Any:
    """The fill for an input."""
    return known.get(type(inpt), known.get("others"))


def check_sequence(x: object, name: str, sizes: tuple[int, ...] = (2,)) -> None:
    """Refuse what is not a sequence of one of these lengths."""
    said = " or ".join(map(str, sizes))
    if not isinstance(x, Sequence):
        raise TypeError(f"{name} should be a sequence of length {said}.")
    if len(x) not in sizes:
        raise ValueError(f"{name} should be a sequence of length {said}.")


def number_or_two(arg: Any, name: str) -> list[float]:
    """One number twice, or two numbers, as floats."""
    if not isinstance(arg, (int, float, Sequence)):
        raise TypeError(f"{name} should be a number or a sequence of numbers. Got {type(arg)}")
    values = [arg] if isinstance(arg, (int, float)) else list(arg)
    if len(values) not in (1, 2):
        raise ValueError(f"If {name} is a sequence its length should be 1 or 2. Got {len(values)}")
    for value in values:
        if not isinstance(value, (int, float)):
            raise ValueError(f"{name} should be a sequence of numbers. Got {type(value)}")
    return [float(values[0]), float(values[-1])]


def two_sizes(size: Any, message: str = "Please provide only two dimensions (h, w) for size.") -> Any:
    """(height, width) of one number or two."""
    if isinstance(size, numbers.Number):
        return int(size), int(size)  # type: ignore[call-overload]
    if isinstance(size, Sequence) and len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(message)
    return size


def check_padding(padding: object) -> None:
    """Refuse a padding that is none."""
    parts = padding if isinstance(padding, (tuple, list)) else [padding]
    if len(parts) not in (1, 2, 4) or not all(isinstance(p, int) for p in parts):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element of tuple or list, got {padding}.")


def check_padding_mode(padding_mode: object) -> None:
    """Refuse a padding mode that is none."""
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
