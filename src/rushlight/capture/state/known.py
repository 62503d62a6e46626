"""What compiled code may touch: the lists of functions and types whose behaviour is known exactly.

A replay leaves Python out, so every call that Python would have made must be one that depends on nothing but
its arguments and changes nothing but them. What is not listed here is not known, and runs with Python.
"""

from __future__ import annotations

import _typing
import builtins
import collections
import contextvars
import fractions
import functools
import itertools
import os
import re
import sys
import types
import weakref
from string import Formatter
from typing import Any

import numpy as np

from ...base.spelling import home_of

PACKAGE = __name__.split(".")[0]
# This folder, and in a source tree that of PyTorch's names.
_HOMES = tuple([os.path.abspath(folder) + os.sep for folder in sys.modules[PACKAGE].__path__])
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
# Parts of this package that stand where a user's code would: they are read like it.
_READ = tuple([_HOMES[0] + part + os.sep for part in ("cli", "dezero", "vision")])


def _passing_types() -> list[type]:
    """Types of views and iterators, which exist only for a moment."""
    ordered: Any = collections.OrderedDict()
    views: list[Any] = [
        {}.keys(), {}.values(), {}.items(), ordered.keys(), ordered.values(), ordered.items(),
        (None for _ in ()), reversed([]), reversed({}), iter(int, 0),
    ]  # fmt: skip
    things: list[Any] = [{}, [], (), range(0), range(2**70), set(), "", b"", ordered, *views[:3]]
    return [type(v) for v in (*views, *map(iter, things))]


# Written in C from Python 3.12 on: the base classes of generic classes, type variables and the like.
OF_TYPING: frozenset[Any] = frozenset(
    [v for v in vars(_typing).values() if isinstance(v, type) and v is not types.UnionType]
)
# Types of C whose methods work on their own object alone. Objects of them that the function itself
# makes may be used at will; those that outlive the call are compared, see `watch`.
TYPES: frozenset[Any] = frozenset((
    object, type, super, property, classmethod, staticmethod, bool, int, float, complex, str, bytes,
    bytearray, tuple, list, dict, set, frozenset, range, slice, enumerate, zip, map, filter, reversed,
    type(None), type(...), type(NotImplemented), collections.OrderedDict, collections.defaultdict,
    collections.deque, functools.partial, types.SimpleNamespace, types.MappingProxyType,
    types.GenericAlias, types.UnionType, types.FunctionType, types.MethodType, types.CodeType,
    types.BuiltinFunctionType, types.ModuleType, types.CellType, types.GeneratorType, re.Pattern,
    contextvars.ContextVar, contextvars.Token, re.Match, fractions.Fraction, np.ndarray, np.dtype, memoryview, types.WrapperDescriptorType,
    types.MethodWrapperType, types.MethodDescriptorType, types.TracebackType, weakref.ref, *_passing_types(),
    *[v for v in vars(itertools).values() if isinstance(v, type)], *OF_TYPING,
))  # fmt: skip

_BUILTINS = frozenset((
    "abs all any ascii bin callable chr delattr divmod format getattr hasattr hex isinstance issubclass "
    "iter len max min next oct ord pow repr round setattr sorted sum __build_class__"
).split())  # fmt: skip
# Modules of C: all of what they do, or the names.
_FUNCTIONS: dict[str, frozenset[str] | None] = {
    "builtins": _BUILTINS,
    "math": None,
    "cmath": None,
    "_operator": None,
    "_bisect": None,
    "_heapq": None,
    "_struct": frozenset(("pack", "unpack", "unpack_from", "calcsize")),
    "_functools": frozenset(("reduce", "cmp_to_key")),
    "_collections": frozenset(("_count_elements",)),
    "_abc": frozenset(("_abc_instancecheck", "_abc_subclasscheck", "_abc_init", "_abc_register")),
    "_sre": None,
    "_typing": None,
    "sys": frozenset(("intern",)),
    "numpy": frozenset((
        "array asarray ascontiguousarray arange zeros concatenate dot inner vdot where can_cast "
        "result_type promote_types min_scalar_type lexsort bincount ravel_multi_index unravel_index "
        "interp copyto putmask"
    ).split()),
}  # fmt: skip
_FUNCTIONS["operator"] = _FUNCTIONS["_operator"]
_FUNCTIONS["numpy._core._multiarray_umath"] = _FUNCTIONS["numpy"]
_FUNCTIONS["numpy._core.multiarray"] = _FUNCTIONS["numpy"]
_ARRAY_METHODS_NOT = frozenset(("tofile", "dump", "dumps", "setflags"))

# CuPy, and the package that tells it where CUDA's files lie
_DRIVERS = frozenset(("cupy", "cupyx", "cupy_backends", "cuda.pathfinder"))
_DRIVERS_PARTS = tuple([f"{name}." for name in sorted(_DRIVERS)])

# Where a call from outside may enter this package: what computes, and what describes tensors.
_ENTRIES = tuple([f"{PACKAGE}.{part}" for part in (
    "operators.", "nn.", "core.", "optim.", "autograd.", "amp.", "base.", "capture.", "distributions.",
    "_names.", "linalg", "fft", "special", "func", "compiler", "overrides", "_utils", "return_types",
    "types", "jit.", "_checks", "_inner_functions", "_lowrank", "nested", "sparse", "ops", "library", "_aten.overloads",
    "utils.checkpoint", "utils._pytree", "utils.hooks", "_dynamo", "runtime.door",
    "data.resident", "distributed.collectives", "_fake_quantize", "masked.", "signal.windows", "vision.ops.",
)])  # fmt: skip
_NOT_ENTRIES = tuple([f"{PACKAGE}.{part}" for part in ("core.shown.printing", "base.config")])
_NUMPY_ENTRIES = ("numpy.lib.", "numpy._core.", "numpy.linalg", "numpy.fft", "numpy.matrixlib")
_NUMPY_NOT = (
    "numpy.lib._npyio", "numpy.lib.npyio", "numpy.lib._datasource", "numpy.lib.format",
    "numpy._core._ufunc_config", "numpy._core.arrayprint", "numpy._core.memmap",
)  # fmt: skip
_TOP = {PACKAGE, f"{PACKAGE}.nn", f"{PACKAGE}.optim", f"{PACKAGE}.autograd", f"{PACKAGE}.jit"}
# Functions that return a setting which is not part of the key under which a program is found.
_ASKS_FOR_SETTINGS = frozenset((
    "get_num_threads", "get_num_interop_threads", "get_autocast_dtype", "is_autocast_cache_enabled",
    "is_deterministic_algorithms_warn_only_enabled", "get_deterministic_debug_mode", "get_default_device",
    "get_rng_state", "initial_seed", "get_state", "is_anomaly_check_nan_enabled",
))  # fmt: skip
# Functions that change one of these for good.
_SETS = frozenset((
    "set_num_threads", "set_num_interop_threads", "set_autocast_cache_enabled", "set_flush_denormal",
    "set_deterministic_debug_mode", "set_printoptions",
))  # fmt: skip
# Functions that set a random stream of ours: they leave no instruction.
_SETS_STREAMS = frozenset(("manual_seed", "manual_seed_all", "set_rng_state", "fork_rng", "seed", "set_state"))
_ASKS_THE_MACHINE = frozenset(("is_available", "device_count", "is_built"))
# Facts about a tensor's memory (address, version, sharing), which no comparison before a call can predict.
TENSOR_SECRETS = frozenset((
    "_version", "data_ptr", "untyped_storage", "storage", "_storage", "__array_interface__",
    "__cuda_array_interface__", "__dlpack__", "share_memory_", "is_shared", "_base", "_is_view", "_cdata", "storage_offset",
    "grad_fn", "output_nr", "retains_grad", "_backward_hooks",
))  # fmt: skip


def is_ours(file: str, module: str | None) -> bool:
    """Whether code is trusted to read nothing that is not compared: this package's, and NumPy's."""
    if file.startswith("<"):
        if module is None:
            return False
        return module.startswith(PACKAGE + ".") or module.startswith("numpy.")
    if file.startswith(_HOMES):
        return not file.startswith(_READ)
    return file.startswith(_NUMPY) or is_driver(module)


def is_driver(module: str | None) -> bool:
    """Whether a module is CuPy's or of what CuPy leans on: how it finds and compiles kernels is no part of a call."""
    return module is not None and (module in _DRIVERS or module.startswith(_DRIVERS_PARTS))


def may_enter(module: str, name: str) -> bool:
    """Whether code that is read may call this function of trusted code."""
    if module.startswith("numpy"):
        return module.startswith(_NUMPY_ENTRIES) and not module.startswith(_NUMPY_NOT)
    if name in _ASKS_FOR_SETTINGS or name in _SETS_STREAMS or name in _SETS:
        return False
    if name in _ASKS_THE_MACHINE or module in _TOP:
        return True
    return module.startswith(_ENTRIES) and not module.startswith(_NOT_ENTRIES)


def may_call(function: Any) -> bool:
    """Whether a function or bound method of C is known."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        return _listed(function)
    if function is tuple.__new__:  # of named tuples and the like: what it reads is seen
        return True
    cls = owner if isinstance(owner, type) else type(owner)
    if cls is str and function.__name__ in ("format", "format_map"):
        return not names_attributes(owner)
    if isinstance(owner, type) and function.__name__ in vars(type):
        return function.__name__ in ("mro", "__instancecheck__", "__subclasscheck__", "__prepare__")
    if cls is np.ndarray or issubclass(cls, np.generic):
        return function.__name__ not in _ARRAY_METHODS_NOT
    return is_known_type(cls) and getattr(object, function.__name__, None) is not function


def names_attributes(text: Any) -> bool:
    """Whether a text that is formatted asks for attributes or entries of what is put into it: `"{0.scale}"`."""
    if not isinstance(text, str):
        return True  # str.format itself, with a text that is not known
    try:
        fields = list(Formatter().parse(text))
    except ValueError:
        return True
    return any((field and not field.isalnum()) or (spec and "{" in spec) for _, field, spec, _ in fields)


def _listed(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    if module.partition(".")[0] == PACKAGE:
        return True
    names = _FUNCTIONS.get(module, ())
    return names is None or function.__name__ in names


def is_known_type(cls: type) -> bool:
    """Whether objects of a type behave as Python code says, with known types of C below it."""
    found = _known.get(cls)
    if found is None:
        found = _known[cls] = all(map(_is_known_base, cls.__mro__))
    return found


_known: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()  # does not change


def _is_known_base(cls: Any) -> bool:
    if cls in TYPES or issubclass(cls, (BaseException, np.generic)):
        return True
    if home_of(cls).partition(".")[0] == PACKAGE:
        return True
    return made_by_python(cls)


def made_by_python(cls: Any) -> bool:
    """Whether a class statement made this type: its objects have no memory beside their attributes."""
    if cls is type or not cls.__flags__ & 1 << 9:  # types that C made once for all
        return False
    base, own = cls.__base__, vars(cls)
    extra = cls.__basicsize__ - base.__basicsize__
    slots = [v for v in own.values() if isinstance(v, types.MemberDescriptorType)]
    explained = len(slots) + ("__weakref__" in own) + ("__dict__" in own)
    methods = (types.MethodDescriptorType, types.ClassMethodDescriptorType)
    return extra <= 8 * explained and not any(isinstance(v, methods) and v.__objclass__ is cls for v in own.values())


# Code of emulated devices, which runs wherever memory is freed: their tools add it once.
BELOW: set[types.CodeType] = set()
# Builtins that take an attribute's name: while recording, stand-ins note whose and which.
REFLECTIVE = ("getattr", "hasattr", "setattr", "delattr", "vars", "dir")
PLAIN_BUILTINS = {name: getattr(builtins, name) for name in REFLECTIVE}
