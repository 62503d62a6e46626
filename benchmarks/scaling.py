"""Several ranks: what they cost and gain here, and a model of what they would on eight GPUs and 128 hosts.

    python benchmarks/scaling.py --measure --out benchmarks/results/scaling-DATE-MACHINE.json     needs rushlight[mpi]; nothing else may run
    python benchmarks/scaling.py --measure --device cuda --out ...     NCCL with one rank, two ranks on one GPU through the host
    python benchmarks/scaling.py --model --picture docs/scaling.png

The rows of --measure: seconds of an all-reduce by size (latency and bandwidth are fitted to them), a step of
ResNet-18 (on a GPU ResNet-50) and its three parts by one process of two threads and by two ranks of one thread, and
what DDP adds at one rank, without and with the exchange. Sides take turns in fresh processes; figures are medians.
What is fitted: the link, the shares of backward and update, the part of the exchange that backward hides, and what
DDP's buckets cost by themselves. `--model` takes the newest measurement of each device among benchmarks/results (or what
`--fitted FILE` names), fits again, and says what of its predictions was measured and what is assumed.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import compact  # noqa: E402
from scaling_model import (
    NETWORK_BYTES,
    Link,
    buckets,
    cost_of_buckets,
    draw,
    fitted,
    predictions,
    ring,
    shares,
    table,
    told,
)

SIZES = (4 << 10, 64 << 10, 1 << 20, 4 << 20, 24 << 20)
ROUNDS = 5
RESULTS = Path(__file__).parent / "results"
WORKER = "RUSHLIGHT_SCALING_WORKER"


# -- what a worker does -----------------------------------------------------------------------------


def all_reduces(device: str) -> dict[str, Any]:
    """Median seconds of an all-reduce by bytes."""
    import rushlight as rl
    import rushlight.distributed as dist

    found = {}
    for size in SIZES:
        x = rl.ones(size // 4, device=device)
        times = []
        for _ in range(ROUNDS * 3):
            dist.barrier()
            begin = time.perf_counter()
            dist.all_reduce(x)
            if device != "cpu":
                rl.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        found[str(size)] = statistics.median(times)
    return found


def captured_all_reduce() -> dict[str, Any]:
    """NCCL inside a compiled step: one rank, gradients of GPT-2's size."""
    import rushlight as rl
    import rushlight.distributed as dist

    x = rl.ones(124_000_000, device="cuda")
    y = rl.ones(1000, device="cuda")

    def step(t: Any) -> Any:
        dist.all_reduce(x)
        return (t * 2).sum()

    compiled = rl.compile(step, fullgraph=True)
    for _ in range(6):
        compiled(y)
    rl.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(20):
        compiled(y)
    rl.cuda.synchronize()
    return {"captured_ms": (time.perf_counter() - begin) / 20 * 1e3, "value": float(x[0])}


def steps(batch: int, wrap: bool, device: str, exchange: bool = False) -> dict[str, float]:
    """Median seconds of a training step and of its forward, backward and update."""
    import rushlight as rl
    import rushlight.distributed as dist
    from rushlight import nn
    from rushlight.vision import models

    rl.manual_seed(0)
    net = getattr(models, "resnet18" if device == "cpu" else "resnet50")(num_classes=10).to(device)
    if wrap:
        nn.parallel.DistributedDataParallel.reduces_alone = exchange
        net = nn.parallel.DistributedDataParallel(net)
    optimizer = rl.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    size = 64 if device == "cpu" else 224
    x, y = rl.randn(batch, 3, size, size, device=device), rl.randint(0, 10, (batch,), device=device)
    ready = rl.cuda.synchronize if device != "cpu" else (lambda: None)
    rows = []
    for _ in range(2 + ROUNDS):
        if dist.is_initialized() and dist.get_world_size() > 1:
            dist.barrier()
        times = [time.perf_counter()]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        for part in (lambda: None, loss.backward, optimizer.step):
            part()
            ready()
            times.append(time.perf_counter())
        rows.append([times[-1] - times[0], *[b - a for a, b in itertools.pairwise(times)]])
    middle = [statistics.median(column) for column in zip(*rows[2:])]
    return dict(zip(("step", "forward", "backward", "update"), middle))


def worker(job: dict[str, Any]) -> None:
    """One rank's part of a row; the first rank prints it."""
    import rushlight.distributed as dist

    if job["ranks"] > 1 or job.get("wrap") or job["kind"] != "steps":
        dist.init_process_group("nccl" if job["device"] != "cpu" and job["ranks"] == 1 else "gloo",
                                **({} if job["ranks"] > 1 else {"rank": 0, "world_size": 1}))  # fmt: skip
    if job["kind"] == "all_reduce":
        found: Any = all_reduces(job["device"])
    elif job["kind"] == "captured":
        found = captured_all_reduce()
    else:
        found = steps(job["batch"], job["wrap"], job["device"], job.get("exchange", False))
    if job["ranks"] == 1 or dist.get_rank() == 0:
        print("RESULT", json.dumps(found), flush=True)


# -- who starts them --------------------------------------------------------------------------------


def run(job: dict[str, Any], threads: int) -> Any:
    """A row in fresh processes."""
    command = [sys.executable]
    if job["ranks"] > 1:
        command += ["-m", "rushlight", "launch", "--plain", "--nproc-per-node", str(job["ranks"]), "--no-python", sys.executable]  # fmt: skip
    env = {**os.environ, WORKER: json.dumps(job), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([*command, __file__], env=env, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line.removeprefix("RESULT "))
    raise SystemExit(f"a worker failed:\n{done.stdout}{done.stderr}")


def machine(device: str) -> str:
    """What this machine is called in tables."""
    if device != "cpu":
        import rushlight as rl

        return rl.cuda.get_device_name()
    return f"{os.cpu_count()} cores, {platform.machine()}"


def measure(device: str, batch: int) -> dict[str, Any]:
    """All rows, sides taking turns."""
    base = {"device": device}
    rows: dict[str, Any] = {"device": device, "machine": machine(device), "date": str(datetime.date.today()),
                            "batch": batch, "load": os.getloadavg()}  # fmt: skip
    rows["all_reduce"] = run({**base, "kind": "all_reduce", "ranks": 2}, 1)
    if device != "cpu":
        rows["nccl_alone"] = run({**base, "kind": "all_reduce", "ranks": 1}, 2)
        rows["nccl_captured"] = run({**base, "kind": "captured", "ranks": 1}, 2)
    half, whole = {**base, "kind": "steps", "batch": batch // 2}, {**base, "kind": "steps", "batch": batch}
    sides: dict[str, tuple[dict[str, Any], int]] = {
        "one_process": ({**whole, "ranks": 1, "wrap": False}, 2),
        "two_ranks": ({**half, "ranks": 2, "wrap": True}, 1),
        "plain": ({**half, "ranks": 1, "wrap": False}, 1),
        "ddp_alone": ({**half, "ranks": 1, "wrap": True}, 1),
        "ddp_exchanging": ({**half, "ranks": 1, "wrap": True, "exchange": True}, 1),
    }
    taken: dict[str, list[Any]] = {name: [] for name in sides}
    for _ in range(3):
        for name, (job, threads) in sides.items():
            taken[name].append(run(job, threads))
    for name, found in taken.items():
        rows[name] = {k: statistics.median(f[k] for f in found) for k in found[0]}
    rows.update(fit(rows))
    return rows


def fit(rows: dict[str, Any]) -> dict[str, Any]:
    """The model's numbers from the measured ones, and what it makes of them."""
    latency, speed = fitted({int(k): v for k, v in rows["all_reduce"].items()})
    plain, two = rows["plain"], rows["two_ranks"]["step"]
    link = Link(latency, speed)
    total = NETWORK_BYTES[rows["device"].partition(":")[0]]
    exchange = sum(ring(part, 2, link) for part in buckets(total))
    extra = cost_of_buckets(rows)
    # two ranks on one GPU share it: what they compute together is the step of one process with both batches
    alone = plain["step"] if rows["device"] == "cpu" else rows["one_process"]["step"]
    hidden = min(max(1 - (two - alone - extra) / exchange, 0.0), 1.0)
    found = {f"{part}_share": statistics.median(shares(rows, part)) for part in ("backward", "update")}
    return {
        "latency_s": latency, "bytes_per_s": speed, **found, "buckets_s": extra, "exchange_s": exchange,
        "hidden_share": hidden, "two_ranks_without_overlap_s": alone + extra + exchange,
        "two_ranks_throughput": rows["one_process"]["step"] / two, "ddp_cost": rows["ddp_alone"]["step"] / plain["step"] - 1,
    }  # fmt: skip


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--measure", action="store_true")
    p.add_argument("--device", default="cpu")
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--out")
    p.add_argument("--model", action="store_true")
    p.add_argument("--fitted", help="what --measure --device cuda --out wrote: its shares instead of assumed ones")
    p.add_argument("--picture")
    args = p.parse_args()
    if args.measure:
        rows = measure(args.device, args.batch)
        print(json.dumps(rows, indent=1))
        if args.out:
            compact.write(args.out, rows)
    if args.model or args.picture:
        model(args.fitted, args.picture)


def newest(kind: str) -> dict[str, Any] | None:
    """The newest measurement of a kind of device among the results."""
    found = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    found = [{**r, **fit(r)} for r in found if isinstance(r, dict) and "two_ranks" in r]
    mine = [rows for rows in found if rows["device"].partition(":")[0] == kind]
    return max(mine, key=lambda rows: rows["date"]) if mine else None


def model(path: str | None, picture: str | None) -> None:
    """Print what is predicted, and what that rests on."""
    gpu = newest("cuda")
    if path:
        rows = json.loads(Path(path).read_text())
        gpu = {**rows, **fit(rows)}
    cpu = newest("cpu")
    found = predictions(gpu)
    print(told(gpu, cpu), table(found), sep="\n\n")
    if picture:
        draw(found, picture, gpu, cpu)


if __name__ == "__main__":
    if WORKER in os.environ:
        worker(json.loads(os.environ[WORKER]))
    else:
        main()
