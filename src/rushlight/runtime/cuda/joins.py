"""What CUDA says about kernels that passes make: which fit, which pay, what is fused and how images lie best.

Nothing here needs a GPU or CuPy: programs are rewritten for one wherever they were recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...base.arrays import InstructionLike, Shaped, SlotLike
from ..joins import declare
from .bodies.layers.flash_cuts import fits as attention_fits
from .code.expressions import expression_of
from .costs import figures, gathering_saves, moving, of_row_sums, saves, traffic
from .small import conv_sizes, dense_sizes, head_sizes
from .small.conv_costs import forward_pays, weight_pays

_LIBRARY_TYPES = frozenset(("float32", "float16", "bfloat16"))
_FLOATS = frozenset(("float64", *_LIBRARY_TYPES))


def _arrays(ins: InstructionLike) -> list[Any]:
    return [i for i in ins.inputs if hasattr(i, "dtype") and hasattr(i, "strides")]


def _one_type(ins: InstructionLike, types: frozenset[str] = _LIBRARY_TYPES) -> bool:
    kinds = {s.dtype.name for s in _arrays(ins) if s.dtype.kind in "fV"}
    return len(kinds) == 1 and kinds <= types


# -- dense layers ---------------------------------------------------------------------------------


def _product(ins: InstructionLike, form: str) -> tuple[int, int, int, str] | None:
    """(rows, columns, terms, dtype) of the product in an instruction whose first inputs are its operands."""
    x, y = ins.inputs[:2]
    if x.dtype != y.dtype or x.dtype.name not in _LIBRARY_TYPES or len(y.shape) != 2:
        return None
    rows = prod(x.shape[:-1])
    if not x.size or not y.size:
        return None
    if form == "tn":
        return x.shape[1], y.shape[1], rows, x.dtype.char
    return rows, y.shape[0 if form == "nt" else 1], x.shape[-1], x.dtype.char


def _own(ins: InstructionLike, form: str) -> bool:
    """Whether one of our kernels computes a product; they take plain matrices without gaps."""
    sizes = _product(ins, form)
    plain = sizes is not None and all(len(s.shape) == 2 and s.dense for s in ins.inputs[:2])
    return plain and dense_sizes.is_small(*sizes)  # type: ignore[misc]


def _linear_relu_pays(made: InstructionLike, parts: Sequence[InstructionLike]) -> bool:
    """Our kernels give relu for nothing; the library's epilogue costs a little."""
    return _own(made, "nt") or figures().epilogue < moving(2 * made.outputs[0].nbytes)


def _grads_pay(made: InstructionLike, parts: Sequence[InstructionLike]) -> bool:
    g = made.inputs[0]
    return _own(made, "tn") or figures().bias_sums < of_row_sums(g.shape[0], g.nbytes)


def _all_dense(made: InstructionLike) -> bool:
    return all(s.dense for s in _arrays(made))


def _backward_fits(made: InstructionLike) -> bool:
    g, _, w = made.inputs[:3]
    if len(g.shape) != 2 or not _one_type(made) or not _all_dense(made):
        return False
    return dense_sizes.is_few_back(g.shape[0], g.shape[1], w.shape[1], g.dtype.char)


declare(
    "cuda", "linear_relu", pays=_linear_relu_pays,
    fits=lambda made: made.inputs[2] is not None and _product(made, "nt") is not None,
)  # fmt: skip
declare(
    "cuda", "linear_gelu",
    fits=lambda made: made.inputs[2] is not None and _product(made, "nt") is not None,
    pays=lambda made, parts: not _own(made, "nt") and _linear_relu_pays(made, parts),
)  # fmt: skip
declare("cuda", "mm_masked", fits=lambda made: _own(made, "nn") and _all_dense(made))
declare(
    "cuda", "linear_grads", pays=_grads_pay, fits=lambda made: _product(made, "tn") is not None and _all_dense(made)
)
declare("cuda", "linear_backward", fits=_backward_fits)


def _are_many_rows(g: Shaped) -> bool:
    """So many that the library does not add them up on its way, and of whole packs."""
    many = g.nbytes >= _LARGE_ROWS and g.size // g.shape[-1] >= _MANY_ROWS
    return many and g.shape[-1] % 8 == 0


def _sums_fit(made: InstructionLike) -> bool:
    return _are_many_rows(made.inputs[0]) and _one_type(made) and _all_dense(made)


_LARGE_ROWS, _MANY_ROWS = 1 << 22, 1024
declare("cuda", "gelu_grad_sums", fits=_sums_fit)
declare("cuda", "mm_tn")  # what is left of a layer's gradients

# -- losses and heads -----------------------------------------------------------------------------

_MOST_CLASSES, _MOST_ROWS = 2047, 8192  # of the kernel that gives loss and gradient at once
_LABELS = frozenset(("int64", "uint8"))
_LARGE = 32 << 20  # bytes of a gradient that are worth to be saved


def _loss_fits(made: InstructionLike) -> bool:
    x, _, gy = made.inputs
    sizes = len(x.shape) == 2 and x.shape[0] <= _MOST_ROWS and x.shape[1] <= _MOST_CLASSES
    of_loss = gy.dtype == x.dtype or (x.dtype.itemsize == 2 and gy.dtype.name == "float32")
    return sizes and of_loss and _all_dense(made)


def _head_sizes(made: InstructionLike) -> tuple[int, int, int, str]:
    x, w = made.inputs[:2]
    return x.shape[0], w.shape[0], x.shape[-1], x.dtype.char


def _head_fits(made: InstructionLike) -> bool:
    """Of one dtype, dense, and as aligned as slots can tell."""
    x, w, b, target, gy, mask = made.inputs
    if len(x.shape) != 2 or target.dtype.name not in _LABELS or not _all_dense(made):
        return False
    if any(s is not None and s.dtype != x.dtype for s in (w, b, gy, mask)):
        return False
    sizes = _head_sizes(made)
    whole = made.name != "head_whole" or head_sizes.is_whole_head(*sizes)
    aligned = all(s is None or s.offset % 16 == 0 for s in (x, w, mask))
    return whole and aligned and head_sizes.is_joined_head(*sizes)


declare("cuda", "cross_entropy_step", fits=_loss_fits)
declare("cuda", "cross_entropy_fused", "cross_entropy_grad")  # of logits as they are, without a cast
declare(  # it saves memory, no time
    "cuda", "cross_entropy_grad_over", fits=lambda made: made.inputs[1].nbytes >= _LARGE
)
declare("cuda", "head_step", "head_whole", fits=_head_fits)

# -- convolutions ---------------------------------------------------------------------------------


def _conv_shape(made: InstructionLike) -> conv_sizes.ConvShape | None:
    """The convolution in an instruction, forward or one of its gradients; None where our kernels cannot compute it."""
    how = made.attrs
    if not _one_type(made):
        return None
    if "x_shape" in how:  # the gradient of the input
        g, w = made.inputs[0], made.inputs[-1]
        x_shape, w_shape, y = how["x_shape"], w.shape, how.get("y_shape", g.shape)
    elif "w_shape" in how:
        x_shape, w_shape = made.inputs[-1].shape, how["w_shape"]
        y = how.get("y_shape", made.inputs[0].shape)
    else:
        x_shape, w_shape, y = made.inputs[0].shape, made.inputs[1].shape, None
    kind = made.inputs[0].dtype
    if not conv_sizes.fits(kind, prod(x_shape), w_shape, how["dilation"], how["groups"]):
        return None
    place = how["stride"], how["padding"]
    if y is None:
        sizes = zip(x_shape[2:], w_shape[2:], *place)
        y = (0, 0, *[(n + 2 * p - k) // s + 1 for n, k, s, p in sizes])
    out = y[2:]
    if "window" in how:  # only whole windows have a part in the result
        out = tuple([n // k * k for n, k in zip(out, how["window"])])
    if "x_shape" in how:
        return conv_sizes.input_shape(x_shape, w_shape, (x_shape[0], w_shape[0], *out), *place)
    return conv_sizes.forward_shape(x_shape, w_shape, out, *place)


_MOST_IN_WINDOW = 16  # a maximum's place is found in a register
_POOLED = 2  # how a gradient of maxima lies: FROM in conv_small.cu


def _is_small_conv(made: InstructionLike) -> bool:
    """Whether the body of a convolution takes our own kernel for it."""
    shape = _conv_shape(made)
    if shape is None:
        return False
    return weight_pays(shape) if "w_shape" in made.attrs else forward_pays(shape)


def _conv_pool_fits(made: InstructionLike) -> bool:
    kh, kw = made.attrs["window"]
    return 1 < kh * kw <= _MOST_IN_WINDOW and _conv_shape(made) is not None


def _beside(parts: Iterable[InstructionLike], *names: str) -> float:
    """What the parts of these names cost."""
    return round(sum(moving(traffic(p)) for p in parts if p.name in names), 1)


def _conv_pool_pays(made: InstructionLike, parts: Sequence[InstructionLike]) -> bool:
    shape, window = _conv_shape(made), made.attrs["window"]
    return shape is not None and forward_pays(shape, window, beside=_beside(parts, "max_pool", "relu"))


def _pooled_grad_pays(made: InstructionLike, parts: Sequence[InstructionLike]) -> bool:
    """Each gradient saves its share of spreading the maxima's gradient over their windows."""
    shape, window = _conv_shape(made), made.attrs["window"]
    if shape is None:
        return False
    shares = sum(p.name in ("conv_grad_input", "conv_grad_weight") for p in parts)
    beside = round(_beside(parts, "max_pool_grad", "relu_grad") / max(1, shares), 1)
    if "w_shape" in made.attrs:
        return weight_pays(shape, window, beside + _beside(parts, "sum"))
    return forward_pays(shape, source=_POOLED, beside=beside)


def _conv_relu_fits(made: InstructionLike) -> bool:
    """What cuDNN computes: smaller ones have kernels of our own, joined with other neighbours."""
    return made.inputs[2] is not None and _one_type(made) and not _is_small_conv(made)


declare("cuda", "conv_relu", fits=_conv_relu_fits, pays=saves)
declare("cuda", "conv_pool", fits=_conv_pool_fits, pays=_conv_pool_pays)
declare(
    "cuda", "conv_pool_grad_input", "conv_pool_grads", pays=_pooled_grad_pays,
    fits=lambda made: _conv_shape(made) is not None,
)  # fmt: skip
declare("cuda", "conv_grads", fits=_is_small_conv, pays=saves)


def channels_last_pays(x: SlotLike, w_shape: tuple[int, ...], y_shape: tuple[int, ...]) -> bool:
    """Whether a convolution gains more in channels_last order than turning its images costs."""
    if x.dtype.name not in ("float16", "bfloat16"):  # TF32: whether it gains has not been measured
        return False
    if max(w_shape[:2]) < 32:  # narrower than a tensor core's tile
        return False
    work, f = prod(y_shape) * prod(w_shape[1:]), figures()
    turning = 2 * (x.nbytes + prod(y_shape) * x.dtype.itemsize)
    return work / f.row_major - work / f.channels_last > moving(turning) + f.launch


# -- norms ----------------------------------------------------------------------------------------

declare(
    "cuda", "batch_norm_relu", "batch_norm_add_relu", "batch_norm_eval_relu",
    "batch_norm_eval_add_relu", "batch_norm_relu_grad", "batch_norm_add_relu_grad",
    fits=lambda made: made.outputs[0].dtype.name in _FLOATS, pays=saves,
)  # fmt: skip


def _residual_fits(made: InstructionLike) -> bool:
    """Both arrays of one float dtype; statistics and weights have their own."""
    a, b = made.inputs[:2]
    return a.dtype == b.dtype and a.dtype.name in _FLOATS and made.outputs[0].size > 0


declare(
    "cuda", "add_layer_norm", "add_rms_norm", "layer_norm_grad_add", "rms_norm_grad_add",
    fits=_residual_fits, pays=saves,
)  # fmt: skip


def _group_fits(made: InstructionLike) -> bool:
    *images, weight, bias = made.inputs[: 4 if made.name.endswith("grad") else 3]
    alike = len({s.dtype for s in images}) == 1 and weight.dtype == bias.dtype
    dense = all(s.dense for s in (*_arrays(made), *made.outputs))
    return alike and dense and images[0].dtype.name in _FLOATS and made.outputs[0].size > 0


declare("cuda", "group_norm_silu", "group_norm_silu_grad", fits=_group_fits, pays=saves)


def _mixed_fits(made: InstructionLike) -> bool:
    """Halves beside float32, all of them dense."""
    return made.outputs[0].size > 0 and all(a.dense for a in _arrays(made))


declare(
    "cuda", "layer_norm_mixed", "rms_norm_mixed", "layer_norm_grad_mixed", "rms_norm_grad_mixed",
    fits=_mixed_fits, pays=saves,
)  # fmt: skip


def _summed_fits(made: InstructionLike) -> bool:
    return _mixed_fits(made) and _are_many_rows(made.inputs[0])


declare("cuda", "layer_norm_grad_summed", "rms_norm_grad_summed", fits=_summed_fits)


def _grads_lie_beside(made: InstructionLike) -> bool:
    """Self-attention whose kernel writes every head's rows at multiples of 16 bytes."""
    _, q, k, v = made.inputs[:4]
    if any(a.shape[:3] != q.shape[:3] for a in (k, v)):
        return False
    if q.dtype.name == "float32":
        return attention_fits(q.shape[-1], v.shape[-1])
    halves = q.dtype.name in ("float16", "bfloat16") and made.name == "attention_grad_cat"
    return halves and all(a.shape[-1] % 8 == 0 for a in (q, v))


declare("cuda", "attention_grad_cat", fits=_grads_lie_beside, pays=saves)
declare("cuda", "masked_attention_grad_cat", fits=_grads_lie_beside, pays=saves)

# -- embeddings -----------------------------------------------------------------------------------

declare(
    "cuda", "embedding_add", pays=saves,
    fits=lambda made: made.inputs[1].dtype.name in ("int64", "int32") and made.inputs[2].dense,
)  # fmt: skip
declare(
    "cuda", "embedding_grad_add", pays=saves,
    fits=lambda made: made.inputs[1].dtype.name in ("int64", "int32") and made.inputs[2].dense and made.outputs[0].dense,
)  # fmt: skip


def _rotary_fits(made: InstructionLike) -> bool:
    x = made.inputs[0]
    apart = any(a.strides[-1] != a.dtype.itemsize for a in made.inputs)
    return _one_type(made, _FLOATS) and len(x.shape) <= 4 and x.size > 0 and not apart


declare("cuda", "rotary", fits=_rotary_fits, pays=saves)

# -- casts ----------------------------------------------------------------------------------------

declare("cuda", "casts", pays=gathering_saves)

# -- chains of pointwise kernels ------------------------------------------------------------------

MOST_INPUTS, MOST_STEPS = 8, 24  # registers of a generated kernel
ROUNDS_ONCE = True  # a chain at its end, unless it is told what to keep of each step
_WIDE = {"float16": "f", "bfloat16": "f", "float32": "f", "float64": "d", "bool": "b"}


def fusion() -> Callable[[Any], bool]:
    """What tells whether an instruction can be a step of a generated kernel."""
    return fuses


def is_pointwise(ins: Any) -> bool:
    """Whether an instruction is a pointwise op with a CUDA text, in whatever dtype."""
    return expression_of(ins.name, ins.attrs) is not None


def fuses(ins: Any) -> bool:
    """Whether an instruction can be a step of a generated kernel: an expression over floats with one result."""
    e = expression_of(ins.name, ins.attrs)
    if e is None or "f" not in e.text or e.out not in ("same", "bool") or ins.has_effect:
        return False
    if len(ins.outputs) != 1 or ins.is_view or len(ins.inputs) != len(e.inputs):
        return False
    if any(a.partition(":")[0] not in ins.attrs for a in e.attrs):
        return False
    if ins.name == "pow" and _rounds_its_power(*ins.inputs):
        return False
    arrays = _arrays(ins)
    if not all(i in arrays or _is_number(i) for i in ins.inputs):
        return False
    main = ins.inputs[e.main]
    if hasattr(main, "strides") and width(main) not in "fd":
        return False
    kinds = {width(s) for s in (*arrays, *ins.outputs)}
    return kinds <= {"f", "b"} or kinds <= {"d", "b"}


def keeps_bits(ins: Any) -> bool:
    """Whether a step of a chain that is told what to keep computes what the kernel of its own computes."""
    return ins.name != "pow"  # its kernel has other ways for some powers: see bodies/pointwise.py


def laid_out(inputs: list[Any], out: Any) -> list[Any] | None:
    """The inputs of a chain in an order in which its result lies as that of its last step does; None if there is none.

    The first whole input decides (`layout_like`). Who draws random numbers, or looks at strides, knows the difference.
    """
    whole = [a for a in inputs if a.shape == out.shape and not _is_expanded(a)]
    if not whole:
        return inputs if _lies_by(range(len(out.shape)), out) else None
    for a in whole:
        dims = sorted(range(len(a.shape)), key=lambda i: (-abs(a.strides[i]), i))
        if _lies_by(dims, out):
            return [a, *[b for b in inputs if b is not a]]
    return None


def _is_expanded(a: Any) -> bool:
    return any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape))


def _lies_by(dims: Any, a: Any) -> bool:
    """Whether an array without gaps has its dims in memory in this order, slowest first."""
    step = a.dtype.itemsize
    for d in reversed(list(dims)):
        if a.shape[d] > 1 and a.strides[d] != step:
            return False
        step *= a.shape[d]
    return True


def _rounds_its_power(x: Any, y: Any) -> bool:
    """Whether half precision is raised to a number that it cannot hold: the kernel alone rounds it first."""
    if hasattr(y, "strides") or not hasattr(x, "strides") or x.dtype.itemsize != 2:
        return False
    return float(x.dtype.type(y)) != y


def _is_number(value: object) -> bool:
    """Python's numbers, and NumPy's: what a Python number becomes beside bfloat16."""
    return isinstance(value, (int, float, np.generic)) and not isinstance(value, complex)


def width(s: Shaped) -> str:
    """The numbers that a generated kernel computes with for an array."""
    return _WIDE.get(s.dtype.name, "?")


# -- pointwise steps and reductions along rows ------------------------------------------------------

MOST_ROW_INPUTS, MOST_ROW_STEPS = 24, 64
_LEAST_COLUMNS, _MOST_COLUMNS = 16, 8192
_REGISTERS = 128  # of a thread for the numbers of its row; the compiler needs fewer, since not all live at once
_MOST_HELD, _MOST_TEAM, _WARP = 16, 1024, 32


def row_step(ins: Any) -> bool:
    """Whether an instruction can be a pointwise step of a row group; a mask may become numbers there."""
    if fuses(ins):
        return True
    if ins.name != "cast" or ins.has_effect or ins.is_view or len(_arrays(ins)) != 1:
        return False
    return width(ins.inputs[0]) == "b" and width(ins.outputs[0]) in "fd"


def row_reduction(ins: Any) -> bool:
    """Whether an instruction can be a reduction of a row group, as far as its dtypes matter."""
    x, y = ins.inputs[0], ins.outputs[0]
    return width(x) in "fd" and x.dtype == y.dtype


def row_columns(columns: int) -> bool:
    """Whether rows of so many numbers fit the registers of the threads that share one, and keep a warp busy."""
    return _LEAST_COLUMNS <= columns <= _MOST_COLUMNS


def row_team(columns: int, full: int) -> tuple[int, int]:
    """How many threads share a row, and how many numbers of it each holds, for `full` values of a row's size."""
    most = max(min(_MOST_HELD, _REGISTERS // max(full, 1)), 1)
    team = _WARP
    while team < _MOST_TEAM and -(-columns // team) > most:
        team *= 2
    return team, -(-columns // team)


def packed(steps: tuple) -> bytes:
    """A GPU's kernel is generated from the steps themselves."""
    return b""
