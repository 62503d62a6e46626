"""Random loops, eager beside traced: values, gradients, versions, states, random streams and errors must be the same.

    python tools/fuzz_loops.py                     300 loops
    python tools/fuzz_loops.py 5000 --start 300    some more
    python tools/fuzz_loops.py --seed 17           one, printed

A loop calls one of the random programs of fuzz_compile.py over and over, while its world changes in between. What is
seen of an iteration is kept as copies on the tensors' side and looked at when the loop is over: looking at memory
through NumPy would make every loop eager.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import fuzz_compile
import numpy as np
from fuzz_compile import KINDS, Case, Side, differs, seen, set_streams, smaller, streams, use

import rushlight as torch
from rushlight.core.hot import meeting
from rushlight.runtime.thread import here

ROUNDS = 22


# What the user keeps of an iteration without its values being asked for.
LOOKS: dict[str, Callable[[Any, Any], Any]] = {
    "view": lambda w, t: t[1:] if t.dim() else t,
    "detached view": lambda w, t: t[1:].detach() if t.dim() else t.detach(),
    "transposed": lambda w, t: t.t().detach() if t.dim() == 2 else t.data,
    "gradient": lambda w, t: w.p.grad,
    "view of a gradient": lambda w, t: None if w.p.grad is None else w.p.grad[1:].detach(),
    "gradient's data": lambda w, t: None if w.lin.weight.grad is None else w.lin.weight.grad.data.t().data,
    "state": lambda w, t: [v.detach() for s in w.opt.state.values() for v in s.values() if v is not None],
    "versions": lambda w, t: [v._version for v in (t, w.p, w.buf, w.part, *w.lin.parameters())],
    "a second version": lambda w, t: None if w.p.grad is None else w.p.grad._version,
}  # fmt: skip


class Loop(Side):
    """A case run as a loop, with a world of its own."""

    def __init__(self, case: Case) -> None:
        fuzz_compile.World.helper.__defaults__ = (1.0,)  # a change of the side before
        super().__init__(case, lambda fn: fn)
        r = random.Random(case.seed)
        self.reads = r.choice([1, 1, 2, 3, 50])  # every so many iterations
        self.when = [(i * 2 + r.randint(2, 4), change) for i, change in case.changes]
        self.odd = {r.randint(8, ROUNDS - 1) for _ in range(r.choice([0, 0, 1, 3]))}
        self.looks = r.choice([None, None, *LOOKS])
        self.kept: list[Any] = []

    def run(self, case: Case) -> Any:
        """All iterations, then all that can be seen."""
        set_streams(self.rng)
        random.setstate(self.python)
        for i in range(ROUNDS):
            for at, change in self.when:
                if at == i:
                    self.do(change)
            self.names["T"] = lambda *s, i=i: torch.tensor(
                (np.arange(1, 1 + s[0] * s[1]).reshape(s) * 0.1 - 0.3 + i % 5).astype(np.float32)
            )
            kind = case.kinds[i % len(case.kinds)] if i in self.odd else case.kinds[0]
            exec(KINDS[kind], self.names)
            self.once(case, i, self.names["x"], self.names["y"])
        self.rng, self.python = streams(), random.getstate()
        return self.tell(self.kept), self.state()

    def do(self, change: str) -> None:
        try:
            exec(compile(change, "<change>", "exec"), self.names)
        except Exception as error:  # noqa: BLE001 - the same on every side, or it is told
            self.names["failed"] = repr(error)

    def once(self, case: Case, i: int, x: Any, y: Any) -> None:
        try:
            result = self.step(x, y)
            parts = [t for t in result[:-1] if t.requires_grad]
            if case.outside and parts:
                sum([t.float().sum() for t in parts]).backward()
            if i % self.reads == self.reads - 1:
                self.kept.append(float(result[0].detach().sum()))
            self.kept.append([t.detach().clone() for t in result[:-1]])
            self.kept.append(
                [(t._version, t.requires_grad, str(t.dtype)) for t in (x, y, *result[:-1])]
            )
            if i % 4 == 0:
                self.kept.append(result[0])
            if self.looks is not None:
                self.kept.append(LOOKS[self.looks](self.w, result[0]))
        except Exception as error:  # noqa: BLE001 - errors are results, too
            text = str(error).splitlines()[0][:60] if str(error) else ""
            self.kept.append(f"{type(error).__name__}: {text}")

    def tell(self, kept: list[Any]) -> Any:
        return [seen(v) for v in kept]


REPLAYED = [0]


def check(case: Case, sides: Any = None) -> str | None:
    """How traced differs from eager, or None."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        torch.tracing(False)
        expected = Loop(case).run(case)
        other = Loop(case)
        meeting.barred, meeting.timed = None, False  # replayed, whether that pays or not
        torch.tracing(True)
        try:
            found = other.run(case)
            report = getattr(here.tracer, "report", None)
            REPLAYED[0] += 0 if report is None else sum(r["replayed"] for r in report.loops)
        finally:
            torch.tracing(False)
        return differs(expected, found)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=300)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--most", type=int, default=5, help="stop after so many differences")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "emulated"])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    a = parser.parse_args()
    use(a.device)
    if a.seed is not None:
        print(Case(a.seed))
        print(check(Case(a.seed)) or "no difference")
        return 0
    gc.collect()
    gc.freeze()  # collections of what the programs leave behind need not walk all of the library
    bad = 0
    fuzz_compile.check = check  # what `smaller` asks
    end = time.monotonic() + a.seconds
    for seed in range(a.start, a.start + a.count):
        if time.monotonic() > end and seed > a.start:
            seed -= 1
            break
        why = check(Case(seed))
        if why is not None:
            bad += 1
            small: Callable[..., Case] = smaller
            case = small(Case(seed), {})
            print(f"{why[:300]}\n{case}\n{(check(case) or '')[:300]}\n", flush=True)
            if bad >= a.most:
                break
    print(f"{seed + 1 - a.start} loops, {bad} differ; {REPLAYED[0]} stretches were replayed")
    if not REPLAYED[0]:
        print("nothing was replayed, so nothing was compared: see `rushlight run --explain`")
    return 1 if bad or not REPLAYED[0] else 0


if __name__ == "__main__":
    sys.exit(main())
