"""Memory of compiled functions: a recorded call needs what an eager one does, and programs say what they need."""

from __future__ import annotations

import functools
import gc
import re
import weakref
from pathlib import Path

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.capture import owners
from rushlight.capture.record.recorder import Recorder
from rushlight.capture.record.refusals import RuleOfCalls
from rushlight.capture.state.known import BELOW
from rushlight.core.memory import root_array
from rushlight.runtime.door import KERNELS, Kernel, listening, run
from rushlight.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).split(c, dim=2)
        q, k, v = [a.view(b, t, self.heads, -1).transpose(1, 2) for a in (q, k, v)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(x)


def mlp():
    net = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(128, 128), nn.ReLU())], nn.Linear(128, 10))
    return net, torch.randn(1024, 128), torch.randint(0, 10, (1024,))


def conv():
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2048, 10),
    )  # fmt: skip
    return net, torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))


def transformer():
    net = nn.Sequential(nn.Embedding(300, 64), *[Attention() for _ in range(3)], nn.Linear(64, 300))
    x = torch.randint(0, 300, (8, 48))
    return net, x, torch.randint(0, 300, (8, 48))


NETWORKS = {"mlp": mlp, "conv": conv, "transformer": transformer}


def training(net, opt):
    def step(x, y):
        opt.zero_grad()
        out = net(x)
        loss = F.cross_entropy(out.reshape(-1, out.shape[-1]), y.reshape(-1))
        loss.backward()
        opt.step()
        return loss

    return step


class Meter:
    """A listener at the door that follows the memory kernels make, and its peak."""

    def __init__(self):
        self.now = self.peak = 0
        self.roots = {}

    def __call__(self, kernel, arrays, attrs, call):
        known = {id(root_array(a)) for a in arrays if isinstance(a, np.ndarray)}
        out = call()
        for o in out if isinstance(out, (tuple, list)) else (out,):
            root = root_array(o)
            if isinstance(root, np.ndarray) and id(root) not in known | self.roots.keys():
                self.roots[id(root)] = weakref.ref(root, functools.partial(self.gone, id(root), root.nbytes))
                self.now += root.nbytes
                self.peak = max(self.peak, self.now)
        return out

    def gone(self, key, nbytes, _):
        del self.roots[key]
        self.now -= nbytes


BELOW.add(Meter.gone.__code__)  # it runs wherever memory is freed, as a device's own code does


def peak_of(call):
    """The most bytes alive at once of those that kernels made during a call."""
    gc.collect()
    meter = Meter()
    with listening(meter):
        call()
    return meter.peak


@pytest.mark.parametrize("name", NETWORKS)
def test_a_recorded_call_needs_the_memory_of_an_eager_one(name):
    torch.manual_seed(0)
    net, x, y = NETWORKS[name]()
    step = training(net, torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9))
    for _ in range(3):  # the optimiser's state is there, and kernels have chosen their way
        step(x, y)
    eager = peak_of(lambda: step(x, y))
    compiled = torch.compile(step)
    recorded = peak_of(lambda: compiled(x, y))
    assert not compiled.replays
    assert recorded <= 1.2 * eager, (recorded, eager)


def test_references_are_counted_in_one_place() -> None:
    room = Path(owners.__file__).parent
    files = [f for kind in ("py", "c", "h") for f in room.rglob(f"*.{kind}")]
    counting = {f.name for f in files if re.search(r"getrefcount|Py_REFCNT", f.read_text())}
    assert counting == {"owners.py", "owners.h"}


def test_an_array_at_an_old_address_is_not_taken_for_the_old_one():
    x = np.ones(50, np.float32)
    recorder = Recorder(RuleOfCalls({}, []), [x])
    seen = set()
    with listening(recorder):
        for _ in range(20):  # each result dies before the next is made
            seen.add(id(run(KERNELS["exp"], np.ndarray, (x,), {})))
        outside = [np.zeros(50, np.float32) for _ in range(20)]
        for a in outside:
            run(KERNELS["exp"], np.ndarray, (a,), {})
    assert len(seen) < 20 or seen & set(map(id, outside))  # there were such arrays
    code = recorder.instructions
    assert len({ins.outputs[0].storage.number for ins in code}) == 40
    assert [ins.reads[0].storage.kind for ins in code] == ["argument"] * 20 + ["constant"] * 20


def test_an_array_that_a_kernel_hands_out_again_is_a_new_value():
    """As launches on a GPU do with small results that nobody holds any more."""
    memory = np.empty(3)

    def double(xp, x):
        return xp.multiply(x, 2, out=memory)

    kernel = Kernel("double_into_the_same", double)
    recorder = Recorder(RuleOfCalls({}, []), [np.ones(3)])
    with listening(recorder):
        first = run(kernel, np.ndarray, (np.ones(3),), {})
        second = run(kernel, np.ndarray, (np.zeros(3),), {})
        view = run(KERNELS["exp"], np.ndarray, (second,), {})
    del KERNELS["double_into_the_same"]
    assert first is second and view is not second
    one, two, use = recorder.instructions
    assert one.outputs[0].storage is not two.outputs[0].storage
    assert use.reads[0].storage is two.outputs[0].storage


def test_gradients_there_before_are_given_up_when_the_step_does():
    net = nn.Linear(64, 64)
    step = training(net, torch.optim.SGD(net.parameters(), lr=0.1))
    x, y = torch.randn(8, 64), torch.randint(0, 64, (8,))
    step(x, y)
    seen = []

    def watching(x, y):
        old = weakref.ref(net.weight.grad._a)
        net.zero_grad()
        seen.append(old())
        return step(x, y)

    compiled = torch.compile(watching)
    compiled(x, y)
    assert seen == [None]


def test_memory_of_a_recorded_call_is_given_back():
    net, x, y = mlp()
    compiled = torch.compile(training(net, torch.optim.SGD(net.parameters(), lr=0.01)))
    meter = Meter()
    with listening(meter):
        for _ in range(2):
            compiled(x, y)
    gc.collect()
    parameters = sum(p.numel() * 4 for p in net.parameters())
    assert meter.now <= 1.1 * parameters + 10000  # the gradients are left


def blocks(checkpointed, drop=0.0):
    torch.manual_seed(0)
    net = nn.Sequential(
        *[nn.Sequential(nn.Linear(32, 256), nn.GELU(), nn.Dropout(drop), nn.Linear(256, 32)) for _ in range(6)]
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        opt.zero_grad()
        y = x
        for block in net:
            y = checkpoint(block, y, use_reentrant=False) if checkpointed else block(y)
        loss = (y * y).mean()
        loss.backward()
        opt.step()
        return loss

    return net, step


def test_checkpoints_save_memory_in_a_program():
    x = torch.randn(256, 32)
    found = []
    for checkpointed in (False, True):
        net, step = blocks(checkpointed)
        eager_net, eager = blocks(checkpointed)
        compiled = torch.compile(step, fullgraph=True)
        for _ in range(5):
            np.testing.assert_allclose(compiled(x).item(), eager(x).item(), rtol=1e-5)
        for p, q in zip(net.parameters(), eager_net.parameters()):
            np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-4, atol=1e-6)
        assert compiled.replays, compiled.why()
        names = [ins.name for ins in compiled.program().instructions]
        found.append((compiled.program().peak()[0], compiled.program().arena_bytes, names))
    plain, saving = found
    assert saving[0] < 0.5 * plain[0] and saving[1] < 0.6 * plain[1]
    assert len(saving[2]) > len(plain[2])  # computed again, not kept


def test_checkpoints_with_random_numbers_draw_once_in_a_program():
    x = torch.randn(64, 32)
    net, step = blocks(True, drop=0.4)
    eager_net, eager = blocks(False, drop=0.4)
    compiled = torch.compile(step, fullgraph=True)
    for seed in range(5):
        torch.manual_seed(seed)
        one = compiled(x)
        torch.manual_seed(seed)
        np.testing.assert_allclose(one.item(), eager(x).item(), rtol=1e-5)
        for p, q in zip(net.parameters(), eager_net.parameters()):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-6)
    assert compiled.replays, compiled.why()


def test_what_a_checkpoint_draws_may_be_changed_in_place():
    x = torch.ones(50, requires_grad=True)

    def part(a):
        return a * torch.rand(50).add_(1.0)

    def step(x):
        y = checkpoint(part, x, use_reentrant=False)
        return y.detach(), torch.autograd.grad(y.sum(), x)[0]

    compiled = torch.compile(step, fullgraph=True)
    for _ in range(5):
        y, g = compiled(x)
        np.testing.assert_array_equal(y.numpy(), g.numpy())
    assert compiled.replays, compiled.why()


def test_a_program_says_what_it_needs():
    net, x, y = mlp()
    compiled = torch.compile(training(net, torch.optim.SGD(net.parameters(), lr=0.01)))
    for _ in range(4):
        compiled(x, y)
    program = compiled.program()
    most, at, alive = program.peak()
    spans = program.lifetimes()
    live = [s for s in program.storages if s.number in spans and s.kind == "made"]
    for moment in range(len(program)):
        assert most >= sum(s.nbytes for s in live if spans[s.number][0] <= moment <= spans[s.number][1])
    assert most == sum(s.nbytes for s in alive) <= program.arena_bytes
    text = str(program)
    assert "alive at once" in text and "the largest:" in text
    assert "float32[1024, 128] by" in text and "test_capture_memory.py:" in text


def test_gradients_that_a_step_throws_away_take_no_memory_of_its_program():
    net, x, y = mlp()
    compiled = torch.compile(training(net, torch.optim.SGD(net.parameters(), lr=0.01)))
    for _ in range(5):
        compiled(x, y)
    low = compiled.replays[-1].low
    assert sum(a.nbytes for a in low.arguments) == x._a.nbytes + y._a.nbytes
