"""Random programs, eager beside compiled and traced: all that can be seen of them must be the same.

    python tools/fuzz_compile.py                     300 programs
    python tools/fuzz_compile.py 20000 --start 300   some more
    python tools/fuzz_compile.py --start 5000000     programs with more words (tools/fuzz_more.py); 10000000: about memory
    python tools/fuzz_compile.py --device emulated   on a GPU that is emulated (EMULATED_GPU_FOLDER keeps its kernels)
    python tools/fuzz_compile.py --seed 17           one, printed

A program is a function of two tensors and a world (modules, an optimiser, numbers, lists, objects), and what happens to
the world between calls. Results, gradients, versions, buffers, optimiser state, random streams, effects and errors are
compared after every call. What differs is made smaller, line by line, and printed.
"""

from __future__ import annotations

import argparse
import enum
import gc
import random
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import fuzz_more as more
import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

CALLS = 9


class Mode(enum.Enum):
    SUM = 1
    MEAN = 2


class World:
    """Everything a program may use beside its arguments."""

    rate = 1.5  # of the class

    def __init__(self) -> None:
        torch.manual_seed(11)
        self.lin = nn.Linear(4, 4)
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.25), nn.Linear(4, 4))
        self.norm = nn.BatchNorm1d(4)
        self.p = nn.Parameter(torch.randn(3, 4))
        self.buf = torch.randn(3, 4)
        self.part = self.buf[1:]
        self.opt = torch.optim.SGD([*self.lin.parameters(), self.p], lr=0.05, momentum=0.5)
        self.scale, self.flag, self.n = 1.25, True, 2
        self.cfg = types.SimpleNamespace(k=0.5, inner=types.SimpleNamespace(deep=2.0))
        self.items, self.table = [1.0, 0.5], {"a": 1.5, "b": 2}
        self.mode, self.fn = Mode.SUM, torch.tanh
        self.log: list[Any] = []
        self.count = 0
        self.handles: list[Any] = []
        more.furnish(self)

    def helper(self, t: Any, by: float = 1.0) -> Any:
        return t * self.rate + by


# Lines of a program: `M` is a 3x4 tensor made so far, `S` a number of one; NEW is what the line makes.
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
)  # fmt: skip
SELDOM = (
    "w.count += 1", "w.log.append(1)", "w.last = M.detach()", "NEW = M * random.random()", "w.flag = w.flag",
    "NEW = M if float(M.detach().sum()) > 0 else M * 2", "w.items.append(1.0)", "w.table['c'] = 1.0",
    "NEW = M * (M.detach() > 0).sum().item()", "global G\nG = G + 0.5", "w.norm.eval()", "w.extra = 2.0",
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
)  # fmt: skip
ARGUMENTS = {
    "apart": "x, y = T(3, 4), T(3, 4)",
    "same": "x = y = T(3, 4)",
    "overlap": "b = T(5, 4); x, y = b[:3], b[1:4]",
    "beside": "b = T(6, 4); x, y = b[:3], b[3:]",
    "strided": "b = T(3, 8); x, y = b[:, ::2], b[:, 1::2]",
    "alias": "x = T(3, 4); y = x.detach()",
    "transposed": "x, y = T(4, 3).t(), T(3, 4)",
    "leaf": "x, y = T(3, 4).requires_grad_(), T(3, 4)",
    "world": "x, y = w.buf, T(3, 4)",
    "world part": "x, y = T(3, 4), torch.cat([w.buf])[:3]; y = w.buf[:3]",
    "double": "x, y = T(3, 4).double(), T(3, 4)",
    "parameter": "x, y = T(3, 4), w.p",
}


KINDS = ARGUMENTS | more.ARGUMENTS | more.LYING_ARGUMENTS


class Case:
    """A program: lines, what happens before which call, and the kinds of arguments."""

    def __init__(self, seed: int) -> None:
        r = random.Random(seed)
        self.seed = seed
        self.made = 2
        rich, lying = seed >= more.FIRST, seed >= more.SECOND
        later: Any = more.LATER if more.ATTACKED <= seed < more.SECOND else None
        self.words = (*LINES, *more.LINES) if rich else LINES
        self.words = (*self.words, *later.LINES * 3) if later else self.words
        self.words = (*self.words, *more.LYING_LINES * 2) if lying else self.words
        self.seldom = (*SELDOM, *more.SELDOM) if rich else SELDOM
        self.lines = [self._line(r) for _ in range(r.randint(2, 9))]
        known = (*CHANGES, *more.CHANGES) if rich else CHANGES
        known = (*known, *later.CHANGES * 2) if later else known
        known = (*known, *more.LYING_CHANGES) if lying else known
        changes = r.sample(known, r.randint(1, 5))
        self.changes = sorted([(r.randint(3, CALLS - 1), c) for c in changes])
        usual = r.choice(["apart", "apart", "beside", "leaf", "transposed", "parameter"])
        kinds = [*ARGUMENTS, *more.ARGUMENTS] if rich else list(ARGUMENTS)
        kinds += more.LYING_ARGUMENTS if lying else ()
        self.kinds = [usual if i < 4 or r.random() < 0.6 else r.choice(kinds) for i in range(CALLS)]
        self.outside = r.random() < 0.4  # whether backward comes after the call
        some = r.randint(0, 2) if rich else 0
        done = (*more.AFTER, *later.AFTER) if later else more.AFTER
        self.after = [(r.randint(0, CALLS - 1), c) for c in r.sample(done, some)]
        if lying:
            self.after += [
                (i, r.choice(more.LYING_AFTER)) for i in range(CALLS) if r.random() < 0.4
            ]

    def _line(self, r: random.Random) -> str:
        text = r.choice(self.seldom if r.random() < 0.06 else self.words)
        known = ["x", "y", *[f"t{i}" for i in range(2, self.made)]]
        while "M" in text.replace("Mode", "").replace("MEAN", "").replace("SUM", ""):
            text = _replaced(text, "M", r.choice(known[-4:]))
        while _word(text, "S"):
            text = _replaced(text, "S", r.choice(known) + ".sum()")
        if "NEW" in text:
            text = text.replace("NEW", f"t{self.made}")
            self.made += 1
        return text

    def source(self) -> str:
        """The program as text."""
        body = "\n".join(self.lines).replace("global G\n", "").replace("\n", "\n    ")
        found = [f"t{i}" for i in range(2, self.made) if f"t{i} " in body] or ["x"]
        return (
            f"def step(x, y):\n    global G\n    {body}\n    return {', '.join(found[-3:])}, [x]\n"
        )

    def __str__(self) -> str:
        what = "\n".join([f"before call {i}: {c}" for i, c in self.changes])
        what += "".join([f"\nafter call {i}: {c}" for i, c in self.after])
        return f"# seed {self.seed}\n{self.source()}{what}\narguments: {self.kinds}, outside: {self.outside}"


def _word(text: str, word: str) -> bool:
    return any(text[i : i + 1] == word and _alone(text, i) for i in range(len(text)))


def _alone(text: str, i: int) -> bool:
    return not (
        text[i - 1 : i].isalnum() or text[i + 1 : i + 2].isalnum() or text[i - 1 : i] == "."
    )


def _replaced(text: str, word: str, by: str) -> str:
    for i in range(len(text)):
        if text[i] == word and _alone(text, i):
            return text[:i] + by + text[i + 1 :]
    return text.replace(word, by, 1)


class Side:
    """One way to run a case, with a world of its own."""

    def __init__(self, case: Case, wrap: Callable[[Any], Any]) -> None:
        world = type("World", (World,), {})
        self.w = world()
        self.names: dict[str, Any] = {
            "w": self.w, "torch": torch, "F": F, "nn": nn, "random": random, "types": types, "Mode": Mode,
            "World": world, "G": 1.0, "box": {"v": 1.0}, "__name__": "fuzzed", **more.NAMES,
        }  # fmt: skip
        exec(compile(case.source(), "<fuzzed>", "exec"), self.names)
        self.step = wrap(self.names["step"])
        torch.manual_seed(case.seed)
        self.rng, self.python = streams(), random.Random(case.seed).getstate()

    def call(self, case: Case, i: int) -> Any:
        """Change the world, call, and tell all that can be seen."""
        set_streams(self.rng)
        random.setstate(self.python)
        for at, change in case.changes:
            if at == i:
                try:
                    exec(compile(change, "<change>", "exec"), self.names)
                except Exception as error:  # noqa: BLE001 - the same on every side, or it is told
                    self.names["failed"] = repr(error)
        self.names["T"] = lambda *s: torch.arange(1.0, 1 + s[0] * s[1]).reshape(*s) * 0.1 - 0.3 + i
        exec(KINDS[case.kinds[i]], self.names)
        x, y = self.names["x"], self.names["y"]
        try:
            result = self.step(x, y)
            if case.outside:
                parts = [t for t in result[:-1] if t.requires_grad]
                if parts:
                    sum([t.float().sum() for t in parts]).backward()
            told: Any = seen(result)
        except Exception as error:  # noqa: BLE001 - errors are results, too
            told = (
                f"{type(error).__name__}: {str(error).splitlines()[0][:40] if str(error) else ''}"
            )
        self._after(case, i, locals().get("result"))
        self.rng, self.python = streams(), random.getstate()
        versions = [t._version for t in (x, y, self.w.buf, self.w.p, *self.w.lin.parameters())]
        return told, self.state(), seen([x, y]), versions

    def _after(self, case: Case, i: int, result: Any) -> None:
        """What the caller does with a result."""
        self.names["r"] = result
        for at, what in case.after:
            if at == i and result is not None:
                try:
                    exec(compile(what, "<after>", "exec"), self.names)
                except Exception as error:  # noqa: BLE001 - the same on every side, or it is told
                    self.w.log.append(type(error).__name__)

    def state(self) -> Any:
        """The world as it is."""
        w = self.w
        tensors = [*w.lin.state_dict().values(), *w.norm.state_dict().values(), w.p, w.buf, w.part]
        grads = [None if p.grad is None else p.grad for p in (w.p, *w.lin.parameters())]
        states = [list(s.values()) for s in w.opt.state.values()]
        python = [
            w.count,
            list(w.log),
            w.scale,
            w.items,
            list(w.table.items()),
            w.flag,
            self.names["G"],
        ]
        drawn = [
            self.rng,
            self.python[1][-1],
            getattr(w, "extra", None),
            getattr(w, "last", None),
        ]
        found = [w.hook.by, w.hook.calls, w.sub.n, w.mat, w.idx, list(w.kept)[-2:]]
        return seen([tensors, grads, states, python, drawn, w.norm.training, found])


DEVICE = ["cpu"]


def use(device: str) -> None:
    """Have all tensors of the programs made on a device."""
    if device == "emulated":
        emulate()
        device = "cuda"
    DEVICE[0] = device
    torch.set_default_device(None if device == "cpu" else device)


def emulate() -> None:
    """Make `cuda` a GPU whose kernels, graphs and programs run on the host."""
    import emulated_gpu

    from rushlight.base.config import settings
    from rushlight.capture.replay.replay import Replay

    if not emulated_gpu.drivers:
        emulated_gpu.install()
    import emulated_capture
    import emulated_cupy

    own = Replay._tensor
    emulated_capture.install()
    emulated_cupy.install()
    Replay._tensor = own  # type: ignore[method-assign]
    settings.trace = ""  # tools that emulate a GPU keep loops eager
    from rushlight.runtime.cuda.memory import reserved

    reserved.LEAST = 32  # bytes: even small arrays that nobody may look at have no memory


def streams() -> list[Any]:
    """Where the random streams are."""
    gpu = [torch.cuda.get_rng_state()] if DEVICE[0] == "cuda" else []
    return [torch.get_rng_state(), *gpu]


def set_streams(states: list[Any]) -> None:
    torch.set_rng_state(states[0])
    if len(states) > 1:
        torch.cuda.set_rng_state(states[1])


def seen(value: Any) -> Any:
    """Values in a form that can be compared: tensors by dtype, values and whether they have a history."""
    if isinstance(value, torch.Tensor):
        a = value.detach().cpu().numpy()
        kind = (
            type(value).__name__,
            str(value.dtype),
            tuple(value.shape),
            str(vars(value).get("tag")),
        )
        return ("tensor", *kind, value.requires_grad, a.astype(np.float64))
    if isinstance(value, (list, tuple)):
        return [seen(v) for v in value]
    return (type(value).__name__, repr(value))


def differs(a: Any, b: Any, at: str = "") -> str | None:
    """Where two sides differ, or None."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"{at}: {len(a)} and {len(b)} parts"
        for i, (x, y) in enumerate(zip(a, b)):
            why = differs(x, y, f"{at}[{i}]")
            if why is not None:
                return why
        return None
    if isinstance(a, np.ndarray):
        if a.shape == b.shape and a.tobytes() == b.tobytes():
            return None  # nearly always: the same bits
        if a.shape != b.shape or not np.allclose(a, b, 1e-4, 1e-5, equal_nan=True):
            return f"{at}: {a.tolist()} and {b.tolist()}"
        return (
            None if (np.signbit(a[a == 0]) == np.signbit(b[a == 0])).all() else f"{at}: signs of 0"
        )
    return None if a == b else f"{at}: {a!r} and {b!r}"


def traced(fn: Any) -> Any:
    """The function with Python in every call, its kernels matched and run as programs."""
    from rushlight.capture.loops.in_calls import TracedCalls
    from rushlight.core.hot import meeting

    meeting.timed = False  # what is found must not depend on the machine's pace
    tracer = TracedCalls(fn, "fuzzing")
    return lambda *args: tracer(args, {})


SIDES = {"compiled": torch.compile, "traced": traced}


def check(case: Case, sides: dict[str, Callable] = SIDES) -> str | None:
    """How compiled or traced differ from eager, or None."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        torch.tracing(False)  # of plain calls
        eager = Side(case, lambda fn: fn)
        others = {name: Side(case, wrap) for name, wrap in sides.items()}
        for i in range(CALLS):
            expected = eager.call(case, i)
            for name, side in others.items():
                why = differs(expected, side.call(case, i))
                if why is not None:
                    reason = getattr(side.step, "why", lambda: None)()
                    return f"{name}, call {i}, {why[:400]} ({reason})"
    return None


def smaller(case: Case, sides: dict[str, Callable]) -> Case:
    """The case without what is not needed for a difference."""
    again = True
    while again:
        again = False
        for part in ("changes", "after", "lines"):
            for i in reversed(range(len(getattr(case, part)))):
                kept = list(getattr(case, part))
                if part == "lines" and len(kept) == 1:
                    continue
                setattr(case, part, kept[:i] + kept[i + 1 :])
                try:
                    found = check(case, sides)
                except Exception:  # noqa: BLE001 - not a program any more
                    found = None
                if found is None or "NameError" in found or "UnboundLocal" in found:
                    setattr(case, part, kept)
                else:
                    again = True
    return case


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=300)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--sides", default="compiled,traced")
    parser.add_argument("--most", type=int, default=5, help="stop after so many differences")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "emulated"])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    a = parser.parse_args()
    use(a.device)
    sides = {name: SIDES[name] for name in a.sides.split(",")}
    if a.seed is not None:
        print(Case(a.seed))
        print(check(Case(a.seed), sides) or "no difference")
        return 0
    gc.collect()
    gc.freeze()  # collections of what the programs leave behind need not walk all of the library
    bad = 0
    end = time.monotonic() + a.seconds
    for seed in range(a.start, a.start + a.count):
        if time.monotonic() > end and seed > a.start:
            seed -= 1
            break
        why = check(Case(seed), sides)
        if why is not None:
            bad += 1
            case = smaller(Case(seed), sides)
            print(f"{why}\n{case}\n{check(case, sides)}\n", flush=True)
            if bad >= a.most:
                break
        if seed % 500 == 499:
            print(f"{seed + 1 - a.start} programs, {bad} differ", flush=True)
    print(f"{seed + 1 - a.start} programs, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
