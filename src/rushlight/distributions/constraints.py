"""Regions of values that parameters and samples of distributions must lie in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor
from .utils import fact

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent",
    "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent",
    "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region; `check(value)` tells for each value (of `event_dim` dims) whether it lies inside."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


class _Dependent(Constraint):
    """A region that depends on other parameters, and so cannot be checked by itself."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: object) -> bool:
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property whose value is a constraint; on the class it counts as a dependent one."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable) -> Any:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Holds where another constraint holds at all of the last `reinterpreted_batch_ndims` dims."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    is_discrete = fact(lambda self: self.base_constraint.is_discrete)
    event_dim = fact(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value)
        n = self.reinterpreted_batch_ndims
        if inside.dim() < n:
            raise ValueError(f"Expected value.dim() >= {self.base_constraint.event_dim + n} but got {value.dim()}")
        return inside.reshape(inside.shape[: inside.dim() - n] + (-1,)).all(-1)

    def __repr__(self) -> str:
        inner, n = repr(self.base_constraint), self.reinterpreted_batch_ndims
        return f"IndependentConstraint({inner}, {n})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of its components, which have one dim more."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    is_discrete = fact(lambda self: self.base_constraint.is_discrete)
    event_dim = fact(lambda self: self.base_constraint.event_dim)

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        spare = value.dim() - self.event_dim
        return inside.reshape(inside.shape[:spare] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Bounded(Constraint):
    """A region given by bounds, which its printed form names."""

    bounds: tuple[str, ...] = ()
    lower_bound: Any
    upper_bound: Any

    def __init__(self, *values: Any, **named: Any) -> None:
        named.update(zip(self.bounds, values))
        for name in self.bounds:
            setattr(self, name, named[name])

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={getattr(self, name)}" for name in self.bounds)
        return f"{type(self).__name__[1:]}({said})"


class _GreaterThan(_Bounded):
    bounds = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Bounded):
    bounds = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Bounded):
    bounds = ("upper_bound",)

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    bounds = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    bounds = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Bounded):
    is_discrete = True
    bounds = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        inside = (self.lower_bound <= value) & (value <= self.upper_bound)
        return (value % 1 == 0) & inside


class _IntegerGreaterThan(_Bounded):
    is_discrete = True
    bounds = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Multinomial(_Bounded):
    """Counts along the last dim that sum to at most `upper_bound`."""

    is_discrete = True
    event_dim = 1
    bounds = ("upper_bound",)

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(dim=-1) & (value.sum(dim=-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return value.eq(0) | value.eq(1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        binary = (value.eq(0) | value.eq(1)).all(-1)
        return binary & value.sum(-1).eq(1)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value.eq(value)  # false for nan


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).reshape(value.shape[:-2] + (-1,)).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Tensor) -> Tensor:
        from ..base.dtypes import finfo

        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        unit = ((value * value).sum(-1).sqrt() - 1).abs() <= tolerance
        return super().check(value) & unit.all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        from ..base.dtypes import as_dtype

        square = value.shape[-2] == value.shape[-1]
        return value.new_full(value.shape[:-2], square, dtype=as_dtype(bool))


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return square
        return value.isclose(value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        found = _eigenvalues(value, symmetric)
        return symmetric if found is None else symmetric & (found >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        found = _eigenvalues(value, symmetric)
        return symmetric if found is None else symmetric & (found > 0).all(-1)


def _eigenvalues(value: Tensor, symmetric: Tensor) -> Tensor | None:
    """Those of symmetric matrices, and 1 for others, without asking the host which is which; None if not square."""
    from ..operators.create.ranges import eye
    from ..operators.matrix.linalg_spectrum import eigvalsh
    from ..operators.pointwise.select import where

    n = value.shape[-1]
    if value.shape[-2] != n:
        return None
    one = eye(n, dtype=value.dtype, device=value.device)
    return eigvalsh(where(symmetric[..., None, None], value.detach(), one))


class _Joined(Constraint):
    """Several constraints side by side along `dim`."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq = list(cseq)
        self.dim = dim

    is_discrete = fact(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = fact(lambda self: max(c.event_dim for c in self.cseq))


class _Cat(_Joined):
    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    def check(self, value: Tensor) -> Tensor:
        from ..operators.shape.join import cat as join

        parts = value.split(self.lengths, self.dim)
        return join([c.check(p) for c, p in zip(self.cseq, parts)], self.dim)


class _Stack(_Joined):
    @property
    def event_dim(self) -> int:  # type: ignore[override]
        dim = super().event_dim
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        from ..operators.shape.join import stack as join

        return join([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
