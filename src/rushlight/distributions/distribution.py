"""Distribution: what every probability distribution answers; exponential families."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..base.arrays import Array
from ..base.config import settings
from ..base.shapes import Size
from ..core.gradients.differentiate import grad
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.made_of.checks import CHECK
from ..runtime.door import run
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution", "ExponentialFamily"]


class _CheckFailed(ValueError):
    """What a check of the CPU raises; an eager call says more."""


def _all_true(fine: Array, value: Array, begin: str, end: str) -> None:
    if not fine.all():
        raise _CheckFailed(f"{begin} {end}\n{value}")


def require(fine: Tensor, value: Tensor, distribution: Any, begin: str, end: str, wrong_only: bool = False) -> None:
    """Raise ValueError unless `fine` is true everywhere: `begin`, the distribution, `end`, the (wrong) values.

    On the CPU this is no read by the host but a kernel without results, so a compiled step with distributions stays
    one program and refuses what an eager step refuses. On a GPU the host waits for the flag, as in PyTorch.
    """
    name = type(distribution).__name__
    if isinstance(fine._a, np.ndarray):
        limits = (f"{begin} {name}", end)  # without numbers, which differ from call to call
        try:
            run(CHECK, np.ndarray, (fine._a, value._a), {"test": _all_true, "limits": limits})
            return
        except _CheckFailed:
            pass
    elif fine.all():
        return
    said, shown = repr(distribution), value.data[~fine] if wrong_only else value
    raise ValueError(f"{begin} {said}{'' if end[0] == ',' else ' '}{end}\n{shown}") from None


class Distribution:
    """Random events of `event_shape`, a batch of them with parameters of `batch_shape`.

    A subclass names its parameters in `arg_constraints`, keeps them as attributes, and writes
    `rsample` (or `sample`) and `log_prob`; printing, checking and `expand` follow from the names.

    Args:
        batch_shape: shape of the parameters.
        event_shape: shape of one draw.

    Raises:
        ValueError: if a parameter or a value is not allowed.

    Example:
        >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)
        >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
        (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
        >>> d.log_prob(torch.tensor(0.0))
        tensor([-0.9189, -0.9189, -0.9189])
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: dict[str, Any]
    support: Any
    _inner: tuple[str, ...] = ()  # attributes that are expanded with the parameters
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions made later check their parameters and values."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()  # of a class beside this one, such as a Module

    def _check_parameters(self) -> None:
        try:
            named = self.arg_constraints
        except (AttributeError, NotImplementedError):
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` "
                "or initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in named.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue  # the user did not give it: it is computed from what was given
            value = getattr(self, name)
            what = f"parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution"
            end = f"to satisfy the constraint {constraint!r}, but found invalid values:"
            require(constraint.check(value), value, self, f"Expected {what}", end)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with parameters expanded to `batch_shape`."""
        own = {} if _instance is None else dict(_instance.__dict__)  # a subclass has given its own parameters
        new = self._twin(_instance)
        batch = Size(batch_shape)
        named = self._declared()
        for name in [n for n in new.__dict__ if isinstance(getattr(type(new), n, None), lazy_property)]:
            if name not in named and name not in own:
                del new.__dict__[name]  # it is computed again, in the new shape
        for name in self._inner:
            setattr(new, name, getattr(self, name).expand(batch))
        for name, constraint in named.items():
            value = self.__dict__.get(name)
            if isinstance(value, Tensor) and name not in own:
                event = value.shape[value.dim() - constraint.event_dim :]
                setattr(new, name, value.expand(batch + event))
        new._batch_shape = batch
        return new

    def _declared(self) -> dict[str, Any]:
        """The parameters that this class and those it is made from name: a subclass may name none of its base's."""
        named: dict[str, Any] = {}
        for cls in reversed(type(self).__mro__):
            told = cls.__dict__.get("arg_constraints")
            named |= told.__get__(self) if isinstance(told, property) else told or {}
        return named

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An empty object of this kind; a subclass with an `__init__` of its own has to write `expand`, too."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _twin(self, instance: Any = None) -> Any:
        """An object of the same kind that holds what this one holds, and what it held before."""
        new = type(self).__new__(type(self)) if instance is None else instance
        new.__dict__.update(self.__dict__ | new.__dict__)
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """`sample_shape` draws, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws that can be differentiated with respect to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """The older spelling of `sample((n,))`."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density (or probability) at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw that is not larger than `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values a discrete distribution can take, along a new first dim."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """How uncertain a draw is, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Tensor) -> None:
        """Raise unless `value` could be a draw."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        at = value.dim() - len(self._event_shape)
        if value.shape[at:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        actual, expected = value.shape, self._batch_shape + self._event_shape
        for i, j in zip(reversed(actual), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}.")
        try:
            support = self.support
        except (AttributeError, NotImplementedError):
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        what = f"value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within"
        within = f"{what} the support ({support!r}) of the distribution"
        require(support.check(value), value, self, f"Expected {within}", ", but found invalid values:")

    def _checked(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        held = [(n, self.__dict__[n]) for n in self.arg_constraints if n in self.__dict__]
        said = ", ".join(f"{n}: {v if v.numel() == 1 else _size(v)}" for n, v in held)
        return f"{type(self).__name__}({said})"


def _size(t: Tensor) -> str:
    return f"{settings.module}.Size({list(t.shape)})"


class ExponentialFamily(Distribution):
    """A distribution that knows its natural parameters, which gives entropy and divergence.

    Args:
        batch_shape, event_shape: as in `Distribution`.

    Example:
        >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
        True
    """

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """By the Bregman divergence of the log normalizer (Nielsen and Nock 2010)."""
        result = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = grad(normalizer.sum(), params, create_graph=True)
        result = result + normalizer
        for param, g in zip(params, gradients):
            product = param * g
            result = result - product.reshape(self._batch_shape + (-1,)).sum(-1)
        return result
