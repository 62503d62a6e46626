"""Compile every CUDA source of rushlight with nvcc, without a GPU: `python tools/check_kernels.py`."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "src" / "rushlight" / "backend" / "cuda"


def load(name: str) -> Any:
    """A module of backend/cuda that needs no CuPy, loaded outside its package."""
    package = sys.modules.setdefault("_kernels", types.ModuleType("_kernels"))
    package.__path__ = [str(FOLDER)]  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location(f"_kernels.{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"_kernels.{name}"] = module
    spec.loader.exec_module(module)
    return module


def pointwise_sources(few: bool) -> dict[str, str]:
    """One function per op and dtype, all in few files: the loop around them is the same."""
    load("expressions")
    codegen = load("codegen")
    sources = {}
    for name, e in codegen.TABLE.items():
        for d, (_, kind, _) in codegen.TYPES.items():
            if kind not in e.text or (few and d not in ("float32", "int32", "bool", "complex64")):
                continue
            dtypes = tuple(["bool" if i in ("condition", "mask") else d for i in e.inputs])
            out = codegen.stored(name, d)
            if out is None:
                continue
            arrays = ("a",) * len(dtypes)
            text = codegen.flat_source(name, dtypes, arrays, out, 4, "unsigned")
            sources[f"{name}-{d}"] = text
            if d in ("float32", "complex64", "int64"):
                last = [*arrays[:-1], "n"] if len(arrays) > 1 else list(arrays)
                mixed = tuple(last)
                sources[f"{name}-{d}-number"] = codegen.flat_source(
                    name, dtypes, mixed, out, 2, "i64"
                )
                sources[f"{name}-{d}-strided"] = codegen.strided_source(
                    name, dtypes, arrays, out, 3, "unsigned"
                )
    return sources


def bundle(sources: dict[str, str], prelude: str) -> str:
    """Many kernels as one file: the prelude once, each kernel in a namespace of its own."""
    parts = [prelude]
    for number, (label, text) in enumerate(sources.items()):
        own = text.replace(prelude, "").replace('extern "C" ', "")
        parts.append(f"// {label}\nnamespace n{number} {{\n{own}\n}}")
    return "\n".join(parts)


def compile_text(label: str, text: str) -> bool:
    with tempfile.NamedTemporaryFile("w", suffix=".cu") as file:
        file.write(text)
        file.flush()
        command = ["nvcc", "-std=c++17", "-arch=sm_90", "-cubin", "-o", "/dev/null", file.name]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{label}: does not compile\n{done.stdout}{done.stderr}"[:6000])
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", action="store_true", help="one dtype of each kind only")
    parser.add_argument("--only", default="", help="sources whose label contains this")
    options = parser.parse_args()
    sources = {k: v for k, v in pointwise_sources(options.few).items() if options.only in k}
    prelude = load("codegen").PRELUDE
    good = True
    labels = list(sources)
    for start in range(0, len(labels), 150):
        part = {k: sources[k] for k in labels[start : start + 150]}
        good &= compile_text(f"pointwise {start}", bundle(part, prelude))
    files = sorted((FOLDER / "kernels").glob("*.cu"))
    for path in files:
        if options.only in path.name:
            good &= compile_text(path.name, path.read_text().replace("// PRELUDE", prelude))
    print(f"{len(sources)} pointwise kernels and {len(files)} files: {'ok' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
