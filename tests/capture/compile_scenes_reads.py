"""Scenes with numbers that the host reads: used by Python, by functions of C, or handed back."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import array
import collections
import collections.abc
import math
import operator
import pickle
import struct

import numpy as np

import rushlight as torch
from compile_scenes import X, scene, steps, tell


# ---- reads
def _read(name, use, src=lambda x: x.sum().item()):
    def make(c):
        def fn(x):
            v = src(x)
            return use(x, v)

        return steps(c(fn))

    make.__name__ = "read_" + name
    scene(make)


_read("sqrt", lambda x, v: x * math.sqrt(abs(v)))
_read("isfinite", lambda x, v: x if math.isfinite(v) else x * 2)
_read("hypot", lambda x, v: x * math.hypot(v, 1))
_read("sin", lambda x, v: x * math.sin(v))
_read("times", lambda x, v: x * v)
_read("complex", lambda x, v: x * complex(v).real)
_read("real", lambda x, v: x * v.real)
_read("conj", lambda x, v: x * v.conjugate())
_read("tensor", lambda x, v: x * torch.tensor(v))
_read("nparray", lambda x, v: x * float(np.array([v])[0]))
_read("floatmethod", lambda x, v: x * float.__add__(v, 1.0))
_read("sum", lambda x, v: x * sum([v, v]))
_read("fsum", lambda x, v: x * math.fsum([v, v]))
_read("clamp", lambda x, v: x.clamp(max=v))
_read("pow", lambda x, v: x.abs() ** v)
_read("format", lambda x, v: x * float(f"{v:.3f}"))
_read("percent", lambda x, v: x * float("%.3f" % v))
_read("struct", lambda x, v: x * struct.unpack("d", struct.pack("d", v))[0])
_read("array", lambda x, v: x * array.array("d", [v])[0])
_read("operator", lambda x, v: x * operator.mul(v, 2.0))
_read("sorted", lambda x, v: x * sorted([v, 0.0, 20.0])[0])
_read("isinstance", lambda x, v: (x, isinstance(v, float), type(v) is float, type(v).__name__))
_read("dict", lambda x, v: {"a": v, "b": x})
N = lambda x: x.argmax().item()
_read(
    "i_index",
    lambda x, n: x * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0][n],
    lambda x: (x - x.sum() * 0.0).abs().argmin().item(),
)
I = lambda x: (x > 1).sum().item()
_read("i_list", lambda x, n: x * list(range(20))[n], I)
_read("i_range", lambda x, n: x * len(range(n)), I)
_read("i_range2", lambda x, n: sum([x for _ in range(n)], x), I)
_read("i_repeat", lambda x, n: x * len([0] * n), I)
_read("i_slice", lambda x, n: x * len([0] * 30) + len(list(range(30))[:n]), I)
_read("i_tensorslice", lambda x, n: x.reshape(-1)[:n], I)
_read("i_zeros", lambda x, n: torch.zeros(n), I)
_read("i_chr2", lambda x, n: (x, chr(n)), I)
_read("i_factorial", lambda x, n: x * (math.factorial(n) % 97), I)
_read("i_tuple", lambda x, n: x * (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)[n], I)
_read("i_enumerate", lambda x, n: x * list(enumerate([0], n))[0][0], I)
_read("i_round", lambda x, n: x * round(1.23456789, n), I)
_read("i_ldexp", lambda x, n: x * math.ldexp(1.0, n), I)
_read("i_match", lambda x, n: _m(x, n), I)
_read("i_hash", lambda x, n: x * {1: 2.0, 2: 3.0}.get(n, 5.0), I)
_read("i_arr", lambda x, n: x * float(np.arange(20)[n]), I)
_read("i_deque", lambda x, n: x * collections.deque(range(20))[n], I)
_read("i_pow", lambda x, n: x * pow(3, n, 7), I)


def _m(x, n):
    match n:
        case 0:
            return x
        case 1 | 2 | 3:
            return x * 2
        case _:
            return x * 3


@scene
def read_kept_in_a_list(c):
    log = []

    def fn(x):
        l = x.sum()
        log.append(l.item())
        return l

    f = c(fn)
    for i in range(7):
        yield tell(f, X(i)), ("log", [type(v).__name__ for v in log], [float(v).hex() for v in log])


@scene
def read_kept_in_dict_and_pickled(c):
    d = {}

    def fn(x):
        d["n"] = (x > 0).sum().item()
        return x * 2

    f = c(fn)
    for i in range(7):
        yield tell(f, X(i)), ("o", type(d["n"]).__name__, pickle.dumps(d["n"]))


def kept(name, fn):
    def make(c):
        return steps(c(fn))

    make.__name__ = "handed_" + name
    scene(make)


def h1(x):
    return x.sum().item()


def h2(x):
    return x, x.sum().item(), (x > 0).sum().item()


def h3(x):
    return {"a": x.sum().item(), "b": x}


def h4(x):
    l = x.sum().item()
    y = x * 2
    return y, l


def h5(x):
    with torch.no_grad():
        return x.sum().item(), [x.mean().item()]


def _helper(x):
    return x.sum().item()


def h6(x):
    v = _helper(x)
    return x, v


def h7(x):
    return [t.sum().item() for t in (x, x * 2)]


def h8(x):
    v = x.sum().item()
    del v
    return x


def h9(x):
    x.sum().item()
    return x * 2


def h10(x):
    out = {}
    out["a"] = x.sum().item()
    return out


def h11(x):
    a, b = x.sum().item(), x.mean().item()
    return a, b, x


def h12(x):
    return sum(map(lambda t: t.sum().item(), (x, x)))


def h13(x):
    return list(map(lambda t: t.sum().item(), (x, x)))


def h14(x):
    return math.fsum(map(lambda t: t.sum().item(), (x, x)))


def h15(x):
    return float(x.sum()), int((x > 0).sum()), bool(x.any())


def h16(x):
    v = x.sum().item()

    def g():
        return v

    return g() * 2


def h17(x):
    try:
        return x.sum().item()
    finally:
        x.add_(1)


def h18(x):
    v = x.sum().item()
    if x.shape[0] > 3:
        w = v
    else:
        w = 0.0
    return x, w


def h19(x):
    v = x.sum().item()
    for _ in range(2):
        x = x * 2
    return x, v


def h20(x):
    return x.sum().item() if x.shape[0] > 2 else 0.0


def h21(x):
    return max(x.sum().item(), 3.0)


def h22(x):
    return array.array("d", map(lambda t: t.sum().item(), (x, x))).tolist()


for k, v in list(globals().items()):
    if k[0] == "h" and k[1:].isdigit():
        kept(k, v)
