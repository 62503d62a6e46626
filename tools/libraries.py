"""Runs small uses of libraries that import torch on rushlight, without PyTorch, and writes docs/libraries.md.

    python tools/libraries.py                     # every library: installs, runs, compares, writes the table
    python tools/libraries.py einops timm         # only these; the table keeps its other rows
    python tools/libraries.py --oracle FOLDER     # store PyTorch's numbers anew; FOLDER holds torch

The libraries come from the package index into one environment under the cache folder (a few into their own). While pip works, empty
metadata of torch and torchvision stand there, so that it installs neither; then they are taken away again.
"""

from __future__ import annotations

import argparse
import ast
import fcntl
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import compact

ROOT = Path(__file__).resolve().parents[1]
USES = ROOT / "tools" / "library_uses"
EXPECTED = USES / "expected.json"
RESULTS = USES / "results.json"
PAGE = ROOT / "docs" / "libraries.md"
STAND_FOR = {"torch": "2.13.0", "torchvision": "0.28.0"}
# What rushlight itself needs; the package comes from this checkout.
OURS = [
    "numpy>=2.0,<3", "ml_dtypes>=0.5,<0.7",
    "onednn-cpu-gomp==2023.2.0; platform_system == 'Linux' and platform_machine == 'x86_64'",
]  # fmt: skip
RTOL, ATOL = 1e-3, 1e-5  # fp32 losses and gradients after a few steps; most agree to 1e-6
SECONDS = 900  # for all uses of one library

Found = dict[str, dict[str, Any]]


def constants(path: Path) -> dict[str, Any]:
    """LIBRARY, REQUIRES and ALONE of a file of uses, read without importing the library."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("LIBRARY", "REQUIRES", "ALONE"):
                found[name] = ast.literal_eval(node.value)
    return found


def files() -> dict[str, Path]:
    """The files of uses by their short names."""
    paths = sorted(USES.glob("*.py"))
    return {path.stem: path for path in paths if "LIBRARY" in constants(path)}


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "rushlight" / "libraries"


# -- the environment ------------------------------------------------------------------------------


def site_of(venv: Path) -> Path:
    return next((venv / "lib").glob("python*")) / "site-packages"


@contextmanager
def standing_for_torch(site: Path) -> Iterator[None]:
    """Metadata that pip takes for installed PyTorch and torchvision, while it works; a second process waits for its turn."""
    folders = [site / f"{name}-{version}.dist-info" for name, version in STAND_FOR.items()]
    turn = os.open(site, os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    for folder, (name, version) in zip(folders, STAND_FOR.items(), strict=True):
        folder.mkdir(exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(text)
        (folder / "INSTALLER").write_text("rushlight\n")
        (folder / "RECORD").write_text("")
    try:
        yield
    finally:
        for folder in folders:
            shutil.rmtree(folder)
        os.close(turn)


def environment(folder: Path, names: list[str]) -> Path:
    """The Python of an environment that has these libraries and no PyTorch."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    told = [constants(path) for name, path in files().items() if name in names]
    wanted = {*OURS, *(c["LIBRARY"] for c in told), *(r for c in told for r in c.get("REQUIRES", []))}
    with standing_for_torch(site_of(folder)):
        command = [str(python), "-m", "pip", "install", "-q", *sorted(wanted)]
        subprocess.run(command, check=True)
    if any((site_of(folder) / name).exists() for name in STAND_FOR):
        raise SystemExit(f"{folder} has a PyTorch of its own; remove the folder and start again")
    return python


def pythons(folder: Path, names: list[str], installed: bool) -> dict[str, Path]:
    """The Python of each library: one for most of them, one of its own where a file of uses says ALONE and why."""
    own = {name: constants(files()[name]).get("ALONE") for name in names}
    shared = [name for name in names if not own[name]]
    folders = {folder: shared} if shared else {}
    folders |= {folder.with_name(f"{folder.name}-{name}"): [name] for name in names if own[name]}
    found = {}
    for place, those in folders.items():
        python = place / "bin" / "python" if installed else environment(place, those)
        found |= dict.fromkeys(those, python)
    return found


# -- running and comparing ------------------------------------------------------------------------


def run_uses(python: Path, path: Path, torch: list[Path]) -> Found:
    """What each use of one library gave, in a process of its own."""
    command = [str(python), str(USES / "run.py"), str(path)]
    if torch:
        command += ["--torch", *map(str, torch)]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    try:
        done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=SECONDS)
        return json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"import": {"error": f"did not end within {SECONDS} s"}}
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"import": {"error": f"ended with status {done.returncode}: {last[:160]}"}}


def differs(ours: list[float], theirs: list[float]) -> str | None:
    """Why two lists of numbers do not agree, or None."""
    if len(ours) != len(theirs):
        return f"{len(ours)} numbers instead of {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if not (math.isclose(a, b, rel_tol=RTOL, abs_tol=ATOL) or (math.isnan(a) and math.isnan(b))):
            return f"number {i} is {a:.6g}, PyTorch's is {b:.6g}"
    return None


def judged(found: Found, expected: dict[str, list[float]]) -> dict[str, str | None]:
    """For each stored use what is wrong with it, None where the numbers are PyTorch's."""
    whole = found.get("import", {}).get("error")
    verdicts: dict[str, str | None] = {}
    for use, theirs in expected.items():
        got = found.get(use, {"error": whole or "was not run"})
        verdicts[use] = got["error"] if "error" in got else differs(got["numbers"], theirs)
    return verdicts


def version_of(python: Path, library: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({library!r}))"
    return subprocess.run([str(python), "-c", code], text=True, capture_output=True).stdout.strip()


# -- the page -------------------------------------------------------------------------------------

HEAD = """# Libraries that import torch, on rushlight

Made by `make libraries`: an environment without PyTorch, the real libraries from the package index, small real uses of
each (`tools/library_uses/`), run with `rushlight.as_torch()` on the CPU. A use *runs* when it ends and every number
it gives (losses, gradients, outputs, from the same seeds) is that of PyTorch 2.13.0, to a relative {rtol:g}.
What does not run says why. Names are what is missing most often: `rushlight run` tells the first one of any other script.

**{libraries} libraries, {green} of them whole; {good} of {total} uses run.**

| library | version, day of the run | runs | does not run, and why |
|---|---|---|---|
"""


TAIL = """
## Names

`python tools/library_names.py` looks up the 269 points of `tools/library-names.csv` where names of libraries stopped to
resolve, and prints those that still do. What is not there, and why:

- `cuda.CUDAGraph`, `cuda.graph`: a compiled step replays a graph by itself (`compile(mode="reduce-overhead")`).
- `cuda.cudart`, `autograd.profiler.emit_nvtx`: for NVIDIA's tools; `cuda.nvtx`, `cuda.profiler` and `rushlight.profiler` are there.
- `cuda.default_generators`, `backends.cuda.SDPAParams`, `can_use_flash_attention`, `cuda.sparse`: questions about PyTorch's own GPU kernels.
- `_scaled_mm`, `nn.functional.scaled_mm`, `ScalingType`: products of float8 numbers; float8 is stored here, not multiplied.
- `masked`: not written yet.
- `onnx.symbolic_opset9`, `symbolic_opset12`, `symbolic_helper`: the older exporter reads TorchScript graphs; `onnx.export` writes
  recorded programs.
- `utils._sympy`, `_prims_common`, `compiler.load_compiled_function`, `utils.tensorboard._pytorch_graph`, `PyTorchFileReader`,
  `autograd._disable_profiler`: inner parts of PyTorch's own machinery.
- `nested` is there with both layouts; tensors of the strided one are of a class of their own (`NestedParts`), and functions that PyTorch
  does not have for nested tensors raise NotImplementedError here, too.
- `__torch_dispatch__` is asked of modes and of classes made with `Tensor._make_wrapper_subclass`; a subclass with memory of its own
  (`_make_subclass`, `as_subclass`) is asked by `__torch_function__` only.
- The gradient of a sparse leaf is sparse, at the leaf's places, also where PyTorch's is dense (`x @ d`, `d + x`, `x.sum()`); CSR and CSC are matrices only.
- `distributed.pipelining`, `launcher.api`, `distributed.utils`, `numa`: `rushlight launch` starts ranks; there are no pipelines.
- `utils.data.graph_settings`: of data pipes, which PyTorch has given up.

Class names are PyTorch's under `rushlight.as_torch()`: `nn.Linear.__module__` is `torch.nn.modules.linear`, so pickles and tables of libraries
that go by names agree. A `TorchDispatchMode` sees kernels as PyTorch's inner operators, forward and backward; where rushlight
computes in one kernel what PyTorch does in several and has no name for, the operator is one of `torch.ops.rushlight`.
"""


def words(use: str) -> str:
    return use.replace("_", " ") if not any(c.isdigit() for c in use) else f"`{use}`"


def page(results: dict[str, Any]) -> str:
    """The table of all stored results."""
    rows, good, total, green = [], 0, 0, 0
    for row in results.values():
        uses: dict[str, str | None] = row["uses"]
        runs = [words(u) for u, why in uses.items() if why is None]
        reasons: dict[str, list[str]] = {}
        for use, why in uses.items():
            if why is not None:
                reasons.setdefault(why.replace("|", "\\|"), []).append(words(use))
        told = "; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items())
        version = ", ".join(row[key] for key in ("version", "date") if key in row)
        rows.append(f"| {row['library']} | {version} | {', '.join(runs)} | {told} |")
        good, total, green = good + len(runs), total + len(uses), green + (not reasons)
    head = HEAD.format(rtol=RTOL, libraries=len(rows), green=green, good=good, total=total)
    return head + "\n".join(rows) + "\n" + TAIL


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def write(path: Path, data: dict[str, Any]) -> None:
    compact.write(path, dict(sorted(data.items())), deep=1 if path == RESULTS else 2)


def store_oracle(python_of: dict[str, Path], names: list[str], torch: list[Path]) -> int:
    """Keep PyTorch's numbers; a use that PyTorch itself does not run is not stored."""
    expected, failed = read(EXPECTED), 0
    for name in names:
        found = run_uses(python_of[name], files()[name], torch)
        for use, got in found.items():
            if "error" in got:
                print(f"{name}: {use}: {got['error']}")
                failed += 1
        kept = {u: [float(f"{n:.8g}") for n in g["numbers"]] for u, g in found.items() if "numbers" in g}
        if kept:
            expected[name] = kept
            write(EXPECTED, expected)
        print(f"{name}: {len(kept)} uses stored", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(files())}")
    parser.add_argument("--oracle", type=Path, nargs="+", metavar="FOLDER", help="where torch is")
    parser.add_argument("--environment", type=Path, default=cache(), help="%(default)s")
    parser.add_argument("--installed", action="store_true", help="install nothing anew")
    args = parser.parse_args()
    if unknown := set(args.names) - files().keys():
        parser.error(f"no uses of {', '.join(sorted(unknown))} in {USES.relative_to(ROOT)}")
    names = args.names or list(files())
    python_of = pythons(args.environment, names, args.installed)
    if args.oracle:
        return store_oracle(python_of, names, [folder.resolve() for folder in args.oracle])
    results, expected, bad = read(RESULTS), read(EXPECTED), 0
    for name in names:
        library = constants(files()[name])["LIBRARY"]
        python = python_of[name]
        uses = judged(run_uses(python, files()[name], []), expected.get(name, {}))
        version = version_of(python, library)
        results[name] = {"library": library, "version": version, "date": f"{date.today()}", "uses": uses}
        wrong = {use: why for use, why in uses.items() if why is not None}
        bad += len(wrong)
        print(f"{library} {version}: {len(uses) - len(wrong)} of {len(uses)} uses run", flush=True)
        for use, why in wrong.items():
            print(f"    {use}: {why}")
        write(RESULTS, results)
        PAGE.write_text(page(dict(sorted(results.items()))))
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
