"""How pictures are varied in training, and how they are brought to the network's size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .pictures import middle

if TYPE_CHECKING:
    from ...vision._pillow import PILImage

KINDS = ("none", "colours", "light", "strong", "auto")
# Before its middle is cut out for the test, a picture's shorter side is so many times the network's.
MARGIN = 8 / 7
# The least part of a picture that a crop keeps.
_LEAST = {"light": 0.6, "strong": 0.35}
# What padding adds: the mean of photographs, which is 0 for the network.
_GROUND = (124, 116, 104)
# Pictures are squashed where nine of ten are at most so many times as long as wide, and padded otherwise.
_NEARLY_SQUARE = 1.5
# TrivialAugment's operations: (strongest, whether the sign is drawn).
_SPACE: dict[str, tuple[float, bool]] = {
    "identity": (0.0, False), "shear_x": (0.99, True), "shear_y": (0.99, True),
    "translate_x": (0.35, True), "translate_y": (0.35, True), "rotate": (60.0, True),
    "brightness": (0.9, True), "color": (0.9, True), "contrast": (0.9, True),
    "sharpness": (0.9, True), "posterize": (6.0, False), "solarize": (255.0, False),
    "autocontrast": (0.0, False), "equalize": (0.0, False),
}  # fmt: skip
_BINS = 31
_LEAST_SEEN = 1 / 3  # of a box
NOTHING = 255  # in a mask: a pixel of which nothing is known
# Those of them that leave everything where it is.
_COLOURS = ("identity", "brightness", "color", "contrast", "sharpness", "posterize", "autocontrast", "equalize")


class TrivialAugment:
    """One operation of fourteen, with a strength drawn at random (Müller and Hutter 2021), on PIL pictures.

    Movements are at most a third of the side; the paper has 32 pixels, whatever the size of the picture.
    """

    def __init__(self, names: tuple[str, ...] = tuple(_SPACE)) -> None:
        self.names = names

    def __call__(self, picture: PILImage) -> Any:
        from rushlight import randint

        name = self.names[int(randint(0, len(self.names), (1,)))]
        strongest, signed = _SPACE[name]
        strength = strongest * int(randint(0, _BINS, (1,))) / (_BINS - 1)
        if signed and int(randint(0, 2, (1,))):
            strength = -strength
        return _apply(name, picture, strength)

    def __repr__(self) -> str:
        return "TrivialAugment()" if self.names == tuple(_SPACE) else f"TrivialAugment({self.names})"


def _apply(name: str, picture: PILImage, strength: float) -> Any:
    """One operation; the corners that a movement uncovers are filled with the middle grey."""
    from PIL import Image, ImageEnhance, ImageOps

    if name in ("brightness", "color", "contrast", "sharpness"):
        return getattr(ImageEnhance, name.capitalize())(picture).enhance(1.0 + strength)
    if name == "posterize":
        return ImageOps.posterize(picture, 8 - round(strength))
    if name == "solarize":
        return ImageOps.solarize(picture, int(255.0 - strength))
    if name in ("autocontrast", "equalize"):
        return getattr(ImageOps, name)(picture)
    if name == "identity":
        return picture
    wide, high = picture.size
    fill = 128 if picture.mode == "L" else (128,) * len(picture.getbands())
    if name == "rotate":
        return picture.rotate(strength, fillcolor=fill)
    matrix = {
        "shear_x": (1, strength, -strength * high / 2, 0, 1, 0),
        "shear_y": (1, 0, 0, strength, 1, -strength * wide / 2),
        "translate_x": (1, 0, strength * wide, 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, strength * high),
    }[name]
    return picture.transform((wide, high), Image.Transform.AFFINE, matrix, fillcolor=fill)


def fit_for(shapes: list[tuple[int, int]]) -> str:
    """How pictures of these heights and widths become squares: nothing is cut away unless that is asked for."""
    longer = sorted(max(h, w) / min(h, w) for h, w in shapes)
    return "squash" if not longer or longer[len(longer) * 9 // 10] <= _NEARLY_SQUARE else "pad"


def ground(channels: int) -> int | tuple[int, ...]:
    """The colour around a padded picture."""
    return _GROUND if channels == 3 else _GROUND[1]


def squared(picture: PILImage, fit: str, side: int, mask: bool = False) -> Any:
    """A picture as training varies it and the test sees it: squashed or padded to `side`; a crop is cut later."""
    from PIL import Image, ImageOps

    how = Image.Resampling.NEAREST if mask else Image.Resampling.BILINEAR
    if fit == "squash":
        return picture.resize((side, side), how, reducing_gap=None if mask else 3.0)
    if fit == "pad":
        return ImageOps.pad(picture, (side, side), how, color=NOTHING if mask else ground(len(picture.getbands())))
    return picture


def inside(side: int, fit: str, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Where in its square a picture of that width and height lies; padding is around it."""
    if fit != "pad":
        return 0, 0, side, side
    from PIL import Image, ImageOps

    left, top, right, bottom = middle(*size)
    shape = Image.new("1", (right - left, bottom - top))
    wide, high = ImageOps.contain(shape, (side, side), Image.Resampling.NEAREST).size
    x, y = round((side - wide) / 2), round((side - high) / 2)
    return x, y, x + wide, y + high


class Squared:
    """`squared` as the first of some transforms."""

    def __init__(self, fit: str, side: int) -> None:
        self.fit, self.side = fit, side

    def __call__(self, picture: PILImage) -> Any:
        return squared(picture, self.fit, self.side)

    def __repr__(self) -> str:
        return f"Squared({self.fit!r}, {self.side})"


def plain(size: int, fit: str) -> list[Any]:
    """What brings any picture to the network's size, for validation, test and prediction."""
    from rushlight.vision import transforms as t

    if fit == "crop":
        return [t.Resize(round(size * MARGIN)), t.CenterCrop(size)]
    return [Squared(fit, size)]


def for_photos(size: int, fit: str, kind: str, mean: tuple, std: tuple, erase: float = 0.0) -> tuple[Any, Any]:
    """The transforms of photographs of any size: for training and for the test."""
    from rushlight.vision import transforms as t

    last: list[Any] = [t.ToTensor(), t.Normalize(mean, std)]
    fixed = t.Compose([*plain(size, fit), *last])
    last += [t.RandomErasing(erase)] if erase else []
    if kind == "none":
        return t.Compose([*plain(size, fit), *last]), fixed
    if kind == "colours":
        return t.Compose([*plain(size, fit), TrivialAugment(_COLOURS), *last]), fixed
    kind = "light" if kind == "auto" else kind
    first: list[Any] = [
        Squared(fit, round(size * MARGIN)),
        t.RandomResizedCrop(size, scale=(_LEAST[kind], 1.0)),
        t.RandomHorizontalFlip(),
    ]
    if kind == "strong":
        first.append(TrivialAugment())
    return t.Compose([*first, *last]), fixed


class MaskOver:
    """The mask of a picture, moved as the picture is."""

    def __init__(self, mask: PILImage) -> None:
        self.mask = mask

    def squared(self, fit: str, side: int) -> MaskOver:
        return MaskOver(squared(self.mask, fit, side, mask=True))

    def cut(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> MaskOver:
        from PIL import Image

        return MaskOver(self.mask.crop(box).resize(size, Image.Resampling.NEAREST))

    def mirrored(self) -> MaskOver:
        from PIL import ImageOps

        return MaskOver(ImageOps.mirror(self.mask))

    def tensor(self) -> Any:
        from rushlight.vision.transforms import functional

        return functional.pil_to_tensor(self.mask)[0].long()


class BoxesOver:
    """Boxes over a picture of some size, moved as the picture is: rows of a number and x1, y1, x2, y2 as parts of the sides."""

    def __init__(self, rows: np.ndarray, size: tuple[int, int]) -> None:
        self.rows, self.size = rows, size

    def squared(self, fit: str, side: int) -> BoxesOver:
        x1, y1, x2, y2 = inside(side, fit, self.size)
        corner, length = np.array([x1, y1] * 2) / side, np.array([x2 - x1, y2 - y1] * 2) / side
        return BoxesOver(_with(self.rows, self.rows[:, 1:] * length + corner), (side, side))

    def cut(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> BoxesOver:
        """What is left of them inside of a part of the picture; of which less than a third is seen is not asked for."""
        x1, y1, x2, y2 = (v / n for v, n in zip(box, self.size * 2))
        places = (self.rows[:, 1:] - [x1, y1, x1, y1]) / [x2 - x1, y2 - y1, x2 - x1, y2 - y1]
        seen = places.clip(0, 1)
        some = _areas(seen) >= _LEAST_SEEN * np.maximum(_areas(places), 1e-12)
        return BoxesOver(_with(self.rows, seen)[some], size)

    def mirrored(self) -> BoxesOver:
        return BoxesOver(_with(self.rows, [1, 0, 1, 0] + self.rows[:, [3, 2, 1, 4]] * [-1, 1, -1, 1]), self.size)


def _with(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.concatenate([rows[:, :1], places], 1)


def _areas(places: np.ndarray) -> np.ndarray:
    return (places[:, 2] - places[:, 0]) * (places[:, 3] - places[:, 1])


class Together:
    """Brings a picture and what lies over it through the same squares, crops and flips; colours are the picture's alone."""

    def __init__(self, size: int, fit: str, kind: str, last: Any) -> None:
        self.size, self.fit, self.last = size, fit, last
        self.least = _LEAST.get(kind)  # of a crop; None where nothing is moved
        self.colours = TrivialAugment(_COLOURS) if kind in ("colours", "strong") else None

    def __call__(self, picture: PILImage, over: Any) -> tuple[Any, Any]:
        from PIL import Image, ImageOps

        from rushlight import rand
        from rushlight.vision import transforms as t

        size = self.size if self.least is None else round(self.size * MARGIN)
        picture, over = squared(picture, self.fit, size), over.squared(self.fit, size)
        if self.least is not None:
            top, left, high, wide = t.RandomResizedCrop.get_params(picture, (self.least, 1.0), (3 / 4, 4 / 3))
            box, side = (left, top, left + wide, top + high), (self.size, self.size)
            picture = picture.crop(box).resize(side, Image.Resampling.BILINEAR)
            over = over.cut(box, side)
            if float(rand(1)) < 0.5:
                picture, over = ImageOps.mirror(picture), over.mirrored()
        if self.colours is not None:
            picture = self.colours(picture)
        return self.last(picture), over


def for_both(size: int, fit: str, kind: str, mean: tuple, std: tuple, erase: float = 0.0) -> tuple[Any, Any]:
    """The same as `for_photos`, of pictures with something over them; nothing of them is erased."""
    from rushlight.vision import transforms as t

    last = t.Compose([t.ToTensor(), t.Normalize(mean, std)])
    kind = "light" if kind == "auto" else kind
    return Together(size, fit, kind, last), Together(size, fit, "none", last)


def for_fixed_size(size: int, kind: str, mean: tuple, std: tuple, erase: float = 0.0) -> tuple[Any, Any]:
    """The transforms of a data set whose images all have the same size."""
    from rushlight.vision import transforms as t

    last: list[Any] = [t.ToTensor(), t.Normalize(mean, std)]
    first: list[Any] = [TrivialAugment(_COLOURS)] if kind == "colours" else []
    kind = "light" if kind == "auto" else kind
    if kind in ("light", "strong"):
        first = [t.RandomCrop(size, padding=size // 8), t.RandomHorizontalFlip()]
    if kind == "strong":
        first.append(TrivialAugment())
    erased = [t.RandomErasing(erase)] if erase else []
    return t.Compose([*first, *last, *erased]), t.Compose(last)


def in_words(kind: str) -> str:
    """What a kind does, for the lines that say what is trained."""
    return {
        "none": "no augmentation",
        "colours": "other colours and contrast, nothing is moved",
        "light": "random crops and flips",
        "strong": "random crops, flips and TrivialAugment",
        "auto": "random crops and flips, TrivialAugment once it overfits",
    }[kind]
