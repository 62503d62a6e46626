"""Scenes with numbers that the host reads: used by Python, by functions of C, or handed back."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import array
import math
import struct

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
_read("complex", lambda x, v: x * complex(v).real)
_read("struct", lambda x, v: x * struct.unpack("d", struct.pack("d", v))[0])
N = lambda x: x.argmax().item()
_read(
    "i_index",
    lambda x, n: x * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0][n],
    lambda x: (x - x.sum() * 0.0).abs().argmin().item(),
)
I = lambda x: (x > 1).sum().item()


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
