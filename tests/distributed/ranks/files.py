"""A sharded network, its optimiser and other values, written by all ranks: runs with PyTorch and with rushlight."""

import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
net = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3))
with torch.no_grad():
    for p in net.parameters():
        p.copy_(torch.arange(p.numel()).reshape(p.shape) / 8)
fully_shard(net, mesh=mesh)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.5)
net(torch.ones(2, 5)).sum().backward()
optimizer.step()
model, states = get_state_dict(net, optimizer)
columns = distribute_tensor(torch.arange(12.0).reshape(3, 4), mesh, [Shard(1)])
more = {"list": [1, torch.arange(3), {"a": "b"}], "pair": (0.5, "x"), "half": torch.ones(3, dtype=torch.bfloat16)}
dcp.save({"model": model, "optim": states, "columns": columns, "more": more, "step": 7}, checkpoint_id=sys.argv[1])
wanted = {"model": {k: torch.zeros_like(v) for k, v in model.items()}, "step": 0}
if len(sys.argv) > 2:  # what the other library wrote, into this one's shards
    dcp.load(wanted, checkpoint_id=sys.argv[2])
    same = [torch.allclose(wanted["model"][k].to_local(), v.to_local(), atol=1e-6) for k, v in model.items()]
    print("passed read" if all(same) and wanted["step"] == 7 else f"differs: {same}")
dist.destroy_process_group()
