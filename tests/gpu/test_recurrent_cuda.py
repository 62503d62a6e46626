"""Recurrent layers on the GPU: cuDNN's against our own on the CPU, in every form, eager and captured."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn.utils.rnn import pack_padded_sequence
from rushlight.runtime.door import listening

pytestmark = pytest.mark.skipif(not rl.cuda.is_available(), reason="needs an NVIDIA GPU")

CASES = [
    ("LSTM", {}), ("LSTM", {"num_layers": 2, "bidirectional": True}), ("LSTM", {"bias": False}),
    ("LSTM", {"proj_size": 8, "num_layers": 2, "bidirectional": True}),
    ("LSTM", {"proj_size": 8, "bias": False}), ("LSTM", {"batch_first": True, "num_layers": 3}),
    ("GRU", {"num_layers": 2}), ("GRU", {"bidirectional": True, "bias": False}), ("RNN", {}),
    ("RNN", {"nonlinearity": "relu", "num_layers": 2, "bidirectional": True}),
]  # fmt: skip
IDS = [name + "".join(f"-{k}={v}" for k, v in how.items()) for name, how in CASES]


@pytest.fixture(autouse=True)
def exact() -> Any:
    """float32 products in float32."""
    before = rl.backends.cudnn.allow_tf32
    rl.backends.cudnn.allow_tf32 = False
    yield
    rl.backends.cudnn.allow_tf32 = before
    rl.backends.cudnn.enabled = True


def has_cudnn() -> bool:
    from rushlight.runtime.cuda.library.cudnn import library

    return library() is not None


needs_cudnn = pytest.mark.skipif("not rl.cuda.is_available() or not has_cudnn()", reason="no cuDNN")


@pytest.fixture
def by_cudnn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Our kernel takes no layers."""
    from rushlight.runtime.cuda.bodies.layers import recurrent_choice, recurrent_whole

    monkeypatch.setattr(recurrent_whole, "fits", lambda *about: False)
    chosen = recurrent_choice._choose
    chosen.cache_clear()
    yield
    chosen.cache_clear()


def kernels(call: Any) -> tuple[Any, list[str]]:
    """The result of a call, and the kernels it asked for."""
    names: list[str] = []

    def listener(kernel: Any, arrays: Any, attrs: Any, go: Any) -> Any:
        names.append(kernel.name)
        return go()

    with listening(listener):
        return call(), names


def flat(result: Any) -> list[Any]:
    out, states = result
    out = out.data if isinstance(out, rl.nn.utils.rnn.PackedSequence) else out
    return [out, *(states if isinstance(states, tuple) else (states,))]


def compare(a: Any, b: Any, tolerance: float) -> None:
    np.testing.assert_allclose(
        a.detach().double().cpu().numpy(), b.detach().double().cpu().numpy(), atol=tolerance, rtol=tolerance
    )


def both(net: Any, x: Any, tolerance: float, packed: Any = None) -> list[str]:
    """Run on both devices, compare results and gradients; the kernels of the GPU's forward pass."""
    there = copy.deepcopy(net).to("cuda")
    a, b = x.clone().requires_grad_(), x.to("cuda").requires_grad_()
    wrap = packed or (lambda t: t)
    want = flat(net(wrap(a)))
    found, names = kernels(lambda: flat(there(wrap(b))))
    for one, other in zip(found, want):
        compare(one, other, tolerance)
    loss = lambda outs: sum([(o.double() * o.double()).sum() for o in outs])  # noqa: E731
    loss(want).backward()
    loss(found).backward()
    compare(b.grad, a.grad, 10 * tolerance)
    for one, other in zip(there.parameters(), net.parameters()):
        compare(one.grad, other.grad, 20 * tolerance)
    return names


@needs_cudnn
@pytest.mark.usefixtures("by_cudnn")
@pytest.mark.parametrize(("name", "how"), CASES, ids=IDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients(name: str, how: dict, dtype: str) -> None:
    rl.manual_seed(0)
    d = getattr(rl, dtype)
    net = getattr(rl.nn, name)(12, 16, **how, dtype=d)
    names = both(net, rl.randn(7, 5, 12, dtype=d), 2e-5 if dtype == "float32" else 1e-9)
    assert names.count("rnn_stack") == 1 and "linear" not in names


@needs_cudnn
@pytest.mark.usefixtures("by_cudnn")
@pytest.mark.parametrize(("name", "how"), CASES, ids=IDS)
def test_packed_sequences(name: str, how: dict) -> None:
    rl.manual_seed(1)
    net = getattr(rl.nn, name)(12, 16, **how)
    lengths = [3, 7, 1, 7, 5]

    def pack(x: Any) -> Any:
        first = how.get("batch_first", False)
        x = x.transpose(0, 1) if first else x
        return pack_padded_sequence(x, lengths, batch_first=first, enforce_sorted=False)

    names = both(net, rl.randn(7, 5, 12), 2e-5, pack)
    assert names.count("rnn_stack") == 1


@needs_cudnn
@pytest.mark.usefixtures("by_cudnn")
@pytest.mark.parametrize("algorithm", [0, 1, 3])
@pytest.mark.parametrize("hidden", [16, 128, 256])
def test_every_algorithm_gives_the_same(algorithm: int, hidden: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.runtime.cuda.bodies.layers import recurrent_choice
    from rushlight.runtime.cuda.library import cudnn_rnn

    monkeypatch.setattr(recurrent_choice, "_choose", lambda *key: algorithm)
    rl.manual_seed(2)
    net = rl.nn.LSTM(hidden, hidden, 2)
    x = rl.randn(9, 8, hidden)
    try:
        cudnn_rnn.call_of(
            0, cudnn_rnn.Recurrence("lstm", hidden, hidden, 0, 2, 1, True), "f", False, algorithm, (8,) * 9, True
        )
    except cudnn_rnn.CudnnRefused as error:
        pytest.skip(str(error))
    assert "rnn_stack" in both(net, x, 1e-4)


@needs_cudnn
def test_a_handle_is_not_used_after_a_refused_call() -> None:
    """cuDNN takes such a layer when it is described, and refuses it when it is run; its handle is not used again."""
    from rushlight.runtime.cuda.bodies.layers import recurrent_choice
    from rushlight.runtime.cuda.library import cudnn_rnn

    what, sizes = cudnn_rnn.Recurrence("tanh", 28, 300, 0, 1, 1, True), (128,) * 28
    call = cudnn_rnn.call_of(0, what, "f", False, cudnn_rnn.PERSIST_SMALL, sizes, True)
    run = recurrent_choice._cudnns(call, sizes)
    try:
        run()
    except RuntimeError:
        assert not call.lib.handles
    else:
        pytest.skip("this cuDNN runs it")
    both(rl.nn.RNN(28, 300), rl.randn(9, 40, 28), 2e-5)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(name: str, dtype: str) -> None:
    rl.manual_seed(3)
    net = getattr(rl.nn, name)(16, 32, 2)
    x = rl.randn(6, 4, 16)
    want = flat(net(x))
    d = getattr(rl, dtype)
    there = copy.deepcopy(net).to("cuda")
    with rl.autocast("cuda", dtype=d):
        found = flat(there(x.to("cuda")))
    # PyTorch casts what cuDNN's recurrent layers read to float16, whatever dtype autocast was asked for.
    assert {t.dtype for t in found} == {rl.float16}
    for one, other in zip(found, want):
        compare(one, other, 0.03)
    found[0].float().sum().backward()
    want[0].sum().backward()
    for one, other in zip(there.parameters(), net.parameters()):
        assert one.grad.dtype is rl.float32
        compare(one.grad, other.grad, 0.3)
    low = there.to(d)
    compare(flat(low(x.to("cuda", d)))[0], want[0], 0.05)


@needs_cudnn
@pytest.mark.usefixtures("by_cudnn")
def test_a_retained_graph_can_be_walked_twice() -> None:
    net = rl.nn.LSTM(8, 16, 2).to("cuda")
    x = rl.randn(5, 3, 8).to("cuda").requires_grad_()
    loss = net(x)[0].square().sum()
    loss.backward(retain_graph=True)
    first = [t.grad.clone() for t in (x, *net.parameters())]
    loss.backward()
    for t, g in zip((x, *net.parameters()), first):
        compare(t.grad, 2 * g, 1e-5)


@needs_cudnn
@pytest.mark.usefixtures("by_cudnn")
def test_second_derivatives() -> None:
    net = rl.nn.GRU(3, 4, dtype=rl.float64)
    there = copy.deepcopy(net).to("cuda")
    x = rl.randn(3, 2, 3, dtype=rl.float64)
    results = []
    for module, t in ((net, x.clone()), (there, x.to("cuda"))):
        t.requires_grad_()
        (g,) = rl.autograd.grad(module(t)[0].square().sum(), t, create_graph=True)
        g.square().sum().backward()
        results.append([t.grad, *[p.grad for p in module.parameters()]])
    for a, b in zip(*results):
        compare(b, a, 1e-9)


@needs_cudnn
@pytest.mark.usefixtures("by_cudnn")
def test_unbatched_inference_reserves_nothing() -> None:
    net = rl.nn.LSTM(8, 16)
    there = copy.deepcopy(net).to("cuda")
    x = rl.randn(5, 8)
    with rl.no_grad():
        compare(there(x.to("cuda"))[0], net(x)[0], 1e-5)


def test_the_plain_way_on_the_gpu() -> None:
    rl.backends.cudnn.enabled = False
    rl.manual_seed(4)
    for name in ("LSTM", "GRU", "RNN"):
        names = both(getattr(rl.nn, name)(12, 16, 2), rl.randn(7, 5, 12), 2e-5)
        assert "rnn_stack" not in names


@pytest.mark.parametrize(
    ("batch", "hidden", "sizes"),
    [(3, 6, None), (40, 130, None), (37, 300, None), (0, 130, [37, 37, 20, 16, 2]), (0, 7, [3, 1, 1])],
)
@pytest.mark.parametrize(("name", "how"), [("LSTM", {}), *CASES[1:3], *CASES[6:]])
def test_whole_sequences(name: str, how: dict, batch: int, hidden: int, sizes: list[int] | None) -> None:
    """By one launch whose blocks wait for each other: several blocks, several tiles, sequences that end."""
    from rushlight.runtime.cuda.bodies.layers import recurrent_whole

    rl.backends.cudnn.enabled = False
    rl.manual_seed(7)
    net = getattr(rl.nn, name)(5, hidden, **how)
    x = rl.randn(4, batch, 5) if sizes is None else rl.randn(sum(sizes), 5)
    pack = None if sizes is None else lambda t: rl.nn.utils.rnn.PackedSequence(t, rl.tensor(sizes))
    names = both(net, x, 2e-5, pack)
    assert "rnn_stack" not in names and f"{name.lower()}_sequence" in names
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[name]
    for walk in ("whole_forward", "whole_backward"):
        rows = batch if sizes is None else sizes[0]
        assert recurrent_whole._cut(0, walk, "f", False, gates, hidden, rows) is not None


def test_whole_sequences_side_by_side() -> None:
    """Launches of two streams, each of which fills the GPU, come one after the other."""
    rl.backends.cudnn.enabled = False
    net = rl.nn.LSTM(8, 1000).to("cuda")
    x = rl.randn(30, 16, 8).to("cuda")
    with rl.no_grad():
        want = net(x)[0]
        streams = [rl.cuda.Stream() for _ in range(3)]
        found = []
        for stream in streams * 3:
            stream.wait_stream(rl.cuda.current_stream())
            with rl.cuda.stream(stream):
                found.append(net(x)[0])
        for stream in streams:
            rl.cuda.current_stream().wait_stream(stream)
    assert all(rl.equal(one, want) for one in found)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells(name: str, dtype: str) -> None:
    rl.manual_seed(6)
    net = getattr(rl.nn, name)(24, 40)
    there = copy.deepcopy(net).to("cuda", getattr(rl, dtype))
    x = rl.randn(3, 5, 24)
    tolerance = {"float32": 1e-5, "float64": 1e-5}.get(dtype, 0.03)
    ends = []
    for cell, steps in ((net, x), (there, x.to("cuda", getattr(rl, dtype)))):
        state = None
        for frame in steps:
            state = cell(frame, state)
        ends.append(list(state) if isinstance(state, tuple) else [state])
        sum([s.float().square().sum() for s in ends[-1]]).backward()
    for a, b in zip(*ends):
        compare(b, a, tolerance)
    for a, b in zip(net.parameters(), there.parameters()):
        compare(b.grad, a.grad, 20 * tolerance)


class Words(rl.nn.Module):
    """A small language model."""

    def __init__(self, kind: str, drop: float) -> None:
        super().__init__()
        self.embed = rl.nn.Embedding(50, 24)
        self.rnn = getattr(rl.nn, kind)(24, 32, 2, dropout=drop)
        self.out = rl.nn.Linear(32, 50)

    def forward(self, x: Any) -> Any:
        return self.out(self.rnn(self.embed(x))[0])


@pytest.mark.parametrize("cudnn", [True, False])
@pytest.mark.parametrize(("kind", "drop"), [("LSTM", 0.0), ("LSTM", 0.3), ("GRU", 0.0)])
def test_a_captured_step_equals_eager_ones(kind: str, drop: float, cudnn: bool) -> None:
    rl.backends.cudnn.enabled = cudnn
    losses = []
    for compiled in (False, True):
        rl.manual_seed(5)
        net = Words(kind, drop).to("cuda")
        optimiser = rl.optim.SGD(net.parameters(), lr=0.5)
        batches = [rl.randint(0, 50, (2, 6, 4)).to("cuda") for _ in range(8)]

        def step(x: Any, y: Any, net: Any = net, optimiser: Any = optimiser) -> Any:
            optimiser.zero_grad()
            loss = rl.nn.functional.cross_entropy(net(x).reshape(-1, 50), y.reshape(-1))
            loss.backward()
            rl.nn.utils.clip_grad_norm_(net.parameters(), 0.25)
            optimiser.step()
            return loss

        run = rl.compile(step) if compiled else step
        losses.append([run(x, y).item() for x, y in batches])
        if compiled:
            assert not run.why() and run.replays
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    assert losses[0][-1] != losses[0][0]


@needs_cudnn
def test_lengths_that_change_cost_no_new_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.runtime.cuda.bodies.layers import recurrent_choice

    asked: list[int] = []
    plain = recurrent_choice._milliseconds
    monkeypatch.setattr(recurrent_choice, "_milliseconds", lambda run: asked.append(1) or plain(run))
    net = rl.nn.GRU(20, 33).to("cuda")
    for steps, batch in ((17, 4), (18, 4), (19, 7), (25, 5)):
        net(rl.randn(steps, batch, 20).to("cuda"))
    assert len(asked) <= 4
