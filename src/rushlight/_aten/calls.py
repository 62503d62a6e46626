"""How a kernel's inputs and attributes are written as a call of PyTorch's inner operator.

A translation takes the inputs and the attributes and gives (overload, arguments, named arguments). Kernels without
one have their inputs and attributes in the places that the public function of that name has for them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Tensor, tensor_over
from ..runtime.door import KERNELS
from ..runtime.facts import REDUCTIONS
from ..runtime.thread import here
from .names import aten_name, operator, own
from .overloads import OpOverload


class Written(NamedTuple):
    """A call of an inner operator; `place` is the kernel's result among those of the operator."""

    func: OpOverload
    args: tuple
    kwargs: dict[str, Any]
    place: tuple[int, int] | None = None  # (which, of how many)


Translation = Callable[..., tuple]  # (inputs, attributes, *words behind the way's name)
_WAYS: dict[str, Translation] = {}  # by name; kernels say theirs in their facts, behind the operator


def _way(fn: Translation) -> Translation:
    _WAYS[fn.__name__.removeprefix("_")] = fn
    return fn


def written(kernel: str, inputs: Sequence[Any], attrs: dict) -> Written:
    """The call that a kernel is."""
    name = aten_name(kernel, attrs)
    if name is None:
        return Written(own(kernel), tuple(inputs), dict(attrs))
    way = (KERNELS[kernel].facts.aten or "").split()[1:]
    if not way:
        return Written(operator(name), *_in_places(operator(name).op, inputs, attrs))
    overload, args, *rest = _WAYS[way[0]](inputs, attrs, *way[1:])
    kwargs = rest[0] if rest else {}
    whole = overload if "." in overload else f"{name}.{overload}"
    return Written(operator(whole), args, kwargs, rest[1] if len(rest) > 1 else None)


def _in_places(body: Any, inputs: Sequence[Any], attrs: dict) -> tuple[tuple, dict]:
    """Arguments by position as far as the public function takes them so; those that are as by default are left out."""
    try:
        parameters = list(inspect.signature(body).parameters.values())
    except (TypeError, ValueError):
        return tuple(inputs), dict(attrs)
    given, named, left = list(inputs), dict(attrs), []
    for p in parameters:
        if p.kind is not p.POSITIONAL_OR_KEYWORD:
            break
        if p.name not in named and not given:
            break
        value = named.pop(p.name) if p.name in named else given.pop(0)
        left.append((list(value) if type(value) is tuple else value, p.default))
    known = {p.name: p.default for p in parameters}
    named = {k: v for k, v in named.items() if (v != known[k] if k in known else v not in (None, False))}
    if given or not named.keys() <= known.keys():  # a kernel that says things its own way
        return tuple(inputs), dict(attrs)
    while left and not isinstance(left[-1][0], Tensor) and left[-1][0] == left[-1][1]:
        left.pop()
    return tuple([value for value, _ in left]), named


@_way
def _paired(x: Sequence[Any], attrs: dict) -> tuple:
    """add, mul, div: a number counts as a tensor."""
    return "Tensor", tuple(x), dict(attrs)


@_way
def _less(x: Sequence[Any], attrs: dict) -> tuple:
    if isinstance(x[0], Tensor):
        return "Tensor", tuple(x)
    return "rsub.Scalar", (x[1], x[0])


@_way
def _compared(x: Sequence[Any], attrs: dict) -> tuple:
    return "Tensor" if isinstance(x[-1], Tensor) else "Scalar", tuple(x)


@_way
def _pow(x: Sequence[Any], attrs: dict) -> tuple:
    if not isinstance(x[0], Tensor):
        return "Scalar", tuple(x)
    return "Tensor_Tensor" if isinstance(x[1], Tensor) else "Tensor_Scalar", tuple(x)


@_way
def _reduced(x: Sequence[Any], attrs: dict, over: str) -> tuple:
    if attrs.get("dim") is None:
        return "default", (x[0],)
    dim = list(attrs["dim"]) if isinstance(attrs["dim"], tuple) else attrs["dim"]
    return over, (x[0], dim, attrs["keepdim"]) if attrs["keepdim"] else (x[0], dim)


@_way
def _spread(x: Sequence[Any], attrs: dict) -> tuple:
    dim = attrs["dim"]
    dims = dim if dim is None else list(dim) if isinstance(dim, tuple) else [dim]
    kept = {"keepdim": True} if attrs["keepdim"] else {}
    return "correction", (x[0], dims), {"correction": attrs["correction"], **kept}


@_way
def _ordered(x: Sequence[Any], attrs: dict, *names: str) -> tuple:
    """Attributes by position; the last word may be the overload."""
    *words, overload = names if names[-1].startswith("overload=") else (*names, "default")
    values = [False if word == "False" else attrs[word] for word in words]
    given = [list(v) if isinstance(v, tuple) else v for v in values]
    if words[-1] == "keepdim" and not given[-1]:
        given.pop()
    return overload.removeprefix("overload="), (*x, *given)


@_way
def _split(x: Sequence[Any], attrs: dict) -> tuple:
    sizes = [size for _, size in attrs["ranges"]]
    if len({*sizes[:-1]}) <= 1 and sizes[-1] <= sizes[0]:
        return "split.Tensor", (x[0], sizes[0], *((attrs["dim"],) if attrs["dim"] else ()))
    return "split_with_sizes.default", (x[0], sizes, attrs["dim"])


@_way
def _parted(x: Sequence[Any], attrs: dict) -> tuple:
    sizes = [size for _, size in attrs["ranges"]]
    return "default", (x[0], sizes, attrs["dim"]) if attrs["dim"] else (x[0], sizes)


@_way
def _listed(x: Sequence[Any], attrs: dict) -> tuple:
    return "default", (list(x), attrs["dim"]) if attrs["dim"] else (list(x),)


@_way
def _made(x: Sequence[Any], attrs: dict) -> tuple:
    """zeros, ones, full, empty, randn: a size, then the options."""
    value = (attrs["value"],) if attrs.get("value", 0) not in (0, 1) else ()
    options = {"dtype": attrs["dtype"], "device": attrs["device"], "pin_memory": False}
    return "default", (list(attrs["size"]), *value), options


@_way
def _empty(x: Sequence[Any], attrs: dict) -> tuple:
    return "memory_format", *_made(x, attrs)[1:]


@_way
def _cast(x: Sequence[Any], attrs: dict) -> tuple:
    return "default", (x[0],), {"dtype": attrs["to"]}


@_way
def _conv(x: Sequence[Any], attrs: dict) -> tuple:
    return "default", (*x, *_how(attrs, False))


def _how(attrs: dict, transposed: bool) -> tuple:
    stride, padding, dilation = (list(attrs[n]) for n in ("stride", "padding", "dilation"))
    return stride, padding, dilation, transposed, [0] * len(stride), attrs["groups"]


@_way
def _conv_grad(x: Sequence[Any], attrs: dict, *of: str) -> tuple:
    """`convolution_backward` with what is not computed switched off; what the kernel does not need has a shape only."""
    inputs, weights, bias = mask = ["input" in of, "weight" in of, "bias" in of]
    g, other = x[0], x[1]
    data = _of_shape(other, attrs["x_shape"]) if inputs else other
    weight = other if inputs else _of_shape(other, attrs["w_shape"])
    sizes = [weight.shape[0]] if bias else None
    place = None if weights and bias else (0 if inputs else 1, 3)
    return "default", (g, data, weight, sizes, *_how(attrs, False), mask), {}, place


@_way
def _transposed_or_grad(x: Sequence[Any], attrs: dict) -> tuple:
    """One kernel is the gradient of a convolution's input and, forwards, a transposed convolution."""
    if here.walk is None and "x_shape" in attrs:
        stride, padding, dilation, _, zeros, groups = _how(attrs, True)
        return "convolution.default", (*x, None, stride, padding, dilation, True, zeros, groups)
    return _conv_grad(x, attrs, "input")


def _of_shape(like: Tensor, shape: tuple) -> Tensor:
    """A tensor without memory of its own that has a shape."""
    return like.new_zeros(()).expand(shape)


@_way
def _pooled(x: Sequence[Any], attrs: dict) -> tuple:
    kernel, stride, padding, dilation = (list(attrs[n]) for n in ("kernel", "stride", "padding", "dilation"))
    return "default", (x[0], kernel, stride, padding, dilation, attrs["ceil_mode"])


@_way
def _averaged(x: Sequence[Any], attrs: dict) -> tuple:
    kernel, stride, padding = (list(attrs[n]) for n in ("kernel", "stride", "padding"))
    rest = (attrs["ceil_mode"], attrs["include_pad"], attrs["divisor"])
    return "default", (x[0], kernel, stride, padding, *rest)


@_way
def _layer_norm(x: Sequence[Any], attrs: dict) -> tuple:
    shape = list(x[0].shape[x[0].dim() - attrs["dims"] :])
    return "default", (x[0], shape, *x[1:], attrs["eps"])


@_way
def _batch_norm(x: Sequence[Any], attrs: dict, learning: str = "") -> tuple:
    statistics = tuple(x[3:5]) if len(x) >= 5 else (None, None)
    return "default", (*x[:3], *statistics, bool(learning), 0.1, attrs["eps"])


@_way
def _attention(x: Sequence[Any], attrs: dict, backward: str = "") -> tuple:
    """PyTorch has an operator for each kind of device."""
    kind = "" if x[0].device.type == "cuda" else "_for_cpu"
    name = f"_scaled_dot_product_flash_attention{kind}{backward}.default"
    return name, (*x, 0.0, attrs["causal"]), {"scale": attrs["scale"]}


@_way
def _seen_attention(x: Sequence[Any], attrs: dict) -> tuple:
    """Its mask is given by name; the gradient's arrays stand around it."""
    backward = "" if len(x) == 4 else "_backward"
    at = 3 if len(x) == 4 else 4
    how = {"attn_mask": x[at], "scale": attrs["scale"]}
    name = f"_scaled_dot_product_flash_attention_for_cpu{backward}.default"
    return name, (*x[:at], *x[at + 1 :], 0.0, False), how


@_way
def _index(x: Sequence[Any], attrs: dict) -> tuple:
    """The indices in their places, None for the dims between them."""
    given, slots = iter(x[1:]), attrs["slots"]
    return "Tensor", (x[0], [next(given, None) if used else None for used in slots])


@_way
def _put(x: Sequence[Any], attrs: dict) -> tuple:
    """As `_index`, and the values behind the indices."""
    target, values, *given = x
    if not isinstance(values, Tensor):
        values = tensor_over(np.asarray(values, target.dtype.np), np.ndarray)
    at = _index((target, *given), attrs)[1]
    return "default", (*at, values, True) if attrs["accumulate"] else (*at, values)


@_way
def _padded(x: Sequence[Any], attrs: dict) -> tuple:
    widths = [n for pair in reversed(attrs["widths"]) for n in pair]
    while len(widths) > 2 and widths[-2:] == [0, 0]:
        widths = widths[:-2]
    return "default", (x[0], widths, attrs["value"])


@_way
def _entropy(x: Sequence[Any], attrs: dict) -> tuple:
    kind = REDUCTIONS.index(attrs["reduction"])
    return "default", (x[0], x[1], None, kind, attrs["ignore_index"], 0.0)


@_way
def _loss(x: Sequence[Any], attrs: dict) -> tuple:
    kind = REDUCTIONS.index(attrs["reduction"])
    return "default", (*x, kind) if kind != 1 else tuple(x)


@_way
def _plain(x: Sequence[Any], attrs: dict) -> tuple:
    return "default", tuple(x)


@_way
def _approximated(x: Sequence[Any], attrs: dict) -> tuple:
    how = attrs["approximate"]
    return "default", tuple(x), {} if how == "none" else {"approximate": how}


@_way
def _filled(x: Sequence[Any], attrs: dict) -> tuple:
    return ("Scalar", (x[0], attrs["value"])) if attrs["value"] != 0 else ("default", (x[0],))


@_way
def _chosen(x: Sequence[Any], attrs: dict) -> tuple:
    return "self", tuple(x)


@_way
def _above_zero(x: Sequence[Any], attrs: dict) -> tuple:
    return "default", (*x, 0)
