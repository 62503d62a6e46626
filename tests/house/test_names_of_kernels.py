"""A kernel's name is spelled where the kernel is defined, and hardly anywhere else: whoever asks about it asks its facts.

The numbers below may only shrink. What counts is a string that is a kernel's name, or a word of one that is split, in a
list or a table of kernels, a decorator, a comparison with a name, a subscript or a call that looks kernels up, outside of the
file that defines the kernel. Values of options (`reduction == "mean"`, modes of recurrent layers) are no kernels; decorators
that give a kernel a body (`@kernel_for`) and `__all__` do not count.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import rushlight

SOURCE = Path(rushlight.__file__).parent
ROOTS = (SOURCE, SOURCE.parent / "torch_names" / "rushlight")
MOST = 346  # names; lower it when it falls
MOST_FILES_EACH, MOST_FILES = 1.59, 5  # files that name a kernel: on average, and the worst
# Layers, optimisers, programs and PyTorch's names: what they spell are public functions.
OUTSIDE = frozenset(
    "nn optim cli vision dezero data io distributions _names _dynamo _inductor fx jit ao export functorch testing utils "
    "quantization cuda masked overrides.py ops.py _inner_functions.py _autocast_names.py library.py return_types.py".split()
)
# Files whose strings only look like names of kernels.
OTHERS = {
    "_aten/bodies.py": "PyTorch's inner operators",
    "amp/functions.py": "functions that autocast casts as a whole, as PyTorch lists them",
    "autograd/graph.py": "values of mode=",
    "capture/state/known.py": "functions of Python",
    "core/arming.py": "functions and methods that classes of users may answer",
    "core/op.py": "functions of several pointwise kernels",
    "distributed/reduce_op.py": "ways to reduce over ranks",
    "distributed/tensor": "functions that DTensors answer",
    "nested": "functions that nested tensors answer",
    "operators/foreach.py": "functions of which PyTorch has a form for lists",
    "operators/index/scatter_reduce.py": "values of reduce=",
    "operators/late_names.py": "functions that late families publish",
    "operators/layers/embedding_bag.py": "values of mode=",
    "operators/layers/window_texts.py": "functions whose texts are made here",
    "operators/loss": "values of reduction=",
    "sparse.py": "values of reduce=",
    "operators/shape/view_copies.py": "functions of which PyTorch has a form that copies",
    "runtime/point.py": "functions in the texts of kernels",
}
_LOOKS_UP = ("compute", "declare", "find", "get", "reader", "startswith")
_ASKS = re.compile(
    r"name|kernel|\bop\b|\bfn\b"
)  # what is compared with a kernel's name; options are not (`reduction == "mean"`)
_GIVES_A_BODY = ("always", "kernel_for", "register")
_DEFINES = ("Kernel", "Op", "activation", "binary", "join", "make", "unary")


@cache
def kernels() -> frozenset[str]:
    """The kernels of all ops: asked of a process that other tests have loaded nothing into."""
    ask = "from rushlight.operators import load_all; load_all(); from rushlight.runtime.door import KERNELS; print(*KERNELS)"
    return frozenset(subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True).stdout.split())  # fmt: skip


def _places(tree: ast.AST) -> Iterator[ast.AST]:
    """What stands where a kernel would be named."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            yield from _mostly_kernels(node.elts)
        elif isinstance(node, ast.Dict):
            yield from _mostly_kernels([key for key in node.keys if key is not None])
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_ASKS.search(ast.unparse(side)) for side in sides):
                yield from sides
        elif isinstance(node, ast.Subscript):
            if not ast.unparse(node.value).endswith("attrs"):
                yield node.slice
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            calls = [one for one in node.decorator_list if isinstance(one, ast.Call)]
            yield from [a for c in calls if getattr(c.func, "id", "") not in _GIVES_A_BODY for a in c.args]
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called == "split" and isinstance(node.func, ast.Attribute):
                yield node.func.value
            elif called in _LOOKS_UP:
                yield from node.args


def _mostly_kernels(nodes: Sequence[ast.AST]) -> list[ast.AST]:
    """The texts of a list or table of kernels: of one where most are none ("tanh", "lstm", "gru") none is meant."""
    texts = [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    words = [word for text in texts for word in text.value.split()]
    return texts if 2 * sum(word in kernels() for word in words) > len(words) else []


def _texts(nodes: Iterator[ast.AST]) -> Iterator[ast.Constant]:
    seen = {id(n): n for n in nodes}
    texts = [n for n in seen.values() if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    yield from [n for n in texts if not n.value[:1].isupper()]  # which begins a sentence or a title


def _defined(tree: ast.AST) -> set[str]:
    """The names of the kernels that a file defines, among other texts."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    made = [c for c in calls if getattr(c.func, "id", "") in _DEFINES]
    given = [a for c in made for a in (*c.args, *[k.value for k in c.keywords])]
    return {n.value for n in _texts(iter(given))}


def _is_outside(where: Path) -> bool:
    return where.parts[0] in OUTSIDE or any(
        str(where) == other or str(where).startswith(other + "/") for other in OTHERS
    )


@cache  # it reads every file of the package
def spelled() -> list[tuple[str, str]]:
    """(file, kernel), once for each time that a file names a kernel of another file."""
    known = kernels()
    found = []
    for root in ROOTS:
        for path in sorted(root.rglob("*.py")):
            where = path.relative_to(root)
            if _is_outside(where):
                continue
            tree = ast.parse(path.read_text())
            for node in ast.walk(tree):
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                    node.value = ast.Constant(None)
            own = _defined(tree)
            words = [word for text in _texts(_places(tree)) for word in text.value.split()]
            found += [(str(where), w) for w in words if w in known and w not in own]
    return found


def test_kernels_are_named_where_they_are_defined() -> None:
    assert len(spelled()) <= MOST


def test_few_files_name_a_kernel() -> None:
    """The file that defines it, and few others."""
    files: dict[str, set[str]] = {}
    for file, kernel in spelled():
        files.setdefault(kernel, set()).add(file)
    counts = [1 + len(files.get(name, ())) for name in kernels()]
    assert sum(counts) / len(counts) <= MOST_FILES_EACH
    assert max(counts) <= MOST_FILES, {k: sorted(v) for k, v in files.items() if len(v) >= MOST_FILES}
