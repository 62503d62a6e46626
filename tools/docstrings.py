"""What the docstrings of public names still lack: a text, an example, a word about an argument.

    python tools/docstrings.py                     counts for every namespace
    python tools/docstrings.py nn optim            the names of these namespaces and what each lacks
    python tools/docstrings.py --run nn            run their examples as well

The names are those of the reference pages (tools/reference.py) and of some modules that have no page. A docstring
whose first line says "In-place version of `add`", "As `add`", "Same as `add`" or "See `add`" has the example of `add`.
"""

from __future__ import annotations

import argparse
import doctest
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import reference

# Modules whose names users meet and that have no page of their own.
MORE = (
    "rushlight.random",
    "rushlight.sparse",
    "rushlight.hub",
    "rushlight.jit",
    "rushlight.fx",
    "rushlight.export",
    "rushlight.library",
    "rushlight.masked",
    "rushlight.signal.windows",
    "rushlight.overrides",
    "rushlight.futures",
    "rushlight.accelerator",
    "rushlight.testing",
    "rushlight.nn.attention",
    "rushlight.nn.attention.flex_attention",
    "rushlight.nn.grad",
    "rushlight.nn.modules.module",
    "rushlight.nn.parameter",
    "rushlight.nn.utils.parametrize",
    "rushlight.nn.utils.parametrizations",
    "rushlight.nn.utils.prune",
    "rushlight.nn.utils.rnn",
    "rushlight.autograd.forward_ad",
    "rushlight.autograd.functional",
    "rushlight.autograd.graph",
    "rushlight.autograd.profiler",
    "rushlight.distributed.fsdp",
    "rushlight.distributed.tensor",
    "rushlight.utils.benchmark",
    "rushlight.utils.dlpack",
    "rushlight.utils.flop_counter",
    "rushlight.vision.transforms.functional",
    "rushlight.vision.transforms.v2.functional",
)
NAMESPACES = (*reference.NAMESPACES, *MORE)

# Parameters that mean the same wherever they stand; docs/reference/index.md explains them once.
KNOWN = frozenset("""
    self cls input other out args kwargs dtype device layout requires_grad pin_memory memory_format generator
    axis keepdims names inplace tensor dim keepdim img size_average reduce last_epoch validate_args cache_size
    group group_src group_dst async_op
""".split())  # fmt: skip
REFERS = re.compile(r"(?:In-place version of|As|Same as|See) `([\w.]+)`")
# Packages that come with an extra: examples that import one are left out where it is not installed.
OPTIONAL = re.compile(r">>> (?:import|from) (PIL|safetensors|onnx)\b")
# What docs/reference/index.md calls modules in examples.
SHORT = {"functional": "F", "functions": "F", "layers": "L"}
SKIPPED = doctest.OPTIONFLAGS_BY_NAME["SKIP"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Lacks(NamedTuple):
    """What one name lacks."""

    docstring: bool
    example: bool
    arguments: tuple[str, ...]  # the parameters nobody describes
    methods: tuple[str, ...]  # of a class: those without a docstring

    def __str__(self) -> str:
        said = ["no docstring"] if self.docstring else ["no example"] if self.example else []
        said += [f"arguments: {' '.join(self.arguments)}"] if self.arguments else []
        said += [f"methods: {' '.join(self.methods)}"] if self.methods else []
        return "; ".join(said)


class Counts(NamedTuple):
    """How many names of a namespace lack something."""

    docstring: int
    example: int
    arguments: int
    methods: int


@lru_cache
def names_of(space: str) -> tuple[tuple[str, Any], ...]:
    """The public names of a namespace that can have a docstring: functions, classes, properties."""
    reference.import_module("rushlight.operators").load_all()
    return tuple([(n, f) for n, f in reference.public(space) if documented(f)])


@lru_cache
def by_name(space: str) -> dict[str, Any]:
    """The same, to look names up."""
    return dict(names_of(space))


def documented(found: Any) -> bool:
    """Whether a name is something a docstring can be written for; constants and dtypes are not."""
    kinds = (property, staticmethod, classmethod)
    return (
        inspect.isclass(found)
        or inspect.isroutine(found)
        or inspect.isdatadescriptor(found)
        or isinstance(found, kinds)
    )


def text_of(found: Any) -> str:
    """The docstring a name has itself; a class does not borrow that of its base."""
    if inspect.isclass(found) and not vars(found).get("__doc__"):
        return ""
    return inspect.cleandoc(getattr(found, "__doc__", None) or "")


def examples(text: str) -> list[doctest.Example]:
    """The examples of a docstring that are run."""
    found = doctest.DocTestParser().get_examples(text)
    return [e for e in found if not e.options.get(SKIPPED)]


def has_example(space: str, text: str, seen: tuple[str, ...] = ()) -> bool:
    """Whether a docstring has an example, or says which other one to read."""
    if examples(text):
        return True
    refers = REFERS.match(text)
    if not refers or refers[1] in seen:
        return False
    place, _, name = refers[1].removeprefix("torch.").rpartition(".")
    spaces = (f"rushlight.{place}",) if place else (space, "rushlight", "rushlight.Tensor")
    for where in spaces:
        other = by_name(where).get(name) if where in NAMESPACES else None
        if other is not None and has_example(where, text_of(other), (*seen, refers[1])):
            return True
    return False


def undescribed(found: Any, text: str) -> tuple[str, ...]:
    """The parameters whose names the docstring does not say."""
    if REFERS.match(text) or isinstance(found, property):
        return ()
    if inspect.isclass(found) and (issubclass(found, (BaseException, Enum)) or hasattr(found, "_fields")):
        return ()
    try:
        parameters = inspect.signature(found).parameters
    except (ValueError, TypeError):
        return ()
    words = set(re.findall(r"\w+", text))
    return tuple([n for n in parameters if n not in KNOWN and n not in words and n[0] != "_"])


def methods_of(found: Any) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class defines itself."""
    if not inspect.isclass(found):
        return
    for n, f in sorted(vars(found).items()):
        if not n.startswith("_") and documented(f) and not inspect.isclass(f):
            yield n, f


def bare_methods(found: Any) -> tuple[str, ...]:
    """Those without a docstring, where no base class has one for the same name either."""
    bases = inspect.getmro(found)[1:] if inspect.isclass(found) else ()
    return tuple(
        n
        for n, f in methods_of(found)
        if not any((getattr(vars(c).get(n), "__doc__", "") or "").strip() for c in (found, *bases))
        and inspect.isroutine(getattr(f, "__func__", f))
    )


def lacks(space: str, found: Any) -> Lacks:
    """What a public name lacks."""
    text = text_of(found)
    needless = inspect.isclass(found) and issubclass(found, BaseException)
    return Lacks(
        docstring=not text,
        example=not needless and not has_example(space, text),
        arguments=undescribed(found, text) if text else (),
        methods=bare_methods(found) if space != "rushlight" or found.__name__ != "Tensor" else (),
    )


def counts(space: str) -> Counts:
    """How many names of a namespace lack a docstring, an example, arguments, methods' docstrings."""
    found = [lacks(space, f) for _, f in names_of(space)]
    return Counts(*[sum(bool(one[i]) for one in found) for i in range(4)])


class Checker(doctest.OutputChecker):
    """Outputs compared as text; a number counts as equal if its printed digits differ by rounding."""

    NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        # See `printed_as_torch`; names of exceptions keep the package's own name.
        want, got = want.replace("rushlight.", "torch."), got.replace("rushlight.", "torch.")
        if super().check_output(want, got, optionflags):
            return True
        mine, yours = self.NUMBER.findall(want), self.NUMBER.findall(got)
        if len(mine) != len(yours) or not mine:
            return False
        bare_want, bare_got = (re.sub(r"\s+", "", self.NUMBER.sub("#", t)) for t in (want, got))
        # One unit of the last printed digit: libraries of mathematics differ in the last bit.
        close = (abs(float(a) - float(b)) <= 1.01 * last_digit(a) for a, b in zip(mine, yours))
        return bare_want == bare_got and all(close)


def last_digit(number: str) -> float:
    """The size of one unit in the last digit of a number's text."""
    digits, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def globals_of_examples(label: str) -> dict[str, Any]:
    """The names every example knows, and those of the modules that the documented name lies in, with the modules in them."""
    import numpy as np

    import rushlight as torch

    F = torch.nn.functional
    names = {"torch": torch, "np": np, "nn": torch.nn, "F": F, "optim": torch.optim}
    names["dist"] = torch.distributed
    module: Any = torch
    for part in label.split(".")[1:]:
        module = getattr(module, part, None)
        if not inspect.ismodule(module):
            break
        # What is there depends on what was imported before: `nn` is never that of `distributed`.
        inside = {
            n: m for n, m in vars(module).items() if inspect.ismodule(m) and n[0] != "_" and n not in ("nn", "optim")
        }
        names |= inside | {part: module} | {SHORT[n]: m for n, m in inside.items() if n in SHORT}
        names |= {SHORT[part]: module} if part in SHORT else {}
    return names | {"TF": torch.vision.transforms.functional, "__name__": "__main__"}


@contextmanager
def among_one(label: str, text: str) -> Iterator[None]:
    """A group of this process alone for examples of `distributed` that do not make one."""
    import rushlight

    dist = rushlight.distributed
    needed = label.startswith(("rushlight.distributed", "rushlight.nn.parallel"))
    if not needed or "dist.init_process_group(" in text:
        yield
        return
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        yield
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


@contextmanager
def printed_as_torch() -> Iterator[None]:
    """`torch.Size([2])`, not `rushlight.Size([2])`: examples call the package torch, as in `rushlight run`."""
    from rushlight.base.config import settings

    before = settings.module
    settings.module = "torch"
    try:
        yield
    finally:
        settings.module = before


def run(label: str, found: Any) -> str:
    """Run the examples of one docstring; what went wrong, or nothing."""
    text = text_of(found)
    needed = OPTIONAL.search(text)
    if ">>>" not in text or (needed and find_spec(needed[1]) is None):
        return ""
    test = doctest.DocTestParser().get_doctest(text, globals_of_examples(label), label, None, None)
    said: list[str] = []
    runner = doctest.DocTestRunner(checker=Checker(), optionflags=FLAGS)
    with printed_as_torch(), among_one(label, text):
        runner.run(test, out=said.append)
    home = getattr(found, "__module__", "") or ""
    return f"{home}: {''.join(said)}" if runner.failures else ""


def texts(space: str) -> Iterator[tuple[str, Any]]:
    """Every docstring of a namespace: its names and the methods of its classes."""
    for n, found in names_of(space):
        yield f"{space}.{n}", found
        if space not in ("rushlight",) or n != "Tensor":
            for m, method in methods_of(found):
                yield f"{space}.{n}.{m}", getattr(method, "__func__", method)


def listed(spaces: list[str], runs: bool) -> int:
    """Print what the names of these namespaces lack, and whether their examples work."""
    failed = 0
    for space in spaces:
        for n, found in names_of(space):
            said = str(lacks(space, found))
            if said:
                home = getattr(found, "__module__", None) or getattr(getattr(found, "fget", None), "__module__", "")
                print(f"{space}.{n}  [{home}]  {said}")
        for label, found in texts(space) if runs else ():
            wrong = run(label, found)
            failed += bool(wrong)
            print(wrong, end="")
    return int(failed > 0)


def full(space: str) -> str:
    """`nn` for `rushlight.nn`, `torch` for the top module."""
    space = space.removeprefix("rushlight.").removeprefix("torch.")
    return "rushlight" if space in ("rushlight", "torch") else f"rushlight.{space}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("namespace", nargs="*", help="such as nn.functional; all if none is given")
    parser.add_argument("--run", action="store_true", help="run the examples")
    args = parser.parse_args()
    spaces = [full(s) for s in args.namespace] or list(NAMESPACES)
    if args.namespace or args.run:
        return listed(spaces, args.run)
    print(f"{'':40} names  no docstring  no example  arguments  methods")
    for space in spaces:
        c = counts(space)
        print(f"{space:40} {len(names_of(space)):5} {c[0]:13} {c[1]:11} {c[2]:10} {c[3]:8}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
