"""Random lives of an optimiser, led through rushlight and PyTorch side by side and compared after each step.

python tests/optim/optim_scripts.py --count 5000 --first 100000     # more by hand than the tests run
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections import Counter
from typing import Any

import numpy as np

Options = dict[str, Any]

# name -> option -> what a script may choose; () as a choice means: leave it out.
COMMON: dict[str, list] = {"maximize": [False, False, True], "foreach": [(), None, True, False]}
MENU: dict[str, dict[str, list]] = {
    "SGD": {"lr": [0.1, 0.03], "momentum": [0, 0.9, 0.5], "dampening": [0, 0.1], "weight_decay": [0, 0.1],
            "nesterov": [False, True], "fused": [()], **COMMON},
    "Adam": {"lr": [0.1, 0.01], "betas": [(0.9, 0.999), (0.5, 0.7), (0.0, 0.9)], "eps": [1e-8, 1e-2],
             "weight_decay": [0, 0.1], "amsgrad": [False, True], "decoupled_weight_decay": [(), True],
             **COMMON},
    "AdamW": {"lr": [0.1, 0.01], "betas": [(0.9, 0.999), (0.5, 0.7)], "weight_decay": [(), 0, 0.1],
              "amsgrad": [False, True], **COMMON},
    "Adamax": {"lr": [0.1, 0.01], "betas": [(0.9, 0.999), (0.5, 0.7)], "weight_decay": [0, 0.1], **COMMON},
    "NAdam": {"lr": [0.1, 0.01], "betas": [(0.9, 0.999), (0.5, 0.7)], "weight_decay": [0, 0.1],
              "momentum_decay": [4e-3, 0.5], "decoupled_weight_decay": [False, True], **COMMON},
    "RAdam": {"lr": [0.1, 0.01], "betas": [(0.9, 0.999), (0.5, 0.7)], "weight_decay": [0, 0.1],
              "decoupled_weight_decay": [False, True], **COMMON},
    "RMSprop": {"lr": [0.1, 0.01], "alpha": [0.99, 0.5], "eps": [1e-8, 1e-2], "weight_decay": [0, 0.1],
                "momentum": [0, 0.9], "centered": [False, True], **COMMON},
    "Adagrad": {"lr": [0.1, 0.01], "lr_decay": [0, 0.1], "weight_decay": [0, 0.1],
                "initial_accumulator_value": [0, 0.5], "fused": [()], **COMMON},
    "Adadelta": {"lr": [1.0, 0.1], "rho": [0.9, 0.5], "weight_decay": [0, 0.1], **COMMON},
    "Rprop": {"lr": [0.1, 0.01], "etas": [(0.5, 1.2), (0.3, 2.0)], "step_sizes": [(1e-6, 50), (0.01, 0.2)],
              **COMMON},
    "ASGD": {"lr": [0.1, 0.01], "lambd": [1e-4, 0.1], "alpha": [0.75, 0.5], "t0": [1e6, 2, 0],
             "weight_decay": [0, 0.1], **COMMON},
    "Adafactor": {"lr": [0.1, 0.01], "beta2_decay": [-0.8, -0.5], "d": [1.0, 2.0], "weight_decay": [0.0, 0.1],
                  "eps": [(None, 1e-3), (1e-6, 0.1)], **COMMON},
    "Muon": {"lr": [0.1, 0.01], "weight_decay": [0.1, 0.0], "momentum": [0.95, 0.5], "nesterov": [True, False],
             "ns_steps": [5, 3], "adjust_lr_fn": [None, "original", "match_rms_adamw"]},
    "LBFGS": {"lr": [1, 0.5], "max_iter": [4, 7], "history_size": [2, 10],
              "line_search_fn": [None, "strong_wolfe"]},
}  # fmt: skip
# The same for optimisers that take gradients of rows, those of Embedding(sparse=True).
ROWS_MENU: dict[str, dict[str, list]] = {
    "SGD": {**MENU["SGD"], "weight_decay": [0, 0, 0, 0.1], "nesterov": [False, False, True]},
    "Adagrad": {**MENU["Adagrad"], "weight_decay": [0, 0, 0, 0.1]},
    "SparseAdam": {"lr": [0.1, 0.01], "betas": [(0.9, 0.999), (0.5, 0.7)], "eps": [1e-8, 1e-2], "maximize": [False, True]},
    "Adam": {**MENU["Adam"]},
}  # fmt: skip
SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 2), (40,), (2, 0)]
MATRICES = [(3, 4), (4, 3), (5, 5), (1, 6)]
SCHEDULES = [
    ("StepLR", {"step_size": 2, "gamma": 0.5}), ("ExponentialLR", {"gamma": 0.9}),
    ("CosineAnnealingLR", {"T_max": 5}), ("LinearLR", {"start_factor": 0.5, "total_iters": 4}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 1 / (1 + epoch)}),
]  # fmt: skip
CHANGES = {  # options that a running script sets anew
    "lr": [0.2, 0.05, 0.0], "weight_decay": [0, 0.2], "betas": [(0.8, 0.95)], "maximize": [True, False],
    "eps": [1e-3], "momentum": [0.7], "alpha": [0.8], "rho": [0.7], "foreach": [True, False, None],
    "lr_decay": [0.2], "t0": [1], "lambd": [0.01], "etas": [(0.4, 1.5)], "momentum_decay": [0.1],
    "decoupled_weight_decay": [True, False], "dampening": [0.3], "d": [1.5], "beta2_decay": [-0.6],
    "max_iter": [3],
}  # fmt: skip
TOLERANCE = {"float64": 1e-7, "complex128": 1e-7, "float32": 5e-5, "complex64": 5e-5, "bfloat16": 6e-2, "float16": 2e-2}


class Different(AssertionError):
    """Where the two worlds part."""


class Over(Exception):
    """Both libraries refuse to go on, in the same words: a script ends."""


class World:
    """One library with its parameters, optimiser and schedule."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.params: list[Any] = []
        self.opt: Any = None
        self.schedule: Any = None
        self.saved: Any = None

    def tensor(self, values: np.ndarray, dtype: str) -> Any:
        return self.lib.tensor(values, dtype=getattr(self.lib, dtype))

    def parameter(self, values: np.ndarray, dtype: str) -> Any:
        self.params.append(self.lib.nn.Parameter(self.tensor(values, dtype)))
        return self.params[-1]

    def loss(self, targets: list[np.ndarray], bent: bool) -> Any:
        """A bowl over all parameters that are not frozen.

        A `bent` one is no parabola: LBFGS would reach its bottom at once, and go on with what rounding left.
        """
        total: Any = 0.0
        for p, t in zip(self.params, targets):
            if p.requires_grad:
                gap = p - self.tensor(t, kind_of(p))
                square = gap.abs() ** 2 if p.is_complex() else gap * gap
                total = total + (square * 0.5 + square * square * 0.1 if bent else square * 0.5).sum()
        return total


class Script:
    """One random life: `run()` raises Different at the first step after which the worlds disagree."""

    menu = MENU

    def __init__(self, seed: int, libs: tuple[Any, Any], name: str | None = None) -> None:
        self.seed, self.rng = seed, np.random.RandomState(seed)
        self.name = name or list(self.menu)[seed % len(self.menu)]
        self.worlds = [World(lib) for lib in libs]
        self.log: list[str] = []
        self.dtypes = self._dtypes()
        self.options = self._options()

    # -- choosing -------------------------------------------------------------------------------

    def pick(self, items: Any) -> Any:
        return items[self.rng.randint(len(items))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.rand() < p)

    def _dtypes(self) -> list[str]:
        if self.name == "LBFGS":
            return [self.pick(["float64", "float64", "complex128"])]
        if self.name in ("Adafactor", "Muon"):
            return [self.pick(["float32", "float64"])]
        kinds = [["float32"], ["float32"], ["float64"], ["float32", "float64"], ["complex64", "float32"],
                 ["bfloat16"], ["complex128"]]  # fmt: skip
        return self.pick(kinds)

    def _options(self) -> Options:
        options = {k: self.pick(v) for k, v in self.menu[self.name].items()}
        options = {k: v for k, v in options.items() if not (isinstance(v, tuple) and not v)}
        if options.get("nesterov") and self.name == "SGD":
            options["momentum"], options["dampening"] = options["momentum"] or 0.9, 0
        return options

    def values(self, shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> np.ndarray:
        values = self.rng.randn(*shape) * scale
        if dtype.startswith("complex"):
            values = values + 1j * self.rng.randn(*shape) * scale
        return np.asarray(values)

    # -- a life ---------------------------------------------------------------------------------

    def begin(self) -> None:
        groups = [[self._new_parameter() for _ in range(self.rng.randint(1, 4))]
                  for _ in range(1 if self.name == "LBFGS" else self.rng.randint(1, 3))]  # fmt: skip
        own = [{} if self.chance(0.6) else {"lr": 0.02} for _ in groups]
        for w in self.worlds:
            given: Any = [{"params": [w.params[i] for i in g], **o} for g, o in zip(groups, own)]
            if len(groups) == 1:
                given = given[0]["params"]
            w.opt = getattr(w.lib.optim, self.name)(given, **self.options)
        self.log.append(f"{self.name}({self.options}) dtypes {self.dtypes} groups {groups}")
        if self.chance(0.3):
            name, options = self.pick(SCHEDULES)
            for w in self.worlds:
                w.schedule = getattr(w.lib.optim.lr_scheduler, name)(w.opt, **options)
            self.log.append(name)

    def _new_parameter(self) -> int:
        dtype = self.pick(self.dtypes)
        shape = self.pick(MATRICES if self.name == "Muon" else SHAPES)
        if self.name in ("LBFGS", "Adafactor") and 0 in shape:
            shape = (3,)
        values = self.values(shape, dtype)
        for w in self.worlds:
            w.parameter(values, dtype)
        return len(self.worlds[0].params) - 1

    def run(self) -> None:
        try:
            self._live(4 if self.name == "LBFGS" else 9)
        except Over as over:
            self.log.append(f"both: {over}")

    def _live(self, steps: int) -> None:
        self.begin()
        for _ in range(steps):
            for _ in range(self.rng.randint(0, 3)):
                event = self.pick(EVENTS[self.name == "LBFGS"])
                self.log.append(event)
                getattr(self, event)()
            self.step()
            self._clean()
            self.compare()

    def step(self) -> None:
        """Gradients given or by a closure, then `step()`."""
        if self.name == "LBFGS" or self.chance(0.15):
            self._step_by_closure()
            return
        for i, p in enumerate(self.worlds[0].params):
            how = "none" if not p.requires_grad else self.pick(["new"] * 6 + ["none", "zero", "old"])
            self._set_grad(i, how)
        self.log.append("step")
        self.both(lambda w: w.opt.step())

    def _clean(self) -> None:
        """PyTorch's foreach leaves Nesterov's momentum in the gradients: nobody may use them again."""
        if any(g.get("nesterov") and g.get("foreach") for g in self.worlds[1].opt.param_groups):
            for w in self.worlds:
                for p in w.params:
                    p.grad = None

    def both(self, act: Any) -> list[Any]:
        """What both worlds answer; an error must be one of the same kind in both."""
        found, errors = [], []
        for w in self.worlds:
            try:
                found.append(act(w))
                errors.append(None)
            except Exception as error:
                errors.append(error)
        if any(errors):
            if type(errors[0]) is not type(errors[1]):
                raise Different(self._say(f"an error: {errors[0]!r} and {errors[1]!r}"))
            raise Over(str(errors[1]))
        return found

    def _step_by_closure(self) -> None:
        targets = [self.values(tuple(p.shape), kind_of(p), 0.5) for p in self.worlds[0].params]
        if not any(p.requires_grad for p in self.worlds[0].params):
            return
        self.log.append("step by closure")

        def act(w: World) -> float:
            def closure() -> Any:
                for p in w.params:
                    p.grad = None
                loss = w.loss(targets, self.name == "LBFGS")
                loss.backward()
                return loss

            return float(w.opt.step(closure).item())

        losses = self.both(act)
        self.same(np.array(losses[0]), np.array(losses[1]), "the loss", loosest(self.dtypes))

    def _set_grad(self, i: int, how: str) -> None:
        shape = tuple(self.worlds[0].params[i].shape)
        dtype = kind_of(self.worlds[0].params[i])
        values = self.values(shape, dtype) * self.pick([1.0, 1.0, 0.1, 3.0])
        if values.size and self.chance(0.03) and "complex" not in dtype:
            # What went wrong goes on alike. ASGD's two loops in PyTorch differ for an infinite parameter (infinity, or inf - inf).
            odd = [np.nan] if self.name == "ASGD" else [np.nan, np.inf, -np.inf]
            values.flat[self.rng.randint(values.size)] = self.pick(odd)
        for w in self.worlds:
            p = w.params[i]
            if how == "none":
                p.grad = None
            elif how == "zero":
                p.grad = w.lib.zeros_like(p)
            elif how == "new":
                p.grad = w.tensor(values, dtype)

    # -- events ---------------------------------------------------------------------------------

    def freeze(self) -> None:
        i = self.rng.randint(len(self.worlds[0].params))
        on = self.chance(0.5)
        for w in self.worlds:
            w.params[i].grad = None
            w.params[i].requires_grad_(on)

    def add_group(self) -> None:
        numbers = [self._new_parameter() for _ in range(self.rng.randint(1, 3))]
        options = {} if self.chance(0.5) else {"lr": 0.04}
        for w in self.worlds:
            w.opt.add_param_group({"params": [w.params[i] for i in numbers], **options})
        if self.worlds[0].schedule is not None:  # a schedule knows the groups it began with
            for w in self.worlds:
                w.schedule = None

    def change(self) -> None:
        at = self.rng.randint(len(self.worlds[0].opt.param_groups))
        known = [k for k in CHANGES if k in self.worlds[1].opt.param_groups[at]]
        key = self.pick(known)
        value = self.pick(CHANGES[key])
        if self.name in ("Adafactor", "Muon") and key == "eps":
            return  # other numbers there
        if self.name == "LBFGS" and value == 0:
            return  # a search along nothing divides by zero, in PyTorch at every step but the first
        if key == "momentum" and not self.options["momentum"]:
            return  # RMSprop has no buffer then, in either library
        for w in self.worlds:
            w.opt.param_groups[at][key] = value
        self.log.append(f"{key} = {value}")

    def save(self) -> None:
        for w in self.worlds:
            w.saved = copy.deepcopy(w.opt.state_dict())

    def load(self) -> None:
        """Back to what was saved, or into a new optimiser over the same groups."""
        known = self.worlds[0].saved
        sizes = [len(g["params"]) for g in self.worlds[0].opt.param_groups]
        if known is None or [len(g["params"]) for g in known["param_groups"]] != sizes:
            return
        again = self.chance(0.5)
        for w in self.worlds:
            if again:
                groups = [{"params": list(g["params"])} for g in w.opt.param_groups]
                w.opt = getattr(w.lib.optim, self.name)(groups, **self.options)
                w.schedule = None
            w.opt.load_state_dict(copy.deepcopy(w.saved))

    def cross(self) -> None:
        """Each goes on with the other's state."""
        ours, theirs = self.worlds
        if not set(ours.opt.state) or self._lost_states():
            return
        mine = translated(ours.opt.state_dict(), theirs.lib)
        other = translated(theirs.opt.state_dict(), ours.lib)
        ours.opt.load_state_dict(other)
        theirs.opt.load_state_dict(mine)

    def _lost_states(self) -> bool:
        """States of parameters in no group: neither library can save them."""
        opt = self.worlds[1].opt
        present = {id(p) for g in opt.param_groups for p in g["params"]}
        return any(id(p) not in present for p in opt.state)

    def save_when_whole(self) -> None:
        if not self._lost_states():
            self.save()

    def rearrange(self) -> None:
        """Another order, one fewer, or one back."""
        at = self.rng.randint(len(self.worlds[0].opt.param_groups))
        how = self.pick(["turn", "shuffle", "drop", "back"])
        for w in self.worlds:
            rng = np.random.RandomState(self.seed)
            group = w.opt.param_groups[at]
            if how == "turn":
                group["params"] = group["params"][::-1]
            elif how == "shuffle":
                rng.shuffle(group["params"])
            elif how == "drop" and len(group["params"]) > 1:
                group["params"].pop(0)
            elif how == "back":
                there = {id(p) for g in w.opt.param_groups for p in g["params"]}
                group["params"].extend([p for p in w.params if id(p) not in there])
        self.log.append(how)

    def forget(self) -> None:
        """One parameter begins anew."""
        i = self.rng.randint(len(self.worlds[0].params))
        for w in self.worlds:
            w.opt.state.pop(w.params[i], None)

    def zero(self) -> None:
        none = self.chance(0.5)
        for w in self.worlds:
            w.opt.zero_grad(set_to_none=none)
        for a, b in zip(*(w.params for w in self.worlds)):
            if (a.grad is None) != (b.grad is None):
                raise Different(self._say(f"zero_grad(set_to_none={none})"))

    def schedule(self) -> None:
        for w in self.worlds:
            if w.schedule is not None and getattr(w.opt, "stepped", True):
                w.schedule.step()

    def clip(self) -> None:
        """As trainers do before a step."""
        limit, kind = self.pick([0.5, 2.0]), self.pick([2.0, 1.0, float("inf")])
        totals = []
        for w in self.worlds:
            some = [p for p in w.params if p.numel()]
            totals.append(float(w.lib.nn.utils.clip_grad_norm_(some, limit, kind)))
        self.same(np.array(totals[0]), np.array(totals[1]), "the norm", loosest(self.dtypes))

    # -- comparing ------------------------------------------------------------------------------

    def _say(self, what: str) -> str:
        return f"seed {self.seed}: {what} differs\n  " + "\n  ".join(self.log)

    def same(self, a: np.ndarray, b: np.ndarray, what: str, dtype: str) -> None:
        tol = TOLERANCE[dtype]
        if self.name == "Muon":
            tol = 3e-2  # its products are made in bfloat16
        elif self.name in ("LBFGS", "Adafactor"):
            tol *= 10
        if b.dtype.kind == "c":  # an infinite part says nothing of the other
            self.same(a.real, b.real, what, dtype)
            a, b = a.imag, b.imag
        if a.shape != b.shape or not np.allclose(a, b, rtol=tol, atol=tol, equal_nan=True):
            raise Different(self._say(f"{what}: {a} and {b}"))

    def compare(self) -> None:
        ours, theirs = self.worlds
        for i, (p, q) in enumerate(zip(ours.params, theirs.params)):
            dtype = kind_of(q)
            self.same(as_numpy(p), as_numpy(q), f"parameter {i}", dtype)
            self._compare_states(i, ours.opt.state.get(p), theirs.opt.state.get(q), dtype)
        for g, h in zip(ours.opt.param_groups, theirs.opt.param_groups):
            a, b = ({k: v for k, v in d.items() if k != "params"} for d in (g, h))
            if list(a) != list(b) or not all(np.allclose(a[k], b[k]) if isinstance(a[k], float)
                                             else a[k] == b[k] for k in a):  # fmt: skip
                raise Different(self._say(f"param_groups: {a} and {b}"))

    def _compare_states(self, i: int, mine: Any, other: Any, dtype: str) -> None:
        if (mine is None) != (other is None):
            raise Different(self._say(f"whether parameter {i} has a state"))
        if mine is None or self.name == "LBFGS":
            return
        if list(mine) != list(other):
            raise Different(self._say(f"state {i}: {list(mine)} and {list(other)}"))
        for k in mine:
            a, b = mine[k], other[k]
            if hasattr(b, "shape"):
                if kind_of(a) != kind_of(b):
                    raise Different(self._say(f"dtype of {k}: {a.dtype} and {b.dtype}"))
                kind = dtype if a.numel() > 1 or dtype == "bfloat16" else kind_of(b)
                self.same(as_numpy(a), as_numpy(b), f"state {k} of {i}", kind)
            elif a != b:
                raise Different(self._say(f"state {k} of {i}: {a} and {b}"))


class RowsScript(Script):
    """A life of tables whose gradients are of a few rows: sparse tensors, whole ones between them."""

    menu = ROWS_MENU

    def _dtypes(self) -> list[str]:
        return self.pick([["float32"], ["float64"], ["float32", "float64"]])

    def _new_parameter(self) -> int:
        dtype, shape = self.pick(self.dtypes), self.pick([(5, 3), (4, 1), (7, 2), (3,), (4, 2, 2)])
        values = self.values(shape, dtype)
        for w in self.worlds:
            w.parameter(values, dtype)
        return len(self.worlds[0].params) - 1

    def _set_grad(self, i: int, how: str) -> None:
        shape = tuple(self.worlds[0].params[i].shape)
        if how != "new" or (self.name != "SparseAdam" and self.chance(0.2)):
            super()._set_grad(i, how if how != "zero" or self.name != "SparseAdam" else "none")
            return
        count = self.pick([0, 1, 2, 4, 6])
        rows = self.rng.randint(shape[0], size=(1, count))
        dtype = kind_of(self.worlds[0].params[i])
        values = self.values((count, *shape[1:]), dtype)
        kind = self.pick(["coordinates", "coalesced", "lookup"])
        self.log.append(f"rows {rows.tolist()} of parameter {i}, {kind}")
        for w in self.worlds:
            p = w.params[i]
            if kind == "lookup" and len(shape) == 2:
                p.grad = None
                found = w.lib.nn.functional.embedding(w.lib.tensor(rows), p, sparse=True)
                (found * w.tensor(values, dtype)).sum().backward()
                continue
            p.grad = w.lib.sparse_coo_tensor(w.lib.tensor(rows), w.tensor(values, dtype), shape)
            if kind == "coalesced":
                p.grad = p.grad.coalesce()

    def _step_by_closure(self) -> None:
        if self.name != "SparseAdam":
            super()._step_by_closure()

    def clip(self) -> None:
        """Norms of sparse gradients: PyTorch has none of most kinds."""

    def cross(self) -> None:
        if not any(getattr(v, "is_sparse", False) for s in self.worlds[1].opt.state.values() for v in s.values()):
            super().cross()


EVENTS = {
    False: ["freeze", "freeze", "add_group", "change", "change", "change", "save_when_whole", "load", "cross",
            "rearrange", "rearrange", "forget", "zero", "zero", "schedule", "schedule", "clip"],
    True: ["change", "save", "load", "zero", "cross"],
}  # fmt: skip


def as_numpy(t: Any) -> np.ndarray:
    """The values of a tensor of either library."""
    t = t.detach()
    t = t.to_dense() if t.is_sparse else t
    return (t.float() if "bfloat16" in str(t.dtype) else t).numpy()


def loosest(dtypes: list[str]) -> str:
    return max(dtypes, key=lambda d: TOLERANCE[d])


def kind_of(t: Any) -> str:
    """The dtype's name, without the library's."""
    return str(t.dtype).split(".")[-1]


def translated(value: Any, lib: Any) -> Any:
    """A state_dict with the other library's tensors."""
    if isinstance(value, dict):
        return {k: translated(v, lib) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(translated(v, lib) for v in value)
    if hasattr(value, "detach"):
        return lib.tensor(as_numpy(value).copy(), dtype=getattr(lib, kind_of(value)))
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--name", choices=[*MENU, "SparseAdam"])
    parser.add_argument("--rows", action="store_true", help="tables with sparse gradients")
    parser.add_argument("--show", type=int, default=3, help="differences to print in full")
    asked = parser.parse_args()
    import torch

    import rushlight

    wrong: Counter = Counter()
    kind = RowsScript if asked.rows else Script
    for seed in range(asked.first, asked.first + asked.count):
        script = kind(seed, (rushlight, torch), asked.name)
        try:
            script.run()
        except Exception as error:  # of either library: it must not happen in one only
            wrong[script.name] += 1
            if sum(wrong.values()) <= asked.show:
                print(error if isinstance(error, Different) else f"{script._say(repr(error))}\n", flush=True)
        if (seed - asked.first + 1) % 100 == 0:
            print(f"{seed - asked.first + 1} scripts, {sum(wrong.values())} differ", flush=True)
    print(f"{asked.count} scripts, {sum(wrong.values())} differ", dict(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
