"""Products whose operands have been seen before go to cuBLASLt by one call in C; products.py has the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....base.arrays import DeviceArray
from ....base.config import settings
from ... import devices
from ...door import kernel_for
from ..code.keyed import keyed
from ..code.launch import Result
from ..library.cublaslt import REALS, library
from ..library.measuring import are_measured, watched
from ..small.dense_sizes import is_few_back, is_head, is_head_input, is_small, is_tiled
from . import products
from .products import _at_the_library, _Flat, _recipe, _takes, multiplies, sums_apart, sums_of

# What decides about a product beside its operands.
_WATCHED = (*watched, (settings, "float32_matmul_precision"))


def _ready(
    x: DeviceArray, y: DeviceArray, flip_x: bool, flip_y: bool, bias: DeviceArray | None = None, epilogue: str = "",
    flat: bool = False,
) -> Any:  # fmt: skip
    """`products.product` as a call of (x, y, bias), with the epilogue "bgrad" of (x, y) -> (sums, product).

    None where more has to be done than the library's call: copies, measuring, adding a bias.
    """
    if are_measured():
        return None
    sums = epilogue == "bgrad"
    low = (x.data.ptr | y.data.ptr | (0 if bias is None else bias.data.ptr)) & 255
    seen: tuple[Any, Any] = (_Flat(x), _Flat(y)) if flat else (x, y)
    recipe = _recipe(
        *seen, flip_x, flip_y, x if sums else bias, epilogue, low & -low, False
    )  # sums are written where another vector would be read: any address will do until then
    if recipe.plan is None or recipe.copy_x or recipe.copy_y or recipe.fill_bias:
        return None
    shape = (*x.shape[:-1], recipe.shape[-1]) if flat and not flip_x else recipe.shape
    results = [Result(3, shape, x.dtype)]
    if sums:
        results.insert(0, Result(2, (recipe.shape[0],), x.dtype))
    return library().prepared(recipe.plan, low & -low, tuple(results))


def _is_ours(form: str, m: int, n: int, k: int, char: str) -> bool:
    """Whether a kernel of small/dense.py might take a product of m x k by k x n."""
    if form == "nt":
        return is_head(n, k, char) or is_small(m, n, k, char)
    few = is_few_back(k, m, n, char) if form == "tn" else is_few_back(m, k, n, char)
    return few or is_head_input(m, k, n, char) or is_tiled(m, n, k, char)


def _linear(x: DeviceArray, w: DeviceArray, b: DeviceArray | None, *, activation: str = "") -> Any:
    if x.dtype.char not in REALS or not x.size or not w.size:
        return None
    if b is not None and not b._c_contiguous:
        return None
    epilogue = activation if b is None else "bias_" + activation if activation else "bias"
    if x.ndim == 2 and _is_ours("nt", x.shape[0], w.shape[0], x.shape[1], x.dtype.char):
        return None
    return _ready(x, w, False, True, b, epilogue, x.ndim != 2)


def _addmm(b: DeviceArray, x: DeviceArray, y: DeviceArray, *, beta: Any, alpha: Any) -> Any:
    """Of a row that is added to all rows, which is read where it lies."""
    if alpha != 1 or beta != 1 or b.dtype != x.dtype or not _takes(x, y):
        return None
    if (b.shape[0] != 1 and b.strides[0]) or not b[0]._c_contiguous:
        return None
    call = _ready(x, y, False, False, b[0], "bias")
    return None if call is None else lambda b, x, y: call(x, y, b)


def _all_grads(g: DeviceArray, x: DeviceArray, w: DeviceArray) -> Any:
    if not _takes(g, x) or not w.size or w.dtype != g.dtype or not _at_the_library(g, x):
        return None
    flat, apart = x.ndim != 2, sums_apart(g, x)
    weight = _ready(g, x, True, False, None, "" if apart else "bgrad", flat)
    to_input = None if weight is None else _ready(g, w, False, False, None, "", flat)
    if to_input is None:
        return None
    if apart:

        def three(g: DeviceArray, x: DeviceArray, w: DeviceArray) -> Any:
            gw, gx = weight(g, x, None), to_input(g, w, None)
            if gw is NotImplemented or gx is NotImplemented:
                return NotImplemented
            return gx, gw, sums_of(g)

        return three

    def call(g: DeviceArray, x: DeviceArray, w: DeviceArray) -> Any:
        pair = weight(g, x)
        gx = to_input(g, w, None)
        if pair is NotImplemented or gx is NotImplemented:
            return NotImplemented
        return gx, pair[1], pair[0]

    return call


def _two_grads(g: DeviceArray, x: DeviceArray, w: DeviceArray) -> Any:
    if not _takes(g, x) or not w.size or w.dtype != g.dtype or not _at_the_library(g, x):
        return None
    to_input = _ready(g, w, False, False, flat=True)
    weight = None if to_input is None else _ready(g, x, True, False, flat=True)
    if weight is None:
        return None

    def call(g: DeviceArray, x: DeviceArray, w: DeviceArray) -> Any:
        gx, gw = to_input(g, w, None), weight(g, x, None)
        return NotImplemented if gx is NotImplemented or gw is NotImplemented else (gx, gw)

    return call


def _of_two(call: Any) -> Any:
    """A call of (x, y) that has no bias."""
    return None if call is None else lambda x, y: call(x, y, None)


def _matrices(flip_x: bool, flip_y: bool) -> Callable[..., Any]:
    form = "tn" if flip_x else "nt" if flip_y else "nn"

    def prepare(x: DeviceArray, y: DeviceArray) -> Any:
        if not multiplies(x, y):
            return None
        m, k = x.shape[::-1] if flip_x else x.shape
        if _is_ours(form, m, y.shape[0] if flip_y else y.shape[1], k, x.dtype.char):
            return None
        return _of_two(_ready(x, y, flip_x, flip_y))

    return prepare


def _batches(flip_x: bool, flip_y: bool) -> Callable[..., Any]:
    def prepare(x: DeviceArray, y: DeviceArray) -> Any:
        if not multiplies(x, y) or x.ndim != 3 or y.ndim != 3:
            return None
        lead = (x.shape[0], y.shape[0])
        if lead[0] != lead[1] and 1 not in lead:
            return None
        return _of_two(_ready(x, y, flip_x, flip_y))

    return prepare


def _register(name: str, body: Callable[..., Any], prepare: Callable[..., Any]) -> None:
    kernel_for("cuda", name)(keyed(body, prepare, None, _WATCHED))


_register("linear", products.linear, _linear)
_register("addmm", products.addmm, _addmm)
_register("linear_all_grads", products.linear_all_grads, _all_grads)
_register("linear_two_grads", products.linear_two_grads, _two_grads)
for _name, _flips in (("mm", (False, False)), ("mm_nt", (False, True)), ("mm_tn", (True, False))):
    _register(_name, devices.overrides("cuda")[_name], _matrices(*_flips))
    _register("b" + _name, devices.overrides("cuda")["b" + _name], _batches(*_flips))
