"""Recurrent layers by a device's own library: the ops around it, with PyTorch in the place of the library."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import rushlight as rl
from rushlight.capture.state import known
from rushlight.operators.layers import recurrent
from rushlight.runtime import devices
from rushlight.runtime.door import KERNELS
from rushlight.runtime.recurrent import Recurrence, Way

torch = pytest.importorskip("torch")
NAMES = {"lstm": "LSTM", "gru": "GRU", "tanh": "RNN", "relu": "RNN"}
CALLS: list[str] = []


def layers(what: Recurrence, w: np.ndarray, way: Way) -> torch.nn.Module:
    """PyTorch's layers with the weights that lie in `w`."""
    more = {"proj_size": what.projected} if what.projected else {}
    if what.mode in ("tanh", "relu"):
        more["nonlinearity"] = what.mode
    net = getattr(torch.nn, NAMES[what.mode])(
        what.width, what.hidden, what.layers, bias=what.biased, bidirectional=what.directions == 2,
        dtype=torch.as_tensor(w).dtype, **more,
    )  # fmt: skip
    for p, at in zip(net.parameters(), way.places):
        p.data = torch.tensor(w[at : at + p.numel()]).reshape(p.shape)
    return net


def run(what: Recurrence, way: Way, x, h0, c0, w, sizes):  # noqa: ANN001, ANN201
    net = layers(what, w, way)
    leaves = [torch.tensor(a).requires_grad_() for a in (x, h0, c0) if a is not None]
    packed = torch.nn.utils.rnn.PackedSequence(leaves[0], torch.tensor(sizes))
    out, states = net(packed, tuple(leaves[1:]) if c0 is not None else leaves[1])
    return net, leaves, (out.data, *(states if c0 is not None else (states,)))


def stack(x, h0, c0, w, *, what, way, sizes, training):  # noqa: ANN001, ANN201
    CALLS.append(f"forward {what.layers}" + (" training" if training else ""))
    outs = [o.detach().numpy() for o in run(what, way, x, h0, c0, w, sizes)[2]]
    return (outs[0], np.zeros(3 if training else 0, np.uint8), *outs[1:])


def stack_grad(x, h0, c0, w, y, reserve, gy, gh, gc, *, what, way, sizes):  # noqa: ANN001, ANN201
    CALLS.append(f"backward {what.layers}")
    assert reserve.size == 3 and not reserve.any()
    net, leaves, outs = run(what, way, x, h0, c0, w, sizes)
    given = [(o, torch.as_tensor(g)) for o, g in zip(outs, (gy, gh, gc)) if g is not None]
    torch.autograd.backward([o for o, _ in given], [g for _, g in given])
    gw = np.zeros_like(w)
    for p, at in zip(net.parameters(), way.places):
        gw[at : at + p.numel()] = p.grad.numpy().reshape(-1)
    return (*[leaf.grad.numpy() for leaf in leaves], gw)


def stack_grad_over(x, h0, c0, w, y, reserve, *rest, **attrs):  # noqa: ANN001, ANN002, ANN003, ANN201
    """As cuDNN does it: what forward left is gone afterwards."""
    assert not reserve.any(), "this was written over before"
    found = stack_grad(x, h0, c0, w, y, reserve, *rest, **attrs)
    CALLS[-1] += " over"
    reserve[...] = 9
    return found


def way(what: Recurrence, char: str, sizes: tuple, training: bool) -> Way | None:
    """Weights in another order than PyTorch's, with gaps between them; bfloat16 is refused."""
    if char not in "fd":
        return None
    places, at = [], 5
    for shape in reversed(what.shapes()):
        places.append(at)
        at += int(np.prod(shape)) + 2
    return Way(7, False, tuple(reversed(places)), at)


stack.way = way


@pytest.fixture(autouse=True)
def library() -> Iterator[None]:
    """The CPU with a library of its own."""
    bodies = {"rnn_stack": stack, "rnn_stack_grad": stack_grad, "rnn_stack_grad_over": stack_grad_over}
    devices.overrides("cpu").update(bodies)
    for name in bodies:
        KERNELS[name].impls.clear()
    CALLS.clear()
    yield
    for name in bodies:
        devices.overrides("cpu").pop(name, None)
        KERNELS[name].impls.clear()


CASES = [
    ("LSTM", {}), ("LSTM", {"num_layers": 2, "bidirectional": True}), ("LSTM", {"bias": False}),
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True}),
    ("LSTM", {"batch_first": True}), ("GRU", {"num_layers": 2}), ("GRU", {"bidirectional": True}),
    ("RNN", {}), ("RNN", {"nonlinearity": "relu", "num_layers": 2}),
]  # fmt: skip


def pair(name: str, how: dict, dtype: str = "float64"):  # noqa: ANN201
    """The same layers of both libraries."""
    theirs = getattr(torch.nn, name)(3, 4, **how, dtype=getattr(torch, dtype))
    ours = getattr(rl.nn, name)(3, 4, **how, dtype=getattr(rl, dtype))
    for a, b in zip(ours.parameters(), theirs.parameters()):
        a.data = rl.tensor(b.detach().numpy())
    return ours, theirs


def flat(result) -> list:  # noqa: ANN001
    out, states = result
    return [out, *(states if isinstance(states, tuple) else (states,))]


@pytest.mark.parametrize(("name", "how"), CASES)
def test_values_and_gradients(name: str, how: dict) -> None:
    ours, theirs = pair(name, how)
    data = np.random.default_rng(0).standard_normal((5, 2, 3))
    x, tx = rl.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    mine, want = flat(ours(x)), flat(theirs(tx))
    assert CALLS == [f"forward {how.get('num_layers', 1)} training"]
    for a, b in zip(mine, want):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-12)
    sum([(a * a).sum() for a in mine]).backward()
    sum([(b * b).sum() for b in want]).backward()
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), atol=1e-12)
    for a, b in zip(ours.parameters(), theirs.parameters()):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize(("name", "how"), [CASES[3], CASES[5], CASES[7]])
def test_only_the_last_state_and_twice(name: str, how: dict) -> None:
    ours, theirs = pair(name, how)
    data = np.random.default_rng(1).standard_normal((4, 2, 3))
    x, tx = rl.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    mine, want = flat(ours(x))[-1].sum(), flat(theirs(tx))[-1].sum()
    for _ in range(2):
        mine.backward(retain_graph=True)
        want.backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), atol=1e-12)


def test_a_graph_that_is_freed_lets_what_forward_left_be_written_over() -> None:
    """A copy of it was a sixth of a tagger's memory on an H200; PyTorch makes none either."""
    ours, theirs = pair("GRU", {})
    data = np.random.default_rng(1).standard_normal((4, 2, 3))
    x, tx = rl.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    mine, want = ours(x)[0].sum(), theirs(tx)[0].sum()
    for keep in (True, True, False):
        mine.backward(retain_graph=keep)
        want.backward(retain_graph=keep)
    assert CALLS[1:] == ["backward 1", "backward 1", "backward 1 over"]
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), atol=1e-12)


def test_derivatives_asked_for_inside_of_a_pass_leave_it_as_it_is() -> None:
    ours, _ = pair("GRU", {})
    data = np.random.default_rng(1).standard_normal((4, 2, 3))
    x = rl.tensor(data, requires_grad=True)
    y = ours(x)[0]
    node = y.grad_fn
    while node.name() != "CudnnRnnBackward0":
        node = node.next_functions[0][0]
    found = []

    def once_more(g: rl.Tensor) -> None:
        by_hand = node(g.reshape(8, 4), None, rl.zeros(1, 2, 4, dtype=g.dtype))[0]
        found.append(by_hand.reshape(x.shape))
        found.append(rl.autograd.grad(y, x, g, retain_graph=True)[0])

    z = y * 1
    z.register_hook(once_more)
    z.sum().backward()
    assert CALLS[1:] == ["backward 1", "backward 1", "backward 1 over"]
    for g in found:
        np.testing.assert_array_equal(g.numpy(), x.grad.numpy())


@pytest.fixture
def known_library() -> Iterator[None]:
    """The stand-in is no code of the user's."""
    codes = {f.__code__ for f in (way, stack, stack_grad, stack_grad_over, run, layers)}
    known.BELOW.update(codes)
    yield
    known.BELOW.difference_update(codes)


@pytest.mark.usefixtures("known_library")
def test_compiled_steps_write_over_it_too() -> None:
    ours, _ = pair("GRU", {"num_layers": 2, "bidirectional": True})
    data = np.random.default_rng(1).standard_normal((4, 2, 3))
    x = rl.tensor(data)

    def step(x: rl.Tensor, keep: bool) -> list:
        ours.zero_grad()
        loss = ours(x)[0].square().sum()
        loss.backward(retain_graph=keep)
        if keep:
            loss.backward()
        return [p.grad for p in ours.parameters()]

    for keep in (False, True):
        want = [g.numpy().copy() for g in step(x, keep)]
        compiled = rl.compile(step, fullgraph=True)
        for _ in range(4):
            for a, b in zip(compiled(x, keep), want):
                np.testing.assert_array_equal(a.numpy(), b)
        names = [ins.name for ins in compiled.program().instructions]
        assert names.count("rnn_stack_grad_over") == 1
        assert names.count("rnn_stack_grad") == int(keep)


def second_derivatives(name: str, how: dict) -> None:
    ours, theirs = pair(name, how)
    data = np.random.default_rng(2).standard_normal((3, 2, 3))
    x, tx = rl.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    results = []
    for net, t, lib in ((ours, x, rl), (theirs, tx, torch)):
        out = flat(net(t))[0]
        (g,) = lib.autograd.grad((out * out).sum(), t, create_graph=True)
        (g * g).sum().backward()
        results.append([t.grad, *[p.grad for p in net.parameters()]])
    for a, b in zip(*results):
        if b is not None:
            np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-10)


@pytest.mark.parametrize(("name", "how"), CASES)
def test_second_derivatives(name: str, how: dict) -> None:
    second_derivatives(name, how)
    assert "backward" in CALLS[1]


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_second_derivatives_in_the_plain_way(name: str) -> None:
    """They failed where an input (the state that nobody gave) has no gradient."""
    devices.overrides("cpu").pop("rnn_stack")
    second_derivatives(name, {})
    assert not CALLS


def test_packed_sequences() -> None:
    ours, theirs = pair("LSTM", {"bidirectional": True, "num_layers": 2})
    data, lengths = np.random.default_rng(3).standard_normal((5, 3, 3)), [2, 5, 3]
    x, tx = rl.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    a, a_states = ours(rl.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False))
    b, b_states = theirs(torch.nn.utils.rnn.pack_padded_sequence(tx, lengths, enforce_sorted=False))
    assert CALLS == ["forward 2 training"]
    for one, other in zip((a.data, *a_states), (b.data, *b_states)):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), atol=1e-12)
    a.data.sum().backward()
    b.data.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), atol=1e-12)


def test_without_gradients_nothing_is_reserved() -> None:
    ours, _ = pair("GRU", {})
    with rl.no_grad():
        ours(rl.zeros(2, 1, 3, dtype=rl.float64))
    assert CALLS == ["forward 1"]


def test_dropout_comes_from_our_stream() -> None:
    ours, theirs = pair("LSTM", {"num_layers": 3, "dropout": 0.4}, "float32")
    x = np.random.default_rng(4).standard_normal((6, 2, 3)).astype("f")
    rl.manual_seed(5)
    first, (h, _) = ours(rl.tensor(x))
    assert CALLS == ["forward 1 training"] * 3 and h.shape == (3, 2, 4)
    rl.manual_seed(5)
    devices.overrides("cpu")["rnn_stack"] = lambda *args, **attrs: None  # has no way of its own
    again, _ = ours(rl.tensor(x))
    np.testing.assert_allclose(first.detach().numpy(), again.detach().numpy(), atol=1e-6)
    ours.eval()
    plain, _ = ours(rl.tensor(x))
    want = theirs.eval()(torch.tensor(x))[0]
    np.testing.assert_allclose(plain.detach().numpy(), want.detach().numpy(), atol=1e-6)


def test_half_precision_runs_in_float32_where_it_is_refused() -> None:
    ours, theirs = pair("LSTM", {}, "float32")
    x = np.random.default_rng(6).standard_normal((3, 2, 3)).astype("f")
    with rl.autocast("cpu", dtype=rl.bfloat16):
        out, (h, c) = ours(rl.tensor(x))
    assert CALLS == ["forward 1 training"] and {out.dtype, h.dtype, c.dtype} == {rl.bfloat16}
    want = theirs(torch.tensor(x))[0]
    np.testing.assert_allclose(out.detach().float().numpy(), want.detach().numpy(), atol=0.01)
    out.float().sum().backward()
    assert ours.weight_ih_l0.grad.dtype is rl.float32


def test_what_does_not_fit_goes_the_plain_way() -> None:
    ours, _ = pair("LSTM", {})
    with pytest.raises(RuntimeError):
        rl.lstm(
            rl.zeros(2, 1, 4, dtype=rl.float64), (rl.zeros(1, 1, 4), rl.zeros(1, 1, 4)),
            list(ours.parameters()), True, 1, 0.0, False, False, False,
        )  # fmt: skip
    assert not CALLS


def test_a_device_without_a_library_is_told() -> None:
    what = Recurrence("lstm", 3, 4, 0, 1, 1, True)
    with pytest.raises(RuntimeError, match="no recurrent layers of its own"):
        recurrent._stack_body(np, *[None] * 4, what=what, way=None, sizes=(), training=True)
