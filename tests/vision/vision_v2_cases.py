"""Small uses of `tv_tensors` and `transforms.v2`, told in numbers, and those that torchvision 0.28.0 gave.

    python tests/vision/vision_v2_cases.py FOLDER      # store them anew; FOLDER holds torchvision beside an installed torch

A use gets the two packages, so the same lines run on torchvision and on rushlight.
"""

from __future__ import annotations

import json
import platform
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

EXPECTED = Path(__file__).with_name("vision_v2_expected.json")
H, W = 9, 13


class Bench:
    """The things that uses work on, made with one of the two packages."""

    def __init__(self, torch: Any, tv: Any) -> None:
        self.torch = torch
        self.tt = import_module(f"{tv.__name__}.tv_tensors")
        self.v2 = import_module(f"{tv.__name__}.transforms.v2")
        self.F = self.v2.functional
        self.datasets = import_module(f"{tv.__name__}.datasets")

    def bytes(self, *shape: int, seed: int = 0) -> Any:
        a = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
        return self.torch.from_numpy(a)

    def floats(self, *shape: int, seed: int = 1) -> Any:
        return self.torch.from_numpy(np.random.default_rng(seed).random(shape, np.float32))

    def picture(self, kind: str) -> Any:
        """A picture of one of the kinds that a functional may get."""
        from PIL import Image

        if kind == "pil":
            a = self.bytes(H, W, 3, seed=3).numpy()
            return Image.fromarray(a)
        made = {"bytes": self.bytes(3, H, W), "floats": self.floats(3, H, W), "grey": self.floats(1, H, W, seed=5),
                "doubles": self.floats(3, H, W).double(), "batch": self.bytes(2, 3, H, W)}  # fmt: skip
        if kind in made:
            return made[kind]
        if kind == "image":
            return self.tt.Image(made["bytes"])
        if kind == "video":
            return self.tt.Video(self.bytes(4, 3, H, W, seed=4))
        return self.tt.Mask(self.bytes(2, H, W, seed=2) // 64 if kind == "masks" else self.bytes(H, W, seed=2) // 64)

    def boxes(self, fmt: str, dtype: Any = None, mode: Any = "soft") -> Any:
        """Boxes of a picture (9, 13); one reaches out of it."""
        rows: list[list[float]] = [[2, 1, 8, 5], [6.5, 2, 15, 7], [-2, 3, 4, 8.5]]
        if fmt.endswith("R") or fmt == "XYXYXYXY":
            rows = [[6.0, 4, 6, 3, 20], [10, 3, 5, 4, -40], [2, 6, 4, 3, 110]]
            given = self.F.convert_bounding_box_format(self.torch.tensor(rows), "CXCYWHR", fmt)
        else:
            given = self.F.convert_bounding_box_format(self.torch.tensor(rows), "XYXY", fmt)
        given = given if dtype is None else given.to(dtype)
        return self.tt.BoundingBoxes(given, format=fmt, canvas_size=(H, W), clamping_mode=mode)

    def points(self, dtype: Any = None) -> Any:
        given = self.torch.tensor([[0.0, 0.0], [3.5, 2.0], [12.0, 8.0]])
        given = given if dtype is None else given.to(dtype)
        return self.tt.KeyPoints(given, canvas_size=(H, W))

    def sample(self) -> dict[str, Any]:
        """A picture with all that may belong to it."""
        return {
            "image": self.picture("image"), "boxes": self.boxes("XYXY"), "mask": self.picture("masks"),
            "points": self.points(), "labels": self.torch.tensor([3, 1, 2]), "name": "a",
        }  # fmt: skip


def told(x: Any) -> Any:
    """A result in a few numbers and words."""
    if isinstance(x, dict):
        return {str(k): told(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [told(v) for v in x]
    if hasattr(x, "getbands"):
        return ["PIL", x.mode, *numbers(np.asarray(x))]
    if hasattr(x, "detach"):
        said = [type(x).__name__, str(x.dtype).rpartition(".")[2], *numbers(x.detach().cpu().numpy())]
        fields = ("format", "canvas_size", "clamping_mode")
        found = [getattr(x, n) for n in fields if hasattr(x, n)]
        return [*said, *[v.value if hasattr(v, "value") else told(v) for v in found]]
    if isinstance(x, str):
        return x.replace("rushlight.", "torch.")
    return x if isinstance(x, (int, float, bool, type(None))) else repr(x)


def numbers(a: np.ndarray) -> list[Any]:
    """Shape, and sums that tell arrays apart; small ones whole."""
    flat = a.astype(np.float64).ravel()
    if flat.size <= 16:
        return [list(a.shape), [float(f"{v:.7g}") for v in flat]]
    place = np.cos(np.arange(flat.size) * 0.7) + np.arange(flat.size) / flat.size
    told = [flat.sum(), (flat * place).sum(), flat.min(), flat.max(), *flat[:3], *flat[-3:]]
    return [list(a.shape), [float(f"{v:.7g}") for v in told]]


USES: dict[str, Callable[[Bench], Any]] = {}

GEOMETRY: dict[str, dict[str, Any]] = {
    "horizontal_flip": {}, "vertical_flip": {},
    "resize": {"size": [5, 20]}, "resize#short": {"size": [6], "max_size": 8}, "resize#long": {"size": None, "max_size": 7},
    "affine": {"angle": 20, "translate": [2, -1], "scale": 1.3, "shear": [5, -8]},
    "affine#centre": {"angle": -33.5, "translate": [0, 0], "scale": 0.7, "shear": [0, 0], "center": [1, 2], "fill": 7},
    "rotate": {"angle": 33}, "rotate#expand": {"angle": 50, "expand": True}, "rotate#90": {"angle": 90, "expand": True},
    "rotate#180": {"angle": -180}, "rotate#centre": {"angle": 12, "center": [3, 4], "fill": 5},
    "pad": {"padding": [1, 2, 3, 4]}, "pad#one": {"padding": 2, "fill": 9},
    "crop": {"top": 2, "left": 3, "height": 5, "width": 6}, "crop#out": {"top": -2, "left": 8, "height": 6, "width": 9},
    "perspective": {"startpoints": [[0, 0], [12, 0], [12, 8], [0, 8]], "endpoints": [[1, 1], [11, 0], [12, 7], [2, 8]]},
    "perspective#numbers": {"startpoints": None, "endpoints": None, "fill": 3,
                            "coefficients": [1.1, 0.05, 0.3, -0.02, 0.9, 0.4, 0.003, -0.004]},
    "center_crop": {"output_size": [5, 4]}, "center_crop#larger": {"output_size": [12, 8]},
    "resized_crop": {"top": 1, "left": 2, "height": 6, "width": 8, "size": [10, 5]},
}  # fmt: skip
COLOURS: dict[str, dict[str, Any]] = {
    "adjust_brightness": {"brightness_factor": 1.4}, "adjust_saturation": {"saturation_factor": 0.3},
    "adjust_contrast": {"contrast_factor": 1.7}, "adjust_sharpness": {"sharpness_factor": 2.0},
    "adjust_hue": {"hue_factor": 0.21}, "adjust_gamma": {"gamma": 1.8, "gain": 0.9}, "posterize": {"bits": 3},
    "solarize": {"threshold": 0.4}, "autocontrast": {}, "equalize": {}, "invert": {},
    "rgb_to_grayscale": {}, "rgb_to_grayscale#3": {"num_output_channels": 3}, "permute_channels": {"permutation": [2, 0, 1]},
    "gaussian_blur": {"kernel_size": [3, 5]}, "gaussian_blur#sigma": {"kernel_size": 5, "sigma": [0.7, 1.9]},
}  # fmt: skip
FORMATS = ("XYXY", "XYWH", "CXCYWH", "XYWHR", "CXCYWHR", "XYXYXYXY")


def _functional(name: str, given: Callable[[Bench], Any], options: dict[str, Any]) -> Callable:
    return lambda b: getattr(b.F, name.partition("#")[0])(given(b), **options)


def _fill_geometry() -> None:
    for name, options in GEOMETRY.items():
        for kind in ("bytes", "floats", "doubles", "batch", "image", "video", "mask", "masks", "pil"):
            USES[f"{name} of {kind}"] = _functional(name, lambda b, k=kind: b.picture(k), options)
        for fmt in FORMATS:
            USES[f"{name} of {fmt}"] = _functional(name, lambda b, f=fmt: b.boxes(f), options)
        whole = _functional(name, lambda b: b.boxes("CXCYWH", b.torch.int64), options)
        USES[f"{name} of whole boxes"] = whole
        hard = _functional(name, lambda b: b.boxes("XYXYXYXY", mode="hard"), options)
        USES[f"{name} of hard boxes"] = hard
        USES[f"{name} of points"] = _functional(name, lambda b: b.points(), options)
    for mode in ("nearest", "nearest-exact", "bicubic", "lanczos"):
        for kind in ("bytes", "floats", "mask", "pil"):
            USES[f"resize {mode} of {kind}"] = _functional(
                "resize", lambda b, k=kind: b.picture(k), {"size": [4, 17], "interpolation": mode}
            )
    for name in ("affine", "rotate"):
        for kind in ("bytes", "floats"):
            options = {**GEOMETRY[name], "interpolation": "bilinear", "fill": [1.0, 2.0, 3.0]}
            USES[f"{name} bilinear of {kind}"] = _functional(name, lambda b, k=kind: b.picture(k), options)


def _fill_colours() -> None:
    for name, options in COLOURS.items():
        for kind in ("bytes", "floats", "batch", "image", "pil"):
            changed = {**options, "threshold": 100} if "threshold" in options and kind != "floats" else options
            USES[f"{name} of {kind}"] = _functional(name, lambda b, k=kind: b.picture(k), changed)


_fill_geometry()
_fill_colours()


def use(fn: Callable[[Bench], Any]) -> Callable[[Bench], Any]:
    USES[fn.__name__.replace("_", " ")] = fn
    return fn


def answer(b: Bench, name: str) -> Any:
    """What a use gives, or the error that it ends with."""
    b.torch.manual_seed(len(name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return told(USES[name](b))
    except Exception as error:
        return ["raises", type(error).__name__, str(error).replace("rushlight.vision", "torchvision").replace("rushlight", "torch")]  # fmt: skip


# The numbers were stored on an aarch64; fractions of bytes that are cut off or rounded may fall otherwise elsewhere.
BYTES_APART = 0 if platform.machine() == "aarch64" else 1


def differences(got: Any, want: Any, where: str = "", loose: float = 0.0) -> Iterator[str]:
    """Where two answers differ; floats may by rounding, and by `loose` where fractions of bytes are cut off."""
    if isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            yield from differences(g, w, f"{where}[{i}]", loose)
    elif isinstance(want, dict) and isinstance(got, dict) and list(got) == list(want):
        for key in want:
            yield from differences(got[key], want[key], f"{where}.{key}", loose)
    elif isinstance(want, float) and isinstance(got, (int, float)):
        if not abs(got - want) <= 2e-4 + loose + (2e-5 + loose / 1000) * abs(want) and not (
            got != got and want != want
        ):
            yield f"{where}: {got} != {want}"
    elif isinstance(want, int) and isinstance(got, int) and not isinstance(want, bool):
        if abs(got - want) > max(BYTES_APART, loose):
            yield f"{where}: {got} != {want}"
    elif got != want:
        yield f"{where}: {got} != {want}"


def main(folder: str) -> None:
    """Store what torchvision gives."""
    sys.path.insert(0, folder)
    # Its operators in C are not needed here, and may be for another device than the installed torch.
    sys.modules["torchvision._meta_registrations"] = types.ModuleType("_meta_registrations")
    import torch
    import torchvision

    import vision_v2_more  # noqa: F401 - adds its uses

    bench = Bench(torch, torchvision)
    found = {name: answer(bench, name) for name in USES}
    lines = [f"{json.dumps(n)}: {json.dumps(v)}" for n, v in found.items()]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.modules["vision_v2_cases"] = sys.modules["__main__"]
    main(sys.argv[1])
