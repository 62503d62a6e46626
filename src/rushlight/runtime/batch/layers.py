"""Products, convolutions, pools and losses over all samples at once; see rules.py."""

from __future__ import annotations

from math import prod
from typing import Any

from .arrays import compute
from .calls import MappedCall, merged, parted, reshaped
from .rules import ALL, rule

# -- products -----------------------------------------------------------------------------------


def _matrices(call: MappedCall, x: Any, y: Any, many: str, one: str, at: tuple[int, int]) -> Any:
    """A product of two matrices of each sample; where only the rows differ, one of more rows."""
    left, right = at
    if not call.mapped[left] and not call.mapped[right]:
        return compute("unsqueeze", compute(one, x, y), dim=0)
    if not call.mapped[right] and one != "mm_tn":
        return parted(compute(one, merged(x), y), call.size)
    if not call.mapped[left]:
        x = compute("unsqueeze", x, dim=0)
    if not call.mapped[right]:
        y = compute("unsqueeze", y, dim=0)
    return compute(many, x, y)


@rule
def mm(call: MappedCall) -> Any:
    name = call.kernel.name
    x, y = call.held
    return _matrices(call, x, y, name.replace("mm", "bmm"), name, (0, 1))


@rule
def bmm(call: MappedCall) -> Any:
    return call.run(*call.aligned())


@rule
def mv(call: MappedCall) -> Any:
    x, y = call.whole(0), compute("unsqueeze", call.whole(1), dim=2)
    out = compute("bmm", x, y)
    return reshaped(out, out.shape[:2])


@rule
def dot(call: MappedCall) -> Any:
    x, y = compute("unsqueeze", call.whole(0), dim=1), compute("unsqueeze", call.whole(1), dim=2)
    return reshaped(compute("bmm", x, y), (call.size,))


@rule
def add_product(call: MappedCall) -> Any:
    b, x, y = call.aligned()
    if call.kernel.name == "addmm":
        product = _matrices(call, call.held[1], call.held[2], "bmm", "mm", (1, 2))
    else:
        product = compute("bmm", x, y)
    beta, alpha = call.attrs["beta"], call.attrs["alpha"]
    if alpha != 1:
        product = compute("mul", product, alpha)
    if beta == 0:
        return product
    return compute("add", product, b if beta == 1 else compute("mul", b, beta))


@rule
def linear(call: MappedCall) -> Any:
    x, w, b = call.held
    if not call.mapped[1] and not call.mapped[2] and call.arrays[0].ndim:
        return call.run(x, w, b)
    shape = call.arrays[0].shape
    rows = prod(shape[:-1])
    x = reshaped(x, (call.size if call.mapped[0] else 1, rows, shape[-1]))
    w = w if call.mapped[1] else compute("unsqueeze", w, dim=0)
    if w.dtype.kind == "c":  # the quick product would conjugate it
        out = compute("bmm", x, compute("transpose", w, dim0=1, dim1=2))
    else:
        out = compute("bmm_nt", x, w)
    if b is not None:
        out = compute("add", out, compute("unsqueeze", b, dim=1) if call.mapped[2] else b)
    return reshaped(out, (out.shape[0], *shape[:-1], out.shape[-1]))


@rule
def linear_grads(call: MappedCall) -> Any:
    if call.arrays[0].dtype.kind == "c":
        return NotImplemented
    g, x = (_rows(a) for a in (call.whole(0), call.whole(1)))
    to_w, to_b = compute("bmm_tn", g, x), compute("sum", g, dim=(1,), keepdim=False)
    if call.kernel.name == "linear_grads":
        return to_w, to_b
    to_x = reshaped(compute("bmm", g, call.whole(2)), (call.size, *call.arrays[1].shape))
    return (to_x, to_w) if call.kernel.name == "linear_two_grads" else (to_x, to_w, to_b)


def _rows(a: Any) -> Any:
    return reshaped(a, (a.shape[0], prod(a.shape[1:-1]), a.shape[-1]))


# -- convolutions: a sample with filters of its own is a group ------------------------------------


def _beside(a: Any) -> Any:
    """(samples, N, C, ...) as (N, samples * C, ...): the channels of all samples beside each other."""
    a = compute("transpose", a, dim0=0, dim1=1)
    return reshaped(a, (a.shape[0], a.shape[1] * a.shape[2], *a.shape[3:]))


def _apart(a: Any, size: int) -> Any:
    """The way back."""
    a = reshaped(a, (a.shape[0], size, a.shape[1] // size, *a.shape[2:]))
    return compute("transpose", a, dim0=0, dim1=1)


@rule
def conv(call: MappedCall) -> Any:
    x, w, b = call.held
    if not call.mapped[1] and not call.mapped[2]:
        return parted(call.run(merged(x), w, b), call.size)
    if b is not None:
        b = reshaped(call.whole(2), (call.size * call.arrays[2].shape[0],))
    groups = call.attrs["groups"] * call.size
    return _apart(call.run(_beside(call.whole(0)), merged(call.whole(1)), b, groups=groups), call.size)


@rule
def conv_grad_input(call: MappedCall) -> Any:
    n, c, *rest = call.attrs["x_shape"]
    if not call.mapped[1]:
        gx = call.run(merged(call.held[0]), call.held[1], x_shape=(call.size * n, c, *rest))
        return parted(gx, call.size)
    gy, w, groups = _beside(call.whole(0)), merged(call.whole(1)), call.attrs["groups"] * call.size
    return _apart(call.run(gy, w, x_shape=(n, call.size * c, *rest), groups=groups), call.size)


@rule
def conv_grad_weight(call: MappedCall) -> Any:
    o, *rest = call.attrs["w_shape"]
    gy, x = _beside(call.whole(0)), _beside(call.whole(1))
    groups = call.attrs["groups"] * call.size
    out = call.run(gy, x, w_shape=(call.size * o, *rest), groups=groups)
    if call.kernel.name == "conv_grads":
        return tuple([parted(part, call.size) for part in out])
    return parted(out, call.size)


# -- what takes rows: the samples are more of them ------------------------------------------------


@rule
def more_rows(call: MappedCall) -> Any:
    if call.attrs.get("axis", 1) == 0:
        return NotImplemented
    out = call.run(*[merged(a) for a in call.all_whole()])
    if isinstance(out, tuple):
        return tuple([parted(o, call.size) for o in out])
    return parted(out, call.size)


@rule
def pool_grad(call: MappedCall) -> Any:
    n, *rest = call.attrs["x_shape"]
    out = call.run(*[merged(a) for a in call.all_whole()], x_shape=(call.size * n, *rest))
    return parted(out, call.size)


@rule
def norm_of_rows(call: MappedCall) -> Any:
    if not call.mapped[0] or any(call.mapped[1:]) or call.arrays[0].ndim < call.attrs["dims"]:
        return NotImplemented
    return call.run(*call.held)


# -- losses -------------------------------------------------------------------------------------


def _reduced(call: MappedCall, losses: Any) -> Any:
    reduction = call.attrs["reduction"]
    if reduction == "none" or losses.ndim == 1:
        return losses
    return compute(reduction, losses, dim=tuple(range(1, losses.ndim)), keepdim=False)


@rule
def loss(call: MappedCall) -> Any:
    if call.arrays[0].shape != call.arrays[1].shape or not call.arrays[0].size:
        return NotImplemented
    return _reduced(call, call.run(*call.aligned(), reduction="none"))


@rule
def loss_grad(call: MappedCall) -> Any:
    gy, x, y = call.arrays
    if x.shape != y.shape or not x.size:
        return NotImplemented
    g, reduction = call.held[0], call.attrs["reduction"]
    if reduction != "none":
        if reduction == "mean":
            g = compute("div", g, x.size)
        if call.mapped[0]:
            g = reshaped(g, (call.size, *(1,) * x.ndim))
    elif call.mapped[0] and gy.ndim < x.ndim:
        return NotImplemented
    shape = (call.size, *x.shape)
    return call.run(compute("expand", g, shape=shape), call.whole(1), call.whole(2), reduction="none")


@rule
def nll(call: MappedCall) -> Any:
    if call.held[2] is not None or not call.arrays[0].shape[0]:
        return NotImplemented
    x, target = merged(call.whole(0)), merged(call.whole(1))
    losses, _ = call.run(x, target, None, reduction="none")
    losses = parted(losses, call.size)
    counts = _counted(call, call.whole(1), losses)
    if call.attrs["reduction"] == "none":
        return losses, counts
    total = compute("sum", losses, dim=tuple(range(1, losses.ndim)), keepdim=False)
    return (compute("div", total, counts) if call.attrs["reduction"] == "mean" else total), counts


def _counted(call: MappedCall, target: Any, losses: Any) -> Any:
    """How many targets of each sample count, in the dtype of the losses."""
    kept = compute("ne", target, call.attrs["ignore_index"])
    zeros = compute("zeros_of", losses)
    ones = compute("where", kept, compute("exp", zeros), zeros, to=None)
    return compute("sum", ones, dim=tuple(range(1, ones.ndim)), keepdim=False)


@rule
def nll_grad(call: MappedCall) -> Any:
    n, *rest = call.attrs["shape"]
    if call.held[2] is not None or not n:
        return NotImplemented
    g, target = call.whole(0), call.whole(1)
    if call.attrs["reduction"] != "none":
        if call.attrs["reduction"] == "mean":
            g = compute("div", g, call.whole(3))
        g = compute("expand", reshaped(g, (call.size, *(1,) * (target.ndim - 1))), shape=target.shape)
    total = compute("sum", call.whole(3), dim=(0,), keepdim=False)
    shape = (call.size * n, *rest)
    return parted(call.run(merged(g), merged(target), None, total, shape=shape, reduction="none"), call.size)


@rule
def cross_entropy(call: MappedCall) -> Any:
    if not call.arrays[0].shape[0]:
        return NotImplemented
    target = call.whole(1)
    losses, stats = call.run(merged(call.whole(0)), merged(target), reduction="none")
    losses, stats = parted(losses, call.size), parted(stats, call.size)
    reduction = call.attrs["reduction"]
    if reduction == "none":
        return losses, stats
    total = compute("sum", losses, dim=(1,), keepdim=False)
    if reduction == "mean":
        total = compute("div", total, _counted(call, target, losses))
    return total, stats


@rule
def cross_entropy_grad(call: MappedCall) -> Any:
    if not call.arrays[1].shape[0]:
        return NotImplemented
    g, x, stats, target = call.all_whole()
    if call.attrs["reduction"] != "none":
        if call.attrs["reduction"] == "mean":
            g = compute("div", g, _counted(call, target, compute("select", stats, index=(ALL, ALL, 0))))
        g = compute("expand", reshaped(g, (call.size, 1)), shape=target.shape)
    return parted(call.run(merged(g), merged(x), merged(stats), merged(target), reduction="none"), call.size)
