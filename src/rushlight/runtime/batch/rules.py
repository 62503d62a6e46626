"""How kernels compute all samples at once: by shifted dims, by broadcasting, by reading the samples as more rows.

A rule gets the call and answers the arrays of all samples, the samples along the first dim, or NotImplemented: then
the kernel runs once for each sample. Leaving a kernel out costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import int64
from .. import devices
from ..door import KERNELS, run
from .arrays import compute
from .calls import MappedCall, reshaped

Rule = Callable[[MappedCall], Any]
RULES: dict[str, Rule] = {}
CHANGING: dict[str, Rule] = {}  # for kernels that write into their first array


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Let a function be the rule of kernels."""

    def register(fn: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, fn))
        return fn

    return register


# -- element by element -------------------------------------------------------------------------

_POINTWISE = """
    abs acos acosh add add_scaled addcdiv addcmul airy_ai angle asin asinh atan atan2 atanh bessel_j0 bessel_j1 bessel_y0
    bessel_y1 bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor cast ceil clamp
    clamp_backward complex conj copysign cos cosh deg2rad digamma div elu elu_grad entr eq erf erfc erfcx erfinv exp exp2
    expm1 floor floor_divide fmax fmin fmod frac frexp gammainc gammaincc gcd ge gelu gelu_grad gt hardshrink
    hardshrink_grad hardsigmoid hardsigmoid_grad hardswish hardswish_grad hardtanh hardtanh_grad heaviside hypot i0 i0e i1
    i1e imag isclose isfinite isinf isnan isneginf isposinf isreal lcm ldexp le leaky_relu leaky_relu_grad lerp lgamma log
    log10 log1p log2 log_ndtr logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit logit_grad
    logsigmoid logsigmoid_grad lt masked_fill maximum minimum mish mish_grad move mul nan_to_num ndtr ndtri ne neg
    nextafter polygamma pow rad2deg real reciprocal relu relu_grad remainder round round_decimals rsqrt sgn sigmoid
    sigmoid_backward sign signbit silu silu_grad sin sinc sinh softplus softplus_grad softshrink softshrink_grad softsign
    softsign_grad sqrt square sub tan tanh tanh_backward tanhshrink tanhshrink_grad threshold trunc trunc_divide
    where xlog1py xlogy zeros_of zeta dropout_grad alias snapshot
"""


@rule(*[name for name in _POINTWISE.split() if not name.endswith(("_grad", "_backward"))])
def _pointwise(call: MappedCall) -> Any:
    return call.run(*call.aligned())


@rule(*[name for name in _POINTWISE.split() if name.endswith(("_grad", "_backward"))])
def _alike(call: MappedCall) -> Any:
    """Derivatives, which are given arrays of one shape, and bounds of fewer dims."""
    ndim = call.arrays[0].ndim
    arrays = [
        call.whole(i) if devices.is_array(a) and a.ndim == ndim else held
        for i, (a, held) in enumerate(zip(call.arrays, call.aligned()))
    ]
    return call.run(*arrays)


@rule("clone")
def _clone(call: MappedCall) -> Any:
    order = call.attrs["order"]
    if not isinstance(order, str):
        order = (0, *[d + 1 for d in order])
    return call.run(call.held[0], order=order)


@rule("copied", "filled", "zeroed")
def _copied(call: MappedCall) -> Any:
    """What an in-place operation will write: of the shape of the first array."""
    return call.run(*call.aligned()) if call.mapped[0] else NotImplemented


def _copy_into(call: MappedCall) -> Any:
    if call.arrays[1].ndim > call.arrays[0].ndim:
        for i in range(call.size):
            compute(call.kernel, *call.sample(i), **call.attrs)
        return None
    return call.run(*call.aligned())


CHANGING["copy_into"] = _copy_into
CHANGING["fill_into"] = lambda call: call.run(call.held[0])


# -- one dim or several -------------------------------------------------------------------------


def _shifted(dim: int, ndim: int) -> int:
    return dim % ndim + 1 if ndim else 1


@rule("sum", "mean", "prod", "amax", "amin", "all", "any", "nansum", "logsumexp", "std", "var", "vector_norm", "max",
      "min", "count_nonzero")  # fmt: skip
def _reduction(call: MappedCall) -> Any:
    x, held, dim = call.arrays[0], call.held[0], call.attrs["dim"]
    if not x.ndim:  # over no dim, which is not over all
        attrs = {"dim": (1,)} if "keepdim" not in call.attrs else {"dim": (1,), "keepdim": False}
        return call.run(compute("unsqueeze", held, dim=1), **attrs)
    if dim is None:
        dims = tuple(range(x.ndim))
    else:
        dims = dim if isinstance(dim, tuple) else (dim,)
    return call.run(held, dim=tuple([_shifted(d, x.ndim) for d in dims]))


@rule("argmax", "argmin")
def _position(call: MappedCall) -> Any:
    x, held, dim = call.arrays[0], call.held[0], call.attrs["dim"]
    if not x.ndim or (dim is None and call.attrs["keepdim"]):
        return NotImplemented
    if dim is None:
        return call.run(reshaped(held, (call.size, x.size)), dim=1)
    return call.run(held, dim=_shifted(dim, x.ndim))


@rule("softmax", "log_softmax", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "topk", "glu", "unfold",
      "unbind", "split", "split_with_sizes", "max_dim", "min_dim", "median_dim", "mode", "kthvalue", "softmax_grad",
      "log_softmax_grad", "glu_grad", "linear_scan", "shift")  # fmt: skip
def _along(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    if not ndim:
        return NotImplemented
    return call.run(*call.all_whole(), dim=_shifted(call.attrs["dim"], ndim))


@rule("flip", "fft_backward", "fft_forward", "fft_real", "fft_to_real")
def _several(call: MappedCall) -> Any:
    name = "dims"
    ndim = call.arrays[0].ndim
    return call.run(call.held[0], **{name: tuple([_shifted(d, ndim) for d in call.attrs[name]])})


@rule("roll")
def _roll(call: MappedCall) -> Any:
    dims = call.attrs["dims"]
    if not isinstance(dims, tuple) or not dims:
        return NotImplemented
    return call.run(call.held[0], dims=tuple([_shifted(d, call.arrays[0].ndim) for d in dims]))


# -- shapes -------------------------------------------------------------------------------------


@rule("view", "reshape_copy")
def _view(call: MappedCall) -> Any:
    return call.run(call.held[0], shape=(call.size, *call.attrs["shape"]))


@rule("expand")
def _expand(call: MappedCall) -> Any:
    held, shape = call.held[0], call.attrs["shape"]
    for _ in range(len(shape) - call.arrays[0].ndim):
        held = compute("unsqueeze", held, dim=1)
    return call.run(held, shape=(call.size, *shape))


@rule("sum_to_size")
def _sum_to_size(call: MappedCall) -> Any:
    x, shape = call.arrays[0], tuple(call.attrs["shape"])
    even = (1,) * (x.ndim - len(shape)) + shape
    return reshaped(call.run(call.held[0], shape=(call.size, *even)), (call.size, *shape))


@rule("permute")
def _permute(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    return call.run(call.held[0], dims=(0, *[_shifted(d, ndim) for d in call.attrs["dims"]]))


@rule("transpose")
def _transpose(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    if not ndim:
        return call.held[0]
    dims = [_shifted(call.attrs[name], ndim) for name in ("dim0", "dim1")]
    return call.run(call.held[0], dim0=dims[0], dim1=dims[1])


@rule("t")
def _t(call: MappedCall) -> Any:
    if call.arrays[0].ndim < 2:
        return call.held[0]
    return compute("transpose", call.held[0], dim0=1, dim1=2)


@rule("unsqueeze")
def _unsqueeze(call: MappedCall) -> Any:
    return call.run(call.held[0], dim=_shifted(call.attrs["dim"], call.arrays[0].ndim + 1))


@rule("squeeze")
def _squeeze(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    return call.run(call.held[0], dims=tuple([_shifted(d, ndim) for d in call.attrs["dims"]]))


ALL = (None, None, None)  # a window over a whole dim


@rule("select", "slice", "window")
def _window(call: MappedCall) -> Any:
    return call.run(call.held[0], index=(ALL, *call.attrs["index"]))


@rule("unwindow")
def _unwindow(call: MappedCall) -> Any:
    index, shape = call.attrs["index"], call.attrs["shape"]
    return call.run(call.held[0], index=(ALL, *index), shape=(call.size, *shape))


@rule("cat")
def _cat(call: MappedCall) -> Any:
    ndim = max(a.ndim for a in call.arrays)
    if any(a.ndim != ndim for a in call.arrays):  # an empty one of one dim counts for nothing
        return NotImplemented
    return call.run(*call.all_whole(), dim=_shifted(call.attrs["dim"], ndim))


@rule("stack")
def _stack(call: MappedCall) -> Any:
    return call.run(*call.all_whole(), dim=_shifted(call.attrs["dim"], call.arrays[0].ndim + 1))


@rule("diagonal")
def _diagonal(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    dims = [_shifted(call.attrs[name], ndim) for name in ("dim1", "dim2")]
    return call.run(call.held[0], dim1=dims[0], dim2=dims[1])


@rule("tril", "triu")
def _triangle(call: MappedCall) -> Any:
    return call.run(call.held[0]) if call.arrays[0].ndim > 1 else NotImplemented


@rule("pad_constant")
def _pad(call: MappedCall) -> Any:
    return call.run(call.held[0], widths=((0, 0), *call.attrs["widths"]))


@rule("repeat")
def _repeat(call: MappedCall) -> Any:
    held, repeats = call.held[0], tuple(call.attrs["repeats"])
    for _ in range(len(repeats) - call.arrays[0].ndim):
        held = compute("unsqueeze", held, dim=1)
    return call.run(held, repeats=(1, *repeats))


@rule("view_as_complex", "view_as_real", "one_hot", "linalg_cholesky", "linalg_inv", "linalg_det", "linalg_slogdet",
      "linalg_qr", "linalg_eigh", "linalg_eig", "linalg_svd", "linalg_svdvals", "linalg_lu_factor", "linalg_matrix_exp", "linalg_pinv")  # fmt: skip
def _as_it_is(call: MappedCall) -> Any:
    """Kernels that count dims from the last, and let the others be."""
    return call.run(*call.held)


@rule("linalg_solve", "linalg_solve_triangular", "linalg_cholesky_solve")
def _solve(call: MappedCall) -> Any:
    return call.run(*call.aligned()) if min(a.ndim for a in call.arrays) > 1 else NotImplemented


# -- by indices ---------------------------------------------------------------------------------


@rule("gather", "scatter_add", "scatter", "scatter_reduce")
def _gather(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    if any(devices.is_array(a) and a.ndim != ndim for a in call.arrays) or not ndim:
        return NotImplemented
    return call.run(*call.all_whole(), dim=_shifted(call.attrs["dim"], ndim))


@rule("gather_grad")
def _gather_grad(call: MappedCall) -> Any:
    shape = call.attrs["shape"]
    if not shape or any(a.ndim != len(shape) for a in call.arrays):
        return NotImplemented
    dim = _shifted(call.attrs["dim"], len(shape))
    return call.run(*call.all_whole(), dim=dim, shape=(call.size, *shape))


@rule("index_select")
def _index_select(call: MappedCall) -> Any:
    if call.mapped[1] or not call.arrays[0].ndim:
        return NotImplemented
    return call.run(*call.held, dim=_shifted(call.attrs["dim"], call.arrays[0].ndim))


def _first_places(call: MappedCall, ndim: int) -> Any:
    """The number of each sample, in a shape that broadcasts with indices of `ndim` dims."""
    place = devices.device_of(call.arrays[0])
    attrs = {"start": 0, "step": 1, "size": (call.size,), "dtype": int64, "device": place}
    numbers = run(KERNELS["arange"], devices.backend_of(place).array_type, (), attrs)
    return reshaped(numbers, (call.size, *(1,) * ndim))


@rule("index", "index_grad")
def _index(call: MappedCall) -> Any:
    """`x[..., i, :, j]` with a tensor of sample numbers in front, where one mask or index is another's for each sample."""
    picks, slots = call.arrays[1:], call.attrs["slots"]
    if any(p.dtype.kind == "b" for p in picks):
        return NotImplemented
    extra = {"shape": (call.size, *call.attrs["shape"])} if "shape" in call.attrs else {}
    if not any(call.mapped[1:]):
        return _index_shared(call, slots, extra)
    if slots[0] != 1 or 0 in slots[: sum(slots)]:
        return NotImplemented  # the picked dims would not stand first
    ndim = max(p.ndim for p in picks)
    held = call.aligned_from(1, ndim)
    return call.run(call.whole(0), _first_places(call, ndim), *held, slots=(1, *slots), **extra)


def _index_shared(call: MappedCall, slots: tuple, extra: dict[str, Any]) -> Any:
    at = [d for d, taken in enumerate(slots) if taken]
    if at[-1] - at[0] != len(at) - 1:
        return NotImplemented  # apart, the picked dims go to the front, before the samples
    return call.run(*call.held, slots=(0, *slots), **extra)


@rule("embedding")
def _embedding(call: MappedCall) -> Any:
    return NotImplemented if call.mapped[0] else call.run(*call.held)


@rule("searchsorted")
def _searchsorted(call: MappedCall) -> Any:
    seq, values = call.arrays[:2]
    if not call.mapped[0]:
        return call.run(*call.held) if seq.ndim == 1 else NotImplemented
    if seq.ndim == 1:
        flat = reshaped(call.whole(1), (call.size, values.size))
        return reshaped(call.run(call.held[0], flat), (call.size, *values.shape))
    return call.run(*call.all_whole())


# Tests of operators/ that look at each element by itself.
_OF_ELEMENTS = frozenset(("_within", "below", "between_zero_and_one"))


@rule("check")
def _check(call: MappedCall) -> Any:
    if call.attrs["test"].__name__ in _OF_ELEMENTS:
        call.run(*call.held)
    else:
        for i in range(call.size):
            call.run(*call.sample(i))
    return ()
