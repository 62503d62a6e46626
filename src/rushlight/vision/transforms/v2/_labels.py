"""Boxes and points outside of the picture taken away, and what belongs to them."""

from __future__ import annotations

from typing import Any

from ....base.trees import tree_flatten, tree_unflatten
from ....core.tensor import Tensor
from ... import tv_tensors
from ...tv_tensors import BoundingBoxes, KeyPoints, Mask
from ._query import get_bounding_boxes, get_keypoints, labels_finder, labels_of
from ._transform import Transform
from .functional._sound import sound_boxes, sound_points


class _Sanitizing(Transform):
    """Takes away what is wrong, by rows: of the boxes or points, and of the labels."""

    _labels_getter: Any

    def _places(self, flat_inputs: list[Any]) -> Any:
        raise NotImplementedError

    def _sound(self, places: Tensor) -> Tensor:
        raise NotImplementedError

    def _wrong_length(self, places: Tensor, label: Tensor) -> str:
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        """The sample without what is wrong."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = labels_of(self._labels_getter(sample))
        flat_inputs, spec = tree_flatten(sample)
        places = self._places(flat_inputs)
        for label in labels or ():
            if places.shape[0] != label.shape[0]:
                raise ValueError(self._wrong_length(places, label))
        params = {"valid": self._sound(places), "labels": labels}
        return tree_unflatten([self.transform(inpt, params) for inpt in flat_inputs], spec)

    def _rows(self, inpt: Any, params: dict[str, Any], kinds: tuple[type, ...]) -> Any:
        label = any(inpt is one for one in params["labels"] or ())
        if not label and not isinstance(inpt, kinds):
            return inpt
        rows = inpt[params["valid"]]
        return rows if label else tv_tensors.wrap(rows, like=inpt)


class SanitizeBoundingBoxes(_Sanitizing):
    """Boxes that reach out of the picture or are too small taken away, with their labels and masks.

    Args:
        min_size: the shortest side, at least 1.
        min_area: the smallest area, at least 1.
        labels_getter: a function that finds the labels of a sample; None for no labels; by default they are the
            second part, or what a key with "label" in it names.

    Example:
        >>> boxes = tv_tensors.BoundingBoxes([[1, 1, 3, 3], [5, 5, 5, 9]], format="XYXY", canvas_size=(9, 9))
        >>> v2.SanitizeBoundingBoxes()({"boxes": boxes, "labels": torch.tensor([7, 8])})["labels"]
        tensor([7])
    """

    def __init__(self, min_size: float = 1.0, min_area: float = 1.0, labels_getter: Any = "default") -> None:
        super().__init__()
        if min_size < 1:
            raise ValueError(f"min_size must be >= 1, got {min_size}.")
        if min_area < 1:
            raise ValueError(f"min_area must be >= 1, got {min_area}.")
        self.min_size, self.min_area = min_size, min_area
        self.labels_getter = labels_getter
        self._labels_getter = labels_finder(labels_getter)

    def _places(self, flat_inputs: list[Any]) -> Any:
        return get_bounding_boxes(flat_inputs)

    def _sound(self, places: Any) -> Tensor:
        plain = places.as_subclass(Tensor)
        return sound_boxes(plain, places.format, places.canvas_size, self.min_size, self.min_area)

    def _wrong_length(self, places: Tensor, label: Tensor) -> str:
        return (
            f"Number of boxes (shape={places.shape}) and must match the number of labels."
            f"Found labels with shape={label.shape})."
        )

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The rows of the part that stay."""
        try:
            return self._rows(inpt, params, (BoundingBoxes, Mask))
        except IndexError:  # a mask of classes, which has no row for each box
            return inpt


class SanitizeKeyPoints(_Sanitizing):
    """Points, or groups of points, that are not all inside the picture taken away, with their labels.

    Args:
        labels_getter: a function that finds the labels of a sample; "default" for their usual places.

    Example:
        >>> points = tv_tensors.KeyPoints([[1, 1], [9, 1]], canvas_size=(9, 9))
        >>> v2.ToPureTensor()(v2.SanitizeKeyPoints()(points))
        tensor([[1, 1]])
    """

    def __init__(self, labels_getter: Any = None) -> None:
        super().__init__()
        self.labels_getter = labels_getter
        self._labels_getter = labels_finder(labels_getter)

    def _places(self, flat_inputs: list[Any]) -> Any:
        return get_keypoints(flat_inputs)

    def _sound(self, places: Any) -> Tensor:
        return sound_points(places.as_subclass(Tensor), places.canvas_size)

    def _wrong_length(self, places: Tensor, label: Tensor) -> str:
        return (
            f"Number of kepyoints (shape={places.shape}) must match the number of labels."
            f"Found labels with shape={label.shape})."
        )

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The rows of the part that stay."""
        return self._rows(inpt, params, (KeyPoints,))
