"""Scenes with results: their classes, identities, views, histories; and what a call does to its arguments."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import collections
import collections.abc
import dataclasses
import types

import numpy as np

import rushlight as torch
from compile_scenes import X, scene, see, tell
from rushlight import nn


# ---- results
def _res(name, body, after=None, grad=False):
    def make(c):
        f = c(lambda x: body(x))
        for i in range(8):
            x = X(i)
            if grad:
                x = x.requires_grad_()
            try:
                r = f(x)
            except Exception as e:
                yield see(e)
                continue
            yield see(r), see(x)
            if after is not None:
                yield see(after(r, x)), see(x), see(r)

    make.__name__ = "res_" + name
    scene(make)


NT = collections.namedtuple("NT", "a b")


@dataclasses.dataclass
class DC:
    a: object
    b: object = 2


@dataclasses.dataclass(frozen=True)
class DF:
    a: object


class Out(collections.OrderedDict):
    def __init__(self, **k):
        super().__init__(**k)
        self.extra = 1


_res("named", lambda x: NT(x * 2, 3))
_res("namespace", lambda x: types.SimpleNamespace(a=x * 2))
_res("twice", lambda x: (lambda y: (y, y))(x * 2), lambda r, x: r[0] is r[1])
_res("samelist", lambda x: (lambda l: (l, l))([x * 2]), lambda r, x: r[0] is r[1])
_res("unbind", lambda x: (x * 2).unbind(0), lambda r, x: (r[0].zero_(), r[1], r[0]._is_view()))
_res("arg", lambda x: x, lambda r, x: (r is x, r.add_(1)))
_res("alias", lambda x: x.view_as(x), lambda r, x: (r is x, r._base is x, r.add_(1), x._version))
_res("contig", lambda x: x.contiguous(), lambda r, x: (r is x))
_res("expand_as", lambda x: x.expand_as(x), lambda r, x: (r is x))
_res("numpyres", lambda x: (x * 2).numpy())
_res("tagged", lambda x: (lambda y: (setattr(y, "tag", 5), y)[1])(x * 2))
_res("param_inside", lambda x: nn.Parameter(x * 2), lambda r, x: (type(r).__name__, r.is_leaf))
_res("grad_name", lambda x: x * 2, lambda r, x: (r.sum().backward(), x.grad)[1], True)
_res(
    "retain",
    lambda x: (lambda y: (y.retain_grad(), y)[1])(x * 2),
    lambda r, x: (r.sum().backward(), r.grad, x.grad)[1:],
    True,
)
_res("view_grad_inplace", lambda x: (x * 1).view(-1), lambda r, x: (r.mul_(3), r.sum().backward(), x.grad)[2], True)
_res("npscalar", lambda x: (x * 2, np.float32(2)))
_res("obj", lambda x: object())
_res("dtype", lambda x: (x.dtype, x.device, x.shape, x.layout))
_res("dict_tensor_key", lambda x: {x: 1}, lambda r, x: [k is x for k in r])
_res("sparse", lambda x: x.to_sparse())
_res("neg", lambda x: torch.complex(x, x).imag)
_res("half", lambda x: x.half() + 1)
_res("channels", lambda x: x.reshape(1, 1, 4, 3).to(memory_format=torch.channels_last) * 2)
_res("tt", lambda x: x.t() * 2, lambda r, x: r.is_contiguous())


# ---- outputs kept and mutated


@scene
def res_is_captured(c):
    w = torch.ones(3)
    f = c(lambda x: (w, w.detach(), x + w))
    for i in range(8):
        a, b, total = f(X(i))
        yield a is w, see([a, b, total])
        w.add_(1)
        yield see(b)


def _arg(name, body, look=lambda x: None, grad=False, back=False):
    def make(c):
        f = c(lambda x: body(x))
        for i in range(8):
            x = X(i)
            if grad:
                x.requires_grad_()
            r = tell(f, x)
            try:
                l = see(look(x))
            except Exception as e:
                l = see(e)
            yield r, see(x), l, (x._version, x.is_leaf, x.retains_grad)

    make.__name__ = "arg_" + name
    scene(make)


_arg("requires", lambda x: (x.requires_grad_(), x * 2)[1])
_arg("retain", lambda x: (lambda y: (y.retain_grad(), y * 2)[1])(x), None or (lambda x: 0), True)
_arg("detach_", lambda x: ((x * 1).detach_(), x * 2)[1], lambda x: x, True)
_arg("inplace_leaf", lambda x: x.add_(1), lambda x: x, True)
_arg("iadd", lambda x: _iadd(x))
_arg("copy_", lambda x: x.copy_(torch.ones(3)))
_arg("swap", lambda x: torch.swapaxes(x, 0, 1).add_(1))
_arg("share", lambda x: x.is_shared())


def _iadd(x):
    x += 1
    return x * 2
