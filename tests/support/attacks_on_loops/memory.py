"""Loops whose memory is seen or changed past the door: NumPy, views, storages, threads, processes, files."""

# ruff: noqa: E731, E741, B023, B007, B904, B018, F841, E702, C408, N801, N806
from __future__ import annotations

import array
import copy
import ctypes
import mmap
import pickle
import tempfile
import threading

import numpy as np

import rushlight as rl
from attacks_on_loops.common import attack, data, each, learn, mlp, see, step
from rushlight import nn, optim
from rushlight.nn import functional as F
from rushlight.utils.data import DataLoader, TensorDataset


@attack
def data_ptrs(net, opt, log):
    ptr = []
    import ctypes

    for i, (x, y) in enumerate(data()):
        opt.zero_grad()
        out = net(x)
        if i > 8 and i % 4 == 0:
            p = out.data_ptr()
            log.append(ctypes.cast(p, ctypes.POINTER(ctypes.c_float))[0])
        loss = F.cross_entropy(out, y)
        loss.backward()
        if i > 8 and i % 4 == 1:
            log.append(ctypes.cast(net[0].weight.grad.data_ptr(), ctypes.POINTER(ctypes.c_float))[3])
        opt.step()
        log.append(loss.item())
        log.append(net[0].weight.data_ptr() == net[0].weight.data_ptr())


@attack
def aliasing_inputs():
    net = nn.Bilinear(6, 6, 3)
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    ds = data(40)
    big = rl.randn(10, 6)
    for i, (x, y) in enumerate(ds):
        z = [ds[0][0], x, x.clone(), x.flip(0), big[i % 5 : i % 5 + 4], net.weight.detach()[0, :4]][i // 5 % 6]
        opt.zero_grad()
        loss = F.cross_entropy(net(x, z), y)
        loss.backward()
        opt.step()
        log.append(loss.item())
    return (log, see(net, opt))


@attack
def strides(net, opt, log):
    base = rl.randn(6, 40)
    r = np.random.default_rng(0)
    for i, (_, y) in enumerate(data(48)):
        x = [
            base[:, i % 30 : i % 30 + 4].t(),
            base[:, 0:8:2].t(),
            base[0].as_strided((4, 6), (1, 4)),
            rl.randn(1, 6).expand(4, 6),
            rl.randn(4, 6),
            rl.randn(6, 4).t(),
        ][i // 6 % 6]
        loss = step(net, opt, x, y, log)


@attack
def buffer_reused():
    xb = rl.empty(4, 6)
    yb = rl.empty(4, dtype=rl.int64)

    def batches():
        for x, y in data(30):
            xb.copy_(x)
            yb.copy_(y)
            yield (xb, yb)

    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    outs = []
    for x, y in batches():
        opt.zero_grad()
        out = net(x)
        outs.append(x)
        loss = learn(opt, out, y)
        log.append((loss.item(), x._version))
    return (log, see(net, opt))


@attack
def out_arguments(net, opt, log):
    buf = rl.zeros(4, 3)
    part = rl.zeros(8, 3)
    for i, (x, y) in enumerate(data(36)):
        opt.zero_grad()
        o = net(x)
        loss = learn(opt, o, y)
        rl.add(o.detach(), 1, out=buf)
        rl.mul(buf, 2, out=part[:4] if i % 9 < 7 else part[4:])
        if i % 5 == 4:
            log.append((buf.sum().item(), part.sum().item()))
        log.append(loss.item())
    return (log, buf, part, see(net, opt))


@attack
def numpy_of_params(net, log):
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    held = [p.detach().numpy() for p in net.parameters()]
    for i, (x, y) in enumerate(data(40)):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        log.append(held[0].sum())
        opt.step()
        log.append(float(held[0].sum()))
        if i % 9 == 8:
            held[1][:] = 0
        if i % 9 == 5:
            np.clip(held[0], -0.2, 0.2, out=held[0])
        if i == 20:
            held.pop(0)
            held.insert(0, net[3].weight.data.numpy())
        log.append(loss.item())
    return (log, [h.copy() for h in held], see(net, opt))


@attack
def flat_grads(net, opt, log):
    flat = rl.zeros(sum(p.numel() for p in net.parameters()))
    o = 0
    for p in net.parameters():
        n = p.numel()
        p.grad = flat[o : o + n].view_as(p)
        o += n
    for i, (x, y) in enumerate(data(50)):
        if i % 8 == 5:
            flat.fill_(0.01)
        else:
            flat.zero_()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        if i % 6 == 3:
            flat.clamp_(-0.1, 0.1)
        log.append(flat.norm().item() if i % 4 == 0 else None)
        opt.step()
        log.append(loss.item())
        if i == 30:
            opt.zero_grad()
    return (log, flat, see(net, opt))


@attack
def storages_and_dlpack(net, opt, log):
    kept = []
    for i, (x, y) in enumerate(data(60)):
        opt.zero_grad()
        out = net(x)
        k = i % 12
        if k == 5:
            kept.append(np.from_dlpack(out.detach()))
        if k == 6:
            kept.append(rl.from_dlpack(out.detach()))
        if k == 7:
            log.append(list(out.detach().untyped_storage())[:4])
        if k == 8:
            log.append(out.detach().storage().tolist()[:3]) if hasattr(out, "storage") else None
        if k == 9:
            log.append(np.asarray(memoryview(out.detach().numpy())).copy())
        if k == 10:
            log.append(out.detach().__array__().sum())
            log.append(copy.copy(out.detach()))
        if k == 11:
            log.append(np.array(out.tolist()))
            s = out.detach().untyped_storage()
        loss = F.cross_entropy(out, y)
        loss.backward()
        if k == 5:
            kept.append(rl.from_dlpack(net[0].weight.grad))
        if k == 11:
            log.append(bytes(s))
        opt.step()
        log.append(loss.item())
    return (log, [rl.as_tensor(k).clone() for k in kept], see(net, opt))


@attack
def array_inputs():
    a = array.array("f", [0.1] * 24)
    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    t = rl.frombuffer(a, dtype=rl.float32).reshape(4, 6)
    with tempfile.TemporaryFile() as f:
        f.write(b"\x00" * 96)
        f.flush()
        mm = mmap.mmap(f.fileno(), 96)
        u = rl.frombuffer(mm, dtype=rl.float32).reshape(4, 6)
        w = rl.from_numpy(np.frombuffer(mm, "f4")) if False else u
        for i in range(40):
            a[i % 24] += 0.1
            mm[4 * (i % 24) : 4 * (i % 24) + 4] = np.float32(i * 0.1).tobytes()
            opt.zero_grad()
            o = net(t)
            a[0] = i * 0.01
            loss = o.pow(2).mean() + net(w).pow(2).mean()
            mm[0:4] = b"\x00\x00\x80?"
            loss.backward()
            opt.step()
            log.append(loss.item())
        del u, w, t
    return (log, see(net, opt))


@attack
def from_files():
    d = tempfile.mkdtemp()
    np.zeros(24, "f4").tofile(d + "/x")
    t = rl.from_file(d + "/x", shared=True, size=24, dtype=rl.float32).view(4, 6)
    m = np.memmap(d + "/x", "f4", "r+")
    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    for i in range(40):
        m[i % 24] = i * 0.1
        opt.zero_grad()
        out = net(t)
        m[(i + 5) % 24] = -0.5
        loss = out.pow(2).mean() + net(t).mean()
        loss.backward()
        opt.step()
        log.append(loss.item())
    return (log, see(net, opt))


@attack
def meta_inplace():
    def ch(i, w, t, net, opt, log, kept):
        if w == "out":
            d = t.detach()
            if i % 12 == 6:
                d.t_()
            if i % 12 == 7:
                d.unsqueeze_(0)
            if i % 12 == 8:
                d = d[None]
                d.squeeze_(0)
            if i % 12 == 9:
                d.resize_(2, 3)
            if i % 12 == 10:
                d.resize_(12)
            if i % 12 == 11:
                d = d.clone()
                d.set_(rl.ones(3))
            kept.append(d)
            log.append((d.shape, d.stride(), d.storage_offset(), t.shape))
        return t

    return each(50, ch)


@attack
def storage_writes():
    def ch(i, w, t, net, opt, log, kept):
        if w == "out" and i % 8 == 5:
            t.detach().untyped_storage().fill_(0)
        if w == "out" and i % 8 == 6:
            t.detach().untyped_storage().copy_(rl.arange(12.0).untyped_storage())
        if w == "stepped" and i % 8 == 7:
            net[0].bias.data.untyped_storage().copy_(rl.arange(8.0).untyped_storage())
        if w == "grads" and i % 8 == 3:
            net[0].bias.grad.untyped_storage().fill_(0)
        if w == "hidden" and i == 25:
            s = net[3].bias.data.untyped_storage()
            kept.append(s)
        if kept and w == "hidden" and (i in (27, 33)):
            kept[0].fill_(0)
        return t

    a = each(40, ch)
    return (a[0], a[2])


@attack
def foreign_reads(net, opt, log):
    kinds = [
        lambda o: o.detach().numpy().sum(),
        lambda o: o.tolist(),
        lambda o: pickle.dumps(o.detach()) and None or pickle.loads(pickle.dumps(o.detach())).sum().item(),
        lambda o: copy.deepcopy(o.detach()).sum().item(),
        lambda o: repr(o),
        lambda o: list(o.detach().untyped_storage())[:8],
        lambda o: np.from_dlpack(o.detach()).sum(),
        lambda o: o[0, 0].item(),
        lambda o: np.asarray(o.detach()).sum(),
        lambda o: ctypes.cast(o.data_ptr(), ctypes.POINTER(ctypes.c_float))[0],
        lambda o: float((rl.tracing(True), o.detach().numpy().sum())[1])
        if rl.tracing()
        else float(o.detach().numpy().sum()),
    ]
    for k, f in enumerate(kinds):
        for i, (x, y) in enumerate(data(9, seed=k)):
            opt.zero_grad()
            out = net(x)
            loss = F.cross_entropy(out, y)
            if i == 6:
                b = []
                t = threading.Thread(target=lambda: b.append(f(out)))
                t.start()
                t.join()
                log.append(b)
            loss.backward()
            if i == 7:
                b = []
                t = threading.Thread(target=lambda: b.append(f(net[0].weight.grad)))
                t.start()
                t.join()
                log.append(b)
            opt.step()
            if i == 8:
                b = []
                t = threading.Thread(target=lambda: b.append(f(net[0].weight)))
                t.start()
                t.join()
                log.append(b)
            log.append(loss.item())


@attack
def ring_index():
    buf = rl.zeros(8, 3)
    log = []
    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    for i, (x, y) in enumerate(data(40)):
        opt.zero_grad()
        o = net(x)
        loss = learn(opt, o, y)
        buf[i % 8] = o[0].detach()
        buf[(i + 3) % 8] += o.detach()[1]
        log.append(loss.item())
        log.append(buf.sum().item() if i % 5 == 0 else None)
    return (log, buf, buf._version, see(net, opt))


@attack
def static_cache():
    E = nn.Embedding(11, 8)
    k = nn.Linear(8, 8)
    head = nn.Linear(8, 11)
    log = []
    cache = rl.zeros(1, 20, 8)
    pos = rl.arange(20)
    with rl.no_grad():
        for s in range(4):
            cache.zero_()
            t = rl.tensor([[s]])
            for n in range(15):
                h = k(E(t))
                cache[:, n : n + 1] = h
                m = (pos <= n).float()
                c = (cache * m[None, :, None]).sum(1) / m.sum()
                t = head(c).argmax(-1, keepdim=True)
                log.append(int(t))
            cur = rl.zeros(1, dtype=rl.long)
            for n in range(15):
                h = k(E(t))
                cache.index_copy_(1, cur, h)
                cur += 1
                t = head(cache.mean(1)).argmax(-1, keepdim=True)
                log.append(t[0, 0].item())
    return (log, cache)


@attack
def loader_over_changing():
    base = rl.randn(24, 6)
    lab = rl.arange(24) % 3
    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    ds = TensorDataset(base, lab)
    for ep in range(5):
        for x, y in DataLoader(ds, 4):
            loss = step(net, opt, x, y)
            base.mul_(1.01)
            lab.add_(1).remainder_(3)
            log.append(loss.item() if ep % 2 else loss.detach())
    return (log, see(net, opt), base, lab)


@attack
def dataset_direct(net, opt, log):
    base = rl.randn(24, 6)
    for i in range(40):
        base = base * 1.01
        d = TensorDataset(base, rl.arange(24) % 3)
        x, y = d[0:4]
        s = rl.utils.data.Subset(d, [3, 4, 5, 6])
        b = rl.utils.data.default_collate([s[k] for k in range(4)])
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y) + F.cross_entropy(net(b[0]), b[1])
        loss.backward()
        opt.step()
        log.append(loss.item())
        if i % 8 == 7:
            for xx, yy in DataLoader(d, 4):
                log.append(net(xx).sum().item())
