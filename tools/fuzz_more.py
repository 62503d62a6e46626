"""More words for the programs of fuzz_compile: aliases, classes, hooks with state, control flow by Python values, callers that write."""

from __future__ import annotations

import copy
import math
import types
from typing import Any

import rushlight as torch
from rushlight import nn

FIRST = 5_000_000  # programs from this number on have these words, too


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
    w.kept = []


NAMES = {
    "math": math, "copy": copy, "Twice": Twice, "Thrice": Thrice, "Tagged": Tagged, "Hook": Hook,
    "Counting": Counting, "pick": pick,
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
