"""In the style of the DDP tutorial: setup and cleanup by MASTER_ADDR, a toy model, saving and loading by rank 0."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = sys.argv[1]
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def cleanup():
    dist.destroy_process_group()


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def demo_checkpoint(rank, world_size, queue):
    setup(rank, world_size)
    ddp_model = DDP(ToyModel())
    path = os.path.join(tempfile.gettempdir(), f"model-{sys.argv[1]}.checkpoint")
    if rank == 0:
        torch.save(ddp_model.state_dict(), path)
    dist.barrier()
    ddp_model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    loss_fn, optimizer = nn.MSELoss(), optim.SGD(ddp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    loss_fn(outputs, torch.randn(20, 5)).backward()
    optimizer.step()
    dist.barrier()
    if rank == 0:
        os.remove(path)
    queue.put((rank, ddp_model.module.net1.weight.detach().sum().item()))
    cleanup()


if __name__ == "__main__":
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(demo_checkpoint, args=(2, queue), nprocs=2, join=True)
    found = dict(queue.get() for _ in range(2))
    assert found[0] == found[1], found
    print("toy model agrees")
