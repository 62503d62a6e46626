"""More cases for test_compile_sound: objects whose attributes a function reads, of all kinds of classes."""

from __future__ import annotations

import argparse
import contextvars
import functools
import itertools
import operator
import random
import threading
import types
import typing

import numpy as np

import rushlight as torch
from rushlight import nn
from sound_cases import CASES
from sound_classes import (
    Cached,
    Computed,
    Concrete,
    Data,
    Described,
    Forwards,
    Frozen,
    Generic,
    HasScale,
    Intercepts,
    Items,
    Level,
    Mode,
    Other,
    Slots,
    Weak,
    entered,
    local,
)


def object_case(name, make, change, use, kind="program"):
    def closure():
        o = make()

        def fn(x):
            return use(x, o)

        return fn, lambda i: change(o) if i == 4 else None  # fmt: skip

    CASES[f"object_{name}"] = (closure, kind)


def scale(value):
    return lambda o: setattr(o, "scale", value)


def times_scale(x, o):
    return x * o.scale


object_case("namespace", lambda: argparse.Namespace(scale=1.0), scale(3.0), times_scale)
object_case("simple_namespace", lambda: types.SimpleNamespace(scale=1.0), scale(3.0), times_scale)
object_case("slots", lambda: Slots(1.0), scale(3.0), times_scale)
object_case(
    "slots_absent",
    lambda: Slots(1.0),
    lambda o: setattr(o, "other", 5.0),
    lambda x, o: x * getattr(o, "other", 2.0),
)
object_case("dataclass", Data, scale(3.0), times_scale)
object_case(
    "dataclass_list", Data, lambda o: o.parts.append(2.0), lambda x, o: x * (1 + sum(o.parts))
)
object_case("frozen", Frozen, lambda o: object.__setattr__(o, "scale", 4.0), times_scale)
object_case(
    "replaced_frozen",
    lambda: [Frozen()],
    lambda o: o.__setitem__(0, Frozen(4.0)),
    lambda x, o: x * o[0].scale,
)
object_case(
    "in_dict",
    lambda: types.SimpleNamespace(scale=1.0),
    lambda o: o.__dict__.update(scale=6.0),
    times_scale,
)
object_case(
    "vars", lambda: types.SimpleNamespace(scale=1.0), scale(3.0), lambda x, o: x * vars(o)["scale"]
)
object_case(
    "dunder_dict",
    lambda: types.SimpleNamespace(scale=1.0),
    scale(3.0),
    lambda x, o: x * o.__dict__["scale"],
)
object_case("getattr_name", lambda: types.SimpleNamespace(a=1.0, b=2.0), lambda o: setattr(o, "b", 7.0),
        lambda x, o: x * sum(getattr(o, n) for n in "ab"))  # fmt: skip
object_case(
    "hasattr",
    lambda: types.SimpleNamespace(),
    scale(3.0),
    lambda x, o: x * (2 if hasattr(o, "scale") else 1),
)
object_case(
    "getattr_default",
    lambda: types.SimpleNamespace(),
    scale(3.0),
    lambda x, o: x * getattr(o, "scale", 1.0),
)
object_case(
    "deleted",
    lambda: types.SimpleNamespace(scale=2.0),
    lambda o: delattr(o, "scale"),
    lambda x, o: x * getattr(o, "scale", 1.0),
)
object_case("nested", lambda: types.SimpleNamespace(a=types.SimpleNamespace(b=types.SimpleNamespace(c=1.0))),
        lambda o: setattr(o.a.b, "c", 3.0), lambda x, o: x * o.a.b.c)  # fmt: skip
object_case("nested_replaced", lambda: types.SimpleNamespace(a=types.SimpleNamespace(b=1.0)),
        lambda o: setattr(o, "a", types.SimpleNamespace(b=4.0)), lambda x, o: x * o.a.b)  # fmt: skip
object_case("enum", lambda: types.SimpleNamespace(m=Mode.SUM), lambda o: setattr(o, "m", Mode.MEAN),
        lambda x, o: x.sum() if o.m is Mode.SUM else x.mean())  # fmt: skip
object_case(
    "enum_value",
    lambda: types.SimpleNamespace(m=Mode.SUM),
    lambda o: setattr(o, "m", Mode.MEAN),
    lambda x, o: x * o.m.value,
)
object_case(
    "int_enum",
    lambda: types.SimpleNamespace(m=Level.LOW),
    lambda o: setattr(o, "m", Level.HIGH),
    lambda x, o: x * int(o.m),
)
object_case(
    "weakref",
    lambda: Weak(),
    lambda o: o.drop(),
    lambda x, o: x * (1 if o.ref() is None else 2),
    "traced",
)
object_case("thread_local", lambda: local(), scale(3.0), times_scale, "traced")
object_case(
    "context_var",
    lambda: contextvars.ContextVar("v", default=1.0),
    lambda o: o.set(5.0),
    lambda x, o: x * o.get(),
    "program",
)
object_case(
    "iterator", lambda: itertools.count(1), lambda o: None, lambda x, o: x * next(o), "traced"
)
object_case(
    "list_iterator",
    lambda: iter([1.0, 2.0, 3.0] * 9),
    lambda o: None,
    lambda x, o: x * next(o),
    "traced",
)
object_case(
    "generator",
    lambda: (float(i) for i in range(99)),
    lambda o: None,
    lambda x, o: x * next(o),
    "traced",
)
object_case(
    "cycle", lambda: itertools.cycle([1.0, 2.0]), lambda o: None, lambda x, o: x * next(o), "traced"
)
object_case(
    "iterator_for",
    lambda: iter(range(99)),
    lambda o: None,
    lambda x, o: x * [v for v, _ in zip(o, "ab")][-1],
    "traced",
)
object_case("event", threading.Event, lambda o: o.set(), lambda x, o: x * (2 if o.is_set() else 1))
object_case("property", lambda: Computed(), lambda o: setattr(o, "_s", 4.0), times_scale)
object_case("descriptor", lambda: Described(), lambda o: o.store.update(v=5.0), times_scale)
object_case("getattr_hook", lambda: Forwards(), lambda o: o.inner.update(scale=5.0), times_scale)
object_case(
    "getattribute_hook",
    lambda: Intercepts(),
    lambda o: o.table.update(scale=5.0),
    times_scale,
    "any",
)
object_case(
    "cached_property",
    lambda: Cached(),
    lambda o: (setattr(o, "base", 9.0), o.__dict__.pop("scale", None)),
    times_scale,
    "any",
)
object_case(
    "getitem", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * o[0]
)
object_case("len", lambda: Items(), lambda o: o.inner.append(5.0), lambda x, o: x * len(o))
object_case(
    "iter", lambda: Items(), lambda o: o.inner.append(5.0), lambda x, o: x * sum(v for v in o)
)
object_case(
    "contains",
    lambda: Items(),
    lambda o: o.inner.append(5.0),
    lambda x, o: x * (2 if 5.0 in o else 1),
)
object_case("bool", lambda: Items(), lambda o: o.inner.clear(), lambda x, o: x * 2 if o else x)
object_case("call", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: o(x))
object_case(
    "with", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: entered(x, o)
)
object_case("add", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * (o + 1))
object_case(
    "radd", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * (1.0 + o)
)
object_case(
    "compare",
    lambda: Items(),
    lambda o: o.inner.__setitem__(0, 5.0),
    lambda x, o: x * 2 if o > 2 else x,
)
object_case(
    "index", lambda: Items(), lambda o: o.inner.append(1.0), lambda x, o: x[operator.index(o)]
)
object_case(
    "float", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * float(o)
)
object_case("str", lambda: Items(), lambda o: o.inner.append(5.0), lambda x, o: x * len(str(o)))
object_case("format", lambda: Items(), lambda o: o.inner.append(5.0), lambda x, o: x * len(f"{o}"))
object_case(
    "class_changed",
    lambda: Items(),
    lambda o: setattr(o, "__class__", Other),
    lambda x, o: x * len(o),
)
object_case(
    "method_on_instance",
    lambda: Computed(),
    lambda o: setattr(o, "times", lambda x: x * 9),
    lambda x, o: o.times(x),
)
object_case(
    "class_method",
    lambda: type("C", (Computed,), {"table": {"a": 1.0}})(),
    lambda o: o.table.update(a=7.0),
    lambda x, o: o.of_class(x),
)
object_case(
    "bound_method",
    lambda: [Computed().times],
    lambda o: setattr(o[0].__self__, "_s", 8.0),
    lambda x, o: o[0](x),
)
object_case("abc", lambda: Concrete(), scale(3.0), lambda x, o: o.run(x))
object_case(
    "protocol",
    lambda: Concrete(),
    scale(3.0),
    lambda x, o: x * o.scale if isinstance(o, HasScale) else x,
)
object_case("generic", lambda: Generic(), scale(3.0), times_scale)
object_case("generic_method", lambda: Generic(), scale(3.0), lambda x, o: o.run(x))
object_case("generic_alias", lambda: Generic[int](), scale(3.0), lambda x, o: o.run(x))
object_case(
    "type_variable",
    lambda: typing.TypeVar("T"),
    scale(3.0),
    lambda x, o: x * getattr(o, "scale", 2.0),
)
object_case(
    "type_variable_bound",
    lambda: typing.TypeVar("T", bound=type("Bound", (), {"scale": 1.0})),
    lambda o: setattr(o.__bound__, "scale", 3.0),
    lambda x, o: x * o.__bound__.scale,
    "any",
)
object_case(
    "exception",
    lambda: ValueError(1.0),
    lambda o: setattr(o, "args", (3.0,)),
    lambda x, o: x * o.args[0],
    "any",
)
object_case("lock", threading.Lock, lambda o: None, lambda x, o: entered(x, o), "traced")
object_case(
    "tensor_attribute",
    lambda: nn.Parameter(torch.ones(3)),
    lambda o: setattr(o, "scale", 4.0),
    lambda x, o: x * getattr(o, "scale", 2.0),
)
object_case(
    "partial_keywords",
    lambda: functools.partial(torch.add, alpha=2),
    lambda o: o.keywords.update(alpha=5),
    lambda x, o: o(x, x),
)
object_case(
    "itemgetter",
    lambda: (operator.itemgetter(0), [1.0]),
    lambda o: o[1].__setitem__(0, 4.0),
    lambda x, o: x * o[0](o[1]),
    "traced",
)
object_case(
    "random_state", lambda: random.Random(3), lambda o: None, lambda x, o: x * o.random(), "traced"
)
object_case(
    "numpy_rng",
    lambda: np.random.default_rng(3),
    lambda o: None,
    lambda x, o: x * float(o.random()),
    "traced",
)
