"""Selective checkpoints beside PyTorch's: what is computed again, gradients, and errors."""

from __future__ import annotations

from functools import partial

import pytest

import rushlight
import rushlight.utils.checkpoint
from rushlight.utils._python_dispatch import TorchDispatchMode as Ours

torch = pytest.importorskip("torch")
Theirs = pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode

BOTH = pytest.mark.parametrize("t, base", [(rushlight, Ours), (torch, Theirs)], ids=["rushlight", "torch"])


def products(t, base, context):
    """How many products backward computes, and the gradients."""
    seen = []

    class Names(base):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    w = (t.arange(9.0).view(3, 3) / 9).requires_grad_()
    x = t.arange(6.0).view(2, 3) / 6
    y = t.utils.checkpoint.checkpoint(lambda x: ((x @ w).sin() @ w).cos(), x, use_reentrant=False, context_fn=context)
    with Names():
        y.sum().backward()
    return seen.count("aten.mm.default"), seen.count("aten.sin.default"), w.grad.tolist()


@BOTH
def test_kept_products_are_not_computed_again(t, base):
    from_list = partial(t.utils.checkpoint.create_selective_checkpoint_contexts, [t.ops.aten.mm.default])
    plain = t.utils.checkpoint.noop_context_fn
    kept, sines, grads = products(t, base, from_list)
    again, _, same = products(t, base, plain)
    assert (kept, again, sines) == (3, 5, 2)  # one sine is the cosine's derivative
    assert grads == same


@BOTH
def test_a_function_decides(t, base):
    told = []

    def policy(context, op, *args, **kwargs):
        told.append(context.is_recompute)
        keep = op == t.ops.aten.sin.default
        kinds = t.utils.checkpoint.CheckpointPolicy
        return kinds.MUST_SAVE if keep else kinds.PREFER_RECOMPUTE

    context = partial(t.utils.checkpoint.create_selective_checkpoint_contexts, policy)
    _, sines, _ = products(t, base, context)
    assert sines == 1 and {*told} == {False}


@BOTH
def test_wrong_policies(t, base):
    make = t.utils.checkpoint.create_selective_checkpoint_contexts
    with pytest.raises(ValueError, match="to be an OpOverload"):
        make([t.add])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        make(3)
