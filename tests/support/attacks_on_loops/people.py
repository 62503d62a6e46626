"""Loops as people write them: bars, early stops, interrupts, errors, generators, averages, games."""

# ruff: noqa: E731, E741, B023, B007, B904, B018, F841, E702, C408, N801, N806
from __future__ import annotations

import copy
import gc
import math
import pickle
import queue
import signal
import sys
import threading
import warnings
import weakref

import numpy as np

import rushlight as rl
from attacks_on_loops.common import attack, data, learn, mlp, see, step, train
from rushlight import nn, optim
from rushlight.nn import functional as F
from rushlight.utils.data import DataLoader, Dataset


@attack
def exceptions_inside(net, log):
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    class Stop(Exception):
        pass

    def hook(m, a, o):
        if state["i"] in (9, 13, 14):
            raise Stop(str(state["i"]))

    state = {"i": 0}
    h = net[2].register_forward_hook(hook)
    for i, (x, y) in enumerate(data()):
        state["i"] = i
        try:
            opt.zero_grad()
            out = net(x)
            loss = learn(opt, out, y, log)
        except Stop as e:
            log.append((str(e), [p.grad is None for p in net.parameters()]))
    return (log, see(net, opt))


@attack
def gc_in_loop(net, opt, log):
    class Node:
        pass

    for i, (x, y) in enumerate(data()):
        opt.zero_grad()
        out = net(x)
        a = Node()
        a.me = a
        a.t = out
        weakref.finalize(a, lambda t=out.detach(): log.append(float(t.sum())))
        loss = F.cross_entropy(out, y)
        loss.backward()
        del a, out
        if i % 4 == 3:
            gc.collect()
        opt.step()
        log.append(loss.item())
    gc.collect()
    return (sorted(map(str, log)), see(net, opt))


@attack
def profiler_mid(net, opt, log):
    pr = []

    def ch(i, w):
        if i == 8 and w == "forward":
            p = rl.profiler.profile()
            p.__enter__()
            pr.append(p)
        if i == 9 and w == "backward":
            pr[0].__exit__(None, None, None)
        if i == 12 and w == "begin":
            p = rl.profiler.profile()
            p.__enter__()
            pr.append(p)
        if i == 13 and w == "step":
            pr[1].__exit__(None, None, None)

    train(net, opt, log, ch)
    return (log, see(net, opt), [sorted((e.key, e.count) for e in p.key_averages()) for p in pr])


@attack
def keyboard(net, log):
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    for i, (x, y) in enumerate(data(40)):
        try:
            opt.zero_grad()
            out = net(x)
            loss = F.cross_entropy(out, y)
            if i % 6 == 5:
                signal.raise_signal(signal.SIGINT)
            loss.backward()
            if i % 6 == 2:
                signal.raise_signal(signal.SIGINT)
            opt.step()
            log.append(loss.item())
        except KeyboardInterrupt:
            log.append(("stopped", float(out.sum())))
    signal.signal(signal.SIGINT, old)
    return (log, see(net, opt))


@attack
def reads_of_all_kinds(net, opt, log):
    kinds = [
        lambda t: repr(t),
        lambda t: t.tolist(),
        lambda t: f"{t.sum():.5f}",
        lambda t: bool((t > 0).any()),
        lambda t: [float(r[0]) for r in t],
        lambda t: len(t),
        lambda t: np.asarray(t.detach()).copy(),
        lambda t: np.add(t.detach(), 1),
        lambda t: rl.argmax(t, 1).tolist(),
        lambda t: int(t.argmax()),
        lambda t: t.detach().__array__().sum(),
        lambda t: 0.5 in t.detach(),
        lambda t: hash(t) == id(t),
        lambda t: rl.equal(t, t),
        lambda t: rl.allclose(t, t),
        lambda t: t.detach().untyped_storage().nbytes(),
        lambda t: t.detach().storage()[0],
        lambda t: bytes(memoryview(t.detach().numpy()).cast("B"))[:8],
        lambda t: np.from_dlpack(t.detach()).copy(),
        lambda t: rl.from_dlpack(t.detach()).clone(),
        lambda t: pickle.loads(pickle.dumps(t.detach())),
        lambda t: t.detach().to(rl.float64).sum().item(),
        lambda t: t.detach().numpy(force=True).copy(),
        lambda t: copy.deepcopy(t.detach()),
        lambda t: t.detach().cpu().clone(),
        lambda t: t.detach().is_nonzero() if t.numel() == 1 else None,
        lambda t: rl.isnan(t).any().item(),
        lambda t: t.detach().max().item(),
        lambda t: str(t.detach().nonzero()),
        lambda t: t.detach()[t.detach() > 0],
        lambda t: rl.unique(t.detach()).numel(),
        lambda t: t.detach().data_ptr() > 0,
        lambda t: rl.tensor(t.detach()),
        lambda t: rl.as_tensor(t.detach()).sum(),
        lambda t: list(map(float, t.detach().view(-1)[:3])),
        lambda t: round(float(t.sum()), 3),
        lambda t: format(t.sum(), ".3f"),
        lambda t: t.detach().sum().__index__() if False else None,
        lambda t: range(3)[t.argmax() % 3],
        lambda t: math.floor(t.sum()),
        lambda t: complex(t.sum()),
        lambda t: divmod(float(t.sum()), 2),
    ]
    import math

    globals()["math"] = math
    for k, f in enumerate(kinds):
        for i, (x, y) in enumerate(data(7, seed=k)):
            opt.zero_grad()
            out = net(x)
            if i >= 5:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    log.append(f(out))
            loss = F.cross_entropy(out, y)
            loss.backward()
            if i == 6:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    log.append(f(net[0].weight.grad))
            opt.step()
            log.append(loss.item())


@attack
def debugger_mid(net, opt, log):
    def tr(f, e, a):
        f.f_locals
        return tr

    def ch(i, w):
        if i == 8 and w == "forward":
            sys.settrace(tr)
        if i == 10 and w == "backward":
            sys.settrace(None)
        if i == 12 and w == "begin":
            sys.setprofile(lambda f, e, a: f.f_locals and None)
        if i == 13 and w == "backward":
            sys.setprofile(None)
        if i == 15 and w == "backward":
            [f.f_locals for f in (sys._getframe(k) for k in range(2))]

    train(net, opt, log, ch)
    sys.settrace(None)


@attack
def bar(net):
    class Bar:
        def __init__(s, it):
            s.it = it
            s.text = []

        def __iter__(s):
            for k, v in enumerate(s.it):
                yield v
                s.text.append(f"{k} {(s.post if hasattr(s, 'post') else '')}")

        def set_postfix(s, **k):
            s.post = ", ".join((f"{a}={b:.4f}" if isinstance(b, float) else f"{a}={b}" for a, b in k.items()))

    opt = optim.Adam(net.parameters(), lr=0.01)
    out = []
    for ep in range(3):
        b = Bar(data(12))
        for x, y in b:
            opt.zero_grad(set_to_none=ep != 1)
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            b.set_postfix(loss=loss.item(), acc=loss) if ep else b.set_postfix(loss=float(loss))
        out.append(b.text)
    return (out, see(net, opt))


@attack
def ema_dict():
    net = mlp(bn=True)
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    ema = {k: v.clone() for k, v in net.state_dict().items()}
    for i, (x, y) in enumerate(data(30)):
        loss = step(net, opt, x, y, log)
        for k, v in net.state_dict().items():
            if v.dtype.is_floating_point:
                ema[k].lerp_(v, 0.1)
            else:
                ema[k].copy_(v)
        if i == 17:
            backup = {k: v.clone() for k, v in net.state_dict().items()}
            net.load_state_dict(ema)
            net.eval()
            log.append(net(x).sum().item())
            net.load_state_dict(backup)
            net.train()
    return (log, ema, see(net, opt))


@attack
def clip_value(net, log):
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for i, (x, y) in enumerate(data(36)):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        if i % 12 < 8:
            nn.utils.clip_grad_value_(net.parameters(), 0.05 if i < 20 else 0.01)
        else:
            log.append(nn.utils.clip_grad_norm_(net.parameters(), 0.1, norm_type=[1, 2, math.inf, 2.0][i % 4]))
        opt.step()
        log.append(loss.item())
    return (log, see(net, opt))


@attack
def grad_enabled():
    net = mlp(0.2)
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    for ep in range(4):
        for phase in ("train", "val"):
            net.train(phase == "train")
            tot = 0.0
            right = 0
            for x, y in data(8, seed=ep):
                opt.zero_grad()
                with rl.set_grad_enabled(phase == "train"):
                    out = net(x)
                    _, p = rl.max(out, 1)
                    loss = F.cross_entropy(out, y)
                    if phase == "train":
                        loss.backward()
                        opt.step()
                tot += loss.item() * x.size(0)
                right += rl.sum(p == y.data)
            log.append((phase, tot, right.double() / 32))
    rl.set_grad_enabled(False)
    log.append(net(x).requires_grad)
    rl.set_grad_enabled(True)
    return (log, see(net, opt))


@attack
def seeds_mid():
    net = mlp(0.5)
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    g = rl.Generator().manual_seed(7)
    for i, (x, y) in enumerate(data(50)):
        opt.zero_grad()
        h = net[1](net[0](x))
        if i % 9 == 5:
            rl.manual_seed(i)
        if i % 9 == 7:
            rl.random.seed() if False else rl.manual_seed(rl.initial_seed())
        h = net[2](h)
        if i % 11 == 6:
            log.append(rl.random.get_rng_state()[:40].clone())
        if i % 11 == 8:
            s = rl.get_rng_state()
        n = rl.randn(4, 8, generator=g) * 0.1
        out = net[3](h + n + rl.rand_like(h) * 0.01)
        loss = F.cross_entropy(out, y)
        loss.backward()
        if i % 11 == 9 and i > 9:
            rl.set_rng_state(s)
        opt.step()
        log.append(
            (
                loss.item(),
                float(rl.rand(1)) if i % 8 == 0 else 0,
                float(rl.rand(1, generator=g)) if i % 8 == 1 else 0,
                np.random.rand(),
            )
        )
        if i == 33:
            g.set_state(g.get_state())
        if i == 37:
            g = rl.Generator().manual_seed(7)
    return (log, rl.randperm(5), see(net, opt))


@attack
def loader_custom():
    class D(Dataset):
        def __init__(s):
            s.calls = []

        def __len__(s):
            return 22

        def __getitem__(s, i):
            s.calls.append(i)
            return {"x": np.full(6, i, "f4") / 22, "y": i % 3, "w": float(i), "name": f"n{i}"}

    d = D()
    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    for ep in range(4):
        for b in DataLoader(
            d,
            4,
            shuffle=True,
            collate_fn=None
            if ep % 2
            else lambda l: {
                k: rl.tensor(np.array([a[k] for a in l])) if k != "name" else [a[k] for a in l] for k in l[0]
            },
        ):
            opt.zero_grad()
            loss = (F.cross_entropy(net(b["x"].float()), b["y"], reduction="none") * (1 + b["w"].float() * 0.01)).mean()
            loss.backward()
            opt.step()
            log.append((loss.item(), b["name"]))
    return (log, d.calls, see(net, opt))


@attack
def exceptions_go_on(net, log):
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    class Bad(rl.autograd.Function):
        on = False

        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if Bad.on:
                raise ZeroDivisionError("b")
            return g

    for i, (x, y) in enumerate(data(60)):
        Bad.on = i % 12 == 11
        try:
            opt.zero_grad()
            out = Bad.apply(net(x))
            loss = F.cross_entropy(out, y if i % 12 != 9 else y + 9)
            if i % 12 == 7:
                raise KeyError(i)
            loss.backward()
            if i % 12 == 8:
                rl.ones(2) @ rl.ones(3)
            if i % 12 == 10:
                net[0].weight.grad = rl.ones(1)
            opt.step()
            log.append(loss.item())
        except Exception as e:
            log.append(
                (type(e).__name__, str(e)[:40], [None if p.grad is None else p.grad.clone() for p in net.parameters()])
            )
    return (log, see(net, opt))


@attack
def shared_threads(net, opt, log):
    q = queue.Queue()
    r = queue.Queue()

    def work():
        while True:
            v = q.get()
            if v is None:
                return
            with rl.no_grad():
                r.put(float(net(v).sum()))

    t = None
    for i, (x, y) in enumerate(data(50)):
        if i == 12:
            t = threading.Thread(target=work)
            t.start()
        opt.zero_grad()
        out = net(x)
        loss = learn(opt, out, y)
        if t is not None and i % 3 == 0:
            q.put(x)
            log.append(r.get())
        if i == 30:
            q.put(None)
            t.join()
            t = None
        log.append(loss.item())


@attack
def profilers(net, opt, log):
    with rl.profiler.profile(
        schedule=rl.profiler.schedule(wait=8, warmup=2, active=3, repeat=2),
        on_trace_ready=lambda p: log.append(
            sorted((e.key, e.count) for e in p.key_averages() if e.key.startswith("aten"))
        ),
    ) as p:
        for i, (x, y) in enumerate(data(40)):
            with rl.profiler.record_function("step"):
                loss = step(net, opt, x, y)
            log.append(loss.item())
            p.step()


@attack
def nan_guard(net, opt, log):
    for i, (x, y) in enumerate(data(40)):
        if i % 8 == 7:
            x = x * float("nan")
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        if rl.isnan(loss) or not rl.isfinite(loss).all():
            log.append("skip")
            continue
        loss.backward()
        if any(not bool(p.grad.isfinite().all()) for p in net.parameters()):
            continue
        opt.step()
        log.append(loss.item())


@attack
def generator_closed(net, opt, log):
    def g():
        for x, y in data(30):
            try:
                opt.zero_grad()
                out = net(x)
                yield out
                loss = learn(opt, out, y)
                yield loss.item()
            except GeneratorExit:
                log.append(out.sum().item())
                raise
            finally:
                log.append("f")

    for rep in range(4):
        it = g()
        for k, v in enumerate(it):
            log.append(v if isinstance(v, float) else None)
            if k == 12 + rep:
                break
        it.close()


@attack
def warning_lines(net, log):
    with warnings.catch_warnings(record=True) as ws:
        warnings.simplefilter("always")
        opt = optim.SGD(net.parameters(), lr=0.1)
        s = optim.lr_scheduler.StepLR(opt, 5)
        for i, (x, y) in enumerate(data(30)):
            if i in (0, 12):
                s.step()
            opt.zero_grad()
            o = net(x)
            loss = F.mse_loss(o, o.detach()[:, :1]) + F.cross_entropy(o, y)
            if i % 9 == 8:
                log.append(o.grad)
            if i % 9 == 7:
                F.softmax(o)
            loss.backward()
            opt.step()
            s.step()
            log.append((loss.item(), s.get_last_lr(), opt._step_count if hasattr(opt, "_step_count") else 0))
    return (
        log,
        [(str(w.message)[:60], w.category.__name__, w.filename.rsplit("/", 1)[-1], w.lineno) for w in ws],
        see(net, opt),
    )
