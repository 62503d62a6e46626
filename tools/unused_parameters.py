"""Finds the parameters of public functions that are taken and not used: `python tools/unused_parameters.py` prints them.

A parameter is used if its name is read anywhere in the function, also in functions inside of it. Functions whose body only
raises, and parameters whose name begins with an underscore, are left out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "src"
# Folders in which what has no leading underscore is for users.
PLACES = (
    "rushlight/nn", "rushlight/optim", "rushlight/autograd", "rushlight/data", "rushlight/amp",
    "rushlight/io", "rushlight/distributions", "torch_names/rushlight",
)  # fmt: skip


def unused() -> Iterator[str]:
    """`file: function(parameter)`, in order."""
    for path in sorted(ROOT.rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for public, function in functions(ast.parse(path.read_text()), name):
            read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
            for argument in arguments(function):
                if argument not in read and not argument.startswith("_"):
                    yield f"{name}: {public}({argument})"


def functions(tree: ast.Module, name: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Public functions, and public methods of public classes."""
    open_place = name.startswith(PLACES) and "/_" not in name
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and does_something(node):
            shown = open_place and not node.name.startswith("_")
            if shown or any("public" in ast.unparse(d) for d in node.decorator_list):
                yield node.name, node
        elif isinstance(node, ast.ClassDef) and open_place and not node.name.startswith("_"):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and does_something(inner):
                    if not inner.name.startswith("_") or inner.name == "__init__":
                        yield f"{node.name}.{inner.name}", inner


def does_something(function: ast.FunctionDef) -> bool:
    """More than a docstring, a raise, `pass` or an ellipsis; no overload of another one."""
    if any("overload" in ast.unparse(d) for d in function.decorator_list):
        return False
    body = [n for n in function.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    return any(not isinstance(n, (ast.Raise, ast.Pass)) for n in body)


def arguments(function: ast.FunctionDef) -> list[str]:
    found = function.args
    listed = [*found.posonlyargs, *found.args, *found.kwonlyargs, found.vararg, found.kwarg]
    return [a.arg for a in listed if a is not None and a.arg not in ("self", "cls")]


if __name__ == "__main__":
    sys.stdout.write("\n".join(unused()) + "\n")
