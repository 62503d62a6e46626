"""The weights that are published for the models, from `embedded/weights.txt`: a line each."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from typing import Any

from ..transforms._modes import InterpolationMode
from ..transforms._presets import ImageClassification, ObjectDetection, SemanticSegmentation
from ._api import Weights
from ._meta import categories

_HOST = "https://download.pytorch.org/models/"


def _facts(num_params: int, names: Any, trained_on: str, least: int = 1, **quality: Any) -> dict:
    metrics = {trained_on: {k.replace("__", "@"): v for k, v in quality.items()}}
    return {
        "num_params": num_params,
        "min_size": (least, least),
        "categories": names,
        "_metrics": metrics,
    }


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
