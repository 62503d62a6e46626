"""Tensors that several processes see; run with PyTorch and with rushlight, it prints the same lines."""

from __future__ import annotations

import os
import signal
import sys

if sys.argv[1] == "rushlight":
    import rushlight.cli.scripts.alias

    rushlight.cli.scripts.alias.install()

import torch
import torch.multiprocessing as mp
from torch import nn


def work(rank, net, total, rows, ready, answers, over):
    """Write into what was given, read what came, send something back."""
    total[rank] += rank + 1
    with torch.no_grad():
        net.weight[rank].fill_(rank + 1.0)
    rows[rank][1] = 7
    x, y, turned, half = ready.get()
    x[rank] += rank + 1  # y looks at the same memory; each process has an element of its own
    answers.put((rank, y[rank].item(), turned.stride(), half.dtype == torch.bfloat16, x.is_shared()))
    own = torch.arange(3.0) + rank
    answers.put(own)
    over.wait(600)  # the sender of memory stays until it has arrived


def send(context):
    net = nn.Linear(3, 2, bias=False)
    nn.init.zeros_(net.weight)
    net.share_memory()
    total = torch.zeros(2)
    rows = [torch.zeros(2), torch.zeros(2)]
    ready, answers, over = context.Queue(), context.Queue(), context.Event()
    given = (net, total, rows, ready, answers, over)
    running = [context.Process(target=work, args=(rank, *given)) for rank in range(2)]
    for p in running:
        p.start()
    x = torch.zeros(4)
    y = x[:2]
    turned = torch.zeros(2, 3).t()
    x.share_memory_(), turned.share_memory_()
    y = x[:2]
    for _ in running:
        ready.put((x, y, turned, torch.ones(2, dtype=torch.bfloat16)))
    got = [answers.get(timeout=600) for _ in range(4)]
    over.set()
    for p in running:
        p.join()
    told = [g for g in got if isinstance(g, tuple)]
    print(sorted(t[0] for t in told), sorted(t[1] for t in told)[-1], [t[2:] for t in told])
    print(sorted(g.tolist() for g in got if not isinstance(g, tuple)))
    print([p.exitcode for p in running], x.tolist(), y.tolist())
    # a child that is forked has its own copy of what was not shared before it began
    if context.get_start_method() == "spawn":
        print(total.tolist(), [r.tolist() for r in rows], total.is_shared())
    print(net.weight.tolist(), type(net.weight).__name__, net.weight.requires_grad)


def die(rank):
    if rank:
        os.kill(os.getpid(), signal.SIGKILL)


def squares(x):
    return x * x


if __name__ == "__main__":
    for method in ("spawn", "fork"):
        send(mp.get_context(method))
    y = torch.ones(2, requires_grad=True) * 2
    try:
        mp.reductions.reduce_tensor(y)
    except RuntimeError as e:
        print(str(e)[:30])
    with mp.get_context("fork").Pool(2) as pool:
        print([t.tolist() for t in pool.map(squares, [torch.ones(2) * i for i in range(3)])])
    try:
        mp.spawn(die, nprocs=2)
    except mp.ProcessExitedException as e:
        print(e, e.exit_code, e.signal_name, e.error_index)
    print(sorted(mp.get_all_sharing_strategies()), mp.get_sharing_strategy())
    mp.set_sharing_strategy("file_system")
    print(mp.get_sharing_strategy())
