"""Pointwise functions where rows do not look: ties, kinks, infinities, promotion and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

nan, inf = math.nan, math.inf

# Gradients at points where a numeric derivative does not exist.
GRADIENTS = {
    "t.maximum(a, b)": ([1.0, 2.0, 2.0, nan], [1.0, 3.0, 1.0, 1.0]),
    "t.minimum(a, b)": ([1.0, 2.0, 2.0, nan], [1.0, 3.0, 1.0, 1.0]),
    "t.fmax(a, b)": ([1.0, 2.0, 2.0, nan, 1.0], [1.0, 3.0, 1.0, 1.0, nan]),
    "t.fmin(a, b)": ([1.0, 2.0, 2.0, nan, 1.0], [1.0, 3.0, 1.0, 1.0, nan]),
    "t.clamp(a, -1.0, 1.0)": ([-1.0, 1.0, 0.0, 2.0, nan],),
    "t.clamp(a, 1.0, -1.0)": ([-1.0, 1.0, 0.0, 2.0],),
    "t.clamp_min(a, 0.0)": ([0.0, 1.0, -1.0],),
    "t.clamp(a, b, c)": ([0.0, 1.0, -1.0, 3.0], [0.0, 0.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]),
    "t.clamp(a, min=b)": ([0.0, 1.0, -1.0], [0.0, 0.0, 0.0]),
    "t.clamp(a, max=b)": ([0.0, 1.0, -1.0], [0.0, 0.0, 0.0]),
    "t.abs(a)": ([0.0, -0.0, 1.0],),
    "t.sinc(a)": ([0.0, 0.5],),
    "t.hypot(a, b)": ([0.0, 3.0], [0.0, 4.0]),
    "t.atan2(a, b)": ([0.0, 3.0], [0.0, 4.0]),
    "t.copysign(a, b)": ([0.0, 3.0, -1.0], [1.0, -4.0, -1.0]),
    "t.nextafter(a, b)": ([1.0, 3.0], [1.0, -4.0]),
    "t.xlogy(a, b)": ([0.0, 0.0, 2.0], [0.0, 1.0, 0.0]),
    "t.logit(a)": ([0.0, 1.0, 0.5, 2.0],),
    "t.logit(a, 0.2)": ([0.1, 0.2, 0.5, 0.9],),
    "a ** b": ([0.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 2.0]),
    "a ** 0": ([0.0, inf, nan],),
    "0.0 ** a": ([0.0, 1.0, -1.0],),
    "(-2.0) ** a": ([0.0, 1.0],),
    "t.sqrt(a)": ([0.0, 4.0],),
    "t.rsqrt(a)": ([0.0, 4.0],),
    "t.acos(a)": ([1.0, -1.0],),
    "t.nan_to_num(a)": ([nan, inf, 1.0],),
    "t.logaddexp(a, b)": ([-inf, 0.0, inf], [-inf, 0.0, 1.0]),
    "t.special.entr(a)": ([0.0, 1.0, -1.0],),
    "t.special.i1(a)": ([0.0],),
    "t.special.i1e(a)": ([0.0],),
    "t.special.i0e(a)": ([0.0, 1.0],),
    "t.special.log_ndtr(a)": ([-40.0, 0.0, 40.0],),
    "t.erfinv(a)": ([1.0, 0.0, -1.0],),
    "t.div(a, b, rounding_mode='floor')": ([5.0], [3.0]),
    "t.where(a > 1, a, b)": ([1.0, 2.0], [3.0, inf]),
    "t.threshold(a, 1.0, 5.0)": ([1.0, 2.0, 0.0],),
    "t.sigmoid(a)": ([100.0, -800.0],),
    "t.tanh(a)": ([100.0, -800.0],),
}

# Values and dtypes; `T` makes a tensor, `d` is the library for its dtypes.
VALUES = [
    "T([255], dtype=d.uint8) == -1", "T([1]) == 1.5", "T([True]) == 1", "T([16777217]) == 16777216.0",
    "T([1.0]) < T(2, dtype=d.float64)", "T([1.0, 2.0]) == 1j", "T([1.0]) == None", "T([1.0]) != 'a'",
    "T([1.0, 2.0]).clamp_(max=1)", "T([1, 2]).abs_()", "T([1.0, 2]).lt_(1.5)", "T([1, 2]).mul_(True)",
    "T([1.0, 2.0]).masked_fill_(T([True, False]), T(3))", "T([1.0]).add_(1, alpha=2)",
    "d.exp(T([1.0]), out=d.empty(1, dtype=d.float64))", "d.eq(T([1.0]), 1, out=d.empty(1))",
    "d.where(T([True, False]), T(1.0, dtype=d.float64), T([1.0, 2.0]))",
    "d.where(T([True, False]), T(1), 2.5)", "d.where(T(True), T([1, 2]), T([3.0]))",
    "d.where(T([True]), 1 + 1j, 2)", "d.clamp(T([1.0, 5.0], dtype=d.float16), 0, 2)",
    "d.clamp(T([1, 5]), min=T(2.5))", "d.clamp(T([1.0]), T([0.0, 0.0]), T([[1.0], [2.0]]))",
    "d.isclose(T([inf, nan, -inf]), T([inf, nan, inf]))", "d.isin(T([1.0]), T([1]))",
    "d.allclose(T([nan]), T([nan]), equal_nan=True)", "d.isclose(T([1, 2]), T([1, 3]), atol=1)",
    "d.round(T([0.5, 1.5, 2.5, -0.5, 2.675]), decimals=2)", "d.round(T([1234.5]), decimals=-2)",
    "d.sgn(T([3 + 4j, 0]))", "d.polar(T([1.0]), T([1.5]))", "d.view_as_real(T([1 + 2j]))",
    "T([[1 + 2j, 1]]).H.resolve_conj()", "T(5.0).H", "T([1 + 2j]).conj().imag", "d.real(T([1]))",
    "d.logical_and(T([1.0, 0.0]), T([2, 3]))", "d.gcd(T([12, 0, -8]), T([18, 0, 12]))",
    "d.lcm(T([12, 0, -8]), T([18, 0, 12]))", "T([5]) & T([True])", "T([-5]) >> 1", "1 << T([2, 3])",
    "T([1, 2], dtype=d.int8) << 7", "T([3]) << 65", "T([3]) >> -1", "T([True]) ^ True",
    "T([-7, 7]) // 2", "d.div(T([-7, 7]), 2, rounding_mode='trunc')", "T([1.5]) // T([0.0])",
    "5 // T([2])", "5 % T([3])", "2 ** T([1, 2])", "2.0 ** T([1, 2])", "T([-8.0]) ** (1 / 3)",
    "T([2], dtype=d.int32) ** 2.5", "T([2, 3]) ** T([2.0, -1.0])", "T([0, 1, -1, 2, -1]) ** T([-1, -2, -1, -1, -2])",
    "True + T([1])", "T([True]) + 1.5", "T([1.0], dtype=d.float16) + T([1.0], dtype=d.bfloat16)",
    "T([1.0], dtype=d.bfloat16) * 0.5", "T(1.0, dtype=d.float64) + T([1.0])", "T([1.0]) * T(1j)",
    "T([1]) * 1j", "T([1.0], dtype=d.float64) * 1j", "T([250], dtype=d.uint8) + 10",
    "T([100], dtype=d.int8) + 200", "T([1], dtype=d.uint8) - 2", "T([1]) / 0", "T([0]) / 0",
    "d.add(T([True, False]), T([True, True]), alpha=False)", "d.add(T([1]), T([1.0]), alpha=1.5)",
    "d.nan_to_num(T([nan, inf, -inf], dtype=d.float16))", "d.ldexp(T([1, 2]), T([3]))",
    "d.special.gammainc(T([0.0, 1.0, 2.0, -1.0]), T([0.0, 0.0, 3.0, 1.0]))",
    "d.special.gammaincc(T([0.0, 1.0, 2.0, -1.0, 1e4]), T([1.0, 0.0, 3.0, 1.0, 1.01e4]))",
    "d.special.ndtri(T([0.0, 0.5, 1.0]))", "d.special.entr(T([0.0, 0.5, -1.0, nan]))",
    "d.special.xlog1py(0.0, T([nan, -1.0]))", "d.mvlgamma(T([0.3]), 2)", "d.equal(T([1]), T([1.0]))",
    "d.heaviside(T([-1.0, 0.0, 1.0]), T([0.5]))", "d.copysign(T([1, -2]), T([-0.0]))",
    "-T([1], dtype=d.uint8)", "d.angle(T([-1.0, 0.0, 1.0, nan]))", "d.sign(T([nan, -0.0, 2.0]))",
]  # fmt: skip


def _evaluate(text: str, lib: Any) -> Any:
    return eval(text, {"T": lib.tensor, "d": lib, "nan": nan, "inf": inf})


def _plain(value: Any) -> Any:
    if not hasattr(value, "dtype"):
        return value
    return str(value.dtype).split(".")[1], tuple(value.shape)


@pytest.mark.parametrize("text", VALUES)
@pytest.mark.filterwarnings("ignore")
def test_values_and_dtypes_are_pytorchs(text: str) -> None:
    ours, theirs = _evaluate(text, rl), _evaluate(text, torch)
    assert _plain(ours) == _plain(theirs)
    if hasattr(theirs, "tolist"):
        np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", GRADIENTS)
def test_gradients_at_kinks_are_pytorchs(text: str) -> None:
    results = []
    for lib in (rl, torch):
        ins = [lib.tensor(v, dtype=lib.float64).requires_grad_() for v in GRADIENTS[text]]
        out = eval(text, {"t": lib, **dict(zip("abc", ins))})
        results.append(lib.autograd.grad(out.sum(), ins))
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-9)


def test_parts_of_complex_tensors_are_views() -> None:
    z = rl.tensor([1 + 2j, 3 + 4j])
    z.real.mul_(10)
    z.imag = rl.tensor([7.0, 8.0])
    rl.view_as_real(z)[0, 0] = 5.0
    assert z.tolist() == [5 + 7j, 30 + 8j]
    pairs = rl.zeros(2, 2)
    rl.view_as_complex(pairs).add_(1 + 2j)
    assert pairs.tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_writing_a_part_is_differentiable() -> None:
    grads = []
    for lib in (rl, torch):
        x = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
        z = lib.complex(x, x * 2)
        z.real.mul_(x)
        (z.abs() ** 2).sum().backward()
        grads.append(x.grad.tolist())
    np.testing.assert_allclose(grads[0], grads[1])


SPECIAL_POINTS = {
    "erf": (1e-8, 0.49, 0.99, 1.01, 3.5, -5.5), "erfc": (-5.0, 0.4, 0.6, 2.0, 9.0, 25.0),
    "erfinv": (1e-10, 0.4999, 0.5001, 0.99, -0.9), "lgamma": (1e-7, 0.49, 0.51, 1.0001, 2.9999, 3.0001, 9.99, 10.01, 1e5, -3.7),
    "digamma": (1e-5, 0.49, 0.51, 9.99, 10.01, 1e6, -3.7), "special.i0": (0.0, 7.999, 8.001, 80.0, -3.0),
    "special.i1e": (1e-6, 7.999, 8.001, 1e6, -3.0), "special.erfcx": (-3.0, 0.0, 1.0, 50.0, 1e8),
    "special.log_ndtr": (-1000.0, -20.0, -0.01, 0.01, 7.0), "special.ndtri": (1e-300, 1e-20, 0.2499, 0.2501, 0.75),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL_POINTS)
def test_special_functions_are_exact_around_their_seams(name: str) -> None:
    points = SPECIAL_POINTS[name]
    values = []
    for lib in (rl, torch):
        fn = lib
        for part in name.split("."):
            fn = getattr(fn, part)
        values.append(fn(lib.tensor(points, dtype=lib.float64)).tolist())
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12, atol=1e-14)


def test_erfinv_is_exact_in_its_tails() -> None:
    got = rl.erfinv(rl.tensor([0.9999999, -0.999999999999], dtype=rl.float64)).tolist()
    np.testing.assert_allclose(got, [3.7665625816384709, -5.0420318985726961], rtol=1e-14)


def test_missing_derivatives_are_refused_when_asked_for() -> None:
    x = rl.tensor([1.0], requires_grad=True)
    y = rl.heaviside(x, rl.tensor([1.0]))
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        y.sum().backward()


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "true_divide", "floor_divide"])
@pytest.mark.parametrize("pair", [(5, 2), (-5.5, 2), (5, 2.5), (3j, 2), (True, 2)])
def test_arithmetic_of_two_numbers_gives_a_tensor(name: str, pair: tuple) -> None:
    def told(m: Any) -> Any:
        try:
            out = getattr(m, name)(*pair)
        except Exception as error:
            return type(error).__name__
        return out.tolist(), str(out.dtype).rsplit(".", 1)[1]

    assert told(rl) == told(torch)


@pytest.mark.parametrize("mode", ["trunc", "floor"])
def test_rounded_division_of_two_numbers(mode: str) -> None:
    for pair in ((5, 2), (-5, 2), (5.5, 2)):
        ours, theirs = rl.div(*pair, rounding_mode=mode), torch.div(*pair, rounding_mode=mode)
        assert ours.tolist() == theirs.tolist()
        assert str(ours.dtype).rsplit(".", 1)[1] == str(theirs.dtype).rsplit(".", 1)[1]


def test_a_float_function_of_two_numbers_wants_a_tensor() -> None:
    with pytest.raises(TypeError):
        rl.xlogy(5.5, 2)
