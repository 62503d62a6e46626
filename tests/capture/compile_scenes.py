"""Scenes for test_compile_scenes: what a caller does with a function, told step by step, eagerly and compiled.

A scene takes `compile` (or, for the eager side, a function that gives back what it gets) and yields what can be seen:
values to the bit, dtypes, strides, gradients, effects, errors with their words. The random stream is looked at after each.
"""

from __future__ import annotations

import dataclasses
import math
import random
import types
import warnings

import numpy as np

import rushlight as torch

SCENES = {}
KINDS = {}  # of some scenes: "program", or "traced" where Python has to run
T = torch.Tensor


def scene(fn):
    assert fn.__name__ not in SCENES, fn.__name__
    SCENES[fn.__name__] = fn
    return fn


def X(i, *shape):
    """The same values in the first calls, which are recorded and replayed, others in later ones."""
    shape = shape or (4, 3)
    n = math.prod(shape)
    return (torch.arange(float(n)).reshape(*shape) - n / 3) * 0.25 + (0 if i < 4 else i)


def L(i, a, b):
    """a at first, b in call 5, 6 and from 8 on."""
    return a if i < 5 or i == 7 else b


def see(v, depth=0):
    """Everything that can be seen of a value, in a form that can be compared."""
    if depth > 6:
        return "deep"
    down = depth + 1
    if isinstance(v, T):
        a = (v.to_dense() if v.is_sparse else v).detach().numpy()
        g = v._grad if v.is_leaf or v.retains_grad else None
        own = {k: see(x, down) for k, x in sorted(vars(v).items()) if k[0] != "_"}
        about = type(v).__name__, str(v.dtype), tuple(v.shape), tuple(v.stride()), a.tobytes()
        return ("T", *about, v.requires_grad, v.is_leaf, None if g is None else see(g, down), own)
    if isinstance(v, (list, tuple)):
        return (type(v).__name__, [see(x, down) for x in v])
    if isinstance(v, dict):
        return (type(v).__name__, [(see(k, down), see(x, down)) for k, x in v.items()])
    if isinstance(v, float):
        return (type(v).__name__, float.hex(v))
    if isinstance(v, np.ndarray):
        return ("array", str(v.dtype), v.shape, v.tobytes())
    if isinstance(v, (int, str, bytes, complex, type(None), np.generic)):
        return (type(v).__name__, repr(v))
    if isinstance(v, BaseException):
        return ("error", type(v).__name__, str(v))
    if dataclasses.is_dataclass(v) or isinstance(v, types.SimpleNamespace):
        names = vars(v) if hasattr(v, "__dict__") else v.__dataclass_fields__
        return (type(v).__name__, [(k, see(getattr(v, k), down)) for k in names])
    return type(v).__name__


def tell(f, *args, **kwargs):
    """The result of a call or its error, and the warnings that are not `compile`'s own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = see(f(*args, **kwargs))
        except Exception as error:
            result = see(error)
    told = [str(w.message) for w in caught if "compile(" not in str(w.message)]
    return (result, told) if told else result


def steps(f, change=None, n=9, look=None, x=X):
    """Calls with something that happens before each, and a look at effects afterwards."""
    for i in range(n):
        if change is not None:
            change(i)
        yield tell(f, x(i)), (see(look()) if look else None)


def worlds(family, n=10):
    """Scenes of a family from functions that give (what is compiled, what happens before each call, what is looked at)."""

    def world(fn):
        def make(c):
            f, change, *look = fn()
            yield from steps(c(f), change, n=n, look=look[0] if look else None)

        make.__name__ = f"{family}_{fn.__name__}"
        scene(make)
        return fn

    return world


def settings(family, n):
    """Scenes of a family: code that asks for a setting of the process, which is another one in some calls."""

    def setting(name, ask, put, one, other):
        def make(c):
            f = c(lambda x: x * (2 if ask() == one else 3))
            try:
                for i in range(n):
                    put(L(i, one, other))
                    yield tell(f, X(i))
            finally:
                put(one)

        make.__name__ = f"{family}_{name}"
        scene(make)

    return setting


def linear(a=3, b=3):
    torch.manual_seed(1)
    return torch.nn.Linear(a, b)


def run(make, wrap):
    """All that a scene tells, each with the state of the random stream."""
    torch.manual_seed(3)
    np.random.seed(0)
    random.seed(0)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for got in make(wrap):
            found.append((repr(got), torch.get_rng_state().numpy().tobytes()))
    return found
