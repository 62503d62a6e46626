"""saved_tensors_hooks and save_on_cpu: what ops keep for backward, packed and given back."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])


@BOTH
def test_what_is_packed_is_what_is_unpacked(lib):
    packed, unpacked = [], []

    def pack(x):
        packed.append(x.tolist())
        return len(packed), x.numpy().copy() if hasattr(x, "numpy") else x

    def unpack(held):
        unpacked.append(held[0])
        return lib.from_numpy(held[1])

    a, b = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 4.0], requires_grad=True)
    with lib.autograd.graph.saved_tensors_hooks(lambda x: pack(x.detach()), unpack):
        y = (a * b).exp()
    z = y.sum()
    assert sorted(map(str, packed[:2])) == ["[1.0, 2.0]", "[3.0, 4.0]"] and len(packed) == 3
    z.backward()
    assert sorted(unpacked) == [1, 2, 3]
    assert a.grad.tolist() == pytest.approx((b.detach() * y.detach()).tolist())


@BOTH
def test_values_may_be_changed_on_the_way(lib):
    x = lib.ones(3, requires_grad=True)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0, 20.0]


@BOTH
def test_blocks_nest_and_end(lib):
    seen = []

    def hooks(name):
        return lib.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(name), t)[1], lambda t: t)

    x = lib.ones(1, requires_grad=True)
    with hooks("outer"):
        with hooks("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert seen == ["inner", "outer"]
    with lib.autograd.graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            with hooks("never"):
                pass


@BOTH
def test_a_network_trains_the_same(lib):
    grads = []
    for packing in (False, True):
        lib.manual_seed(0)
        net = lib.nn.Sequential(
            lib.nn.Conv2d(1, 2, 3), lib.nn.BatchNorm2d(2), lib.nn.ReLU(), lib.nn.Flatten(), lib.nn.Linear(32, 3)
        )
        x = lib.randn(2, 1, 6, 6)
        if packing:
            with lib.autograd.graph.save_on_cpu():
                loss = net(x).logsumexp(-1).sum()
        else:
            loss = net(x).logsumexp(-1).sum()
        loss.backward()
        grads.append([p.grad.tolist() for p in net.parameters()])
    assert grads[0] == grads[1]


def test_an_unpack_hook_that_gives_no_tensor_is_told():
    x = rushlight.ones(1, requires_grad=True)
    with rushlight.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="expected to be a Tensor"):
        y.backward()
