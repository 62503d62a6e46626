"""What strangers tried and found, each beside PyTorch: edges of graphs, options at their ends, refused calls."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])


@BOTH
def test_batch_norm_wants_an_eps_above_zero_in_training(lib: Any) -> None:
    x, F = lib.ones(4, 3), lib.nn.functional
    for net in (lib.nn.BatchNorm1d(3, eps=0), lib.nn.BatchNorm1d(3, eps=0, momentum=None)):
        with pytest.raises(ValueError, match="eps must be positive during training, but got 0"):
            net(x)
        assert net.eval()(x).tolist() == [[1.0] * 3] * 4
    with pytest.raises(ValueError, match="eps must be non-negative, but got -1"):
        F.batch_norm(x, lib.zeros(3), lib.ones(3), eps=-1)
    with pytest.raises(ValueError, match="eps must be positive"):
        F.batch_norm(x, None, None, training=True, eps=0.0)
    lib.batch_norm(x + lib.eye(4, 3), None, None, None, None, True, 0.1, 0.0, False)  # takes it


@BOTH
def test_edges_of_a_graph_stand_for_their_tensors(lib: Any) -> None:
    grad, edge_of = lib.autograd.grad, lib.autograd.graph.get_gradient_edge
    x = lib.ones(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    edge = edge_of(y)
    assert edge._fields == ("node", "output_nr", "ownership_token")
    assert edge.node is y.grad_fn and edge.output_nr == 0
    assert grad(z, edge_of(x), retain_graph=True)[0].tolist() == [8.0] * 3
    got = grad(z, [edge, x], retain_graph=True)
    assert [g.tolist() for g in got] == [[4.0] * 3, [8.0] * 3]
    assert grad(edge_of(z), x, lib.tensor(1.0), retain_graph=True)[0].tolist() == [8.0] * 3
    lib.autograd.backward(z, inputs=[edge_of(x)], retain_graph=True)
    lib.autograd.backward(edge_of(z), lib.tensor(1.0), retain_graph=True)
    assert x.grad.tolist() == [16.0] * 3
    unused = edge_of(lib.ones(2, requires_grad=True))
    assert grad(z, unused, allow_unused=True, retain_graph=True) == (None,)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used"):
        grad(z, unused, materialize_grads=True, retain_graph=True)
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges"):
        grad(z, (y.grad_fn, 0))
    with pytest.raises(AssertionError, match=r"Expected output to be a torch\.Tensor"):
        grad((z.grad_fn, 0), x)
