"""The CPU random stream: an mt19937 that draws the numbers PyTorch's CPU generator draws.

Every draw consumes exactly the words that torch consumes, so mixed calls stay in step. Integers,
uniforms and normals agree to the last bit; where else a logarithm or a power is taken, a few ulp may
differ (libm against NumPy). Checked against torch 2.13 without MKL (aarch64); builds with MKL take
Bernoulli draws of a scalar p (dropout) and exponentials (multinomial) from MKL's own streams. Not
matched: floating `randint` beyond 2**digits, where torch warns; ties of 16-bit multinomial.
"""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.locks import new_quiet_rlock, renew_in_child
from ..thread import settle
from . import words as made
from .words import below, shuffled, unit, words64


def binomial(double: Callable[[], float], count: float, prob: float) -> float:
    """How many of `count` trials succeed; a frequent success is drawn as a rare failure."""
    if math.isnan(prob):
        return math.nan
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    rare = min(prob, 1.0 - prob)
    draw = _rejection if count * rare >= 10.0 else _inversion
    drawn = draw(double, count, rare)
    return drawn if prob <= 0.5 else count - drawn


def _inversion(double: Callable[[], float], count: float, prob: float) -> float:
    """Waiting times between successes are geometric: count how many fit in."""
    successes, trials = 0.0, 0.0
    log_miss = math.log1p(-prob)
    while True:
        u = double()
        trials += math.ceil(math.log(u) / log_miss) if u > 0.0 else math.inf
        if trials > count:
            return successes
        successes += 1.0


def _rejection(double: Callable[[], float], count: float, prob: float) -> float:
    """BTRS of Hoermann 1993, "The generation of binomial random variates"."""
    spread = math.sqrt(count * prob * (1.0 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    ratio = prob / (1.0 - prob)
    alpha = (2.83 + 5.1 / b) * spread
    mode = math.floor((count + 1) * prob)
    while True:
        u, v = double() - 0.5, double()
        us = 0.5 - abs(u)
        k = math.floor((2.0 * a / us + b) * u + c)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or k > count:
            continue
        v = math.log(v * alpha / (a / (us * us) + b)) if v > 0.0 else -math.inf
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (ratio * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(ratio * (count - k + 1) / (k + 1))
            + _tail(mode)
            + _tail(count - mode)
            - _tail(k)
            - _tail(count - k)
        )
        if v <= bound:
            return k


_TAILS = (
    0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.02079067210376509,
    0.01664469118982119, 0.01387612882307075, 0.01189670994589177, 0.01041126526197209,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _tail(k: float) -> float:
    """What Stirling's formula leaves of log k!."""
    if k <= 9:
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


Shape = int | Sequence[int]
Array = np.ndarray

# Mantissa bits, with the implicit one, by dtype.char: double, float, half, ml_dtypes' bfloat16.
# (A dtype's name would read better, but NumPy computes it anew in Python at every look.)
DIGITS = {"d": 53, "f": 24, "e": 11, "E": 8}


def size(shape: Shape) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)


def cast(x: Array, shape: Shape, dtype: np.dtype) -> Array:
    """Round as torch does: a double reaches a 16-bit float by way of float32."""
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x.reshape(shape)
    if dtype.itemsize == 2 and dtype.char in DIGITS:
        with np.errstate(over="ignore"):  # a Cauchy number may well be an infinite half
            return x.astype(np.float32).astype(dtype).reshape(shape)
    return x.astype(dtype, copy=False).reshape(shape)


def working(dtype: np.dtype, what: str) -> type[np.floating]:
    """The type torch draws in: float64 for itself, float32 for everything shorter."""
    if dtype.char not in DIGITS:
        raise RuntimeError(f"{what} expected a floating point dtype, but got {dtype.name}")
    return np.float64 if dtype.itemsize == 8 else np.float32


def swap_forward(j: Array) -> Array:
    """What 0 .. n-1 becomes when i and j[i] >= i change places, for i = 0, 1, ..., without a loop.

    Step i reads place j[i]. What lies there was put by the last earlier step k with j[k] == j[i],
    and is what k found in its own place; that came from the last step with j == k, and so on back
    to a place never written, which still holds its own number.
    """
    steps = np.arange(len(j))
    moved = j != steps
    source = steps.copy()
    source[j[moved]] = steps[moved]  # the last writer of a place wins
    while not np.array_equal(further := source[source], source):  # chains are O(log n) long
        source = further
    order = np.sort((j << 32) | steps)  # by place, then by step
    place, step = order >> 32, order & 0xFFFFFFFF
    again = place[1:] == place[:-1]
    out = j.copy()
    out[step[1:][again]] = source[step[:-1][again]]
    return out


DEFAULT_SEED = 67280421310721

_WORDS = 624
# torch writes these two constants of its gamma sampler in single precision.
_THIRD = float(np.float32(1.0) / np.float32(3.0))
_SQUEEZE = float(np.float32(0.0331))
# torch.get_rng_state(): the words lie in 64-bit slots, the spare is the second normal of a pair.
_LEGACY = [("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8")]
_NORMALS = [("x", "<f8"), ("spare", "<f8"), ("rho", "<f8"), ("has_spare", "<i4"), ("pad", "V12")]
_STATE = np.dtype([*_LEGACY, ("words", "<u8", (_WORDS,)), *_NORMALS])


@functools.cache
def has_vectors() -> bool:
    """Whether PyTorch draws float32 and 16-bit normals here by its kernel for AVX2: x86 processors with AVX2 and FMA, also those with AVX-512."""
    from numpy._core._multiarray_umath import __cpu_features__ as found

    return bool(found.get("AVX2") and found.get("FMA3"))


def _at_rest(look: Callable) -> Callable:
    """Let kernels of a traced loop that still wait draw their numbers first, before the stream's lock is taken."""

    @functools.wraps(look)
    def wrapper(self, *args, **kwargs):
        settle()
        return look(self, *args, **kwargs)

    return wrapper


def _locked(draw: Callable) -> Callable:
    """Serialise a method, so that threads that share a stream each get a whole draw."""

    @functools.wraps(draw)
    def wrapper(self, *args, **kwargs):
        with self._lock:
            return draw(self, *args, **kwargs)

    return wrapper


class Stream:
    """A seedable stream of random arrays, interchangeable with `torch.Generator("cpu")`."""

    __slots__ = ("_bits", "_initial_seed", "_lock", "_spare")

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        from numpy.random import MT19937  # here, because `import numpy` alone does not load it

        self._lock = new_quiet_rlock()
        self._bits = MT19937(0)
        renew_in_child(self._bits.lock)
        self.manual_seed(seed)

    @_at_rest
    @_locked
    def manual_seed(self, seed: int) -> Stream:
        """Restart from `seed`; a negative seed means the unsigned number of the same 64 bits."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: {seed} not in [-2**63, 2**64)")
        self._initial_seed = seed % 2**64
        self._bits._legacy_seeding(seed & 0xFFFFFFFF)  # documented by NumPy despite the underscore
        self._spare: float | None = None
        return self

    def seed(self) -> int:
        """Restart from a seed of the operating system's entropy, and return that seed."""
        return self.manual_seed(secrets.randbits(64)).initial_seed()

    def initial_seed(self) -> int:
        """The seed that this stream was last restarted from."""
        return self._initial_seed

    @_at_rest
    @_locked
    def get_state(self) -> Array:
        """The whole state as `torch.get_rng_state()` lays it out: 5056 bytes, uint8."""
        state = self._bits.state["state"]
        key, pos = state["key"], int(state["pos"])
        # A key just seeded starts with its seed, and torch has not begun to read it: next is 0.
        unread = pos == _WORDS and int(key[0]) == self._initial_seed & 0xFFFFFFFF
        head = (self._initial_seed, _WORDS + 1 - pos, 1, 0 if unread else pos)
        normals = (0.0, self._spare or 0.0, 0.0, self._spare is not None, b"")
        record = np.array((*head, key, *normals), _STATE)
        return np.frombuffer(bytearray(record.tobytes()), np.uint8)

    @_at_rest
    @_locked
    def set_state(self, state: Array) -> None:
        """Continue from a state of `get_state`, or of torch's `get_rng_state().numpy()`."""
        state = np.asarray(state)
        if state.dtype != np.uint8:
            raise TypeError(f"RNG state must be a ByteTensor (uint8), but got {state.dtype.name}")
        if state.size != _STATE.itemsize:
            raise RuntimeError(f"RNG state must have {_STATE.itemsize} bytes, but got {state.size}")
        record = np.frombuffer(state.tobytes(), _STATE)[0]
        left, following = int(record["left"]), int(record["next"])
        if record["seeded"] != 1 or not 1 <= left <= _WORDS or following > _WORDS:
            raise RuntimeError("Invalid mt19937 state")
        pos = _WORDS if left == 1 else following
        key = record["words"].astype(np.uint32)
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": pos}}
        self._initial_seed = int(record["seed"])
        self._spare = float(record["spare"]) if record["has_spare"] else None

    def clone(self) -> Stream:
        """A second stream that will draw the same numbers."""
        twin = Stream()
        twin.set_state(self.get_state())
        return twin

    def __reduce__(self):
        return Stream, (), self.get_state()

    __setstate__ = set_state

    def _words32(self, n: int) -> Array:
        return self._bits.random_raw(n)  # uint64 slots that hold 32-bit words

    def _words64(self, n: int) -> Array:
        return words64(self._bits, n)

    def _unit(self, n: int, work: type[np.floating] = np.float64) -> Array:
        return unit(self._bits, n, work)

    def _word64(self) -> int:
        raw = self._bits.random_raw
        return (raw() << 32) | raw()

    def _double(self) -> float:
        """One double; the rejection samplers cannot know ahead how many they need."""
        return (self._word64() & (2**53 - 1)) * 2.0**-53

    def _gauss(self, n: int) -> Array:
        """Standard normals in double precision, in pairs; an unused second one is kept."""
        kept = [] if self._spare is None or n == 0 else [self._spare]
        pairs = (n - len(kept) + 1) // 2
        out = np.concatenate([kept, made.pairs(self._unit(2 * pairs))])
        if n:
            self._spare = float(out[n]) if out.size > n else None
        return out[:n]

    @_locked
    def random64(self) -> int:
        """One int64, as `torch.empty((), dtype=torch.int64).random_().item()`."""
        return self._word64() & (2**63 - 1)

    @_locked
    def random(self, shape: Shape, dtype: np.dtype) -> Array:
        """Unbounded `random_()`: [0, max] for integers, [0, 2**digits] for floats."""
        dtype, n = np.dtype(dtype), size(shape)
        if dtype.char in DIGITS:
            high = 2 ** DIGITS[dtype.char] + 1
        else:
            high = 2 if dtype == np.bool_ else int(np.iinfo(dtype).max) + 1
        words = self._words64(n) if dtype.itemsize == 8 else self._words32(n)
        return cast(words % np.uint64(high), shape, dtype)

    @_locked
    def randint(self, low: int, high: int, shape: Shape, dtype: np.dtype) -> Array:
        """Integers of [low, high) in any dtype; a span of 2**28 or more takes 64-bit draws."""
        span, n = high - low, size(shape)
        if not 0 < span <= 2**64:
            raise RuntimeError(f"random_ expects 'from' < 'to', but got from={low}, to={high}")
        words = self._words64(n) if span >= 2**28 else self._words32(n)
        if span < 2**64:  # else the words are the numbers, and torch does not shift them
            words %= np.uint64(span)
            if low:
                words += np.uint64(low % 2**64)  # wraps to the two's complement of a negative one
        return cast(words.view(np.int64), shape, dtype)

    @_locked
    def randperm(self, n: int, dtype: Any = np.int64) -> Array:
        """The numbers 0 .. n-1 shuffled, by a Fisher-Yates walk from the front."""
        short = n < (2**32 - 1) // 20  # torch takes 64 bits above this bound
        found = shuffled(self._bits, n) if short else None
        if found is not None:
            return found.astype(dtype, copy=False)
        steps = np.arange(n)
        words = (self._words32 if short else self._words64)(max(n - 1, 0))  # none for the last place
        steps[:-1] += (words % (n - steps[:-1]).astype(np.uint64)).view(np.int64)
        return swap_forward(steps).astype(dtype, copy=False)

    @_locked
    def uniform(self, shape: Shape, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> Array:
        """Uniform on [low, high)."""
        dtype = np.dtype(dtype)
        work = working(dtype, "uniform")
        if dtype.char == "f":
            found = made.uniform(self._bits, size(shape), low, high)
            if found is not None:
                return found.reshape(shape)
        x, first, last = self._unit(size(shape), work), work(low), work(high)
        if first == 0.0 and last == 1.0 and dtype.itemsize > 2:
            return x.reshape(shape)
        x = cast(made.scaled(x, last - first, first), shape, dtype)
        x[x == dtype.type(last)] = first  # the interval is half open, but rounding may reach its end
        return x

    @_locked
    def normal(self, shape: Shape, dtype: np.dtype, mean: float = 0.0, std: float = 1.0) -> Array:
        """Normal numbers; from 16 elements on torch draws them in blocks, below that in pairs."""
        dtype, n = np.dtype(dtype), size(shape)
        work = working(dtype, "normal")
        if n < 16:
            return cast(made.scaled(self._gauss(n), std, mean), shape, dtype)
        vectors, whole = dtype.itemsize < 8 and has_vectors(), n - n % 16
        # The last 16 of a ragged size are drawn again; the 16-bit floats do not waste the first go.
        x = self._unit(whole if dtype.itemsize == 2 else n, work)
        made.normals(x[:whole], vectors)
        if whole != n:
            x = np.concatenate([x[: n - 16], made.normals(self._unit(16, work), vectors)])
        return cast(made.scaled(x, work(std), work(mean)), shape, dtype)

    @_locked
    def normal_in_turn(self, shape: Shape, dtype: np.dtype, mean: float = 0.0, std: float = 1.0) -> Array:
        """Normal numbers as torch draws them into a tensor that is not contiguous: all in pairs."""
        return cast(made.scaled(self._gauss(size(shape)), std, mean), shape, np.dtype(dtype))

    @_locked
    def exponential(self, shape: Shape, dtype: np.dtype, lambd: float = 1.0) -> Array:
        """Exponential numbers of rate `lambd`."""
        x = np.log1p(-self._unit(size(shape)))
        x *= -1.0 / lambd
        return cast(x, shape, dtype)

    @_locked
    def geometric(self, shape: Shape, dtype: np.dtype, p: float) -> Array:
        """The trial of the first success, 1, 2, 3, ..., when each succeeds with probability p."""
        u = self._unit(size(shape))
        return cast(np.ceil(np.log(u) / math.log1p(-p)), shape, dtype)

    @_locked
    def cauchy(self, shape: Shape, dtype: np.dtype, median: float, sigma: float) -> Array:
        """Cauchy numbers around `median`."""
        u = self._unit(size(shape))
        return cast(median + sigma * np.tan(math.pi * (u - 0.5)), shape, dtype)

    @_locked
    def log_normal(self, shape: Shape, dtype: np.dtype, mean: float, std: float) -> Array:
        """Numbers whose logarithm is normal; always drawn in pairs, sharing `normal`'s spare."""
        return cast(np.exp(made.scaled(self._gauss(size(shape)), std, mean)), shape, dtype)

    @_locked
    def bernoulli(self, p: float | Array, shape: Shape, dtype: np.dtype) -> Array:
        """One with probability p, else zero; a scalar p draws doubles, an array its own kind."""
        n = size(shape)
        if not isinstance(p, np.ndarray):
            return cast(below(self._bits, n, p, np.dtype(dtype)), shape, dtype)
        work = np.float64 if p.dtype == np.float64 else np.float32
        p = np.broadcast_to(p.astype(work, copy=False), shape).reshape(-1)
        return cast(self._unit(n, work) < p, shape, dtype)

    @_locked
    def multinomial(self, probs: Array, num_samples: int, replacement: bool = False) -> Array:
        """Indices (int64) drawn along the last axis of `probs`, weights of any positive sum."""
        if replacement and num_samples > 1 and probs.dtype.char == "f":
            rows = probs.reshape(-1, probs.shape[-1])
            found = made.picked(self._bits, rows, num_samples)
            if isinstance(found, np.ndarray):
                return found.reshape(*probs.shape[:-1], num_samples)
        if not np.all((probs >= 0) & (probs < np.inf)):
            if not replacement or num_samples == 1:
                raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
            kind = "= infinity or NaN" if np.all(probs >= 0) else "< 0"
            raise RuntimeError(f"invalid multinomial distribution (encountering probability entry {kind})")
        if not np.all(probs.sum(axis=-1) > 0):
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        if not replacement or num_samples == 1:
            # A race of exponential clocks: the first to ring win (Efraimidis and Spirakis, 2006).
            with np.errstate(divide="ignore", invalid="ignore"):  # a short float may round to zero
                race = probs / self._clocks(probs)
            if num_samples == 1:
                return race.argmax(axis=-1, keepdims=True)
            return np.argsort(-race, axis=-1, kind="stable")[..., :num_samples]
        rows = probs.reshape(-1, probs.shape[-1])
        if rows.dtype.itemsize == 2:
            rows = rows.astype(np.float32)
        cumulative = np.cumsum(rows, axis=-1)
        cumulative /= cumulative[:, -1:]
        u = self._unit(len(rows) * num_samples).reshape(len(rows), num_samples)
        picks = [np.searchsorted(c, v, side="left") for c, v in zip(cumulative, u, strict=True)]
        return np.stack(picks).reshape(*probs.shape[:-1], num_samples)

    def _clocks(self, probs: Array) -> Array:
        """An exponential number for each element, drawn as `probs` lies in memory."""
        turned = probs.ndim == 2 and probs.strides[0] == probs.itemsize < probs.strides[1]
        return self.exponential(probs.T.shape, probs.dtype).T if turned else self.exponential(probs.shape, probs.dtype)

    @_locked
    def poisson(self, rate: Array) -> Array:
        """Counts with mean `rate`, element by element, in the dtype of `rate`."""
        if not np.all(rate >= 0):
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        counts = [self._poisson(r) for r in rate.astype(np.float64).reshape(-1).tolist()]
        return cast(np.array(counts, np.float64), rate.shape, rate.dtype)

    def _poisson(self, rate: float) -> float:
        if rate < 10:  # Knuth: how many uniforms can be multiplied before exp(-rate) is passed
            count, product, floor = 0, 1.0, math.exp(-rate)
            while rate and (product := product * self._double()) > floor:
                count += 1
            return count
        # PTRS, Hoermann 1993, "The transformed rejection method for generating Poisson ...".
        b = 0.931 + 2.53 * math.sqrt(rate)
        a = -0.059 + 0.02483 * b
        log_inv_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
        v_r = 0.9277 - 3.6224 / (b - 2.0)
        while True:
            u, v = self._double() - 0.5, self._double()
            us = 0.5 - abs(u)
            k = math.floor((2.0 * a / us + b) * u + rate + 0.43)
            if us >= 0.07 and v <= v_r:
                return k
            if k < 0 or (us < 0.013 and v > us):
                continue
            bound = k * math.log(rate) - rate - math.lgamma(k + 1)
            if math.log(v) + log_inv_alpha - math.log(a / (us * us) + b) <= bound:
                return k

    @_locked
    def binomial(self, count: Array, prob: Array) -> Array:
        """Successes among `count` trials of probability `prob`, element by element."""
        pairs = zip(count.reshape(-1).tolist(), prob.reshape(-1).tolist(), strict=True)
        counts = [binomial(self._double, n, p) for n, p in pairs]
        return cast(np.array(counts, np.float64), prob.shape, prob.dtype)

    @_locked
    def gamma(self, alpha: Array) -> Array:
        """Standard gamma numbers of shape parameter `alpha` (float32, float64), at least tiny."""
        draws = np.array([self._gamma(a) for a in alpha.reshape(-1)], np.float64)
        return cast(np.maximum(draws, np.finfo(alpha.dtype).tiny), alpha.shape, alpha.dtype)

    def _gamma(self, alpha: np.floating) -> float:
        # Marsaglia and Tsang 2000, "A simple method for generating gamma variables". The arithmetic
        # on alpha itself stays in alpha's type, the rest is double.
        scale = 1.0
        if alpha < 1.0:
            if alpha == 0.0:
                return 0.0
            scale = (1.0 - self._double()) ** float(1 / alpha)
            alpha = alpha + 1
        d = float(alpha - alpha.dtype.type(_THIRD))
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            x = float(self._gauss(1)[0])
            if (y := 1.0 + c * x) <= 0.0:
                continue
            v = y * y * y
            u = 1.0 - self._double()
            if u < 1.0 - _SQUEEZE * x**4 or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return scale * d * v

    @_locked
    def dirichlet(self, alpha: Array) -> Array:
        """Points of the simplex along the last axis of `alpha`."""
        g = self.gamma(alpha.astype(np.float64))
        x = cast(g / g.sum(axis=-1, keepdims=True), alpha.shape, alpha.dtype)
        return np.clip(x, np.finfo(x.dtype).tiny, np.nextafter(x.dtype.type(1), 0, dtype=x.dtype))
