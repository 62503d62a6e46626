"""Matrix products on the GPU: mm, bmm and linear over cuBLASLt, operands used where they lie."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.config import settings
from ....base.shapes import broadcast_shapes
from ...door import kernel_for
from ..code.variants import compute
from ..library.cublaslt import REALS, TF32, TYPES, Matrix, Product, ProductPlan, is_capturing, library
from ..library.measuring import are_measured
from ..small import dense
from ..small.dense_sizes import is_few_back, is_head_input, is_tiled
from .fills import copied, row_major
from .pointwise import add_into
from .reduce import reduce

# cuBLASLt counts columns first. A row-major product out = x y is its out' = y' x', so operand A is y and
# operand B is x; a matrix whose rows are dense is "not transposed" there.

_TUNE_FROM = 1 << 24  # multiply-adds below which measuring candidates does not pay
# Multiply-adds from which a launch more costs less than the library's epilogue.
_APART_FROM = 1 << 30


def _seen(shape: tuple, strides: tuple, dtype: np.dtype, flip: bool) -> Matrix | None:
    """A matrix (or its conjugate transpose) as an operand; None when it has to be copied first."""
    itemsize, turned = dtype.itemsize, flip and dtype.kind == "c"
    rows, columns = shape[-2:]
    down, across = strides[-2] // itemsize, strides[-1] // itemsize
    if flip:
        rows, columns, down, across = columns, rows, across, down
    step = strides[0] // itemsize if len(shape) == 3 and shape[0] > 1 else 0
    if (across == 1 or columns == 1) and (down >= columns or rows == 1) and not turned:
        ld = down if rows > 1 else columns
        return Matrix(columns, rows, max(ld, columns, 1), 0, step)
    if (down == 1 or rows == 1) and (across >= rows or columns == 1):
        ld = across if columns > 1 else rows
        return Matrix(rows, columns, max(ld, rows, 1), 2 if turned else 1, step)
    return None


class _Recipe:
    """What a call needs once its shapes are known."""

    __slots__ = ("shape", "plan", "copy_x", "copy_y", "fill_bias", "untuned")

    copy_x: bool
    copy_y: bool
    fill_bias: bool  # the bias is written to the result first, and the product added
    plan: ProductPlan | None  # None where the library cannot give the sums that "bgrad" asks for
    shape: tuple[int, ...]
    untuned: bool


def _recipe(
    x: DeviceArray | _Flat,
    y: DeviceArray | _Flat,
    flip_x: bool,
    flip_y: bool,
    bias: DeviceArray | None,
    epilogue: str,
    alignment: int,
    wide: bool,
) -> _Recipe:
    made = _Recipe()
    size, dtype = x.itemsize, x.dtype
    left = _seen(x.shape, x.strides, dtype, flip_x)
    right = _seen(y.shape, y.strides, dtype, flip_y)
    made.copy_x, made.copy_y = left is None, right is None
    if left is None:
        left = _seen(x.shape, _dense(x.shape, size), dtype, flip_x)
    if right is None:
        right = _seen(y.shape, _dense(y.shape, size), dtype, flip_y)
    rows = x.shape[-1] if flip_x else x.shape[-2]
    columns = y.shape[-2] if flip_y else y.shape[-1]
    batch = max(x.shape[0], y.shape[0]) if x.ndim == 3 else 1
    made.shape = (rows, columns) if x.ndim == 2 else (batch, rows, columns)
    char = x.dtype.char
    compute = TYPES[char][1]
    if char == "f" and settings.float32_matmul_precision != "highest":
        compute = TF32
    assert left is not None and right is not None  # a dense matrix always can be an operand
    what = Product(right, left, columns, rows, batch, char, compute, epilogue, alignment or 256, wide)
    made.plan, made.fill_bias = _plan(what, bias)
    inner = x.shape[-2] if flip_x else x.shape[-1]
    made.untuned = are_measured() and rows * columns * batch * inner >= _TUNE_FROM
    return made


class _Flat:
    """How an array lies as a matrix whose rows are its last dim."""

    __slots__ = ("dtype", "itemsize", "ndim", "shape", "strides")

    def __init__(self, a: DeviceArray) -> None:
        self.dtype, self.itemsize, self.ndim = a.dtype, a.itemsize, 2
        *lead, last = a.shape
        steps, self.shape = a.strides, (prod(lead), last)
        pairs = [(s, step) for s, step in zip(lead, steps) if s != 1]
        follow = all(a[1] == b[0] * b[1] for a, b in pairwise(pairs))
        down = pairs[-1][1] if pairs else last * a.itemsize
        # what does not follow is not a matrix: steps that `_seen` refuses, so that it is copied
        self.strides = (down, steps[-1]) if follow else (0, 0)


def _plan(what: Product, bias: DeviceArray | None) -> tuple[ProductPlan | None, bool]:
    lib = library()
    plan = lib.make(what, 0 if bias is None else bias.data.ptr)
    if plan is not None:
        return plan, False
    if bias is not None and what.epilogue == "bias":  # float64: the bias goes in first, then + product
        plan = lib.make(what._replace(epilogue=""), 0, accumulate=True)
        if plan is not None:
            return plan, True
    if what.epilogue == "bgrad":
        return None, False
    raise RuntimeError(f"cuBLASLt has no algorithm for {what}")


def _dense(shape: tuple, itemsize: int) -> tuple:
    strides = [itemsize]
    for s in reversed(shape[1:]):
        strides.append(strides[-1] * s)
    return tuple(reversed(strides))


def product(
    x: DeviceArray,
    y: DeviceArray,
    flip_x: bool,
    flip_y: bool,
    bias: DeviceArray | None = None,
    epilogue: str = "",
    extra: DeviceArray | None = None,
    wide: bool = False,
    flat: bool = False,
) -> Any:
    """`x y` of matrices or equal batches of them, either one transposed; `bias` is added to rows.

    A `wide` product of halves is float32. In a `flat` one, x and y of more dims are matrices whose rows are their
    last dims; where x is not transposed, the result has its other dims.

    `extra` is where a "bgrad" epilogue writes the sums of x over its inner dim; None is the answer where
    the library has no kernel for that.
    """
    px, py = x.data.ptr, y.data.ptr
    vector = bias if extra is None else extra
    pb = 0 if vector is None else vector.data.ptr
    low = (px | py | pb) & 255
    lib = library()
    plans = lib.plans
    key = (flip_x, flip_y, x.shape, x.strides, y.shape, y.strides, x.dtype.char, epilogue,
           settings.float32_matmul_precision, low & -low, wide, flat, are_measured())  # fmt: skip
    recipe = plans.get(key)
    if recipe is None:
        seen: tuple[Any, Any] = (_Flat(x), _Flat(y)) if flat else (x, y)
        recipe = plans[key] = _recipe(*seen, flip_x, flip_y, vector, epilogue, low & -low, wide)
        if flat and not flip_x:
            recipe.shape = (*x.shape[:-1], recipe.shape[-1])
    if recipe.plan is None:
        return None
    if recipe.copy_x:
        x = copied(x)
        px = x.data.ptr
    if recipe.copy_y:
        y = copied(y)
        py = y.data.ptr
    out = cupy.ndarray(recipe.shape, np.float32 if wide else x.dtype)
    if recipe.fill_bias:
        out[...] = bias
        pb = 0
    if recipe.untuned and not is_capturing():
        recipe.untuned = False
        if not recipe.fill_bias:
            lib.tune(recipe.plan, py, px, out.data.ptr, pb)
    lib.launch(recipe.plan, py, px, out.data.ptr, pb)
    return out


def multiplies(x: DeviceArray, y: DeviceArray) -> bool:
    """Whether the library makes products of these."""
    return x.dtype.char in TYPES and x.size > 0 and y.size > 0 and x.dtype == y.dtype


def _takes(x: DeviceArray, y: DeviceArray) -> bool:
    """Whether they are those of a layer, which are real."""
    return x.dtype.char in REALS and multiplies(x, y)


def plain_product(x: DeviceArray, y: DeviceArray) -> Any:
    """`x @ y` of matrices or equal batches of them; None for everything else."""
    if x.ndim != y.ndim or x.ndim < 2 or not multiplies(x, y):
        return None
    if x.shape[-1] != y.shape[-2] or x.shape[:-2] != y.shape[:-2]:
        return None
    return product(x, y, False, False) if x.ndim < 4 else _of_batches(x, y, False, False)


def _register(name: str, flip_x: bool, flip_y: bool) -> None:
    form = "tn" if flip_x else "nt" if flip_y else "nn"

    @kernel_for("cuda", name)
    def mm(x: DeviceArray, y: DeviceArray) -> Any:
        if x.dtype.char not in TYPES or not x.size or not y.size:
            return NotImplemented
        a, b = x.shape, y.shape
        m, k = (a[1], a[0]) if flip_x else a
        out = dense.product(form, x, y, m, b[0] if flip_y else b[1], k)
        return product(x, y, flip_x, flip_y) if out is None else out

    @kernel_for("cuda", "b" + name)
    def bmm(x: DeviceArray, y: DeviceArray) -> Any:
        if not multiplies(x, y):
            return NotImplemented
        lead = (x.shape[0], y.shape[0])
        if x.ndim == 3 and y.ndim == 3 and (lead[0] == lead[1] or 1 in lead):
            return product(x, y, flip_x, flip_y)
        return _of_batches(x, y, flip_x, flip_y)


def _of_batches(x: DeviceArray, y: DeviceArray, flip_x: bool, flip_y: bool) -> Any:
    """Any number of leading dims: they are laid side by side in one."""
    lead_x, lead_y = x.shape[:-2], y.shape[:-2]
    lead = lead_x
    if lead_x != lead_y:
        lead = tuple(broadcast_shapes(lead_x, lead_y))
        if prod(lead_x) != 1:
            x = cupy.broadcast_to(x, (*lead, *x.shape[-2:]))
        if prod(lead_y) != 1:
            y = cupy.broadcast_to(y, (*lead, *y.shape[-2:]))
    out = product(_side_by_side(x, 2), _side_by_side(y, 2), flip_x, flip_y)
    return out.reshape(*lead, *out.shape[-2:])


def _side_by_side(x: DeviceArray, last: int) -> Any:
    """All dims but the `last` ones as one, in memory of its own where they do not follow each other."""
    shape = x.shape
    lead = len(shape) - last
    if not x._c_contiguous:
        strides = x.strides
        if any(strides[d] != strides[d + 1] * shape[d + 1] for d in range(lead - 1)):
            x = copied(x)
    return x.reshape(prod(shape[:lead]), *shape[lead:])


_register("mm", False, False)
_register("mm_nt", False, True)
_register("mm_tn", True, False)


@kernel_for("cuda", "linear")
def linear(x: DeviceArray, w: DeviceArray, b: DeviceArray | None, *, activation: str = "") -> Any:
    """`x @ w.T + b`, the bias (and an activation, when a pass asks for one) added by cuBLASLt."""
    if x.dtype.char not in REALS or not x.size or not w.size:
        return NotImplemented
    if b is None:
        epilogue = activation
    else:
        epilogue = "bias_" + activation if activation else "bias"
        b = row_major(b)
    if x.ndim == 2:
        if activation in ("", "relu"):
            out = dense.linear(x, w, b, activation == "relu")
            if out is not None:
                return out
        return product(x, w, False, True, b, epilogue)
    return product(x, w, False, True, b, epilogue, flat=True)


@kernel_for("cuda", "addmm")
def addmm(
    b: DeviceArray, x: DeviceArray, y: DeviceArray, *, beta: int | float | complex, alpha: int | float | complex
) -> Any:
    """`beta * b + alpha * (x @ y)`: cuBLASLt adds a row that is the same for all, other launches what is more."""
    if not _takes(x, y) or b.dtype != x.dtype:
        return NotImplemented
    if alpha != 1 or beta != 1:
        made = product(x, y, False, False)
        return compute("add_scaled", (b if beta == 1 else compute("mul", (b, beta)), made), (alpha,), made)
    if b.strides[0] == 0 or b.shape[0] == 1:
        return product(x, y, False, False, row_major(b[0]), "bias")
    made = product(x, y, False, False)
    return add_into(made, made, b)


@kernel_for("cuda", "linear_grads")
def linear_grads(g: DeviceArray, x: DeviceArray) -> Any:
    """`g.T @ x` with the sums of g over its rows, which is the bias gradient, in one call."""
    if not _takes(g, x):
        return NotImplemented
    small = dense.weight_and_bias(g, x)
    if small is not None:
        return small
    if not sums_apart(g, x):
        sums = cupy.ndarray((g.shape[1],), g.dtype)
        out = product(g, x, True, False, None, "bgrad", sums)
        if out is not None:
            return out, sums
    return product(g, x, True, False), sums_of(g)


def sums_apart(g: DeviceArray, x: DeviceArray) -> bool:
    """Whether sums over the rows of g are computed by a kernel of their own beside `g.T @ x`.

    The library adds them up in an epilogue that its quickest kernels do not have: a product of 1536 x 16384 by
    16384 x 384 in bfloat16 takes an H200 35 us, with the epilogue 57. In float64 it has none.
    """
    return g.dtype.char == "d" or g.size * x.shape[-1] >= _APART_FROM


def sums_of(g: DeviceArray) -> Any:
    """The sums of g over all dims but the last."""
    return reduce("sum", g, tuple(range(g.ndim - 1)), False)


def _at_the_library(g: DeviceArray, x: DeviceArray) -> bool:
    """Whether no kernel of ours would compute the gradients of a layer over such rows."""
    n, k = g.shape[-1], x.shape[-1]
    m, char = g.size // n, g.dtype.char
    few = is_few_back(m, n, k, char) or is_head_input(m, n, k, char)
    return char != "d" and not (few or is_tiled(m, k, n, char) or is_tiled(n, k, m, char))


@kernel_for("cuda", "linear_all_grads")
def linear_all_grads(g: DeviceArray, x: DeviceArray, w: DeviceArray) -> Any:
    """`g @ w` and both of `linear_grads`: one launch for few rows."""
    if not _takes(g, x) or not w.size or w.dtype != g.dtype:
        return NotImplemented
    if x.ndim != 2:
        if _at_the_library(g, x):
            if sums_apart(g, x):
                gw = product(g, x, True, False, flat=True)
                return product(g, w, False, False, flat=True), gw, sums_of(g)
            sums = cupy.ndarray(g.shape[-1:], g.dtype)
            gw = product(g, x, True, False, None, "bgrad", sums, flat=True)
            if gw is not None:
                return product(g, w, False, False, flat=True), gw, sums
        gx, gw, gb = linear_all_grads(_side_by_side(g, 1), _side_by_side(x, 1), w)
        return gx.reshape(x.shape), gw, gb
    found = dense.backward(g, x, w, None)
    if found is not None:
        return found
    pair = linear_grads(g, x)
    (m, k), n = g.shape, w.shape[1]
    gx = dense.product("nn", g, w, m, n, k)
    return (product(g, w, False, False) if gx is None else gx, *pair)


@kernel_for("cuda", "linear_two_grads")
def linear_two_grads(g: DeviceArray, x: DeviceArray, w: DeviceArray) -> Any:
    """`g @ w` and `g.T @ x` over the rows of both."""
    if not _takes(g, x) or not w.size or w.dtype != g.dtype:
        return NotImplemented
    if _at_the_library(g, x):
        return product(g, w, False, False, flat=True), product(g, x, True, False, flat=True)
    rows, seen = _side_by_side(g, 1), _side_by_side(x, 1)
    (m, k), n = rows.shape, w.shape[1]
    gx, gw = dense.product("nn", rows, w, m, n, k), dense.product("tn", rows, seen, k, n, m)
    gx = product(rows, w, False, False) if gx is None else gx
    gw = product(rows, seen, True, False) if gw is None else gw
    return gx.reshape(x.shape), gw
