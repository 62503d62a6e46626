"""Names of the public modules that are looked up late: submodules, and what PyTorch has and we lack."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ..base.errors import no_attribute
from ..base.signatures import show_plainly
from ..core.public import NAMESPACES, publish
from ..core.redirecting import copy_of

PACKAGE = __name__.split(".")[0]

# Submodules that `import rushlight` does not load; `rushlight.nn` loads them on first use.
SUBMODULES = (
    "_C", "__config__", "__future__", "_dynamo", "_functorch", "_guards", "_inductor", "_vmap_internals", "_jit_internal", "_subclasses", "_tensor", "_tensor_str", "_utils", "accelerator", "amp", "ao", "autograd", "backends", "capture", "classes", "cli",
    "compiler", "cpu", "cuda", "data", "dezero", "distributed", "distributions", "export", "fft", "func", "functional", "functorch", "futures",
    "fx", "hub", "io", "jit", "library", "linalg", "masked", "mps", "mtia", "multiprocessing", "nested", "nn", "onnx",
    "ops", "optim", "overrides", "profiler", "quantization", "quasirandom", "random", "return_types", "serialization", "signal", "sparse", "special", "storage",
    "testing", "torch_version", "types", "utils", "version", "vision", "xpu",
)  # fmt: skip

# What a program does not ask the top module for: the rooms that the rest is built of.
ENGINE = ("annotations", "base", "capture", "cli", "core", "data", "io", "operators", "runtime")

# Functions of the top module that live above it, or that few programs need: name -> module.
LATE = {
    "PyTorchFileReader": "_C", "Storage": "operators.memory.storage_types",
    "GradScaler": "amp", "autocast": "amp", "get_autocast_dtype": "amp", "is_autocast_enabled": "amp",
    **dict.fromkeys(("set_autocast_enabled", "set_autocast_dtype", "is_autocast_cache_enabled", "set_autocast_cache_enabled",
                     "clear_autocast_cache"), "amp"), "compile": "capture", "load": "io", "save": "io",
    "set_printoptions": "core.shown.printing", "vmap": "func", "_assert": "base.errors",
    "UntypedStorage": "io", "TypedStorage": "io", "as_torch": "cli.scripts.alias", "fit": "cli.fit", "Trainer": "cli.fit", "Callback": "cli.callbacks", "load_ipython_extension": "cli.scripts.notebook",
    "Event": "cuda", "Stream": "cuda", "_softmax_backward_data": "_inner_functions",
    "_log_softmax_backward_data": "_inner_functions", "_int_mm": "_inner_functions", "segment_reduce": "_inner_functions",
    "_segment_reduce": "_inner_functions",
    "fake_quantize_per_channel_affine": "_fake_quantize", "fake_quantize_per_tensor_affine": "_fake_quantize",
    "lobpcg": "_lobpcg", "pca_lowrank": "_lowrank", "svd_lowrank": "_lowrank", "Future": "futures", "get_device_module": "_device_module", "ScriptModule": "jit",
    "ScriptFunction": "jit", "ScriptObject": "_script_object", "DisableTorchFunctionSubclass": "overrides", "cond": "_control_flow", "while_loop": "_control_flow",
    **dict.fromkeys(("get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "is_autocast_cpu_enabled"), "_autocast_names"),
    **dict.fromkeys(("BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage",
                     "ComplexFloatStorage", "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage",
                     "LongStorage", "ShortStorage", "StorageBase"), "storage"),
    **dict.fromkeys(("AnyType", "BoolType", "ClassType", "ComplexType", "DeviceObjType", "DictType", "EnumType", "FloatType",
                     "FutureType", "IntType", "InterfaceType", "ListType", "NoneType", "NumberType", "OptionalType",
                     "PyObjectType", "RRefType", "StreamObjType", "StringType", "TensorType", "TupleType", "UnionType"), "_C"),
    **dict.fromkeys(("SymBool", "SymFloat", "SymInt", "sym_float", "sym_int", "sym_ite", "sym_max",
                     "sym_min", "sym_not", "sym_sum"), "base.symbols"),
    **dict.fromkeys(("_assert_async", "_check", "_check_index", "_check_is_size",
                     "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with",
                     "_check_type", "_check_value", "_check_with", "_is_all_true", "_shape_as_tensor"),
                    "_checks"),
}  # fmt: skip


@lru_cache(256)
def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent is missing
        return False


def find(name: str) -> Any:
    """A submodule or late function of the top module, imported now and kept there."""
    package = sys.modules[PACKAGE]
    if name == "__all__":
        return _starred(vars(package))
    if name in SUBMODULES and _exists(f"{PACKAGE}.{name}"):
        module = import_module(f"{PACKAGE}.{name}")
        show_plainly(vars(module).values())
        return module
    if name in LATE and _exists(f"{PACKAGE}.{LATE[name]}"):
        found = getattr(import_module(f"{PACKAGE}.{LATE[name]}"), name, None)
        if found is not None:
            show_plainly((found,))
            setattr(package, name, found)
            return found
    if name in (space := NAMESPACES["torch"]) or name in space.late:
        found = space[name]
    elif (found := _in_place(name)) is None:
        raise AttributeError(missing(PACKAGE, vars(package), name))
    setattr(package, name, found)
    return found


def _starred(names: dict[str, Any]) -> list[str]:
    """What `from rushlight import *` brings: no submodules, and no name of Python's own."""
    own = {n for n, value in names.items() if n[0] != "_" and not isinstance(value, ModuleType)}
    found = own | {n for n in NAMESPACES["torch"].names() if n[0] != "_"} | _in_places() | {"__version__"}
    return sorted(found - {"annotations", "bool", "complex", "float", "int"})


def _in_places() -> set[str]:
    """The methods `name_` that PyTorch has in its top module, too."""
    from .torch_names import NAMES

    return {n for n in NAMES["torch"].split() if n.endswith("_")} & NAMESPACES["Tensor"].names()


def _in_place(name: str) -> Any:
    """The function of one of them; None for other names."""
    if not name.endswith("_") or name[0] == "_" or name not in _in_places():
        return None
    from ..core.arming import as_it_was

    publish("torch", name, copy_of(as_it_was(NAMESPACES["Tensor"][name])))
    return NAMESPACES["torch"][name]


def missing(module: str, names: Iterable[str], name: str) -> str:
    """What to say of a name that a module of PyTorch's does not have here."""
    from .torch_names import NAMES

    label = module.rpartition(".")[2] if "." in module else "torch"
    theirs = name in NAMES.get(label, "").split()
    note = f" PyTorch has it; {PACKAGE} does not implement it yet." if theirs else ""
    return no_attribute(module, name, listing(names) if label == "torch" else names, note)


def listing(names: Iterable[str]) -> list[str]:
    """What `dir(rushlight)` shows: PyTorch's names, those that would be loaded too, and few of our own."""
    shown = {n for n in names if n[0] != "_" or n.endswith("__")} - set(ENGINE)
    late = {n for n in SUBMODULES if _exists(f"{PACKAGE}.{n}")} - set(ENGINE)
    late |= {n for n, home in LATE.items() if _exists(f"{PACKAGE}.{home}")}
    return sorted(shown | late | _in_places() | NAMESPACES["torch"].names())
