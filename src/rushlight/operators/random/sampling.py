"""Sampling: draws whose distribution is given by a tensor, and random numbers written into one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule, RandomStream
from ...base.shapes import whole
from ...core.inplace import bump, check_writable, write
from ...core.op import Op
from ...core.public import into, public
from ...core.tensor import Tensor, tensor_over
from ...runtime.door import Kernel, run
from ...runtime.facts import Facts
from ...runtime.thread import TAPE, here
from ...runtime.wrapped import answer
from ..create.filled import dim_order, number
from ..made_of.checks import between_zero_and_one, check_values
from ..memory.copies import _write_op, _written
from .draws import COINS, DRAWN_OVER, RANDINT, RANDOM, check_span, draw, floating, real
from .generator import stream_for

# -- given by a tensor -----------------------------------------------------------------------------


def _bernoulli_body(xp: ArrayModule, p: Array, *, stream: RandomStream) -> Any:
    return stream.bernoulli(p, p.shape, p.dtype)


_bernoulli = Op(_bernoulli_body, "bernoulli", meta=lambda p, *, stream: (p.shape, p.dtype), facts=Facts(refuses=True))
_bernoulli.derivative(p=lambda g: g.new_zeros(g._a.shape))


def _probabilities(p: Tensor) -> None:
    floating("bernoulli_tensor_cpu_p_", p.dtype)
    message = "Expected p_in >= 0 && p_in <= 1 to be true, but got false."
    check_values(between_zero_and_one, p, message)


@public()
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Random ones and zeros.

    Args:
        input: the probability of a one, for every element.
        p: one probability for all elements, in place of those in `input`.

    Raises:
        RuntimeError: if a probability is outside of [0, 1].

    Example:
        >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
        tensor([0., 1.])
    """
    if p is not None:
        return into(out, _coins(input, number(p), generator))
    _probabilities(input)
    made = _bernoulli(input, stream=stream_for(generator, input.device, "bernoulli"))
    return into(out, made if out is None else made.to(out.dtype))


def _probability(p: float) -> float:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return p


def _coins(like: Tensor, p: float, generator: Any) -> Tensor:
    size = tuple(like._a.shape)
    return draw(COINS, generator, like.device, p=_probability(p), size=size, dtype=like.dtype)


def _multinomial(xp: ArrayModule, p: Array, *, n: int, replacement: bool, stream: RandomStream) -> Any:
    return stream.multinomial(p, n, replacement)


MULTINOMIAL = Kernel(
    "multinomial",
    _multinomial,
    meta=lambda p, *, n, **_: ((*p.shape[:-1], n), np.dtype(np.int64)),
    facts=Facts(refuses=True, layout="plain"),
)


@public()
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Tensor:
    """Positions along the last dimension, drawn with the weights that stand there.

    Args:
        num_samples: how many to draw from each row.
        replacement: a position may be drawn more than once.

    Raises:
        RuntimeError: for negative weights, a row of zeros, or more draws than weights that are
            not zero.

    Example:
        >>> torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 2, replacement=True)
        tensor([1, 1])
    """
    if input._a.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if input.dtype.category != dtypes.FLOATING:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {dtypes.title(input.dtype)}"
        )
    if input._a.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {dtypes.title(out.dtype)}")
    if whole(num_samples, "num_samples") <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input._a.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    attrs = {"n": num_samples, "replacement": bool(replacement),
             "stream": stream_for(generator, input.device, "multinomial")}  # fmt: skip
    cls = input._a.__class__
    return into(out, tensor_over(run(MULTINOMIAL, cls, (input._a,), attrs), cls))


def _poisson_body(xp: ArrayModule, rate: Array, *, stream: RandomStream) -> Any:
    return stream.poisson(rate)


_poisson = Op(
    _poisson_body, "poisson", meta=lambda rate, *, stream: (rate.shape, rate.dtype), facts=Facts(refuses=True)
)
_poisson.derivative(rate=lambda g: g.new_zeros(g._a.shape))


@public("torch")
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Random counts from Poisson distributions.

    Args:
        input: the mean of each.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.poisson(torch.tensor([1.0, 100.0]))
        tensor([  2., 117.])
    """
    floating("poisson_cpu", input.dtype)
    real("poisson_cpu", input.dtype)
    return _poisson(input, stream=stream_for(generator, input.device, "poisson"))


# -- written into a tensor -------------------------------------------------------------------------

_drawn = _write_op("drawn", "UniformBackward0", vmap=None)


def _store(t: Tensor, fresh: Tensor) -> Tensor:
    """Write a draw over all of `t`; the history before it gets no gradient."""
    return write(t, _written(_drawn, t, fresh))


def _stands_alone(t: Tensor) -> bool:
    """Whether a GPU may draw right into the memory of `t`: real, contiguous, no view, without a history."""
    return (
        t._edge is None
        and t._ext is None
        and not answer.active
        and not here.vmaps
        and t.is_cuda
        and t._a.dtype.kind != "c"
        and t._a.flags.c_contiguous
    )


def _fill(t: Tensor, kernel: Kernel, generator: Any, **attrs: Any) -> Tensor:
    """Draw as many numbers as `t` has, in the order of its memory, and write them there."""
    check_writable(t)
    if kernel is RANDOM and not here.state & ~TAPE and _stands_alone(t):
        attrs["stream"] = stream_for(generator, t.device)
        run(DRAWN_OVER, t._a.__class__, (t._a,), attrs)
        bump(t)
        return t
    order = dim_order(t._a, None)
    if attrs.get("kind") == "normal" and not t._a.flags.c_contiguous:
        attrs["kind"] = "normal_in_turn"  # PyTorch draws blocks for contiguous tensors only
    size = t._a.shape if order is None else [t._a.shape[i] for i in order]
    fresh = draw(kernel, generator, t.device, size=tuple(size), dtype=t.dtype, **attrs)
    if order is not None:
        fresh = fresh.permute(sorted(range(len(order)), key=order.__getitem__))
    return _store(t, fresh)


_FLOAT32_MAX = (2 - 2.0**-23) * 2.0**127


def _largest(d: dtypes.dtype) -> float:
    """The largest number; the usual one's without asking, which takes as long as a small draw."""
    return _FLOAT32_MAX if d is dtypes.float32 else float(dtypes.finfo(d).max)


@public("Tensor")
def uniform_(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill with random numbers that are equally likely in a range; returns the tensor itself.

    Args:
        args: the lower end, 0 if not given, and the upper end, 1 if not given; it is excluded.
        kwargs: `from=` and `to=`, the same by name; `to` alone is allowed.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.empty(2).uniform_(-1, 1)
        tensor([-0.0075,  0.5364])
    """
    low, high = _two("uniform_", args, kwargs, ("from", "to"), (0.0, 1.0))
    floating("check_uniform_bounds", self.dtype)
    limit = _largest(self.dtype)
    for end, name in ((low, "from"), (high, "to")):
        if not -limit <= end <= limit:
            raise RuntimeError(f"{name} is out of bounds for {self.dtype.name}")
    if high - low > limit:
        raise RuntimeError(
            f"uniform_ expects to-from to be at most {limit:g}, the largest {self.dtype.name}, but found "
            f"to={high:g} and from={low:g}"
        )
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    return _fill(self, RANDOM, generator, kind="uniform", args=(float(low), float(high)))


def _two(name: str, args: tuple, kwargs: dict, names: tuple, defaults: tuple) -> list[Any]:
    """Two arguments whose names (`from`, `to`) cannot be parameters in Python."""
    if len(args) > len(names):
        raise TypeError(f"{name}() takes {len(names)} positional arguments, {len(args)} were given")
    values = list(defaults)
    values[: len(args)] = args
    for key, value in kwargs.items():
        if key not in names or names.index(key) < len(args):
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        values[names.index(key)] = value
    return [number(v) for v in values]


@public("Tensor")
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with random numbers from a normal distribution; returns the tensor itself.

    Args:
        mean: the mean.
        std: the standard deviation.

    Raises:
        RuntimeError: for a negative `std`.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.empty(2).normal_(10, 0.1)
        tensor([10.1541,  9.9707])
    """
    floating("normal_kernel_cpu", self.dtype)
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if self.dtype.is_complex:  # the parts share the variance
        std = std * 0.5**0.5
    return _fill(self, RANDOM, generator, kind="normal", args=(float(mean), float(std)))


@public("Tensor")
def random_(self: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill with random whole numbers; returns the tensor itself.

    Args:
        args: the smallest number, 0 if not given, and the number above the largest; without
            them all whole numbers that the dtype holds exactly.
        kwargs: `from=` and `to=`, the same by name.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.empty(4).random_(0, 10)
        tensor([4., 9., 3., 0.])
    """
    if len(args) == 1 and "to" not in kwargs:
        args = (0, *args)  # random_(to)
    low, high = _two("random_", args, kwargs, ("from", "to"), (0, None))
    if high is None and not low:
        real("random_kernel_cpu", self.dtype)
        return _fill(self, RANDOM, generator, kind="random", args=())
    low, high = int(low), _top(self.dtype) + 1 if high is None else int(high)
    check_span(low, high, self.dtype)
    return _fill(self, RANDINT, generator, low=low, high=high)


def _top(d: dtypes.dtype) -> int:
    if d.category == dtypes.BOOL:
        return 1
    if d.category == dtypes.FLOATING:
        return int(1 / dtypes.finfo(d).eps) * 2
    return int(np.iinfo(d.np).max)


@public("Tensor")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with random ones and zeros; returns the tensor itself.

    Args:
        p: the probability of a one; a number, or a tensor that broadcasts.

    Example:
        >>> torch.zeros(3).bernoulli_(1.0)
        tensor([1., 1., 1.])
    """
    if not isinstance(p, Tensor):
        real("bernoulli_scalar_cpu_", self.dtype)
        return _fill(self, COINS, generator, p=_probability(p))
    check_writable(self)
    _probabilities(p)
    strides = self._a.strides
    order = sorted(range(len(strides)), key=lambda d: (-strides[d], d))  # drawn as the memory lies
    spread = p.detach().expand(self._a.shape).permute(order).contiguous()
    ones = _bernoulli(spread, stream=stream_for(generator, self.device, "bernoulli_"))
    back = sorted(range(len(order)), key=order.__getitem__)
    return _store(self, ones.permute(back).to(self.dtype))


@public("Tensor")
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with random numbers from an exponential distribution; returns the tensor itself.

    Args:
        lambd: its rate: 1 divided by the mean.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.empty(2).exponential_()
        tensor([3.5083, 1.2304])
    """
    floating("exponential", self.dtype)
    if self.dtype.category > dtypes.FLOATING:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {dtypes.title(self.dtype)}"
        )
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return _fill(self, RANDOM, generator, kind="exponential", args=(float(lambd),))


@public("Tensor")
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with how many trials it takes to succeed; returns the tensor itself.

    Args:
        p: the probability of success in each trial.

    Example:
        >>> torch.empty(3).geometric_(1 - 1e-9)
        tensor([1., 1., 1.])
    """
    real("geometric_cpu", self.dtype)
    if self.dtype.category == dtypes.BOOL:
        raise NotImplementedError("\"geometric_cpu\" not implemented for 'Bool'")
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return _fill(self, RANDOM, generator, kind="geometric", args=(float(p),))


@public("Tensor")
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with random numbers from a Cauchy distribution; returns the tensor itself.

    Args:
        median: its middle.
        sigma: its width.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.empty(2).cauchy_()
        tensor([10.5977,  0.7648])
    """
    floating("cauchy", self.dtype)
    if self.dtype.category > dtypes.FLOATING:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {dtypes.title(self.dtype)}"
        )
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return _fill(self, RANDOM, generator, kind="cauchy", args=(float(median), float(sigma)))


@public("Tensor")
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill with random numbers whose logarithm is normally distributed; returns the tensor itself.

    Args:
        mean: the mean of the logarithm.
        std: the standard deviation of the logarithm.

    Example:
        >>> g = torch.manual_seed(0)
        >>> torch.empty(2).log_normal_(0, 1)
        tensor([4.6692, 0.7457])
    """
    floating("log_normal", self.dtype)
    real("log_normal_cpu", self.dtype)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return _fill(self, RANDOM, generator, kind="log_normal", args=(float(mean), float(std)))
