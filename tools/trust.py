"""`make trust`: the proofs that files, kills, full disks and threads leave nothing wrong and nothing half.

    python tools/trust.py ci                    what CI runs, a few minutes
    python tools/trust.py files 1000000         mutated files of every kind
    python tools/trust.py kill 1000             kill -9 while training and inside each write, then resume
    python tools/trust.py disk                  full, read-only, no home, wrong clock, no descriptors, SIGTERM
    python tools/trust.py determinism           the same bits for 1, 2 and 4 threads, and run to run
    python tools/trust.py soak 3600             seconds of training: no growth, no drift (a GPU: --device cuda)
    python tools/trust.py sanitizers            the native engine under the address and undefined sanitizers
    python tools/trust.py threads               its pool and threads under the thread sanitizer
    python tools/trust.py supply                bounds of dependencies, the lock file, known holes

Each prints one line of figures and ends with 1 when something failed. With `--record` a long proof is run in
pieces: it goes on where the last piece stopped and adds its figures to benchmarks/results/trust.json. Figures
of real runs with their dates stand in docs/trust.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from trust_record import RECORD, Record

CI = {"files": 20_000, "kill": 20, "disk": 5, "determinism": 0, "soak": 0, "supply": 0}
BY_HAND = {**CI, "files": 1_000_000, "kill": 1000, "disk": 100, "soak": 3600, "sanitizers": 0, "threads": 0}


def prove(name: str, count: int, seed: int, path: Path | None = None, device: str = "cpu") -> bool:
    """One proof; whether it held. With the path of a record it goes on where the last run stopped."""
    if name == "files":
        from trust_files import files as proof
    elif name == "kill":
        from trust_kill import kill as proof
    elif name == "disk":
        from trust_disk import disk as proof
    elif name == "determinism":
        from trust_numbers import determinism as proof
    elif name == "soak":
        from trust_numbers import soak

        proof = partial(soak, device=device)
    elif name == "sanitizers":
        from trust_build import sanitizers as proof
    elif name == "threads":
        from trust_build import threads as proof
    else:
        from trust_build import supply as proof
    begin = time.monotonic()
    said, right = proof(count, seed, Record(name if device == "cpu" else f"{name} {device}", path))
    verdict = "holds" if right else "FAILED"
    print(f"{name}: {verdict}: {said} ({time.monotonic() - begin:.0f} s)", flush=True)
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("proof", choices=["ci", "all", *BY_HAND])
    parser.add_argument("count", type=int, nargs="?", help="how many, or seconds of soak (0: six rounds)")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is random")
    parser.add_argument("--record", type=Path, nargs="?", const=RECORD, metavar="FILE",
                        help="go on where FILE says that the last run stopped, and add to its sums")  # fmt: skip
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="of the soak")
    args = parser.parse_args()
    several = {"ci": CI, "all": BY_HAND}.get(args.proof)
    if several is None:
        count = BY_HAND[args.proof] if args.count is None else args.count
        return 0 if prove(args.proof, count, args.seed, args.record, args.device) else 1
    results = [prove(name, count, args.seed) for name, count in several.items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
