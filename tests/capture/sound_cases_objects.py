"""More cases for test_compile_sound: objects whose attributes a function reads, of all kinds of classes."""

from __future__ import annotations

import itertools
import random
import threading
import typing

from sound_cases import CASES
from sound_classes import Computed, Concrete, Described, Generic, HasScale, Items, Other, Slots, entered


def object_case(name, make, change, use, kind="program"):
    def closure():
        o = make()

        def fn(x):
            return use(x, o)

        return fn, lambda i: change(o) if i == 4 else None

    CASES[f"object_{name}"] = (closure, kind)


def scale(value):
    return lambda o: setattr(o, "scale", value)


def times_scale(x, o):
    return x * o.scale


object_case("slots", lambda: Slots(1.0), scale(3.0), times_scale)
object_case("iterator", lambda: itertools.count(1), lambda o: None, lambda x, o: x * next(o), "traced")
object_case("event", threading.Event, lambda o: o.set(), lambda x, o: x * (2 if o.is_set() else 1))
object_case("descriptor", lambda: Described(), lambda o: o.store.update(v=5.0), times_scale)
object_case("call", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: o(x))
object_case("with", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: entered(x, o))
object_case("radd", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * (1.0 + o))
object_case("compare", lambda: Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * 2 if o > 2 else x)
object_case("class_changed", lambda: Items(), lambda o: setattr(o, "__class__", Other), lambda x, o: x * len(o))
object_case(
    "bound_method", lambda: [Computed().times], lambda o: setattr(o[0].__self__, "_s", 8.0), lambda x, o: o[0](x)
)
object_case("protocol", lambda: Concrete(), scale(3.0), lambda x, o: x * o.scale if isinstance(o, HasScale) else x)
object_case("generic", lambda: Generic(), scale(3.0), times_scale)
object_case(
    "type_variable_bound",
    lambda: typing.TypeVar("T", bound=type("Bound", (), {"scale": 1.0})),
    lambda o: setattr(o.__bound__, "scale", 3.0),
    lambda x, o: x * o.__bound__.scale,
    "any",
)
object_case(
    "exception", lambda: ValueError(1.0), lambda o: setattr(o, "args", (3.0,)), lambda x, o: x * o.args[0], "any"
)
object_case("lock", threading.Lock, lambda o: None, lambda x, o: entered(x, o), "traced")
object_case("random_state", lambda: random.Random(3), lambda o: None, lambda x, o: x * o.random(), "traced")
