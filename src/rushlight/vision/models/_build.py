"""One way to make the builder of a model and the table of its weights."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from ... import nn
from ..transforms._modes import InterpolationMode
from ..transforms._presets import ImageClassification, ObjectDetection, SemanticSegmentation
from ._api import Weights, WeightsEnum, register_model
from ._meta import categories
from ._utils import _ovewrite_named_param, _ovewrite_value_param, handle_legacy_interface

_HOST = "https://download.pytorch.org/models/"


def _facts(num_params: int, names: Any, trained_on: str, least: int = 1, **quality: Any) -> dict:
    metrics = {trained_on: {k.replace("__", "@"): v for k, v in quality.items()}}
    return {"num_params": num_params, "min_size": (least, least), "categories": names, "_metrics": metrics}


def _imagenet(params: int, acc1: float, min_size: int = 1, **options: Any) -> tuple[Any, dict]:
    """Trained on ImageNet-1K, for pictures resized and cropped in the middle."""
    if "interpolation" in options:
        options["interpolation"] = InterpolationMode(options["interpolation"])
    preset = partial(ImageClassification, **{"crop_size": 224, **options})
    return preset, _facts(params, categories("imagenet"), "ImageNet-1K", min_size, acc__1=acc1)


def _imagenet_features(params: int) -> tuple[Any, dict]:
    """The layers of VGG before the classifier, from another training (Liu et al. 2016), for SSD.

    They were trained with Caffe: mean colours are subtracted, nothing is scaled.
    """
    mean, std = (0.48235, 0.45882, 0.40784), (1.0 / 255.0, 1.0 / 255.0, 1.0 / 255.0)
    preset = partial(ImageClassification, crop_size=224, mean=mean, std=std)
    unknown = float("nan")
    return preset, _facts(params, None, "ImageNet-1K", 32, acc__1=unknown, acc__5=unknown)


def _coco(params: int, box_map: float, **more: Any) -> tuple[Any, dict]:
    """Trained on COCO to find objects; `more` are other figures of quality."""
    facts = _facts(params, categories("coco"), "COCO-val2017", box_map=box_map, **more)
    return ObjectDetection, facts


def _coco_person(params: int, box_map: float, **more: Any) -> tuple[Any, dict]:
    """Trained on the persons of COCO."""
    preset, facts = _coco(params, box_map, **more)
    points = categories("coco_keypoints")
    return preset, {**facts, "categories": categories("coco_person"), "keypoint_names": points}


def _voc(params: int, miou: float, pixel_acc: float) -> tuple[Any, dict]:
    """Trained on COCO to tell apart the classes of Pascal VOC, pixel by pixel."""
    names, measured = categories("voc"), "COCO-val2017-VOC-labels"
    facts = _facts(params, names, measured, miou=miou, pixel_acc=pixel_acc)
    return partial(SemanticSegmentation, resize_size=520), facts


# By the heading above their lines. A line has the table, the member ("*": the default of several), the file, and
# what the function takes.
_READERS = {
    "imagenet": _imagenet,
    "imagenet_features": _imagenet_features,
    "coco": _coco,
    "coco_person": _coco_person,
    "voc": _voc,
}


def _value(text: str) -> int | float | str:
    if text.isdigit():
        return int(text)
    return text if text.isalpha() else float(text)


def _read_tables() -> dict[str, dict[str, Weights]]:
    text = files("rushlight.vision").joinpath("embedded/weights.txt").read_text("utf-8")
    found: dict[str, dict[str, Weights]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            read: Any = _READERS[line[2:]]
            continue
        table, member, file, *facts = line.split()
        figures = [_value(fact) for fact in facts if "=" not in fact]
        options = dict(fact.split("=") for fact in facts if "=" in fact)
        preset, meta = read(*figures, **{k: _value(v) for k, v in options.items()})
        entry = Weights(_HOST + file, preset, meta)
        rows = found.setdefault(table, {"DEFAULT": entry})
        rows[member.removesuffix("*")] = entry
        if member.endswith("*"):
            rows["DEFAULT"] = entry
    return found


_TABLES = _read_tables()


def published(table: str) -> dict[str, Weights]:
    """The weights of one table by name, the default one last, under the name DEFAULT as well."""
    rows = dict(_TABLES[table])
    default = rows.pop("DEFAULT")
    return {**rows, "DEFAULT": default}


_Model = TypeVar("_Model", bound=nn.Module)
_Made = TypeVar("_Made", bound=nn.Module, covariant=True)


class ModelBuilder(Protocol[_Made]):
    """A function that builds a model, with weights where they are asked for."""

    def __call__(self, *, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any) -> _Made: ...


_ALONE = """{said}

Args:
    weights: a member of `{kinds}` or its name, which is downloaded; None for random ones.
    progress: show the download.
    kwargs: arguments of the network's class, such as `num_classes`{note}.

Example:
    >>> with torch.device("meta"):  # shapes alone; without this line, with random weights
    ...     net = models.{name}(num_classes=10{more})
    >>> net.training
    True
"""


def build(
    name: str,
    make: Callable[..., _Model],
    doc: str = "",
    adjust: Callable | None = None,
    note: str = "",
    more: str = "",
) -> tuple[Any, ModelBuilder[_Model]]:
    """The table of a model's weights and its public builder: for "VGG11", `VGG11_Weights` and `vgg11`.

    The builder calls `make(**kwargs)` and loads weights where they are asked for. `adjust(kwargs, weights)` changes
    arguments that these weights decide; it answers what to do with the model once they are loaded, or None. `note` is
    more about arguments, and `more` are some that the example needs.
    """
    kinds = _kinds(name)

    def builder(*, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any) -> _Model:
        chosen = kinds.verify(weights)
        if chosen is None:
            return make(**kwargs)
        if chosen.meta["categories"] is not None:
            _ovewrite_named_param(kwargs, "num_classes", len(chosen.meta["categories"]))
        after = adjust(kwargs, chosen) if adjust is not None else None
        model = make(**kwargs)
        model.load_state_dict(chosen.get_state_dict(progress=progress, check_hash=True))
        if after is not None:
            after(model)
        return model

    made = make.func if isinstance(make, partial) else make
    builder.__annotations__["return"] = made.__name__ if isinstance(made, type) else made.__annotations__["return"]
    first = doc or f"The network of that name: {name.lower().replace('_', ' ')}."
    said = _ALONE.format(said=first, kinds=kinds.__name__, name=name.lower(), note=note, more=more)
    return kinds, _public(builder, name, said, weights=("pretrained", next(iter(kinds))))


_ON = """{said}

Args:
    weights: a member of `{kinds}` or its name, which is downloaded; None for random ones.
    progress: show the download.
    num_classes: the number of classes; {classes} unless weights say otherwise.
    weights_backbone: a member of `{below}`, where `weights` is None; it is downloaded, None for random ones.
    kwargs: arguments of the network's class.

Example:
    >>> with torch.device("meta"):  # shapes alone; without this line, with random weights
    ...     net = models.get_model("{name}", num_classes=5, weights_backbone=None)
    >>> net.training
    True
"""


def build_on(
    name: str,
    make: Callable[..., nn.Module],
    doc: str,
    *,
    backbone: Any,
    classes: int,
    decided: dict[str, Any] | None = None,
    after: Callable[[nn.Module, Any], None] | None = None,
) -> Any:
    """`build` for a model that stands on the network of another.

    `make(num_classes, weights_backbone, trained, **kwargs)` builds it; `backbone` is an enum of weights, or the
    member that is loaded unless the caller says otherwise; `classes` counts them where nothing else does;
    `decided` are arguments that the weights decide; `after(model, weights)` is called once they are loaded.
    """
    kinds = _kinds(name)
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
            num_classes = _ovewrite_value_param("num_classes", num_classes, wanted.pop("num_classes"))
            for key, value in wanted.items():
                kwargs[key] = _ovewrite_value_param(key, kwargs.get(key), value)
        count = classes if num_classes is None else num_classes
        model = make(count, below, weights is not None, progress=progress, **kwargs)
        if weights is not None:
            model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
            if after is not None:
                after(model, weights)
        return model

    said = _ON.format(said=doc, kinds=kinds.__name__, below=family.__name__, classes=classes, name=name.lower())
    trained = usual if usual is not None else next(iter(family))
    return kinds, _public(
        builder, name, said, weights=("pretrained", list(kinds)[-1]), weights_backbone=("pretrained_backbone", trained)
    )


def _caller() -> str:
    return sys._getframe(3).f_globals["__name__"]


def _kinds(name: str) -> Any:
    """The enum of a model's weights, as if it stood in the module that asks."""
    table = f"{name}_Weights"
    return WeightsEnum(table, published(table), module=_caller())  # type: ignore[call-arg]


def _public(builder: Any, name: str, doc: str, **legacy: tuple[str, Any]) -> Any:
    """A builder under its name in the module that asks, with older spellings of its arguments, in the register."""
    builder.__name__ = builder.__qualname__ = name.lower()
    builder.__doc__, builder.__module__ = doc, _caller()
    return register_model(name.lower())(handle_legacy_interface(**legacy)(builder))
