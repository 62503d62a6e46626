"""Odd company: subclasses, transforms, coroutines, errors and interrupts inside of a step, identities, other owners of memory."""

# ruff: noqa: E731, B023, B007, F841, E702, N806
from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import rushlight as rl
from attacks_on_loops.common import attack, data, descend, learn, mlp, see, step
from rushlight import nn, optim
from rushlight.func import functional_call, grad, jacrev, vmap
from rushlight.nn import functional as F
from rushlight.utils.checkpoint import checkpoint, checkpoint_sequential


@attack
def subclassed_inputs():
    class Named(rl.Tensor):
        calls = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(getattr(func, "__name__", "?"))
            return super().__torch_function__(func, types, args, kwargs or {})

    Named.calls.clear()
    net, log = mlp(), []
    opt = optim.SGD(net.parameters(), lr=0.1)
    for i, (x, y) in enumerate(data()):
        if i % 6 == 5:
            x = x.as_subclass(Named)
        loss = step(net, opt, x, y, log)
        log.append(type(loss).__name__)
    return log, Named.calls, see(net, opt)


@attack
def mapped_samples(net, opt, log):
    def cost(p, x, y):
        return F.cross_entropy(functional_call(net, p, (x[None],)), y[None])

    for x, y in data(12):
        held = {k: v.detach() for k, v in net.named_parameters()}
        each_one = vmap(grad(cost), in_dims=(None, 0, 0))(held, x, y)
        for k, p in net.named_parameters():
            p.grad = each_one[k].clamp(-0.1, 0.1).mean(0)
        opt.step()
        log.append(sum(p.grad.abs().sum().item() for p in net.parameters()))


@attack
def jacobians():
    net, log = nn.Sequential(nn.Linear(6, 4), nn.Tanh()), []
    opt = optim.SGD(net.parameters(), lr=0.1)
    for i, (x, _) in enumerate(data(14)):
        _ = jacrev(net)(x[0]) if i % 5 == 4 else None
        j = rl.autograd.functional.jacobian(net, x[0], create_graph=True)
        loss = j.pow(2).sum()
        descend(opt, loss, log)
    return log, see(net, opt)


@attack
def two_coroutines():
    nets = [mlp(), mlp()]
    opts = [optim.SGD(n.parameters(), lr=0.1) for n in nets]
    log = []

    async def fit(k):
        for i, (x, y) in enumerate(data(16)):
            opts[k].zero_grad()
            out = nets[k](x)
            if i % 3 == k:
                await asyncio.sleep(0)
            loss = F.cross_entropy(out, y)
            loss.backward()
            await asyncio.sleep(0)
            opts[k].step()
            log.append((k, loss.item()))

    async def main():
        await asyncio.gather(fit(0), fit(1))

    asyncio.run(main())
    return log, [see(n, o) for n, o in zip(nets, opts)]


@attack
def threads_evaluate(net, opt, log):
    with ThreadPoolExecutor(1) as pool:
        for i, (x, y) in enumerate(data()):
            loss = step(net, opt, x, y, log)
            if i % 6 == 5:
                log.append(pool.submit(lambda: (net(x).sum().item(), loss.item())).result())


@attack
def labels_out_of_range(net, opt, log):
    for i, (x, y) in enumerate(data()):
        if i in (11, 19):
            y = y + 5
        try:
            step(net, opt, x, y, log)
        except (IndexError, RuntimeError) as error:
            log.append((type(error).__name__, str(error)))


@attack
def checkpointed_parts():
    net, log = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3)), []
    opt = optim.SGD(net.parameters(), lr=0.1)
    for i, (x, y) in enumerate(data()):
        opt.zero_grad()
        if i % 3 == 0:
            out = checkpoint_sequential(net, 2, x, use_reentrant=False)
        elif i % 3 == 1:
            out = checkpoint(net, x.clone().requires_grad_(True), use_reentrant=True)
        else:
            out = net(x)
        loss = learn(opt, out, y, log)
    return log, see(net, opt)


@attack
def step_inside_backward(net, log):
    """An optimiser for every parameter, which steps as soon as the gradient is there."""
    opts = {p: optim.SGD([p], lr=0.1, momentum=0.9) for p in net.parameters()}

    def go(p):
        opts[p].step()
        opts[p].zero_grad()

    handles = [p.register_post_accumulate_grad_hook(go) for p in net.parameters()]
    for i, (x, y) in enumerate(data()):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        log.append(loss.item())
        if i == 16:
            handles[0].remove()
    return log, see(net)


@attack
def results_seen_by_numpy():
    """An array over a result is taken before the loop writes into that result again."""
    net, log, views = mlp(), [], []
    for i, (x, _) in enumerate(data()):
        with rl.no_grad():
            h = net[0](x)
            view = h.numpy()
            first = view.copy()
            h.mul_(2)
            log.append((view == 2 * first).all().item())
            h.relu_()
            views.append(view)
            log.append(float(view.min()))
    return log, views


@attack
def a_child_reads(net, opt, log):
    """A process that forks in the middle: its child sees the values of that moment."""
    for i, (x, y) in enumerate(data(18)):
        opt.zero_grad()
        out = net(x)
        if i in (9, 15) and hasattr(os, "fork"):
            back, there = os.pipe()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                child = os.fork()
            if not child:
                os.write(there, out._a.tobytes())
                os._exit(0)
            os.waitpid(child, 0)
            log.append(np.frombuffer(os.read(back, 4096), "f4").copy())
            os.close(back), os.close(there)
        loss = learn(opt, out, y, log)


@attack
def shared_with_a_child(net, log):
    """Memory that other processes see has its values when a line has run."""
    net.share_memory()
    opt = optim.SGD(net.parameters(), lr=0.1)
    flag = rl.zeros(2).share_memory_()
    seen = np.frombuffer(flag._a.data, "f4")
    for i, (x, y) in enumerate(data()):
        flag.fill_(i)
        log.append(seen.tolist())
        step(net, opt, x, y, log)
        flag.add_(0.5)
        log.append(seen.tolist())
    return log, see(net, opt)


@attack
def memory_is_traced(net, opt, log):
    tracemalloc.start()
    try:
        for i, (x, y) in enumerate(data()):
            step(net, opt, x, y, log)
            if i % 8 == 7:
                gc.collect()
                tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()


@attack
def inference_beside():
    net, log = mlp(bn=True), []
    opt = optim.SGD(net.parameters(), lr=0.1)
    for i, (x, y) in enumerate(data()):
        step(net, opt, x, y, log)
        with rl.inference_mode():
            net.eval()
            out = net(x)
            net.train()
        log.append(out.is_inference())
        try:
            (out * rl.ones(3, requires_grad=True)).sum().backward()
        except RuntimeError as error:
            log.append(str(error)[:30])
        log.append(out.clone())
    return log, see(net, opt)


@attack
def frames_and_returns(net, opt, log):
    """Steps that leave by return, by finally and by a context's end."""

    @contextlib.contextmanager
    def trained(x, y):
        opt.zero_grad()
        holder = {}
        try:
            yield holder
        finally:
            holder["loss"].backward()
            opt.step()

    def go(i, x, y):
        with trained(x, y) as holder:
            holder["loss"] = F.cross_entropy(net(x), y)
            if i % 5 == 4:
                return "early"
            holder["loss"] = holder["loss"] * 0.5
        return holder["loss"].item()

    for i, (x, y) in enumerate(data()):
        log.append(go(i, x, y))


@attack
def tied_by_views():
    """A weight whose rows are two layers' weights."""
    whole, log = nn.Parameter(rl.randn(6, 6) * 0.3), []
    opt = optim.SGD([whole], lr=0.1, momentum=0.9)
    for i, (x, y) in enumerate(data()):
        up, down = whole[:3], whole[3:]
        opt.zero_grad()
        loss = F.cross_entropy(F.linear(x, up), y) + F.linear(x, down).pow(2).mean()
        loss.backward()
        opt.step()
        if i == 12:
            with rl.no_grad():
                whole[3:].copy_(whole[:3])
        log.append((loss.item(), up._version, whole._version))
    return log, whole.detach(), opt.state[whole]["momentum_buffer"]


@attack
def references_counted(net, opt, log):
    """How many names a tensor has is what a program can ask for."""
    for x, y in data():
        opt.zero_grad()
        out = net(x)
        log.append(sys.getrefcount(out))
        loss = F.cross_entropy(out, y)
        loss.backward()
        log.append((sys.getrefcount(net[0].weight.grad), sys.getrefcount(loss)))
        opt.step()
        log.append(loss.item())
