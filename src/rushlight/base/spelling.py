"""How our classes and functions are spelt in files, so that PyTorch finds them; and the way back."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

# Where PyTorch has what lies in a module of ours; "*" is the class's name in small letters.
_HOMES = {
    "amp.autocast": "torch.amp.autocast_mode",
    "base": "torch",
    "core.tensor": "torch",
    "core.gradients.function": "torch.autograd.function",
    "core.modes": "torch.autograd.grad_mode",
    "distributed.errors": "torch.distributed",
    "distributed.state_dicts": "torch.distributed.checkpoint.state_dict",
    "data.combine": "torch.utils.data.dataset",
    "data.dataset": "torch.utils.data.dataset",
    "data.loader": "torch.utils.data.dataloader",
    "data": "torch.utils.data",
    "nn.modules._parameter_containers": "torch.nn.modules.container",
    "nn.averaged_model": "torch.optim.swa_utils",
    "operators.memory.storage": "torch.storage",
    "operators.random.generator": "torch._C",
    "optim.lbfgs": "torch.optim.lbfgs",
    "optim.lr_scheduler": "torch.optim.lr_scheduler",
    "optim.optimizer": "torch.optim.optimizer",
    "optim.sparse_adam": "torch.optim.sparse_adam",
    "optim.swa_utils": "torch.optim.swa_utils",
    "optim": "torch.optim.*",  # each optimiser has a module there; so many schedules share one
    "vision": "torchvision",
}
# Classes that PyTorch calls otherwise, or has elsewhere.
_CLASSES = {
    ("base.errors", "AcceleratorError"): ("torch", "AcceleratorError"),
    ("base.errors", "OutOfMemoryError"): ("torch", "OutOfMemoryError"),
    ("core.gradients.differentiate", "GradientEdge"): ("torch.autograd.graph", "GradientEdge"),
    ("core.gradients.hooks", "RemovableHandle"): ("torch.utils.hooks", "RemovableHandle"),
    ("core.modes", "detect_anomaly"): ("torch.autograd.anomaly_mode", "detect_anomaly"),
    ("core.modes", "set_detect_anomaly"): ("torch.autograd.anomaly_mode", "set_detect_anomaly"),
    ("core.gradients.tape", "Node"): ("torch.autograd.graph", "Node"),
    ("profiler.events", "EventList"): ("torch.autograd.profiler_util", "EventList"),
    ("profiler.events", "FunctionEvent"): ("torch.autograd.profiler_util", "FunctionEvent"),
    ("profiler.events", "FunctionEventAvg"): ("torch.autograd.profiler_util", "FunctionEventAvg"),
    ("profiler.profiler", "record_function"): ("torch.autograd.profiler", "record_function"),
    ("optim.adafactor", "Adafactor"): ("torch.optim", "Adafactor"),
    ("optim.muon", "Muon"): ("torch.optim", "Muon"),
    ("nested._internal.nested_tensor", "NestedTensor"): ("torch.nested._internal.nested_tensor", "NestedTensor"),
    ("nn.attention", "SDPBackend"): ("torch.nn.attention", "_SDPBackend"),
}
# Modules of ours in which PyTorch's of the same package lie together: those, and what is in them.
FINER: dict[str, list[tuple[str, list[str]]]] = {
    home: [(path, names.split("+")) for path, _, names in (part.partition(":") for part in parts.split())]
    for home, parts in {
        "distributed.checkpoint.saving": "default_planner:DefaultLoadPlanner+DefaultSavePlanner "
        "format_utils:dcp_to_torch_save+torch_save_to_dcp stateful:Stateful",
        "distributions.categories": "categorical:Categorical mixture_same_family:MixtureSameFamily "
        "multinomial:Multinomial one_hot_categorical:OneHotCategorical+OneHotCategoricalStraightThrough "
        "relaxed_bernoulli:LogitRelaxedBernoulli+RelaxedBernoulli "
        "relaxed_categorical:ExpRelaxedCategorical+RelaxedOneHotCategorical",
        "distributions.counts": "bernoulli:Bernoulli binomial:Binomial geometric:Geometric "
        "negative_binomial:NegativeBinomial poisson:Poisson",
        "distributions.distribution": "exp_family:ExponentialFamily",
        "distributions.gammas": "chi2:Chi2 exponential:Exponential fishersnedecor:FisherSnedecor "
        "gamma:Gamma+_standard_gamma generalized_pareto:GeneralizedPareto inverse_gamma:InverseGamma pareto:Pareto "
        "studentT:StudentT weibull:Weibull",
        "distributions.line": "cauchy:Cauchy gumbel:Gumbel half_cauchy:HalfCauchy half_normal:HalfNormal "
        "laplace:Laplace log_normal:LogNormal normal:Normal uniform:Uniform von_mises:VonMises",
        "distributions.made_of": "independent:Independent transformed_distribution:TransformedDistribution",
        "distributions.unit": "beta:Beta continuous_bernoulli:ContinuousBernoulli dirichlet:Dirichlet "
        "kumaraswamy:Kumaraswamy logistic_normal:LogisticNormal",
        "distributions.vectors": "lkj_cholesky:LKJCholesky lowrank_multivariate_normal:LowRankMultivariateNormal "
        "multivariate_normal:MultivariateNormal+_precision_to_scale_tril wishart:Wishart",
        "nn.modules.loss": "linear_cross_entropy_options:LinearCrossEntropyOptions",
        "nn.modules.pixelshuffle": "channelshuffle:ChannelShuffle",
    }.items()
}
for _home, _parts in FINER.items():
    for _path, _names in _parts:
        _there = f"torch.{_home.rpartition('.')[0]}.{_path}"
        _CLASSES.update({(_home, _name): (_there, _name) for _name in _names})
# Modules of inner layers whose classes users know.
_OPEN = (
    "base.device", "base.dtypes", "base.formats", "base.shapes", "core.gradients.function", "core.modes", "core.tensor", "fx._symbolic_trace",
    "operators.memory.storage", "operators.random.generator",
)  # fmt: skip
# What PyTorch has no counterpart of, among modules and classes beside those that have one.
_ALONE = frozenset((
    "core.gradients.function.FunctionNode", "core.gradients.function.VmapInfo", "data.batching", "data.channel", "data.fetch", "data.iterators", "data.pool",
    "data.prefetch", "data.resident", "data.sampler.EndlessSampler", "data.worker", "distributions.transforms.PlainMap",
    "optim.calls", "optim.stepping", "optim.zero",
))  # fmt: skip
_INNER = ("operators", "core", "runtime", "capture", "io", "dezero", "cli")
# Where functions are looked for, by the module that PyTorch's users know.
_PUBLIC = ("nn.functional", "", "special", "linalg", "fft", "nn.init", "utils.data")


class _Modules:
    """The package's modules by their paths; whoever stands above all of them fills this in."""

    load: Callable[[str], Any]  # ImportError or AttributeError where nothing is at a path


modules = _Modules()
_PACKAGE = __name__.partition(".")[0]
_moved: dict[type, str] = {}  # by the class that says PyTorch's module: the one of ours it is in


def home_of(obj: Any) -> str:
    """The module a class or function is really in: under the alias `torch`, a class of ours names PyTorch's."""
    moved = _moved.get(obj) if isinstance(obj, type) else None
    return moved or obj.__module__


def respell(module: ModuleType) -> None:
    """Let the classes that a module of ours defines say the module in which PyTorch has them."""
    path = _path_of(module)
    package, _, inner = path.partition(".")
    for label, obj in list(vars(module).items()):
        if not isinstance(obj, type) or obj.__module__ not in (path, package):
            continue
        there, name = theirs(obj)
        if there != obj.__module__ and name == label == obj.__qualname__ and _known(obj, inner, there):
            _move(obj, there, f"torch.{inner}")


def _known(obj: type, inner: str, there: str) -> bool:
    """Whether PyTorch has a class of ours by that name."""
    name = obj.__name__
    if (inner, name) in _CLASSES or obj.__module__ == _PACKAGE:
        return True
    if (name.startswith("_") and there != f"torch.{inner}") or {inner, f"{inner}.{name}"} & _ALONE:
        return False
    return _has_counterparts(inner)


def _move(obj: type, there: str, same: str) -> None:
    """Let a class say that it is in a module of PyTorch's; `same` is the one of the same path."""
    home = _moved[obj] = obj.__module__
    line = vars(obj).get("__firstlineno__")  # from Python 3.13 on; it goes when the module is set
    obj.__module__ = there
    if there == same:
        if line is not None:  # the same file, in which `inspect` finds the source there
            type.__setattr__(obj, "__firstlineno__", line)
    else:  # `typing` would look for what its annotations name in a file that may not have it
        told = vars(obj).get("__annotations__", {})
        for name, text in told.items():
            if isinstance(text, str):
                with suppress(NameError):  # what only type checkers import
                    told[name] = eval(text, vars(sys.modules[home]))


def _path_of(module: ModuleType) -> str:
    """Where a module of ours is: the top one may call itself torch."""
    return module.__spec__.name if module.__spec__ is not None else module.__name__


def _has_counterparts(inner: str) -> bool:
    """Whether the classes of a module of ours are PyTorch's by name, and not our own parts."""
    top = inner.partition(".")[0]
    if top in ("base", *_INNER):
        return inner in _OPEN
    return inner in _HOMES or inner in _OPEN or "._" not in f".{inner}"


def theirs(obj: Any, name: str | None = None) -> tuple[str, str]:
    """Module and name of one of our classes or functions as PyTorch spells them; others as they are."""
    module = home_of(obj)
    name = name or obj.__qualname__
    package, _, inner = module.partition(".")
    if package != "rushlight":
        return module, name
    if (inner, name) in _CLASSES:
        return _CLASSES[(inner, name)]
    if not inspect.isclass(obj):
        return _public_place(obj, name) or module, name  # PyTorch finds what is public only
    path = inner
    while path:
        home = _HOMES.get(path)
        if home is not None:
            if home == "torch.optim.*" and hasattr(obj, "get_last_lr"):
                home = "torch.optim.lr_scheduler"
            rest = inner[len(path) :] if path in ("vision", "data") else ""
            return home.replace("*", name.lower()) + rest, name
        path = path.rpartition(".")[0]
    if inner.partition(".")[0] in _INNER:
        return module, name  # PyTorch has nothing like it: only rushlight can read it
    return f"torch.{inner}" if inner else "torch", name


def _public_place(function: Any, name: str) -> str | None:
    """PyTorch's module in which a function of ours is public under its own name."""
    for place in _PUBLIC:
        if getattr(modules.load(place), name, None) is function:
            return f"torch.{place}".rstrip(".")
    return None


_BACK = {(there, name): (here, mine) for (here, mine), (there, name) in _CLASSES.items()}


def ours(module: str, name: str) -> Any:
    """What a name of PyTorch's stands for here; AttributeError where rushlight does not have it.

    PyTorch's modules are divided more finely than ours, and its packages show what their modules hold: a
    name is looked for in the module of the same path, then in the packages above it.
    """
    here, name = _BACK.get((module, name), (None, name))
    path = here or _same_path(module)
    for place in (*_upwards(path), "nn.functional"):
        found: Any = _module(place)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    raise AttributeError(f"rushlight has no {module}.{name}, which the file names")


def is_torch(module: str) -> bool:
    """Whether a file's module is one that rushlight stands for."""
    return module.partition(".")[0] in ("torch", "torchvision")


def _same_path(module: str) -> str:
    """The path in our package of a module of PyTorch's."""
    top, _, rest = module.partition(".")
    return f"vision.{rest}".rstrip(".") if top == "torchvision" else rest


def _upwards(path: str) -> list[str]:
    """A path, those of the packages above it, and the top's."""
    parts = path.split(".") if path else []
    return [".".join(parts[:n]) for n in range(len(parts), -1, -1)]


def _module(path: str) -> Any:
    try:
        return modules.load(path)
    except (ImportError, AttributeError, ValueError):
        return None
