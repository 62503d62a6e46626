"""Scenes with modules, hooks and optimisers that change between calls."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import rushlight as torch
from compile_scenes import X, scene, see, tell
from rushlight import nn


def net_():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(3, 3), nn.ReLU(), nn.Dropout(0.3), nn.BatchNorm1d(3), nn.Linear(3, 3)
    )


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
net_case("plain", lambda i, n, o: None)
net_case("dropout_p", at(5)(lambda n, o: setattr(n[2], "p", 0.7)))
net_case("dropout_eval", at(5)(lambda n, o: n[2].eval()))
net_case("dropout_p0", at(5)(lambda n, o: setattr(n[2], "p", 0.0)))
net_case("bn_momentum", at(5)(lambda n, o: setattr(n[3], "momentum", 0.9)))
net_case("bn_momentum_none", at(5)(lambda n, o: setattr(n[3], "momentum", None)))
net_case("bn_track", at(5)(lambda n, o: setattr(n[3], "track_running_stats", False)))
net_case("bn_eps", at(5)(lambda n, o: setattr(n[3], "eps", 0.5)))
net_case("bn_buffers", at(5)(lambda n, o: setattr(n[3], "running_mean", torch.ones(3))))
net_case(
    "bn_buffers_none",
    at(5)(lambda n, o: (setattr(n[3], "running_mean", None), setattr(n[3], "running_var", None))),
)
net_case("bn_reset", at(5)(lambda n, o: n[3].reset_running_stats()))
net_case("relu_replaced", at(5)(lambda n, o: n.__setitem__(1, nn.Tanh())))
net_case("relu_inplace", at(5)(lambda n, o: setattr(n[1], "inplace", True)))
net_case("weight_data", at(5)(lambda n, o: setattr(n[0].weight, "data", torch.eye(3))))
net_case("weight_set_", at(5)(lambda n, o: n[0].weight.data.set_(torch.eye(3))))
net_case("weight_param", at(5)(lambda n, o: setattr(n[0], "weight", nn.Parameter(torch.eye(3)))))
net_case("weight_inplace", at(5)(lambda n, o: n[0].weight.data.mul_(2)))
net_case("weight_numpy", at(5)(lambda n, o: n[0].weight.detach().numpy().__setitem__(0, 3.0)))
net_case("bias_none", at(5)(lambda n, o: setattr(n[0], "bias", None)))
net_case("freeze", at(5)(lambda n, o: n[0].requires_grad_(False)))
net_case("freeze_back", lambda i, n, o: n[0].requires_grad_(i not in (5, 6, 8)))
net_case("double", at(5)(lambda n, o: n.double()))
net_case("del_layer", at(5)(lambda n, o: n.__delitem__(1)))
net_case("append", at(5)(lambda n, o: n.append(nn.Tanh())))
net_case("insert", at(5)(lambda n, o: n.insert(1, nn.Tanh())))
net_case("swap", at(5)(lambda n, o: n._modules.update({"0": n[4], "4": n[0]})))
net_case("order", at(5)(lambda n, o: n._modules.update({"1": n._modules.pop("1")})))
net_case("hook", at(5)(lambda n, o: n[0].register_forward_hook(lambda m, a, r: r * 2)))
net_case("prehook", at(5)(lambda n, o: n[0].register_forward_pre_hook(lambda m, a: (a[0] + 1,))))
net_case(
    "bwhook",
    at(5)(
        lambda n, o: n[0].register_full_backward_hook(
            lambda m, gi, go: tuple(g * 2 if g is not None else None for g in gi)
        )
    ),
)
net_case("param_hook", at(5)(lambda n, o: n[0].weight.register_hook(lambda g: g * 2)))
net_case(
    "post_acc_hook",
    at(5)(lambda n, o: n[0].weight.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))),
)
net_case("weight_norm", at(5)(lambda n, o: nn.utils.parametrizations.weight_norm(n[0])))
net_case("old_weight_norm", at(5)(lambda n, o: nn.utils.weight_norm(n[0])))
net_case("spectral", at(5)(lambda n, o: nn.utils.parametrizations.spectral_norm(n[0])))
net_case("lr", at(5)(lambda n, o: o.param_groups[0].update(lr=0.5)))
net_case("lr0", at(5)(lambda n, o: o.param_groups[0].update(lr=0.0)))
net_case("lr_tensor", at(5)(lambda n, o: o.param_groups[0].update(lr=torch.tensor(0.5))))
net_case("momentum", at(5)(lambda n, o: o.param_groups[0].update(momentum=0.9)))
net_case("momentum0", at(5)(lambda n, o: o.param_groups[0].update(momentum=0.0)))
net_case("wd", at(5)(lambda n, o: o.param_groups[0].update(weight_decay=0.1)))
net_case("nesterov", at(5)(lambda n, o: o.param_groups[0].update(nesterov=True)))
net_case("maximize", at(5)(lambda n, o: o.param_groups[0].update(maximize=True)))
net_case("dampening", at(5)(lambda n, o: o.param_groups[0].update(dampening=0.3)))
net_case("state_clear", at(5)(lambda n, o: o.state.clear()))
net_case("state_zero", at(5)(lambda n, o: [s["momentum_buffer"].zero_() for s in o.state.values()]))
net_case(
    "state_swap",
    at(5)(
        lambda n, o: [
            s.update(momentum_buffer=torch.ones_like(s["momentum_buffer"]))
            for s in o.state.values()
        ]
    ),
)
net_case("params_removed", at(5)(lambda n, o: o.param_groups[0]["params"].pop()))
net_case(
    "group_added",
    at(5)(lambda n, o: o.add_param_group({"params": [nn.Parameter(torch.ones(2))], "lr": 0.1})),
)
net_case("opt_dict", at(5)(lambda n, o: o.load_state_dict(o.state_dict())))
net_case(
    "opt_hook",
    at(5)(
        lambda n, o: o.register_step_pre_hook(
            lambda o, a, k: [p.grad.mul_(2) for g in o.param_groups for p in g["params"]] and None
        )
    ),
)
net_case("zero_grad_patched", at(5)(lambda n, o: setattr(o, "zero_grad", lambda: None)))
net_case("step_patched", at(5)(lambda n, o: setattr(o, "step", lambda: None)))
net_case("grad_kept", at(5)(lambda n, o: setattr(n[0].weight, "grad", torch.ones(3, 3))))
net_case("seed", at(5)(lambda n, o: torch.manual_seed(7)))
net_case(
    "rng_state",
    at(6)(lambda n, o: torch.set_rng_state(torch.Generator().manual_seed(3).get_state())),
)


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
