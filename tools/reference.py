"""The reference of the documentation site: pages of each namespace, every public name with its signature and its docstring.

    python tools/reference.py            count the names of each page, and those without a docstring
    python tools/reference.py FOLDER     write the pages

Names are read from the package itself, because functions say at run time under which of PyTorch's names they appear. `mkdocs build`
calls `pages()` (tools/site_hooks.py); nothing of it is kept in the repository, so nothing can be out of date.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from docstring_markdown import escaped, markdown

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

# Page, what it is about. A name that is defined in a deeper namespace of this list appears there alone.
NAMESPACES = {
    "rushlight": "Tensors and the functions that make and change them; `torch` under `rushlight run`",
    "rushlight.Tensor": "Methods and properties of tensors",
    "rushlight.nn": "Layers, losses and containers",
    "rushlight.nn.functional": "Layers and losses as functions",
    "rushlight.nn.init": "First values of parameters",
    "rushlight.nn.utils": "Clipping, parametrisations, packed sequences",
    "rushlight.nn.parallel": "One network in several processes",
    "rushlight.optim": "Optimisers",
    "rushlight.optim.lr_scheduler": "Learning rates that change",
    "rushlight.optim.swa_utils": "Averages of weights",
    "rushlight.autograd": "Gradients by hand, checks, functions of your own",
    "rushlight.func": "Derivatives as functions: `grad`, `vmap`, `jacrev`",
    "rushlight.utils.data": "Datasets, samplers, loaders",
    "rushlight.linalg": "Linear algebra",
    "rushlight.fft": "Fourier transforms",
    "rushlight.special": "Special functions",
    "rushlight.distributions": "Probability distributions",
    "rushlight.amp": "Mixed precision",
    "rushlight.cuda": "GPUs",
    "rushlight.distributed": "Several processes",
    "rushlight.distributed.checkpoint": "Checkpoints of several processes",
    "rushlight.onnx": "Export to ONNX",
    "rushlight.profiler": "Where time goes",
    "rushlight.compiler": "Settings of `compile`",
    "rushlight.utils.checkpoint": "Memory for time: compute again in backward",
    "rushlight.utils.tensorboard": "Curves for TensorBoard",
    "rushlight.vision.datasets": "Datasets of pictures",
    "rushlight.vision.transforms": "Transforms of pictures",
    "rushlight.vision.transforms.v2": "Transforms, second generation",
    "rushlight.vision.tv_tensors": "Tensors that say what they are: pictures, masks, boxes, points",
    "rushlight.vision.models": "Networks for pictures",
    "rushlight.vision.ops": "Boxes, regions, losses for pictures",
    "rushlight.vision.io": "Reading and writing pictures",
    "rushlight.vision.utils": "Grids and drawings",
    "rushlight.dezero": "The DeZero book's package",
    "rushlight.dezero.functions": "DeZero's functions",
    "rushlight.dezero.layers": "DeZero's layers",
    "rushlight.dezero.models": "DeZero's models",
    "rushlight.dezero.optimizers": "DeZero's optimisers",
}
# Namespaces of hundreds of names have a page for each kind: its title, and where functions of that kind are written.
KINDS = {
    "types": ("Classes", ()),
    "constants": ("Dtypes, constants, properties", ()),
    "in-place": ("In-place forms", ()),
    "making": ("Making tensors", ("operators/create", "operators/random")),
    "pointwise": ("Element by element", ("operators/made_of", "operators/pointwise")),
    "shapes": ("Shapes, views, places", ("operators/shape", "operators/memory", "operators/index")),
    "reductions": ("Reductions and sorting", ("operators/reduce",)),
    "matrices": ("Matrices", ("operators/matrix",)),
    "layers": ("Layers, losses, signals, pictures", ("operators/l", "operators/signal", "operators/image")),
    "settings": ("Settings, files, gradients and the rest", ("",)),
}
SPLIT = {"rushlight": list(KINDS), "rushlight.Tensor": [k for k in KINDS if k != "types"]}
# Whose names search shows first.
FIRST = ("rushlight", "rushlight.nn", "rushlight.nn.functional", "rushlight.optim", "rushlight.utils.data")
MODULE_METHODS = {"rushlight.nn": "Module", "rushlight.optim": "Optimizer"}
CLASS = re.compile(r"<class '([\w.]+)'>")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def namespace(name: str) -> Any:
    """The module or class a page is about."""
    if name == "rushlight.Tensor":
        return import_module("rushlight").Tensor
    return import_module(name)


def public(name: str) -> Iterator[tuple[str, Any]]:
    """The public names of a namespace and what they are, sorted without regard to case."""
    place = namespace(name)
    own = (set(dir(place)) | set(getattr(place, "__all__", ()))) - tools_of(place)
    if name == "rushlight":  # what families loaded late published there, see operators/late.py
        own |= set(import_module("rushlight.core.public").NAMESPACES["torch"])
    for n in sorted(own, key=lambda n: (n.lower(), n)):
        if n.startswith("_") or n == "annotations":
            continue
        found = inspect.getattr_static(place, n, None) if inspect.isclass(place) else getattr(place, n, None)
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if not isinstance(found, ModuleType) and belongs(found):
            yield n, found


def tools_of(place: Any) -> set[str]:
    """What a file imports for its own use: names it does not list in `__all__`, and uses. The others it passes on."""
    if inspect.isclass(place) or not place.__file__:
        return set()
    tree = ast.parse(Path(place.__file__).read_text())
    imports = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    imported = {alias.asname or alias.name for n in imports for alias in n.names}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return imported & used - set(getattr(place, "__all__", ()))


def belongs(found: Any) -> bool:
    """Whether a name is ours: not something that a file imported from elsewhere for itself."""
    if inspect.isclass(found) or inspect.isroutine(found):
        return (getattr(found, "__module__", None) or "rushlight").startswith(("rushlight", "torch"))
    return found is not None and not type(found).__module__.startswith(("typing", "__future__"))


class Written:
    """An annotation as it is written in the source."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def signature(found: Any) -> str:
    """The parameters as they are written, without addresses of objects; empty where there are none to ask."""
    try:
        sig = inspect.signature(found)
    except (ValueError, TypeError):
        return ""

    def bare(annotation: Any) -> Any:
        return Written(annotation.strip("'")) if isinstance(annotation, str) else annotation

    parameters = [p.replace(annotation=bare(p.annotation)) for p in sig.parameters.values()]
    text = str(sig.replace(parameters=parameters, return_annotation=bare(sig.return_annotation)))
    text = CLASS.sub(lambda m: m[1].rpartition(".")[2], ADDRESS.sub("", text))
    return text.replace("rushlight.", "")


def docstring(found: Any) -> str:
    """The docstring of a name as Markdown; a class does not show that of its base."""
    if inspect.isclass(found) and found.__doc__ is None:
        return ""
    return markdown(inspect.getdoc(found) or "")


def entry(name: str, n: str, found: Any) -> str:
    """One name: a heading that search finds, the signature, the docstring."""
    if isinstance(found, property) or not (inspect.isclass(found) or callable(found)):
        head = "" if isinstance(found, property) else f"`{type(found).__name__}`\n\n"
        text = docstring(found.fget) if isinstance(found, property) else ""
        return f"## {escaped(n)}\n\n{head}{text}\n"
    kind = "class " if inspect.isclass(found) else ""
    lines = wrapped(f"{kind}{name}.{n}{signature(found)}")
    return f"## {escaped(n)}\n\n```python\n{lines}\n```\n\n{docstring(found)}\n{methods(name, n, found)}"


def wrapped(text: str) -> str:
    """A signature with one parameter a line where it is long."""
    if len(text) < 80 or "(" not in text:
        return text
    depth, out = 0, ""
    for c in text:
        depth -= c in ")]}"
        out += "\n" if c == ")" and depth == 0 else ""
        out += c
        depth += c in "([{"
        if (c == "(" and depth == 1) or (c == "," and depth == 1):
            out += "\n   "
    return out.replace("(\n   ", "(\n    ").replace("\n    )", "\n)")


def methods(name: str, n: str, found: Any) -> str:
    """The methods of the two classes that users derive from."""
    if MODULE_METHODS.get(name) != n:
        return ""
    rows = [
        f"- `{m}{signature(f)}` {escaped((inspect.getdoc(f) or '').splitlines()[0] if inspect.getdoc(f) else '')}"
        for m, f in sorted(vars(found).items())
        if not m.startswith("_") and inspect.isfunction(f)
    ]
    return "\nMethods:\n\n" + "\n".join(rows) + "\n"


def shown() -> dict[str, list[tuple[str, Any]]]:
    """Every page and its names; what a deeper page has is not repeated by the package above it."""
    import_module("rushlight.operators").load_all()
    return {name: list(public(name)) for name in NAMESPACES}


def kind_of(name: str, found: Any) -> str:
    """Of the kinds of names, which one this is."""
    if isinstance(found, property) or not callable(found):
        return "constants"
    if inspect.isclass(found):
        return "types"
    if name.endswith("_"):
        return "in-place"
    code = getattr(inspect.unwrap(found), "__code__", None)
    file = code.co_filename.rpartition("/rushlight/")[2] if code else ""
    return next(kind for kind, (_, places) in KINDS.items() if file.startswith(places))


def file_of(name: str, kind: str = "") -> str:
    """The page of a namespace, or of a kind of its names, inside the folder of the reference."""
    return f"{name}.{kind}.md" if kind else f"{name}.md"


def files() -> list[str]:
    """The pages of the reference but its index, in the order of the menu."""
    return [file for n in NAMESPACES for file in (file_of(n), *(file_of(n, k) for k in SPLIT.get(n, ())))]


def by_kind(name: str, names: list[tuple[str, Any]], head: str) -> Iterator[tuple[str, str]]:
    """The pages of a namespace of many names: one that lists them all, and one for each kind."""
    parts: dict[str, list[tuple[str, Any]]] = {kind: [] for kind in SPLIT[name]}
    for n, found in names:
        parts[kind_of(n, found)].append((n, found))
    lists = []
    for kind, members in parts.items():
        title, page = KINDS[kind][0], file_of(name, kind)
        links = " · ".join(f"[`{n}`]({page}#{n.lower()})" for n, _ in members)
        lists.append(f"## [{title}]({page})\n\n{links}\n")
        entries = "\n".join(entry(name, n, f) for n, f in members)
        yield page, f"{head.replace(f'# {name}', f'# {name}: {title}')}{entries}"
    yield file_of(name), head + "\n".join(lists)


def pages() -> dict[str, str]:
    """The text of every page by its file name, and the table for the index, which docs/reference/index.md begins."""
    found = shown()
    texts = {}
    rows = []
    for name, names in found.items():
        weight = 4 if name in FIRST else 1
        title = f"---\nsearch:\n  boost: {weight}\n---\n# {name}\n\n{NAMESPACES[name]}. {len(names)} names.\n\n"
        if name in SPLIT:
            texts |= by_kind(name, names, title)
        else:
            texts[file_of(name)] = title + "\n".join(entry(name, n, f) for n, f in names)
        rows.append(f"| [`{name}`]({file_of(name)}) | {NAMESPACES[name]} | {len(names)} |")
    total = sum(len(names) for names in found.values())
    texts["index.md"] = f"\n{total:,} names:\n\n| namespace | what is there | names |\n|---|---|---|\n" + "\n".join(
        rows
    )
    return texts


def main() -> int:
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in pages().items():
            (folder / file).write_text(text)
        return 0
    for name, names in shown().items():
        bare = [n for n, f in names if callable(f) and not (f.__doc__ or "").strip()]
        print(f"{name:38} {len(names):5} names, {len(bare):4} without a docstring")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
