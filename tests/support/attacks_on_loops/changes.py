"""Loops whose modules, parameters, optimisers, modes or numbers are changed by hand in the middle."""

# ruff: noqa: E731, E741, B023, B007, B904, B018, F841, E702, C408, N801, N806
from __future__ import annotations

import numpy as np

import rushlight as rl
from attacks_on_loops.common import attack, data, learn, mlp, see, step, train
from rushlight import nn, optim
from rushlight.nn import functional as F


@attack
def group_edits(net):
    opt = optim.SGD(
        [{"params": net[0].parameters()}, {"params": net[3].parameters(), "lr": 0.05}], lr=0.1, momentum=0.9
    )
    log = []
    extra = nn.Parameter(rl.ones(3))

    def ch(i, w):
        if w != "begin":
            return
        if i == 8:
            opt.param_groups[0]["lr"] *= 0.5
        if i == 10:
            opt.param_groups[1]["momentum"] = 0.5
        if i == 12:
            opt.param_groups[0]["weight_decay"] = 0.1
        if i == 14:
            opt.param_groups[0]["nesterov"] = True
        if i == 16:
            opt.add_param_group({"params": [extra]})
            extra.grad = rl.ones(3)
        if i == 17:
            extra.grad = rl.ones(3)
        if i == 18:
            opt.param_groups.pop()
        if i == 19:
            opt.param_groups[0]["params"] = opt.param_groups[0]["params"][::-1]
        if i == 20:
            opt.param_groups[0]["maximize"] = True
        if i == 21:
            opt.param_groups.reverse()
        if i == 22:
            opt.state.clear()

    train(net, opt, log, ch, n=28, ds=data(28))
    return (log, see(net, opt), extra.detach())


@attack
def tying():
    net = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3))
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    own = net[2].weight

    def ch(i, w):
        if w == "begin" and i == 8:
            net[2].weight = net[0].weight
        if w == "begin" and i == 14:
            net[2].weight = own
        if w == "begin" and i == 18:
            net[2].weight.data = net[0].weight.data

    train(net, opt, log, ch)
    return (log, see(net, opt))


@attack
def freeze_unfreeze(net, log):
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def ch(i, w):
        if i == 8 and w == "begin":
            net[0].weight.requires_grad_(False)
        if i == 11 and w == "begin":
            net[0].weight.requires_grad_(True)
        if i == 13 and w == "forward":
            net[0].weight.requires_grad_(False)
        if i == 15 and w == "begin":
            net.requires_grad_(True)
        if i == 17 and w == "backward":
            net[0].bias.requires_grad_(False)
        if i == 19 and w == "begin":
            net.requires_grad_(True)

    train(net, opt, log, ch)
    return (log, see(net, opt))


@attack
def constants_change(net, opt, log):
    C = {"s": 1.0}
    T = rl.ones(3)
    for i, (x, y) in enumerate(data(60)):
        if i == 12:
            C["s"] = 2.0
        if i == 20:
            T = T * 2
        if i == 26:
            T = T.tolist()
            T = rl.tensor(T)
        if i == 32:
            C["s"] = rl.tensor(1.5)
        if i == 38:
            C["s"] = np.float32(1.5)
        if i == 44:
            C["s"] = 1
        if i == 50:
            C["s"] = -0.0
        opt.zero_grad()
        o = net(x) * C["s"] * T
        loss = F.cross_entropy(o, y, label_smoothing=0.1 if i > 55 else 0.0)
        loss.backward()
        opt.step()
        log.append((loss.item(), str(o.dtype)))


@attack
def id_reuse(net, log):
    for k in range(8):
        opt = optim.SGD(net.parameters(), lr=0.1 / (k + 1), momentum=0.1 * k)
        train(net, opt, log, n=6)
        opt = None
    for k in range(12):
        w = nn.Parameter(rl.ones(6, 3) * (k + 1) * 0.1)
        o = optim.SGD([w], lr=0.1)
        for x, y in data(5):
            o.zero_grad()
            l = F.cross_entropy(x @ w, y)
            l.backward()
            o.step()
            log.append(l.item())
        log.append(w.detach())
        w = o = None
    return (log, see(net))


@attack
def requires_toggled(net, log):
    opt = optim.Adam(net.parameters(), lr=0.01)
    for i, (x, y) in enumerate(data(60)):
        on = i // 6 % 2 == 0
        for p in net[0].parameters():
            p.requires_grad_(on)
        if i == 30:
            net.requires_grad_(False)
            net[3].requires_grad_()
        x.requires_grad_(i % 20 > 14)
        loss = step(net, opt, x, y)
        log.append((loss.item(), [p.grad is None for p in net.parameters()], x.grad))
    return (log, see(net, opt))


@attack
def buffers_by_user():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(6, 3)
            s.register_buffer("scale", rl.ones(3))
            s.register_buffer("n", rl.zeros((), dtype=rl.int64))
            s.register_buffer("hist", rl.zeros(5, 3), persistent=False)
            s.k = 0

        def forward(s, x):
            o = s.l(x) * s.scale
            s.n += 1
            s.hist[s.k % 5] = o.detach().mean(0)
            s.k += 1
            return o + s.hist.mean(0)

    net = M()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []

    def ch(i, w):
        if w != "begin":
            return
        if i == 9:
            net.scale *= 2
        if i == 13:
            net.scale = rl.full((3,), 0.5)
        if i == 17:
            net.hist.zero_()
        if i == 21:
            net.scale[1] = 7
        if i == 25:
            net.n.fill_(0)
        if i == 28:
            net.scale.data = net.scale.data.double().float()
        if i == 31:
            net._buffers["scale"] = rl.ones(3)

    train(net, opt, log, ch, ds=data(40))
    return (log, see(net, opt))


@attack
def sharing_params():
    a = nn.Linear(6, 3)
    b = nn.Linear(6, 3)
    opt = optim.SGD([*a.parameters(), *b.parameters()], lr=0.1, momentum=0.9)
    log = []
    for i, (x, y) in enumerate(data(60)):
        if i == 12:
            b.weight = a.weight
        if i == 22:
            b.weight = nn.Parameter(a.weight.detach().clone())
            opt.param_groups[0]["params"] = [*a.parameters(), *b.parameters()]
        if i == 34:
            b.weight.data = a.weight.data
        if i == 44:
            b.weight.data = a.weight.data.view(3, 6)
        if i == 52:
            b.bias.data = a.weight.data[:, 0]
        opt.zero_grad()
        loss = F.cross_entropy(a(x) + b(x * 0.5), y)
        loss.backward()
        opt.step()
        log.append(loss.item())
    return (log, see(a, opt), see(b))


@attack
def dtype_moves(net, opt, log):
    for i, (x, y) in enumerate(data(50)):
        if i == 14:
            net.double()
        if i == 26:
            net.float()
        if i == 34:
            net.bfloat16()
        if i == 42:
            net.to(rl.float32)
        opt.zero_grad()
        o = net(x.to(net[0].weight.dtype))
        loss = F.cross_entropy(o.float(), y)
        loss.backward()
        opt.step()
        log.append((loss.item(), str(o.dtype)))


@attack
def engine_settings(net, opt, log):
    for i, (x, y) in enumerate(data(60)):
        if i == 12:
            rl.use_deterministic_algorithms(True)
        if i == 20:
            rl.use_deterministic_algorithms(False)
        if i == 26:
            rl.set_num_threads(1)
        if i == 32:
            rl.set_float32_matmul_precision("medium")
        if i == 38:
            rl.set_float32_matmul_precision("highest")
        if i == 44:
            rl.set_printoptions(precision=2)
        opt.zero_grad()
        o = net(x)
        if i % 10 == 9:
            rl.set_flush_denormal(True)
            rl.set_flush_denormal(False)
        loss = learn(opt, o, y)
        log.append((loss.item(), repr(loss.detach()) if i % 5 == 0 else 0))
    rl.set_printoptions(profile="default")


@attack
def scaler_loop(net):
    opt = optim.Adam(net.parameters(), lr=0.01)
    sc = rl.amp.GradScaler("cpu", init_scale=2.0**4, growth_interval=6)
    log = []
    for i, (x, y) in enumerate(data(50)):
        opt.zero_grad(set_to_none=True)
        with rl.autocast("cpu", dtype=rl.bfloat16 if i < 30 else rl.float16, enabled=i < 42):
            loss = F.cross_entropy(net(x), y) / 2
        if i in (13, 14, 27):
            loss = loss * float("nan")
        sc.scale(loss).backward()
        if i % 2:
            sc.step(opt)
            sc.update()
            opt.zero_grad()
        log.append((loss.item(), sc.get_scale()))
        if i == 35:
            sc.load_state_dict(sc.state_dict())
            sc.update(new_scale=8.0)
    return (log, sc.state_dict(), see(net, opt))


@attack
def frozen_backbone_then_not():
    bb = mlp(bn=True)
    hd = nn.Linear(3, 3)
    log = []
    for p in bb.parameters():
        p.requires_grad = False
    opt = optim.SGD(filter(lambda p: p.requires_grad, [*bb.parameters(), *hd.parameters()]), lr=0.1)
    for i, (x, y) in enumerate(data(50)):
        if i == 20:
            for p in bb.parameters():
                p.requires_grad = True
            opt.add_param_group({"params": bb.parameters(), "lr": 0.01})
        if i == 30:
            bb.eval()
        opt.zero_grad()
        loss = F.cross_entropy(hd(bb(x)), y)
        loss.backward()
        opt.step()
        log.append(loss.item())
    return (log, see(bb), see(hd, opt))
