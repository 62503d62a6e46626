"""In the style of PyTorch's ImageNet example: arguments, mp.spawn, one worker per process, meters, a checkpoint."""

import argparse
import os
import shutil

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.parallel
import torch.optim
import torch.utils.data
import torch.utils.data.distributed
import torchvision.models as models

parser = argparse.ArgumentParser()
parser.add_argument("--workers-per-node", default=2, type=int)
parser.add_argument("--dist-url", default="tcp://127.0.0.1:23456", type=str)
parser.add_argument("--dist-backend", default="gloo", type=str)
parser.add_argument("--epochs", default=1, type=int)
parser.add_argument("--batch-size", default=8, type=int)
parser.add_argument("--folder", default=".", type=str)
best_acc1 = 0


class Synthetic(torch.utils.data.Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(count, 3, 32, 32, generator=generator)
        self.y = (self.x.mean((1, 2, 3)) > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0.0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    def all_reduce(self):
        total = torch.tensor([self.sum, self.count], dtype=torch.float32)
        dist.all_reduce(total, dist.ReduceOp.SUM, async_op=False)
        self.sum, self.count = total.tolist()

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def main():
    args = parser.parse_args()
    args.world_size = args.workers_per_node
    mp.spawn(main_worker, nprocs=args.workers_per_node, args=(args.workers_per_node, args))


def main_worker(worker, per_node, args):
    global best_acc1
    dist.init_process_group(
        backend=args.dist_backend, init_method=args.dist_url, world_size=args.world_size, rank=worker
    )
    torch.manual_seed(1 + worker)
    model = models.squeezenet1_1(num_classes=2)
    model = torch.nn.parallel.DistributedDataParallel(model)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
    train_set, val_set = Synthetic(32), Synthetic(16)
    train_sampler = torch.utils.data.distributed.DistributedSampler(train_set)
    val_sampler = torch.utils.data.distributed.DistributedSampler(val_set, shuffle=False, drop_last=True)
    train_loader = torch.utils.data.DataLoader(
        train_set, batch_size=args.batch_size, shuffle=(train_sampler is None), sampler=train_sampler
    )
    val_loader = torch.utils.data.DataLoader(val_set, batch_size=args.batch_size, sampler=val_sampler)
    for epoch in range(args.epochs):
        train_sampler.set_epoch(epoch)
        model.train()
        losses = AverageMeter()
        for images, target in train_loader:
            loss = criterion(model(images), target)
            losses.update(loss.item(), images.size(0))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        acc1 = validate(val_loader, model)
        scheduler.step()
        is_best = acc1 > best_acc1
        best_acc1 = max(acc1, best_acc1)
        if worker % per_node == 0:
            path = os.path.join(args.folder, "checkpoint.pth.tar")
            torch.save(
                {
                    "epoch": epoch + 1,
                    "state_dict": model.state_dict(),
                    "best_acc1": best_acc1,
                    "optimizer": optimizer.state_dict(),
                },
                path,
            )
            if is_best:
                shutil.copyfile(path, os.path.join(args.folder, "model_best.pth.tar"))
        losses.all_reduce()
    total = torch.stack([p.detach().double().sum() for p in model.parameters()]).sum()
    print(
        f"worker {worker} of {dist.get_world_size()} loss {losses.avg:.6f} accuracy {acc1:.3f} sum {total.item():.9f}",
        flush=True,
    )


def validate(loader, model):
    top1 = AverageMeter()
    model.eval()
    with torch.no_grad():
        for images, target in loader:
            correct = (model(images).argmax(1) == target).float().mean().item()
            top1.update(correct, images.size(0))
    top1.all_reduce()
    return top1.avg


if __name__ == "__main__":
    main()
