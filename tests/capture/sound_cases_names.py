"""More cases for test_compile_sound: globals, functions and classes that change their meaning."""

from __future__ import annotations

import functools
import sys
import types

import rushlight.nn.functional as F
from sound_cases import case, late

SCALE = 1.0
TABLE = {"a": 1.0}
LISTED = [1.0]


@case("program")
def global_number():
    def change(i):
        globals()["SCALE"] = late(i, 1.0, 3.0)

    return (lambda x: x * SCALE), change


@case("program")
def global_absent_then_there():
    def fn(x):
        try:
            return x * NOT_YET  # noqa: F821
        except NameError:
            return x

    def change(i):
        globals().pop("NOT_YET", None)
        if i >= 4:
            globals()["NOT_YET"] = 3.0

    return fn, change


@case("program")
def builtin_hidden_by_a_global():
    def change(i):
        globals().pop("abs", None)
        if i >= 4:
            globals()["abs"] = lambda v: 7.0

    return (lambda x: x * abs(-2.0)), change


@case("program")
def builtin_replaced():
    import builtins

    plain = builtins.round

    def change(i):
        builtins.round = plain if i in range(4) or i == 7 else lambda v: 9.0

    return (lambda x: x * round(2.2)), change


@case("program")
def module_attribute():
    module = types.ModuleType("made_up")
    module.scale = 1.0
    return (lambda x: x * module.scale), lambda i: setattr(module, "scale", late(i, 1.0, 3.0))


@case("program")
def function_of_a_module_replaced():
    module = types.ModuleType("made_up")
    module.f = lambda x: x * 2
    return (lambda x: module.f(x)), lambda i: setattr(
        module, "f", late(i, module.f, lambda x: x * 9)
    )


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
def import_replaced():
    def fn(x):
        import made_up_again

        return x * made_up_again.scale

    def change(i):
        module = types.ModuleType("made_up_again")
        module.scale = late(i, 1.0, 3.0)
        if i in (0, 4):
            sys.modules["made_up_again"] = module

    return fn, change


@case("program")
def function_attribute():
    def helper(x):
        return x * helper.scale

    helper.scale = 1.0
    return (lambda x: helper(x)), lambda i: setattr(helper, "scale", late(i, 1.0, 3.0))


@case("program")
def function_attribute_absent():
    def helper(x):
        return x * (2.0 if hasattr(helper, "ready") else 1.0)

    return (lambda x: helper(x)), lambda i: setattr(helper, "ready", 1) if i == 4 else None


@case("program")
def function_defaults():
    def helper(x, scale=1.0):
        return x * scale

    return (lambda x: helper(x)), lambda i: setattr(helper, "__defaults__", (late(i, 1.0, 3.0),))


@case("program")
def function_keyword_defaults():
    def helper(x, *, scale=1.0):
        return x * scale

    return (lambda x: helper(x)), lambda i: helper.__kwdefaults__.update(scale=late(i, 1.0, 3.0))


@case("program")
def mutable_default():
    def helper(x, scales=[1.0]):  # noqa: B006
        return x * scales[0]

    return (lambda x: helper(x)), lambda i: helper.__defaults__[0].__setitem__(0, late(i, 1.0, 3.0))


@case("program")
def function_code_replaced():
    def helper(x):
        return x * 2

    def other(x):
        return x * 5

    return (lambda x: helper(x)), lambda i: setattr(
        helper, "__code__", other.__code__
    ) if i == 4 else None


@case("program")
def closure_of_a_closure():
    scale = 1.0

    def outer(x):
        def inner(y):
            return y * scale

        return inner(x)

    def change(i):
        nonlocal scale
        scale = late(i, 1.0, 3.0)

    return outer, change


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


@case("traced")
def cached_function():
    state = {"scale": 1.0}

    @functools.lru_cache
    def scale():
        return state["scale"]

    def change(i):
        if i == 4:
            state["scale"] = 5.0
            scale.cache_clear()

    return (lambda x: x * scale()), change


@case("program")
def class_attribute():
    class Config:
        scale = 1.0

    return (lambda x: x * Config.scale), lambda i: setattr(Config, "scale", late(i, 1.0, 3.0))


@case("program")
def class_attribute_of_a_base():
    class Base:
        scale = 1.0

    class Config(Base):
        pass

    def change(i):
        if i == 4:
            Config.scale = 5.0

    return (lambda x: x * Config.scale), change


@case("program")
def class_attribute_by_an_object():
    class Config:
        scale = 1.0

    c = Config()
    return (lambda x: x * c.scale), lambda i: setattr(Config, "scale", late(i, 1.0, 3.0))


@case("program")
def class_attribute_hidden_by_the_object():
    class Config:
        scale = 1.0

    c = Config()
    return (lambda x: x * c.scale), lambda i: setattr(c, "scale", 4.0) if i == 4 else None


@case("program")
def class_method_patched():
    class Config:
        def run(self, x):
            return x * 2

    c = Config()
    return (lambda x: c.run(x)), lambda i: setattr(
        Config, "run", lambda self, x: x * 7
    ) if i == 4 else None


@case("program")
def class_gets_a_dunder():
    class Config:
        pass

    c = Config()
    return (lambda x: x * 2 if c else x), lambda i: setattr(
        Config, "__bool__", lambda s: False
    ) if i == 4 else None


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
def metaclass_attribute():
    class Meta(type):
        @property
        def scale(cls):
            return cls._scale

    class Config(metaclass=Meta):
        _scale = 1.0

    return (lambda x: x * Config.scale), lambda i: setattr(Config, "_scale", late(i, 1.0, 3.0))


@case("program")
def fresh_object_with_old_parts():
    cfg = types.SimpleNamespace(scale=1.0)

    class Runner:
        def __init__(self, cfg):
            self.cfg = cfg

        def run(self, x):
            return x * self.cfg.scale

    return (lambda x: Runner(cfg).run(x)), lambda i: setattr(cfg, "scale", late(i, 1.0, 3.0))


@case("program")
def either_of_two():
    a, b = types.SimpleNamespace(s=1.0), types.SimpleNamespace(s=2.0)
    which = {"first": True}

    def fn(x):
        return x * (a if which["first"] else b).s

    return fn, lambda i: (setattr(a, "s", late(i, 1.0, 3.0)), which.update(first=i != 6))


@case("program")
def renamed_self():
    class Run:
        def __init__(self, scale):
            self.scale, self.other = scale, None

        def __call__(self, x):
            self = self.other or self
            return x * self.scale

    run, other = Run(1.0), Run(2.0)
    run.other = other
    return (lambda x: run(x)), lambda i: setattr(other, "scale", late(i, 1.0, 3.0))


@case("program")
def library_function_patched():
    plain = F.relu

    def change(i):
        F.relu = plain if i < 4 or i == 7 else F.silu

    return (lambda x: F.relu(x)), change
