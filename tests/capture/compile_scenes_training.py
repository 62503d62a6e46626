"""Scenes with modules, hooks and optimisers that change between calls."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import copy

import rushlight as torch
from compile_scenes import X, scene, see, tell
from rushlight import nn


def net_():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Dropout(0.3), nn.BatchNorm1d(3), nn.Linear(3, 3))


def train(net, opt, loss=lambda o: (o**2).mean()):
    def fn(x):
        opt.zero_grad()
        l = loss(net(x))
        l.backward()
        opt.step()
        return l

    return fn


def net_case(name, change, opt=None):
    def make(c):
        n = net_()
        o = (opt or (lambda n: torch.optim.SGD(n.parameters(), lr=0.01, momentum=0.5)))(n)
        f = c(train(n, o))
        for i in range(10):
            change(i, n, o)
            yield (
                tell(f, X(i)),
                see(list(n.state_dict().values())),
                see([p.grad for p in n.parameters()]),
                see([[v for v in s.values()] for s in o.state.values()]),
            )

    make.__name__ = "net_" + name
    scene(make)


at = lambda *k: (lambda g: (lambda i, n, o: g(n, o) if i in k else None))
net_case(
    "bn_buffers_none", at(5)(lambda n, o: (setattr(n[3], "running_mean", None), setattr(n[3], "running_var", None)))
)
net_case("relu_inplace", at(5)(lambda n, o: setattr(n[1], "inplace", True)))
net_case("weight_data", at(5)(lambda n, o: setattr(n[0].weight, "data", torch.eye(3))))
net_case("bias_none", at(5)(lambda n, o: setattr(n[0], "bias", None)))
net_case("double", at(5)(lambda n, o: n.double()))
net_case("insert", at(5)(lambda n, o: n.insert(1, nn.Tanh())))
net_case("order", at(5)(lambda n, o: n._modules.update({"1": n._modules.pop("1")})))
net_case("prehook", at(5)(lambda n, o: n[0].register_forward_pre_hook(lambda m, a: (a[0] + 1,))))
net_case("old_weight_norm", at(5)(lambda n, o: nn.utils.weight_norm(n[0])))
net_case("spectral", at(5)(lambda n, o: nn.utils.parametrizations.spectral_norm(n[0])))
net_case("lr_tensor", at(5)(lambda n, o: o.param_groups[0].update(lr=torch.tensor(0.5))))
net_case(
    "backward_hook", at(5)(lambda n, o: n[4].register_full_backward_hook(lambda m, gi, go: tuple(g * 2 for g in gi)))
)
net_case(
    "optimizer_hook", at(5)(lambda n, o: o.register_step_pre_hook(lambda o, a, k: n[0].weight.grad.mul_(0.5) and None))
)
net_case("state_cleared", at(5)(lambda n, o: o.state.clear()))
net_case("state_loaded", at(3, 7)(lambda n, o: o.load_state_dict(copy.deepcopy(o.state_dict()))))
net_case("step_patched", at(5)(lambda n, o: setattr(o, "step", lambda: None)))


@scene
def lbfgs(c):
    n = nn.Linear(3, 1)
    torch.manual_seed(1)
    opt = torch.optim.LBFGS(n.parameters(), lr=0.1, max_iter=3)

    def fn(x):
        def closure():
            opt.zero_grad()
            l = (n(x) ** 2).mean()
            l.backward()
            return l

        return opt.step(closure)

    f = c(fn)
    for i in range(7):
        yield tell(f, X(i)), see(list(n.parameters()))


@scene
def user_optimizer(c):
    class My(torch.optim.Optimizer):
        def __init__(self, ps, lr):
            super().__init__(ps, dict(lr=lr))
            self.k = 1.0

        @torch.no_grad()
        def step(self, closure=None):
            for g in self.param_groups:
                for p in g["params"]:
                    if p.grad is not None:
                        p.add_(p.grad, alpha=-g["lr"] * self.k)

    n = nn.Linear(3, 3)
    o = My(n.parameters(), 0.1)
    f = c(train(n, o))
    for i in range(10):
        if i == 5:
            o.k = 2.0
        if i == 7:
            o.param_groups[0]["lr"] = 0.5
        yield tell(f, X(i)), see(list(n.parameters()))
