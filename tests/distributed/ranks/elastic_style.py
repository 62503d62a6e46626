"""A script in the style of torchrun's tutorials: snapshots, restarts, SyncBatchNorm, accumulated gradients."""

import argparse
import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Rings(Dataset):
    def __init__(self, count=46):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(count, 1, 6, 6, generator=g)
        self.y = (self.x.flatten(1).norm(dim=1) > 6).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Trainer:
    def __init__(self, args):
        self.args = args
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.rank = int(os.environ["RANK"])
        self.epochs_run = 0
        torch.manual_seed(42)
        net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, args.epochs)
        self.net = net
        if os.path.exists(args.snapshot):
            self.load()
        self.model = DDP(net)
        data = Rings()
        self.loader = DataLoader(data, batch_size=4, shuffle=False, sampler=DistributedSampler(data), pin_memory=False)

    def load(self):
        snapshot = torch.load(self.args.snapshot, map_location="cpu", weights_only=True)
        self.net.load_state_dict(snapshot["MODEL_STATE"])
        self.optimizer.load_state_dict(snapshot["OPTIMIZER"])
        self.scheduler.load_state_dict(snapshot["SCHEDULER"])
        self.epochs_run = snapshot["EPOCHS_RUN"]
        print(f"Resuming training from snapshot at Epoch {self.epochs_run}")

    def save(self, epoch):
        snapshot = {
            "MODEL_STATE": self.model.module.state_dict(),
            "OPTIMIZER": self.optimizer.state_dict(),
            "SCHEDULER": self.scheduler.state_dict(),
            "EPOCHS_RUN": epoch + 1,
        }
        torch.save(snapshot, self.args.snapshot + ".part")
        os.replace(self.args.snapshot + ".part", self.args.snapshot)

    def epoch(self, epoch):
        self.loader.sampler.set_epoch(epoch)
        self.model.train()
        total = torch.zeros(2)
        for i, (x, y) in enumerate(self.loader):
            last = (i + 1) % self.args.accumulate == 0 or i + 1 == len(self.loader)
            with contextlib.nullcontext() if last else self.model.no_sync():
                loss = F.cross_entropy(self.model(x), y) / self.args.accumulate
                loss.backward()
            total += torch.tensor([loss.item() * len(y), len(y)])
            if last:
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
            if self.args.fail and epoch == 2 and i == 1 and self.rank == 1:
                if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
                    raise RuntimeError("a node was lost")
        self.scheduler.step()
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        return (total[0] / total[1]).item()

    def train(self):
        for epoch in range(self.epochs_run, self.args.epochs):
            loss = self.epoch(epoch)
            if self.rank == 0:
                self.save(epoch)
                print(f"epoch {epoch} loss {loss:.6f}")
            dist.barrier()
        total = sum(p.double().sum() for p in self.model.module.state_dict().values())
        print(f"rank {self.rank} of {dist.get_world_size()} weights {total:.10f}")


@record
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--snapshot")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--fail", action="store_true")
    args = parser.parse_args()
    dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo")
    Trainer(args).train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
