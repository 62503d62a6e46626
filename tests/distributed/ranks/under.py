"""Run by launchers that know nothing of rushlight: the five variables decide, as in PyTorch's tutorials."""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train() -> list[float]:
    """Losses of the whole batch of 8 in every step, whatever the number of ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    model = DistributedDataParallel(net) if size > 1 else net
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True)
    losses = []
    for step in range(8):
        rows = slice(step % 4 * 8 + rank, step % 4 * 8 + 8, size)
        loss = torch.nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        whole = loss.detach().clone()
        dist.all_reduce(whole)
        losses.append(whole.item() / size)
    return losses


def exchanged() -> list[int]:
    """The bytes of each exchange of a step, in buckets of 4 MB."""
    from rushlight.runtime.door import listening

    sizes = []

    class Counts:
        def __call__(self, kernel, arrays, attrs, call):
            return call()

        def exchanged(self, name, begin, seconds, size):
            sizes.append(size)

    net = DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(12)]), bucket_cap_mb=4)
    net(torch.ones(1, 512)).sum().backward()
    with listening(Counts()):
        net(torch.ones(1, 512)).sum().backward()
    return sizes


def wait_for_a_death() -> None:
    """Meet the others again and again until one of them is gone; say when that was heard, and which it was."""
    rank = dist.get_rank()
    print(f"rank {rank} is process {os.getpid()}", flush=True)
    try:
        while True:
            dist.all_reduce(torch.ones(1))
    except RuntimeError as error:
        print(f"rank {rank} told at {time.time()}: {error}", flush=True)
        sys.stdout.flush()
        os._exit(4)


def main() -> None:
    dist.init_process_group("gloo")
    losses = train()
    print(f"losses {losses}", flush=True)
    if "count" in sys.argv:
        print(f"exchanged {exchanged()}", flush=True)
    if "wait" in sys.argv:
        wait_for_a_death()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
