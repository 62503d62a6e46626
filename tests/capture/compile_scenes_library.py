"""Scenes of a second attack of 17 November: this package's own settings, options, hooks and objects that change between calls."""

from __future__ import annotations

import contextlib

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, X, linear, scene, see, settings, tell, worlds
from rushlight import nn, optim
from rushlight.nn.utils import parametrizations, parametrize

world = worlds("library")
setting = settings("library_setting", 10)


# -- options of optimisers ------------------------------------------------------------------------


def option(name, cls, key, one, other, **kwargs):
    def make(c):
        net = linear()
        params = [net.weight] if cls is optim.Muon else net.parameters()
        opt = cls(params, lr=0.05, **kwargs)

        def step(x):
            opt.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            opt.step()
            return loss.detach()

        f = c(step)
        for i in range(11):
            for group in opt.param_groups:
                group[key] = L(i, one, other)
            yield tell(f, X(i)), see([p.detach() for p in net.parameters()])
            yield see([list(s.values()) for s in opt.state.values()])

    make.__name__ = f"library_option_{name}"
    scene(make)


NEWTON = (3.4445, -4.775, 2.0315)
option("ns_coefficients", optim.Muon, "ns_coefficients", NEWTON, (2.0, -4.0, 2.0))
option("ns_steps", optim.Muon, "ns_steps", 5, 6)
option("muon_eps", optim.Muon, "eps", 1e-7, 10.0)
option("adjust_lr", optim.Muon, "adjust_lr_fn", "original", "match_rms_adamw")
for _cls in (optim.Adadelta, optim.Adagrad, optim.RMSprop, optim.Rprop, optim.SGD, optim.Adam):
    option(f"differentiable_{_cls.__name__}", _cls, "differentiable", False, True)
option("betas", optim.Adam, "betas", (0.9, 0.999), (0.5, 0.9))
option("amsgrad", optim.Adam, "amsgrad", True, False, amsgrad=True)
option("rho", optim.Adadelta, "rho", 0.9, 0.5)
option("etas", optim.Rprop, "etas", (0.5, 1.2), (0.4, 1.5))
option("beta2_decay", optim.Adafactor, "beta2_decay", -0.8, -0.5)
option("lr_decay", optim.Adagrad, "lr_decay", 0.0, 0.1)
option("dampening", optim.SGD, "dampening", 0.0, 0.5, momentum=0.9)
option("nesterov", optim.SGD, "nesterov", False, True, momentum=0.9)


SCHEDULES = {
    "step": lambda o: optim.lr_scheduler.StepLR(o, 2),
    "multi": lambda o: optim.lr_scheduler.MultiStepLR(o, [3, 6]),
    "constant": lambda o: optim.lr_scheduler.ConstantLR(o, 0.5, 4),
    "linear": lambda o: optim.lr_scheduler.LinearLR(o),
    "exponential": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.9),
    "cosine": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 5),
    "polynomial": lambda o: optim.lr_scheduler.PolynomialLR(o, 5),
    "lambda": lambda o: optim.lr_scheduler.LambdaLR(o, lambda e: 0.9**e),
    "multiplicative": lambda o: optim.lr_scheduler.MultiplicativeLR(o, lambda e: 0.9),
    "cyclic": lambda o: optim.lr_scheduler.CyclicLR(o, 0.01, 0.1, 3),
    "one_cycle": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, 20),
    "restarts": lambda o: optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
    "sequential": lambda o: optim.lr_scheduler.SequentialLR(
        o, [optim.lr_scheduler.ConstantLR(o), optim.lr_scheduler.ExponentialLR(o, 0.9)], [4]
    ),
    "chained": lambda o: optim.lr_scheduler.ChainedScheduler(
        [optim.lr_scheduler.ConstantLR(o), optim.lr_scheduler.ExponentialLR(o, 0.9)]
    ),
}


def scheduled(kind, inside):
    def make(c):
        net = linear()
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        schedule = SCHEDULES[kind](opt)

        def step(x):
            opt.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            opt.step()
            if inside:
                schedule.step()
            return loss.detach()

        f = c(step)
        for i in range(11):
            yield tell(f, X(i)), see([p.detach() for p in net.parameters()])
            if not inside:
                schedule.step()
            yield see([g["lr"] for g in opt.param_groups]), see(schedule.get_last_lr())

    make.__name__ = f"library_schedule_{kind}_{'inside' if inside else 'outside'}"
    scene(make)


for _kind in SCHEDULES:
    scheduled(_kind, False)
    scheduled(_kind, True)


# -- settings of the process ----------------------------------------------------------------------


setting(
    "default_dtype", torch.get_default_dtype, torch.set_default_dtype, torch.float32, torch.float64
)
setting("grad", torch.is_grad_enabled, torch.set_grad_enabled, True, False)
setting(
    "threads",
    torch.get_num_threads,
    torch.set_num_threads,
    torch.get_num_threads(),
    torch.get_num_threads() + 1,
)
setting(
    "deterministic",
    torch.are_deterministic_algorithms_enabled,
    torch.use_deterministic_algorithms,
    False,
    True,
)
setting("anomaly", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, False, True)
setting(
    "autocast_dtype",
    lambda: torch.get_autocast_dtype("cpu"),
    lambda d: torch.set_autocast_dtype("cpu", d),
    torch.bfloat16,
    torch.float16,
)
setting(
    "autocast_cache", torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled, True, False
)
setting(
    "cudnn_benchmark",
    lambda: torch.backends.cudnn.benchmark,
    lambda v: setattr(torch.backends.cudnn, "benchmark", v),
    False,
    True,
)
setting(
    "tf32",
    lambda: torch.backends.cuda.matmul.allow_tf32,
    lambda v: setattr(torch.backends.cuda.matmul, "allow_tf32", v),
    False,
    True,
)
setting(
    "flash",
    torch.backends.cuda.flash_sdp_enabled,
    torch.backends.cuda.enable_flash_sdp,
    True,
    False,
)
setting(
    "default_device",
    torch.get_default_device,
    torch.set_default_device,
    torch.device("cpu"),
    torch.device("meta"),
)


def around(name, fn, one, other):
    """The call inside of a block of modes."""

    def make(c):
        f = c(fn)
        for i in range(11):
            with L(i, one, other)():
                yield tell(f, X(i))

    make.__name__ = f"library_around_{name}"
    scene(make)


NET = linear()
none = contextlib.nullcontext
for _name, _other in {
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast_off": lambda: torch.autocast("cpu", enabled=False),
    "anomaly": torch.autograd.detect_anomaly,
    "deterministic": lambda: torch.backends.cudnn.flags(deterministic=True),
    "saved_on_cpu": torch.autograd.graph.save_on_cpu,
    "parametrizations_cached": parametrize.cached,
    "device": lambda: torch.device("cpu"),
    "fork": torch.random.fork_rng,
}.items():
    around(f"{_name}_net", lambda x: NET(x).relu(), none, _other)
    around(f"{_name}_made", lambda x: x + torch.ones(3) * torch.rand(3), none, _other)
    around(
        f"{_name}_inside", lambda x: torch.func.grad(lambda v: (NET(v) ** 2).sum())(x), none, _other
    )


# -- hooks and tensors ----------------------------------------------------------------------------


def hooked(name, make_hook):
    """Leaves among the arguments whose hooks differ, and a backward inside."""

    def make(c):
        def fn(x):
            (x * x).sum().backward()
            return x * 2

        f = c(fn)
        for i in range(10):
            x = X(i).requires_grad_()
            log = []
            make_hook(x, L(i, 2.0, 3.0), log)
            yield tell(f, x), see(x.grad), see(log)

    make.__name__ = f"library_hooks_of_arguments_{name}"
    scene(make)


hooked("scaled", lambda x, k, log: x.register_hook(lambda g: g * k))
hooked("noted", lambda x, k, log: x.register_hook(lambda g: log.append(k)))
hooked(
    "accumulated", lambda x, k, log: x.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(k))
)
hooked("now_and_then", lambda x, k, log: x.register_hook(lambda g: g * 2) if k == 3 else None)
hooked("two", lambda x, k, log: [x.register_hook(lambda g, j=j: g * k + j) for j in range(int(k))])


@world
def attribute_of_a_parameter():
    net = linear()
    return lambda x: x * net.weight.scale, lambda i: setattr(net.weight, "scale", L(i, 2.0, 3.0))


@world
def gradient_of_a_parameter_read():
    p = nn.Parameter(torch.ones(3))

    def change(i):
        p.grad = torch.ones(3) * i

    return lambda x: x * p.grad, change


@world
def requires_grad_toggled_inside():
    p = nn.Parameter(torch.ones(3))

    def fn(x):
        p.requires_grad_(False)
        y = x * p
        p.requires_grad_(True)
        return y, y.requires_grad

    return fn, lambda i: p.requires_grad_(bool(L(i, 1, 0)))


@world
def frozen_between():
    net = nn.Sequential(linear(), nn.Tanh(), linear())

    def fn(x):
        net.zero_grad()
        net(x).sum().backward()

    def change(i):
        net[0].requires_grad_(bool(L(i, 1, 0)))

    return fn, change, lambda: [p.grad for p in net.parameters()]


@world
def is_set_to():
    a, b = torch.ones(3), torch.ones(3)

    def change(i):
        b.set_(L(i, torch.ones(3), a))

    return lambda x: x * (2 if a.is_set_to(b) else 3), change


# -- modules --------------------------------------------------------------------------------------


@world
def orthogonal():
    torch.manual_seed(2)
    net = parametrizations.orthogonal(linear())

    def change(i):
        if i == 5:
            net.parametrizations.weight.original.data.mul_(2)

    return lambda x: net(x), change


@world
def parameter_list_changed():
    ps = nn.ParameterList([nn.Parameter(torch.ones(3) * k) for k in (1, 2)])

    def fn(x):
        for p in ps:
            x = x * p
        return x

    def change(i):
        if i == 4:
            ps.append(nn.Parameter(torch.ones(3) * 3))
        if i == 6:
            ps[0] = nn.Parameter(torch.ones(3) * 5)
        if i == 8:
            ps.extend([torch.ones(3) * 7])

    return fn, change


@world
def parameter_dict_changed():
    ps = nn.ParameterDict({"a": torch.ones(3) * 2, "b": torch.ones(3) * 3})

    def fn(x):
        for k, p in ps.items():
            x = x * p + len(k)
        return x

    def change(i):
        if i == 4:
            ps["ccc"] = torch.ones(3)
        if i == 6:
            ps.pop("a")
        if i == 8:
            ps.update({"a": torch.ones(3) * 5})

    return fn, change


@world
def setattr_of_a_module():
    class M(nn.Module):
        def __setattr__(self, name, value):
            super().__setattr__(name, value * 2 if isinstance(value, float) else value)

        def forward(self, x):
            return x * self.scale

    m = M()
    return lambda x: m(x), lambda i: setattr(m, "scale", L(i, 2.0, 3.0))


@world
def state_dict_inside():
    net = linear()

    def fn(x):
        return x * sum([v.sum() for v in net.state_dict().values()])

    def change(i):
        if i == 5:
            net.register_buffer("extra", torch.ones(3))
        if i == 7:
            net._register_state_dict_hook(lambda m, s, p, meta: s.update(extra=torch.zeros(3)))

    return fn, change


@world
def training_of_a_child():
    net = nn.Sequential(linear(), nn.Dropout(0.5), nn.BatchNorm1d(3))

    def change(i):
        net[2].train(bool(L(i, 1, 0)))
        net[1].p = L(i, 0.5, 0.0)

    return lambda x: net(x), change, lambda: [b.clone() for b in net.buffers()]


@world
def distribution_changed():
    d = torch.distributions.Normal(torch.zeros(3), torch.ones(3))

    def change(i):
        d.loc = torch.ones(3) * L(i, 0.0, 2.0)
        d.scale = L(i, torch.ones(3), torch.ones(3) * 3)

    return lambda x: d.log_prob(x), change


@world
def custom_operator_changed():
    k = [2.0]

    @torch.library.custom_op("scenes::scaled", mutates_args=())
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * k[0]

    return lambda x: scaled(x), lambda i: k.__setitem__(0, L(i, 2.0, 3.0))


@world
def torch_function_of_a_class_changed():
    k = [2.0]

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            out = super().__torch_function__(func, types, args, kwargs or {})
            return out * k[0] if func is torch.Tensor.relu else out

    m = torch.ones(3).as_subclass(Mine)
    return lambda x: torch.Tensor(m.relu()) * x, lambda i: k.__setitem__(0, L(i, 2.0, 3.0))


@world
def functional_patched_in_a_layer():
    plain = F.linear

    def fn(x):
        return NET(x)

    def change(i):
        F.linear = L(i, plain, lambda x, w, b=None: plain(x, w, b) * 2) if i < 9 else plain

    return fn, change


@world
def numpy_random_put_back():
    def fn(x):
        before = np.random.get_state()
        v = float(np.random.rand())
        np.random.set_state(before)
        return x * v

    return fn, lambda i: np.random.seed(L(i, 1, 2))


@world
def python_random_put_back():
    import random

    def fn(x):
        before = random.getstate()
        v = random.random()
        random.setstate(before)
        return x * v

    return fn, lambda i: random.seed(L(i, 1, 2))


@world
def computed_classes_that_nobody_reads():
    table = torch.ones(4, 3)

    def fn(x):
        F.cross_entropy(table, x[:, 0].abs().long())
        return x * 2

    return fn, None


@world
def computed_positions_behind_a_step():
    table, count = torch.ones(5, 3), torch.zeros(1)

    def fn(x):
        count.add_(1)
        return F.embedding(x[:, 0].abs().long(), table) + x

    return fn, None, lambda: count.clone()


@world
def singular_matrix_that_nobody_reads():
    def fn(x):
        torch.linalg.inv(x.T @ x * (x.sum() < 20))
        return x * 2

    return fn, None


@world
def labels_that_nobody_reads():
    def fn(x):
        F.nll_loss(torch.ones(4, 3), x[:, 0].abs().long())
        F.embedding_bag(x[:, :1].abs().long(), torch.ones(3, 2))
        return x * 2

    return fn, None
