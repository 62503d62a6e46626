"""Walks over the databases of PyTorch's own tests and fails where rushlight differs in a way that is not in the table.

    python tools/parity.py                          # a sample by its seed: what CI runs
    python tools/parity.py --seed 7                 # another one
    python tools/parity.py --whole                  # everything: what a night runs
    python tools/parity.py add nn.functional.relu   # these entries whole; also "module Linear", "optim Adam", "foreach _foreach_add"
    python tools/parity.py --device cuda            # rushlight's side on a GPU, PyTorch's on the CPU
    python tools/parity.py --whole --stale          # also fails where a line of the table excuses nothing any more

What differs on purpose, and why, is in tools/parity_differences.py.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # the processes share the cores
sys.path.insert(0, str(Path(__file__).parent))

from parity_differences import excused, table


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("entries", nargs="*")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=int, default=12, help="one case in so many")
    parser.add_argument("--whole", action="store_true", help="every case of every entry")
    parser.add_argument("--dtypes", default="", help="only these: float32,bfloat16,...")
    parser.add_argument("--probes", default="", help="only these: call,grad,second,jvp,vmap,...")
    parser.add_argument("--part", default="0/1", help="I/N: every N-th entry")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--stale", action="store_true")
    parser.add_argument("--all", action="store_true", help="show what the table excuses, too")
    parser.add_argument("--json", type=Path, help="write every difference there")
    return parser.parse_args()


def walk(name: str, options: dict[str, Any]) -> tuple[str, int, float, list[tuple[str, str]]]:
    """One entry, in a process of the pool."""
    import warnings

    warnings.simplefilter("ignore")
    import torch
    from parity_walk import Choice, Walk

    torch.set_num_threads(1)
    start = time.time()
    choice = Choice(options["seed"], options["share"])
    there = Walk(options["device"], choice, options["probes"], options["dtypes"])
    try:
        found = there.entry(name)
    except Exception as error:
        found = [("walker", f"{name}: {type(error).__name__}: {error}")]
    return name, there.runs, time.time() - start, found


def chosen(args: argparse.Namespace) -> list[str]:
    from parity_walk import entries

    first, of = map(int, args.part.split("/"))
    names = args.entries or sorted(entries(), key=lambda n: zlib.crc32(n.encode()))[first::of]
    unknown = [name for name in names if name not in entries()]
    if unknown:
        sys.exit(f"not in the databases: {', '.join(unknown)}")
    return names


def walked(names: list[str], options: dict[str, Any], jobs: int) -> Iterator[Any]:
    """The entries by processes of their own; one that ends its process is told, and the others go on."""
    if jobs == 1:
        yield from (walk(name, options) for name in names)
        return
    # What was imported here need not be imported again; a GPU's context cannot be handed on.
    fork = multiprocessing.get_context("fork" if options["device"] == "cpu" else "spawn")
    lost = []
    with concurrent.futures.ProcessPoolExecutor(jobs, fork) as pool:
        waiting = {pool.submit(walk, name, options): name for name in names}
        for done in concurrent.futures.as_completed(waiting):
            if isinstance(done.exception(), BrokenProcessPool):
                lost.append(waiting[done])
            else:
                yield done.result()
    for name in lost:
        with concurrent.futures.ProcessPoolExecutor(1, fork) as pool:
            try:
                yield pool.submit(walk, name, options).result()
            except BrokenProcessPool:
                yield name, 0, 0.0, [("crash", f"{name} ends its process")]


def main() -> int:
    args = arguments()
    if args.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    options = {
        "seed": args.seed, "share": 1 if args.whole or args.entries else args.share, "device": args.device,
        "probes": tuple(args.probes.split(",")) if args.probes else (),
        "dtypes": tuple(args.dtypes.split(",")) if args.dtypes else (),
    }  # fmt: skip
    names = chosen(args)
    found: dict[str, list[tuple[str, str]]] = {}
    runs = 0
    for name, count, seconds, said in walked(names, options, args.jobs):
        runs += count
        found[name] = said
        for kind, words in dict(said).items():
            if args.all or not excused(name, kind, args.device):
                print(f"{kind:<14} {words[:400]}".replace("\n", " "), flush=True)
        if seconds > 60:
            print(f"{name}: {seconds:.0f} s", flush=True)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))
    new = {n for n, said in found.items() if any(not excused(n, k, args.device) for k, _ in said)}
    clean = sum(not said for said in found.values())
    print(f"{len(found)} entries, {runs} calls: {clean} clean, {len(found) - clean - len(new)} as the table says, {len(new)} differ")  # fmt: skip
    stale = []
    if args.stale:
        kinds = {name: {k for k, _ in said} for name, said in found.items()}
        stale = [f"{n} {k}" for n, k in table(args.device) if n in kinds and not any(x == k or x.startswith(k + ":") for x in kinds[n])]  # fmt: skip
        print("\n".join(f"excuses nothing: {line}" for line in stale))
    return bool(new or stale)


if __name__ == "__main__":
    sys.exit(main())
