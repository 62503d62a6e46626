"""Programs that are put together of pieces: what strangers keep beside a loop, and what they do with it in each iteration.

A piece is text that runs once, and text that makes a new `h` (n rows of 4 numbers) of `h` in each iteration. `net`, `opt`, `i`, `x`
and `t` (n labels) are there. `fuzz_words.py` writes the other scripts.
"""

from __future__ import annotations

import ast
import random
from textwrap import indent

ROUNDS = 18

PIECES: tuple[tuple[str, str], ...] = (
    # generators, closures, objects with state
    ("def noise():\n    k = 0\n    while True:\n        got = yield k * 0.1\n        k += 1 if got is None else 2\nsource = noise()\nnext(source)", "h = h * (1 + source.send(i if i % 3 else None))"),
    ("def grow(h):\n    for k in range(3):\n        h = h * 1.1\n        yield h", "for part in grow(h):\n    h = part + 0.1"),
    ("def running():\n    mean = torch.zeros(4)\n    while True:\n        row = yield mean\n        mean = mean * 0.9 + row.detach().mean(0) * 0.1\nmeans = running()\nnext(means)", "h = h - means.send(h)"),
    ("def suspended(h):\n    with torch.no_grad():\n        yield h * 2\n    yield h * 3", "two = suspended(h)\nh = h + next(two)\nh = h * 0.5 + torch.is_grad_enabled()\ntwo.close()"),
    ("import dataclasses\n@dataclasses.dataclass\nclass State:\n    mean: object\n    count: int = 0\n    past: list = dataclasses.field(default_factory=list)\nst = State(torch.zeros(4))", "st = dataclasses.replace(st, mean=st.mean * 0.9 + h.detach().mean(0) * 0.1, count=st.count + 1)\nst.past.append(st.mean)\nh = h - st.past[-2:][0]"),
    ("import collections\nmemory = collections.deque(maxlen=3)", "memory.append(h.detach().mean(0))\nh = h + sum(memory) / len(memory)"),
    ("import collections\nseen = collections.defaultdict(lambda: torch.zeros(4))", "seen[int(t[0])] += h.detach()[0]\nh = h + seen[0] * 0.1 + len(seen)"),
    ("table = {}", "table[i % 3] = table.get(i % 3, 0) + h.detach().sum(0)\nh = h + table[i % 3] * 0.01\nif i == 9:\n    table = dict(reversed(table.items()))"),
    ("def counter():\n    n = 0\n    def inc(v):\n        nonlocal n\n        n += 1\n        return v * (1 + n % 3)\n    return inc\ncount = counter()", "h = count(h)"),
    ("import functools\n@functools.lru_cache(maxsize=None)\ndef scale(k):\n    return torch.full((4,), 1.0 + k)", "h = h * scale(i % 3)\nif i == 7:\n    scale(1).mul_(0.5)"),
    ("import functools\nscaled = functools.partial(torch.mul, other=torch.tensor(1.5))", "h = scaled(h)\nif i == 8:\n    scaled.keywords['other'].fill_(0.5)"),
    ("class Lazy:\n    calls = 0\n    @property\n    def by(self):\n        type(self).calls += 1\n        return 1.0 + self.calls % 3\nlazy = Lazy()", "h = h * lazy.by"),
    ("class Slots:\n    __slots__ = ('v', 'last')\n    def __init__(self):\n        self.v, self.last = 1.0, None\nslots = Slots()", "h = h * slots.v if slots.last is None else h + slots.last.mean(0)\nslots.v, slots.last = slots.v + 0.1, h.detach()"),
    ("class Call:\n    def __init__(self):\n        self.k = torch.ones(4)\n    def __call__(self, h):\n        self.k = self.k * 0.9\n        return h * self.k\ncall = Call()", "h = call(h)"),
    ("class Meta:\n    def __getattr__(self, name):\n        return float(len(name))\nmeta = Meta()", "h = h * meta.abc if i < 9 else h * meta.abcd"),
    ("import weakref\nalive = []", "held = h * 2\nref = weakref.ref(held)\nalive.append(ref() is held)\nh = ref() - h\ndel held"),
    ("died = []\nclass Dies:\n    def __init__(self, v):\n        self.v = v\n    def __del__(self):\n        died.append(float(self.v.sum()))", "d = Dies(h.detach()[:1])\nh = h * (1 + len(died) % 2)"),
    ("keyed = {}", "keyed[h] = i\nh = h * (1 + keyed[h] % 2)\nkeyed = {k: v for k, v in list(keyed.items())[-2:]}"),
    ("names = ['tanh', 'sigmoid', 'relu', 'abs']", "h = getattr(torch, names[i % len(names)])(h)\nif i == 10:\n    names.pop()"),
    ("def deep(h, k):\n    return h if k == 0 else deep(h * 0.9 + 0.1, k - 1)", "h = deep(h, i % 4)"),
    ("import contextlib\n@contextlib.contextmanager\ndef scaled_by(k):\n    global factor\n    old, factor = factor, k\n    try:\n        yield\n    finally:\n        factor = old\nfactor = 1.0", "with scaled_by(2.0 + i % 2):\n    h = h * factor\nh = h + factor"),
    ("import contextlib", "with contextlib.ExitStack() as stack:\n    if i % 2:\n        stack.enter_context(torch.no_grad())\n    by = h * 0.5\nh = h + by"),
    ("import enum\nclass Phase(enum.Enum):\n    WARM = 0\n    TRAIN = 1\nphase = Phase.WARM", "phase = Phase.TRAIN if i > 5 else phase\nmatch phase:\n    case Phase.WARM:\n        h = h * 0.5\n    case _:\n        h = h.tanh()"),
    ("import typing\nclass Pair(typing.NamedTuple):\n    a: object\n    b: object\npair = None", "last = pair\npair = Pair(h.detach(), h)\nh = pair.b + (0 if last is None else last.a.mean(0))"),
    ("import heapq\nheap = []", "heapq.heappush(heap, (round(h.detach().sum().item(), 2), i))\nheap = heapq.nsmallest(3, heap)\nh = h * (1 + heap[0][1] % 2)"),
    ("import itertools\ncycle = itertools.cycle([torch.ones(4), torch.zeros(4), torch.arange(4.0)])", "h = h + next(cycle)"),
    # masks, slices and writes
    ("", "mask = h.detach() > 0\nh = torch.where(mask, h, 0.1 * h)\nh = h * mask.any(0)"),
    ("", "h = h.clone()\nh[1:, ::2] *= 2\nh[h > 1] = 1.0\nh[..., 0] += h[..., 1]"),
    ("", "h = h + 0\nh[:, 1:3] = h[:, 1:3].flip(1)\nh[0] = h[-1] * 0.5"),
    ("", "h = h.masked_fill(h.detach().abs() > 2, 0.0)\nh = h + h.masked_select(h.detach() > -9).mean()"),
    ("", "idx = h.detach().argsort(0)[:, 0]\nh = h[idx]\nh = h.index_select(1, torch.tensor([3, 2, 1, 0]))"),
    ("", "out = torch.zeros(3, 4)\nout.index_add_(0, t, h)\nh = h + out[t]"),
    ("", "out = torch.zeros_like(h)\nh = out.scatter_add(1, t[:, None].expand(-1, 4), h) + h"),
    ("", "h = torch.zeros(len(h), 4).index_put((torch.arange(len(h)), t), h.sum(1), accumulate=True) + h"),
    ("", "h = torch.stack([row * (k + 1) for k, row in enumerate(h)])"),
    ("", "h = torch.cat([part.sum(0, keepdim=True).expand(len(part), 4) * 0.1 + part for part in h.split([1, len(h) - 1])])"),
    ("", "h = torch.tril(h) + torch.triu(h, 1) * 0.5\nh = h.diagonal_scatter(torch.ones(min(len(h), 4)))"),
    ("grid = torch.zeros(6, 4)", "grid[i % 6] = h.detach()[0]\nh = h + grid.sum(0) * 0.05"),
    ("ring = torch.zeros(8, 4)\nat = 0", "n = min(len(h), 8 - at)\nring[at:at + n] = h.detach()[:n]\nat = (at + n) % 8\nh = h + ring.mean(0)"),
    ("views = []\nbase = torch.zeros(5, 4)", "views.append(base[i % 5])\nviews[-1].add_(h.detach().mean(0))\nh = h + views[0]\nviews = views[-4:]"),
    ("acc = torch.zeros(4)", "torch.add(acc, h.detach().mean(0), out=acc)\nh = h + acc * 0.1"),
    ("acc = torch.zeros(4)", "acc += h.detach().mean(0)\nacc.mul_(0.9)\nh = h + acc"),
    ("room = torch.empty(0)", "torch.mul(h.detach(), 2, out=room)\nh = h + room.mean(0)\nroom.resize_(0)"),
    ("kept_rows = []", "kept_rows.append(h.detach()[0])\nh = h + torch.stack(kept_rows[-3:]).mean(0)\nif i % 4 == 3:\n    kept_rows[-1].zero_()"),
    ("import numpy as np\nshared = np.zeros(4, np.float32)\nover = torch.from_numpy(shared)", "shared += 0.25\nh = h + over\nover.mul_(0.5)\nshow(float(shared[0]))"),
    ("import numpy as np", "a = h.detach().numpy()\nh = h * float(a.sum() > 0) + torch.from_numpy(np.tanh(a))"),
    ("import numpy as np\nweight = torch.ones(4)\nseen_by_numpy = weight.numpy()", "h = h * weight\nif i % 5 == 4:\n    seen_by_numpy *= 0.9"),
    ("held = None", "held = h.detach()[:1] if held is None else held\nh = h + held\nif i % 5 == 4:\n    held.data.mul_(0.5)"),
    ("mat = torch.zeros(4, 4)", "mat.fill_diagonal_(1.0 + i % 3)\nh = h @ mat\nmat.t()[0].add_(0.01)"),
    ("", "s = h.detach().sum().item()\nh = h * (s if -1 < s < 1 else 0.5)"),
    ("", "k = int(h.detach().abs().sum().item()) % 4\nh = h.roll(k, 1) + k"),
    ("", "steps = 0\nwhile h.detach().abs().max() > 1 and steps < 3:\n    h = h * 0.7\n    steps += 1"),
    ("", "if (h.detach() > 0).all() or h.detach().isnan().any():\n    h = h - 1\nelif h.detach().sum() > 0:\n    h = -h"),
    ("", "best = max(range(len(h)), key=lambda k: h.detach()[k].sum().item())\nh = h + h[best]"),
    ("", "h = torch.tensor([[v * 0.5 for v in row] for row in h.tolist()]) + h"),
    ("", "show(str((h.detach() * 2).round().int()), h.shape, f'{h.dtype} {len(h)}')\nh = h * 1.01"),
    # whole numbers, complex ones, other dtypes
    ("counts = torch.zeros(3, dtype=torch.int64)", "counts += torch.bincount(t, minlength=3)\nh = h * (counts[t] % 3 + 1)[:, None]"),
    ("", "q = (h.detach() * 10).to(torch.int8)\nh = h + (q >> 1).float() * 0.01 + (q & 3) * 0.1"),
    ("", "z = torch.view_as_complex(h.reshape(-1, 2, 2).contiguous())\nh = torch.view_as_real(z * torch.tensor(0.6 + 0.8j)).reshape(-1, 4)"),
    ("", "z = torch.fft.fft(h, dim=1)\nh = torch.fft.ifft(z * 0.9).real + z.abs().mean()"),
    ("", "z = torch.complex(h, h * 0.5)\nh = (z * z.conj()).real.sqrt() + z.angle() * 0.1"),
    ("", "h = h.double().cumsum(1).float() + h.half().float() * 0.1"),
    ("", "h = h.bfloat16().float() + h"),
    ("", "u, inverse = torch.unique(t, return_inverse=True)\nh = h + u[inverse][:, None] * 0.1 + len(u)"),
    ("edges = torch.tensor([-1.0, 0.0, 1.0])", "h = h + torch.bucketize(h.detach(), edges) * 0.1"),
    ("", "rows = (h.detach() > 0).nonzero()\nh = h + (rows.float().mean() if len(rows) else 0.0)"),
    ("", "h = h + F.one_hot(t, 4) * 0.5"),
    # derivatives
    ("class Twisted(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a, b):\n        ctx.save_for_backward(a, b)\n        ctx.k = float(b.detach().sum())\n        return a * b, a + b\n    @staticmethod\n    def backward(ctx, g, k):\n        a, b = ctx.saved_tensors\n        ga = g * b + k if ctx.needs_input_grad[0] else None\n        gb = g * a + k if ctx.needs_input_grad[1] else None\n        return ga, gb", "a, b = Twisted.apply(h, x if i % 4 else h.detach())\nh = a + b * 0.5"),
    ("class Dirty(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n        ctx.mark_dirty(a)\n        a.mul_(0.9)\n        return a\n    @staticmethod\n    def backward(ctx, g):\n        return g * 0.9", "h = Dirty.apply(h + 0)"),
    ("class Hard(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n        mask = a > 0\n        ctx.mark_non_differentiable(mask)\n        ctx.save_for_backward(mask)\n        return a.sign(), mask\n    @staticmethod\n    @torch.autograd.function.once_differentiable\n    def backward(ctx, g, _):\n        return g * ctx.saved_tensors[0]", "s, mask = Hard.apply(h)\nh = s * 0.1 + h * mask"),
    ("class Reverse(torch.autograd.Function):\n    by = 1.0\n    @staticmethod\n    def forward(ctx, a):\n        return a.view_as(a)\n    @staticmethod\n    def backward(ctx, g):\n        return -Reverse.by * g", "Reverse.by = 0.1 * (i % 4)\nh = Reverse.apply(h)"),
    ("class Both(torch.autograd.Function):\n    @staticmethod\n    def forward(a):\n        return a.exp()\n    @staticmethod\n    def setup_context(ctx, inputs, output):\n        ctx.save_for_backward(output)\n    @staticmethod\n    def backward(ctx, g):\n        return g * ctx.saved_tensors[0]", "h = Both.apply(h.clamp(max=1.0))"),
    ("", "leaf = h.detach().requires_grad_()\n(g,) = torch.autograd.grad(leaf.tanh().pow(2).sum(), leaf)\nh = h - 0.1 * g"),
    ("", "leaf = x.clone().requires_grad_()\n(g,) = torch.autograd.grad(net(leaf).sum(), leaf, create_graph=True)\nh = h + 0.1 * g.pow(2)"),
    ("", "leaf = h.detach().requires_grad_()\nleaf.sin().sum().backward(retain_graph=True)\nh = h + leaf.grad\nleaf.grad = None"),
    ("", "leaf = h.detach()[0].requires_grad_()\nh = h + torch.autograd.functional.jacobian(lambda v: v.sin() * v.sum(), leaf).sum(0) * 0.01"),
    ("", "h = h + torch.func.vmap(lambda r: r * r.sum())(h) * 0.01"),
    ("", "h = h + torch.func.grad(lambda v: (v ** 3).sum())(h.detach()) * 0.01"),
    ("", "h = h + torch.func.vmap(torch.func.grad(lambda r: r.cos().prod()))(h.detach()) * 0.1"),
    ("", "value, tangent = torch.func.jvp(lambda v: v.tanh() * v, (h.detach(),), (torch.ones_like(h),))\nh = h + tangent * 0.1"),
    ("", "h = h + torch.func.functional_call(net, {k: v.detach() * 0.5 for k, v in net.named_parameters()}, (x,)) * 0.1"),
    ("", "params = dict(net.named_parameters())\nparams['0.bias'] = params['0.bias'] + 1\nh = h + torch.func.functional_call(net, params, x)"),
    ("", "h = torch.utils.checkpoint.checkpoint(lambda v: (v * net[0].weight.sum()).tanh(), h, use_reentrant=False) + h"),
    ("def half(v):\n    return F.dropout(v, 0.5).sin()", "h = torch.utils.checkpoint.checkpoint(half, h, use_reentrant=True) if h.requires_grad else h"),
    ("packed = []", "with torch.autograd.graph.saved_tensors_hooks(lambda v: (packed.append(1), v.detach().clone())[1], lambda v: v * 1.0):\n    h = h.sigmoid() * h"),
    ("", "with torch.autograd.graph.save_on_cpu():\n    h = h.exp().log1p()"),
    ("", "h = h * h.detach() / (1e-3 + h.detach().abs())"),
    ("", "h.requires_grad and h.register_hook(lambda g: g * 0.5)\nh = h * 2"),
    ("grads = []", "if h.requires_grad:\n    h.register_hook(lambda g, i=i: grads.append(g.mean()) if i % 2 else g.clamp(-0.1, 0.1))\nh = h.tanh()"),
    ("", "h.retain_grad() if h.requires_grad else None\nh = h * 1.5"),
    ("def stop(g):\n    raise ValueError('in backward')", "if i in (6, 11) and h.requires_grad:\n    h.register_hook(stop)\nh = h * 1.5"),
    ("class Fails(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n        return a * 2\n    @staticmethod\n    def backward(ctx, g):\n        if i % 7 == 5:\n            raise KeyError('backward')\n        return g * 2", "h = Fails.apply(h)"),
    ("", "with torch.no_grad():\n    old = net[0].weight.clone()\n    net[0].weight.mul_(0.5)\n    other = net(x)\n    net[0].weight.copy_(old)\nh = h + other.detach()"),
    ("", "with torch.inference_mode():\n    score = net(x).mean()\nh = h * (1 + float(score > 0))"),
    ("", "with torch.set_grad_enabled(i % 2 == 0):\n    by = net(x)\nh = h + by"),
    ("", "with torch.autocast('cpu', dtype=torch.bfloat16, enabled=i % 2 == 0):\n    by = net(x)\nh = h + by.float()"),
    ("", "with torch.autocast('cpu', dtype=torch.bfloat16):\n    by = h @ net[0].weight.t()\n    by = by.softmax(1)\nh = h + by.to(h.dtype)"),
    ("", "h = h + torch.compile(lambda v: v * 2)(h) if i % 2 else h" ),
    ("inner = compiled(lambda v, k: v * k + k)\nouter = compiled(lambda v, k: inner(v, k).tanh() + inner(v, 2.0))", "h = outer(h, 1.0 + i % 2)"),
    ("@compiled\ndef looked(v):\n    if v.detach().sum() > 0:\n        return v * 2\n    return v.sin()", "h = looked(h)"),
    ("@compiled\ndef written(v, into):\n    into.add_(v.detach().mean(0))\n    into[0] = 0.5\n    return v + into\ninto = torch.zeros(4)", "h = written(h, into)\nif i == 8:\n    into = torch.zeros(4, dtype=torch.float64)[:].float()"),
    ("@compiled\ndef seconds(v):\n    (g,) = torch.autograd.grad((v ** 3).sum(), v, create_graph=True)\n    return g", "leaf = h.detach().requires_grad_()\nh = h + 0.01 * torch.autograd.grad(seconds(leaf).sum(), leaf)[0]"),
    # modules
    ("class Stat(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('mean', torch.zeros(4))\n        self.register_buffer('n', torch.tensor(0), persistent=False)\n    def forward(self, h):\n        if self.training:\n            self.mean = self.mean + 0.1 * (h.detach().mean(0) - self.mean)\n            self.n += 1\n        return h - self.mean\nstat = Stat()", "stat.train(i % 5 != 4)\nh = stat(h) * (1 + stat.n.item() % 2)"),
    ("norm = nn.BatchNorm1d(4)\nparts.append(norm)", "norm.train(len(h) > 1 and i % 4 != 3)\nh = norm(h)\nif i == 9:\n    norm.momentum = None"),
    ("blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])\nparts.append(blocks)", "for block in blocks:\n    h = block(h).relu()\nif i == 8:\n    blocks.append(nn.Linear(4, 4))\n    opt.add_param_group({'params': blocks[-1].parameters()})\nif i == 13:\n    del blocks[0]"),
    ("heads = nn.ModuleDict({'a': nn.Linear(4, 4), 'b': nn.Linear(4, 4, bias=False)})\nparts.append(heads)", "h = heads['ab'[i % 2]](h)\nif i == 9:\n    heads['a'], heads['b'] = heads['b'], heads['a']"),
    ("extra = nn.ParameterDict({'s': torch.ones(4), 'b': torch.zeros(4)})\nparts.append(extra)", "if i == 7:\n    extra['s'].data = extra['s'].data * 2\nh = h * extra['s'] + extra['b']"),
    ("tied = nn.Linear(4, 4)\ntied.weight = net[0].weight\nparts.append(tied)", "h = tied(h)"),
    ("spec = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))\nparts.append(spec)", "h = spec(h)"),
    ("lstm = nn.LSTM(4, 4)\nstate = None\nparts.append(lstm)", "out, state = lstm(h[:, None].transpose(0, 1)[:, :1], state)\nstate = tuple(s.detach() for s in state) if i % 2 else None\nh = h + out[0]"),
    ("gru = nn.GRUCell(4, 4)\nhidden = torch.zeros(1, 4)\nparts.append(gru)", "hidden = gru(h[:1], hidden.detach())\nh = h + hidden"),
    ("emb = nn.Embedding(5, 4, sparse=True)\nrows = torch.optim.SparseAdam(emb.parameters(), lr=0.01)\nothers.append(rows)", "h = h + emb(t)"),
    ("emb = nn.Embedding(5, 4, padding_idx=0, max_norm=1.0)\nparts.append(emb)", "h = h + emb(t)"),
    ("bag = nn.EmbeddingBag(6, 4, mode='mean')\nparts.append(bag)", "h = h + bag(torch.stack([t, t + 1, t + 2], 1))"),
    ("cache = []", "cache.append(h.detach()[:1])\nkeys = torch.cat(cache)\nh = h + torch.softmax(h @ keys.t(), 1) @ keys\ncache = cache[-5:]"),
    ("attend = nn.MultiheadAttention(4, 2, batch_first=True)\nparts.append(attend)", "out, weights = attend(h[None], h[None], h[None], need_weights=i % 3 == 0)\nh = h + out[0]"),
    ("drop = nn.Dropout(0.3)", "h = drop(h)\nif i == 9:\n    drop.p = 0.0"),
    ("twin = copy.deepcopy(net)", "with torch.no_grad():\n    for p, q in zip(twin.parameters(), net.parameters()):\n        p.mul_(0.9).add_(q, alpha=0.1)\nh = h + twin(x).detach()"),
    ("target = copy.deepcopy(net)", "h = h + target(x).detach()\nif i % 5 == 4:\n    target.load_state_dict(net.state_dict())"),
    ("", "again = pickle.loads(pickle.dumps(net))\nh = h + again(x).detach() * 0.1"),
    ("", "net.load_state_dict({k: v * 0.99 for k, v in net.state_dict().items()})\nh = h + net(x)"),
    ("fired = []", "handle = net[0].register_forward_hook(lambda m, a, o: o * 1.5)\nby = net(x)\nhandle.remove()\nh = h + by"),
    ("fired = []\nnet[0].register_forward_pre_hook(lambda m, a, k: ((a[0] * 0.5,), k), with_kwargs=True)", "h = h + net[0](input=x) if i % 2 == 5 else h + net[0](x)"),
    ("seen_g = []\nnet[0].register_full_backward_hook(lambda m, gi, go: (gi[0] * 0.5,) if gi[0] is not None else None)", "h = h + net(h)"),
    ("", "net[0].weight.register_hook(lambda g: g * 0.9) if i == 4 else None\nh = h + net(h)"),
    ("import types\nown = net[0].forward", "net[0].forward = (lambda v: own(v) * 2) if i % 6 > 3 else own\nh = h + net(h)"),
    ("", "net[1] = nn.Tanh() if i % 4 < 2 else nn.ReLU()\nh = h + net(h)"),
    # random numbers, threads, errors
    ("gen = torch.Generator().manual_seed(3)", "h = h + torch.randn(4, generator=gen) * 0.1"),
    ("", "state = torch.get_rng_state()\na = torch.rand(4)\ntorch.set_rng_state(state)\nh = h + a - torch.rand(4)"),
    ("", "with torch.random.fork_rng():\n    torch.manual_seed(i)\n    a = torch.rand(4)\nh = h + a"),
    ("", "lam = torch.distributions.Beta(0.4, 0.4).sample()\nperm = torch.randperm(len(h))\nh = lam * h + (1 - lam) * h[perm]"),
    ("", "dist = torch.distributions.Categorical(logits=h.detach())\na = dist.sample()\nh = h + dist.log_prob(a)[:, None] * 0.1 + a[:, None]"),
    ("", "eps = torch.randn_like(h)\nh = h + eps * (h * 0.1).exp()"),
    ("", "out = []\nworker = threading.Thread(target=lambda: out.append(h.detach().sum()))\nworker.start()\nworker.join()\nh = h + out[0] * 0.01"),
    ("", "def work():\n    torch.set_grad_enabled(False)\n    out.append(net(x) * 0.5)\nout = []\nworker = threading.Thread(target=work)\nworker.start()\nworker.join()\nh = h + out[0]"),
    ("", "try:\n    h = h @ torch.ones(3 if i % 5 == 4 else 4, 4)\nexcept RuntimeError as error:\n    h = h * 0.5"),
    ("", "try:\n    h = h + F.embedding(t + (9 if i % 6 == 5 else 0), net[0].weight)\nexcept IndexError:\n    h = h - 1"),
    ("", "try:\n    h = h + torch.linalg.inv(torch.eye(4) * (i % 3))[0]\nexcept Exception as error:\n    show(isinstance(error, torch.linalg.LinAlgError))"),
    ("", "try:\n    assert h.detach().sum() < 3, 'large'\nexcept AssertionError:\n    h = h * 0.1\nfinally:\n    h = h + 0.01"),
    ("import signal\ngot = []\nsignal.signal(signal.SIGUSR1, lambda *a: got.append(len(got)))", "if i % 4 == 3:\n    signal.raise_signal(signal.SIGUSR1)\nh = h * (1 + len(got))"),
    ("import warnings", "with warnings.catch_warnings(record=True) as told:\n    warnings.simplefilter('always')\n    h = F.smooth_l1_loss(h, h.detach()[:, :1]) + h\nh = h + len(told)"),
    ("", "torch.set_default_dtype(torch.float64 if i % 7 == 6 else torch.float32)\nh = h + torch.ones(4).to(h.dtype) * torch.tensor(0.5).to(h.dtype)\ntorch.set_default_dtype(torch.float32)"),
    # nested and padded data
    ("", "rows = [h[:k + 1].sum(0) for k in range(len(h))]\nh = nn.utils.rnn.pad_sequence([torch.stack(rows)], batch_first=True)[0] * 0.1 + h"),
    ("sums = {}", "for name, p in net.named_parameters():\n    sums[name] = sums.get(name, 0) + p.detach().abs().sum()\nh = h * (1 + sum(sums.values()) * 1e-3)"),
    ("cfg = {'a': {'k': 1.0, 'list': [1, 2]}}", "h = h * cfg['a']['k'] + cfg['a']['list'][-1]\nif i == 8:\n    cfg['a']['list'].append(0.5)\nif i == 12:\n    cfg['a'] = {'k': 0.5, 'list': (3,)}"),
    ("log = {'loss': [], 'norm': torch.zeros(())}", "log['norm'] = log['norm'] * 0.9 + h.detach().norm()\nlog['loss'].append(log['norm'])\nh = h / (1 + torch.stack(log['loss'][-3:]).mean())"),
    ("past = None", "h = h + (0 if past is None else past * 0.1)\npast = h.mean(0).detach() if i % 3 else None"),
    ("sp = torch.sparse_coo_tensor(torch.tensor([[0, 1], [2, 3]]), torch.tensor([1.0, 2.0]), (4, 4))", "h = h + torch.sparse.mm(sp, h.t()).t()"),
    ("class Sub(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, func, types, args=(), kwargs=None):\n        calls.append(func.__name__)\n        return super().__torch_function__(func, types, args, kwargs)\ncalls = []", "h = (h.as_subclass(Sub) * 2).as_subclass(torch.Tensor)\nh = h * (1 + len(calls) % 2)"),
)  # fmt: skip

# The end of an iteration: `LOSS` is the loss, `EVERY` how many batches make a step.
ENDS = (
    "opt.zero_grad()\nloss = LOSS\nloss.backward()\nopt.step()",
    "opt.zero_grad()\nloss = LOSS\nloss.backward()\nshow(nn.utils.clip_grad_norm_(net.parameters(), 0.5))\nopt.step()",
    "opt.zero_grad()\nloss = LOSS\nloss.backward()\nif net[0].bias.grad is not None:\n    nn.utils.clip_grad_value_(net.parameters(), 0.1)\nopt.step()\nsched.step()",
    "loss = LOSS / EVERY\nloss.backward()\nif (i + 1) % EVERY == 0 or i == ROUNDS - 1:\n    opt.step()\n    opt.zero_grad()",
    "def closure():\n    opt.zero_grad()\n    loss = LOSS\n    loss.backward(retain_graph=True)\n    return loss\nloss = opt.step(closure)",
    "loss = LOSS\ngrads = torch.autograd.grad(loss, list(net.parameters()), allow_unused=True)\nwith torch.no_grad():\n    for p, g in zip(net.parameters(), grads):\n        p -= 0 if g is None else 0.05 * g",
    "opt.zero_grad()\nloss = LOSS\nscaler.scale(loss).backward()\nscaler.unscale_(opt)\nnn.utils.clip_grad_norm_(net.parameters(), 1.0)\nscaler.step(opt)\nscaler.update()\nshow(scaler.get_scale())",
    "opt.zero_grad()\nloss = LOSS\nscaler.scale(loss if i % 6 != 5 else loss * float('inf')).backward()\nscaler.step(opt)\nscaler.update()",
    "opt.zero_grad(set_to_none=False)\nloss = LOSS\nloss.backward(retain_graph=True)\nloss.backward()\nopt.step()",
    "opt.zero_grad()\nloss = LOSS\ngs = torch.autograd.grad(loss, [p for p in net.parameters()], create_graph=True, allow_unused=True)\n(loss + 0.01 * sum([g.pow(2).sum() for g in gs if g is not None])).backward()\nopt.step()",
    "opt.zero_grad()\nsecond.zero_grad()\nloss = LOSS\nloss.backward()\n(opt if i % 2 else second).step()\nshow([p.grad is None for p in net.parameters()])",
    "loss = LOSS\nfor g in opt.param_groups:\n    g['lr'] = 0.1 / (1 + i)\nloss.backward()\nopt.step()\nopt.zero_grad()",
)
LOSSES = (
    "F.cross_entropy(h, t)", "h.pow(2).mean()", "F.mse_loss(h, x)", "(h - x).abs().mean() + net[0].weight.norm() * 0.01", "-(h.log_softmax(1)[torch.arange(len(t)), t]).mean()",
    "F.cross_entropy(h, t, label_smoothing=0.1) + 1e-3 * sum([p.pow(2).sum() for p in net.parameters()])", "F.kl_div(h.log_softmax(1), x.softmax(1), reduction='batchmean')", "torch.logsumexp(h, 1).mean() - h.gather(1, t[:, None]).mean()",
)  # fmt: skip
RULES = (
    "SGD(P, lr=0.05)", "SGD(P, lr=0.05, momentum=0.9)", "Adam(P, lr=0.01)", "AdamW(P, lr=0.01)", "RMSprop(P, lr=0.01)", "Adagrad(P, lr=0.05)", "NAdam(P, lr=0.01)", "Adam(P, lr=0.01, amsgrad=True)", "LBFGS(P, lr=0.1, max_iter=2)",
)  # fmt: skip
RATES = (
    "StepLR(opt, 3, 0.5)", "CosineAnnealingLR(opt, 10)", "OneCycleLR(opt, 0.1, total_steps=40)", "CyclicLR(opt, 0.01, 0.1, step_size_up=3, cycle_momentum=False)", "ExponentialLR(opt, 0.9)", "LambdaLR(opt, lambda k: 1 / (1 + k))",
    "ConstantLR(opt, 0.5, 4)", "ChainedScheduler([torch.optim.lr_scheduler.ConstantLR(opt, 0.5, 2), torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)])", "CosineAnnealingWarmRestarts(opt, 3)",
)  # fmt: skip
# How batches come: lines before, the head of the loop, the first lines of an iteration.
DATA = (
    ("", "for i in range(ROUNDS):", "x, t = torch.randn(5, 4), torch.randint(0, 3, (5,))"),
    ("batches = [(torch.randn(n, 4), torch.randint(0, 3, (n,))) for n in (5, 5, 2)]", "for i in range(ROUNDS):", "x, t = batches[i % 3]"),
    ("def odd(rows):\n    return {'x': torch.stack([r[0] for r in rows]), 'rest': [torch.tensor([int(r[1]) for r in rows]), len(rows)]}\nloader = DataLoader(TensorDataset(torch.randn(26, 4), torch.randint(0, 3, (26,))), 5, shuffle=True, collate_fn=odd)", "for i, b in enumerate([b for _ in range(3) for b in loader]):", "x, (t, size) = b['x'], b['rest']"),
    ("def odd(rows):\n    return tuple(zip(*rows))\nloader = DataLoader(TensorDataset(torch.randn(20, 4), torch.randint(0, 3, (20,))), 5, collate_fn=odd)\ni = -1", "while i < ROUNDS - 1:", "i += 1\nstream = iter(loader) if i % 4 == 0 else stream\nx, t = next(stream)\nx, t = torch.stack(x), torch.stack(t)"),
    ("class Stream(torch.utils.data.IterableDataset):\n    def __iter__(self):\n        for k in range(ROUNDS):\n            yield torch.full((4,), k * 0.1) + torch.randn(4), k % 3\nloader = DataLoader(Stream(), 4)\nbatches = list(loader)", "for i in range(ROUNDS):", "x, t = batches[i % len(batches)]"),
    ("x0, t0 = torch.randn(6, 4), torch.randint(0, 3, (6,))", "for i in range(ROUNDS):", "x, t = (x0, t0) if i % 5 else (x0[:3], t0[:3])"),
    ("sampler = torch.utils.data.WeightedRandomSampler([1.0, 2.0, 0.5, 1.0] * 5, 20)\nloader = DataLoader(TensorDataset(torch.randn(20, 4), torch.randint(0, 3, (20,))), batch_sampler=torch.utils.data.BatchSampler(sampler, 4, False))", "for i, (x, t) in enumerate([b for _ in range(4) for b in loader]):", ""),
    ("big, labels = torch.randn(40, 8), torch.randint(0, 3, (40,))", "for i in range(ROUNDS):", "x, t = big[i:i + 5, ::2], labels[i:i + 5]"),
)  # fmt: skip
NETS = (
    "nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))", "nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.LayerNorm(4))", "nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Dropout(0.2), nn.Linear(4, 4))", "nn.Sequential(nn.Linear(4, 4), nn.Identity())",
)  # fmt: skip
# What is looked at, and when a loop ends early.
LOOKS = (
    "losses.append(loss.item())", "losses.append(loss.detach())", "if i % 4 == 3:\n    show(loss)", "if loss.item() < best:\n    best, waited = loss.item(), 0\nelse:\n    waited += 1\nif waited > 6:\n    break", "show(h)", "",
    "if i % 6 == 5:\n    net.eval()\n    with torch.no_grad():\n        show(net(x).argmax(1), net(x).sum())\n    net.train()", "history.append(copy.deepcopy(net.state_dict()))\nhistory = history[-2:]",
    "total = total + loss.detach() * len(x)", "history.append(net[0].weight.detach()[0])", "buffer = io.BytesIO()\ntorch.save({'net': net.state_dict(), 'opt': opt.state_dict()}, buffer)\nif i == 9:\n    buffer.seek(0)\n    back = torch.load(buffer)\n    net.load_state_dict(back['net'])\n    opt.load_state_dict(back['opt'])",
    "if i == 10:\n    opt = torch.optim.SGD([{'params': [net[0].weight], 'lr': 0.01}, {'params': [net[0].bias]}], lr=0.1)", "if i == 7:\n    net[0].requires_grad_(False)\nif i == 12:\n    net[0].requires_grad_(True)", "show(h.grad if h.is_leaf else None, [p.grad for p in net.parameters()])", "total += float(h.detach().mean())",
)  # fmt: skip


def program(r: random.Random) -> str:
    """One program: data, a network, two to six pieces, a step and what is looked at."""
    data, head, first = r.choice(DATA)
    rule, other = r.choice(RULES), r.choice(RULES[:-1])
    end = r.choice([e for e in ENDS if "LBFGS" not in rule or "closure" in e] if "LBFGS" in rule else ENDS)
    setup = [
        f"torch.manual_seed({r.randint(0, 999)})", f"net = {r.choice(NETS)}", "parts, others = nn.ModuleList(), []",
        "losses, history, best, waited, total = [], [], float('inf'), 0, 0.0", f"ROUNDS = {ROUNDS}", "x = torch.zeros(5, 4)", "i = 0",
    ]  # fmt: skip
    body = []
    for before, inside in r.sample(PIECES, r.randint(2, 6)):
        setup.append(before)
        body.append(placed(r, inside, before, setup, len(body)))
    given = "[*net.parameters(), *parts.parameters()]"
    setup += [
        f"opt = torch.optim.{rule.replace('P', given, 1)}", f"second = torch.optim.{other.replace('P', 'net.parameters()', 1)}",
        f"sched = torch.optim.lr_scheduler.{r.choice(RATES)}", "scaler = torch.amp.GradScaler('cpu', init_scale=8.0, growth_interval=3)", data,
    ]  # fmt: skip
    call = r.choice(["h = net(x)", "h = net(x)", "h = model(x)", "h = x * net[0].weight.sum(0)"])
    if "model" in call:
        setup.append("model = compiled(net)")
    end = end.replace("LOSS", r.choice(LOSSES)).replace("EVERY", str(r.choice([2, 3])))
    beside = "for o in others:\n    o.step()\n    o.zero_grad()"
    core = [first, call, *body, end if r.random() < 0.75 else tried(end), beside]
    core += r.sample(LOOKS, r.randint(1, 3))
    text = "\n".join([line for line in core if line])
    last = "show(losses, history, total, attributes(net, opt), attributes(parts), [p for p in net.parameters()])"
    return "\n".join([*[s for s in setup if s], head, indent(text, "    "), last]) + "\n"


def placed(r: random.Random, inside: str, before: str, setup: list[str], k: int) -> str:
    """A piece as it is, at some iterations, in a `try`, or as a function that may be compiled."""
    form = r.random()
    if form < 0.35:
        made = names_written(before) & names_written(inside) - {"h", "net", "opt"}
        says = f"    global {', '.join(sorted(made))}\n" if made else ""
        setup.append(f"def part{k}(h, x, t, i):\n{says}{indent(inside, '    ')}\n    return h")
        if r.random() < 0.6:
            setup.append(f"part{k} = compiled(part{k})")
        return f"h = part{k}(h, x, t, i)"
    if form < 0.45:
        return f"if i % {r.choice([2, 3, 5])} == 1:\n{indent(inside, '    ')}"
    return tried(inside) if form < 0.55 else inside


def names_written(text: str) -> set[str]:
    """The names that a text binds outside of functions and classes."""
    found: set[str] = set()
    stack: list[ast.AST] = [ast.parse(text)]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(a.asname or a.name) for a in node.names}
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        stack.extend(ast.iter_child_nodes(node))
    return found


def tried(text: str) -> str:
    return f"try:\n{indent(text, '    ')}\nexcept (RuntimeError, ValueError, KeyError, IndexError) as error:\n    show(error)"
