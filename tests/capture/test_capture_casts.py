"""Many casts as one kernel: which of them join, and that the program computes the same."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.capture.joined.proof import agrees
from rushlight.capture.passes.casts import join_casts
from rushlight.capture.passes.copies import drop_copies
from rushlight.capture.passes.tidy import drop_dead
from test_capture_passes import compute, for_gpu, names, record


def step(clips=False):
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Linear(6, 6) for _ in range(5)])
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def fn(x):
        opt.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = net(x).float().square().mean()
        loss.backward()
        if clips:
            nn.utils.clip_grad_norm_(net.parameters(), 0.01)
        opt.step()
        return loss

    return net, fn


@pytest.mark.parametrize("clips", [False, True], ids=["", "clipped in place"])
def test_weights_join_in_front_and_gradients_at_the_end(clips):
    net, fn = step(clips)
    x = torch.randn(3, 6)
    fn(x)
    program = drop_dead(drop_copies(record(fn, x)))
    joined = join_casts(program, force=True)
    before, after = names(program).count("cast"), names(joined).count("cast")
    assert names(joined).count("casts") == 2 and before - after >= 18
    first, last = [i for i, name in enumerate(names(joined)) if name == "casts"]
    assert first < names(joined).index("linear") and last > names(joined).index("mm_tn")
    kept = [p.detach().numpy().copy() for p in net.parameters()]
    loss = fn(x).item()
    expected = [p.detach().numpy().copy() for p in net.parameters()]
    for p, old in zip(net.parameters(), kept):
        p.data.copy_(torch.tensor(old))
    assert compute(joined, x)[0] == pytest.approx(loss, rel=1e-6)
    for p, new in zip(net.parameters(), expected):
        np.testing.assert_array_equal(p.detach().numpy(), new)


def test_what_changes_in_between_is_cast_where_it_was():
    box = [torch.randn(4) for _ in range(6)]

    def fn(x):
        total = x
        for t in box:
            total = total + t.to(torch.float64)
            t.mul_(2)
            total = total + t.to(torch.float64)
            t.mul_(0.5)
        return total

    x = torch.randn(4).double()
    program = join_casts(record(fn, x), force=True)
    assert names(program).count("casts") == 1  # those before the first change
    np.testing.assert_allclose(compute(program, x)[0], fn(x).numpy(), rtol=1e-12)


@pytest.mark.parametrize("size, joins", [(3, True), (1 << 21, False)])
def test_casts_join_where_a_launch_costs_more_than_reading_their_results_later(size, joins):
    a = torch.zeros(size)
    program = record(lambda x: x.double() + a.double(), torch.zeros(size))
    assert ("casts" in names(for_gpu(join_casts, program))) == joins


def test_programs_of_the_cpu_are_left_alone():
    net, fn = step()
    program = record(fn, torch.randn(3, 6))
    assert join_casts(program) is program


def test_the_trial_compares_with_single_casts():
    arrays = [np.random.default_rng(i).standard_normal(i + 1).astype(np.float32) for i in range(3)]
    assert agrees("casts", arrays, {"to": torch.bfloat16, "source": torch.float32})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("pair", [("float32", "bfloat16"), ("bfloat16", "float32"), ("float64", "float16")])
def test_the_kernel_on_a_gpu(pair):
    from rushlight.core.tensor import wrap
    from rushlight.runtime.cuda.bodies.casts import casts

    source, to = [getattr(torch, name) for name in pair]
    given = [torch.randn(shape).to(source) for shape in ((), (1,), (7,), (64, 3, 3, 3), (5, 1000))]
    given += [torch.randn(8, 6, 3, 3).to(source).contiguous(memory_format=torch.channels_last)]
    given += [torch.randn(9).to(source)[1:], torch.zeros(0, dtype=source)]
    given = (given * 10)[:70]
    outs = casts(*[t.cuda()._a for t in given], to=to, source=source)
    for t, out in zip(given, outs):
        np.testing.assert_array_equal(wrap(out).double().cpu().numpy(), t.to(to).double().numpy())
