"""What the first five training steps of a process cost, by part: networks of benchmarks/strangers.py, each in processes of its own.

    python benchmarks/first_steps.py --device cuda [--rows llama,convnext] [--sides torch,ours,compiled] [--ledger]

Every row and side runs twice: cold, with empty caches of kernels and choices, and warm, with those that the first process
left. Seconds from the end of the imports to the end of the fifth step; of ours also what they went to.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SIDES = ("torch", "ours", "compiled")
ROWS = "llama,convnext,vae,swin,mamba,speech,wavenet,noising,growing,ode"
STEPS = 5


class Parts:
    """Seconds inside of some functions, those inside of others not counted twice; how often; the longest by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self.longest: list[tuple[float, str]] = []
        self.inside = [0.0]

    def watch(self, owner: Any, name: str, part: str, told: Callable[..., str] | None = None) -> None:
        called = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            self.inside.append(0.0)
            try:
                return called(*args, **kwargs)
            finally:
                took = time.perf_counter() - begin
                own = took - self.inside.pop()
                self.inside[-1] += took
                self.seconds[part] = self.seconds.get(part, 0.0) + own
                self.calls[part] = self.calls.get(part, 0) + 1
                if told is not None:
                    self.longest.append((own, told(*args)))

        setattr(owner, name, watched)

    def summary(self) -> dict[str, Any]:
        named = [f"{name} {1e3 * seconds:.0f} ms" for seconds, name in sorted(self.longest)[::-1][:6]]
        return {"parts": {part: [round(s, 3), self.calls[part]] for part, s in self.seconds.items()}, "longest": named}


def watched() -> Parts:
    """Watch what a cold process of ours waits for; names of the GPU's rooms are read here alone."""
    from rushlight.runtime.cuda.code import compile as code
    from rushlight.runtime.cuda.library import cublaslt, cudnn, cudnn_conv, cudnn_graph

    def kernel_of(text: str, flags: tuple[str, ...]) -> str:
        asked = [f[8:-3] for f in flags if f.startswith("-DASKED_")]
        return (asked or [text[text.rfind("__global__") :].split("(")[0].split()[-1]])[0]

    parts = Parts()
    parts.watch(code, "_compile", "NVRTC", kernel_of)
    parts.watch(code._Module, "load", "modules")
    import cupy.cuda.compiler as theirs

    parts.watch(
        theirs,
        "_compile_module_with_cache",
        "CuPy's kernels",
        lambda source, *_: source[-300:].split("__global__")[-1][:60],
    )
    parts.watch(cudnn, "_open", "cuDNN's start")
    parts.watch(cudnn_graph, "_engines", "cuDNN's engines")
    parts.watch(cudnn_graph.CudnnPlan, "_build", "cuDNN's plans")
    parts.watch(cudnn_conv, "tune", "cuDNN's choices")
    parts.watch(cudnn.CudnnLibrary, "_new_handle", "cuDNN's handles")
    parts.watch(cublaslt.CublasLt, "make", "cuBLASLt's plans")
    parts.watch(cublaslt.CublasLt, "tune", "cuBLASLt's choices")
    parts.watch(cublaslt, "_open", "cuBLASLt's start")
    return parts


def child(side: str, row: str, device: str) -> None:
    began = time.perf_counter()
    os.environ["RUSHLIGHT_TRACE"] = "0"
    sys.path[:0] = [str(HERE), str(HERE.parent / "src")]
    if side == "torch":
        import torch as module
    else:
        import rushlight as module
    import strangers_rows

    make = strangers_rows.every_row()[row]
    imported = time.perf_counter()
    if device == "cuda":
        module.set_default_device("cuda")
        module.ones(1).sum().item()
    started = time.perf_counter()
    parts = watched() if side != "torch" and device == "cuda" else Parts()
    module.manual_seed(0)
    step = make(module)
    built = time.perf_counter()
    if side == "compiled":
        step = module.compile(step)
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        float(step())
        times.append(round(time.perf_counter() - begin, 3))
    print(json.dumps({
        "import": round(imported - began, 3), "start": round(started - imported, 3), "net": round(built - started, 3),
        "steps": times, "five": round(sum(times) + started - imported + built - started, 3), **parts.summary(),
    }))  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--child", nargs=2)
    parser.add_argument("--at-once", type=int, default=1, help="rows side by side, for a first look")
    args = parser.parse_args()
    if args.child:
        child(*args.child, args.device)
        return 0
    print("| row | side | cold, s | warm, s | cold: " + "parts, longest |\n|---|---|---|---|---|")

    def one(row: str) -> str:
        lines = []
        for side in args.sides.split(","):
            with tempfile.TemporaryDirectory() as caches:
                env = {
                    **os.environ,
                    "RUSHLIGHT_CACHE": f"{caches}/r",
                    "CUPY_CACHE_DIR": f"{caches}/c",
                    "CUDA_CACHE_PATH": f"{caches}/n",
                }
                found = []
                for _ in ("cold", "warm") if side != "torch" else ("cold",):
                    command = [sys.executable, __file__, "--child", side, row, "--device", args.device]
                    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
                    if done.returncode:
                        found.append({"five": float("nan"), "error": done.stderr[-300:]})
                        continue
                    found.append(json.loads(done.stdout.splitlines()[-1]))
                rest = {k: v for k, v in found[0].items() if k != "five"}
                warm = (
                    f"{found[1]['five']:.2f} {found[1].get('steps')} {found[1].get('parts')}" if len(found) > 1 else ""
                )
                lines.append(f"| {row} | {side} | {found[0]['five']:.2f} | {warm} | {rest} |")
        return "\n".join(lines)

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(args.at_once) as pool:
        for text in pool.map(one, args.rows.split(",")):
            print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
