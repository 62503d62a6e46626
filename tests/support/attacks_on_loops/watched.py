"""Programs in which Python looks at a pass while it goes on: hooks, derivatives of users, tables of an optimiser."""

from __future__ import annotations

from typing import Any

from attacks_on_loops.common import attack, see, train
from rushlight import optim


@attack
def groups_that_change_places(net) -> Any:
    groups = [{"params": [p], "lr": 0.05 * (i + 1)} for i, p in enumerate(net.parameters())]
    opt = optim.SGD(groups, momentum=0.5)

    def change(i: int, where: str) -> None:
        g = opt.param_groups
        if where != "begin":
            return
        if i == 8:
            g.reverse()
        if i == 11:
            g[0]["params"], g[1]["params"] = g[1]["params"], g[0]["params"]
        if i == 14:
            g[0]["lr"], g[1]["lr"] = g[1]["lr"], g[0]["lr"]
        if i == 17:
            del g[2]

    return train(net, opt, [], change), see(net, opt)
