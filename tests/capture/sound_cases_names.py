"""More cases for test_compile_sound: globals, functions and classes that change their meaning."""

from __future__ import annotations

import functools
import sys
import types

import rushlight.nn.functional as F
from sound_cases import case, late


@case("program")
def installed_package_global():
    """Code in site-packages is read like any other."""
    module = types.ModuleType("some_package")
    module.__file__ = "/usr/lib/python3/site-packages/some_package.py"
    source = "scale = 1.0\ndef f(x):\n    return x * scale\n"
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    return (lambda x: module.f(x)), lambda i: setattr(module, "scale", late(i, 1.0, 3.0))


@case("program")
def imported_inside():
    module = types.ModuleType("made_up_inside")
    module.scale = 1.0
    sys.modules["made_up_inside"] = module

    def fn(x):
        from made_up_inside import scale

        return x * scale

    return fn, lambda i: setattr(sys.modules["made_up_inside"], "scale", late(i, 1.0, 3.0))


@case("program")
def function_attribute_absent():
    def helper(x):
        return x * (2.0 if hasattr(helper, "ready") else 1.0)

    return (lambda x: helper(x)), lambda i: setattr(helper, "ready", 1) if i == 4 else None


@case("program")
def function_code_replaced():
    def helper(x):
        return x * 2

    def other(x):
        return x * 5

    return (lambda x: helper(x)), lambda i: setattr(helper, "__code__", other.__code__) if i == 4 else None


@case("program")
def decorated():
    state = {"scale": 1.0}

    def twice(f):
        @functools.wraps(f)
        def inner(x):
            return f(x) * state["scale"]

        return inner

    @twice
    def fn(x):
        return x + 1

    return (lambda x: fn(x)), lambda i: state.update(scale=late(i, 1.0, 3.0))


@case("program")
def bases_exchanged():
    class A:
        scale = 1.0

    class B:
        scale = 4.0

    class C(A):
        pass

    c = C()
    return (lambda x: x * c.scale), lambda i: setattr(C, "__bases__", (B,)) if i == 4 else None


@case("program")
def library_function_patched():
    plain = F.relu

    def change(i):
        F.relu = plain if i < 4 or i == 7 else F.silu

    return (lambda x: F.relu(x)), change
