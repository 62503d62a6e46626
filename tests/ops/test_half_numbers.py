"""Half precision beside a number: PyTorch keeps the number in float32 in products and quotients, and rounds it elsewhere."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch", reason="compares with PyTorch's bits")

NUMBER, ALPHA = 4.775, 1.3  # neither has a half precision form

# of the library, two tensors of half precision and a 0-d float32 tensor of the host
CASES: dict[str, Callable[..., Any]] = {
    "x * n": lambda t, x, y, z: x * NUMBER,
    "n * x": lambda t, x, y, z: NUMBER * x,
    "x * int": lambda t, x, y, z: x * 3_000_001,
    "x * True": lambda t, x, y, z: x * True,
    "x * numpy": lambda t, x, y, z: x * np.float32(NUMBER),
    "mul_": lambda t, x, y, z: x.clone().mul_(NUMBER),
    "mul out": lambda t, x, y, z: t.mul(x, NUMBER, out=t.empty_like(x)),
    "transposed * n": lambda t, x, y, z: x.view(64, 32).t() * NUMBER,
    "x * 0-d": lambda t, x, y, z: x * z,
    "x * 0-d double": lambda t, x, y, z: x * z.double(),
    "x / n": lambda t, x, y, z: x / NUMBER,
    "x / int": lambda t, x, y, z: x / 3_000_001,
    "div_": lambda t, x, y, z: x.clone().div_(NUMBER),
    "x / 0-d": lambda t, x, y, z: x / z,
    "n / x": lambda t, x, y, z: NUMBER / x,
    "x // n": lambda t, x, y, z: x // NUMBER,
    "trunc": lambda t, x, y, z: t.div(x, NUMBER, rounding_mode="trunc"),
    "x + n": lambda t, x, y, z: x + NUMBER,
    "n - x": lambda t, x, y, z: NUMBER - x,
    "sub_": lambda t, x, y, z: x.clone().sub_(NUMBER),
    "add alpha": lambda t, x, y, z: t.add(x, y, alpha=NUMBER),
    "add_ alpha": lambda t, x, y, z: x.clone().add_(y, alpha=NUMBER),
    "sub alpha": lambda t, x, y, z: t.sub(x, y, alpha=NUMBER),
    "add n alpha": lambda t, x, y, z: t.add(x, NUMBER, alpha=ALPHA),
    "rsub alpha": lambda t, x, y, z: t.rsub(x, NUMBER, alpha=ALPHA),
    "x ** n": lambda t, x, y, z: x.abs() ** 2.3337,
    "x ** 3": lambda t, x, y, z: x**3,
    "x ** -2": lambda t, x, y, z: x**-2,
    "n ** x": lambda t, x, y, z: 1.0337**x,
    "fmod": lambda t, x, y, z: t.fmod(x, NUMBER),
    "remainder": lambda t, x, y, z: x % NUMBER,
    "x > n": lambda t, x, y, z: x > 1.00001,
    "x == n": lambda t, x, y, z: x == 0.1337,
    "clamp": lambda t, x, y, z: x.clamp(-NUMBER, NUMBER),
    "where": lambda t, x, y, z: t.where(x > 0, x, NUMBER),
    "masked_fill": lambda t, x, y, z: x.masked_fill(x > 0, NUMBER),
    "lerp": lambda t, x, y, z: x.lerp(y, 0.1337),
    "addcmul": lambda t, x, y, z: t.addcmul(x, y, y, value=0.1337),
    "addcdiv": lambda t, x, y, z: t.addcdiv(x, x, y, value=0.1337),
    "renorm": lambda t, x, y, z: x.view(64, 32).renorm(2, 0, 0.1337),
    "xlogy": lambda t, x, y, z: t.xlogy(x.abs(), NUMBER),
    "foreach mul": lambda t, x, y, z: t._foreach_mul([y, x], NUMBER)[1],
    "foreach mul_": lambda t, x, y, z: _in_place(t._foreach_mul_, x, NUMBER),
    "foreach div_": lambda t, x, y, z: _in_place(t._foreach_div_, x, NUMBER),
    "foreach add_": lambda t, x, y, z: _in_place(t._foreach_add_, x, [x], alpha=0.337),
    "baddbmm": lambda t, x, y, z: t.baddbmm(
        y[:80].view(2, 10, 4), x[:40].view(2, 10, 2), y[:16].view(2, 2, 4), beta=0.337, alpha=0.1337
    ),
    "grad x * n": lambda t, x, y, z: _slope(x, lambda a: (a * NUMBER * y).sum()),
    "grad x / n": lambda t, x, y, z: _slope(x, lambda a: (a / NUMBER * y).sum()),
    "grad n / x": lambda t, x, y, z: _slope(x, lambda a: (NUMBER / a * y).sum()),
    "grad x / y": lambda t, x, y, z: _slope(y, lambda a: (x / a).sum()),
    "grad x ** n": lambda t, x, y, z: _slope(x.abs(), lambda a: (a**2.337).sum()),
    "grad add alpha": lambda t, x, y, z: _slope(x, lambda a: (t.add(y, a, alpha=NUMBER) * y).sum()),
    "grad addcdiv": lambda t, x, y, z: _slope(y, lambda a: t.addcdiv(x, x, a, value=NUMBER).sum()),
    "grad 0-d": lambda t, x, y, z: _slope(z, lambda a: (x[:64] * a).sum()),
    "grad / 0-d": lambda t, x, y, z: _slope(z, lambda a: (x[:64] / a).sum()),
}
# What our GPU kernels compute in float32 and round once, where PyTorch's round each step; and a sum in another order.
ROUNDED_ONCE_ON_A_GPU = {"xlogy", "baddbmm", "foreach mul_", "grad / 0-d"}
# What PyTorch rounds twice on aarch64, the product and the sum, and once on x86-64; we round once on both.
ROUNDED_TWICE_ON_AARCH64 = {"add alpha", "add_ alpha", "sub alpha", "add n alpha", "rsub alpha", "foreach add_"}


def _slope(x: Any, loss: Callable[[Any], Any]) -> Any:
    leaf = x.detach().clone().requires_grad_()
    loss(leaf).backward()
    return leaf.grad


def _in_place(function: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    held = [x.clone()]
    function(held, *args, **kwargs)
    return held[0]


def result(library: Any, case: str, dtype: str, device: str, compiled: bool = False) -> Any:
    wide = library.arange(1, 2049, dtype=library.float32) * 0.0137 - 20.01
    x, y = (wide.to(getattr(library, dtype)).to(device), (wide * 0.37 + 3.1).to(getattr(library, dtype)).to(device))
    z = library.tensor(NUMBER)

    def call(x: Any, y: Any) -> Any:
        return CASES[case](library, x, y, z)

    if not compiled:
        return call(x, y)
    step = rushlight.compile(call)
    for _ in range(3):
        out = step(x, y)
    return out


def as_text(out: Any) -> tuple[str, np.ndarray]:
    return str(out.dtype).rpartition(".")[2], out.detach().cpu().double().numpy()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("case", CASES)
def test_the_bits_are_pytorchs(case: str, dtype: str, device: str) -> None:
    if device == "cuda" and case in ROUNDED_ONCE_ON_A_GPU:
        pytest.skip("a GPU rounds once here")
    expected, got = result(torch, case, dtype, device), result(rushlight, case, dtype, device)
    (name, there), (our_name, ours) = as_text(expected), as_text(got)
    assert our_name == name
    if device == "cpu" and case in ROUNDED_TWICE_ON_AARCH64 and platform.machine() == "aarch64":
        half_a_bit = 2.0**-11 if dtype == "float16" else 2.0**-8
        # of the product, below 32 everywhere, and of the sum
        np.testing.assert_allclose(ours, there, rtol=2 * half_a_bit, atol=32 * half_a_bit)
    else:
        np.testing.assert_array_equal(ours, there)


@pytest.mark.parametrize("case", [c for c in CASES if "grad" not in c and "foreach" not in c and "out" not in c])
def test_compiled_is_eager(case: str, device: str) -> None:
    (_, eager), (_, compiled) = (as_text(result(rushlight, case, "bfloat16", device, c)) for c in (False, True))
    # a generated kernel of a GPU rounds several steps once
    np.testing.assert_allclose(compiled, eager, rtol=2**-7 if device == "cuda" else 0, atol=0)


LAYERS = {
    "conv": lambda m: m.nn.Conv2d(3, 8, 3, padding=1),
    "conv in groups": lambda m: m.nn.Conv2d(6, 6, 3, stride=2, groups=3),
    "transposed": lambda m: m.nn.ConvTranspose2d(3, 4, 2, stride=2),
    "max pool": lambda m: m.nn.MaxPool2d(2),
    "max pool, overlapping": lambda m: m.nn.MaxPool2d(3, 1, 1),
    "mean pool": lambda m: m.nn.AvgPool2d(3, 2, 1),
    "batch norm": lambda m: m.nn.BatchNorm2d(6),
    "batch norm, still": lambda m: m.nn.BatchNorm2d(6).eval(),
    "group norm": lambda m: m.nn.GroupNorm(3, 6),
}


@pytest.mark.parametrize("mixed", [False, True], ids=["half weights", "float weights"])
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_images_agree_with_pytorch(name: str, kind: str, mixed: bool) -> None:
    """Computed in float32 and rounded once, in whichever engine; dtypes of results and gradients are PyTorch's."""
    if mixed and "norm" not in name:
        pytest.skip("only norms take weights of another dtype")
    channels = 3 if name in ("conv", "transposed") else 6
    images = np.random.RandomState(0).randn(2, channels, 8, 8).astype("f")
    found = []
    for lib in (rushlight, torch):
        layer = LAYERS[name](lib)
        dtype = getattr(lib, kind)
        with lib.no_grad():
            for i, p in enumerate(layer.parameters()):
                values = np.random.RandomState(i + 1).randn(*p.shape).astype("f") * 0.3
                p.copy_(lib.from_numpy(values))
        layer = layer if mixed else layer.to(dtype)
        x = lib.from_numpy(images).to(dtype).requires_grad_()
        y = layer(x)
        slopes = np.random.RandomState(9).randn(*y.shape).astype("f")
        y.backward(lib.from_numpy(slopes).to(y.dtype))
        found.append([y.detach(), x.grad, *[p.grad for p in layer.parameters()]])
    step = 2.0 ** (-7 if kind == "bfloat16" else -10)
    for ours, theirs in zip(*found):
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        a, b = ours.float().numpy(), theirs.float().numpy()
        np.testing.assert_allclose(a, b, rtol=4 * step, atol=4 * step * np.abs(b).max())


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_limits_are_rounded_before_they_are_compared_with(kind: str) -> None:
    for low, high in ((-0.1, 0.1), (None, 0.3), (0.7, None), (1, 3), (-60000.0, 0.1), (None, float("inf"))):
        found = []
        for lib in (rushlight, torch):
            x = lib.tensor([-0.1, 0.1, 0.3, 0.7, 2.0, float("nan")]).to(getattr(lib, kind))
            x.requires_grad_()
            try:
                y = x.clamp(low, high)
                y.backward(lib.ones_like(y))
                found.append((y.detach().float().tolist(), x.grad.float().tolist()))
            except RuntimeError as error:
                found.append(str(error))
        np.testing.assert_equal(*found)
