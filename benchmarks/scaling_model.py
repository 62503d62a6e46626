"""A model of data-parallel steps: buckets that become ready during backward, a network that carries one at a time.

A step of one GPU is measured. Gradients become ready evenly over its backward pass, in buckets of 25 MB (the
first of 1 MB). An all-reduce of B bytes over n ranks by a ring takes

    2 (n - 1) latency + 2 (n - 1) / n * B / bandwidth

and over hosts it is done in two levels: reduce-scatter and all-gather inside a host, and between hosts every GPU
carries its share by its own part of the host's network. Buckets wait for each other; the step ends when both the
backward pass and the last bucket have, and the optimiser's part follows. What is not hidden is the cost.

`scaling.py --measure` gives it numbers: those of two ranks on a CPU say how well the forms above fit (`check`), those
of a GPU replace the shares of a step and the cost of buckets that are assumed otherwise (`fitted_to`).
"""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple


class Network(NamedTuple):
    """What one step of one GPU takes, in seconds, and what has to be exchanged."""

    name: str
    parameters: int
    bytes_each: int  # of a gradient on its way
    step_s: float
    backward_share: float = 0.6  # assumed unless fitted, as is the optimiser's
    update_share: float = 0.05
    buckets_s: float = 0.0  # what copying into buckets costs by itself
    call_s: float = 0.0  # what an all-reduce takes before a byte moves


class Link(NamedTuple):
    """A way between ranks: latency of one message and bytes a second in one direction."""

    latency_s: float
    bytes_per_s: float


# Measured on the H200 (benchmarks/results/h200.md): compiled steps of one GPU.
NETWORKS = (
    Network("ResNet-50, 128 x 224 px", 25_557_032, 4, 17.3e-3),
    Network("GPT-2 124M, 8 x 1024", 124_439_808, 4, 17.2e-3),
    Network("GPT-2 124M, 8 x 1024, bf16 on the way", 124_439_808, 2, 17.2e-3),
)
# Not measured: NVIDIA's data sheets; the 0.8 and the latencies are assumptions.
ASSUMED = ("backward is 60 % and the optimiser 5 % of a step", "buckets cost nothing by themselves")
OTHERS_SHARES = "GPT-2 has ResNet-50's shares, a compiled step those of an eager one"
NEVER_MEASURED = (
    "links of the data sheets times 0.8",
    "5 microseconds a message inside a host and 15 between hosts",
    "logarithmic rounds between hosts",
    "no rank later than another",
)
NETWORK_BYTES = {"cpu": 4 * 11_181_642, "cuda": 4 * 23_528_522}  # measured: ResNet-18 and -50, ten classes
NVLINK = Link(5e-6, 0.8 * 450e9)  # H200: 900 GB/s in both directions together
NETWORK = Link(15e-6, 0.8 * 400e9)  # of a host: eight network cards of 400 Gbit/s, one for each GPU
ONE_CARD = Link(15e-6, 0.8 * 12.5e9)  # of a host: one card of 100 Gbit/s


def fitted(seconds: dict[int, float]) -> tuple[float, float]:
    """Latency and bytes a second of two ranks by least squares over relative errors: t = 2 a + B / b."""
    rows = [(1.0 / t, size / t) for size, t in seconds.items()]  # each row times 1/t: relative errors
    a11 = sum(x * x for x, _ in rows)
    a12 = sum(x * y for x, y in rows)
    a22 = sum(y * y for _, y in rows)
    b1, b2 = sum(x for x, _ in rows), sum(y for _, y in rows)
    det = a11 * a22 - a12 * a12
    fixed, per_byte = (b1 * a22 - b2 * a12) / det, (a11 * b2 - a12 * b1) / det
    return max(fixed, 0.0) / 2, 1.0 / max(per_byte, 1e-30)


def ring(size: float, ranks: int, link: Link) -> float:
    """Seconds of an all-reduce by a ring."""
    if ranks == 1:
        return 0.0
    return 2 * (ranks - 1) * link.latency_s + 2 * (ranks - 1) / ranks * size / link.bytes_per_s


def all_reduce(size: float, gpus: int, hosts: int, inside: Link, between: Link) -> float:
    """Seconds of an all-reduce over hosts of some GPUs each, in two levels."""
    steps = 2 * (hosts - 1)  # a tree halves the latency's part of many hosts: log2 rounds instead of n
    rounds = min(steps, 2 * max(hosts - 1, 1).bit_length())
    across = 0.0
    if hosts > 1:
        across = rounds * between.latency_s + 2 * (hosts - 1) / hosts * size / between.bytes_per_s
    return ring(size, gpus, inside) + across


def buckets(total: float, first: float = 1 << 20, each: float = 25 << 20) -> list[float]:
    found = [min(first, total)]
    left = total - found[0]
    while left > 0:
        found.append(min(each, left))
        left -= found[-1]
    return found


def step(net: Network, gpus: int, hosts: int, inside: Link, between: Link) -> dict[str, float]:
    """Seconds of a step, and of its parts that are not hidden."""
    total = net.parameters * net.bytes_each
    forward = net.step_s * (1 - net.backward_share - net.update_share)
    backward = net.step_s * net.backward_share
    parts = buckets(total)
    free, sent = forward, 0.0
    for part in parts:
        sent += part
        ready = forward + backward * sent / total
        free = max(free, ready)
        if gpus * hosts > 1:
            free += net.call_s + all_reduce(part, gpus, hosts, inside, between)
    end = max(forward + backward, free)
    exposed = end - forward - backward
    exposed = max(exposed, 0.0) + net.buckets_s * (gpus * hosts > 1)
    return {"seconds": net.step_s + exposed, "exposed": exposed, "efficiency": net.step_s / (net.step_s + exposed)}


SIDES = ("plain", "ddp_alone", "one_process")  # without an exchange: their parts are a step's own


def shares(measured: dict[str, Any], part: str) -> list[float]:
    """A part's share of a step, by each side that was measured by itself: their median is taken, their range told."""
    found = [measured[side] for side in SIDES]
    return [side[part] / (side["forward"] + side["backward"] + side["update"]) for side in found]


def cost_of_buckets(measured: dict[str, Any]) -> float:
    """What buckets add to backward; forward, which has none, says how much slower the machine was meanwhile."""
    plain, other = measured["plain"], measured["ddp_exchanging"]
    return max(other["backward"] * plain["forward"] / other["forward"] - plain["backward"], 0.0)


def fitted_to(net: Network, measured: dict[str, Any] | None) -> Network:
    """A network with what `scaling.py --measure` found on a GPU; buckets cost by their bytes."""
    if measured is None:
        return net
    bytes_there = NETWORK_BYTES[measured["device"].partition(":")[0]]
    cost = measured["buckets_s"] * net.parameters * net.bytes_each / bytes_there
    call = measured.get("nccl_captured", {}).get("captured_ms", 0.0) / 1e3
    found = {f"{part}_share": statistics.median(shares(measured, part)) for part in ("backward", "update")}
    return net._replace(buckets_s=cost, call_s=call, **found)


def check(measured: dict[str, Any]) -> dict[str, Any]:
    """What the fitted forms say of what was measured, beside it: seconds by bytes, and of a step of two ranks."""
    link = Link(measured["latency_s"], measured["bytes_per_s"])
    sizes = {int(k): v for k, v in measured["all_reduce"].items()}
    alone = measured["plain" if measured["device"] == "cpu" else "one_process"]["step"]
    exposed = measured["exchange_s"] * (1 - measured["hidden_share"])
    return {
        "all_reduce": [(size, seconds, ring(size, 2, link)) for size, seconds in sizes.items()],
        "step": (measured["two_ranks"]["step"], alone + measured["buckets_s"] + exposed),
    }


def told(gpu: dict[str, Any] | None, cpu: dict[str, Any] | None) -> str:
    """What of the predictions was measured, what was fitted, and what is assumed."""
    lines = [_told_of_two(rows, way) for rows, way in ((cpu, "by MPI"), (gpu, "on one GPU, through the host")) if rows]
    if gpu is not None:
        ranges = {part: shares(gpu, part) for part in ("backward", "update")}
        lines.append(
            f"Measured on a GPU ({gpu['machine']}, {gpu['date']}), median (and range) of {len(SIDES)} sides: "
            + ", ".join(f"{part} {statistics.median(v):.1%} ({min(v):.1%} to {max(v):.1%})" for part, v in ranges.items())
            + f" of a step of ResNet-50; buckets {gpu['buckets_s'] * 1e3:.2f} ms; an all-reduce that moves nothing "
            f"{gpu['nccl_captured']['captured_ms'] * 1e3:.0f} microseconds (NCCL, one rank, inside a CUDA graph)."
        )  # fmt: skip
        lines.append("Assumed: " + OTHERS_SHARES + ".")
    else:
        lines.append("No GPU was measured by scaling.py yet: assumed is that " + ", ".join(ASSUMED) + ".")
    return "\n".join([*lines, "Assumed, never measured: " + "; ".join(NEVER_MEASURED) + "."])


def _told_of_two(rows: dict[str, Any], way: str) -> str:
    """How well the forms fit two ranks."""
    found = check(rows)
    worst = max(abs(model / seconds - 1) for _, seconds, model in found["all_reduce"])
    seconds, model = found["step"]
    return (f"Two ranks {way} ({rows['machine']}, {rows['date']}): {rows['latency_s'] * 1e6:.0f} microseconds a message and "
            f"{rows['bytes_per_s'] / 1e9:.2f} GB/s fit every measured all-reduce to {worst:.0%}; a step of two ranks "
            f"takes {seconds * 1e3:,.0f} ms, the model says {model * 1e3:,.0f} ms ({model / seconds - 1:+.1%}), "
            f"{rows['hidden_share']:.0%} of the exchange hidden.")  # fmt: skip


def bound(net: Network, gpus: int, hosts: int, inside: Link, between: Link, exposed: float) -> str:
    """What a step waits for beyond its own arithmetic: its last bucket, or buckets that queue for the network."""
    if gpus * hosts == 1:
        return "arithmetic"
    last = buckets(net.parameters * net.bytes_each)[-2:]  # a small last one waits for a whole one
    alone = sum(net.call_s + all_reduce(part, gpus, hosts, inside, between) for part in last) + net.buckets_s
    return "the network" if exposed > alone else "the last bucket"


def predictions(measured: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The table: every network on one host of 1 to 8 GPUs and on up to 128 such hosts."""
    rows = []
    for net in [fitted_to(n, measured) for n in NETWORKS]:
        for gpus, hosts in ((1, 1), (2, 1), (4, 1), (8, 1), (8, 2), (8, 8), (8, 64), (8, 128)):
            for name, link in (("8 cards of 400 Gbit/s", NETWORK), ("1 card of 100 Gbit/s", ONE_CARD)):
                if hosts == 1 and link is ONE_CARD:
                    continue
                found = step(net, gpus, hosts, NVLINK, link)
                waits = bound(net, gpus, hosts, NVLINK, link, found["exposed"])
                rows.append({"net": net.name, "gpus": gpus * hosts, "hosts": hosts, "network": name if hosts > 1 else "NVLink", "bound": waits, **found})  # fmt: skip
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| network | GPUs | hosts | between them | ms a step | not hidden, ms | efficiency | waits for |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for r in rows:
        lines.append(f"| {r['net']} | {r['gpus']} | {r['hosts']} | {r['network']} | {r['seconds'] * 1e3:.2f} | "
                     f"{r['exposed'] * 1e3:.2f} | {r['efficiency']:.1%} | {r['bound']} |")  # fmt: skip
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: str, gpu: dict[str, Any] | None, cpu: dict[str, Any] | None) -> None:
    """Left: the fitted all-reduce over what was measured; right: predicted efficiency over GPUs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, axes) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=(2, 3))
    for rows_of, colour in ((cpu, "C0"), (gpu, "C1")):
        if rows_of is not None:
            draw_fit(left, rows_of, colour)
    for net in NETWORKS:
        for way, style in (("8 cards of 400 Gbit/s", "-o"), ("1 card of 100 Gbit/s", "--s")):
            mine = [r for r in rows if r["net"] == net.name and r["network"] in ("NVLink", way)]
            axes.plot([r["gpus"] for r in mine], [r["efficiency"] for r in mine], style, ms=4, label=f"{net.name}; {way}")  # fmt: skip
    axes.set_xscale("log", base=2)
    counts = sorted({r["gpus"] for r in rows})
    axes.set_xticks(counts, [f"{n:,}" for n in counts])
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("GPUs (8 to a host)")
    axes.set_ylabel("share of N times one GPU, predicted")
    shares = "as measured on a GPU" if gpu is not None else "assumed"
    axes.set_title(f"Prediction: step measured, its shares {shares}, links assumed", fontsize=8)
    axes.legend(fontsize=7, ncol=2, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def draw_fit(axes: Any, measured: dict[str, Any], colour: str) -> None:
    """Measured all-reduces of two ranks, and the line that was fitted to them."""
    rows = check(measured)["all_reduce"]
    sizes = [size for size, _, _ in rows]
    where = "MPI" if measured["device"] == "cpu" else "one GPU, through the host"
    axes.loglog(sizes, [t * 1e3 for _, t, _ in rows], "o", color=colour, label=f"{measured['machine']} ({where})")
    axes.loglog(sizes, [model * 1e3 for _, _, model in rows], "-", color=colour, label="fitted")
    axes.set_xticks([2.0**k for k in (12, 16, 20, 22, 25)], ["4 KB", "64 KB", "1 MB", "4 MB", "32 MB"])
    axes.set_yticks([0.05, 0.2, 1, 5, 20], ["0.05", "0.2", "1", "5", "20"])
    axes.minorticks_off()
    axes.set_xlabel("size")
    axes.set_ylabel("ms of an all-reduce, two ranks")
    axes.set_title(f"Measured and fitted, {measured['date']}", fontsize=8)
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)
