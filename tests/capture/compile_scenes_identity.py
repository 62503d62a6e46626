"""Scenes about which object an argument is: equal numbers and lists, containers given twice, looking without running code of the user's."""

from __future__ import annotations

import operator
import time
from collections import OrderedDict, defaultdict

from compile_scenes import X, scene, tell

ONE, OTHER = float("1.5"), float("1.5")  # equal, and not the same


def identical(name, ask, one, other):
    """`ask(a, b)` where b is a in calls 5 and 6, and equal to it in the others."""

    def make(c):
        f = c(lambda x, a, b: x * (2 if ask(a, b) else 3))
        for i in range(10):
            a = one()
            yield tell(f, X(i), a, a if i in (5, 6) else other())

    make.__name__ = f"identity_{name}"
    scene(make)


for name, one, other in (
    ("floats", lambda: ONE, lambda: OTHER),
    ("ints", lambda: int("12345678"), lambda: int("12345678")),
    ("complex", lambda: complex("1+2j"), lambda: complex("1+2j")),
    ("strings", lambda: "".join(["ab", "cd"]), lambda: "".join(["ab", "cd"])),
    ("bytes", lambda: bytes([1, 2, 3]), lambda: bytes([1, 2, 3])),
    ("tuples", lambda: (ONE, 1), lambda: (ONE, 1)),
    ("lists", lambda: [1], lambda: [1]),
    ("dicts", lambda: {"a": 1}, lambda: {"a": 1}),
    ("ordered", lambda: OrderedDict(a=1), lambda: OrderedDict(a=1)),
    ("ranges", lambda: range(3), lambda: range(3)),
):
    identical(f"is_of_{name}", lambda a, b: a is b, one, other)
    identical(f"is_not_of_{name}", lambda a, b: a is not b, one, other)
    identical(f"operator_of_{name}", operator.is_, one, other)
    identical(f"nested_{name}", lambda a, b: a[0] is b[0], lambda o=one: [o()], lambda o=other: [o()])


def kept(name, ask, own, equal):
    """The argument is an object that the function keeps, in calls 5 and 6."""

    def make(c):
        mine = own()
        f = c(lambda x, a: x * (2 if ask(a, mine) else 3))
        for i in range(10):
            yield tell(f, X(i), mine if i in (5, 6) else equal())

    make.__name__ = f"identity_kept_{name}"
    scene(make)


@scene
def identity_kept_entry(c):
    rows = {"a": [ONE], "b": (OTHER,)}
    f = c(lambda x, a: x * (2 if a is rows["a"][0] else 3 if a is rows["b"][0] else 5))
    for i in range(12):
        yield tell(f, X(i), (ONE, OTHER, float("1.5"))[0 if i < 4 else i % 3])


# -- a container that is changed for a while ------------------------------------------------------


def _longer(a, b):
    a.append(1)
    n = len(b)
    a.pop()
    return n


def _marked(a, b):
    a["k"] = 2
    n = b.get("k", 1)
    del a["k"]
    return n


for name, for_a_while, made in (("list", _longer, list), ("dict", _marked, dict)):

    def _scenes(for_a_while=for_a_while, made=made, name=name):
        def twice(c):
            f = c(lambda x, a, b: x * for_a_while(a, b))
            for i in range(10):
                a = made()
                yield tell(f, X(i), a, a if i in (5, 6) else made())

        def nested(c):
            f = c(lambda x, a, *, b: x * for_a_while(a[0], b["k"][0]))
            for i in range(10):
                a = made()
                yield tell(f, X(i), [a], b={"k": (a if i in (5, 6) else made(),)})

        def own(c):
            mine = made()
            f = c(lambda x, a: x * for_a_while(a, mine))
            for i in range(10):
                yield tell(f, X(i), mine if i in (5, 6) else made())

        for fn in (twice, nested, own):
            fn.__name__ = f"identity_{name}_changed_for_a_while_{fn.__name__}"
            scene(fn)

    _scenes()


# -- containers that are more than their entries --------------------------------------------------


def more(name, make_one, use):
    def make(c):
        f = c(lambda x, a: x * use(a))
        for i in range(9):
            yield tell(f, X(i), make_one(2 if i < 5 or i == 7 else 3))

    make.__name__ = f"identity_more_than_entries_{name}"
    scene(make)


class Slotted(list):
    __slots__ = ("k",)


def _slot(cls):
    def make_one(k):
        a = cls()
        a.k = k
        return a

    return make_one


FACTORIES = {k: (lambda k=k: float(k)) for k in (2, 3)}
more("slots", _slot(Slotted), lambda a: a.k)
more("default_factory", lambda k: defaultdict(FACTORIES[k], a=1), lambda a: a.default_factory())
more("hidden_fields", lambda k: time.struct_time((2020, *[1] * 8), {"tm_gmtoff": k, "tm_zone": "x"}), lambda a: a.tm_gmtoff)  # fmt: skip


@scene
def identity_a_list_that_holds_itself(c):
    f = c(lambda x, a: x * a[0])
    for i in range(6):
        a = [2.0]
        a.append(a)
        yield tell(f, X(i), a)


# -- looking must not run code of the user's ------------------------------------------------------


def asked(name, base, give, use):
    """How often an object among the arguments was asked for anything at all."""

    def make(c):
        n = []

        class K(base):
            k = 2.0

            def __getattribute__(self, name):
                n.append(name)
                return base.__getattribute__(self, name)

        o = K()
        f = c(lambda x, a: x * use(a))
        for i in range(8):
            K.k = 2.0 if i < 5 else 3.0
            yield tell(f, X(i), give(o)), len(n)

    make.__name__ = f"identity_asked_{name}"
    scene(make)


asked("argument", object, lambda o: o, lambda a: a.k)
