"""Which kernels most networks ask for: recorded on a GPU, written to the list that the package compiles ahead.

python tools/usual_kernels.py record FILE       on a GPU: the networks of benchmarks/, each in a process of its own
python tools/usual_kernels.py write FILE        the list, of kernels that several networks asked for; how much of
                                                each network it has when it is made of the others alone
python tools/usual_kernels.py ship sm_80 sm_90  the machine code of the list for a wheel, without a GPU; git ignores it
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import statistics
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
STEPS = 4
LEAST = 2  # networks that ask for a kernel of the list

Asked = dict[str, list[list[Any]]]  # by network: sources and options


def child(table: str, row: str, way: str) -> None:
    """Print what a network asks for, as JSON."""
    os.environ["RUSHLIGHT_TRACE"] = "0"
    sys.path[:0] = [str(BENCHMARKS), str(ROOT / "src")]
    from rushlight.cli.scripts.alias import install

    install()
    import numpy as np
    import torch

    from rushlight.base.config import settings
    from rushlight.runtime.cuda.code import compile as code

    settings.compiles_ahead = False
    asked: dict[tuple[str, tuple[str, ...]], None] = {}
    cubin = code.cubin

    def heard(text: str, flags: tuple[str, ...]) -> bytes:
        asked[text, flags[len(code.OPTIONS) : -1]] = None
        return cubin(text, flags)

    code.cubin = heard
    torch.manual_seed(0)
    if table == "park":
        import park_rows

        place = park_rows.Place("cuda", True, park_rows.plain, np.random.default_rng(0))
        work = park_rows.ROWS[row](place)
        step, args = work.step, work.args
    else:
        import importlib

        torch.set_default_device("cuda")
        step, args = importlib.import_module(table).ROWS[row](torch), ()
    if way == "compiled":
        step = torch.compile(step)
    for _ in range(STEPS):
        step(*args)
    torch.cuda.synchronize()
    print(json.dumps([[text, list(options)] for text, options in asked]))


def networks() -> list[tuple[str, str]]:
    """Tables and rows, by the names that the files of benchmarks/ give them."""
    found = []
    for path in sorted(BENCHMARKS.glob("strangers_*.py")) + [BENCHMARKS / "park_rows.py"]:
        table = "park" if path.stem == "park_rows" else path.stem
        listing = f"import sys; sys.path[:0] = [{str(BENCHMARKS)!r}, {str(ROOT / 'src')!r}]\n"
        listing += "from rushlight.cli.scripts.alias import install; install()\n"
        listing += f"import {path.stem} as m; print(*m.ROWS)"
        names = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
        found += [(table, row) for row in names.stdout.split()]
    return found


def record(file: Path, at_once: int) -> None:
    def one(network: tuple[str, str]) -> tuple[str, list[list[Any]]]:
        heard: list[list[Any]] = []
        for way in ("eager", "compiled"):
            command = [sys.executable, "-W", "ignore", __file__, "child", *network, way]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(*network, way, "failed:", done.stderr.strip()[-200:], flush=True)
                continue
            heard += [k for k in json.loads(done.stdout.splitlines()[-1]) if k not in heard]
        return " ".join(network), heard

    with ThreadPoolExecutor(at_once) as pool:
        asked = dict(pool.map(one, networks()))
    file.write_bytes(lzma.compress(json.dumps(asked).encode()))
    print(f"{len(asked)} networks")


def write(file: Path) -> None:
    asked: Asked = json.loads(lzma.decompress(file.read_bytes()))
    sets = {name: {(text, tuple(options)) for text, options in kernels} for name, kernels in asked.items() if kernels}
    counts = Counter(kernel for kernels in sets.values() for kernel in kernels)
    sys.path.insert(0, str(ROOT / "src"))
    from rushlight.runtime.cuda.code import usual

    shares = []
    for name, kernels in sets.items():
        others = sum(counts[kernel] > LEAST for kernel in kernels) / len(kernels)
        shares.append(others)
        print(f"{name}: {len(kernels)} kernels, {others:.0%} of them in a list that is made of the others")
    chosen = [kernel for kernel, count in counts.most_common() if count >= LEAST]
    names = list(sets)
    packed = usual.packed(
        usual.UsualKernel(*kernel, frozenset(i for i, name in enumerate(names) if kernel in sets[name]))
        for kernel in chosen
    )
    Path(usual.__file__).with_name("usual.xz").write_bytes(packed)
    print(
        f"{len(chosen)} of {len(counts)} kernels, {len(packed)} bytes; of a network the others tell {statistics.mean(shares):.0%}"
    )


def ship(archs: list[str]) -> None:
    sys.path.insert(0, str(ROOT / "src"))
    from rushlight.runtime.cuda.code import compile as code
    from rushlight.runtime.cuda.code import usual

    listed = usual.usual()
    for arch in archs:
        with ThreadPoolExecutor(usual.cores()) as pool:
            given = [(k.text, (*code.OPTIONS, *k.options)) for k in listed]
            made = pool.map(lambda one: code._compile(one[0], (*one[1], f"-arch={arch}")), given)
            codes = {usual.key_of(*one): cubin for one, cubin in zip(given, made)}
        file = Path(usual.__file__).with_name(f"usual-{arch}.xz")
        file.write_bytes(usual.packed_codes(codes))
        print(f"{file}: {len(codes)} kernels, {file.stat().st_size} bytes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "write", "child", "ship"])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--at-once", type=int, default=8)
    args = parser.parse_args()
    if args.what == "child":
        child(*args.names)
    elif args.what == "ship":
        ship(args.names)
    elif args.what == "record":
        record(Path(args.names[0]), args.at_once)
    else:
        write(Path(args.names[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
