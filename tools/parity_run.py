"""One call written down without a framework, made by PyTorch and by rushlight, and what differs between the two."""

from __future__ import annotations

import enum
import re
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_utils import freeze_rng_state

import rushlight

# Places where a function of PyTorch's is looked for, so that ours of the same name is called.
PLACES = (
    "", "nn.functional", "linalg", "special", "fft", "masked", "sparse", "signal.windows", "Tensor",
    "_C._nn", "_C._linalg", "_C._special", "_C._fft", "_C._sparse", "nn", "nn.init", "optim", "autograd",
    "func", "nn.utils.rnn", "nn.attention",
)  # fmt: skip
TOLERANCE = {"float64": 1e-7, "complex128": 1e-7, "bfloat16": 3e-2, "float16": 5e-3}
SAMPLED = 12  # elements of a large tensor that a message shows at most


class Missing(Exception):
    """rushlight has no such name."""


def at(lib: Any, path: str) -> Any:
    for word in path.split(".") if path else ():
        lib = getattr(lib, word)
    return lib


def _paths() -> dict[int, str]:
    found: dict[int, str] = {}
    for place in PLACES:
        owner = at(torch, place)
        for name in sorted(dir(owner), key=lambda n: (n.startswith("_"), n)):
            try:
                value = getattr(owner, name)
            except Exception:
                continue
            if callable(value):
                found.setdefault(id(value), f"{place}.{name}".lstrip("."))
    return found


PATHS = _paths()
ONCE = torch.autograd.function.once_differentiable(print).__code__
FREEZE = {id(freeze_rng_state), id(torch.testing._utils.freeze_rng_state)}


@contextmanager
def kept_state() -> Iterator[None]:
    """In the place of `freeze_rng_state` of PyTorch's tests, in which its functions draw."""
    before = rushlight.get_rng_state()
    yield
    rushlight.set_rng_state(before)


class Ours:
    """PyTorch's objects as rushlight's: functions by their names, helpers of its tests over our module."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.made: dict[int, Any] = {}

    def __call__(self, value: Any) -> Any:
        if id(value) in FREEZE:
            return kept_state
        if id(value) in PATHS:
            return self.named(PATHS[id(value)])
        if isinstance(value, types.ModuleType):
            inside = value.__name__.split(".")[0] == "torch" and "testing" not in value.__name__
            return self.named(value.__name__.partition(".")[2]) if inside else value
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return getattr(rushlight, str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return rushlight.device(self.device if value.type == "cpu" else str(value))
        if isinstance(value, torch.Generator):
            return rushlight.Generator().manual_seed(value.initial_seed())
        if isinstance(value, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            return self.named("ops." + str(value).replace("::", "."))
        if isinstance(value, partial):
            return partial(self(value.func), *map(self, value.args), **self.each(value.keywords))
        if isinstance(value, types.MethodType) and isinstance(value.__self__, type):
            return getattr(self(value.__self__), value.__name__)
        if isinstance(value, types.FunctionType) and value.__code__ is ONCE:
            return rushlight.autograd.function.once_differentiable(self(value.__wrapped__))
        if isinstance(value, types.FunctionType) and value.__module__.startswith("torch"):
            return self.function(value)
        if isinstance(value, torch.Size):
            return rushlight.Size(value)
        if isinstance(value, str) and value == "cpu":
            return self.device
        if type(value) in (list, tuple):
            return type(value)(map(self, value))
        if type(value) is dict:
            return self.each(value)
        if isinstance(value, type) and issubclass(value, torch.autograd.Function):
            return self.cls(value)
        return value

    def each(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: self(value) for name, value in values.items()}

    def named(self, path: str) -> Any:
        try:
            return at(rushlight, path)
        except AttributeError as error:
            raise Missing(path) from error

    def function(self, fn: types.FunctionType) -> Any:
        """A helper of PyTorch's tests, with our module in the place of theirs."""
        if id(fn) not in self.made:
            space: dict[str, Any] = {"__builtins__": __builtins__}
            cells = tuple(types.CellType() for _ in fn.__closure__ or ())
            made = types.FunctionType(fn.__code__, space, fn.__name__, None, cells)
            self.made[id(fn)] = made
            made.__kwdefaults__ = self.each(fn.__kwdefaults__ or {})
            made.__defaults__ = tuple(map(self, fn.__defaults__ or ()))
            for cell, theirs in zip(cells, fn.__closure__ or ()):
                cell.cell_contents = self(theirs.cell_contents)
            for name in names_of(fn.__code__):
                if name in fn.__globals__:
                    space[name] = self(fn.__globals__[name])
        return self.made[id(fn)]

    def cls(self, theirs: type) -> type:
        """A class of PyTorch's tests over our base."""
        if id(theirs) not in self.made:
            plain = {n: v for n, v in vars(theirs).items() if not isinstance(v, (staticmethod, classmethod, type))}
            skipped = ("__dict__", "__weakref__", *(n for n in plain if n.startswith("_") and not n.startswith("__")))
            body = {n: v for n, v in plain.items() if n not in skipped}
            made = self.made[id(theirs)] = type(theirs.__name__, (rushlight.autograd.Function,), body)
            for name, value in vars(theirs).items():  # they name the class itself
                if isinstance(value, (staticmethod, classmethod)):
                    setattr(made, name, type(value)(self(value.__func__)))
        return self.made[id(theirs)]


def names_of(code: types.CodeType) -> set[str]:
    inner = [names_of(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*inner)


@dataclass(eq=False)
class Held:
    """A tensor as memory and a way to look at it; tensors that share memory share `memory`."""

    memory: bytearray
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    requires_grad: bool
    sparse: Any = None  # (indices, values, is coalesced)


def written(value: Any, memory: dict[int, bytearray] | None = None) -> Any:
    """Arguments of a call without tensors: each is `Held`."""
    memory = {} if memory is None else memory
    if isinstance(value, torch.nn.Module) or getattr(value, "is_meta", False):
        raise NotImplementedError(type(value).__name__)
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            if value.layout != torch.sparse_coo:
                raise NotImplementedError(str(value.layout))
            parts = [written(part, memory) for part in (value._indices(), value._values())]
            return Held(bytearray(), value.dtype, tuple(value.shape), (), 0, value.requires_grad, (*parts, value.is_coalesced()))  # fmt: skip
        if value.device.type != "cpu":
            raise NotImplementedError(str(value.device))
        bare = value.detach().resolve_conj().resolve_neg()
        storage = bare.untyped_storage()
        if storage.data_ptr() not in memory:
            taken = np.array(torch.tensor([], dtype=torch.uint8).set_(storage).numpy())
            memory[storage.data_ptr()] = bytearray(taken.tobytes())
        kept = memory[storage.data_ptr()]
        return Held(kept, bare.dtype, tuple(bare.shape), bare.stride(), bare.storage_offset(), value.requires_grad)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        items = [written(v, memory) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {name: written(v, memory) for name, v in value.items()}
    return value


@dataclass
class Build:
    """Tensors of one framework from what was written."""

    lib: Any
    device: str
    ours: Ours
    tensors: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bases: dict[tuple[int, str], Any] = {}

    def dtype(self, dtype: torch.dtype) -> Any:
        return getattr(self.lib, str(dtype).removeprefix("torch."))

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Held):
            made = self.tensor(value)
            self.tensors.append(made)
            return made
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            items = [self(v) for v in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {name: self(v) for name, v in value.items()}
        return value if self.lib is torch else self.ours(value)

    def tensor(self, held: Held) -> Any:
        dtype = self.dtype(held.dtype)
        if held.sparse:
            indices, values = (self.tensor(part) for part in held.sparse[:2])
            made = self.lib.sparse_coo_tensor(indices, values, held.size, is_coalesced=held.sparse[2])
            return made.requires_grad_(held.requires_grad)
        if not held.memory:
            made = self.lib.empty(0, dtype=dtype, device=self.device).as_strided(held.size, held.stride, 0)
            return made.detach().requires_grad_(held.requires_grad)
        key = (id(held.memory), str(dtype))
        if key not in self.bases:
            whole = len(held.memory) // held.dtype.itemsize * held.dtype.itemsize
            flat = self.lib.frombuffer(bytearray(held.memory[:whole]), dtype=dtype)
            self.bases[key] = flat.to(self.device) if self.device != "cpu" else flat
        made = self.bases[key].as_strided(held.size, held.stride, held.offset)
        return made.detach().requires_grad_(held.requires_grad)


@dataclass
class Seen:
    """A tensor as it came out."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    requires: bool
    alias: tuple[Any, ...]  # which inputs it is, and whose memory it shares
    values: Any

    def __repr__(self) -> str:
        if not isinstance(self.values, np.ndarray):
            return f"{self.dtype} {self.shape}"
        return f"{self.dtype} {self.shape} {self.values.ravel()[:SAMPLED].tolist()}"


def host(t: Any) -> np.ndarray:
    """The numbers of a tensor; those of bfloat16 as float32."""
    t = t.detach()
    if t.layout in (torch.sparse_coo, rushlight.sparse_coo):
        t = t.to_dense()
    if isinstance(t, torch.Tensor) and t._is_zerotensor():  # zeros without memory
        t = torch.zeros(t.shape, dtype=t.dtype)
    t = t.resolve_conj().resolve_neg().cpu()
    name = str(t.dtype).rpartition(".")[2]
    return np.array((t.float() if name in ("bfloat16", "complex32") else t).numpy())


def numbers(t: Any) -> Seen | None:
    """A tensor of which only dtype, shape and numbers matter."""
    if t is None or not t.numel():  # of nothing a gradient may as well be none
        return None
    return Seen(str(t.dtype).rpartition(".")[2], tuple(t.shape), (), False, (), host(t))


def address(t: Any) -> Any:
    if not t.numel() or getattr(t, "_is_zerotensor", bool)() or t.layout in (torch.sparse_coo, rushlight.sparse_coo):
        return None
    return t.untyped_storage().data_ptr()


def seen(value: Any, inputs: list[Any]) -> Any:
    """A result in words that both frameworks share."""
    if isinstance(value, (torch.Tensor, rushlight.Tensor)):
        if str(value.device) == "meta":
            return Seen(str(value.dtype), tuple(value.shape), value.stride(), False, (), None)
        strided = value.layout in (torch.strided, rushlight.strided)
        mine = address(value)
        shared = [i for i, t in enumerate(inputs) if mine is not None and address(t) == mine]
        same = [i for i, t in enumerate(inputs) if t is value]
        return Seen(
            str(value.dtype).rpartition(".")[2], tuple(value.shape), tuple(value.stride()) if strided else (),
            bool(value.requires_grad), (shared, same), host(value),
        )  # fmt: skip
    if isinstance(value, dict):
        return {str(name): seen(v, inputs) for name, v in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, (torch.Size, rushlight.Size)):
        fields = getattr(type(value), "__match_args__", None)
        return {"fields": fields, **{str(i): seen(v, inputs) for i, v in enumerate(value)}}
    if isinstance(value, (torch.Size, rushlight.Size)):
        return ("Size", *value)
    if isinstance(value, enum.Enum) or not isinstance(value, (int, float, complex, bool, str)):
        return str(value).replace("rushlight", "torch")
    return value


def differences(want: Any, got: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """(aspect, in words) for everything in which two results differ."""
    if isinstance(want, Exception) or isinstance(got, Exception):
        yield from _errors(want, got, where)
    elif isinstance(want, dict) and isinstance(got, dict):
        if set(want) == {"graph"} and not any(v.values.any() for v in got.values() if isinstance(v, Seen)):
            return  # a constant there, zeros here
        if set(want) != set(got):
            yield "value", f"{where}: {len(want)} results / {len(got)}"
        for name in want:
            if name in got:
                yield from differences(want[name], got[name], f"{where}.{name}".lstrip("."))
    elif isinstance(want, Seen) and isinstance(got, Seen):
        if want.dtype != got.dtype or want.shape != got.shape:
            yield "dtype", f"{where}: {want} / {got}"
            return
        if want.requires != got.requires:
            yield "graph", f"{where}: requires_grad {want.requires} / {got.requires}"
        if want.alias != got.alias:
            yield "alias", f"{where}: shares with, is {want.alias} / {got.alias}"
        if _strides(want) != _strides(got):
            yield "strides", f"{where}: {want.shape} {want.strides} / {got.strides}"
        if want.values is not None and not same(want.values, got.values, want.dtype):
            yield "value", f"{where}: {_apart(want, got)}"
    elif isinstance(want, float) and isinstance(got, float):
        if not same(np.array(want), np.array(got), "float32"):
            yield "value", f"{where}: {want} / {got}"
    elif where == "graph" and [w and g for w, g in zip(want, got)] == want:
        pass  # a derivative that PyTorch takes for a constant, and that is derived here
    elif isinstance(want, Seen) or isinstance(got, Seen):
        yield "none", f"{where}: {want!r} / {got!r}"
    elif want != got or type(want) is not type(got):
        yield "value", f"{where}: {want!r} / {got!r}"


def _apart(want: Seen, got: Seen) -> str:
    """The elements that differ, the first of them."""
    pairs = [
        (i, a, b)
        for i, (a, b) in enumerate(zip(want.values.ravel(), got.values.ravel()))
        if not same(np.array(a), np.array(b), want.dtype)
    ]
    said = ", ".join(f"[{i}] {a!s} / {b!s}" for i, a, b in pairs[:SAMPLED])
    return f"{want.dtype} {want.shape}, {len(pairs)} of {want.values.size}: {said or (want, got)}"


def _strides(t: Seen) -> tuple[int, ...]:
    """Strides that mean something: not those of a dimension of one, nor of nothing."""
    if 0 in t.shape:
        return ()
    return tuple(stride for size, stride in zip(t.shape, t.strides) if size > 1)


def _errors(want: Any, got: Any, where: str) -> Iterator[tuple[str, str]]:
    said = [f"{type(e).__name__}: {str(e)[:160]}" if isinstance(e, Exception) else repr(e)[:160] for e in (want, got)]
    if not isinstance(want, Exception):
        missing = isinstance(got, Missing) or type(got).__name__ == "NotYet"
        yield "missing" if missing else "raises", f"{where}: {said[0]} / {said[1]}"
    elif not isinstance(got, Exception):
        yield "silent", f"{where}: {said[0]} / {said[1]}"
    elif not _same_type(type(want), type(got)):
        yield "error", f"{where}: {said[0]} / {said[1]}"
    elif not _said(getattr(want, "regex", None), str(want), str(got).replace("rushlight.", "torch.")):
        yield "words", f"{where}: {said[0]} / {said[1]}"


def _said(regex: str | None, want: str, got: str) -> bool:
    """Whether a message is one that PyTorch's test accepts; some of its patterns do not accept PyTorch's own."""
    return not regex or bool(re.search(regex, got)) or (want == got)


def _same_type(want: type, got: type) -> bool:
    """The same class, or one below it where Python's own has the name."""
    return want.__name__ == got.__name__ or (want.__module__ == "builtins" and issubclass(got, want))


def same(want: np.ndarray, got: np.ndarray, dtype: str) -> bool:
    if want.dtype.kind in "biu" or not want.size:
        return bool(np.array_equal(want, got))
    tol = TOLERANCE.get(dtype, 2e-4)
    with np.errstate(all="ignore"):
        if want.dtype.kind == "c":  # of a number with a NaN nobody asks which of its parts it is
            want, got = (np.where(np.isnan(a), complex(np.nan, np.nan), a) for a in (want, got))
        parts = [(want.real, got.real), (want.imag, got.imag)]
        finite = np.abs(want[np.isfinite(want)])
        scale = float(finite.max()) if finite.size else 0.0
        atol = tol * (0.5 if dtype in ("bfloat16", "float16") else 0.1) * max(1.0, scale)
        return all(np.allclose(b, a, rtol=tol, atol=atol, equal_nan=True) for a, b in parts)


def outcome(probe: Callable[[], Any], lib: Any, seed: int) -> Any:
    """What a call gives, or the error that it raises."""
    lib.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return probe()
        except Exception as error:
            return error
