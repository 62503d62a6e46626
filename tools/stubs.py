"""Write the stub files (.pyi) of names that modules collect while they run, what editors and type checkers read; and which ops load late.

    python tools/stubs.py                  write both into the checkout, as an editable install does
    python tools/stubs.py --out PACKAGE    write the stubs alone, and those of modules that are no files, as a wheel has them
    python tools/stubs.py --check          fail where `operators/late_names.py`, the one that git keeps, is out of date

Signatures are those of the functions themselves. Where one says `Any` and the parameter's name has one meaning all over PyTorch
(`dtype`, `dim`, `size`), `TYPES` says which; `RETURNS` does the same for results that depend on arguments.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from itertools import product
from pathlib import Path
from pkgutil import walk_packages
from textwrap import wrap
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
NAMES = SOURCE / "torch_names" / "rushlight"  # PyTorch's names that are no engine
sys.path.insert(0, str(SOURCE))

HEAD = '''"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, overload

import numpy as np

'''
IMPORTS = """from {up}base.device import device as _device
from {up}base.dtypes import dtype as _dtype
from {up}base.formats import layout as _layout
from {up}base.formats import qscheme as _qscheme
from {up}base.formats import memory_format as _memory_format
from {up}base.shapes import Size as _Size
from {up}core.tensor import Tensor as _Tensor
from {up} import return_types as _results
from {up}operators.random.generator import Generator as _Generator

"""
# Names that a stub may define itself: annotations say the private ones.
PRIVATE = {
    **{n: f"_b.{n}" for n in ("int", "float", "bool", "str", "complex", "tuple", "list", "dict", "type", "object", "bytes", "slice")},
    "Tensor": "_Tensor", "dtype": "_dtype", "device": "_device", "Size": "_Size", "Generator": "_Generator",
    "layout": "_layout", "memory_format": "_memory_format", "format_type": "_memory_format",
    "Number": "_b.complex", "SparseTensor": "_Tensor", "CompressedTensor": "_Tensor", "UntypedStorage": "Any", "TypedStorage": "Any",
}  # fmt: skip
NUMBER = "_b.complex"  # for type checkers int, float and bool are complex numbers, too
OPERAND = f"_Tensor | {NUMBER} | np.generic"  # of Python's operators
INTS = "_b.int | Sequence[_b.int]"
TYPES = {
    "dtype": "_dtype | None", "device": "_device | _b.str | _b.int | None", "layout": "_layout | None",
    "memory_format": "_memory_format | None", "generator": "_Generator | None", "requires_grad": "_b.bool",
    "dim": f"{INTS} | None", "axis": f"{INTS} | None", "dims": f"{INTS} | None", "keepdims": "_b.bool",
    "size": INTS, "shape": f"{INTS} | _dtype", "kernel_size": INTS, "stride": f"{INTS} | None",
    "padding": f"{INTS} | _b.str", "dilation": INTS, "output_padding": INTS, "normalized_shape": INTS,
    "self": "Sequence[_Tensor]", "data": "_b.object", "obj": "_b.object", "buffer": "_b.object", "ext_tensor": "_b.object", "elements": OPERAND, "test_elements": OPERAND,
    "indices_or_sections": f"_Tensor | {INTS}", "sections": "_b.int", "source": INTS, "destination": INTS, "start": "_Tensor | _b.int",
    "norm_type": "_b.float", "p": "_Tensor | _b.float | _b.str | None", "ord": "_b.float | _b.str | None", "norm": "_b.str | None",
    "s": "Sequence[_b.int] | None", "q": "_Tensor | _b.float", "correction": "_b.float | None", "weight": f"_Tensor | {NUMBER}",
    "x": f"_Tensor | Sequence[{NUMBER}] | {NUMBER} | None", "dx": NUMBER, "spacing": f"_Tensor | Sequence[_Tensor | {NUMBER}] | {NUMBER}",
    "bins": "_Tensor | Sequence[_Tensor] | Sequence[_b.int] | _b.int", "range": "Sequence[_b.float] | None", "reduction": "_b.int",
    "input_lengths": "_Tensor | Sequence[_b.int]", "target_lengths": "_Tensor | Sequence[_b.int]", "mean": "_Tensor | _b.float",
    "std": "_Tensor | _b.float", "var": "_Tensor | _b.float", "tensor1": OPERAND, "tensor2": OPERAND, "low": "_b.int", "high": "_b.int | Sequence[_b.int] | None",
    "src": f"_Tensor | Sequence[_Tensor] | {NUMBER}", "names": "Sequence[_b.str | None] | None", "out_dtype": "_dtype | None",
    "output_ratio": "_b.float | Sequence[_b.float] | None", "check_invariants": "_b.bool | None", "from_": "_dtype", "fill": NUMBER,
    **dict.fromkeys(("rcond", "tol", "atol", "rtol"), "_Tensor | _b.float | None"), "mask": "_Tensor", "mat2": "Sequence[_Tensor]",
    **dict.fromkeys(("values", "compressed_indices", "plain_indices", "ccol_indices", "row_indices", "crow_indices", "col_indices"), "_b.object"),
    "indices": "_Tensor | Sequence[_Tensor | None] | Sequence[Sequence[_b.int]] | _b.int | Sequence[_b.int]",
    "output_size": "_b.int | Sequence[_b.int | None] | None", "tensors": "Sequence[_Tensor]", "equation": "_b.str",
    "other": f"_Tensor | {NUMBER}", "alpha": NUMBER, "beta": NUMBER, "value": f"_Tensor | {NUMBER}",
    "input": f"_Tensor | {NUMBER}", "exponent": f"_Tensor | {NUMBER}", "fill_value": NUMBER, "index": "_Tensor",
    "repeats": f"_Tensor | {INTS} | None", "sizes": INTS, "bounds": NUMBER, "min": f"_Tensor | {NUMBER} | None",
    "max": f"_Tensor | {NUMBER} | None", "steps": "_b.int", "diagonal": "_b.int", "gradient": "_Tensor | None",
    "out": "_Tensor | Sequence[_Tensor] | None", "order": INTS, "shifts": INTS, "pad": "Sequence[_b.int]",
    "split_size": INTS, "split_size_or_sections": INTS, "split_sizes": "Sequence[_b.int]",
    "scale_factor": "_b.float | Sequence[_b.float] | None", "posinf": "_b.float | None", "neginf": "_b.float | None",
}  # fmt: skip
# `input` is a tensor wherever a function is a method of one.
RETURNS = {
    "item": "_b.int | _b.float | _b.bool",
    "tolist": "Any",
    "numpy": "np.ndarray",
    "native_batch_norm": "_b.tuple[_Tensor, _Tensor, _Tensor]",
}
# Flags that are asked for more results, one each, and the one whose results are as many as there are dimensions.
FLAGS = {
    **dict.fromkeys(("unique", "unique_consecutive"), ("return_inverse", "return_counts")), "nonzero": ("as_tuple",),
    **dict.fromkeys([f"{kind}max_pool{n}d" for kind in ("", "adaptive_", "fractional_") for n in (1, 2, 3)], ("return_indices",)),
}  # fmt: skip
# Functions whose arguments go together in several ways: what stands between the brackets, and what they give.
_OUT = "out: _Tensor | None = ..."
_PARTS = "_b.tuple[_Tensor, ...]"
_MOVED = "non_blocking: _b.bool = ..., copy: _b.bool = ..., *, memory_format: _memory_format | None = ..."
OVERLOADS = {
    "to": (
        (f"device: _device | _b.str | _b.int | None = ..., dtype: _dtype | None = ..., {_MOVED}", "_Tensor"),
        (f"dtype: _dtype, {_MOVED}", "_Tensor"),
        (f"other: _Tensor, {_MOVED}", "_Tensor"),
    ),
    "type": (("", "_b.str"), ("dtype: _dtype | _b.str | _b.type, non_blocking: _b.bool = ...", "_Tensor")),
}
FUNCTION_OVERLOADS = {
    "where": (("condition: _Tensor", _PARTS), (f"condition: _Tensor, input: {OPERAND}, other: {OPERAND}, *, {_OUT}", "_Tensor")),
    **dict.fromkeys([f"atleast_{n}d" for n in (1, 2, 3)], (
        ("tensor: _Tensor, /", "_Tensor"), ("tensors: Sequence[_Tensor], /", _PARTS),
        ("first: _Tensor, second: _Tensor, /, *more: _Tensor", _PARTS))),
}  # fmt: skip

# Ops that give their named tuple when they are told a dim, and else a tensor; the first two also take a second tensor.
BY_DIM = ("max", "min", "median", "nanmedian")


def by_dim(name: str, fn: Any, indent: str, method: bool) -> str:
    """The ways to call one of those."""
    first, out = ("self" if method else "input: _Tensor", "out: _Tensor | Sequence[_Tensor] | None = None")
    ways = {first: "_Tensor"}
    ways[f"{first}, dim: _b.int | _b.str, keepdim: _b.bool = False, *, {out}"] = f"_results.{name}"
    if name in BY_DIM[:2]:
        ways[f"{first}, other: _Tensor, *, {out}"] = "_Tensor"
    return overloads(name, fn, indent, ways.items())


def by_flags(name: str, fn: Any, indent: str, method: bool) -> str:
    """The ways to call a function whose flags say how many tensors it gives."""
    sig, ways = inspect.signature(fn), []
    for asked in product((False, True), repeat=len(FLAGS[name])):
        flags = dict(zip(FLAGS[name], asked))
        given: list[str] = []
        for i, p in enumerate(sig.parameters.values()):
            keyword = p.kind is p.KEYWORD_ONLY or flags.get(p.name)
            if keyword and "*" not in given:
                given.append("*")
            if p.name in flags:
                given.append(f"{p.name}: Literal[{flags[p.name]}]{'' if flags[p.name] else ' = False'}")
            else:
                kind = annotation(p.annotation, p.name)
                given.append("self" if method and i == 0 else f"{p.name}: {optional(kind, p)}{default(p)}")
        more = sum(asked)
        gives = "_Tensor" if not more else "_b.tuple[_Tensor, ...]" if "as_tuple" in flags else f"_b.tuple[{', '.join(['_Tensor'] * (1 + more))}]"  # fmt: skip
        ways.append((", ".join(given), gives))
    ways.append((parameters(sig, method), " | ".join(dict.fromkeys(gives for _, gives in ways))))
    return overloads(name, fn, indent, ways)


def overloads(name: str, fn: Any, indent: str, ways: Iterable[tuple[str, str]]) -> str:
    """The ways to call a function: what stands between the brackets, and what it gives."""
    text = "".join(f"{indent}@overload\n{indent}def {name}({given}) -> {gives}: ...\n" for given, gives in ways)
    return text.replace(" ...\n", f'\n{indent}    """{summary(fn)}"""\n', 1)


def summary(fn: Any) -> str:
    """The first line of a docstring, as it can stand in a stub."""
    return (inspect.getdoc(fn) or "").split("\n")[0].replace("\\", "\\\\").replace('"', "'")


def annotation(text: Any, name: str = "") -> str:
    """The annotation of a stub: builtins and our classes under names that no function hides."""
    if text is inspect.Parameter.empty or text in ("Any", Any):
        return TYPES.get(name, "Any")
    if not isinstance(text, str):
        text = getattr(text, "__name__", "Any")
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return "Any"

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            known = node.id in PRIVATE or node.id in ("Any", "Callable", "Iterator", "Sequence", "np", "None")
            new = PRIVATE.get(node.id, node.id) if known else "Any"
            return ast.parse(new, mode="eval").body

        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            return ast.parse("np.ndarray" if node.attr == "ndarray" else "Any", mode="eval").body

    return ast.unparse(Rename().visit(tree))


def default(p: inspect.Parameter) -> str:
    """What stands behind a parameter: plain values as they are, others as dots."""
    if p.default is p.empty:
        return ""
    plain = p.default is None or isinstance(p.default, (bool, int, str, float))
    shown = repr(p.default) if plain and repr(p.default) not in ("inf", "-inf", "nan") else "..."
    return f" = {shown}"


def parameters(sig: inspect.Signature, method: bool, drop: tuple[str, ...] = ()) -> str:
    """The text between the brackets of a definition."""
    parts: list[str] = []
    star = False
    for i, p in enumerate(sig.parameters.values()):
        if p.name in drop:
            continue
        if method and i == 0:
            parts.append("self")
            continue
        kind = annotation(p.annotation, p.name)
        if p.kind is p.VAR_POSITIONAL:
            star = True
            parts.append(f"*{p.name}: {kind}")
        elif p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: Any")
        else:
            if p.kind is p.KEYWORD_ONLY and not star:
                parts.append("*")
                star = True
            parts.append(f"{p.name}: {optional(kind, p)}{default(p)}")
    if parts and parts[-1] == "*":
        parts.pop()
    return ", ".join(parts)


def optional(kind: str, p: inspect.Parameter) -> str:
    """A type that admits the parameter's own default."""
    return f"{kind} | None" if p.default is None and kind != "Any" and not kind.endswith("None") else kind


def definition(name: str, fn: Any, indent: str = "", method: bool = False, base: Any = None) -> str:
    """One function as a stub; `base` is the function whose in-place form it is."""
    seen = base or fn
    sig = inspect.signature(seen)
    drop = ("out",) if base is not None else ()
    returns = RETURNS.get(name) or result(name, fn) or annotation(sig.return_annotation)
    if base is not None:
        returns = "_Tensor"
    doc = summary(fn)
    body = f'\n{indent}    """{doc}"""\n' if doc else " ...\n"
    return f"{indent}def {name}({parameters(sig, method, drop)}) -> {returns}:{body}"


def result(name: str, fn: Any) -> str:
    """The named tuple that an op gives, by the op's name: "" for others."""
    from rushlight.core.public import NAMESPACES

    known = NAMESPACES["return_types"]
    return next((f"_results.{n}" for n in (name, f"linalg_{name}") if n in known and fn in _givers(n)), "")


def _givers(name: str) -> list[Any]:
    """The functions and the method of that name; a tuple `linalg_x` is that of `linalg.x`."""
    from rushlight.core.public import NAMESPACES
    from rushlight.core.tensor import Tensor

    place, plain = ("linalg", name[7:]) if name.startswith("linalg_") else ("torch", name)
    return [NAMESPACES[place].get(plain), vars(Tensor).get(plain)]


def results() -> str:
    """The named tuples of ops with several results."""
    from rushlight.core.public import NAMESPACES

    text = HEAD.replace("import Any,", "import Any, NamedTuple,") + IMPORTS.format(up=".")
    text = text.replace("from . import return_types as _results\n", "")
    for name, made in sorted(NAMESPACES["return_types"].items()):
        fields = "".join(f"    {field}: _Tensor\n" for field in made._fields)
        text += f"class {name}(NamedTuple):\n{fields}"
    return text


def in_place_of(name: str, names: dict[str, Any], fn: Any) -> Any:
    """The function whose in-place form a function is; None where it says its own parameters."""
    plain = name[:-1] if name.endswith("_") and not name.endswith("__") else ""
    says = [p.kind for p in inspect.signature(fn).parameters.values()]
    vague = inspect.Parameter.VAR_KEYWORD in says
    return names.get(plain) if plain and vague else None


def functions(names: dict[str, Any], indent: str = "", method: bool = False) -> str:
    """All functions of a namespace."""
    parts = []
    for name in sorted(names):
        fn = names[name]
        if inspect.isclass(fn) or not callable(fn) or not name.isidentifier():
            continue
        if name in BY_DIM:
            parts.append(by_dim(name, fn, indent, method))
            continue
        if name in FLAGS:
            parts.append(by_flags(name, fn, indent, method))
            continue
        if ways := (OVERLOADS if method else FUNCTION_OVERLOADS).get(name):
            said = [(f"self, {p}".removesuffix(", ") if method else p, gives) for p, gives in ways]
            parts.append(overloads(name, fn, indent, said))
            continue
        parts.append(definition(name, fn, indent, method, in_place_of(name, names, fn)))
    return "".join(parts)


def written(*files: str) -> set[str]:
    """The names that classes in these files define themselves."""
    found: set[str] = set()
    for file in files:
        for cls in ast.walk(ast.parse((SOURCE / "rushlight" / file).read_text())):
            if isinstance(cls, ast.ClassDef):
                found |= {n.name for n in cls.body if isinstance(n, ast.FunctionDef)}
                targets = [t for n in cls.body if isinstance(n, ast.Assign) for t in n.targets]
                found |= {t.id for t in targets if isinstance(t, ast.Name)}
    return found


def methods() -> str:
    """What ops give to Tensor, as a class that Tensor has as its base for type checkers."""
    from rushlight.core.tensor import Tensor

    own = written("core/tensor.py", "core/values.py")
    names = {n: f for n, f in vars(Tensor).items() if not n.startswith("__") and n not in own}
    properties = [n for n, f in names.items() if isinstance(f, property)]
    text = HEAD + IMPORTS.format(up="..") + "class Methods:\n" + functions(names, "    ", True)
    text += "".join(f"    @property\n    def {n}(self) -> _Tensor: ...\n" for n in sorted(properties))
    return text + operators()


def operators() -> str:
    """The operators of Python, which are written by hand nowhere."""
    both = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
    parts = [f"    def __{r}{n}__(self, other: {OPERAND}) -> _Tensor: ...\n" for n in both for r in ("", "r", "i")]
    parts += [f"    def __{r}matmul__(self, other: _Tensor) -> _Tensor: ...\n" for r in ("", "r", "i")]
    parts += [f"    def __{n}__(self, other: {OPERAND}) -> _Tensor: ...\n" for n in ("lt", "le", "gt", "ge")]
    parts += [  # by elements, which `object` does not promise
        f"    def __{n}__(self, other: _b.object) -> _Tensor: ...  # type: ignore[override]\n" for n in ("eq", "ne")
    ]
    parts += [f"    def __{n}__(self) -> _Tensor: ...\n" for n in ("neg", "pos", "invert", "abs")]
    parts += [
        "    def __getitem__(self, index: _b.object) -> _Tensor: ...\n",
        f"    def __setitem__(self, index: _b.object, value: {OPERAND}) -> None: ...\n",
    ]
    parts += ["    def __iter__(self) -> Iterator[_Tensor]: ...\n", "    def __hash__(self) -> _b.int: ...\n"]
    return "".join(parts)


def namespace(place: str, depth: int) -> str:
    """A module that only collects functions."""
    from rushlight.core.public import NAMESPACES

    up = "." * (depth + 1)
    return HEAD + IMPORTS.format(up=up) + functions(NAMESPACES[place])


def top() -> str:
    """The package's own module: submodules, classes, constants, functions."""
    import rushlight
    from rushlight._names.aliases import TABLE
    from rushlight._names.lookup import LATE, SUBMODULES
    from rushlight.core.public import NAMESPACES

    published = {n: f for n, f in NAMESPACES["torch"].items() if n.isidentifier()}
    published |= {n: getattr(rushlight, n) for n in dir(rushlight) if n.endswith("_") and n[0] != "_"}
    text = HEAD + IMPORTS.format(up=".")
    modules = sorted(n for n in SUBMODULES if not n.startswith("_"))
    homes = {n: TABLE[n].partition(":")[0].split(".") for n in modules if n in TABLE}  # ao.quantization
    text += "".join(f"from .{'.'.join(home[:-1])} import {home[-1]} as {n}\n"
                    for n in modules for home in [homes.get(n, [n])])  # fmt: skip
    skip = set(published) | set(modules)
    constants, classes = [], []
    for name in sorted(set(vars(rushlight)) | set(LATE)):
        if name.startswith("_") or name in skip or name == "annotations":
            continue
        found = getattr(rushlight, name, None)
        if isinstance(found, ModuleType) or (found is None and name in LATE):
            continue
        if (inspect.isclass(found) or inspect.isfunction(found)) and found.__module__.startswith(
            ("rushlight", "torch")
        ):
            classes.append(imported(name, found))
        else:
            constants.append(f"{name}: {constant(found)}\n")
    for name, fn in sorted(published.items()):
        if inspect.isclass(fn):
            classes.append(imported(name, fn))
    text += (
        "".join(sorted(set(classes), key=lambda line: (not line.startswith("from"), line)))
        + "\n__version__: _b.str\n"
        + "".join(constants)
        + "\n"
    )
    return text + functions(published)


def imported(name: str, found: Any) -> str:
    """A class or function taken from where it is defined; FloatTensor and the like are made while the package loads."""
    place = where(found)
    if place == "_names.refusal":  # it refuses whatever it is asked
        return f"{name}: Any\n"
    if place and not hasattr(import_module(f"rushlight.{place}"), found.__name__):
        return f"{name}: Any\n"  # made from a table, as FloatStorage is
    return f"from .{place} import {found.__name__} as {name}\n" if place else f"class {name}(_Tensor): ...\n"


def where(found: Any) -> str:
    """The module that defines a class or function, as its own package knows it."""
    file = Path(inspect.getsourcefile(found) or "").resolve()
    root = next(r for r in (NAMES, SOURCE / "rushlight") if file.is_relative_to(r))
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(p for p in parts if p != "__init__")


def constant(value: Any) -> str:
    """The type of a constant."""
    kinds = {
        "dtype": "_dtype",
        "layout": "_layout",
        "qscheme": "_qscheme",
        "memory_format": "_memory_format",
        "format_type": "_memory_format",
    }
    name = type(value).__name__
    return kinds.get(name) or (
        f"_b.{name}" if name in ("int", "float", "str", "bool") else "Any" if value is not None else "None"
    )


def exports(name: str) -> str:
    """A package that gives names of its modules under its own: each is taken from where it is defined.

    A module whose `__all__` is given as a whole is one line.
    """
    package = import_module(name)
    lines = set()
    for n in set(getattr(package, "__all__", [])) | {k for k in vars(package) if k[0] != "_"}:
        value = getattr(package, n, None)
        if isinstance(value, ModuleType) and value.__name__ == f"{name}.{n}":
            named_again = import_module("rushlight._names.aliases").TABLE
            if f"{name}.{n}".partition(".")[2] in named_again:  # no file to import it from
                lines.add(f"import types as _types\n{n}: _types.ModuleType\n")
            else:
                lines.add(f"from . import {n} as {n}\n")
        elif (inspect.isclass(value) or inspect.isfunction(value)) and not n.startswith("_"):
            module = sys.modules[value.__module__]
            whole = getattr(module, "__all__", [])
            if n in whole and all(getattr(package, k, None) is getattr(module, k) for k in whole):
                lines.add(re.sub(r"import .*", "import *", taken(n, value, name)))
            else:
                lines.add(taken(n, value, name))
    return HEAD + "".join(sorted(filter(None, lines)))


def taken(n: str, value: Any, package: str) -> str:
    """The import of a class or function from inside our package, or from beside this one."""
    module = value.__module__
    if module == package:
        return definition(n, value) if inspect.isfunction(value) else ""
    if not module.startswith("rushlight"):
        return ""
    here, there = package.split("."), module.split(".")
    common = next((i for i, (a, b) in enumerate(zip(here, there)) if a != b), min(len(here), len(there)))
    up = "." * (len(here) - common + 1)
    return f"from {up}{'.'.join(there[common:])} import {value.__name__} as {n}\n"


def vision() -> str:
    """Its submodules are loaded when they are asked for."""
    from rushlight import vision

    for name in vision._SUBMODULES:
        import_module(f"rushlight.vision.{name}")
    return exports("rushlight.vision") + "\n__version__: _b.str\n"


def late_names() -> str:
    """The names that each module of ops publishes which `import rushlight` leaves out, by place, and its kernels."""
    from rushlight import operators
    from rushlight.core.public import when_published
    from rushlight.runtime.door import Kernel

    found: dict[str, dict[str, list[str]]] = {}

    def hear(place: str, name: str, fn: Any) -> None:
        frame: Any = sys._getframe(1)
        while frame.f_code.co_name != "<module>":
            frame = frame.f_back
        family = frame.f_globals["__name__"].removeprefix("rushlight.operators.")
        found.setdefault(family, {}).setdefault(place, []).append(name)

    define = Kernel.__init__

    def heard(self: Kernel, name: str, *args: Any, **kwargs: Any) -> None:
        define(self, name, *args, **kwargs)
        hear("kernels", name, self)

    when_published.append(hear)
    Kernel.__init__ = heard  # type: ignore[method-assign]
    try:
        for module in walk_packages(operators.__path__, "rushlight.operators."):
            import_module(module.name)
    finally:
        when_published.remove(hear)
        Kernel.__init__ = define  # type: ignore[method-assign]
    text = '"""Made by tools/stubs.py: modules of ops that `import rushlight` leaves out: what each publishes where, and its kernels."""\n\n'
    text += "# fmt: off\nLATE: dict[str, dict[str, str]] = {\n"
    for family, places in sorted(found.items()):
        entries = []
        for place, names in sorted(places.items()):
            lines = wrap(" ".join(sorted(set(names))), 118, break_long_words=False)
            joined = ' "\n     "'.join(lines)
            entries.append(f'"{place}": "{joined}"')
        text += f'    "{family}": {{' + ",\n     ".join(entries) + "},\n"
    return text + "}\n"


def stubs() -> dict[str, str]:
    """Every stub, by its place in the package, and its text."""
    return {
        "__init__.pyi": top(),
        "core/methods.pyi": methods(),
        "fft.pyi": namespace("fft", 0),
        "linalg.pyi": namespace("linalg", 0),
        "nn/__init__.pyi": exports("rushlight.nn"),
        "nn/functional.pyi": namespace("functional", 1),
        "optim/__init__.pyi": exports("rushlight.optim"),
        "return_types.pyi": results(),
        "special.pyi": namespace("special", 0),
        "vision/__init__.pyi": vision(),
        "vision/models/__init__.pyi": exports("rushlight.vision.models"),
    }


def aliases() -> dict[str, str]:
    """Modules that are rows of a table, as files: only a wheel, whose package is one folder, has a place for them."""
    from rushlight._names.aliases import TABLE, stub

    return {f"{name.replace('.', '/')}.pyi": stub(name) for name in TABLE}


def write(path: Path, text: str) -> None:
    """A file whose time says when its text changed."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    package = SOURCE / "rushlight"
    late, text = package / "operators" / "late_names.py", late_names()  # which loads all ops
    if args.check:
        if stale := late.read_text() != text:
            print(f"{late.relative_to(ROOT)} is out of date: run tools/stubs.py")
        return int(stale)
    if args.out:
        for name, text in (stubs() | aliases()).items():
            write(args.out / name, text)
        return 0
    write(late, text)
    for name, text in stubs().items():
        beside = (NAMES / name).with_suffix(".py").exists()
        write((NAMES if beside else package) / name, text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
