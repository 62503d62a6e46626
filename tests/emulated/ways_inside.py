"""What a loop may do in the midst of a forward whose program was begun before Python came there: looks, writes, other ways.

Each is a function of the network, the hidden values, the iteration and its batch, and gives the hidden values that go on.
A network has running statistics `means`, a layer `a` before them, and a list `told` of what was seen.
"""

from __future__ import annotations

import threading
from typing import Any

import rushlight as rl


def nothing(net: Any, h: Any, i: int, x: Any) -> Any:
    return h


def another_way(net: Any, h: Any, i: int, x: Any) -> Any:
    return h * 3 if i % 6 == 5 else h


def two_ways(net: Any, h: Any, i: int, x: Any) -> Any:
    return h.sigmoid() if i % 2 else h.exp()


def look_at_means(net: Any, h: Any, i: int, x: Any) -> Any:
    if i % 5 == 4:
        net.told.append(net.means.running_mean.tolist())
    return h


def use_means(net: Any, h: Any, i: int, x: Any) -> Any:
    return h + net.means.running_var[0] if i % 5 == 4 else h


def count_batches(net: Any, h: Any, i: int, x: Any) -> Any:
    if i % 5 == 4:
        net.told.append(net.means.num_batches_tracked + 1)
    return h


def forget_means(net: Any, h: Any, i: int, x: Any) -> Any:
    if i % 8 == 7:
        net.means.reset_running_stats()
    return h


def keep(net: Any, h: Any, i: int, x: Any) -> Any:
    net.told.append(h.detach() if i % 4 == 3 else None)
    return h


def give_up(net: Any, h: Any, i: int, x: Any) -> Any:
    if i % 6 == 5:
        raise KeyError("enough of this batch")
    return h


def write_earlier_weights(net: Any, h: Any, i: int, x: Any) -> Any:
    if i % 6 == 5:
        with rl.no_grad():
            net.a.weight.mul_(0.5)
    return h


def other_thread(net: Any, h: Any, i: int, x: Any) -> Any:
    if i % 6 == 5:
        t = threading.Thread(target=lambda: net.told.append((net.means.running_var * 2).tolist()))
        t.start()
        t.join()
    return h


EVERYWHERE = (
    nothing, another_way, two_ways, look_at_means, use_means, count_batches, forget_means, keep, give_up,
    write_earlier_weights, other_thread,
)  # fmt: skip
