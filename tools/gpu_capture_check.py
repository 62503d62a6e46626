"""Which ops cannot be part of a CUDA graph: every row of the op table, compiled on the GPU, forward and with gradients.

    python tools/gpu_capture_check.py [--only topk,sort]

Prints one line for each op that was refused, with the reason, and the number of those that were taken. What has a
result whose size depends on values (nonzero, unique, a mask as an index) or is read by the host is not counted.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
os.environ.setdefault("RUSHLIGHT_TRACE", "0")

import rushlight as rl  # noqa: E402
from test_ops import ROWS, call, flat, tensors  # noqa: E402

DEVICE = "cuda"
REFUSED = "cannot be part of a CUDA graph"


def reason(row: Any, grad: bool) -> str | None:
    """Why a compiled call of the row is not one graph; None where it is."""
    ins = tensors(row, "float32", DEVICE, grad)

    def step() -> Any:
        outs = [o for o in flat(call(rl, row, ins)) if hasattr(o, "requires_grad")]
        live = [o for o in outs if o.requires_grad]
        if grad and live:
            total = sum([(o.abs() if o.is_complex() else o).sum() for o in live])
            wanted = [t for t in ins if t.requires_grad]
            outs += rl.autograd.grad(total, wanted, allow_unused=True)
        return [o for o in outs if o is not None]

    compiled = rl.compile(step)
    for _ in range(3):
        compiled()
    why = compiled.why()
    return str(why) if why and REFUSED in str(why) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="names of ops, with commas between")
    only = set(filter(None, parser.parse_args().only.split(",")))
    warnings.simplefilter("ignore")
    found: dict[str, str] = {}
    taken = failed = 0
    for row in ROWS:
        if only and row.name not in only:
            continue
        gradable = row.grad and any(s.grad for s in row.specs())
        try:
            why = reason(row, gradable)
        except Exception as error:  # float32 is not every row's dtype
            failed += 1
            if only:
                print(f"{row.name}: {type(error).__name__}: {str(error)[:200]}")
            continue
        taken += why is None
        if why is not None and row.name not in found:
            found[row.name] = why
            print(f"{row.name}: {why[:300]}", flush=True)
    print(f"{taken} rows taken, {len(found)} ops refused, {failed} rows not run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
