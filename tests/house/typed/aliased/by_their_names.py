"""A script for PyTorch, as checkers see it with the stubs of `rushlight stubs`; lines that end in `# wrong` they must refuse."""

from typing import assert_type

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.norm(self.fc(x)))


net = Net()
a = torch.ones(3, 4)
assert_type(net.fc.weight, nn.Parameter)
assert_type(net.norm.running_mean, torch.Tensor)
assert_type(net(a), torch.Tensor)
assert_type(a.max(), torch.Tensor)
assert_type(a.max(0).values, torch.Tensor)
assert_type(torch.max(a, 1).indices, torch.Tensor)
assert_type(a.topk(2).values, torch.Tensor)
assert_type(torch.__version__, str)
assert_type(torchvision.models.resnet18(), torchvision.models.ResNet)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
StepLR(optimizer, step_size=2)
for batch in DataLoader(TensorDataset(a)):
    net(*batch)
net("text")  # wrong
net.fc.weight.no_such_method()  # wrong
torch.ones(3).max(0).other  # wrong
