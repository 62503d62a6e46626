"""The op table: a Row names an op with sample inputs; test_ops.py turns rows into checks."""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from typing import Any

import numpy as np


class T:
    """A tensor argument of a row: its shape and what kind of numbers it holds."""

    def __init__(
        self,
        *shape: int,
        dtype: str = "float",
        low: float = -2.0,
        high: float = 2.0,
        grad: bool = True,
        kind: str | None = None,
        value: Any = None,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.low, self.high = low, high
        self.grad = grad and dtype in ("float", "complex")
        self.kind = kind
        self.value = value

    def make(self, rng: np.random.RandomState, float_dtype: str) -> np.ndarray:
        if self.value is not None:
            a = np.asarray(self.value)
            return a.astype(float_dtype) if self.dtype == "float" else a
        if self.dtype == "float":
            return self._floats(rng).astype(float_dtype)
        if self.dtype == "complex":
            wide = "complex128" if float_dtype == "float64" else "complex64"
            return (self._floats(rng) + 1j * self._floats(rng)).astype(wide)
        if self.dtype == "bool":
            return rng.rand(*self.shape) < 0.5
        if self.dtype.startswith("index:"):
            return np.asarray(rng.randint(0, int(self.dtype[6:]), self.shape), np.int64)
        low, high = int(self.low), max(int(self.high), int(self.low) + 1)
        name = "int64" if self.dtype == "int" else self.dtype
        return np.asarray(rng.randint(low, high + 1, self.shape)).astype(name)

    def _floats(self, rng: np.random.RandomState) -> np.ndarray:
        if self.kind == "distinct":  # far enough apart for numeric derivatives
            n = int(np.prod(self.shape, dtype=int))
            flat = np.linspace(self.low, self.high, max(n, 1))[:n]
            return rng.permutation(flat).reshape(self.shape)
        if self.kind == "posdef":
            a = rng.uniform(-1, 1, self.shape)
            return a @ a.swapaxes(-1, -2) + np.eye(self.shape[-1]) * self.shape[-1]
        if self.kind == "positive":
            return rng.uniform(0.5, 2.0, self.shape)
        if self.kind == "nonzero":  # away from kinks at 0
            a = rng.uniform(0.2, max(self.high, 0.4), self.shape)
            return a * np.where(rng.rand(*self.shape) < 0.5, -1.0, 1.0)
        return np.asarray(rng.uniform(self.low, self.high, self.shape))


_STREAM = np.random.RandomState(0)


def seeded(seed: int) -> np.random.RandomState:
    """What `RandomState(seed)` draws, until the next call of this: a new one takes 0.4 ms, more than most ops."""
    _STREAM.seed(seed)
    return _STREAM


class Row:
    """One op call: name, arguments, and which checks apply (options start with an underscore)."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        options = {k[1:]: kwargs.pop(k) for k in list(kwargs) if k.startswith("_")}
        self.name = name
        self.args = args
        self.kwargs = kwargs
        self.id = options.pop("id", None)
        self.dtypes = options.pop("dtypes", ("float32", "float64"))
        self.grad = options.pop("grad", True)
        self.second = options.pop("second", True)
        self.inplace = options.pop("inplace", False)
        self.out = options.pop("out", False)
        self.meta = options.pop("meta", True)
        self.tol = options.pop("tol", None)
        self.nondet = options.pop("nondet", False)
        self.compare = options.pop("compare", None)
        # the first release of PyTorch that computes this, and the first that differentiates it
        self.since = options.pop("since", None)
        self.grad_since = options.pop("grad_since", self.since)
        # how PyTorch computes what it has no name for: a function of torch and the row's arguments
        self.torch = options.pop("torch", None)
        if options:
            raise TypeError(f"unknown row options {sorted(options)}")

    def __repr__(self) -> str:
        if self.id:
            return f"{self.name}-{self.id}"
        parts = [_label(a) for a in self.args]
        parts += [f"{k}={_label(v)}" for k, v in self.kwargs.items()]
        return f"{self.name}({','.join(parts)})"[:90]

    def too_old(self, version: str, gradients: bool = False) -> str | None:
        """Why a release of PyTorch cannot be compared with, or None where it can."""
        first = self.grad_since if gradients else self.since
        if first is None or _release(version) >= _release(first):
            return None
        what = "differentiates" if gradients else "computes"
        return f"PyTorch {what} this from {first} on; here is {version}"

    def specs(self) -> list[T]:
        found: list[T] = []
        _walk((self.args, self.kwargs), found.append)
        return found

    def arrays(self, float_dtype: str = "float64") -> list[np.ndarray]:
        """Sample inputs: the same numbers every time, whatever the dtype."""
        rng = seeded(zlib.crc32(repr(self).encode()) & 0x7FFFFFFF)
        return [spec.make(rng, float_dtype) for spec in self.specs()]


def _release(version: str) -> tuple[int, ...]:
    """ "2.13.0+cpu" -> (2, 13)."""
    return tuple([int(part) for part in version.split(".")[:2]])


def _label(v: Any) -> str:
    if isinstance(v, T):
        kind = "" if v.dtype == "float" else v.dtype.replace(":", "")
        return kind + "[" + ",".join(map(str, v.shape)) + "]"
    if isinstance(v, (list, tuple)):
        return "(" + ",".join(_label(x) for x in v) + ")"
    return str(v).replace(" ", "")


def _walk(node: Any, visit: Any) -> None:
    if isinstance(node, T):
        visit(node)
    elif isinstance(node, (list, tuple)):
        for x in node:
            _walk(x, visit)
    elif isinstance(node, dict):
        for x in node.values():
            _walk(x, visit)


def substitute(node: Any, tensors: list[Any]) -> Any:
    """The row's arguments with its T's replaced, in order, by `tensors` (consumed)."""
    if isinstance(node, T):
        return tensors.pop(0)
    if isinstance(node, (list, tuple)) and not hasattr(node, "_fields"):
        return type(node)([substitute(x, tensors) for x in node])
    if isinstance(node, dict):
        return {k: substitute(v, tensors) for k, v in node.items()}
    return node


def resolve(lib: Any, name: str) -> Any:
    """The function a row names, in rushlight or in torch."""
    if name.startswith("Tensor."):
        attr = name.removeprefix("Tensor.")

        def method(x: Any, *args: Any, **kwargs: Any) -> Any:
            found = getattr(x, attr)
            return found(*args, **kwargs) if callable(found) else found

        return method
    owner = lib
    if name.startswith("F."):
        owner = lib.nn.functional
        name = name[2:]
    for part in name.split("."):
        owner = getattr(owner, part)
    return owner


def call(lib: Any, row: Row, tensors: list[Any]) -> Any:
    rest = list(tensors)
    args = substitute(row.args, rest)
    kwargs = substitute(row.kwargs, rest)
    kwargs = {k: _translate(lib, v) for k, v in kwargs.items()}
    args = [_translate(lib, a) for a in args]
    if row.torch is not None and lib.__name__ == "torch":
        return row.torch(lib, *args, **kwargs)
    return resolve(lib, row.name)(*args, **kwargs)


class D:
    """A dtype (or any attribute of the library) as an argument of a row: D("float64")."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


def _translate(lib: Any, v: Any) -> Any:
    return getattr(lib, v.name) if isinstance(v, D) else v


def flat(out: Any) -> list[Any]:
    """The leaves of a result, tensors and numbers alike."""
    if isinstance(out, (list, tuple)):
        return [x for o in out for x in flat(o)]
    return [out]


def all_rows() -> list[Row]:
    import rows

    found: list[Row] = []
    for module in sorted(m.name for m in pkgutil.iter_modules(rows.__path__)):
        found.extend(importlib.import_module(f"rows.{module}").ROWS)
    return found
