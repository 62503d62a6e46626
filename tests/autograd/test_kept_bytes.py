"""What a forward pass keeps for its backward: no more bytes than PyTorch keeps for the same network."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")


def kept_bytes(lib: Any, run: Callable[[Any, Any], Any], outside: tuple) -> int:
    """Bytes of all memory that nodes keep, each counted once, without the parameters and inputs."""
    found: dict[int, int] = {}
    held = []

    def pack(t: Any) -> Any:
        held.append(t)
        storage = t.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
        return t

    with lib.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = run(lib, lib.nn.functional)
    for t in outside:
        found.pop(t.untyped_storage().data_ptr(), None)
    del out
    return sum(found.values())


def transformer_block(lib: Any, F: Any) -> tuple:
    x = lib.randn(4, 16, 64, requires_grad=True)
    scale, shift = lib.ones(64, requires_grad=True), lib.zeros(64, requires_grad=True)
    wide, narrow = lib.randn(256, 64, requires_grad=True), lib.randn(64, 256, requires_grad=True)

    def run(lib: Any, F: Any) -> Any:
        h = F.layer_norm(x, (64,), scale, shift)
        # multiplied by a number: what comes after the norm keeps nothing of its result
        return x + F.linear(F.gelu(F.linear(h * 2.0, wide)), narrow)

    return run, (x, scale, shift, wide, narrow)


def group_normed(lib: Any, F: Any) -> tuple:
    x = lib.randn(4, 16, 8, 8, requires_grad=True)
    scale = lib.ones(16, requires_grad=True)

    def run(lib: Any, F: Any) -> Any:
        return (F.group_norm(x, 4, scale) * 3.0).sum()

    return run, (x, scale)


def batch_normed(lib: Any, F: Any) -> tuple:
    x = lib.randn(4, 16, 8, 8, requires_grad=True)
    scale = lib.ones(16, requires_grad=True)

    def run(lib: Any, F: Any) -> Any:
        return (F.batch_norm(x, None, None, scale, training=True) * 3.0).sum()

    return run, (x, scale)


@pytest.mark.parametrize("make", [transformer_block, group_normed, batch_normed])
def test_no_more_is_kept_than_by_pytorch(make):
    ours = kept_bytes(rushlight, *make(rushlight, rushlight.nn.functional))
    theirs = kept_bytes(torch, *make(torch, torch.nn.functional))
    assert ours <= theirs


@pytest.mark.parametrize("in_c", [True, False])
def test_an_output_that_no_derivative_reads_is_given_back(in_c, monkeypatch):
    from rushlight.core import op

    if not in_c:
        for (cls, name), method in zip(op.IN_C, op.IN_PYTHON):
            monkeypatch.setattr(cls, name, method)
    x = rushlight.randn(4, 8, requires_grad=True)
    y = rushlight.nn.functional.layer_norm(x, (8,))
    z = y * 2.0
    array = weakref.ref(y._a)
    del y
    gc.collect()
    assert array() is None
    z.sum().backward()
    assert x.grad.shape == (4, 8)
