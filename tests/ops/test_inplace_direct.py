"""In-place operations that a device may write straight into memory: same values, same memory, same gradients."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
pytestmark = pytest.mark.parametrize("device", DEVICES)


def numbers(*shape, dtype=torch.float32, device="cpu"):
    values = np.random.default_rng(0).standard_normal(shape) * 4
    return torch.tensor(values).to(dtype).to(device)


CHANGES = {
    "relu_": lambda x, y: x.relu_(),
    "functional": lambda x, y: torch.nn.functional.relu(x, inplace=True),
    "+=": lambda x, y: x.__iadd__(y),
    "-=": lambda x, y: x.__isub__(y),
    "add_": lambda x, y: x.add_(y, alpha=2),
    "sub_ row": lambda x, y: x.sub_(y[0]),
    "number": lambda x, y: x.add_(3),
    "itself": lambda x, y: x.add_(x),
    "its own transpose": lambda x, y: x.add_(x.t()),
    "a row of itself": lambda x, y: x.sub_(x[1]),
    "itself with alpha": lambda x, y: x.add_(x, alpha=2),
    "another dtype": lambda x, y: x.add_(y.to(torch.float16)),
    "mul_": lambda x, y: x.mul_(y),
    "*=": lambda x, y: x.__imul__(2),
    "mul_ a row of itself": lambda x, y: x.mul_(x[1]),
    "mul_ twice": lambda x, y: x.mul_(x).mul_(y[0]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64"])
@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("view", ["dense", "transposed", "part", "odd"])
def test_values_and_memory(device, how, dtype, view):
    if dtype == "int64" and "dtype" in how:
        pytest.skip("a float cannot be written into an integer")
    kind = getattr(torch, dtype)
    whole = numbers(6, 7, 7, dtype=kind)
    windows = {"dense": whole[0], "transposed": whole[1].t(), "part": whole[:, :6, 1][:, :6], "odd": whole[3, :5, 2:]}
    expected_of, x = windows[view].clone(), None
    place = whole.to(device)
    x = {"dense": place[0], "transposed": place[1].t(), "part": place[:, :6, 1][:, :6], "odd": place[3, :5, 2:]}[view]
    y = numbers(*x.shape, dtype=kind)
    if x.shape[0] != x.shape[1]:
        pytest.skip("not square") if "transpose" in how else None
    plain = {"relu_": lambda a, b: a.relu(), "functional": lambda a, b: a.relu(),
             "+=": lambda a, b: a + b, "-=": lambda a, b: a - b, "add_": lambda a, b: a + 2 * b,
             "sub_ row": lambda a, b: a - b[0], "number": lambda a, b: a + 3,
             "itself": lambda a, b: a + a, "its own transpose": lambda a, b: a + a.t(),
             "a row of itself": lambda a, b: a - a[1],
             "itself with alpha": lambda a, b: a + 2 * a, "mul_": lambda a, b: a * b,
             "*=": lambda a, b: a * 2, "mul_ a row of itself": lambda a, b: a * a[1],
             "mul_ twice": lambda a, b: a * a * b[0],
             "another dtype": lambda a, b: a + b.to(torch.float16)}[how]  # fmt: skip
    expected = plain(expected_of, y).to(kind)
    start = x.data_ptr()
    if (view in ("dense", "transposed") and "its own" in how) or (view == "dense" and "of itself" in how):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):  # seen where nothing lies between
            CHANGES[how](x, y.to(device))
        return
    out = CHANGES[how](x, y.to(device))
    assert out is x and x.data_ptr() == start
    tol = {"float16": 5e-3, "bfloat16": 4e-2}.get(dtype, 1e-6)
    np.testing.assert_allclose(x.double().cpu().numpy(), expected.double().numpy(), rtol=tol, atol=tol)


def test_gradients_pass_through(device):
    grads = []
    for inplace in (False, True):
        a = numbers(5, 8, device=device).requires_grad_()
        b = numbers(5, 8, device=device).neg().requires_grad_()
        x = a * 2
        if inplace:
            x += b
            x -= 1
            torch.nn.functional.relu(x, inplace=True)
        else:
            x = (x + b - 1).relu()
        (x * x).sum().backward()
        grads.append((a.grad.cpu().numpy(), b.grad.cpu().numpy()))
    for plain, direct in zip(*grads):
        np.testing.assert_allclose(direct, plain, rtol=1e-6)


def test_a_quotient_of_integers_is_refused(device):
    x = torch.tensor([3, 5], device=device)
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.div_(2)
    assert x.tolist() == [3, 5]


def test_what_backward_needs_is_guarded(device):
    x = numbers(4, 4, device=device).requires_grad_()
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
