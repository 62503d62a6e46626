"""The file of a training run: the network, and everything needed to go on with it."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from typing import Any

from .. import config
from ..data import augment
from ..data.inputs import PICTURES
from ..data.readings import READINGS
from ..errors import UsageError
from ..tasks.kinds import KINDS
from ..words import counted
from . import zoo

Test = Callable[[Any], bool]
MOST_CLASSES, LONGEST_CLASS = 1_000_000, 1000


def _whole(low: int, high: int = 2**63 - 1) -> Test:
    return lambda v: type(v) is int and low <= v <= high


def _number(low: float = -math.inf, above: bool = False) -> Test:
    def test(v: Any) -> bool:
        known = type(v) in (int, float) and abs(v) < 1e300
        return known and v >= low and not (above and v == low)

    return test


def _one_of(names: Any) -> Test:
    return lambda v: type(v) is str and v in names


def _text(v: object) -> bool:
    return type(v) is str and len(v) <= 4096 and "\0" not in v


def _classes(v: object) -> bool:
    return type(v) is list and 0 < len(v) <= MOST_CLASSES and all(type(c) is str and len(c) <= LONGEST_CLASS for c in v)


def _numbers(v: object) -> bool:
    return isinstance(v, (tuple, list)) and all(_number()(x) for x in v)


def _tensor(v: object) -> bool:
    from rushlight import Tensor

    return isinstance(v, Tensor)


def _weights(v: object) -> bool:
    return isinstance(v, dict) and all(type(k) is str and _tensor(t) for k, t in v.items())


def _dict(v: object) -> bool:
    return isinstance(v, dict)


def _or_none(test: Test) -> Test:
    return lambda v: v is None or test(v)


def _history(v: object) -> bool:
    return type(v) is list and all(
        isinstance(line, dict)
        and {"epoch", "train_loss"} <= set(line)
        and all(type(name) is str and _number()(value) for name, value in line.items())
        for line in v
    )


def _fold(v: object) -> bool:
    from ..arguments import fold

    try:
        return type(v) is str and fold(v) == v
    except argparse.ArgumentTypeError:
        return False


def _scale(v: object) -> bool:
    """The means and the spreads of the values."""
    return isinstance(v, (tuple, list)) and len(v) == 2 and all(map(_numbers, v)) and min(v[1], default=0) > 0


def _inputs(v: Any) -> bool:
    """What rows or texts are."""
    try:
        return READINGS[v["kind"]].from_dict(v).size > 0
    except (LookupError, TypeError, ValueError):
        return False


def _flag(v: object) -> bool:
    return type(v) is bool


def _best(v: Any) -> bool:
    known = isinstance(v, dict) and type(v.get("epoch")) is int
    return known and all(type(v.get(name)) is float for name in ("score", "loss"))


_CONFIG: dict[str, Test] = {
    "data": _text, "task": _one_of(KINDS), "target": _or_none(_text), "input": _or_none(_one_of((PICTURES, *READINGS))), "size": _or_none(_whole(8, 1024)), "fit": _or_none(_one_of(config.FITS)), "augment": _one_of(augment.KINDS),
    "val_split": _number(0), "test_split": _number(0), "fold": _or_none(_fold), "class_weights": _flag, "balanced": _flag, "accumulate": _whole(1, 1024),
    "model": zoo.known, "width": lambda v: _number(0.25)(v) and v <= 64,
    "weights": _or_none(_text), "freeze": _flag, "epochs": _whole(1, 100_000), "minutes": _or_none(_number(0, True)),
    "batch_size": _whole(1, 2**20), "optimizer": _one_of(config.OPTIMIZERS), "lr": _number(0, True), "head_lr": _or_none(_number(0, True)),
    "ema": lambda v: _number(0)(v) and v < 1, "views": _whole(1, 2),
    "momentum": _number(0), "weight_decay": _number(0), "schedule": _one_of(config.SCHEDULES),
    "label_smoothing": _number(0), "mixup": _number(0), "cutmix": _number(0), "erase": _number(0), "warmup": _or_none(_number(0)), "patience": _whole(0),
    "amp": _or_none(_one_of(config.PRECISIONS)), "channels_last": _flag, "seed": _whole(0),
}  # fmt: skip
_FIELDS: dict[str, Test] = {
    "config": _dict, "data": _text, "data_dir": _text, "classes": _classes, "scale": _or_none(_scale), "count": _whole(0),
    "inputs": _or_none(_inputs), "channels": lambda v: type(v) is int and v in (1, 3), "size": _whole(1, 100_000), "mean": _numbers,
    "std": _numbers, "model": _weights, "average": _or_none(_weights), "optimizer": _dict, "schedule": _dict, "epoch": _whole(0),
    "step": _whole(0), "sums": lambda v: _numbers(v) and len(v) == 3, "history": _history,
    "best": _best, "rng": _tensor, "scaler": _or_none(_dict), "cuda_rng": _or_none(_tensor),
}  # fmt: skip


def check(content: dict[str, Any], size: int, path: str) -> None:
    """UsageError unless every field is what `rushlight train` writes; `size` is the file's."""
    _check_each(content, _FIELDS, path, "")
    _check_each(content["config"], _CONFIG, path, "config.")
    channels = content["channels"]
    scale = [*content["mean"], *content["std"]]
    if len(scale) != 2 * channels or min(content["std"]) <= 0:
        raise UsageError(f"{path} is damaged: its mean and std do not fit {counted(channels, 'channel')}")
    task = KINDS[content["config"]["task"]]
    if ([len(v) for v in content["scale"] or ()] == [len(content["classes"])] * 2) != task.scaled:
        raise UsageError(f"{path} is damaged: its scale does not fit a {task.kind}")
    if task.in_steps and not all(f"train_{task.score}" in line for line in content["history"]):
        raise UsageError(f"{path} is damaged: its history is not that of a {task.kind}")
    # A tensor can claim any size over one element; weights that were trained differ.
    held = [*content["model"].values(), *(content["average"] or {}).values()]
    if sum(t.numel() * t.itemsize for t in held) > size:
        raise UsageError(f"{path} is damaged: its weights are larger than the file")


def _check_each(fields: dict[str, Any], tests: dict[str, Test], path: str, where: str) -> None:
    lost = [where + name for name in tests if name not in fields]
    if lost:
        raise UsageError(f"{path} is incomplete: it has no {', '.join(lost)}")
    for name, test in tests.items():
        if not test(fields[name]):
            raise UsageError(f"{path} is damaged: {where}{name} is not what it should be")


FORMAT = "rushlight-train-2"


def write(path: str, content: dict[str, Any]) -> None:
    """Save atomically."""
    import rushlight

    try:
        rushlight.save({"format": FORMAT, **content}, path)
    except (OSError, RuntimeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be written: {said}") from None


def find(path: str, name: str = "best.pth") -> str:
    """The checkpoint that a folder of a run stands for."""
    return os.path.join(path, name) if os.path.isdir(path) else path


def read(path: str) -> dict[str, Any]:
    """Load a checkpoint on the CPU; UsageError when it is none."""
    import rushlight
    from rushlight.io import CorruptFileError

    path = find(path)
    try:
        content = rushlight.load(path, map_location="cpu")
        size = os.path.getsize(path)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; `rushlight train` writes one") from None
    except (CorruptFileError, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    known = content.get("format") if isinstance(content, dict) else None
    if type(known) is not str or known != FORMAT:
        raise UsageError(
            f"{path} is a weights file, but not one that `rushlight train` wrote; "
            f"`rushlight train --weights {path}` starts from it"
        )
    _as_of_today(content)
    check(content, size, path)
    return content


# What files of earlier versions do not say, and meant.
_MEANT = {
    "task": "classification",
    "target": None,
    "input": None,
    "fit": "crop",
    "minutes": None,
    "fold": None,
    "balanced": False,
    "cutmix": 0.0,
    "erase": 0.0,
    "warmup": None,
    "head_lr": None,
    "ema": 0.0,
    "views": 1,
}


def _as_of_today(content: dict[str, Any]) -> None:
    content.setdefault("average", None)
    content.setdefault("inputs", None)
    content.setdefault("scale", None)
    best = content.get("best")
    if isinstance(best, dict) and "accuracy" in best:
        best["score"] = best.pop("accuracy")
    if isinstance(content.get("config"), dict):
        content["config"] = {**_MEANT, **content["config"]}
