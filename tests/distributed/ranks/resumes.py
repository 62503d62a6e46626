"""Run by the launcher: trains with a checkpoint after every step, and goes on from it when started again.

TEST_DIES="rank step point": that rank is killed before computation number `point` of that step, saving included.
"""

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

folder, steps = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
with open(os.path.join(folder, f"pid-{rank}.part"), "w") as f:
    f.write(f"{os.getpid()} {dist.get_world_size()}")
os.replace(f.name, os.path.join(folder, f"pid-{rank}"))
torch.manual_seed(0)
model = DDP(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
path, first = os.path.join(folder, "last.pt"), 0
if os.path.exists(path):
    saved = torch.load(path, weights_only=True)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    first = saved["step"]
if rank == 0:
    print("segment", first, dist.get_world_size(), flush=True)
dies = [int(word) for word in os.environ.get("TEST_DIES", "-1 0 0").split()]
points = 0


def listener(kernel, arrays, attrs, call):
    global points
    if points == dies[2]:
        os.kill(os.getpid(), signal.SIGKILL)
    points += 1
    return call()


for step in range(first, steps):
    if dies[:2] == [rank, step]:
        __import__("rushlight.runtime.door").runtime.door.add_listener(listener)
    g = torch.Generator().manual_seed(step * 2 + rank)
    loss = (model(torch.randn(8, 4, generator=g)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, path)
    dist.barrier()
    if dies[:2] == [rank, step]:
        print("points", points, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if "slowly" in sys.argv:
        __import__("time").sleep(0.01)
print("weights", [repr(v) for v in model.module.weight.detach().flatten().tolist()])
