"""Uses of torch-lr-finder."""

import torch
from torch_lr_finder import LRFinder

LIBRARY = "torch-lr-finder"


def a_search_of_rates() -> object:
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    finder = LRFinder(net, torch.optim.SGD(net.parameters(), lr=1e-4), torch.nn.MSELoss(), device="cpu")
    finder.range_test(loader, end_lr=1, num_iter=12)
    finder.reset()
    return finder.history["lr"], finder.history["loss"], net(torch.ones(1, 4))
