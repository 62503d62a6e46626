"""`rushlight stubs`: stub packages under PyTorch's names, by which editors and type checkers know `import torch`.

Each module is one line that names rushlight's, so there is nothing to keep up to date. In the environment they are packages
`torch-stubs`, which every tool finds by itself (PEP 561); in a folder of a project, `typings` for example, they are named `torch`.
"""

from __future__ import annotations

import shutil
import sysconfig
from argparse import Namespace
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from .errors import UsageError
from .scripts.alias import ALIASES

MARK = '"""Made by `rushlight stubs`, which also takes it away: --remove."""\n\n'


def stubs(args: Namespace) -> int:
    """Write the packages, or take them away."""
    there = Path(args.folder) if args.folder else Path(sysconfig.get_paths()["purelib"])
    if there.exists() and not there.is_dir():
        raise UsageError(f"{there} is no folder")
    suffix = "" if args.folder else "-stubs"
    packages = {name: there / f"{name}{suffix}" for name in ALIASES}
    for folder in packages.values():
        if folder.exists() and not _is_ours(folder):
            raise UsageError(f"{folder} is there already and `rushlight stubs` did not make it")
    if args.remove:
        gone = [folder for folder in packages.values() if folder.exists()]
        for folder in gone:
            shutil.rmtree(folder)
        print(f"taken away: {', '.join(map(str, gone)) or 'nothing was there'}")
        return 0
    installed = [name for name in ALIASES if find_spec(name) is not None]
    if installed and not args.folder:
        raise UsageError(
            f"{', '.join(installed)} is installed here and has types of its own, which these would hide; "
            "name a folder of the project instead: rushlight stubs typings"
        )
    count = sum(_write(name, folder) for name, folder in packages.items())
    print(f"{count} stubs in {there}: {', '.join(f.name for f in packages.values())}")
    if args.folder:
        print(f'pyright reads a folder `typings` by itself; mypy: mypy_path = "{args.folder}"')
    return 0


def _is_ours(folder: Path) -> bool:
    try:
        return (folder / "__init__.pyi").read_text().startswith(MARK)
    except OSError:
        return False


def _write(name: str, folder: Path) -> int:
    """The stubs of one package: how many there are."""
    if folder.exists():
        shutil.rmtree(folder)
    modules = sorted(set(_modules(ALIASES[name])))
    for module in modules:
        parts = module.split(".")[len(ALIASES[name].split(".")) :]
        package = any(other.startswith(f"{module}.") for other in modules) or not parts
        file = folder.joinpath(*parts, "__init__.pyi") if package else folder.joinpath(*parts)
        file = file if package else file.with_name(f"{file.name}.pyi")
        file.parent.mkdir(parents=True, exist_ok=True)
        version = f"from {module} import __version__ as __version__\n" if name != "functorch" and not parts else ""
        file.write_text(f"{MARK}from {module} import *\n{version}")
    return len(modules)


def _modules(package: str) -> Iterator[str]:
    """A package of ours and the modules below it that PyTorch has under its own name."""
    import rushlight

    from .._names.aliases import TABLE

    theirs = set(dir(rushlight)) - {ours.partition(".")[2] for ours in ALIASES.values()}
    yield package
    rest = package.split(".")[1:]
    for root in [Path(folder, *rest) for folder in rushlight.__path__]:
        for file in (*root.rglob("*.py"), *root.rglob("*.pyi")):
            parts = [*rest, *file.relative_to(root).with_suffix("").parts]
            if parts[-1] == "__init__":
                parts.pop()
            public = parts and not any(part.startswith("_") for part in parts)
            if public and (rest or parts[0] in theirs) and parts != rest:
                yield ".".join(["rushlight", *parts])
    if not rest:
        yield from (f"rushlight.{row}" for row in TABLE if "._" not in f".{row}")
