"""Scenes with state outside of Python's objects, iterators, errors, random streams, many shapes; settings of the process."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import functools
import struct
import threading

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, X, scene, see, steps, tell


@scene
def struct_read(c):
    b = bytearray(struct.pack("d", 2.0))

    def fn(x):
        return x * struct.unpack_from("d", b)[0]

    return steps(c(fn), lambda i: b.__setitem__(slice(0, 8), struct.pack("d", L(i, 2.0, 3.0))))


@scene
def lru(c):
    k = {"v": 2.0}

    @functools.lru_cache
    def g():
        return k["v"]

    def fn(x):
        return x * g()

    return steps(c(fn), lambda i: (k.update(v=L(i, 2.0, 3.0)), g.cache_clear() if i == 6 else 0))


def err(name, body, good, bad):
    """A kernel that refuses some values, in a call that writes into its argument before."""

    def make(c):
        def fn(x, d):
            x.add_(1)
            return body(x, d) + x.sum()

        f = c(fn)
        for i in range(10):
            x = X(i)
            yield tell(f, x, (bad if i in (5, 6, 8) else good)()), see(x), x._version

    make.__name__ = "err_" + name
    scene(make)


emb = torch.randn(5, 3)
err("embedding", lambda x, d: F.embedding(d, emb), lambda: torch.tensor([1, 2]), lambda: torch.tensor([1, 9]))
err("index", lambda x, d: emb[d], lambda: torch.tensor([1, 2]), lambda: torch.tensor([1, 9]))
err("index_select", lambda x, d: x.index_select(0, d), lambda: torch.tensor([1, 2, 0]), lambda: torch.tensor([1, 2, 9]))
err("take", lambda x, d: x.take(d), lambda: torch.tensor([1, 2, 0]), lambda: torch.tensor([1, 2, 99]))
err("inv", lambda x, d: torch.linalg.inv(d), lambda: torch.eye(3), lambda: torch.zeros(3, 3))
err("one_hot", lambda x, d: F.one_hot(d, 3), lambda: torch.tensor([1, 2]), lambda: torch.tensor([1, 5]))
err(
    "multinomial",
    lambda x, d: torch.multinomial(d, 2),
    lambda: torch.tensor([0.5, 0.5]),
    lambda: torch.tensor([-0.5, 0.5]),
)
err("bernoulli", lambda x, d: torch.bernoulli(d), lambda: torch.tensor([0.5, 0.5]), lambda: torch.tensor([1.5, 0.5]))
err(
    "bce",
    lambda x, d: F.binary_cross_entropy(d, torch.zeros(2)),
    lambda: torch.tensor([0.5, 0.5]),
    lambda: torch.tensor([1.5, 0.5]),
)
err(
    "repeat",
    lambda x, d: x.repeat_interleave(d, 0),
    lambda: torch.tensor([1, 2, 0, 1]),
    lambda: torch.tensor([1, 2, 0, -1]),
)
err("put", lambda x, d: x.put_(d, torch.ones(2)), lambda: torch.tensor([1, 2]), lambda: torch.tensor([1, 99]))
err(
    "max_unpool",
    lambda x, d: F.max_unpool1d(x[None], d, 2),
    lambda: torch.zeros(1, 4, 3, dtype=torch.int64),
    lambda: torch.full((1, 4, 3), 99),
)
err(
    "emb_bag",
    lambda x, d: F.embedding_bag(d, emb, torch.tensor([0])),
    lambda: torch.tensor([1, 2]),
    lambda: torch.tensor([1, 9]),
)


def tr(name, body, good, bad):
    def b(x, d):
        try:
            return body(x, d)
        except (RuntimeError, IndexError):
            return x * 5

    err("caught_" + name, b, good, bad)


tr("cholesky", lambda x, d: torch.linalg.cholesky(d), lambda: torch.eye(3), lambda: -torch.eye(3))


# ---- RNG
def rng(name, body, ch=None):
    def make(c):
        g = torch.Generator().manual_seed(3)
        f = c(lambda x: body(x, g))
        for i in range(9):
            if ch:
                ch(i, g)
            yield tell(f, X(i)), see(g.get_state())

    make.__name__ = "rng_" + name
    scene(make)


rng("generator", lambda x, g: x + torch.rand(4, 3, generator=g))
rng("dropout", lambda x, g: F.dropout(x, 0.5))
rng("bernoulli_", lambda x, g: x.bernoulli_(0.3))
rng("branch", lambda x, g: x + torch.rand(4, 3) if x.shape[0] > 2 else x)


# ---- shapes


def env(name, use, change):
    def make(c):
        f = c(lambda x: x * use())
        try:
            yield from steps(f, change)
        finally:
            change(0)

    make.__name__ = "env_" + name
    scene(make)


env(
    "deterministic",
    lambda: 2 if torch.are_deterministic_algorithms_enabled() else 3,
    lambda i: torch.use_deterministic_algorithms(L(i, False, True)),
)
env(
    "warn_only",
    lambda: 2 if torch.is_deterministic_algorithms_warn_only_enabled() else 3,
    lambda i: torch.use_deterministic_algorithms(True, warn_only=L(i, False, True))
    if i
    else torch.use_deterministic_algorithms(False),
)
env(
    "debug_mode",
    lambda: torch.get_deterministic_debug_mode() + 1,
    lambda i: torch.set_deterministic_debug_mode(L(i, 0, 1)),
)
env(
    "precision",
    lambda: len(torch.get_float32_matmul_precision()),
    lambda i: torch.set_float32_matmul_precision(L(i, "highest", "high")),
)
env(
    "cudnn",
    lambda: 2 if torch.backends.cudnn.benchmark else 3,
    lambda i: setattr(torch.backends.cudnn, "benchmark", L(i, False, True)),
)
env(
    "autocast_on",
    lambda: 2 if torch.is_autocast_enabled("cpu") else 3,
    lambda i: torch.set_autocast_enabled("cpu", L(i, False, True)),
)
env(
    "autocast_dtype",
    lambda: len(str(torch.get_autocast_dtype("cpu"))),
    lambda i: torch.set_autocast_dtype("cpu", L(i, torch.bfloat16, torch.float16)),
)
TL = threading.local()
TL.k = 2.0
