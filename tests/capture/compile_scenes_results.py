"""Scenes with results: their classes, identities, views, histories; and what a call does to its arguments."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import collections
import collections.abc
import dataclasses
import functools
import math
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


class D2(dict):
    pass


class L2(list):
    pass


class T2(tuple):
    pass


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


_res("ordered", lambda x: collections.OrderedDict(a=x * 2, b=1))
_res("default", lambda x: collections.defaultdict(int, a=x * 2), lambda r, x: r["q"])
_res("dictsub", lambda x: D2(a=x * 2))
_res("listsub", lambda x: L2([x * 2]))
_res("tuplesub", lambda x: T2([x * 2]))
_res("named", lambda x: NT(x * 2, 3))
_res("dataclass", lambda x: DC(x * 2))
_res("frozen", lambda x: DF(x * 2))
_res("namespace", lambda x: types.SimpleNamespace(a=x * 2))
_res("modelout", lambda x: Out(a=x * 2), lambda r, x: r.extra)
_res("set", lambda x: {1, 2, 3}, lambda r, x: (r.add(len(r) + 5), sorted(r))[1])
_res(
    "bytearray", lambda x: (x * 2, bytearray(b"ab")), lambda r, x: (r[1].append(1), bytes(r[1]))[1]
)
_res("list", lambda x: (x * 2, [1, 2]), lambda r, x: (r[1].append(1), r[1])[1])
_res("dict", lambda x: (x * 2, {"a": 1}), lambda r, x: (r[1].update(b=1), r[1])[1])
_res(
    "deque", lambda x: (x * 2, collections.deque([1])), lambda r, x: (r[1].append(1), list(r[1]))[1]
)
_res("size", lambda x: x.shape)
_res("size2", lambda x: (x * 2).size())
_res("maxtuple", lambda x: x.max(0))
_res("sorttuple", lambda x: x.sort(1))
_res("twice", lambda x: (lambda y: (y, y))(x * 2), lambda r, x: r[0] is r[1])
_res("twice_inplace", lambda x: (lambda y: (y, y))(x * 2), lambda r, x: (r[0].add_(1), r[1])[1])
_res("samelist", lambda x: (lambda l: (l, l))([x * 2]), lambda r, x: r[0] is r[1])
_res("view_of_result", lambda x: (lambda y: (y, y[0]))(x * 2), lambda r, x: (r[1].add_(1), r[0])[1])
_res("chunk", lambda x: (x * 2).chunk(2), lambda r, x: (r[0].zero_(), r[1])[1])
_res("unbind", lambda x: (x * 2).unbind(0), lambda r, x: (r[0].zero_(), r[1], r[0]._is_view()))
_res("expand", lambda x: (x[:1] * 2).expand(4, 3), lambda r, x: r.stride())
_res("arg", lambda x: x, lambda r, x: (r is x, r.add_(1)))
_res(
    "arg_detach",
    lambda x: x.detach(),
    lambda r, x: (r.add_(1), x._version, r._version, r._is_view()),
)
_res("arg_data", lambda x: x.data, lambda r, x: (r.add_(1), x._version, r._version))
_res("alias", lambda x: x.view_as(x), lambda r, x: (r is x, r._base is x, r.add_(1), x._version))
_res("contig", lambda x: x.contiguous(), lambda r, x: (r is x))
_res("to", lambda x: x.to(torch.float32), lambda r, x: (r is x))
_res("reshape_same", lambda x: x.reshape(4, 3), lambda r, x: (r is x, r.add_(1), x))
_res("expand_as", lambda x: x.expand_as(x), lambda r, x: (r is x))
_res("numpyres", lambda x: (x * 2).numpy())
_res("tagged", lambda x: (lambda y: (setattr(y, "tag", 5), y)[1])(x * 2))
_res(
    "tagged_list",
    lambda x: (lambda y: (setattr(y, "tag", [1]), y)[1])(x * 2),
    lambda r, x: (r.tag.append(1), r.tag)[1],
)
_res(
    "leaf_inside",
    lambda x: (x * 2).requires_grad_(),
    lambda r, x: (r.is_leaf, (r * 3).sum().backward(), r.grad),
)
_res("param_inside", lambda x: nn.Parameter(x * 2), lambda r, x: (type(r).__name__, r.is_leaf))
_res("detach_g", lambda x: (x * 2).detach(), None, True)
_res("grad_name", lambda x: x * 2, lambda r, x: (r.sum().backward(), x.grad)[1], True)
_res(
    "retain",
    lambda x: (lambda y: (y.retain_grad(), y)[1])(x * 2),
    lambda r, x: (r.sum().backward(), r.grad, x.grad)[1:],
    True,
)
_res(
    "view_grad_inplace",
    lambda x: (x * 1).view(-1),
    lambda r, x: (r.mul_(3), r.sum().backward(), x.grad)[2],
    True,
)
_res("grad_inputs", lambda x: (x * x).sum(), lambda r, x: torch.autograd.grad(r, x), True)
_res("scalar0", lambda x: (x.sum(), x.sum().unsqueeze(0), x[:0]))
_res("bool", lambda x: (x > 0, (x > 0).any()))
_res("fn", lambda x: (x * 2, math.sin))
_res("cls", lambda x: (x * 2, dict))
_res("slice", lambda x: (x * 2, slice(1, 2), range(3), ...))
_res("nparr", lambda x: (x * 2, np.arange(3)), lambda r, x: (r[1].__iadd__(1), r[1])[1])
_res("npscalar", lambda x: (x * 2, np.float32(2)))
_res("complexnum", lambda x: (x * 2, 2j, -0.0, float("nan")))
_res("gen", lambda x: (x * i for i in range(2)), lambda r, x: list(r))
_res("iter", lambda x: iter([x * 2]), lambda r, x: list(r))
_res("lambda", lambda x: (lambda y: lambda: y)(x * 2), lambda r, x: r())
_res("partial", lambda x: functools.partial(torch.add, x * 2), lambda r, x: r(1))
_res("exc", lambda x: ValueError("a"), lambda r, x: r.args)
_res("obj", lambda x: object())
_res("module", lambda x: nn.Linear(2, 2), lambda r, x: r.weight)
_res("dtype", lambda x: (x.dtype, x.device, x.shape, x.layout))
_res("emptylist", lambda x: ([], {}, ()), lambda r, x: (r[0].append(1), r[1].update(a=1), r)[2])
_res("none", lambda x: None)
_res("dict_nonstr", lambda x: {1: x, (1, 2): x * 2, None: 3})
_res("dict_tensor_key", lambda x: {x: 1}, lambda r, x: [k is x for k in r])
_res("listarg", lambda x: [x, x.t(), x * 1])
_res("sparse", lambda x: x.to_sparse())
_res("complex", lambda x: torch.complex(x, x).conj())
_res("neg", lambda x: torch.complex(x, x).imag)
_res("half", lambda x: x.half() + 1)
_res("channels", lambda x: x.reshape(1, 1, 4, 3).to(memory_format=torch.channels_last) * 2)
_res("flip", lambda x: x.flip(0))
_res("tt", lambda x: x.t() * 2, lambda r, x: r.is_contiguous())
_res("transposed_out", lambda x: (x * 2).t())
_res("stepslice", lambda x: (x * 2)[::2, ::2])
_res("zero_stride", lambda x: torch.zeros(1).expand(3, 4))


# ---- outputs kept and mutated


@scene
def mutated_by_caller(c):
    w = torch.ones(3)

    f = c(lambda x: (x * w, w * 1, w))
    for i in range(9):
        r = f(X(i))
        yield see(r)
        r[0].zero_()
        r[1].add_(5)
        r[2].mul_(1.5)
        yield see(w), w._version


@scene
def state_view_mutated(c):
    w = torch.ones(4, 3)

    f = c(lambda x: (w[1:], x + w))
    for i in range(9):
        r = f(X(i))
        r[0].add_(1)
        yield see(r), w._version, see(w), r[0]._is_view(), r[0]._base is w


@scene
def state_view_grad(c):
    lin = nn.Linear(3, 3)

    f = c(lambda x: lin.weight[0])
    for i in range(9):
        lin.zero_grad()
        r = f(X(i))
        (r * r).sum().backward()
        yield see(r), see(lin.weight.grad)


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


_arg("tag", lambda x: (setattr(x, "tag", 3), x * 2)[1], lambda x: x.tag)
_arg("requires", lambda x: (x.requires_grad_(), x * 2)[1])
_arg("retain", lambda x: (lambda y: (y.retain_grad(), y * 2)[1])(x), None or (lambda x: 0), True)
_arg("hook", lambda x: (x.register_hook(lambda g: g * 2), x * 2)[1], lambda x: 0, True)
_arg("grad_set", lambda x: (setattr(x, "grad", torch.ones(4, 3)), x * 2)[1], lambda x: x.grad)
_arg("grad_none", lambda x: (setattr(x, "grad", None), x * 2)[1], lambda x: x.grad)
_arg("data_set", lambda x: (setattr(x, "data", x.data * 2), x * 2)[1], lambda x: x)
_arg("t_", lambda x: (x.t_(), x * 2)[1], lambda x: x.shape)
_arg("unsqueeze_", lambda x: (x.unsqueeze_(0), x * 2)[1], lambda x: x.shape)
_arg("resize_", lambda x: (x.resize_(2, 3), x * 2)[1], lambda x: x.shape)
_arg("set_", lambda x: (x.set_(x * 2), x * 2)[1], lambda x: x)
_arg("detach_", lambda x: ((x * 1).detach_(), x * 2)[1], lambda x: x, True)
_arg("zero_", lambda x: x.zero_())
_arg("inplace_leaf", lambda x: x.add_(1), lambda x: x, True)
_arg("nograd_leaf", lambda x: _ng(x), lambda x: x, True)
_arg("backward_in", lambda x: (x * x).sum().backward(), lambda x: x.grad, True)
_arg("iadd", lambda x: _iadd(x))
_arg("setitem", lambda x: x.__setitem__(0, 5.0))
_arg("copy_", lambda x: x.copy_(torch.ones(3)))
_arg("storage_offset", lambda x: x * (x.storage_offset() + 1))
_arg("numpywrite", lambda x: x.numpy().__setitem__(0, 5.0))
_arg("out", lambda x: torch.add(x, 1, out=x))
_arg("swap", lambda x: torch.swapaxes(x, 0, 1).add_(1))
_arg(
    "requires_false", lambda x: (x.requires_grad_(False), x * 2)[1], lambda x: x.requires_grad, True
)
_arg("rename", lambda x: hasattr(x, "tag"))
_arg("share", lambda x: x.is_shared())


def _ng(x):
    with torch.no_grad():
        x.add_(1)
    return x


def _iadd(x):
    x += 1
    return x * 2
