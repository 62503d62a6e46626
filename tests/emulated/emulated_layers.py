"""Layers on the emulated GPU beside the CPU's: attention by products, addmm, group norm.

Attention by products (masks, groups of heads, dropout drawn again on the way back), addmm, group norm.
"""

from __future__ import annotations

from typing import Any

import cupy
import emulated_capture
import numpy as np
from emulated_cupy import Device

import rushlight as rl
from emulated_dropout import on_host, write_state
from rushlight.nn import functional as F
from rushlight.runtime.cuda.code import launch


def product(x: Any, y: Any, flip_x: bool, flip_y: bool, bias: Any = None, *rest: Any, **more: Any) -> Any:
    """What cuBLASLt would answer."""
    a, b = emulated_capture.on_host(x), emulated_capture.on_host(y)
    made = (a.swapaxes(-1, -2) if flip_x else a) @ (b.swapaxes(-1, -2) if flip_y else b)
    made = made if bias is None else made + emulated_capture.on_host(bias)
    out = cupy.ndarray(made.shape, np.float32)
    emulated_capture.on_host(out)[...] = made
    return out


def _values(t: Any, on: str) -> np.ndarray:
    return on_host(t).copy() if on == "cuda" else t.detach().numpy()


def both(arrays: list, mask: Any, groups: int, causal: bool) -> list:
    """The result and the gradients, on the emulated GPU and on the CPU."""
    found = []
    for on in ("cuda", "cpu"):
        q, k, v = [rl.tensor(a).to(on).requires_grad_() for a in arrays]
        given = None if mask is None else rl.tensor(mask).to(on)
        out = F.scaled_dot_product_attention(q, k, v, given, is_causal=causal, enable_gqa=groups != arrays[0].shape[1])
        g = rl.tensor(np.cos(np.arange(out.numel(), dtype=np.float32)).reshape(out.shape)).to(on)
        grads = rl.autograd.grad(out, (q, k, v), g)
        name = out.grad_fn.name()
        assert on == "cpu" or "Attention" in name or mask is not None, name
        found.append([_values(t, on) for t in (out, *grads)])
    return found


def check_forms(rng: np.random.Generator) -> None:
    for groups, n, size, kind, causal in (
        (4, 7, 8, None, False), (4, 7, 8, None, True), (2, 130, 4, None, True), (1, 33, 4, "b", False),
        (4, 9, 4, "f", False), (4, 65, 4, "keys", False),
    ):  # fmt: skip
        shapes = [(2, 4, 5, size), (2, groups, n, size), (2, groups, n, size)]
        arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes]
        seen = rng.random((2, 1, 1, n) if kind == "keys" else (2, 4, 5, n)) < 0.7
        mask: Any = None if kind is None else seen
        if kind == "b":
            seen[:, :, 2] = False  # a query that may look at nothing
        if kind == "f":
            mask = np.where(seen, rng.standard_normal(seen.shape), -np.inf).astype(np.float32)
        for mine, want in zip(*both(arrays, mask, groups, causal)):
            np.testing.assert_allclose(mine, want, rtol=2e-5, atol=2e-5)


def check_dropout(rng: np.random.Generator) -> None:
    """With an identity matrix as values the result is the weights that were kept."""
    q, k = [rl.tensor(rng.standard_normal((1, 2, 30, 8)).astype(np.float32)).to("cuda") for _ in "qk"]
    v = rl.eye(30).expand(1, 2, 30, 30).contiguous().to("cuda").requires_grad_()
    out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.25)
    scores = on_host(q) @ on_host(k).swapaxes(-1, -2) / np.sqrt(8)
    plain = np.exp(scores - scores.max(-1, keepdims=True))
    plain /= plain.sum(-1, keepdims=True)
    weights = on_host(out).copy()
    kept = weights != 0
    assert 0.7 < kept.mean() < 0.8, kept.mean()
    np.testing.assert_allclose(weights[kept], (plain / 0.75)[kept], rtol=1e-4)
    g = rl.tensor(rng.standard_normal((1, 2, 30, 30)).astype(np.float32)).to("cuda")
    (gv,) = rl.autograd.grad(out, v, g)
    np.testing.assert_allclose(on_host(gv), weights.swapaxes(-1, -2) @ on_host(g), atol=1e-4)
    again = on_host(F.scaled_dot_product_attention(q, k, v, dropout_p=0.25))
    assert ((again != 0) != kept).any()


def check_addmm(rng: np.random.Generator) -> None:
    """A product with a vector, a row or a matrix added, scaled and not."""
    x, y = [rng.standard_normal(s).astype(np.float32) for s in ((5, 7), (7, 6))]
    for shape, how in (((6,), {}), ((1, 6), {}), ((5, 6), {}), ((6,), {"alpha": 2, "beta": 0.5})):
        found = []
        for on in ("cuda", "cpu"):
            b = rl.tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape)).to(on)
            b.requires_grad_()
            out = rl.addmm(b, rl.tensor(x).to(on), rl.tensor(y).to(on), **how)
            found.append([_values(out, on), _values(rl.autograd.grad(out.sum(), b)[0], on)])
        for mine, want in zip(*found):
            np.testing.assert_allclose(mine, want, rtol=2e-5, atol=2e-5)


def check_group_norm(rng: np.random.Generator) -> None:
    arrays = [rng.standard_normal(s).astype(np.float32) for s in ((2, 6, 3, 5), (6,), (6,))]
    found = []
    for on in ("cuda", "cpu"):
        x, w, b = [rl.tensor(a).to(on).requires_grad_() for a in arrays]
        out = F.group_norm(x, 3, w, b)
        assert "GroupNorm" in out.grad_fn.name()
        g = rl.tensor(np.cos(np.arange(180, dtype=np.float32)).reshape(2, 6, 3, 5)).to(on)
        found.append([_values(t, on) for t in (out, *rl.autograd.grad(out, (x, w, b), g))])
    for mine, want in zip(*found):
        np.testing.assert_allclose(mine, want, rtol=2e-5, atol=2e-5)


def check_norms(rng: np.random.Generator) -> None:
    """Layer and root-mean-square norm: each kind twice, then at an address that is less aligned, in C and without."""
    for in_c, shape, dims, weighted in (
        (True, (3, 5, 8), 1, True), (True, (6, 7), 1, True), (True, (4, 2, 12), 2, False), (False, (2, 5, 8), 1, True),
        (False, (3, 5, 12), 1, False),
    ):  # fmt: skip
        launch._in_c = in_c
        inner = shape[len(shape) - dims :]
        arrays = [rng.standard_normal(s).astype(np.float32) for s in (shape, inner, inner, shape)]
        for way in ("plain", "again", "window", "turned"):
            found = []
            for on in ("cuda", "cpu"):
                x, w, b, g = [_laid(a, on, way if i == 0 else "plain") for i, a in enumerate(arrays)]
                given = (x, w, b) if weighted else (x,)
                out = F.layer_norm(x, inner, *given[1:])
                other = F.rms_norm(x, inner, *given[1:2])
                made = [out, *rl.autograd.grad(out, given, g)]
                made += [other, *rl.autograd.grad(other, given[:2], g)]
                found.append([_values(t, on) for t in made])
            for mine, want in zip(*found):
                np.testing.assert_allclose(mine, want, rtol=2e-5, atol=2e-5)
    launch._in_c = True


def _laid(a: np.ndarray, on: str, way: str) -> Any:
    """An array on a device: as it is, behind a first number of its memory, or with its first dims swapped there."""
    t = rl.tensor(a).to(on)
    if way == "window":
        t = rl.cat([t.reshape(-1)[:1], t.reshape(-1)])[1:].reshape(t.shape)
    if way == "turned":
        t = t.transpose(0, 1).contiguous().transpose(0, 1)
    return t.detach().requires_grad_()


def main() -> None:
    emulated_capture.install()
    from rushlight.runtime.cuda.bodies import products
    from rushlight.runtime.cuda.bodies.layers import attention_products
    from rushlight.runtime.cuda.bodies.stream import DrawStream

    attention_products.product = products.product = product
    cupy.cuda.Device, DrawStream._write = Device, write_state
    rl.manual_seed(3)
    rng = np.random.default_rng(0)
    check_forms(rng)
    check_dropout(rng)
    check_addmm(rng)
    check_group_norm(rng)
    check_norms(rng)
    print("equal")


if __name__ == "__main__":
    main()
