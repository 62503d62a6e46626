"""Functions that autocast casts as a whole: their arguments first, and nothing inside.

PyTorch decides at the function that a user calls. Ops are cast one by one (autocast.py, lists.py), which is the same
for functions of one op; for those that check dtypes or consist of several ops it is not. They are redirected when
the first autocast block is entered, and cost nothing before.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..base import dtypes
from ..base.shapes import as_size
from ..core.public import NAMESPACES, when_published
from ..core.redirecting import redirect
from ..core.tensor import Tensor
from ..operators.memory.casting import cast_to
from ..runtime import devices
from ..runtime.thread import CASTING, here, swap
from .lists import AS_STATE, FLOAT32, HALF, LOW_PRECISION, LOW_RESULT, PLAIN, WIDEST

_LOSSES = (
    "cosine_embedding_loss hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss "
    "multi_margin_loss multilabel_margin_loss poisson_nll_loss soft_margin_loss "
    "triplet_margin_loss binary_cross_entropy_with_logits cross_entropy"
)
_PRODUCTS = (
    "conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d prelu scaled_dot_product_attention addmm addbmm "
    "baddbmm matmul mm bmm linalg.vecdot"
)
# Device type -> policy -> names as PyTorch's lists have them; linalg. and fft. are namespaces.
_TABLE = {
    "cpu": {
        LOW_PRECISION: _PRODUCTS,
        FLOAT32: f"{_LOSSES} ctc_loss binary_cross_entropy grid_sample polar prod quantile nanquantile stft cdist trace "
        "view_as_complex cholesky cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr pinverse geqrf qr svd "
        "triangular_solve avg_pool3d max_pool3d max_unpool1d max_unpool2d max_unpool3d adaptive_avg_pool3d "
        "adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices "
        "fractional_max_pool3d_with_indices pad local_response_norm lp_pool3d "
        "linalg.cond linalg.matrix_rank linalg.solve linalg.cholesky linalg.cholesky_ex linalg.svd linalg.svdvals "
        "linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.inv_ex linalg.householder_product "
        "linalg.tensorinv linalg.tensorsolve linalg.qr linalg.lstsq "
        "fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfft2 fft.irfft2 fft.rfftn "
        "fft.irfftn fft.hfft fft.ihfft",
        WIDEST: "index_copy",
        PLAIN: "convolution bilinear linalg.lu_solve",
        LOW_RESULT: "linalg.pinv",
        AS_STATE: "gru gru_cell lstm_cell",
    },
    "cuda": {
        LOW_PRECISION: f"{_PRODUCTS} mv addmv addr einsum chain_matmul linalg.multi_dot lstm_cell gru_cell rnn_tanh_cell "
        "rnn_relu_cell convolution",
        FLOAT32: f"{_LOSSES} multilabel_soft_margin_loss group_norm cosine_similarity normalize dist pdist cdist renorm "
        "logsumexp interpolate square sum_to_size mvlgamma matrix_exp linalg.matrix_exp special.multigammaln __rtruediv__",
        WIDEST: "bilinear dot vdot grid_sample tensordot index_copy scatter_add index_put",
        PLAIN: "linalg.lstsq linalg.lu_solve lu_solve",
        LOW_RESULT: "linalg.pinv pinverse",
        HALF: "lstm gru rnn_tanh rnn_relu",  # as PyTorch gives them to cuDNN
    },
}
_PLACES = ("torch", "functional", "Tensor")


def _by_name() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for device_type, lists in _TABLE.items():
        for policy, names in lists.items():
            for name in names.split():
                found.setdefault(name, {})[device_type] = policy
    return found


POLICIES = _by_name()
_done: set[FunctionType] = set()  # those that were redirected, for good


def start() -> None:
    """Redirect the functions of the table, those of now and those that are loaded later."""
    if _meet in when_published:
        return
    when_published.append(_meet)
    for place in list(NAMESPACES):
        for name, fn in list(NAMESPACES[place].items()):
            _meet(place, name, fn)


def _meet(place: str, name: str, fn: Any) -> None:
    label = name if place in _PLACES else f"{place}.{name}"
    policy = POLICIES.get(label)
    if policy is None or not isinstance(fn, FunctionType) or fn in _done:
        return
    _done.add(fn)

    def run(original: Callable, args: tuple, kwargs: dict) -> Any:
        if not here.state & CASTING:
            return original(*args, **kwargs)
        if kwargs.get("out") is not None:  # PyTorch casts no function that writes into its argument
            return _run_uncast(original, args, kwargs)
        return _cast_and_run(label, policy, original, args, kwargs)

    redirect(fn, run)


def _cast_and_run(label: str, policy: dict[str, int], original: Callable, args: tuple, kwargs: dict) -> Any:
    casts = here.casts
    tensors = list(_tensors((*args, *kwargs.values()) if kwargs else args))
    place = devices.device_of(tensors[0]._a).type if tensors else None
    want = policy.get(place) if place is not None and casts.enabled.get(place) else None
    if want is None or _is_exempt(label, args, kwargs):
        return original(*args, **kwargs)
    if want == PLAIN:
        return _run_uncast(original, args, kwargs)
    if want == LOW_RESULT:
        return cast_to(_run_uncast(original, args, kwargs), casts.dtype[place])
    weighted = label in ("mse_loss", "l1_loss") and kwargs.get("weight") is not None
    if want == LOW_PRECISION and all(t.dtype is casts.dtype[place] for t in tensors):
        return _run_uncast(original, args, kwargs)  # what others cast in front of it is mostly so
    cast = None if weighted and place == "cpu" else _caster(casts, want, place, tensors)
    if cast is not None:
        args = tuple([_each(a, cast) for a in args])
        kwargs = {k: _each(a, cast) for k, a in kwargs.items()}
    return _run_uncast(original, args, kwargs)


def _run_uncast(original: Callable, args: tuple, kwargs: dict) -> Any:
    before = swap(CASTING, 0)
    try:
        return original(*args, **kwargs)
    finally:
        swap(CASTING, before)


def _caster(casts: Any, want: int, place: Any, tensors: list[Tensor]) -> Any:
    """What is done to each floating tensor; None where they stay as they are."""
    if want == AS_STATE:
        return _as_state(tensors)
    if want == HALF:
        return lambda t: casts.low(t, dtypes.float16)
    if want == LOW_PRECISION:
        return lambda t: casts.low(t, casts.dtype[place])
    if want == WIDEST:
        kinds = {t.dtype for t in tensors}
        if len(kinds) < 2 or dtypes.float64 in kinds:
            return None
        return lambda t: cast_to(t, dtypes.float32)
    halves = (dtypes.float16, dtypes.bfloat16)
    return lambda t: cast_to(t, dtypes.float32) if t.dtype in halves else t


def _as_state(tensors: list[Tensor]) -> Callable:
    """The last state decides: products are of low precision in PyTorch, but what they are added to is not."""
    state = next((t for t in reversed(tensors[1:3]) if t._a.shape == tensors[1]._a.shape), tensors[1])
    return lambda t: cast_to(t, state.dtype)


# The arguments that `_is_exempt` asks for, with those before them.
_ARGUMENTS = {
    "cross_entropy": "input target weight size_average ignore_index reduce reduction label_smoothing".split(),
    "interpolate": "input size scale_factor mode".split(),
    "local_response_norm": ["input"],
    "max_pool3d": "input kernel_size stride padding dilation ceil_mode return_indices".split(),
    "pad": "input pad mode".split(),
}


def _is_exempt(label: str, args: tuple, kwargs: dict) -> bool:
    """Forms of a function that PyTorch computes by others, which are in no list."""
    if label == "sum_to_size":  # a tensor that has the size is returned as it is
        return as_size(args[1:] or (kwargs["size"],)) == args[0]._a.shape
    if label not in _ARGUMENTS:
        return False
    given = {**dict(zip(_ARGUMENTS[label], args)), **kwargs}
    if label == "interpolate":
        return given.get("mode", "nearest") == "area"
    if label == "pad":
        mode, pad = given.get("mode", "constant"), given.get("pad", ())
        return mode not in ("reflect", "replicate") or (mode == "reflect" and len(pad) == 6)
    if label == "cross_entropy":  # of class numbers it is one op, which widens halves by itself
        return not _is_float(given.get("target")) and not given.get("label_smoothing", 0.0)
    if label == "local_response_norm":
        return given["input"]._a.ndim == 3
    return bool(given.get("return_indices", False))


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value._a.dtype.kind in "fV"


def _tensors(values: Any) -> Any:
    for value in values:
        if _is_float(value):
            yield value
        elif value.__class__ in (list, tuple):
            yield from _tensors(value)


def _each(value: Any, cast: Callable) -> Any:
    if _is_float(value):
        return cast(value)
    if value.__class__ in (list, tuple):
        return value.__class__([_each(v, cast) for v in value])
    return value
