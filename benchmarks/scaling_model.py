"""A model of data-parallel steps: buckets that become ready during backward, a network that carries one at a time.

A step of one GPU is measured. Gradients become ready evenly over its backward pass, in buckets of 25 MB (the
first of 1 MB). An all-reduce of B bytes over n ranks by a ring takes

    2 (n - 1) latency + 2 (n - 1) / n * B / bandwidth

and over hosts it is done in two levels: reduce-scatter and all-gather inside a host, and between hosts every GPU
carries its share by its own part of the host's network. Buckets wait for each other; the step ends when both the
backward pass and the last bucket have, and the optimiser's part follows. What is not hidden is the cost.
"""

from __future__ import annotations

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


class Link(NamedTuple):
    """A way between ranks: latency of one message and bytes a second in one direction."""

    latency_s: float
    bytes_per_s: float


# Measured on the H200 (benchmarks/results/2026-11-15-h200-wave2.md): compiled steps of one GPU.
NETWORKS = (
    Network("ResNet-50, 128 x 224 px", 25_557_032, 4, 17.3e-3),
    Network("GPT-2 124M, 8 x 1024", 124_439_808, 4, 19.7e-3),
    Network("GPT-2 124M, 8 x 1024, bf16 on the way", 124_439_808, 2, 19.7e-3),
)
# Not measured: NVIDIA's data sheets; the 0.8 and the latencies are assumptions.
NVLINK = Link(5e-6, 0.8 * 450e9)  # H200: 900 GB/s in both directions together
NETWORK = Link(15e-6, 0.8 * 400e9)  # of a host: eight network cards of 400 Gbit/s, one for each GPU
ONE_CARD = Link(15e-6, 0.8 * 12.5e9)  # of a host: one card of 100 Gbit/s


def fitted(seconds: dict[int, float]) -> tuple[float, float]:
    """Latency and bytes a second of two ranks by least squares over relative errors: t = 2 a + B / b."""
    rows = [
        (1.0 / t, size / t) for size, t in seconds.items()
    ]  # each row times 1/t: relative errors
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
    steps = 2 * (
        hosts - 1
    )  # a tree halves the latency's part of many hosts: log2 rounds instead of n
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
        free = max(free, ready) + all_reduce(part, gpus, hosts, inside, between)
    end = max(forward + backward, free)
    exposed = end - forward - backward
    exposed = max(exposed, 0.0) + net.buckets_s * (gpus * hosts > 1)
    return {"seconds": net.step_s + exposed, "exposed": exposed, "efficiency": net.step_s / (net.step_s + exposed)}  # fmt: skip


def fitted_to(net: Network, measured: dict[str, Any] | None) -> Network:
    """A network with the shares that `scaling.py --measure` found on a GPU."""
    if measured is None:
        return net
    names = ("backward_share", "update_share", "buckets_s")
    return net._replace(**{name: measured[name] for name in names})


def predictions(measured: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The table: every network on one host of 1 to 8 GPUs and on up to 64 such hosts."""
    rows = []
    for net in [fitted_to(n, measured) for n in NETWORKS]:
        for gpus, hosts in ((1, 1), (2, 1), (4, 1), (8, 1), (8, 2), (8, 8), (8, 64)):
            for name, link in (
                ("8 cards of 400 Gbit/s", NETWORK),
                ("1 card of 100 Gbit/s", ONE_CARD),
            ):
                if hosts == 1 and link is ONE_CARD:
                    continue
                found = step(net, gpus, hosts, NVLINK, link)
                rows.append({"net": net.name, "gpus": gpus * hosts, "hosts": hosts, "network": name if hosts > 1 else "NVLink", **found})  # fmt: skip
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| network | GPUs | hosts | between them | ms a step | not hidden, ms | efficiency |", "|---|---|---|---|---|---|---|"]  # fmt: skip
    for r in rows:
        lines.append(f"| {r['net']} | {r['gpus']} | {r['hosts']} | {r['network']} | {r['seconds'] * 1e3:.2f} | "
                     f"{r['exposed'] * 1e3:.2f} | {r['efficiency']:.1%} |")  # fmt: skip
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: str) -> None:
    """Efficiency over GPUs, a line for each network and way between hosts."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
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
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
