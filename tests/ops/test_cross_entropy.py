"""Cross entropy of class indices: what it keeps, half precision read as it is, and casts that programs do without."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.capture.passes import optimise
from rushlight.capture.passes.copies import write_over
from rushlight.capture.passes.sequences import drop_entropy_casts
from test_capture_passes import check, for_gpu, names, record

HALVES = ["bfloat16", "float16"]
REDUCTIONS = ["mean", "sum", "none"]


def numbers(rows=7, classes=53, seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((rows, classes)) * 3).astype(np.float32)
    target = rng.integers(0, classes, rows)
    target[2] = -100
    return x, target, rng


def loss_and_gradient(lib, x, target, g, reduction, dtype, casting=False, before=None, device="cpu"):
    """The loss and the gradient of logits in a dtype, in the library given."""
    a = lib.tensor(x, device=device).to(getattr(lib, dtype)).requires_grad_()
    with lib.autocast(device, lib.bfloat16, enabled=casting):
        z = a if before is None else before(a)
        loss = lib.nn.functional.cross_entropy(z, lib.tensor(target, device=device), reduction=reduction)
    loss.backward(lib.tensor(g, device=device).to(loss.dtype))
    return loss.detach(), a.grad


def kept_bytes(node) -> dict[int, int]:
    """Bytes of each array that a node keeps for backward."""
    kept = [*(node.saved or {}).values(), *(node.outputs or [])]
    arrays = [k[0] for k in kept if k.__class__ is tuple]
    return {id(a): a.nbytes for a in arrays}


# -- values and gradients ------------------------------------------------------------------------------


@pytest.mark.parametrize("casting", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", *HALVES])
def test_as_in_torch(dtype, reduction, casting):
    x, target, rng = numbers()
    g = rng.standard_normal(len(x) if reduction == "none" else ()).astype(np.float32)
    ours = loss_and_gradient(torch, x, target, g, reduction, dtype, casting)
    oracle = pytest.importorskip("torch")
    theirs = loss_and_gradient(oracle, x, target, g, reduction, dtype, casting)
    # PyTorch rounds the log-probabilities of halves between its two kernels, unless it casts them.
    rough = {"bfloat16": 2e-2, "float16": 2e-3}.get(dtype, 0.0) if not casting else 0.0
    for a, b in zip(ours, theirs):
        assert str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1]
        tol = rough or {"float64": 1e-13, "float32": 2e-6}.get(str(a.dtype).split(".")[1], 1e-3)
        np.testing.assert_allclose(a.double().numpy(), b.double().numpy(), rtol=tol, atol=tol)


@pytest.mark.parametrize("shape", [(7, 53), (3, 1), (40, 300)])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", HALVES)
def test_halves_under_autocast_give_the_bits_of_a_cast(dtype, reduction, shape, device):
    x, target, rng = numbers(*shape)
    g = rng.standard_normal(len(x) if reduction == "none" else ()).astype(np.float32)
    loss, gx = loss_and_gradient(torch, x, target, g, reduction, dtype, True, device=device)
    want, wide = loss_and_gradient(torch, x, target, g, reduction, dtype, before=lambda a: a.float(), device=device)
    assert loss.dtype is torch.float32 and str(gx.dtype).endswith(dtype)
    assert torch.equal(loss, want) and torch.equal(gx, wide)


def test_logits_with_gaps_give_the_same_bits():
    x, target, _ = numbers()
    turned = torch.tensor(x.T.copy()).bfloat16().T.requires_grad_()
    dense = torch.tensor(x).bfloat16().requires_grad_()
    for z in (turned, dense):
        with torch.autocast("cpu", torch.bfloat16):
            F.cross_entropy(z, torch.tensor(target)).backward()
    assert not turned._a.flags.c_contiguous
    assert torch.equal(turned.grad, dense.grad)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_every_half_is_read_and_rounded_as_numpy_does(dtype):
    """All 65,536 bit patterns as logits of rows of two: the gradient of 1 shows how they were read and rounded."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    kind = torch.zeros(1).to(getattr(torch, dtype)).numpy().dtype
    rows = np.stack([bits.view(kind), np.zeros(1 << 16, kind)], 1)
    target = np.zeros(1 << 16, np.int64)
    x = torch.from_numpy(rows).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        loss = F.cross_entropy(x, torch.tensor(target), reduction="none")
    scale = np.exp2(np.arange(1 << 16) % 60 - 40.0).astype(np.float32)
    loss.backward(torch.tensor(scale))
    with np.errstate(invalid="ignore"):  # some machines tell of signalling NaN
        wide = torch.from_numpy(rows.astype(np.float32)).requires_grad_()
    want = F.cross_entropy(wide, torch.tensor(target), reduction="none")
    want.backward(torch.tensor(scale))
    np.testing.assert_array_equal(loss.detach().numpy(), want.detach().numpy())
    with np.errstate(over="ignore"):
        rounded = wide.grad.numpy().astype(kind)
    np.testing.assert_array_equal(x.grad.numpy().astype(np.float32), rounded.astype(np.float32), strict=True)


def test_second_derivatives_under_autocast():
    x, target, _ = numbers(4, 6)
    found = []
    for lib in (torch, pytest.importorskip("torch")):
        a = lib.tensor(x).bfloat16().requires_grad_()
        with lib.autocast("cpu", lib.bfloat16):
            loss = lib.nn.functional.cross_entropy(a, lib.tensor(target))
        (g,) = lib.autograd.grad(loss, a, create_graph=True)
        (gg,) = lib.autograd.grad((g.float() ** 2).sum(), a)
        found.append(gg.float().numpy())
    np.testing.assert_allclose(*found, rtol=3e-2, atol=1e-3)


# -- what is kept --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "casting"), [("float32", False), ("bfloat16", False), ("bfloat16", True), ("float64", False)])  # fmt: skip
def test_no_second_array_of_the_logits_size_is_kept(dtype, casting, device):
    x = torch.randn(64, 1000, device=device).to(getattr(torch, dtype)).requires_grad_()
    target = torch.randint(0, 1000, (64,), device=device)
    with torch.autocast(device, torch.bfloat16, enabled=casting):
        loss = F.cross_entropy(x, target)
    kept = kept_bytes(loss.grad_fn)
    assert kept.pop(id(x._a)) == x.nbytes  # the logits themselves
    two_a_row = 64 * 2 * (8 if dtype == "float64" else 4)
    assert sum(kept.values()) <= two_a_row + target.nbytes + 8


# -- programs ------------------------------------------------------------------------------------------


def training(x, t, extra=None, reduction="mean"):
    x = x.detach().requires_grad_()
    wide = x.float()
    loss = F.cross_entropy(wide, t, reduction=reduction)
    out = loss if extra is None else loss + extra(wide)
    return loss.detach(), *torch.autograd.grad(out.sum(), [x])


def arrays(dtype, rows=6, classes=9):
    return torch.randn(rows, classes).to(dtype), torch.randint(0, classes, (rows,))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_casts_around_the_loss_go(place, dtype, reduction):
    def fn(x, t):
        return training(x, t, reduction=reduction)

    program = record(fn, *arrays(dtype))
    assert names(program).count("cast") == 2
    made = drop_entropy_casts(program) if place == "cpu" else for_gpu(drop_entropy_casts, program)
    assert "cast" not in names(made) and "cross_entropy_grad" in names(made)
    check(fn, made, *arrays(dtype))  # every bit


def test_the_cast_in_front_goes_where_nobody_derives():
    def fn(x, t):
        return F.cross_entropy(x.float(), t, reduction="none")

    made = drop_entropy_casts(record(fn, *arrays(torch.bfloat16)))
    assert names(made) == ["cross_entropy_fused"]
    check(fn, made, *arrays(torch.bfloat16))


def test_casts_that_others_read_stay():
    def fn(x, t):
        return training(x, t, extra=lambda wide: wide.sum())

    def seen(x, t):
        wide = x.float()
        return F.cross_entropy(wide, t), wide

    def gradient(x, t):
        x = x.detach().requires_grad_()
        wide = x.float()
        loss = F.cross_entropy(wide, t)
        return (loss.detach(), *torch.autograd.grad(loss, [wide]))

    for f in (fn, seen, gradient):
        program = record(f, *arrays(torch.bfloat16))
        made = drop_entropy_casts(program)
        assert names(made) == names(program)


def test_float64_is_cast_as_before():
    def fn(x, t):
        return F.cross_entropy(x.float(), t)

    x, t = arrays(torch.float64)
    assert "cast" in names(drop_entropy_casts(record(fn, x, t)))


def test_short_rows_under_autocast_are_one_kernel_for_a_gpu():
    def fn(x, t):
        x = x.detach().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(x, t)
        return loss.detach(), *torch.autograd.grad(loss, [x])

    program = record(fn, *arrays(torch.bfloat16))
    assert "cast" not in names(program)
    made = for_gpu(optimise, program)
    assert "cross_entropy_step" in names(made)
    check(fn, made, *arrays(torch.bfloat16), rtol=1e-2)


# -- the gradient in the logits' place -----------------------------------------------------------------


def doubled(x, t, seen=None):
    """A step whose logits are made by the program; `seen` makes a further result of them."""
    x = x.detach().requires_grad_()
    z = x * 2
    loss = F.cross_entropy(z.view(-1, z.shape[-1]), t)
    more = [] if seen is None else [seen(z.detach())]
    out = loss.detach(), *torch.autograd.grad(loss, [x])
    return (*out, *more)


def cubes():
    return torch.randn(2, 3, 9), torch.randint(0, 9, (6,))


def test_the_gradient_is_written_over_the_logits():
    program = record(doubled, *cubes())
    made = write_over(program, force=True)
    assert "cross_entropy_grad_over" in names(made)
    assert "cross_entropy_grad" not in names(made)
    check(doubled, made, *cubes(), rtol=1e-6)
    assert made.peak()[0] < program.peak()[0]


def test_a_device_is_asked_whether_memory_is_worth_it():
    program = record(doubled, *cubes())
    assert names(for_gpu(write_over, program)) == names(program)  # small
    assert names(write_over(program)) == names(program)  # a CPU's program


@pytest.mark.parametrize("seen", [lambda z: z, lambda z: z.view(-1), lambda z: z[0]], ids=["itself", "view", "part"])
def test_logits_that_are_seen_keep_their_place(seen):
    program = record(lambda x, t: doubled(x, t, seen), *cubes())
    assert names(write_over(program, force=True)) == names(program)


def test_logits_that_are_read_later_keep_their_place():
    def fn(x, t):
        x = x.detach().requires_grad_()
        z = x * 2
        (g,) = torch.autograd.grad(F.cross_entropy(z, t), [z])
        return g * z.detach()

    program = record(fn, *arrays(torch.float32))
    assert names(write_over(program, force=True)) == names(program)


def test_arguments_and_results_are_not_written_over():
    def fn(x, t):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(F.cross_entropy(x, t), [x])[0] * 2

    def handed(x, t):
        z = (x * 2).detach().requires_grad_()
        return torch.autograd.grad(F.cross_entropy(z, t), [z])[0]

    for f in (fn, handed):
        program = record(f, *arrays(torch.float32))
        assert names(write_over(program, force=True)) == names(program)
