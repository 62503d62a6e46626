"""Datasets, samplers and loaders, and loops over them."""

from collections.abc import Iterator

import numpy as np

import rushlight as torch
from rushlight.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset, random_split


class Squares(Dataset[tuple[torch.Tensor, int]]):
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.tensor([float(index), index**2]), index % 2


class Plain(Dataset[float]):
    def __init__(self) -> None:
        self.x = np.arange(6.0)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> float:
        return float(self.x[i])


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(5))


def collate(rows: list[tuple[torch.Tensor, int]]) -> tuple[torch.Tensor, torch.Tensor]:
    xs, ys = zip(*rows)
    return torch.stack(list(xs)), torch.tensor(ys)


data = Squares(10)
train, test = random_split(data, [8, 2], generator=torch.Generator().manual_seed(0))
loader = DataLoader(train, batch_size=4, shuffle=True, num_workers=0, drop_last=False, collate_fn=collate)
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        print(epoch, i, x.mean().item(), y.sum().item())
print(len(loader), len(test), len(Subset(data, [1, 2])))
for number in DataLoader(Stream(), batch_size=None):
    print(number)
for row in DataLoader(Plain(), batch_size=2):
    print(row)
both = TensorDataset(torch.randn(4, 2), torch.arange(4))
x0, y0 = both[0]
batch = next(iter(DataLoader(both, batch_size=2)))
inputs, labels = batch
weights = torch.utils.data.WeightedRandomSampler([0.1, 0.9, 0.5, 0.5], num_samples=4)
print(x0, y0, inputs, labels, list(weights))
