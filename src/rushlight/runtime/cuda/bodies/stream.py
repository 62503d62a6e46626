"""The random stream of a GPU: Philox with its seed and counter in device memory."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ....base.device import device
from ....base.dtypes import dtype, finfo, from_np
from ...door import kernel_for
from ...thread import settle
from ..code.compile import Launch, kernel, source
from ..code.faults import mark, raised
from ..code.generate import PRELUDE, TYPES
from ..code.keyed import keyed
from ..code.launch import Result
from .fills import row_major
from .sorting import argsort, ordered, search

DEFAULT_SEED = 67280421310721
Shape = int | Sequence[int]
ndarray = cupy.ndarray

DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def text_for(name: str) -> str:
    """The source of the kernels for one dtype."""
    flag = "#define FLOATING 1\n" if name in DIGITS else ""
    head = f"{flag}{PRELUDE}\ntypedef {TYPES[name][0]} S;\n"
    return source("random.cu").replace("// PRELUDE", head)


_kernels: dict[tuple[str, Any], Launch] = Bounded(256)  # by kind of draw and dtype


def _kernel(what: str, dtype: np.typing.DTypeLike) -> Launch:
    found = _kernels.get((what, dtype))
    if found is None:
        found = _kernels[what, dtype] = kernel(text_for(from_np(dtype).name), what)
    return found


def _shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _refuse(bad: int) -> None:
    if bad & 1:
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if bad & 2:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


class DrawStream:
    """A seedable stream of random device arrays; its state never has to visit the host."""

    def __init__(self, seed: int = DEFAULT_SEED, index: int = 0) -> None:
        self.index = index
        with cupy.cuda.Device(index):
            self._state = cupy.zeros(3, np.uint64)
        self.manual_seed(seed)

    @property
    def address(self) -> int:
        """Where kernels find seed and counter."""
        return int(self._state.data.ptr)

    def manual_seed(self, seed: int) -> DrawStream:
        """Restart from `seed`; a negative seed means the unsigned number of the same 64 bits."""
        settle()  # kernels of a traced loop that wait have not drawn yet
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: {seed} not in [-2**63, 2**64)")
        self._initial = seed % 2**64
        self._write(self._initial, 0)
        return self

    def _write(self, seed: int, counter: int) -> None:
        self._state.set(np.array([seed, counter, 0], np.uint64))

    def seed(self) -> int:
        """Restart from a seed of the operating system's entropy, and return that seed."""
        return self.manual_seed(secrets.randbits(64)).initial_seed()

    def initial_seed(self) -> int:
        """The seed that this stream was last restarted from."""
        return self._initial

    def get_state(self) -> np.ndarray:
        """Seed and counter, 16 bytes as `torch.cuda.get_rng_state()` has."""
        settle()
        return self._state.get()[:2].view(np.uint8).copy()

    def set_state(self, state: Any) -> None:
        """Continue from a state of `get_state`."""
        settle()
        state = np.asarray(state)
        if state.dtype != np.uint8:
            raise TypeError(f"RNG state must be a ByteTensor (uint8), but got {state.dtype.name}")
        if state.size != 16:
            raise RuntimeError(f"RNG state is wrong size: 16 bytes expected, got {state.size}")
        seed, counter = np.frombuffer(state.tobytes(), np.uint64).tolist()
        self._initial = seed
        self._write(seed, counter)

    def clone(self) -> DrawStream:
        """A second stream that will draw the same numbers."""
        twin = DrawStream(index=self.index)
        twin.set_state(self.get_state())
        return twin

    def __reduce__(self) -> Any:
        return DrawStream, (self._initial, self.index), self.get_state()

    __setstate__ = set_state

    # -- draws --------------------------------------------------------------------------------

    def _draw(
        self, what: str, shape: Shape, dtype: np.typing.DTypeLike, a: float = 0.0, b: float = 0.0, given: Any = None
    ) -> Any:
        dtype = np.dtype(dtype)
        out = ndarray(_shape(shape), dtype)
        n = out.size
        if n:
            if what not in ("bernoulli",) and from_np(dtype).name not in DIGITS:
                raise RuntimeError(f"{what} expected a floating point dtype, but got {dtype.name}")
            blocks = min(-(-n // 1024), 4096)
            _kernel(what, dtype)(blocks, 256, n, out, self._state, a, b, given)
        return out

    def uniform(self, shape: Shape, dtype: np.typing.DTypeLike, low: float = 0.0, high: float = 1.0) -> Any:
        """Uniform on [low, high)."""
        return self._draw("uniform", shape, dtype, low, high)

    def normal(self, shape: Shape, dtype: np.typing.DTypeLike, mean: float = 0.0, std: float = 1.0) -> Any:
        """Normal numbers."""
        return self._draw("normal", shape, dtype, mean, std)

    normal_in_turn = normal  # only the host draws blocks into tensors without gaps

    def log_normal(self, shape: Shape, dtype: np.typing.DTypeLike, mean: float, std: float) -> Any:
        """Numbers whose logarithm is normal."""
        return self._draw("log_normal", shape, dtype, mean, std)

    def exponential(self, shape: Shape, dtype: np.typing.DTypeLike, lambd: float = 1.0) -> Any:
        """Exponential numbers of rate `lambd`."""
        return self._draw("exponential", shape, dtype, lambd)

    def geometric(self, shape: Shape, dtype: np.typing.DTypeLike, p: float) -> Any:
        """The trial of the first success."""
        dtype = np.dtype(dtype)
        if from_np(dtype).name in DIGITS:
            return self._draw("geometric", shape, dtype, p)
        return self._draw("geometric", shape, np.float64, p).astype(dtype)

    def cauchy(self, shape: Shape, dtype: np.typing.DTypeLike, median: float, sigma: float) -> Any:
        """Cauchy numbers around `median`."""
        return self._draw("cauchy", shape, dtype, median, sigma)

    def bernoulli(self, p: Any, shape: Shape, dtype: np.typing.DTypeLike, value: float = 1.0) -> Any:
        """`value` with probability p, else zero; p is a number or an array of probabilities."""
        if p.__class__ is not ndarray:
            return self._draw("bernoulli", shape, dtype, float(p), value)
        dtype = np.dtype(dtype)
        work = p.dtype if p.dtype.kind in "fV" else np.dtype(np.float32)
        p = cupy.ascontiguousarray(cupy.broadcast_to(p.astype(work, copy=False), _shape(shape)))
        return self._draw("bernoulli_of", shape, work, given=p).astype(dtype, copy=False)

    def randint(self, low: int, high: int, shape: Shape, dtype: np.typing.DTypeLike) -> Any:
        """Integers of [low, high) in any dtype."""
        span = high - low
        if not 0 < span <= 2**64:
            raise RuntimeError(f"random_ expects 'from' < 'to', but got from={low}, to={high}")
        dtype = np.dtype(dtype)
        out = ndarray(_shape(shape), dtype)
        n = out.size
        if n:
            wrapped = (low + 2**63) % 2**64 - 2**63
            launch = _kernel("integers", dtype)
            launch(min(-(-n // 512), 4096), 256, n, out, self._state, wrapped, span % 2**64)
        return out

    def random(self, shape: Shape, dtype: np.typing.DTypeLike) -> Any:
        """Unbounded `random_()`: [0, max] for integers, [0, 2**digits] for floats."""
        dtype = np.dtype(dtype)
        digits = DIGITS.get(from_np(dtype).name)
        if digits is not None:
            high = 2**digits + 1
        else:
            high = 2 if dtype == np.bool_ else int(np.iinfo(dtype).max) + 1
        return self.randint(0, high, shape, dtype)

    def random64(self) -> int:
        """One non-negative int64."""
        return int(self.randint(0, 2**63, (), np.int64))

    def randperm(self, n: int, dtype: np.typing.DTypeLike = np.int64) -> Any:
        """The numbers 0 .. n-1 shuffled: the order of n random keys."""
        keys = self.randint(0, 2**63, (n,), np.int64)
        return argsort(keys).astype(dtype, copy=False)

    def multinomial(self, probs: DeviceArray, num_samples: int, replacement: bool = False) -> Any:
        """Indices (int64) drawn along the last axis of `probs`, weights of any positive sum."""
        if probs.size:  # which looks at the weights, too
            one = self._one_of_each(row_major(probs))
            if num_samples == 1:
                return one
        weights = probs.astype(np.float32, copy=False) if probs.dtype.itemsize == 2 else probs
        if not replacement:
            # A race of exponential clocks: the first to ring win (Efraimidis and Spirakis, 2006).
            race = weights / self.exponential(weights.shape, weights.dtype)
            return ordered(race, race.ndim - 1, 0, num_samples, True, values=False)[1]
        rows = weights.reshape(-1, weights.shape[-1])
        ends = cupy.cumsum(rows, axis=-1)
        ends /= ends[:, -1:]
        u = self.uniform((rows.shape[0], num_samples), ends.dtype)
        found = cupy.minimum(search(ends, u, right=False, narrow=False), rows.shape[1] - 1)
        return found.reshape(*probs.shape[:-1], num_samples).astype(np.int64, copy=False)

    def _one_of_each(self, probs: DeviceArray) -> Any:
        """A race in one launch. The host looks whether the weights were some, so it is no part of a graph."""
        columns = probs.shape[-1]
        out, rows, bad = ndarray((*probs.shape[:-1], 1), np.int64), probs.size // columns, mark()
        threads = next(n for n in (32, 64, 128, 256) if n * 4 >= columns or n == 256)
        launch = _kernel("first_to_ring", probs.dtype)
        launch(min(rows, 65535), threads, probs, out, self._state, bad, rows, columns)
        _refuse(raised(bad))
        return out

    def poisson(self, rate: DeviceArray) -> Any:
        """Counts with mean `rate`, element by element."""
        rate = cupy.ascontiguousarray(rate)
        return self._draw("poisson", rate.shape, rate.dtype, given=rate)

    def gamma(self, alpha: DeviceArray) -> Any:
        """Standard gamma numbers of shape parameter `alpha`, at least tiny."""
        alpha = cupy.ascontiguousarray(alpha)
        tiny = finfo(from_np(alpha.dtype)).tiny
        return self._draw("gamma_of", alpha.shape, alpha.dtype, tiny, given=alpha)

    def dirichlet(self, alpha: DeviceArray) -> Any:
        """Points of the simplex along the last axis of `alpha`."""
        g = self.gamma(alpha.astype(np.float64))
        x = (g / g.sum(axis=-1, keepdims=True)).astype(alpha.dtype)
        limits = finfo(from_np(alpha.dtype))
        return cupy.clip(x, limits.tiny, math.nextafter(1.0, 0.0) if x.itemsize == 8 else 1 - limits.eps)


def _numbers(
    *given: DeviceArray, kind: str, args: tuple, stream: DrawStream, size: tuple = (),
    dtype: dtype | None = None, device: device | None = None,
) -> Any:  # fmt: skip
    """The launch that draws uniform or normal numbers into a new array, or over a given one."""
    ends, of = _ENDS.get(kind), from_np(given[0].dtype) if given else dtype
    n = given[0].size if given else prod(size)
    if ends is None or of is None or of.name not in DIGITS or not n:
        return None
    if given and not given[0]._c_contiguous:
        return None
    launch = _kernel(kind.partition("_in")[0], of.np).prepared(
        min(-(-n // 1024), 4096), 256, () if given else (Result(0, tuple(size), of.np),),
        *(args or ends), 0, front=(n,), head=2,
    )  # fmt: skip
    address = stream.address  # the counter is in the stream's own memory
    return (lambda x: (launch(x, address), x)[1]) if given else partial(launch, address)


def _integers(*, low: int, high: int, size: tuple, dtype: dtype, stream: DrawStream, device: device) -> Any:
    n, span = prod(size), high - low
    if not n or not 0 < span <= 2**64:
        return None
    wrapped = (low + 2**63) % 2**64 - 2**63
    launch = _kernel("integers", dtype.np).prepared(
        min(-(-n // 512), 4096), 256, (Result(0, tuple(size), dtype.np),), wrapped, span % 2**64, front=(n,), head=2
    )
    return partial(launch, stream.address)


_ENDS = {"uniform": (0.0, 1.0), "normal": (0.0, 1.0), "normal_in_turn": (0.0, 1.0)}
for _name, _prepare in (("random", _numbers), ("drawn_over", _numbers), ("randint", _integers)):
    kernel_for("cuda", _name)(keyed(lambda *given, **attrs: NotImplemented, _prepare))
