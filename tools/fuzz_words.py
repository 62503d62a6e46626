"""The grammar of random scripts: what strangers write, as lines of text with holes.

A script is a `step` that is called over and over while its world changes (`steps`), a training as people write them (`training`),
or a program of pieces (`fuzz_pieces.py`). Names such as `w`, `show` and `Twice` come from `fuzz_world.py`.
"""

from __future__ import annotations

import random
import re
from textwrap import indent
from typing import Any

import fuzz_pieces

ROUNDS = 22

# -- a step and its world ---------------------------------------------------------------------------

# Lines of a step: `M` is a 3x4 tensor made so far, `S` a number of one; NEW is what the line makes.
LINES = (
    "NEW = M * w.scale", "NEW = M + M", "NEW = M - M * 0.5", "NEW = torch.relu(M)", "NEW = M.tanh()",
    "NEW = torch.maximum(M, M)", "NEW = torch.where(M > 0, M, M * 0.1)", "NEW = M.clamp(-2, 2).exp()",
    "NEW = w.lin(M)", "NEW = w.seq(M)", "NEW = w.norm(M)", "NEW = M * w.p", "NEW = M + w.buf",
    "NEW = F.layer_norm(M, (4,))", "NEW = M.softmax(-1)", "NEW = M @ w.lin.weight.t()",
    "NEW = M + S", "NEW = M * M.mean()", "NEW = M - M.max()", "NEW = M / (1 + M.abs().sum(1, keepdim=True))",
    "NEW = w.helper(M)", "NEW = w.helper(M, by=w.cfg.k)", "NEW = w.fn(M)", "NEW = M * w.cfg.inner.deep",
    "NEW = M * w.items[0] + len(w.items)", "NEW = M * w.table['a']", "NEW = M * G", "NEW = M * box['v']",
    "NEW = M * w.n", "NEW = M if w.flag else M * 2", "NEW = M.sum(0) + M if w.mode is Mode.SUM else M.mean(0) + M",
    "for v in w.items:\n    NEW = M * v", "NEW = sum([M * v for v in w.table.values()])",
    "NEW = torch.stack([M, M])[1]", "NEW = torch.cat([M[:1], M[1:]])", "NEW = M.t().contiguous().t()",
    "NEW = M.view(-1).flip(0).view(3, 4)", "NEW = M.double().float()", "NEW = M.to(w.buf.dtype)",
    "NEW = M + torch.rand(3, 4)", "NEW = F.dropout(M, 0.5)", "NEW = M + torch.randn_like(M)",
    "NEW = M.detach() * 2", "NEW = M.clone()", "NEW = M * getattr(w, 'extra', 1.0)", "NEW = M * w.rate",
    "NEW = M + (0 if w.cfg.k > 0 else 1)", "NEW = M.expand(3, 4) * 1.5", "NEW = M * (w.n % 2)",
    "with torch.no_grad():\n    NEW = M * 3", "NEW = M[:, [0, 1, 3, 2]]", "NEW = M.sort(1)[0]",
    # in place
    "NEW = M.clone()\nNEW.add_(w.scale)", "NEW = M * 1\nNEW[1].fill_(0.25)", "NEW = M * 1\nNEW[:, 1:].mul_(2)",
    "NEW = M.max() + M\nm = M.detach().max()\nm.fill_(0.5)\nNEW = NEW * m", "NEW = M * 1\nNEW.view(-1)[::2].zero_()",
    "w.buf.add_(0.5)", "w.buf.copy_(M.detach())", "w.buf[0].mul_(0.5)", "w.part.add_(0.25)", "w.buf.mul_(w.scale)",
    "x.add_(0.5) if not x.requires_grad else None", "y.mul_(2) if not y.requires_grad else None",
    "y.copy_(x.detach() + 1) if not y.requires_grad else None", "x[0].fill_(w.scale) if not x.requires_grad else None",
    # derivatives
    "(g,) = torch.autograd.grad((M * w.p).sum(), w.p)\nNEW = M + g", "M.sum().backward() if M.requires_grad else None",
    "w.opt.zero_grad()", "w.opt.zero_grad(set_to_none=False)", "(M * w.p).sum().backward()\nw.opt.step()",
    "nn.utils.clip_grad_norm_([w.p], 0.5)", "w.opt.zero_grad()\n(w.lin(M).tanh() * w.p).mean().backward()\nw.opt.step()",
    # classes, hooks with state, aliases, control flow by Python values
    "NEW = M * math.sqrt(abs(M.detach().sum().item()) + 1)", "NEW = M.view(-1).view(3, 4)", "NEW = M.t().t()", "NEW = x[:3]",
    "NEW = M * w.items[(M.detach() > 0).sum().item() % len(w.items)]", "NEW = w.buf[:]", "NEW = M * getattr(x, 'tag', 1.0)",
    "NEW = M * (2 if isinstance(y, nn.Parameter) else 1)", "NEW = w.sub(M)", "NEW = M * pick(w.cfg)", "NEW = y.detach()",
    "NEW = M * float('{0.k}'.format(w.cfg))", "NEW = M * w.cfg.__getattribute__('k')", "NEW = M * w.opt.param_groups[0]['lr']",
    "NEW = nn.functional.embedding(w.idx, w.lin.weight) + M", "NEW = M * len(vars(w.cfg))", "NEW = x.view(3, 4) if x.is_contiguous() else x.clone()",
    "try:\n    NEW = torch.linalg.cholesky(w.mat)[:3] + M\nexcept Exception:\n    NEW = M * 0.5", "NEW = M + w.part.sum()",
    "NEW = M\nfor i, v in enumerate(w.items):\n    NEW = NEW + v if i % 2 else NEW * v", "NEW = M * (type(w.sub).k)",
    "NEW = [M * v for v in w.items if v > 0][0] if w.items[0] > 0 else M", "NEW = M * w.sub.inner.weight.sum()",
    "NEW = M.reshape(4, 3).t()", "NEW = M[:, :2].repeat(1, 2)", "NEW = M.unbind(0)[0] + M", "NEW = M.chunk(2, 1)[1].repeat(1, 2)",
    "NEW = M * 1\nNEW.t_()\nNEW.t_()", "NEW = M * 1\nNEW.view(2, 6)[0].add_(M.detach().view(-1)[:6] if M.is_contiguous() else 1)",
    # attributes that nobody names, identity, gradients that share memory
    "NEW = M * len(vars(w.sub))", "NEW = M * len([n for n in dir(w.sub) if n.startswith('my_')])", "NEW = M * len(vars(w.p))",
    "NEW = M * (2 if w.scale is w.items[0] else 1)", "NEW = M * (2 if x is w.buf else 1)", "NEW = M * (2 if y is w.p else 1)",
    "NEW = M * (2 if type(w.p) is Tagged else 1)", "NEW = Own.apply(M)", "NEW = M * (2 if hasattr(w.opt, 'my_tag') else 1)",
    "g = getattr(w.p, 'gr' + 'ad')\nNEW = M if g is None else M + g", "NEW = M * sum([v for v in vars(w.cfg).values() if isinstance(v, float)])",
    "NEW = torch.distributions.Normal(M, 1.0).log_prob(M * 0.5)", "NEW = M * w.tuple[0]", "NEW = M * (w.p.grad is None)",
    # how tensors lie in memory
    "NEW = M.repeat(1, 2)[:, 2:6]", "NEW = M.t().clone().t()", "NEW = M.t().reshape(4, 3).t()", "NEW = torch.tile(M[:, :2], (1, 2))",
    "NEW = M.t().contiguous().view(-1).view(4, 3).t()", "NEW = M.unfold(1, 2, 2).reshape(3, 4)", "NEW = M.expand(2, 3, 4).reshape(6, 4)[:3]",
    "NEW = torch.cat([M, M], 1)[:, ::2]", "NEW = M.roll(1, 0)", "NEW = M.cumsum(1)", "NEW = M.topk(4, 1)[0]", "NEW = M.t().detach().t()",
    "w.opt.zero_grad()\n(M.detach() * w.p).sum().backward()\nnn.utils.clip_grad_norm_([w.p], 0.3)\nw.opt.step()",
    "w.opt.zero_grad(set_to_none=False)\n(w.lin(M) * w.p).mean().backward()\nw.opt.step()", "NEW = M.as_strided((3, 4), M.stride())",
)  # fmt: skip
SELDOM = (
    "w.count += 1", "w.log.append(1)", "w.last = M.detach()", "NEW = M * random.random()", "w.flag = w.flag",
    "NEW = M if float(M.detach().sum()) > 0 else M * 2", "w.items.append(1.0)", "w.table['c'] = 1.0",
    "NEW = M * (M.detach() > 0).sum().item()", "global G\nG = G + 0.5", "w.norm.eval()", "w.extra = 2.0",
    "x.tag = 2.0", "x.requires_grad_(False) if x.is_leaf else None", "w.kept.append(M)", "w.hook.by += 1", "w.sub.n += 1",
    "x.t_().t_() if not x.requires_grad else None", "w.last = M.detach().sum().item()", "y.data = y.data * 2",
    "w.buf[:, 0] = M.detach()[:, 0]", "w.p.data.mul_(0.5)",
)  # fmt: skip
CHANGES = (
    "w.scale = 0.0", "w.scale = -0.0", "w.scale = 2", "w.scale = 2.0", "w.scale *= 1.5", "w.flag = not w.flag",
    "w.n += 1", "w.n = float(w.n)", "w.n = True", "w.cfg.k = -w.cfg.k", "w.cfg.inner.deep += 1",
    "w.cfg.inner = types.SimpleNamespace(deep=9.0)", "w.cfg.__dict__['k'] = 3.0", "w.items[0] = -w.items[0]",
    "w.items[0] = int(w.items[0])", "w.items.append(0.5)", "w.items.pop() if len(w.items) > 1 else None",
    "w.items = list(w.items)", "w.table['a'] = -1.0", "w.table['d'] = 0.5", "w.table['b'] = 2.0", "w.mode = Mode.MEAN",
    "w.fn = torch.sin", "w.fn = lambda t: t * w.scale", "w.rate = 0.5", "World.rate = 2.5", "box['v'] = 3.0", "G = -0.0",
    "G = 2", "w.extra = 3.0", "w.helper = lambda t, by=0.0: t - by", "w.helper.__func__.__defaults__ = (4.0,)",
    "w.lin = nn.Linear(4, 4)", "w.lin.weight.data.mul_(0.5)", "w.lin.weight.data = torch.ones(4, 4) * 0.1",
    "w.lin.bias = None", "w.seq[1] = nn.Tanh()", "w.seq.append(nn.Tanh())", "w.seq.eval()", "w.seq.train()",
    "w.norm.eval()", "w.norm.momentum = 0.9", "w.seq[2].p = 0.75", "w.lin.requires_grad_(False)", "w.p.requires_grad_(False)",
    "w.p.requires_grad_(True)", "w.p = nn.Parameter(w.p.detach() * 2)", "w.p.grad = None", "w.p.grad = torch.ones(3, 4)",
    "w.lin.forward = lambda t: t * 2", "w.lin.__dict__['forward'] = torch.tanh", "w.lin.__dict__.pop('forward', None)",
    "w.handles.append(w.lin.register_forward_hook(lambda m, a, o: o * 2))", "w.handles.pop().remove() if w.handles else None",
    "w.handles.append(w.p.register_hook(lambda g: g * 0.5))", "w.handles.append(w.lin.register_forward_pre_hook(lambda m, a: (a[0] + 1,)))",
    "w.handles and (w.handles.pop().remove(), w.handles.append(w.lin.register_forward_hook(lambda m, a, o: o * 3)))",
    "w.buf = torch.ones(3, 4) * 0.5", "w.buf.zero_()", "w.part = w.buf[:2]", "w.buf = w.buf.double()", "w.buf = w.buf.float()",
    "w.opt.param_groups[0]['lr'] = 0.5", "w.opt.param_groups[0]['momentum'] = 0", "w.opt.param_groups[0]['weight_decay'] = 0.1",
    "w.opt.state.clear()", "w.opt = torch.optim.Adam([w.p], lr=0.01)", "w.opt.zero_grad()", "w.opt.zero_grad(set_to_none=False)",
    "w.opt.param_groups[0]['params'].pop()", "w.opt.add_param_group({'params': [nn.Parameter(torch.ones(2))]})",
    "w.log.clear()", "w.count = 0", "torch.manual_seed(5)", "w.lin.weight.data.copy_(torch.eye(4))",
    "w.sub.__class__ = Thrice", "w.sub.k = 2.5", "w.sub.n = 3", "w.sub.n = 0", "w.sub.eval()", "w.sub = Twice()", "w.sub.inner = nn.Tanh()",
    "type(w.sub).k, w.keep = type(w.sub).k, 0", "w.handles.append(w.lin.register_forward_hook(w.hook))", "w.hook.by = 5.0",
    "w.handles.append(w.sub.register_forward_hook(Counting()))", "w.hook.__class__ = Counting", "w.cfg = copy.copy(w.cfg)", "w.cfg.more = 1",
    "w.idx[0] = 9", "w.idx[0] = 3", "w.idx = w.idx.flip(0)", "w.mat.neg_()", "w.mat = torch.eye(4) * 4",
    "w.opt.param_groups[0]['nesterov'] = True", "w.opt.param_groups[0]['maximize'] = True", "w.seq = copy.deepcopy(w.seq)",
    "w.lin.weight = w.seq[0].weight", "w.part = w.buf.view(-1)[4:].view(2, 4)", "w.buf = w.p.detach()", "w.norm.track_running_stats = False",
    "nn.utils.parametrizations.weight_norm(w.lin)", "w.seq[0], w.seq[3] = w.seq[3], w.seq[0]", "w.lin.double(); w.lin.float()",
    "w.opt = torch.optim.SGD([w.p, *w.lin.parameters()], lr=0.1)", "w.opt = torch.optim.RMSprop([w.p], lr=0.01)", "w.opt.load_state_dict(w.opt.state_dict())",
    "w.lin.load_state_dict({k: v * 0.5 for k, v in w.lin.state_dict().items()}, assign=True)", "w.items.insert(0, 2.0)", "w.items[:] = [0.25]",
    "w.buf.requires_grad_(True)", "w.p.data = w.p.data.t().contiguous().t()", "w.lin.weight.data = w.lin.weight.data.t()",
    "w.sub.my_tag = 1.0", "w.p.my_tag = 1.0", "w.opt.my_tag = 1", "w.scale = w.items[0]", "w.items[0] = float(str(w.items[0]))",
    "w.lin.weight.grad = w.seq[0].weight.grad = torch.ones(4, 4)", "w.p.grad = w.p.data", "w.p.grad = w.buf", "w.p.grad = torch.zeros(6, 4)[::2]",
    "w.p.grad = torch.zeros(4, 3).t()", "w.p.__class__ = type('P', (nn.Parameter,), {})", "w.opt.param_groups.append(w.opt.param_groups.pop(0))",
    "w.opt.param_groups[0]['params'] = list(reversed(w.opt.param_groups[0]['params']))", "Own.by = 3.0", "Own.by = 2.0", "w.tuple = (3.0, 1)",
    "torch.distributions.Distribution.set_default_validate_args(False)", "w.cfg.my_tag = 0.5", "del w.cfg.k", "w.lin.weight.grad = None",
    "w.lin.zero_grad(set_to_none=False)", "w.buf.set_(torch.ones(3, 4))", "torch.utils.swap_tensors(w.buf, w.p.detach().clone())",
    "w.opt = torch.optim.Adafactor([w.p], lr=0.05)", "w.opt = torch.optim.AdamW([w.p, *w.lin.parameters()], lr=0.05, amsgrad=True)",
    "w.opt = torch.optim.NAdam([w.p, *w.lin.parameters()], lr=0.05)", "w.p.data = torch.stack([w.p.data] * 2, -1)[..., 0]",
    "w.lin.weight.data = torch.cat([w.lin.weight.data] * 2, 1)[:, :4]", "w.lin.weight.data = w.lin.weight.data.t().contiguous().t()",
    "w.p.grad = None if w.p.grad is None else w.p.grad.t().contiguous().t()", "w.opt.param_groups[0]['lr'] *= 0.5",
    "for s in w.opt.state.values():\n    s.update({k: v.t().contiguous().t() for k, v in s.items() if getattr(v, 'ndim', 0) == 2})",
    "w.buf = w.buf.t().contiguous().t()", "w.buf = torch.cat([w.buf] * 2, 1)[:, ::2]",
)  # fmt: skip
# What the caller does with a result before the next call.
AFTER = (
    "r[0].detach().add_(1)", "r[0].mul_(2) if not r[0].requires_grad else None", "w.kept.append(r)", "x.add_(1) if not x.requires_grad else None",
    "r[-1][0].detach().mul_(3)", "w.last = r[0].detach().sum().item()", "r[0].view(-1)[0] = 7.0 if not r[0].requires_grad else None",
    "[t.detach().zero_() for t in r[:-1]]",
    "x.data.add_(1)", "y.data.mul_(2)", "w.p.data.add_(0.5)", "r[0].retain_grad() if r[0].requires_grad else None",
    "w.p.register_hook(lambda g: g * 2) if w.p.requires_grad else None",
    "w.kept.append(r[0][1:].detach()); r = None", "w.kept.append(r[0].t().data); r = None", "w.kept.append(r[0].detach()); r = None",
    "w.kept.append(r[-2].view(-1)[2:7].detach() if r[-2].is_contiguous() else None); r = None", "r = None",
)  # fmt: skip
ARGUMENTS = {
    "apart": "x, y = batch(i, 3, 4), batch(i, 3, 4)",
    "same": "x = y = batch(i, 3, 4)",
    "overlap": "b = batch(i, 5, 4); x, y = b[:3], b[1:4]",
    "beside": "b = batch(i, 6, 4); x, y = b[:3], b[3:]",
    "strided": "b = batch(i, 3, 8); x, y = b[:, ::2], b[:, 1::2]",
    "alias": "x = batch(i, 3, 4); y = x.detach()",
    "transposed": "x, y = batch(i, 4, 3).t(), batch(i, 3, 4)",
    "leaf": "x, y = batch(i, 3, 4).requires_grad_(), batch(i, 3, 4)",
    "world": "x, y = w.buf, batch(i, 3, 4)",
    "world part": "x, y = batch(i, 3, 4), torch.cat([w.buf])[:3]; y = w.buf[:3]",
    "double": "x, y = batch(i, 3, 4).double(), batch(i, 3, 4)",
    "parameter": "x, y = batch(i, 3, 4), w.p",
    "tagged": "x, y = batch(i, 3, 4), batch(i, 3, 4); x.tag = 3.0",
    "subclass": "x, y = batch(i, 3, 4).as_subclass(Tagged), batch(i, 3, 4)",
    "flipped": "x, y = batch(i, 3, 4).flip(0), batch(i, 3, 4)[:, torch.arange(3, -1, -1)]",
    "expanded": "x, y = batch(i, 1, 4).expand(3, 4), batch(i, 3, 4)",
    "result": "x, y = batch(i, 3, 4).requires_grad_() * 1, batch(i, 3, 4)",
    "view of the other": "x = batch(i, 3, 4); y = x.view(3, 4)",
    "weight": "x, y = batch(i, 3, 4), w.lin.weight.detach()[:3]",
    "tiled": "x, y = batch(i, 3, 2).repeat(1, 2), batch(i, 3, 4)",
    "gaps": "b = batch(i, 6, 8); x, y = b[::2, ::2], batch(i, 3, 4)",
    "kept": "x, y = (w.kept[-1] if w.kept and getattr(w.kept[-1], 'shape', ()) == (3, 4) else batch(i, 3, 4)).detach(), batch(i, 3, 4)",
}
# What the user keeps of an iteration without its values being asked for.
LOOKS = (
    "w.kept.append(r[0][1:] if r[0].dim() else r[0])", "w.kept.append(r[0][1:].detach() if r[0].dim() else r[0].detach())",
    "w.kept.append(r[0].t().detach() if r[0].dim() == 2 else r[0].data)", "w.kept.append(w.p.grad)",
    "w.kept.append(None if w.p.grad is None else w.p.grad[1:].detach())",
    "w.kept.append(None if w.lin.weight.grad is None else w.lin.weight.grad.data.t().data)",
    "w.kept.append([v.detach() for s in w.opt.state.values() for v in s.values() if isinstance(v, torch.Tensor)])",
    "show([Version(v) for v in (r[0], w.buf, w.part)], [v._version == 0 for v in (w.p, *w.lin.parameters())])",
    "show(w.p.grad)",
)  # fmt: skip


def filled(text: str, r: random.Random, known: list[str], new: str) -> str:
    """A line with its holes filled."""
    text = re.sub(r"\bM\b", lambda _: r.choice(known[-4:]), text)
    text = re.sub(r"\bS\b", lambda _: r.choice(known) + ".sum()", text)
    return text.replace("NEW", new)


def body_of_a_step(r: random.Random, count: int) -> tuple[list[str], list[str]]:
    """Lines of a step, and the names of what they make."""
    lines, known = [], ["x", "y"]
    for _ in range(count):
        text = r.choice(SELDOM if r.random() < 0.06 else LINES)
        new = f"t{len(known)}"
        lines.append(filled(text, r, known, new))
        if "NEW" in text:
            known.append(new)
    return lines, known


def steps(r: random.Random) -> str:
    """A script that calls a step over and over, while its world changes in between."""
    lines, known = body_of_a_step(r, r.randint(2, 9))
    body = "\n".join(lines).replace("global G\n", "")
    results = ", ".join(known[2:][-3:] or ["x"])
    usual = r.choice(["apart", "apart", "beside", "leaf", "transposed", "parameter"])
    loop = []
    for change in r.sample(CHANGES, r.randint(1, 5)):
        loop.append(at(r, tried(change)))
    loop.append(ARGUMENTS[usual])
    for _ in range(r.choice([0, 0, 1, 3])):
        loop.append(at(r, ARGUMENTS[r.choice(list(ARGUMENTS))]))
    inner = ["r = step(x, y)"]
    if r.random() < 0.4:
        inner.append("outs = [t.float().sum() for t in r[:-1] if t.requires_grad]")
        inner.append("if outs:\n    sum(outs).backward()")
    every = r.choice([1, 1, 2, 3, 50])
    inner.append(f"if i % {every} == {every - 1}:\n    show(float(r[0].detach().sum()))")
    inner.append("show(r, x, y, Version(x), Version(y))")
    loop.append(tried("\n".join(inner)))
    for _ in range(r.randint(0, 2)):
        loop.append(at(r, tried(r.choice(AFTER)), often=True))
    if r.random() < 0.5:
        loop.append(tried(r.choice(LOOKS)))
    if r.random() < 0.3:
        loop.append("show(w.state())")
    return f"""w = World()
def step(x, y):
    global G
{indent(body, "    ")}
    return {results}, [x]
step = compiled(step)
r = None
for i in range({ROUNDS}):
{indent(chr(10).join(loop), "    ")}
show(w.state(), w.kept, G)
"""


def at(r: random.Random, text: str, often: bool = False) -> str:
    """The text under a condition: at one iteration, or again and again."""
    if often and r.random() < 0.5:
        every = r.choice([1, 2, 3, 4])
        return f"if i % {every} == {r.randrange(every)}:\n{indent(text, '    ')}"
    return f"if i == {r.randint(3, ROUNDS - 2)}:\n{indent(text, '    ')}"


def tried(text: str) -> str:
    return f"try:\n{indent(text, '    ')}\nexcept Exception as error:\n    show(error)"


# -- a training -------------------------------------------------------------------------------------

INPUTS = {
    "flat": "torch.randn(n, 4)",
    "image": "torch.randn(n, 2, 6, 6)",
    "sequence": "torch.randn(n, 5, 4)",
    "words": "torch.randint(0, 9, (n, 5))",
}
# What a hidden layer of shape (n, 4) goes through inside of `forward`.
HIDDEN = (
    "h = torch.relu(h)", "h = h.tanh()", "h = F.gelu(h)", "h = h * self.scale", "h = self.norm(h)", "h = h + self.mean", "h = F.dropout(h, 0.3, self.training)",
    "h = h + self.a(h)", "h = self.a(h).sigmoid() * h", "h = F.layer_norm(h, (4,))", "h = h / (1 + h.norm(dim=1, keepdim=True))",
    "h = Own.apply(h)", "h = Clip.apply(h, 1.5)", "with torch.no_grad():\n    self.mean.mul_(0.9).add_(h.detach().mean(0), alpha=0.1)",
    "self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)", "self.calls += 1", "self.last = h", "self.last = h.detach()", "h = h[:, [3, 2, 1, 0]]",
    "h = h.clone()\nh[:, 0] *= 2", "h = h.clone()\nh[h > 1] = 1.0", "h = torch.where(h > 0, h, h * 0.1)", "h = h - h.mean(0, keepdim=True) if len(h) > 1 else h",
    "h = torch.cat([h[:, :2], h[:, 2:] * 2], 1)", "h = h.view(-1, 2, 2).transpose(1, 2).reshape(-1, 4)", "h = h if self.training else h * 0.5",
    "for k in range(self.calls % 3):\n    h = h * 0.9", "h = h.softmax(1) * 4", "h = h @ self.a.weight", "h = F.linear(h, self.a.weight.t(), self.a.bias)",
    "if h.detach().sum() > 0:\n    h = h * 0.5", "h = h.double().to(h.dtype)", "h = h + torch.randn_like(h) * 0.01", "h = h * torch.rand(4)",
    "h = torch.utils.checkpoint.checkpoint(self.a, h, use_reentrant=False)", "h = sum([h * v for v in self.list])", "h = h.masked_fill(h < -1, 0.0)",
    "a, b = h.chunk(2, 1)\nh = torch.cat([b, a * b], 1)", "h = h.cumsum(1)", "h = h.sort(1).values", "h = h.max(1, keepdim=True).values - h", "h = h * (h.detach() > 0)",
    "h = F.embedding(h.argmax(1), self.a.weight)", "h = h.unsqueeze(1).expand(-1, 3, -1).mean(1)", "h = torch.einsum('bi,ij->bj', h, self.a.weight)",
    "h = F.normalize(h, dim=1)", "h = h.roll(1, 1)", "h = h.pow(2).add(1).sqrt()", "h = torch.addmm(self.a.bias, h, self.a.weight)", "h = h.clamp(min=-1).exp().log1p()",
)  # fmt: skip
NETS = {
    "flat": (
        "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))", "nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 3))",
        "nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 6), nn.SiLU(), nn.Linear(6, 3))", "Net()", "Net()", "Net()", "Net()",
        "nn.Sequential(nn.Linear(4, 6, bias=False), nn.PReLU(), nn.Linear(6, 3))", "nn.Sequential(Net(), nn.LeakyReLU(), nn.Linear(3, 3))",
    ),
    "image": (
        "nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3))",
        "nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))",
        "nn.Sequential(nn.Conv2d(2, 4, 3, stride=2, groups=2), nn.GroupNorm(2, 4), nn.ELU(), nn.Flatten(), nn.LazyLinear(3))",
        "nn.Sequential(nn.ConvTranspose2d(2, 3, 2), nn.AvgPool2d(3), nn.Flatten(1), nn.Linear(12, 3))",
    ),
    "sequence": ("Recurrent(nn.LSTM)", "Recurrent(nn.GRU)", "Recurrent(nn.RNN)", "Attending()"),
    "words": ("Words(False)", "Words(False)", "Words(True)", "nn.Sequential(nn.EmbeddingBag(9, 4), nn.Linear(4, 3))"),
}  # fmt: skip
CLASSES = {
    "Recurrent(": """class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn, self.out = kind(4, 5, batch_first=True), nn.Linear(5, 3)
    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])""",
    "Attending(": """class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1, batch_first=True)
        self.out = nn.Linear(4, 3)
    def forward(self, x):
        return self.out(self.layer(x).mean(1))""",
    "Words(": """class Words(nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.table, self.out = nn.Embedding(9, 4, sparse=sparse), nn.Linear(4, 3)
    def forward(self, x):
        return self.out(self.table(x).mean(1))""",
}
CLASS_LOSSES = (
    "F.cross_entropy(out, t)", "F.cross_entropy(out, t, label_smoothing=0.1)", "F.nll_loss(F.log_softmax(out, 1), t)", "F.cross_entropy(out, t, reduction='sum')",
    "nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]).to(out.dtype))(out, t)", "F.multi_margin_loss(out, t)", "F.cross_entropy(out, t, ignore_index=1)",
    "-(out.log_softmax(1).gather(1, t[:, None])).mean()", "-out.log_softmax(1)[torch.arange(len(t)), t].mean()", "F.mse_loss(out, F.one_hot(t, 3).to(out.dtype))",
)  # fmt: skip
OTHER_LOSSES = (
    "F.mse_loss(out, t)", "((out - t) ** 2).mean()", "F.smooth_l1_loss(out, t)", "F.binary_cross_entropy_with_logits(out, t.sigmoid())", "F.l1_loss(out, t)",
    "F.huber_loss(out, t, delta=0.5)", "(out - t).abs().pow(1.5).sum() / len(t)", "F.kl_div(out.log_softmax(1), t.softmax(1), reduction='batchmean')",
    "F.cosine_embedding_loss(out, t, torch.ones(len(t)).to(out.dtype))", "torch.nn.functional.gaussian_nll_loss(out, t, out.detach() ** 2 + 1)",
)  # fmt: skip
OPTIMISERS = (
    "SGD(P, lr=0.1)", "SGD(P, lr=0.05, momentum=0.9)", "SGD(P, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)", "SGD(P, lr=0.01, maximize=True)",
    "SGD(P, lr=0.05, momentum=0.5, dampening=0.1)", "Adam(P, lr=0.01)", "Adam(P, lr=0.01, amsgrad=True, weight_decay=0.1)", "AdamW(P, lr=0.01)", "AdamW(P)",
    "RMSprop(P, lr=0.01)", "RMSprop(P, lr=0.01, momentum=0.5, centered=True)", "Adagrad(P, lr=0.05)", "Adadelta(P)", "Adamax(P, lr=0.01)", "NAdam(P, lr=0.01)",
    "RAdam(P, lr=0.01)", "ASGD(P, lr=0.05)", "Rprop(P, lr=0.01)", "Adafactor(P, lr=0.01)", "Adam(P, lr=torch.tensor(0.01), foreach=True)", "SGD(P, lr=0.1, foreach=True)",
)  # fmt: skip
SCHEDULES = (
    "StepLR(opt, 3, 0.5)", "ExponentialLR(opt, 0.9)", "CosineAnnealingLR(opt, 10)", "OneCycleLR(opt, 0.1, total_steps=60)", "LambdaLR(opt, lambda k: 1 / (1 + k))",
    "LinearLR(opt, total_iters=5)", "MultiStepLR(opt, [2, 5])", "CosineAnnealingWarmRestarts(opt, 4)", "PolynomialLR(opt, 10)", "MultiplicativeLR(opt, lambda k: 0.95)",
    "SequentialLR(opt, [torch.optim.lr_scheduler.LinearLR(opt, total_iters=3), torch.optim.lr_scheduler.StepLR(opt, 4)], [3])", "ReduceLROnPlateau(opt, patience=1)",
)  # fmt: skip
# What happens between the lines of a training; `first` is a module with weights of the network.
BEFORE = (
    "net.eval()\nwith torch.no_grad():\n    show(net(x).argmax(1))\nnet.train()", "net.eval()", "net.train()", "first.eval()",
    "with torch.no_grad():\n    first.weight.clamp_(-1, 1)", "with torch.no_grad():\n    first.weight -= 0.01 * first.weight", "first.weight.data.mul_(0.9)",
    "first.weight.detach()[0].mul_(0.5)", "flat = first.weight.data.view(-1)\nflat[::2].zero_()", "first.weight.detach().numpy()[...] *= 0.5", "torch.manual_seed(i)",
    "for p in first.parameters():\n    p.requires_grad_(False)", "for p in net.parameters():\n    p.requires_grad_(True)", "first.weight.requires_grad_(i % 2 == 0)",
    "handles.append(first.register_forward_hook(lambda m, a, o: o * 2))", "handles.append(first.register_forward_pre_hook(lambda m, a: (a[0] * 1.5,)))",
    "handles.append(first.weight.register_hook(lambda g: g * 0.5))", "handles.append(first.register_full_backward_hook(lambda m, gi, go: show(go[0])))",
    "handles.append(first.weight.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(0.5)))", "if handles:\n    handles.pop().remove()",
    "handles.append(net.register_forward_hook(lambda m, a, o: show(o.detach())))", "handles.append(first.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,)))",
    "net = copy.deepcopy(net)\nfirst = [m for m in net.modules() if 'weight' in dict(m.named_parameters(recurse=False))][0]",
    "twin = copy.deepcopy(net)\nshow(twin(x).sum())", "opt = torch.optim.Adam(net.parameters(), lr=0.01)", "opt.state.clear()", "net.double()", "net.float()", "gc.collect()",
    "nn.utils.parametrizations.weight_norm(first)", "nn.utils.parametrize.register_parametrization(first, 'weight', Symmetric())",
    "nn.utils.parametrize.remove_parametrizations(first, 'weight')", "nn.utils.prune.l1_unstructured(first, 'weight', 0.5)", "first.bias = None",
    "first.weight = nn.Parameter(first.weight.detach() * 0.5)\nopt = torch.optim.SGD(net.parameters(), lr=0.05)", "first.weight.data = first.weight.data.clone()",
    "first.weight.data = first.weight.data.t().contiguous().t() if first.weight.dim() == 2 else first.weight.data", "nn.init.uniform_(first.weight, -0.5, 0.5)",
    "buffer = io.BytesIO()\ntorch.save({'net': net.state_dict(), 'opt': opt.state_dict(), 'at': i}, buffer)\nbuffer.seek(0)\nsaved = torch.load(buffer)\nnet.load_state_dict(saved['net'])\nopt.load_state_dict(saved['opt'])",
    "buffer = io.BytesIO()\ntorch.save(net.state_dict(), buffer)", "if buffer is not None:\n    buffer.seek(0)\n    found = torch.load(buffer)\n    net.load_state_dict(found.get('net', found))",
    "opt.load_state_dict(copy.deepcopy(opt.state_dict()))", "best = {k: v.clone() for k, v in net.state_dict().items()}", "if best is not None:\n    net.load_state_dict(best)",
    "best = net.state_dict()", "state = torch.get_rng_state()", "if state is not None:\n    torch.set_rng_state(state)", "random.seed(i)", "x = x[:2]; t = t[:2]", "x = x.flip(0)",
    "x = x + 0.01 * torch.randn_like(x)", "x = x * random.random()", "x.requires_grad_()", "x = x[:, :2]", "x[0] = 0", "x = x.transpose(0, 1).contiguous().transpose(0, 1)",
    "if len(x) < 3:\n    continue", "break", "raise ValueError('stop')", "net.zero_grad()", "opt.zero_grad(set_to_none=False)", "x = x.double()", "t = t.flip(0)",
    "worker = threading.Thread(target=lambda: show(first.weight.detach().sum()))\nworker.start()\nworker.join()",
    "worker = threading.Thread(target=lambda: first.weight.data.mul_(0.99))\nworker.start()\nworker.join()",
    "def work():\n    small = nn.Linear(2, 1)\n    rule = torch.optim.SGD(small.parameters(), lr=0.1)\n    for _ in range(3):\n        rule.zero_grad()\n        small(torch.ones(4, 2)).sum().backward()\n        rule.step()\n    show(small.weight)\nworker = threading.Thread(target=work)\nworker.start()\nworker.join()",
    "try:\n    net(x[..., :1])\nexcept (RuntimeError, ValueError, IndexError) as error:\n    show(type(error).__name__)", "try:\n    first.weight.add_(1)\nexcept RuntimeError as error:\n    show(type(error).__name__)",
    "try:\n    with torch.no_grad():\n        raise KeyError('stop')\nexcept KeyError:\n    show(torch.is_grad_enabled())", "with torch.inference_mode():\n    show(net(x).sum())",
    "try:\n    F.cross_entropy(net(x), torch.full((len(x),), 7))\nexcept (IndexError, RuntimeError) as error:\n    show(type(error).__name__)", "show(next(net.parameters()).grad is None)",
    "for name, p in net.named_parameters():\n    show(name, p.grad)", "nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(net.parameters()) * 0.99, net.parameters())",
    "twin = copy.deepcopy(net)\nfor p, q in zip(twin.parameters(), net.parameters()):\n    p.data.lerp_(q.data, 0.5)\nshow(list(twin.parameters()))",
    "g = torch.autograd.grad(net(x).sum(), list(net.parameters()), allow_unused=True)\nshow(g)", "show(torch.func.functional_call(net, {k: v * 0.5 for k, v in net.named_parameters()}, (x,)))",
    "xs = x.clone().requires_grad_()\n(gx,) = torch.autograd.grad(net(xs).sum(), xs, create_graph=True)\n(gx ** 2).sum().backward()", "torch.set_grad_enabled(False)", "torch.set_grad_enabled(True)",
    "ema = torch.optim.swa_utils.AveragedModel(net) if ema is None else ema\nema.update_parameters(net)\nshow(list(ema.parameters()))", "net.requires_grad_(False)", "net.requires_grad_()",
)  # fmt: skip
BETWEEN = (  # after the loss, before `backward`
    "loss = loss + 0.01 * first.weight.abs().sum()", "loss = loss + 0.01 * sum([p.pow(2).sum() for p in net.parameters()])", "loss = loss / 2", "show(loss)", "show(loss.item())", "out.retain_grad()",
    "losses.append(loss)", "losses.append(loss.detach())", "losses.append(loss.item())", "total = total + loss", "total = total + loss.detach()", "total += loss.item()", "pred = out.argmax(1)\nshow((pred == t).sum())",
    "if loss.item() > 2:\n    continue", "if torch.isnan(loss):\n    break", "with torch.no_grad():\n    show(out.softmax(1).max())", "loss = loss * (0.5 if i % 3 else 2.0)", "kept.append(out)", "kept.append(out.detach())",
    "with torch.no_grad():\n    out.mul_(2)", "out.detach().zero_()", "loss.register_hook(lambda g: g * 0.5)", "out.register_hook(lambda g: g.clamp(-0.1, 0.1))", "loss = loss.detach()", "loss = loss.mean()", "loss.backward(retain_graph=True)",
    "show(loss.requires_grad, out.requires_grad, out.grad_fn is None)", "(g,) = torch.autograd.grad(loss, first.weight, retain_graph=True)\nshow(g)", "loss = loss + out.std() * 0.1", "first.weight.data.add_(0.01)", "with torch.no_grad():\n    first.weight.add_(0.01)",
    "view = out[:, 0]\nloss = loss + view.sum() * 0.1", "loss = loss.clamp(max=5.0)", "loss = loss.float()", "loss = loss.double()", "show(f'{loss.item():.2f}')", "loss = torch.stack([loss, loss * 0.5]).mean()", "x.add_(1)",
    "grads = torch.autograd.grad(loss, [p for p in net.parameters() if p.requires_grad], create_graph=True, allow_unused=True)\nloss = loss + sum([g.pow(2).sum() for g in grads if g is not None]) * 0.01",
)  # fmt: skip
BEHIND = (  # after `backward`, before the step
    "show(nn.utils.clip_grad_norm_(net.parameters(), 1.0))", "nn.utils.clip_grad_value_(net.parameters(), 0.05)", "first.weight.grad = None", "first.weight.grad.zero_()", "first.weight.grad.data.mul_(0.5)", "first.weight.grad *= 2",
    "for p in net.parameters():\n    if p.grad is not None:\n        p.grad.add_(0.01 * torch.randn_like(p))", "show([None if p.grad is None else p.grad.norm() for p in net.parameters()])", "show([p.grad for p in net.parameters()])",
    "kept.append(first.weight.grad)", "kept.append(first.weight.grad.clone())", "kept.append(first.weight.detach())", "kept.append(first.weight)", "show(first.weight._version > 0)", "show(x.grad)", "show(out.grad)", "del loss, out", "if i % 2:\n    continue",
    "try:\n    loss.backward()\nexcept RuntimeError as error:\n    show(type(error).__name__)", "first.weight.grad = torch.ones_like(first.weight)", "grad = first.weight.grad\nopt.zero_grad()\nfirst.weight.grad = grad", "row = first.weight.grad[0]\nrow.zero_()",
    "first.weight.grad = first.weight.grad.clone()", "if not all([p.grad is None or torch.isfinite(p.grad).all() for p in net.parameters()]):\n    break", "opt.step()", "loss = 0", "first.weight.grad.numpy()[...] = 0.1", "nn.utils.clip_grad_norm_(first.weight, 0.1)",
)  # fmt: skip
BEYOND = (  # after the step
    "for g in opt.param_groups:\n    g['lr'] *= 0.9", "opt.param_groups[0]['lr'] = 0.01", "losses.append(float(loss))", "show(loss.item())", "show(first.weight)", "show(first.weight._version > 0, first.bias is None)", "history.append(first.weight.detach().clone())",
    "history.append(first.weight.data)", "opt.zero_grad()", "net.zero_grad(set_to_none=False)", "if extra is None:\n    extra = nn.Parameter(torch.ones(3))\n    opt.add_param_group({'params': [extra], 'lr': 0.5})", "show(opt.state_dict()['param_groups'][0]['lr'])",
    "with torch.no_grad():\n    for p in net.parameters():\n        p.clamp_(-2, 2)", "del x, t", "show(sum([p.sum() for p in net.parameters()]))", "losses = losses[-2:]", "show(torch.stack([torch.as_tensor(v) for v in losses]).mean())", "opt.param_groups[0]['weight_decay'] = 0.1",
    "if sched is not None:\n    show(sched.get_last_lr())", "loss.backward()", "net.eval()\nwith torch.no_grad():\n    show(net(x))\nnet.train()", "show(len(opt.state))", "if losses and float(losses[-1]) < 0.2:\n    break", "[p.grad.zero_() for p in net.parameters() if p.grad is not None]",
    "torch.nn.utils.stateless.functional_call(net, {}, (x,))", "show(net.state_dict())", "out.add_(1)", "total = 0.0", "x, t = t, x", "kept.clear()", "show(pickle.loads(pickle.dumps(first.weight.detach())))",
)  # fmt: skip


def training(r: random.Random) -> str:
    """A training as somebody writes it, with what happens in between."""
    kind = r.choice(["flat", "flat", "flat", "image", "sequence", "words"])
    net = r.choice(NETS[kind])
    classes = [text for name, text in CLASSES.items() if name in net]
    if "Net()" in net:
        classes.append(net_class(r))
    target, loss = ("torch.randint(0, 3, (n,))", r.choice(CLASS_LOSSES)) if r.random() < 0.6 else ("torch.randn(n, 3)", r.choice(OTHER_LOSSES))  # fmt: skip
    rule = r.choice(OPTIMISERS)
    sparse = "Words(True)" in net
    rule = r.choice(["SGD(P, lr=0.1)", "Adagrad(P, lr=0.05)", "SparseAdam(P, lr=0.01)"]) if sparse else rule
    given = "[{'params': list(net.parameters())[:1], 'lr': 0.02}, {'params': list(net.parameters())[1:]}]" if r.random() < 0.2 else "net.parameters()"  # fmt: skip
    sched = f"torch.optim.lr_scheduler.{r.choice(SCHEDULES)}" if r.random() < 0.4 else "None"
    setup = [
        f"torch.manual_seed({r.randint(0, 999)})", *classes, f"net = {net}",
        f"n = 5\nnet({INPUTS[kind]})" if "Lazy" in net else "",
        "first = [m for m in net.modules() if 'weight' in dict(m.named_parameters(recurse=False))][0]" if kind not in ("sequence",) else "first = [m for m in net.modules() if isinstance(m, nn.Linear)][-1]",
        f"opt = torch.optim.{rule.replace('P', given, 1)}", f"sched = {sched}",
        "losses, kept, history, handles, total, extra = [], [], [], [], 0.0, None",
        "buffer = best = state = ema = None",
    ]  # fmt: skip
    data, heads, lead = batches(r, INPUTS[kind], target)
    call = "net"
    if r.random() < 0.3:
        setup.append("model = compiled(net)")
        call = "model"
    every = r.choice([1, 1, 1, 1, 2, 3])  # accumulation
    core = ["i += 1", lead, *some(r, BEFORE, 0.45)]
    if kind != "words":
        core.append("x = x.to(next(net.parameters()).dtype)")
    zero = r.choice(["opt.zero_grad()", "opt.zero_grad()", "opt.zero_grad(set_to_none=False)", "net.zero_grad()", ""])
    zero = f"if i % {every} == 0:\n    {zero}" if every > 1 and zero else zero
    forward = [f"out = {call}(x)", f"loss = {loss}"]
    form = r.random()
    if form < 0.15:  # a closure
        inner = ["opt.zero_grad()", *forward, *some(r, BETWEEN, 0.2, bare=True), "loss.backward()", "return loss"]
        core += ["def closure():\n" + indent("\n".join(inner), "    "), "loss = opt.step(closure)", *some(r, BEYOND, 0.3)]  # fmt: skip
    elif form < 0.45 and call == "net":  # a step as a function
        inner = [zero, *forward, *some(r, BETWEEN, 0.3, bare=True), "loss.backward()", *some(r, BEHIND, 0.2, bare=True), "opt.step()", "return loss, out"]  # fmt: skip
        text = "\n".join([line for line in inner if line])
        if re.search(r"^\s*(continue|break)$", text, re.MULTILINE):
            text = re.sub(r"\b(continue|break)$", "return loss, out", text, flags=re.MULTILINE)
        setup.append("def train(x, t, i):\n    global losses, kept, total\n" + indent(text, "    "))
        setup.append("train = compiled(train)")
        core += ["loss, out = train(x, t, i)", *some(r, BEYOND, 0.4)]
    else:
        step = r.choice(["opt.step()", "opt.step()", "opt.step()", "with torch.no_grad():\n    for p in net.parameters():\n        if p.grad is not None:\n            p -= 0.05 * p.grad"])  # fmt: skip
        step = f"if i % {every} == {every - 1}:\n{indent(step, '    ')}" if every > 1 else step
        order = [zero, *forward] if r.random() < 0.7 else [*forward, zero]
        core += [*order, *some(r, BETWEEN, 0.5), "loss.backward()", *some(r, BEHIND, 0.45), step, *some(r, BEYOND, 0.5)]
    if sched != "None":
        given = "float(loss.detach())" if "Plateau" in sched else ""
        core.append(r.choice([f"sched.step({given})", f"if i % 3 == 2:\n    sched.step({given})"]))
    core.append(r.choice(["losses.append(loss.item())", "if i % 5 == 4:\n    losses.append(loss.item())", "losses.append(loss.detach())", "", ""]))  # fmt: skip
    body = "\n".join([line for line in core if line])
    if r.random() < 0.25:
        body = f"try:\n{indent(body, '    ')}\nexcept (RuntimeError, ValueError, IndexError) as error:\n    show(error)\n    opt.zero_grad()"
    for head in reversed(heads):
        body = f"{head}\n{indent(body, '    ')}"
    last = "show(losses, kept, history, total, extra, attributes(net, opt))"
    return "\n".join([*[line for line in setup if line], *data, "i = -1", body, last])


def some(r: random.Random, words: Any, chance: float, bare: bool = False) -> list[str]:
    """A few of the words: each at one iteration, now and then, or always."""
    found = []
    while r.random() < chance:
        text = r.choice(words)
        if r.random() < 0.3:
            text = tried(text)
        always = bare or (r.random() < 0.25 and text != "break")
        found.append(text if always else at(r, text, often=True))
    return found


def net_class(r: random.Random) -> str:
    """A module of somebody's own."""
    hidden = "\n".join([r.choice(HIDDEN) for _ in range(r.randint(1, 4))])
    return f"""class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(4, 4), nn.Linear(4, 3), nn.BatchNorm1d(4)
        self.register_buffer("mean", torch.zeros(4))
        self.scale, self.calls, self.list, self.last = 1.5, 0, [1.0, 0.5], None
    def forward(self, x):
        h = self.a(x)
{indent(hidden, "        ")}
        return self.b(h)"""


def batches(r: random.Random, x: str, t: str) -> tuple[list[str], list[str], str]:
    """Lines that make the data, the heads of the loops over it, and how an iteration begins."""
    size = r.choice([4, 5, 7])
    form = r.randrange(6)
    if form == 0:  # the same batches again and again
        sizes = r.choice([f"[{size}] * 6", f"[{size}, {size}, 3, {size}, 2, {size}]"])
        return [f"data = [({x}, {t}) for n in {sizes}]"], ["for epoch in range(4):", "for x, t in data:"], ""
    if form == 1:  # a loader
        words = r.choice(["shuffle=True", "shuffle=True, drop_last=True", "", "shuffle=True, generator=torch.Generator().manual_seed(3)"])  # fmt: skip
        return [f"n = 23\nloader = DataLoader(TensorDataset({x}, {t}), batch_size={size}, {words})"], ["for epoch in range(5):", "for x, t in loader:"], ""  # fmt: skip
    if form == 2:  # drawn in the loop
        return [f"n = {size}"], [f"for step in range({ROUNDS}):"], f"x, t = {x}, {t}"
    if form == 3:  # a generator
        return [f"def stream(n):\n    for k in range({ROUNDS}):\n        if k == 15:\n            n = 3\n        yield {x}, {t}"], [f"for x, t in stream({size}):"], ""  # fmt: skip
    if form == 4:  # one batch for ever
        return [f"n = {size}\nx0, t0 = {x}, {t}"], [f"while i < {ROUNDS}:"], "x, t = x0, t0"
    return [f"n = 30\nxs, ts = {x}, {t}"], [f"for step in range({ROUNDS}):"], f"part = torch.randperm(30)[:{size}]\nx, t = xs[part], ts[part]"  # fmt: skip


def script(seed: int) -> str:
    """The random script of a seed."""
    return (steps, fuzz_pieces.program, training)[seed % 3](random.Random(seed))
