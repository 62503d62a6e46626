"""Mixed precision: autocast's dtypes, gradients and switches, and GradScaler's bookkeeping."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.amp import GradScaler, autocast, custom_bwd, custom_fwd
from rushlight.amp.lists import FLOAT32, POLICIES
from rushlight.core.gradients import tape
from rushlight.core.op import Op
from rushlight.runtime.thread import here

F = nn.functional
DTYPES = {"cpu": rl.bfloat16, "cuda": rl.float16}


def network() -> Any:
    rl.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5))


def test_products_run_in_low_precision(device: str) -> None:
    x = rl.randn(4, 6, device=device)
    with autocast(device):
        low = DTYPES[device]
        assert (x @ x.t()).dtype is low
        assert F.linear(x, x).dtype is low
        assert rl.bmm(x[None], x.t()[None]).dtype is low
        assert (x + x).dtype is rl.float32
        assert F.linear(F.linear(x, x), rl.randn(3, 4, device=device)).dtype is low
        assert rl.cat([x, x.to(low)]).dtype is rl.float32
        assert x.double().mm(x.t().double()).dtype is rl.float64
    assert (x @ x.t()).dtype is rl.float32


def test_results_are_close_and_gradients_are_float32(device: str) -> None:
    net = network().to(device)
    x = rl.randn(2, 3, 8, 8, device=device)
    want = net(x)
    with autocast(device, dtype=rl.bfloat16):
        got = net(x)
        loss = F.cross_entropy(got, rl.tensor([1, 2], device=device))
    assert got.dtype is rl.bfloat16
    np.testing.assert_allclose(got.float().detach().cpu().numpy(), want.detach().cpu().numpy(), rtol=0.1, atol=0.05)
    loss.backward()
    for p in net.parameters():
        assert p.grad.dtype is rl.float32 and bool(p.grad.isfinite().all())


def test_losses_are_float32(device: str) -> None:
    x = rl.randn(4, 3, device=device).to(DTYPES[device])
    with autocast(device):
        assert F.mse_loss(x, x).dtype is rl.float32
        assert F.cross_entropy(x, rl.tensor([0, 1, 2, 0], device=device)).dtype is rl.float32


def test_switching_off_inside() -> None:
    x = rl.randn(3, 3)
    with autocast("cpu"):
        with autocast("cpu", enabled=False):
            assert (x @ x).dtype is rl.float32
        assert (x @ x).dtype is rl.bfloat16
        assert rl.amp.is_autocast_enabled("cpu")
    assert not rl.amp.is_autocast_enabled("cpu")


def test_nothing_is_replaced_and_nothing_left_behind() -> None:
    call, backward, state = Op.__call__, tape.backward, here.state
    with autocast("cpu"):
        assert Op.__call__ is call and tape.backward is backward
        with pytest.raises(RuntimeError):
            rl.randn(2, 3) @ rl.randn(2, 3)
    assert here.state == state


OPERATORS = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y, "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y, "pow": lambda x, y: x**y,
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_the_same_dtype_on_every_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator between two tensors has a short way; the policy is asked on it, too.

    The policy is the GPU's for `pow`; here every operator has it, and the CPU is the device.
    """
    module = sys.modules["rushlight.amp.autocast"]
    monkeypatch.setitem(module.POLICIES, name, {"cpu": module.FLOAT32})
    x, y = rl.rand(4).half() + 1, rl.rand(4).half() + 1
    plain = OPERATORS[name]
    assert plain(x, y).dtype is rl.float16
    with autocast("cpu", dtype=rl.float16):
        assert [plain(x, y).dtype for _ in range(3)] == [rl.float32] * 3
        want = plain(x.float(), y.float())
        np.testing.assert_array_equal(plain(x, y).numpy(), want.numpy())
    assert plain(x, y).dtype is rl.float16


def test_half_to_the_power_of_half_is_float32_on_the_gpu() -> None:
    """The lists say so, and every call asks them."""
    assert POLICIES["pow"]["cuda"] == FLOAT32


def test_backward_computes_in_the_dtypes_of_the_forward_pass() -> None:
    """Also inside the block, and after a Function whose own backward switches autocast off."""

    class Double(rl.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=rl.float32)
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            assert not rl.amp.is_autocast_enabled("cpu")
            return g * 2

    seen: list[Any] = []
    w = rl.randn(3, 3, requires_grad=True)
    with autocast("cpu"):
        x = w * 1
        x.register_hook(lambda g: seen.append((w.detach() @ w.detach()).dtype))
        Double.apply(x).sum().backward()
        assert (w @ w).dtype is rl.bfloat16
    assert seen == [rl.float32]  # nothing is cast in a backward pass


def test_checkpointed_parts_are_cast_again_as_they_were() -> None:
    """The second run comes with backward, outside of the block and in another thread."""
    x, w = rl.randn(4, 4), rl.randn(4, 4, requires_grad=True)

    def part(x: Any) -> Any:
        return (x @ w).relu() @ w

    with autocast("cpu"):
        w @ w  # a cast of w is kept from here on
        plain = part(x)
        again = rl.utils.checkpoint.checkpoint(part, x, use_reentrant=False)
    want = rl.autograd.grad(plain.float().sum(), w)[0]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: again.float().sum().backward()).result()
    np.testing.assert_array_equal(w.grad.numpy(), want.numpy())


def test_decorator_and_dtype() -> None:
    @autocast("cpu", dtype=rl.float16)
    def product(x: Any) -> Any:
        return x @ x

    x = rl.randn(3, 3)
    assert product(x).dtype is rl.float16
    assert (x @ x).dtype is rl.float32


def test_parameters_are_cast_once_per_block() -> None:
    w = rl.randn(3, 3, requires_grad=True)
    x = rl.randn(2, 3)
    with autocast("cpu"):
        a, b = F.linear(x, w), F.linear(x, w)
    assert a.grad_fn.next_functions[1][0] is b.grad_fn.next_functions[1][0]
    (a.sum() + b.sum()).backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * np.tile(x.sum(0).numpy(), (3, 1)), rtol=0.05, atol=0.05)


def test_as_torch_on_the_cpu() -> None:
    torch = pytest.importorskip("torch")
    a = np.random.RandomState(0).randn(4, 4).astype("float32")
    calls = [
        lambda lib, x: x @ x, lambda lib, x: (x @ x).softmax(-1), lambda lib, x: (x @ x).sum(),
        lambda lib, x: (x @ x).exp(), lambda lib, x: (x @ x) + x,
        lambda lib, x: lib.cat([x @ x, x]), lambda lib, x: lib.nn.functional.mse_loss(x @ x, x),
        lambda lib, x: lib.nn.functional.gelu(x @ x), lambda lib, x: (x @ x).pow(2),
        lambda lib, x: lib.nn.functional.layer_norm(x @ x, (4,)),
        lambda lib, x: lib.einsum("ij,kj->ik", x, x), lambda lib, x: lib.addmm(x, x, x),
    ]  # fmt: skip
    for call in calls:
        with torch.autocast("cpu"):
            want = call(torch, torch.from_numpy(a))
        with rl.autocast("cpu"):
            got = call(rl, rl.from_numpy(a))
        assert str(got.dtype).split(".")[1] == str(want.dtype).split(".")[1]
        np.testing.assert_allclose(got.float().numpy(), want.float().numpy(), rtol=0.05, atol=0.05)


def test_unsupported_dtype_and_device() -> None:
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        assert not autocast("cpu", dtype=rl.float64)._enabled
    with pytest.raises(RuntimeError, match="unsupported autocast device_type"):
        autocast("banana")
    with pytest.raises(ValueError, match="Expected `device_type`"):
        autocast(1)


def test_custom_functions() -> None:
    class Product(rl.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=rl.float32)
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g @ x.t() + x.t() @ g

    x = rl.randn(3, 3, requires_grad=True)
    with autocast("cpu"):
        y = Product.apply(x)
    assert y.dtype is rl.float32
    y.sum().backward()
    assert x.grad.dtype is rl.float32


# -- GradScaler -----------------------------------------------------------------------------------


def one_step(scaler: GradScaler, value: float, device: str) -> tuple[Any, Any]:
    p = nn.Parameter(rl.ones(3, device=device))
    opt = rl.optim.SGD([p], lr=0.5)
    scaler.scale((p * value).sum()).backward()
    scaler.step(opt)
    scaler.update()
    return p, opt


def test_scaled_step_equals_plain_step(device: str) -> None:
    p, _ = one_step(GradScaler(device), 2.0, device)
    np.testing.assert_allclose(p.detach().cpu().numpy(), np.zeros(3))


def test_overflow_skips_and_backs_off(device: str) -> None:
    scaler = GradScaler(device, init_scale=8.0)
    p, _ = one_step(scaler, float("inf"), device)
    np.testing.assert_allclose(p.detach().cpu().numpy(), np.ones(3))
    assert scaler.get_scale() == 4.0


def test_growth(device: str) -> None:
    scaler = GradScaler(device, init_scale=8.0, growth_interval=2)
    for want in (8.0, 16.0, 16.0, 32.0):
        one_step(scaler, 1.0, device)
        assert scaler.get_scale() == want


def test_unscale_then_clip_and_the_order_of_calls(device: str) -> None:
    scaler = GradScaler(device, init_scale=4.0)
    p = nn.Parameter(rl.ones(3, device=device))
    opt = rl.optim.SGD([p], lr=1.0)
    with pytest.raises(AssertionError, match="_scale is None"):
        scaler.step(opt)
    scaler.scale((p * 3).sum()).backward()
    scaler.unscale_(opt)
    np.testing.assert_allclose(p.grad.cpu().numpy(), 3 * np.ones(3))
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(opt)
    scaler.step(opt)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(opt)
    scaler.update()


def test_state_dict_and_disabled() -> None:
    scaler = GradScaler("cpu", init_scale=8.0)
    one_step(scaler, 1.0, "cpu")
    state = scaler.state_dict()
    assert state == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5,
                     "growth_interval": 2000, "_growth_tracker": 1}  # fmt: skip
    other = GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state
    off = GradScaler("cpu", enabled=False)
    x = rl.ones(2)
    assert off.scale(x) is x and off.get_scale() == 1.0 and off.state_dict() == {}


def test_as_torchs_scaler() -> None:
    torch = pytest.importorskip("torch")

    def walk(lib: Any) -> list[float]:
        scaler = lib.amp.GradScaler("cpu", init_scale=2.0, growth_interval=2)
        p = lib.nn.Parameter(lib.ones(2))
        opt = lib.optim.SGD([p], lr=0.1)
        seen = []
        for value in (1.0, 2.0, float("nan"), 1.0, float("inf"), 1.0, 1.0):
            opt.zero_grad()
            scaler.scale((p * value).sum()).backward()
            scaler.step(opt)
            scaler.update()
            seen += [scaler.get_scale(), float(p.detach().sum())]
        return seen

    np.testing.assert_allclose(walk(rl), walk(torch), rtol=1e-6)


LAYERS = {
    "batch_norm": lambda: (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), (2, 3, 8, 8)),
    "group_norm": lambda: (nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4)), (2, 3, 8, 8)),
    "layer_norm": lambda: (nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 3)), (4, 8)),
    "lstm": lambda: (nn.LSTM(5, 6, batch_first=True), (2, 4, 5)),
    "gru": lambda: (nn.GRU(5, 6, num_layers=2), (2, 4, 5)),
    "transformer": lambda: (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
    "transposed": lambda: (nn.ConvTranspose2d(3, 4, 3), (2, 3, 8, 8)),
    "prelu": lambda: (nn.Sequential(nn.Linear(8, 8), nn.PReLU()), (4, 8)),
}


@pytest.mark.parametrize("name", list(LAYERS))
def test_layers_train_under_autocast(name: str, device: str) -> None:
    rl.manual_seed(0)
    layer, shape = LAYERS[name]()
    layer = layer.to(device)
    x = rl.randn(shape, device=device)
    want = layer(x)
    with autocast(device, dtype=rl.bfloat16):
        got = layer(x)
    want, got = (o[0] if isinstance(o, tuple) else o for o in (want, got))
    if name != "transformer":  # dropout
        np.testing.assert_allclose(got.float().detach().cpu().numpy(), want.detach().cpu().numpy(), rtol=0.2, atol=0.1)
    got.float().square().mean().backward()
    for p in layer.parameters():
        assert p.grad is not None and p.grad.dtype is rl.float32


def test_backward_inside_the_block(device: str) -> None:
    w = rl.randn(4, 4, device=device, requires_grad=True)
    b = rl.randn(4, device=device, requires_grad=True)
    with autocast(device):
        F.linear(rl.randn(3, 4, device=device), w, b).sum().backward()
    assert w.grad.dtype is rl.float32 and b.grad.dtype is rl.float32
