"""How many parameters of the package's functions say only `Any`, by folder.

    python tools/any_share.py [--most 20] [--names]

A parameter counts when its annotation is `Any` alone, also as `*args` or `**kwargs`; `self` and `cls` do not count. `--names` tells the
names of the parameters that are left.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGES = (SOURCE / "rushlight", SOURCE / "torch_names" / "rushlight")


def parameters(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, ast.arg]]:
    """Every parameter of every function, with its function."""
    for f in ast.walk(tree):
        if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)):
            a = f.args
            more = [one for one in (a.vararg, a.kwarg) if one is not None]
            for one in (*a.posonlyargs, *a.args, *a.kwonlyargs, *more):
                if one.arg not in ("self", "cls"):
                    yield f, one


def is_any(arg: ast.arg) -> bool:
    """Whether the annotation says nothing."""
    return isinstance(arg.annotation, ast.Name) and arg.annotation.id == "Any"


def count() -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Parameters by folder, those that say `Any` by folder, and these by name."""
    of_all: Counter[str] = Counter()
    of_any: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for package, file in [(p, file) for p in PACKAGES for file in sorted(p.rglob("*.py"))]:
        parts = file.relative_to(package).parts
        folder = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
        for _, arg in parameters(ast.parse(file.read_text())):
            of_all[folder] += 1
            if is_any(arg):
                of_any[folder] += 1
                names[arg.arg] += 1
    return of_all, of_any, names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=20, help="folders to list")
    parser.add_argument("--names", action="store_true", help="the names of what is left")
    args = parser.parse_args()
    of_all, of_any, names = count()
    every, vague = of_all.total(), of_any.total()
    print(f"{vague} of {every} parameters say Any: {100 * vague / every:.1f} %")
    for folder, n in of_any.most_common(args.most):
        print(f"  {folder:<24}{n:>6} of {of_all[folder]}")
    if args.names:
        print(*[f"{name} {n}" for name, n in names.most_common(60)], sep=", ")


if __name__ == "__main__":
    main()
