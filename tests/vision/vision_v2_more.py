"""More uses: kinds of tensors, formats of boxes, errors, and every class of `transforms.v2`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from vision_v2_cases import FORMATS, USES, Bench, use

# -- kinds ----------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[Bench, Any], Any]] = {
    "add": lambda b, x: x + 1, "in place": lambda b, x: x.clone().add_(1), "clone": lambda b, x: x.clone(),
    "to": lambda b, x: x.to(b.torch.float64), "detach": lambda b, x: x.detach(), "item": lambda b, x: x[0],
    "from another": lambda b, x: b.torch.ones(1).to(x), "unbind": lambda b, x: x.unbind(0),
    "max": lambda b, x: x.max(0), "stack": lambda b, x: b.torch.stack([x, x]), "deepcopy": lambda b, x: copy.deepcopy(x),
    "requires grad": lambda b, x: x.to(b.torch.float32).requires_grad_().requires_grad,
    "chunk": lambda b, x: x.chunk(2), "shape": lambda b, x: [list(x.shape), x.ndim, str(x.dtype).rpartition(".")[2]],
}  # fmt: skip
KINDS: dict[str, Callable[[Bench], Any]] = {
    "image": lambda b: b.picture("image"), "mask": lambda b: b.picture("mask"), "video": lambda b: b.picture("video"),
    "boxes": lambda b: b.boxes("XYWH"), "points": lambda b: b.points(),
}  # fmt: skip


def _inside(b: Bench, operation: Callable, value: Callable) -> Any:
    with b.tt.set_return_type("TVTensor"):
        return operation(b, value(b))


for _kind, _value in KINDS.items():
    for _name, _operation in OPERATIONS.items():
        USES[f"{_name} on {_kind}"] = lambda b, o=_operation, v=_value: o(b, v(b))
        USES[f"{_name} on {_kind}, same kind"] = lambda b, o=_operation, v=_value: _inside(b, o, v)
    USES[f"text of {_kind}"] = lambda b, v=_value: repr(v(b)[:1]) + repr(b.tt.wrap(v(b)[:1], like=v(b)))
    USES[f"copy of {_kind}"] = lambda b, v=_value: copy.copy(v(b))
    USES[f"pickle of {_kind}"] = lambda b, v=_value: pickle.loads(pickle.dumps(v(b)))


@use
def making(b: Bench) -> Any:
    one = b.tt.BoundingBoxes([1, 2, 3, 4], format="cxcywh", canvas_size=(5, 6), clamping_mode=None)
    return [one, b.tt.Image([[1, 2]]), b.tt.KeyPoints([1.5, 2], canvas_size=(3, 4)), b.tt.Mask([[True]]),
            b.tt.Image(b.picture("pil")), b.tt.Mask(b.picture("pil")), b.tt.Image([[1.0]], dtype=b.torch.float64),
            b.tt.wrap(one * 2, like=one, canvas_size=(9, 9), format="XYXY")]  # fmt: skip


WRONG: dict[str, Callable[[Bench], Any]] = {
    "three dims of boxes": lambda b: b.tt.BoundingBoxes(b.torch.zeros(1, 1, 4), format="XYXY", canvas_size=(1, 1)),
    "mode of boxes": lambda b: b.tt.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(1, 1), clamping_mode="x"),
    "whole turned boxes": lambda b: b.tt.BoundingBoxes([[1, 2, 3, 4, 5]], format="XYWHR", canvas_size=(1, 1)),
    "points of three": lambda b: b.tt.KeyPoints([[1, 2, 3]], canvas_size=(1, 1)),
    "picture of one dim": lambda b: b.tt.Image([1, 2]),
    "return type": lambda b: b.tt.set_return_type("x"),
    "rotated format": lambda b: b.tt.is_rotated_bounding_format(3),
    "convert without old": lambda b: b.F.convert_bounding_box_format(b.torch.zeros(1, 4), new_format="XYXY"),
    "convert without new": lambda b: b.F.convert_bounding_box_format(b.torch.zeros(1, 4)),
    "convert with old": lambda b: b.F.convert_bounding_box_format(b.boxes("XYXY"), "XYXY", "XYWH"),
    "convert to turned": lambda b: b.F.convert_bounding_box_format(b.boxes("XYXY"), new_format="XYWHR"),
    "clamp without format": lambda b: b.F.clamp_bounding_boxes(b.torch.zeros(1, 4)),
    "clamp with format": lambda b: b.F.clamp_bounding_boxes(b.boxes("XYXY"), format="XYXY"),
    "clamp mode": lambda b: b.F.clamp_bounding_boxes(b.boxes("XYXY"), clamping_mode="x"),
    "clamp points": lambda b: b.F.clamp_keypoints(b.torch.zeros(1, 2)),
    "brightness of four channels": lambda b: b.F.adjust_brightness(b.torch.zeros(4, 2, 2), 1),
    "hue": lambda b: b.F.adjust_hue(b.floats(3, 2, 2), 0.6), "bits": lambda b: b.F.posterize(b.bytes(3, 2, 2), 9),
    "threshold": lambda b: b.F.solarize(b.bytes(3, 2, 2), 256), "std": lambda b: b.F.normalize(b.floats(1, 2, 2), [1.0], [0.0]),
    "normalize bytes": lambda b: b.F.normalize(b.bytes(1, 2, 2), [1.0], [1.0]),
    "normalize a picture": lambda b: b.v2.Normalize([1.0], [1.0])(b.picture("pil")),
    "unsafe dtype": lambda b: b.F.to_dtype(b.floats(1, 2, 2), b.torch.int64, scale=True),
    "interpolation": lambda b: b.F.resize(b.floats(1, 2, 2), [3, 3], interpolation="x"),
    "bicubic affine": lambda b: b.F.rotate(b.floats(1, 2, 3), 10, interpolation="bicubic"),
    "max size": lambda b: b.F.resize(b.floats(1, 2, 2), [3, 3], max_size=5),
    "short max size": lambda b: b.F.resize(b.floats(1, 2, 2), 5, max_size=5),
    "padding": lambda b: b.F.pad(b.floats(1, 2, 2), [1, 2, 3]), "padding mode": lambda b: b.F.pad(b.floats(1, 2, 2), 1, padding_mode="x"),
    "padding of boxes": lambda b: b.F.pad(b.boxes("XYXY"), 1, padding_mode="edge"),
    "padding of points": lambda b: b.F.pad(b.points(), 1, padding_mode="edge"),
    "fill of masks": lambda b: b.F.pad(b.picture("masks"), 1, fill=[1, 2]),
    "five crop": lambda b: b.F.five_crop(b.floats(1, 2, 2), 3), "displacement": lambda b: b.F.elastic(b.floats(1, 2, 2), b.floats(1, 2)),
    "p": lambda b: b.v2.RandomHorizontalFlip(p=2), "resize": lambda b: b.v2.Resize([1, 2, 3]), "resize none": lambda b: b.v2.Resize(None),
    "pad": lambda b: b.v2.Pad([1, 2, 3]), "fill": lambda b: b.v2.Pad(1, fill="x"), "crop": lambda b: b.v2.RandomCrop(20)(b.picture("image")),
    "zoom": lambda b: b.v2.RandomZoomOut(side_range=(0.5, 2.0)), "no transforms": lambda b: b.v2.Compose([]),
    "weights": lambda b: b.v2.RandomChoice([abs], p=[1, 2]), "jpeg": lambda b: b.v2.JPEG(0), "jpeg bool": lambda b: b.v2.JPEG(True),
    "boxes of five crops": lambda b: b.v2.FiveCrop(3)(b.sample()), "iou crop": lambda b: b.v2.RandomIoUCrop()(b.picture("image")),
    "auto with boxes": lambda b: b.v2.RandAugment()(b.sample()), "auto with nothing": lambda b: b.v2.RandAugment()([1, 2]),
    "mixup with boxes": lambda b: b.v2.MixUp(num_classes=3)(b.sample()), "dtype": lambda b: b.v2.ToDtype(3),
    "mode": lambda b: b.v2.SetClampingMode("auto"), "min size": lambda b: b.v2.SanitizeBoundingBoxes(min_size=0),
    "labels": lambda b: b.v2.SanitizeBoundingBoxes()({"boxes": b.boxes("XYXY"), "labels": [1, 2, 3]}),
    "fewer labels": lambda b: b.v2.SanitizeBoundingBoxes()({"boxes": b.boxes("XYXY"), "labels": b.torch.zeros(2)}),
    "no labels": lambda b: b.v2.SanitizeBoundingBoxes()({"boxes": b.boxes("XYXY")}),
    "two sizes": lambda b: b.v2.RandomCrop(3)([b.tt.Image(b.floats(3, 5, 5)), b.picture("mask")]),
    "kernel": lambda b: b.F.register_kernel("nothing", b.tt.Mask),
    "kernel of a class": lambda b: b.F.register_kernel("resize", int),
    "lanczos": lambda b: b.F.resize(b.floats(1, 2, 2), [3, 3], interpolation="lanczos", antialias=False),
}  # fmt: skip
USES.update({f"wrong {name}": fn for name, fn in WRONG.items()})

# -- formats, the rest of the functionals ---------------------------------------------------------

for _old in FORMATS:
    for _new in FORMATS:
        if (_old in FORMATS[:3]) == (_new in FORMATS[:3]):
            USES[f"{_old} to {_new}"] = lambda b, o=_old, n=_new: b.F.convert_bounding_box_format(
                b.boxes(o), new_format=n
            )
            if _old in FORMATS[:3]:
                USES[f"whole {_old} to {_new}"] = lambda b, o=_old, n=_new: b.F.convert_bounding_box_format(
                    b.boxes(o, b.torch.int64), new_format=n
                )
    for _mode in ("soft", "hard", None, "auto"):
        USES[f"clamp {_old} {_mode}"] = lambda b, o=_old, m=_mode: b.F.clamp_bounding_boxes(b.boxes(o), clamping_mode=m)
    USES[f"sanitize {_old}"] = lambda b, o=_old: b.F.sanitize_bounding_boxes(b.boxes(o), min_size=2)
    USES[f"elastic of {_old}"] = lambda b, o=_old: b.F.elastic(
        b.tt.wrap(b.boxes(o) + 0.3, like=b.boxes(o)), b.floats(1, 9, 13, 2) - 0.5
    )

for _dtype in ("uint8", "int16", "int32", "int64", "float32", "float64"):
    for _target in ("uint8", "int16", "int32", "int64", "float32", "float64"):
        USES[f"{_dtype} to {_target}"] = lambda b, d=_dtype, t=_target: b.F.to_dtype(
            b.F.to_dtype(b.bytes(1, 3, 3), getattr(b.torch, d), scale=True) if d != "uint8" else b.bytes(1, 3, 3),
            getattr(b.torch, t), scale=True,
        )  # fmt: skip


@use
def the_rest_of_functionals(b: Bench) -> Any:
    F, image = b.F, b.picture("image")
    return [
        F.get_dimensions(image), F.get_dimensions(b.picture("pil")), F.get_num_channels(image), F.get_size(b.picture("pil")),
        F.get_size(b.boxes("XYXY")), F.get_size(b.points()), F.get_size(b.picture("mask")), F.get_num_frames(b.picture("video")),
        F.clamp_keypoints(b.tt.KeyPoints([[-1.0, 4], [20, 30]], canvas_size=(9, 13))),
        F.sanitize_keypoints(b.tt.KeyPoints([[-1.0, 4], [2, 3]], canvas_size=(9, 13))),
        F.sanitize_keypoints(b.torch.tensor([[[1, 2], [30, 4]], [[1, 2], [3, 4]]]), (9, 13)),
        F.erase(image, 1, 2, 3, 4, b.torch.tensor(7)), F.erase(b.picture("pil"), 1, 2, 3, 4, b.torch.tensor(7)),
        F.uniform_temporal_subsample(b.picture("video"), 2), F.to_image(np.arange(6, dtype=np.uint8).reshape(2, 3)),
        F.grayscale_to_rgb(b.picture("grey")), F.gaussian_noise(image), F.gaussian_noise(b.floats(3, 4, 5)),
        F.gaussian_noise(b.floats(3, 4, 5), mean=0.5, sigma=2.0, clip=False), F.five_crop(image, 4), F.ten_crop(b.picture("pil"), [4, 5], True),
        F.pad(image, [1, 2], fill=[1, 2, 3]), F.pad(image, 3, padding_mode="reflect"), F.pad(image, 3, padding_mode="symmetric"),
        F.pad(b.picture("mask"), 2, padding_mode="edge"), F.resize_bounding_boxes(b.boxes("XYXY").as_subclass(b.torch.Tensor), (9, 13), [18, 13]),
        F.elastic(image, b.floats(1, 9, 13, 2) - 0.5), F.elastic(b.picture("pil"), b.floats(1, 9, 13, 2) - 0.5), F.elastic(b.points(), b.floats(1, 9, 13, 2) - 0.5),
        F.elastic(b.picture("mask"), b.floats(1, 9, 13, 2) - 0.5), F.horizontal_flip(b.points(b.torch.int64)), F.permute_channels(b.picture("pil"), [2, 0, 1]),
    ]  # fmt: skip


# -- classes --------------------------------------------------------------------------------------

WHOLE: dict[str, Callable[[Bench], Any]] = {  # for a sample with everything in it
    "Resize": lambda b: b.v2.Resize([6, 7]), "Resize short": lambda b: b.v2.Resize(6), "Resize long": lambda b: b.v2.Resize(None, max_size=6),
    "RandomResize": lambda b: b.v2.RandomResize(4, 12), "RandomShortestSize": lambda b: b.v2.RandomShortestSize([4, 6, 8], max_size=10),
    "ScaleJitter": lambda b: b.v2.ScaleJitter((16, 16), scale_range=(0.5, 1.5)), "RandomResizedCrop": lambda b: b.v2.RandomResizedCrop((5, 6)),
    "RandomResizedCrop fallback": lambda b: b.v2.RandomResizedCrop(5, scale=(2.0, 3.0), ratio=(1.0, 1.0)),
    "CenterCrop": lambda b: b.v2.CenterCrop(6), "CenterCrop larger": lambda b: b.v2.CenterCrop([12, 20]),
    "Pad": lambda b: b.v2.Pad([1, 2, 3, 4], fill={b.tt.Mask: 3, "others": 7}), "RandomZoomOut": lambda b: b.v2.RandomZoomOut(fill=5, p=1.0),
    "RandomCrop": lambda b: b.v2.RandomCrop((5, 6)), "RandomCrop padded": lambda b: b.v2.RandomCrop((9, 20), padding=[1, 2], pad_if_needed=True, fill=3),
    "RandomIoUCrop": lambda b: b.v2.RandomIoUCrop(), "RandomIoUCrop wide": lambda b: b.v2.RandomIoUCrop(sampler_options=[0.1], min_scale=0.5),
    "RandomHorizontalFlip": lambda b: b.v2.RandomHorizontalFlip(1.0), "RandomVerticalFlip": lambda b: b.v2.RandomVerticalFlip(0.5),
    "RandomRotation": lambda b: b.v2.RandomRotation(30), "RandomRotation expand": lambda b: b.v2.RandomRotation((20, 50), expand=True, fill=9),
    "RandomAffine": lambda b: b.v2.RandomAffine(20, translate=(0.1, 0.2), scale=(0.7, 1.4), shear=(-5, 5, -3, 3)),
    "RandomPerspective": lambda b: b.v2.RandomPerspective(p=1.0), "RandomPerspective nearest": lambda b: b.v2.RandomPerspective(0.3, p=1.0, interpolation="nearest", fill=4),
    "ElasticTransform": lambda b: b.v2.ElasticTransform(alpha=20.0, sigma=0.4),
    "ColorJitter": lambda b: b.v2.ColorJitter(0.4, 0.4, 0.4, 0.2), "RandomPhotometricDistort": lambda b: b.v2.RandomPhotometricDistort(p=0.7),
    "RandomChannelPermutation": lambda b: b.v2.RandomChannelPermutation(), "Grayscale": lambda b: b.v2.Grayscale(3), "RandomGrayscale": lambda b: b.v2.RandomGrayscale(1.0),
    "RandomEqualize": lambda b: b.v2.RandomEqualize(1.0), "RandomInvert": lambda b: b.v2.RandomInvert(1.0), "RandomPosterize": lambda b: b.v2.RandomPosterize(3, 1.0),
    "RandomSolarize": lambda b: b.v2.RandomSolarize(100, 1.0), "RandomAutocontrast": lambda b: b.v2.RandomAutocontrast(1.0),
    "RandomAdjustSharpness": lambda b: b.v2.RandomAdjustSharpness(1.7, 1.0), "RGB": lambda b: b.v2.RGB(), "GaussianBlur": lambda b: b.v2.GaussianBlur(3),
    "GaussianNoise": lambda b: b.v2.GaussianNoise(sigma=0.2), "RandomErasing": lambda b: b.v2.RandomErasing(p=1.0), "RandomErasing random": lambda b: b.v2.RandomErasing(p=1.0, value="random"),
    "Identity": lambda b: b.v2.Identity(), "Lambda": lambda b: b.v2.Lambda(abs, b.tt.Mask), "ToPureTensor": lambda b: b.v2.ToPureTensor(),
    "ToDtype": lambda b: b.v2.ToDtype(b.torch.float32, scale=True), "ToDtype kinds": lambda b: b.v2.ToDtype({b.tt.Mask: b.torch.int64, "others": None}),
    "ConvertImageDtype": lambda b: b.v2.ConvertImageDtype(b.torch.float64), "ToPILImage": lambda b: b.v2.ToPILImage(), "ToImage": lambda b: b.v2.ToImage(),
    "ConvertBoundingBoxFormat": lambda b: b.v2.ConvertBoundingBoxFormat("cxcywh"), "ClampBoundingBoxes": lambda b: b.v2.ClampBoundingBoxes(),
    "ClampKeyPoints": lambda b: b.v2.ClampKeyPoints(), "SetClampingMode": lambda b: b.v2.SetClampingMode("hard"),
    "SanitizeBoundingBoxes": lambda b: b.v2.Compose([b.v2.ClampBoundingBoxes(), b.v2.SanitizeBoundingBoxes(min_size=5)]),
    "SanitizeKeyPoints": lambda b: b.v2.SanitizeKeyPoints(labels_getter="default"),
    "Compose": lambda b: b.v2.Compose([b.v2.RandomHorizontalFlip(1.0), b.v2.RandomCrop(5), b.v2.ToDtype(b.torch.float32, True), b.v2.Normalize([0.5] * 3, [0.2] * 3)]),
    "RandomApply": lambda b: b.v2.RandomApply([b.v2.RandomVerticalFlip(1.0), b.v2.CenterCrop(5)], p=0.6),
    "RandomChoice": lambda b: b.v2.RandomChoice([b.v2.CenterCrop(5), b.v2.CenterCrop(4), b.v2.CenterCrop(3)], p=[1, 2, 1]),
    "RandomOrder": lambda b: b.v2.RandomOrder([b.v2.CenterCrop(7), b.v2.Pad(1), b.v2.RandomHorizontalFlip(0.5)]),
}  # fmt: skip
PICTURES: dict[str, Callable[[Bench], Any]] = {  # for a picture alone
    "AutoAugment": lambda b: b.v2.AutoAugment(), "AutoAugment svhn": lambda b: b.v2.AutoAugment(b.v2.AutoAugmentPolicy.SVHN, fill=7),
    "RandAugment": lambda b: b.v2.RandAugment(num_ops=3, magnitude=15), "TrivialAugmentWide": lambda b: b.v2.TrivialAugmentWide(interpolation="bilinear", fill=5),
    "AugMix": lambda b: b.v2.AugMix(severity=5), "FiveCrop": lambda b: b.v2.FiveCrop(4), "TenCrop": lambda b: b.v2.TenCrop((4, 5)),
    "RandomResizedCrop": WHOLE["RandomResizedCrop"], "ColorJitter": WHOLE["ColorJitter"], "RandomAffine": WHOLE["RandomAffine"],
    "RandomPerspective": WHOLE["RandomPerspective"], "ElasticTransform": WHOLE["ElasticTransform"], "RandomErasing": WHOLE["RandomErasing"],
    "ToImage": lambda b: b.v2.ToImage(), "PILToTensor": lambda b: b.v2.PILToTensor(), "ToTensor": lambda b: b.v2.ToTensor(),
    "RandomCrop": WHOLE["RandomCrop padded"], "RandomZoomOut": WHOLE["RandomZoomOut"], "UniformTemporalSubsample": lambda b: b.v2.UniformTemporalSubsample(2),
}  # fmt: skip

for _name, _made in WHOLE.items():
    for _seed in range(2):
        USES[f"{_name} {'!' * _seed}"] = lambda b, m=_made: [repr(m(b)), m(b)(b.sample())]
    USES[f"{_name} of arguments"] = lambda b, m=_made: m(b)(*b.sample().values())
for _name, _made in PICTURES.items():
    for _kind in ("bytes", "floats", "image", "video", "pil"):
        for _seed in range(2 + 4 * ("Aug" in _name)):
            USES[f"{_name} of {_kind}, {'!' * _seed}"] = lambda b, m=_made, k=_kind: m(b)((b.picture(k), 3))


@use
def repr_of_pictures(b: Bench) -> Any:
    return [repr(made(b)) for made in PICTURES.values()]


for _name in ("MixUp", "CutMix"):
    for _seed in range(3):
        USES[f"{_name} {'!' * _seed}"] = lambda b, n=_name: getattr(b.v2, n)(alpha=0.5, num_classes=4)(
            b.floats(3, 3, 9, 13), b.torch.tensor([1, 3, 0])
        )
    USES[f"{_name} of a dict"] = lambda b, n=_name: getattr(b.v2, n)(num_classes=4)(
        {"x": b.tt.Video(b.floats(3, 2, 3, 5, 6)), "the_label": b.torch.tensor([1, 3, 0])}
    )


@use
def plain_tensors_of_a_sample(b: Bench) -> Any:
    """Only the first plain tensor is a picture, and none beside a picture that says so."""
    flip = b.v2.RandomHorizontalFlip(1.0)
    a, c = b.floats(1, 2, 2), b.floats(1, 2, 2, seed=9)
    return [flip(a, c), flip({"c": c, "a": a}), flip(b.tt.Image(a), c), flip([3, "x", None, a])]


@use
def linear_transformation(b: Bench) -> Any:
    made = b.v2.LinearTransformation(b.floats(12, 12), b.floats(12, seed=3))
    return [
        made(b.floats(3, 2, 2)),
        made(b.tt.Image(b.floats(2, 3, 2, 2))),
        made((b.tt.Image(b.floats(3, 2, 2)), b.points())),
    ]


@use
def a_kind_of_ones_own(b: Bench) -> Any:
    class Depth(b.tt.TVTensor):
        pass

    def flipped(x: Any) -> Any:
        return b.tt.wrap(x.flip(-1), like=x)

    value = b.floats(2, 3).as_subclass(Depth)
    before = b.v2.RandomHorizontalFlip(1.0)(value)
    b.F.register_kernel(b.F.horizontal_flip, Depth)(flipped)
    return [
        before,
        b.v2.RandomHorizontalFlip(1.0)(value),
        value.clone(),
        value + 1,
        isinstance(b.F.is_pure_tensor(value), bool),
    ]


@use
def queries(b: Bench) -> Any:
    flat = [v for k, v in b.sample().items() if k != "labels"]
    return [b.v2.query_chw(flat), b.v2.query_size(flat), b.v2.has_any(flat, str), b.v2.has_all(flat, str, b.tt.Video),
            b.v2.check_type(3, (int,)), b.v2.get_bounding_boxes(flat) is flat[1], b.v2.get_keypoints(flat) is flat[3]]  # fmt: skip
