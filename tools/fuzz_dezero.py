"""Random loops of DeZero, eager beside traced: everything that can be seen of them is compared, bit by bit.

PYTHONPATH=src:tests python tools/fuzz_dezero.py 200 [--start 0]
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / p) for p in ("src", "tests/support")]

import rushlight as rl  # noqa: E402
import rushlight.dezero.functions as F  # noqa: E402
import rushlight.dezero.layers as L  # noqa: E402
from attacks_on_loops.dezero_loops import Meddling, Square, batches, see  # noqa: E402
from rushlight.dezero import Variable, optimizers, test_mode  # noqa: E402
from rushlight.dezero.models import Sequential  # noqa: E402
from traced import compare, run_traced  # noqa: E402

ACTIVATIONS: list[Callable[[Any], Any]] = [
    F.sigmoid, F.relu, F.tanh, F.leaky_relu, F.softmax, F.sin, lambda x: Square()(x), lambda x: Meddling()(x),
    lambda x: F.dropout(x, 0.2), lambda x: x.reshape(-1, 2).reshape(x.shape), lambda x: x.T.T * 0.5 + 1,
    lambda x: F.relu(x) / (F.sum(x * x, 1, keepdims=True) + 1), lambda x: x + F.average(x), lambda x: x[:, ::-1],
]  # fmt: skip
RULES = [
    lambda: optimizers.SGD(0.1), lambda: optimizers.MomentumSGD(0.05), lambda: optimizers.Adam(0.01),
    lambda: optimizers.AdaGrad(0.1), optimizers.AdaDelta,
]  # fmt: skip


def squares(y: Any, t: Any) -> Any:
    return F.mean_squared_error(y, np.eye(3, dtype="f4")[t])


def scaled(a: Any, by: float) -> None:
    a *= by


def first_weight(model: Any) -> Any:
    return next(iter(model.params()))


def ones_like(v: Any) -> Any:
    return Variable(np.ones(v.shape, "f4"))


def doubled(f: Any) -> None:
    """Let one Function give gradients that are twice as large."""
    if f is not None:
        backward = f.backward
        f.backward = lambda *gys: [None if g is None else g * 2 for g in backward(*gys)]


ACTS: list[Callable[..., Any]] = [
    lambda k: k["y"].data.copy() if "y" in k else None,
    lambda k: k["y"].data if "y" in k else None,
    lambda k: scaled(k["y"].data, 0.5) if "y" in k else None,
    lambda k: scaled(k["x"], 0.5),
    lambda k: k["t"].__setitem__(0, 1),
    lambda k: repr(k["loss"]) if "loss" in k else None,
    lambda k: first_weight(k["model"]).data.copy(),
    lambda k: k["kept"].append(first_weight(k["model"]).data),
    lambda k: k["kept"].clear(),
    lambda k: scaled(first_weight(k["model"]).data, 0.9),
    lambda k: [None if p.grad is None else scaled(p.grad.data, 0.5) for p in k["model"].params()] and None,
    lambda k: see(copy.deepcopy(k["model"])),
    lambda k: setattr(first_weight(k["model"]), "data", first_weight(k["model"]).data.copy()),
    lambda k: k["loss"].backward() if "loss" in k and k["at"] == "backward" else None,
    lambda k: k["model"].cleargrads() if k["at"] in ("begin", "update") else None,
    lambda k: k["model"](Variable(k["x"])).data.copy(),
    lambda k: k["optimizer"].add_hook(optimizers.WeightDecay(0.01)),
    lambda k: k["optimizer"].add_hook(optimizers.ClipGrad(0.5)),
    lambda k: k["loss"].unchain_backward() if "loss" in k and k["at"] == "update" else None,
    # to a graph before its backward pass
    lambda k: setattr(k["y"], "grad", Variable(np.ones(k["y"].shape, "f4"))) if k["at"] == "cleared" else None,
    lambda k: setattr(k["loss"], "grad", Variable(np.array(2, "f4"))) if k["at"] == "cleared" else None,
    lambda k: k["y"].unchain() if k["at"] == "cleared" else None,
    lambda k: setattr(first_weight(k["model"]), "grad", ones_like(first_weight(k["model"]))) if k["at"] == "cleared" else None,
    lambda k: doubled(k["y"].creator) if k["at"] == "cleared" else None,
    lambda k: k["loss"].backward(create_graph=True) if k["at"] == "cleared" else None,
    lambda k: k["y"].backward() if k["at"] == "cleared" else None,
    lambda k: k["kept"].append(first_weight(k["model"]).grad.data) if k["at"] == "backward" else None,
]  # fmt: skip


def program(seed: int) -> Any:
    """One random loop."""
    r = np.random.RandomState(seed)
    np.random.seed(seed)
    parts: list[Any] = []
    for _ in range(r.randint(1, 4)):
        few = r.rand() < 0.5  # those whose backward passes are one comparison
        chosen = ACTIVATIONS[r.randint(2 if few else len(ACTIVATIONS))]
        parts += [L.Linear(2 * r.randint(1, 5)), chosen]
    model = Sequential(*parts, L.Linear(3))
    optimizer = RULES[r.randint(len(RULES))]().setup(model)
    loss_of = squares if r.rand() < 0.3 else F.softmax_cross_entropy
    chance = (0.0, 0.02, 0.1)[r.randint(3)]
    retain, plan = bool(r.rand() < 0.15), np.random.RandomState(seed + 1)
    kept: list[Any] = []
    log: list[Any] = []

    def tell(at: str, **things: Any) -> None:
        if plan.rand() < chance:
            act = ACTS[plan.randint(len(ACTS))]
            found = act({"at": at, "model": model, "optimizer": optimizer, "kept": kept, **things})
            log.append(found)
        log.extend([a.copy() for a in kept])

    for i, (x, t) in enumerate(batches(30, 4, 6)):
        tell("begin", x=x, t=t)
        y = model(x)
        tell("forward", x=x, t=t, y=y)
        loss = loss_of(y, t)
        tell("loss", x=x, t=t, y=y, loss=loss)
        model.cleargrads()
        tell("cleared", x=x, t=t, y=y, loss=loss)
        loss.backward(retain_grad=retain)
        tell("backward", x=x, t=t, y=y, loss=loss)
        optimizer.update()
        tell("update", x=x, t=t, y=y, loss=loss)
        if seed % 3 or i % 4 == 3:
            log.append(float(loss.data))
        if seed % 7 == 0 and i % 5 == 4:
            with test_mode():
                log.append(float(F.accuracy(model(x), t).data))
    return log, see(model, optimizer)


def answer(seed: int) -> Any:
    """What a loop shows, or the kind of error that ends it."""
    with np.errstate(all="ignore"):
        try:
            return program(seed)
        except (ValueError, RuntimeError, TypeError, AttributeError, IndexError) as error:
            return type(error).__name__


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--start", type=int, default=0)
    args = parser.parse_args()
    replayed = differ = ended = 0
    for seed in range(args.start, args.start + args.count):
        rl.tracing(False)
        expected = answer(seed)
        found, seen = run_traced(answer, seed)
        replayed += seen.replayed
        ended += isinstance(expected, str)
        try:
            compare(expected, found, exact=True)
        except AssertionError as error:
            differ += 1
            print(f"seed {seed}: {str(error)[:300]}", flush=True)
    print(
        f"{args.count} loops, {ended} end with an error, {replayed} stretches replayed, {differ} differ"
    )
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
