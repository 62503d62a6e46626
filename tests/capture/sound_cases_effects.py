"""More cases for test_compile_sound: what a function does beside computing."""

from __future__ import annotations

import collections
import contextvars
import io
import json
import logging
import types

import rushlight as torch
from sound_cases import CASES, case, small_net


def _effect(name, make, do, look, kind="traced", change=None):
    def closure():
        o = make()

        def fn(x):
            do(o, x)
            return x * 2

        return fn, (lambda i: change(o) if change and i == 4 else None), lambda: look(o)

    CASES[f"effect_{name}"] = (closure, kind)


_effect("counter", lambda: collections.Counter(), lambda o, x: o.update("a"), lambda o: o["a"])
_effect("new_attribute", lambda: types.SimpleNamespace(), lambda o, x: setattr(o, "last", 3), lambda o: getattr(o, "last", None),
        "program", lambda o: delattr(o, "last"))  # fmt: skip
_effect("print_to", io.StringIO, lambda o, x: print("a", file=o), lambda o: o.getvalue())
_effect("json", io.StringIO, lambda o, x: json.dump([1], o), lambda o: o.getvalue())
_effect(
    "context_var", lambda: contextvars.ContextVar("w", default=0), lambda o, x: o.set(o.get() + 1), lambda o: o.get()
)
_effect("generator_send", lambda: _consumer(), lambda o, x: o[0].send(1), lambda o: o[1][0])
_effect("train_mode", small_net, lambda o, x: o.eval(), lambda o: o.training, "program", lambda o: o.train())
_effect("save", io.BytesIO, lambda o, x: torch.save({"a": 1}, o), lambda o: len(o.getvalue()))


def _consumer():
    total = [0]

    def run():
        while True:
            total[0] += yield

    g = run()
    next(g)
    return g, total


@case("traced")
def effect_global_stored():
    box = []

    def fn(x):
        global STORED
        STORED = x.sum()
        return x * 2

    return fn, (lambda i: None), lambda: float(STORED) if not box else None


@case("any")
def effect_logging_switched_on():
    records = []
    logger = logging.Logger("a step", logging.WARNING)
    handler = logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)

    def fn(x):
        logger.info("a step")
        return x * 2

    return fn, (lambda i: logger.setLevel(logging.INFO) if i == 4 else None), lambda: len(records)
