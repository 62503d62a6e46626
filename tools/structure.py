"""How the source is built, in numbers: files per folder, hops of a call, imports that point up, circles, globals.

    PYTHONPATH=src python tools/structure.py [--cuda]

It looks at the rushlight that Python finds, so that an older tree is measured by `PYTHONPATH=/older/src`. Hops are the
Python functions that a call enters, the user's own line not counted; what runs in C is not among them. `--cuda` counts
those of the CUDA backend as well, with everything below it replaced (tools/host_path.py): it needs CuPy, no GPU.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "support"), str(HERE)]

import rushlight as rl  # noqa: E402
from imports import ROOTS, circles, files, floors, graph, imports, inside, modules, rooms  # noqa: E402
from module_state import mutable_globals  # noqa: E402

# Layers from the lowest up; the second name is the one it had before the folders were renamed.
LAYERS = (("base",), ("runtime", "backend"), ("core",), ("operators", "ops"),
          ("nn", "optim", "data", "io", "autograd", "capture", "amp"), ("vision",), ("dezero",), ("cli",))  # fmt: skip
ROOT = ROOTS[0]
_MATCHER = ("rewrite", "match", "index")
FALLBACK = re.compile(r"fallbacks\[\w+\]\(\*|GetItem\(fallbacks")  # in Python, in C


def layer(module: str) -> int | None:
    """The number of a module's layer; None for those beside the layers."""
    part = (module.split(".") + [""])[1]
    return next((i for i, names in enumerate(LAYERS) if part in names), None)


def folders() -> list[tuple[int, str]]:
    """Python files of each folder, the fullest first."""
    count = Counter(str(inside(p).parent) for p in files())
    return sorted(((n, name) for name, n in count.items()), reverse=True)


def upward(known: dict[str, Path]) -> list[str]:
    """Imports, at module level or inside functions, that point from a layer to a higher one."""
    found = []
    for name, path in known.items():
        own = layer(name)
        for target, line, typing in imports(name, path, known):
            other = layer(target)
            if not typing and own is not None and other is not None and other > own:
                found.append(f"{name}:{line} -> {target}")
    return found


def length(path: Path) -> int:
    """Lines of a file without its docstrings: reference texts with examples are as long as they have to be."""
    text = path.read_text()
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    told = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            told += (first.end_lineno or first.lineno) - first.lineno + 1
    return len(text.splitlines()) - told


def lines(folder: str) -> int:
    """Lines of the Python files under a folder."""
    return sum(map(lines_of, (ROOT / folder).rglob("*.py")))


def code_lines(path: Path) -> int:
    """Lines of a file that are neither imports, comments, docstrings nor empty."""
    text = path.read_text()
    left = {i for i, line in enumerate(text.splitlines(), 1) if line.split("#")[0].strip()}
    for node in ast.walk(ast.parse(text)):
        texts = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if texts or isinstance(node, (ast.Import, ast.ImportFrom)):
            left -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(left)


def rows(folder: str) -> list[Path]:
    """The files about groups of rows, which are newer than the table's first column."""
    return [*(ROOT / folder).rglob("row*.py")]


def lines_of(path: Path) -> int:
    """Lines of a file; none where there is no such file."""
    return len(path.read_text().splitlines()) if path.is_file() else 0


def fallbacks() -> int:
    """Places where a body's fallback is called after it refused."""
    read = [line for p in (*files(), *files("*.c")) for line in p.read_text().splitlines()]
    return sum(len(FALLBACK.findall(line)) > 0 for line in read)


def hops(call: Callable[[], Any]) -> int:
    """Python functions that a call enters, when it has been made before."""
    for _ in range(5):
        call()
    count = 0

    def see(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count - 1  # `call` itself


def calls(device: str) -> dict[str, int]:
    """Hops of a product, a convolution and a step on a device."""
    x, y = rl.ones(8, 8).to(device).requires_grad_(), rl.ones(8, 8).to(device)
    image, kernel = rl.ones(1, 2, 8, 8).to(device), rl.ones(3, 2, 3, 3).to(device).requires_grad_()
    net = rl.nn.Linear(4, 4).to(device)
    for p in net.parameters():
        p.grad = rl.zeros_like(p).detach() if device == "cpu" else rl.ones(p.shape).to(device)
    adam = rl.optim.Adam(net.parameters())
    return {
        "x * y": hops(lambda: x * y),
        "F.conv2d": hops(lambda: rl.nn.functional.conv2d(image, kernel)),
        "optimizer.step() of Adam": hops(adam.step),
    }


def pretend_gpu() -> None:
    """The CUDA backend with everything below it replaced."""
    from importlib import import_module

    import host_path

    from rushlight.base.device import device

    host_path.no_driver()
    import_module(f"rushlight.{LAYERS[1][0]}.devices").backend_of(device("cuda"))
    host_path.no_libraries()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuda", action="store_true")
    args = parser.parse_args()
    known = modules()
    full = folders()
    print(f"folders: {len(full)}, the fullest: " + ", ".join(f"{name} {n}" for n, name in full[:6]))
    long = sorted(((length(p), str(inside(p))) for p in known.values()), reverse=True)
    print(
        "files over 400 lines, docstrings apart: " + (", ".join(f"{name} {n}" for n, name in long if n > 400) or "none")
    )
    program = [ROOT / "capture" / name for name in ("program", "")]
    shared = sum(lines_of(folder / f"{name}.py") for folder in program for name in _MATCHER)
    for folder in ("capture/passes", "capture/joined"):
        newer = rows(folder)
        code = sum([code_lines(p) for p in (ROOT / folder).rglob("*.py") if p not in newer])
        apart = sum(map(lines_of, newer))
        print(f"lines of {folder}: {lines(folder) - apart} ({code} of code), and {apart} of row groups")
    print(f"lines of what passes share (rewrite, match, index): {shared}")
    print(f"places that call a fallback: {fallbacks()}")
    up = upward(known)
    print(f"imports that point up: {len(up)}", *up, sep="\n    ")
    house = rooms(known)
    rings = circles(house)
    height = "-" if rings else max(floors(house).values())
    arrows = sum(map(len, house.values()))
    print(f"rooms: {len(house)}, arrows between them: {arrows}, floors: {height}")
    print(f"circles of rooms: {len(rings)}", *[" ".join(ring) for ring in rings], sep="\n    ")
    rings = circles(graph(known))
    print(f"circles of imports: {len(rings)}", *[" ".join(ring) for ring in rings], sep="\n    ")
    print(f"mutable globals: {len(mutable_globals(known))}")
    for device in ["cpu"] + ["cuda"] * args.cuda:
        if device == "cuda":
            pretend_gpu()
        for name, count in calls(device).items():
            print(f"hops of {name}, {device}: {count}")


if __name__ == "__main__":
    main()
