"""What a random script finds when it begins: modules, an optimiser, numbers, lists, objects, and `show`; run anew for each side.

`fuzz.py` runs this file's text with rushlight, and with PyTorch in its place.
"""

from __future__ import annotations

import copy
import enum
import gc
import io
import math
import pickle
import random
import re
import threading
import types
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.nn.utils import (  # noqa: F401 - PyTorch loads them when they are named
    parametrizations,
    parametrize,
    prune,
    stateless,
)
from rushlight.utils.data import DataLoader, Dataset, TensorDataset

__all__ = ["DataLoader", "Dataset", "F", "TensorDataset", "copy", "gc", "io", "math", "pickle", "threading"]

shown: list[Any] = []


def show(*values: Any) -> None:
    """Keep what can be seen of values; they are looked at when the script is over, for a look makes a loop eager."""
    shown.extend([kept(v) for v in values])


def kept(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        kind = type(value).__name__.replace("SparseTensor", "Tensor")
        facts = (str(value.dtype), tuple(value.shape), value.requires_grad, value.is_leaf)
        whose = "version of a parameter" if isinstance(value, nn.Parameter) else "version of a tensor"
        version = [whose, None if value.is_inference() else value._version]
        return ["tensor", kind, *facts, str(vars(value).get("tag")), version, value.detach().clone()]
    if isinstance(value, Version):
        return [value.whose, value.count]
    if isinstance(value, (list, tuple)):
        return [kept(v) for v in value]
    if isinstance(value, dict):
        return [[kept(k), kept(v)] for k, v in value.items()]
    if isinstance(value, BaseException):
        text = str(value).splitlines()[0][:40] if str(value) else ""
        kind = next(c.__name__ for c in type(value).__mro__ if c.__module__ == "builtins")
        return ["error", kind, text]
    return value if isinstance(value, float) else [type(value).__name__, re.sub(r" at 0x\w+", "", repr(value))]


class Version:
    """How often a tensor was written, compared on every side.

    Of gradients and states compiled functions count otherwise than eager ones, and of weights other libraries.
    """

    def __init__(self, value: Any) -> None:
        self.count = value._version
        self.whose = "version of a parameter" if isinstance(value, nn.Parameter) else "version"


def batch(i: int, *shape: int) -> Any:
    """The input of iteration `i`."""
    numbers = [k * 0.1 - 0.2 + i % 5 for k in range(math.prod(shape))]
    return torch.tensor(numbers).reshape(shape)


def attributes(net: Any, opt: Any = None) -> list[Any]:
    """All of a module and an optimiser: values, gradients, versions, states."""
    found: list[Any] = [[name, p, p.grad] for name, p in net.named_parameters()]
    found += [[name, b] for name, b in net.named_buffers()]
    found += [m.training for m in net.modules()]
    if opt is not None:
        found += [[[k, v] for k, v in s.items()] for s in opt.state.values()]
        found += [[k, v] for g in opt.param_groups for k, v in g.items() if isinstance(v, float)]
    return found


class Mode(enum.Enum):
    SUM = 1
    MEAN = 2


class Twice(nn.Module):
    """A module with numbers of its own and of its class."""

    k = 1.5

    def __init__(self) -> None:
        super().__init__()
        self.n, self.inner = 2, nn.Linear(4, 4)

    def forward(self, t: Any) -> Any:
        for _ in range(self.n):
            t = t * self.k
        return self.inner(t) if self.training else t


class Thrice(Twice):
    k = 3.0

    def forward(self, t: Any) -> Any:
        return t * 3 + self.n


class Tagged(torch.Tensor):
    pass


class Own(torch.autograd.Function):
    """A derivative that depends on Python."""

    by = 2.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * Own.by + x.sign() * 0.01


class Clip(torch.autograd.Function):
    """Two arguments, one of them no tensor, and a result that was written in place."""

    @staticmethod
    def forward(ctx: Any, x: Any, most: float) -> Any:
        ctx.mask = x.abs() <= most
        return x.clone().clamp_(-most, most)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.mask, None


class Symmetric(nn.Module):
    """A parametrisation."""

    def forward(self, weight: Any) -> Any:
        return weight * 0.5 + weight.tanh() * 0.5


class Hook:
    """A forward hook with state."""

    def __init__(self) -> None:
        self.by, self.calls = 2.0, 0

    def __call__(self, module: Any, given: Any, out: Any) -> Any:
        return out * self.by


class Counting(Hook):
    def __call__(self, module: Any, given: Any, out: Any) -> Any:
        self.calls += 1
        return out + self.calls


def pick(cfg: Any) -> float:
    match cfg:
        case types.SimpleNamespace(k=0.5):
            return 1.0
        case types.SimpleNamespace(k=k):
            return k
    return 2.0


class World:
    """Everything that a `step` may use beside its arguments."""

    rate = 1.5  # of the class

    def __init__(self) -> None:
        torch.manual_seed(11)
        self.lin = nn.Linear(4, 4)
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.25), nn.Linear(4, 4))
        self.norm = nn.BatchNorm1d(4)
        self.p = nn.Parameter(torch.randn(3, 4))
        self.buf = torch.randn(3, 4)
        self.part = self.buf[1:]
        self.opt: Any = torch.optim.SGD([*self.lin.parameters(), self.p], lr=0.05, momentum=0.5)
        self.scale, self.flag, self.n = 1.25, True, 2
        self.cfg = types.SimpleNamespace(k=0.5, inner=types.SimpleNamespace(deep=2.0))
        self.items, self.table = [1.0, 0.5], {"a": 1.5, "b": 2}
        self.mode, self.fn = Mode.SUM, torch.tanh
        self.log: list[Any] = []
        self.count = 0
        self.handles: list[Any] = []
        self.sub, self.hook = Twice(), Hook()
        self.idx, self.mat = torch.tensor([0, 1, 2]), torch.eye(4)
        self.kept: list[Any] = []
        self.tuple = (2.0, 1)

    def helper(self, t: Any, by: float = 1.0) -> Any:
        return t * self.rate + by

    def state(self) -> list[Any]:
        """All that can be seen of it."""
        found = [attributes(self.lin, self.opt), attributes(self.norm), attributes(self.sub)]
        found += [[self.p, self.p.grad, self.buf, self.part, self.mat, self.idx]]
        found += [self.count, self.log, self.scale, self.items, self.table, self.flag, self.n]  # type: ignore[list-item]
        found += [getattr(self, "extra", None), getattr(self, "last", None), self.kept[-2:]]
        return [*found, self.hook.by, self.hook.calls]


def finish() -> list[Any]:
    """What the script has shown, and where its random numbers are."""
    show(torch.rand(3), random.random(), torch.is_grad_enabled())
    return shown


G, box = 1.0, {"v": 1.0}
torch.distributions.Distribution.set_default_validate_args(True)
