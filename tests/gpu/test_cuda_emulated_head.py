"""The joined kernels of a classifier's head, compiled for the host and compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from cuda_on_host import kernels, needs_compiler
from rushlight.runtime.cuda.small.head_sizes import HeadCut, is_joined_head, is_whole_head, step_cut, whole_cut

pytestmark = needs_compiler

MODES = {"none": 0, "mean": 1, "sum": 2}
LABELS = {"int64": "i64", "uint8": "u8"}
STEP = "x w bias target gy mask loss g gx logits words".split()
WHOLE = "x w bias target gy mask loss gx gw gb logits".split()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Compile on first use; run(name, cut, blocks, arrays, m, k, ignore, mode)."""
    folder, loaded = tmp_path_factory.mktemp("head"), {}

    def call(name, cut, blocks, arrays, m, k, ignore, mode):
        order = STEP if name == "head_step" else WHOLE
        label = LABELS[arrays["target"].dtype.name]
        constants = {"CLASSES": arrays["w"].shape[0], "LABEL": label, **cut.constants()}
        key = (name, *constants.values())
        if key not in loaded:
            loaded[key] = kernels(folder, "head", [name], **constants)
        found = [arrays.get(a) for a in order]
        loaded[key](name, (blocks,), cut.team * cut.teams, *found, m, k, ignore, mode)

    return call


def numbers(m, n, k, label="int64", mask="own", reduction="mean", ignored=()):
    """The arrays a head reads; every third number of x is 0, so that masks matter."""
    rng = np.random.default_rng(m * 1000 + n * 100 + k)

    def random(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    a = {"x": np.maximum(random(m, k), 0), "w": random(n, k) / 4, "bias": random(n)}
    a["target"] = rng.integers(0, n, m).astype(label)
    a["target"][list(ignored)] = 7 if label == "uint8" else -100
    a["gy"] = random(m) if reduction == "none" else np.float32([3.5])
    a["mask"] = {"own": a["x"], "other": random(m, k), "none": None}[mask]
    return a


def expected(a, ignore, reduction):
    """What the separate kernels compute, in float64."""
    x, w = a["x"].astype(float), a["w"].astype(float)
    logits = x @ w.T + (0 if a["bias"] is None else a["bias"])
    target, rows = a["target"].astype(int), np.arange(len(x))
    valid = target != ignore
    probs = np.exp(logits - logits.max(1, keepdims=True))
    sums = probs.sum(1)
    known = valid & (target >= 0) & (target < len(w))
    at = np.where(known, target, 0)
    losses = np.where(valid, np.log(sums) - (logits - logits.max(1, keepdims=True))[rows, at], 0)
    losses = np.where(valid & ~known, np.nan, losses)
    count = valid.sum() if reduction == "mean" else 1
    slope = np.where(valid, a["gy"] / max(count, 1), 0)
    g = probs / sums[:, None] * slope[:, None]
    g[rows[known], at[known]] -= slope[known]
    gx = g @ w if a["mask"] is None else (g @ w) * (a["mask"] > 0)
    loss = losses if reduction == "none" else losses.sum() / count if count else np.nan
    return {"loss": loss, "g": g, "gx": gx, "gw": g.T @ x, "gb": g.sum(0), "logits": logits}


def check(run, name, a, ignore=-100, reduction="mean", logits=True, cut=None):
    m, k = a["x"].shape
    cut = cut or (step_cut if name == "head_step" else whole_cut)(m, k)
    blocks = -(-m // cut.per_block)
    want = expected(a, ignore, reduction)
    outs = [o for o in (STEP if name == "head_step" else WHOLE) if o in want]
    outs = [o for o in outs if logits or o != "logits"]
    extra = {"words": np.zeros(blocks, np.uint64)}
    for _ in range(2):  # the words return to zero
        made = {o: np.full(np.shape(want[o]) or (1,), np.nan, np.float32) for o in outs}
        run(name, cut, blocks, {**a, **made, **extra}, m, k, ignore, MODES[reduction])
        for o in outs:
            np.testing.assert_allclose(made[o].reshape(np.shape(want[o])), want[o], rtol=2e-4, atol=2e-5, err_msg=o)
    assert not extra["words"].any()


STEPS = [(5, 10, 84), (1, 1, 4), (7, 2, 36), (3, 16, 132), (2, 10, 1000), (4, 3, 260), (2, 5, 1028)]


@pytest.mark.parametrize(("m", "n", "k"), STEPS)
def test_steps_equal_numpy(run, m, n, k):
    assert is_joined_head(m, n, k, "f")
    check(run, "head_step", numbers(m, n, k, ignored=[0] if m > 2 else []))


@pytest.mark.parametrize("m", [33, 45])
def test_blocks_of_several_rows(run, m):
    """HeadCut as for thousands of rows; the last block is not full."""
    check(run, "head_step", numbers(m, 10, 84, ignored=[3, 32]), cut=step_cut(4096, 84))
    check(run, "head_step", numbers(m, 7, 84, mask="other"), cut=step_cut(4096, 84))


def test_many_blocks_leave_their_losses(run):
    """More than one warp reads at once."""
    check(run, "head_step", numbers(270, 3, 4, ignored=[5, 268]), cut=HeadCut(32, 1, 1))


@pytest.mark.parametrize(("m", "n", "k"), [(4, 10, 84), (16, 10, 84), (1, 1, 4), (13, 16, 200), (9, 4, 512)])
def test_whole_heads_equal_numpy(run, m, n, k):
    assert is_whole_head(m, n, k, "f")
    check(run, "head_whole", numbers(m, n, k, ignored=[0] if m > 2 else []))


@pytest.mark.parametrize("name", ["head_step", "head_whole"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("mask", ["own", "other", "none"])
def test_masks_and_reductions(run, name, reduction, mask):
    a = numbers(4, 10, 84, mask=mask, reduction=reduction, ignored=[2])
    check(run, name, a, reduction=reduction, logits=mask == "own")


@pytest.mark.parametrize("name", ["head_step", "head_whole"])
def test_small_labels_and_no_bias(run, name):
    a = numbers(4, 10, 84, label="uint8", ignored=[1])
    a["bias"] = None
    check(run, name, a, ignore=7)
    check(run, name, a)  # bytes are never -100


@pytest.mark.parametrize("name", ["head_step", "head_whole"])
def test_classes_out_of_range(run, name):
    """As the separate kernel: the loss is NaN, the gradient that of no class."""
    a = numbers(4, 10, 84)
    a["target"][1], a["target"][2] = 10, -3
    check(run, name, a)


def test_every_target_ignored(run):
    check(run, "head_step", numbers(4, 10, 84, ignored=range(4)))


def test_cuts():
    """Every multiprocessor first, then rows: the launches of the networks we measure."""
    assert step_cut(100, 1000) == (256, 1, 1)
    assert step_cut(64, 84) == (32, 1, 1)
    assert step_cut(512, 84) == (32, 4, 1)
    assert step_cut(4096, 84) == (32, 8, 4)
    assert whole_cut(4, 84) == (32, 16, 1)
    for m in range(1, 8193, 61):
        for k in (4, 84, 256, 512, 1000, 2048):
            cut = step_cut(m, k)
            assert cut.team * 4 >= k and cut.team * cut.teams <= 512
            assert not is_joined_head(m, 10, k, "f") or -(-m // cut.per_block) <= 1024
    for k in range(4, 513, 4):
        assert whole_cut(16, k).per_block >= 16
