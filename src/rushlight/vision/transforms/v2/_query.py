"""What is in a sample: pictures, boxes, points, labels, and their sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ....core.tensor import Tensor
from ..._pillow import is_pil_image
from ...tv_tensors import BoundingBoxes, Image, KeyPoints, Mask, Video
from .functional import get_dimensions, get_size, is_pure_tensor

PICTURES = (is_pure_tensor, Image, is_pil_image, Video)


def check_type(obj: object, types_or_checks: Iterable[Any]) -> bool:
    """Whether an object is of one of some classes, or passes one of some checks.

    Args:
        obj: anything.
        types_or_checks: classes, and functions that answer with a bool.

    Example:
        >>> v2.check_type(3, (str, lambda x: x == 3))
        True
    """
    return any(isinstance(obj, t) if isinstance(t, type) else t(obj) for t in types_or_checks)


def has_any(flat_inputs: list[Any], *types_or_checks: Any) -> bool:
    """Whether something in a list is of one of some classes, or passes one of some checks.

    Args:
        flat_inputs: the list.
        types_or_checks: classes, and functions that answer with a bool.

    Example:
        >>> v2.has_any([1, "a"], str, list)
        True
    """
    return any(check_type(inpt, types_or_checks) for inpt in flat_inputs)


def has_all(flat_inputs: list[Any], *types_or_checks: Any) -> bool:
    """As `has_any`: whether something of every kind is there."""
    return all(has_any(flat_inputs, t) for t in types_or_checks)


def get_bounding_boxes(flat_inputs: list[Any]) -> Any:
    """The boxes of a sample.

    Args:
        flat_inputs: the parts of the sample.

    Raises:
        ValueError: if it has none.

    Example:
        >>> boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(8, 8))
        >>> v2.get_bounding_boxes(["a", boxes]) is boxes
        True
    """
    for inpt in flat_inputs:
        if isinstance(inpt, BoundingBoxes):
            return inpt
    raise ValueError("No bounding boxes were found in the sample")


def get_keypoints(flat_inputs: list[Any]) -> Any:
    """As `get_bounding_boxes`: the points."""
    for inpt in flat_inputs:
        if isinstance(inpt, KeyPoints):
            return inpt
    raise ValueError("No keypoints were found in the sample")


def _only(found: set[tuple[int, ...]], what: str, missing: str) -> tuple[int, ...]:
    if not found:
        raise TypeError(missing)
    if len(found) > 1:
        shown = ", ".join(f"'{size}'" for size in sorted(found))
        raise ValueError(f"Found multiple {what} dimensions in the sample: {shown}")
    return found.pop()


def query_chw(flat_inputs: list[Any]) -> tuple[int, int, int]:
    """(channels, height, width) of the pictures and videos of a sample.

    Args:
        flat_inputs: the parts of the sample.

    Raises:
        TypeError: if it has none.
        ValueError: if they differ.

    Example:
        >>> v2.query_chw([torch.zeros(3, 2, 4), "a"])
        (3, 2, 4)
    """
    found = {tuple(get_dimensions(inpt)) for inpt in flat_inputs if check_type(inpt, PICTURES)}
    c, h, w = _only(found, "CxHxW", "No image or video was found in the sample")
    return c, h, w


def query_size(flat_inputs: list[Any]) -> tuple[int, int]:
    """As `query_chw`: height and width."""
    kinds = (*PICTURES, Mask, BoundingBoxes, KeyPoints)
    found = {tuple(get_size(inpt)) for inpt in flat_inputs if check_type(inpt, kinds)}
    missing = "No image, video, mask, bounding box of keypoint was found in the sample"
    h, w = _only(found, "HxW", missing)
    return h, w


def _find_labels_default_heuristic(inputs: Any) -> Any:
    """The labels of a sample: its second part, or what it has under a key that says so."""
    part = inputs[1] if isinstance(inputs, (tuple, list)) else inputs
    if is_pure_tensor(part):
        return part
    if not isinstance(part, Mapping):
        raise ValueError(
            "When using the default labels_getter, the input passed to forward must be a dictionary or a two-tuple "
            f"whose second item is a dictionary or a tensor, but got {part} instead."
        )
    keys = [k for k in part if k.lower() == "labels"] + [k for k in part if "label" in k.lower()]
    if not keys:
        raise ValueError(
            "Could not infer where the labels are in the sample. Try passing a callable as the labels_getter parameter?"
            "If there are no labels in the sample by design, pass labels_getter=None."
        )
    return part[keys[0]]


def labels_finder(labels_getter: Any) -> Callable[[Any], Any]:
    """The function that finds the labels of a sample."""
    if callable(labels_getter):
        return labels_getter
    if labels_getter is None:
        return lambda _: None
    if labels_getter == "default":
        return _find_labels_default_heuristic
    raise ValueError(f"labels_getter should either be 'default', a callable, or None, but got {labels_getter}.")


def labels_of(found: Any) -> tuple[Tensor, ...] | None:
    """Labels as a tuple of tensors; refuses what is none."""
    if found is None:
        return None
    labels = (found,) if isinstance(found, Tensor) else found
    wrong = [x for x in labels if not isinstance(x, Tensor)] if isinstance(labels, (tuple, list)) else [labels]
    if wrong:
        raise ValueError(
            f"The labels in the input to forward() must be a tensor or None, got {type(wrong[0])} instead."
        )
    return tuple(labels)
