"""Scenes about this package's own settings, options, hooks and objects that change between calls."""

from __future__ import annotations

import contextlib

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


option("muon_eps", optim.Muon, "eps", 1e-7, 10.0)
option("adjust_lr", optim.Muon, "adjust_lr_fn", "original", "match_rms_adamw")
for _cls in (optim.Adadelta, optim.Adagrad, optim.RMSprop, optim.Rprop, optim.SGD, optim.Adam):
    option(f"differentiable_{_cls.__name__}", _cls, "differentiable", False, True)
option("beta2_decay", optim.Adafactor, "beta2_decay", -0.8, -0.5)


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


setting("default_dtype", torch.get_default_dtype, torch.set_default_dtype, torch.float32, torch.float64)
setting("anomaly", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, False, True)
setting("autocast_cache", torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled, True, False)
setting(
    "tf32",
    lambda: torch.backends.cuda.matmul.allow_tf32,
    lambda v: setattr(torch.backends.cuda.matmul, "allow_tf32", v),
    False,
    True,
)
setting("default_device", torch.get_default_device, torch.set_default_device, torch.device("cpu"), torch.device("meta"))


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
    around(f"{_name}_inside", lambda x: torch.func.grad(lambda v: (NET(v) ** 2).sum())(x), none, _other)


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


hooked("noted", lambda x, k, log: x.register_hook(lambda g: log.append(k)))
hooked("accumulated", lambda x, k, log: x.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(k)))


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
def labels_that_nobody_reads():
    def fn(x):
        F.nll_loss(torch.ones(4, 3), x[:, 0].abs().long())
        F.embedding_bag(x[:, :1].abs().long(), torch.ones(3, 2))
        return x * 2

    return fn, None
