"""Transforms made of other transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....nn import ModuleList
from ....operators.create.from_data import tensor
from ....operators.random.draws import randperm
from ....operators.random.sampling import multinomial
from .. import _batch, _containers
from .._batch import PlannedTransform, Stage
from .._draw import rand
from ._transform import Transform


def _check(transforms: Any, kinds: tuple[type, ...], said: str) -> None:
    if not isinstance(transforms, kinds):
        raise TypeError(f"Argument transforms should be a sequence of callables{said}")
    if not transforms:
        raise ValueError("Pass at least one transform")


def _in_turn(transforms: Any, inputs: tuple[Any, ...]) -> Any:
    """Transforms one after the other, with one argument or several."""
    several = len(inputs) > 1
    outputs: Any = inputs if several else inputs[0]
    for transform in transforms:
        outputs = transform(*inputs)
        inputs = outputs if several else (outputs,)
    return outputs


def _listed(transforms: Any) -> str:
    return "\n".join(f"    {t}" for t in transforms)


class Compose(Transform):
    """As `vision.transforms.Compose`, of every part of a sample that it concerns."""

    def __init__(self, transforms: Sequence[Callable]) -> None:
        super().__init__()
        _check(transforms, (Sequence,), "")
        self.transforms = transforms

    def forward(self, *inputs: Any) -> Any:
        return _in_turn(self.transforms, inputs)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _batch.chain(self.transforms, stage)

    def extra_repr(self) -> str:
        return _listed(self.transforms)


class RandomApply(Transform):
    """As `vision.transforms.RandomApply`, of every part of a sample that it concerns."""

    _v1_transform_cls = _containers.RandomApply

    def __init__(self, transforms: Sequence[Callable] | ModuleList, p: float = 0.5) -> None:
        super().__init__()
        _check(transforms, (Sequence, ModuleList), " or a `nn.ModuleList`")
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.transforms = transforms
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        if rand() >= self.p:
            return inputs if len(inputs) > 1 else inputs[0]
        return _in_turn(self.transforms, inputs)

    def extra_repr(self) -> str:
        return _listed(self.transforms)


class RandomChoice(Transform):
    """As `vision.transforms.RandomChoice`, of every part of a sample that it concerns."""

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        _check(transforms, (Sequence,), "")
        weights = [1.0] * len(transforms) if p is None else list(p)
        if len(weights) != len(transforms):
            raise ValueError(f"Length of p doesn't match the number of transforms: {len(weights)} != {len(transforms)}")
        super().__init__()
        self.transforms = transforms
        self.p = [w / sum(weights) for w in weights]

    def forward(self, *inputs: Any) -> Any:
        return self.transforms[int(multinomial(tensor(self.p), 1).item())](*inputs)


class RandomOrder(Transform):
    """As `vision.transforms.RandomOrder`, of every part of a sample that it concerns."""

    def __init__(self, transforms: Sequence[Callable]) -> None:
        _check(transforms, (Sequence,), "")
        super().__init__()
        self.transforms = transforms

    def forward(self, *inputs: Any) -> Any:
        order = randperm(len(self.transforms)).tolist()
        return _in_turn([self.transforms[i] for i in order], inputs)
