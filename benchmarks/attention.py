"""Every form of scaled_dot_product_attention on a GPU: time forward and backward, memory, and distance from float32.

python benchmarks/attention.py            PyTorch (where it is installed) and rushlight, one after the other
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import compact  # noqa: E402

HERE = Path(__file__).resolve()
# name: batch, heads, groups, queries, keys, width, what stands beside them
FORMS: dict[str, tuple] = {
    "plain": (8, 12, 12, 1024, 1024, 64, {}),
    "causal": (8, 12, 12, 1024, 1024, 64, {"is_causal": True}),
    "bool mask": (8, 12, 12, 1024, 1024, 64, {"mask": "bool"}),
    "padding": (8, 12, 12, 1024, 1024, 64, {"mask": "padding"}),
    "added mask": (8, 12, 12, 1024, 1024, 64, {"mask": "float"}),
    "dropout": (8, 12, 12, 1024, 1024, 64, {"dropout_p": 0.1}),
    "groups of heads": (4, 32, 8, 1024, 1024, 128, {"is_causal": True, "enable_gqa": True}),
    "width 256": (4, 8, 8, 1024, 1024, 256, {"is_causal": True}),
    "odd sizes": (4, 8, 8, 777, 333, 64, {"mask": "bool"}),
}


def _inputs(torch: Any, form: tuple, dtype: Any) -> tuple[list, dict[str, Any]]:
    batch, heads, groups, rows, columns, width, how = form
    torch.manual_seed(0)
    shapes = [(batch, heads, rows, width)] + [(batch, groups, columns, width)] * 2
    inputs = [torch.randn(s).cuda().to(dtype).requires_grad_() for s in shapes]
    how, kind = dict(how), how.get("mask")
    how.pop("mask", None)
    if kind == "bool":
        how["attn_mask"] = (torch.rand(batch, 1, rows, columns) < 0.8).cuda()
    elif kind == "padding":
        lengths = torch.randint(columns // 2, columns, (batch, 1))
        how["attn_mask"] = (torch.arange(columns)[None] < lengths)[:, None, None].cuda()
    elif kind == "float":
        how["attn_mask"] = torch.randn(1, heads, rows, columns).cuda().to(dtype)
    return inputs, how


def _time(torch: Any, step: Any) -> float:
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    begin, count = time.perf_counter(), 30
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count * 1e3


def worker() -> None:
    import torch
    from torch.nn import functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for name, form in FORMS.items():
        try:
            inputs, how = _inputs(torch, form, torch.bfloat16)
            gy = torch.randn(*form[:2], form[3], form[5]).cuda().bfloat16()

            def step(inputs: list = inputs, how: dict = how, gy: Any = gy) -> Any:
                for t in inputs:
                    t.grad = None
                out = F.scaled_dot_product_attention(*inputs, **how)
                out.backward(gy)
                return out

            torch.cuda.reset_peak_memory_stats()
            before, out, apart = torch.cuda.memory_allocated(), step(), None
            peak = (torch.cuda.max_memory_allocated() - before) / 2**20
            if not how.get("dropout_p"):
                wide = [t.detach().float().requires_grad_() for t in inputs]
                more = dict(how)
                if "attn_mask" in more and more["attn_mask"].dtype != torch.bool:
                    more["attn_mask"] = more["attn_mask"].float()
                with sdpa_kernel(SDPBackend.MATH):
                    want = F.scaled_dot_product_attention(*wide, **more)
                want.backward(gy.float())
                pairs = [(out, want), *[(a.grad, b.grad) for a, b in zip(inputs, wide)]]
                apart = max(float((a.float() - b).abs().max() / b.abs().max()) for a, b in pairs)
                del wide, want, pairs
            found = {"ms": _time(torch, step), "peak_mb": peak, "apart": apart}
        except Exception as e:  # a form that fails is a result
            found = {"failed": f"{type(e).__name__}: {e}"[:200]}
        print(json.dumps({"form": name, **found}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.worker:
        worker()
        return
    told: dict[str, Any] = {}
    for side, start in (("torch", []), ("rushlight", ["-m", "rushlight", "run"])):
        done = subprocess.run(
            [sys.executable, *start, str(HERE), "--worker"], capture_output=True, text=True
        )
        lines = [json.loads(s) for s in done.stdout.splitlines() if s.startswith("{")]
        told[side] = {line.pop("form"): line for line in lines}
        if not lines:
            print(side, done.stderr[-1500:])
    for name in FORMS:
        for side in told:
            print(f"{name:16} {side:10} {told[side].get(name)}")
    if args.out:
        compact.write(args.out, told)


if __name__ == "__main__":
    main()
