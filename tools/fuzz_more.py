"""More words for the programs of fuzz_compile: aliases, classes, hooks with state, control flow by Python values, callers that write."""

from __future__ import annotations

import copy
import math
import types
from typing import Any

import rushlight as torch
from rushlight import nn

FIRST = 5_000_000  # programs from this number on have these words, too
ATTACKED = 9_000_000  # from this one on those of LATER, up to SECOND
SECOND = 10_000_000  # and from this one on those about how tensors lie in memory


class Twice(nn.Module):
    """A module with numbers of its own and of its class."""

    k = 1.5

    def __init__(self) -> None:
        super().__init__()
        self.n, self.inner = 2, nn.Linear(4, 4)

    def forward(self, t: Any) -> Any:
        for _ in range(self.n):
            t = t * self.k
        return self.inner(t) if self.training else t


class Thrice(Twice):
    k = 3.0

    def forward(self, t: Any) -> Any:
        return t * 3 + self.n


class Tagged(torch.Tensor):
    pass


class Own(torch.autograd.Function):
    """A derivative that depends on Python."""

    by = 2.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * Own.by


class Hook:
    """A forward hook with state."""

    def __init__(self) -> None:
        self.by, self.calls = 2.0, 0

    def __call__(self, module: Any, given: Any, out: Any) -> Any:
        return out * self.by


class Counting(Hook):
    def __call__(self, module: Any, given: Any, out: Any) -> Any:
        self.calls += 1
        return out + self.calls


def pick(cfg: Any) -> float:
    match cfg:
        case types.SimpleNamespace(k=0.5):
            return 1.0
        case types.SimpleNamespace(k=k):
            return k
    return 2.0


def furnish(w: Any) -> None:
    """What the world has beside the rest."""
    w.sub, w.hook = Twice(), Hook()
    w.idx, w.mat = torch.tensor([0, 1, 2]), torch.eye(4)
    w.kept, w.tuple = [], (2.0, 1)
    Own.by = 2.0
    torch.distributions.Distribution.set_default_validate_args(True)


NAMES = {
    "math": math, "copy": copy, "Twice": Twice, "Thrice": Thrice, "Tagged": Tagged, "Hook": Hook,
    "Counting": Counting, "pick": pick, "Own": Own,
}  # fmt: skip
LINES = (
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
)  # fmt: skip
SELDOM = (
    "x.tag = 2.0", "x.requires_grad_(False) if x.is_leaf else None", "w.kept.append(M)", "w.hook.by += 1", "w.sub.n += 1",
    "x.t_().t_() if not x.requires_grad else None", "w.last = M.detach().sum().item()", "y.data = y.data * 2",
    "w.buf[:, 0] = M.detach()[:, 0]", "w.p.data.mul_(0.5)",
)  # fmt: skip
CHANGES = (
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
)  # fmt: skip
ARGUMENTS = {
    "tagged": "x, y = T(3, 4), T(3, 4); x.tag = 3.0",
    "subclass": "x, y = T(3, 4).as_subclass(Tagged), T(3, 4)",
    "flipped": "x, y = T(3, 4).flip(0), T(3, 4)[:, torch.arange(3, -1, -1)]",
    "expanded": "x, y = T(1, 4).expand(3, 4), T(3, 4)",
    "result": "x, y = T(3, 4).requires_grad_() * 1, T(3, 4)",
    "view of the other": "x = T(3, 4); y = x.view(3, 4)",
    "weight": "x, y = T(3, 4), w.lin.weight.detach()[:3]",
}
# What the caller does with a result before the next call.
AFTER = (
    "r[0].detach().add_(1)", "r[0].mul_(2) if not r[0].requires_grad else None", "w.kept.append(r)", "x.add_(1) if not x.requires_grad else None",
    "r[-1][0].detach().mul_(3)", "w.last = r[0].detach().sum().item()", "r[0].view(-1)[0] = 7.0 if not r[0].requires_grad else None",
    "[t.detach().zero_() for t in r[:-1]]",
)  # fmt: skip
# -- how tensors lie in memory ------------------------------------------------------------------------

LYING_LINES = (
    "NEW = M.repeat(1, 2)[:, 2:6]", "NEW = M.t().clone().t()", "NEW = M.t().reshape(4, 3).t()", "NEW = torch.tile(M[:, :2], (1, 2))",
    "NEW = M.t().contiguous().view(-1).view(4, 3).t()", "NEW = M.unfold(1, 2, 2).reshape(3, 4)", "NEW = M.expand(2, 3, 4).reshape(6, 4)[:3]",
    "NEW = torch.cat([M, M], 1)[:, ::2]", "NEW = M.roll(1, 0)", "NEW = M.cumsum(1)", "NEW = M.topk(4, 1)[0]", "NEW = M.t().detach().t()",
    "w.opt.zero_grad()\n(M.detach() * w.p).sum().backward()\nnn.utils.clip_grad_norm_([w.p], 0.3)\nw.opt.step()",
    "w.opt.zero_grad(set_to_none=False)\n(w.lin(M) * w.p).mean().backward()\nw.opt.step()", "NEW = M.as_strided((3, 4), M.stride())",
)  # fmt: skip
LYING_CHANGES = (
    "w.opt = torch.optim.Adafactor([w.p], lr=0.05)", "w.opt = torch.optim.AdamW([w.p, *w.lin.parameters()], lr=0.05, amsgrad=True)",
    "w.opt = torch.optim.NAdam([w.p, *w.lin.parameters()], lr=0.05)", "w.p.data = torch.stack([w.p.data] * 2, -1)[..., 0]",
    "w.lin.weight.data = torch.cat([w.lin.weight.data] * 2, 1)[:, :4]", "w.lin.weight.data = w.lin.weight.data.t().contiguous().t()",
    "w.p.grad = None if w.p.grad is None else w.p.grad.t().contiguous().t()", "w.opt.param_groups[0]['lr'] *= 0.5",
    "for s in w.opt.state.values():\n    s.update({k: v.t().contiguous().t() for k, v in s.items() if getattr(v, 'ndim', 0) == 2})",
    "w.buf = w.buf.t().contiguous().t()", "w.buf = torch.cat([w.buf] * 2, 1)[:, ::2]",
)  # fmt: skip
LYING_ARGUMENTS = {
    "tiled": "x, y = T(3, 2).repeat(1, 2), T(3, 4)",
    "gaps": "b = T(6, 8); x, y = b[::2, ::2], T(3, 4)",
    "kept": "x, y = (w.kept[-1] if w.kept and getattr(w.kept[-1], 'shape', ()) == (3, 4) else T(3, 4)).detach(), T(3, 4)",
}
# What the caller keeps of a result that he drops.
LYING_AFTER = (
    "w.kept.append(r[0][1:].detach()); r = None", "w.kept.append(r[0].t().data); r = None", "w.kept.append(r[0].detach()); r = None",
    "w.kept.append(r[-2].view(-1)[2:7].detach() if r[-2].is_contiguous() else None); r = None", "r = None",
)  # fmt: skip


class LATER:
    """What an attack of 17 November added: attributes that nobody names, identity, gradients that share memory."""

    LINES = (
        "NEW = M * len(vars(w.sub))", "NEW = M * len([n for n in dir(w.sub) if n.startswith('my_')])", "NEW = M * len(vars(w.p))",
        "NEW = M * (2 if w.scale is w.items[0] else 1)", "NEW = M * (2 if x is w.buf else 1)", "NEW = M * (2 if y is w.p else 1)",
        "NEW = M * (2 if type(w.p) is Tagged else 1)", "NEW = Own.apply(M)", "NEW = M * (2 if hasattr(w.opt, 'my_tag') else 1)",
        "g = getattr(w.p, 'gr' + 'ad')\nNEW = M if g is None else M + g", "NEW = M * sum([v for v in vars(w.cfg).values() if isinstance(v, float)])",
        "NEW = torch.distributions.Normal(M, 1.0).log_prob(M * 0.5)", "NEW = M * w.tuple[0]", "NEW = M * (w.p.grad is None)",
    )  # fmt: skip
    CHANGES = (
        "w.sub.my_tag = 1.0", "w.p.my_tag = 1.0", "w.opt.my_tag = 1", "w.scale = w.items[0]", "w.items[0] = float(str(w.items[0]))",
        "w.lin.weight.grad = w.seq[0].weight.grad = torch.ones(4, 4)", "w.p.grad = w.p.data", "w.p.grad = w.buf", "w.p.grad = torch.zeros(6, 4)[::2]",
        "w.p.grad = torch.zeros(4, 3).t()", "w.p.__class__ = type('P', (nn.Parameter,), {})", "w.opt.param_groups.append(w.opt.param_groups.pop(0))",
        "w.opt.param_groups[0]['params'] = list(reversed(w.opt.param_groups[0]['params']))", "Own.by = 3.0", "Own.by = 2.0", "w.tuple = (3.0, 1)",
        "torch.distributions.Distribution.set_default_validate_args(False)", "w.cfg.my_tag = 0.5", "del w.cfg.k", "w.lin.weight.grad = None",
        "w.lin.zero_grad(set_to_none=False)", "w.buf.set_(torch.ones(3, 4))", "torch.utils.swap_tensors(w.buf, w.p.detach().clone())",
    )  # fmt: skip
    AFTER = (
        "x.data.add_(1)", "y.data.mul_(2)", "w.p.data.add_(0.5)", "r[0].retain_grad() if r[0].requires_grad else None",
        "w.p.register_hook(lambda g: g * 2) if w.p.requires_grad else None",
    )  # fmt: skip
