"""From a constraint to a map of all real numbers onto it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints as c
from . import transforms as t

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Transform makers by the class of constraint they serve."""

    def __init__(self) -> None:
        self._makers: dict[type, Callable] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Any:
        """Say which transform reaches a constraint; a decorator without `factory`."""
        if factory is None:
            return lambda f: self.register(constraint, f)
        cls = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(cls, c.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._makers[cls] = factory
        return factory

    def __call__(self, constraint: c.Constraint) -> Any:
        maker = self._makers.get(type(constraint))
        if maker is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return maker(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _interval(k: Any) -> Any:
    if isinstance(k.lower_bound, float) and (k.lower_bound, k.upper_bound) == (0.0, 1.0):
        return t.SigmoidTransform()
    scale = k.upper_bound - k.lower_bound
    return t.ComposeTransform([t.SigmoidTransform(), t.AffineTransform(k.lower_bound, scale)])


def _above(k: Any) -> Any:
    if isinstance(k.lower_bound, float) and k.lower_bound == 0.0:
        return t.ExpTransform()
    return t.ComposeTransform([t.ExpTransform(), t.AffineTransform(k.lower_bound, 1)])


for _registry in (biject_to, transform_to):
    _registry.register(c.real, lambda k: t.identity_transform)
    for _above_kind in (c._GreaterThan, c._GreaterThanEq):
        _registry.register(_above_kind, _above)
    _registry.register(
        c._LessThan, lambda k: t.ComposeTransform([t.ExpTransform(), t.AffineTransform(k.upper_bound, -1)])
    )
    for _between in (c._Interval, c._HalfOpenInterval):
        _registry.register(_between, _interval)
    _registry.register(c.lower_cholesky, lambda k: t.LowerCholeskyTransform())
    _registry.register(c.positive_definite, lambda k: t.PositiveDefiniteTransform())
    _registry.register(c.corr_cholesky, lambda k: t.CorrCholeskyTransform())
biject_to.register(c.simplex, lambda k: t.StickBreakingTransform())
transform_to.register(c.simplex, lambda k: t.SoftmaxTransform())


def _of_independent(registry: ConstraintRegistry) -> Callable:
    def make(k: Any) -> Any:
        inner = registry(k.base_constraint)
        return t.IndependentTransform(inner, k.reinterpreted_batch_ndims)

    return make


for _registry in (biject_to, transform_to):
    _registry.register(c._IndependentConstraint, _of_independent(_registry))
