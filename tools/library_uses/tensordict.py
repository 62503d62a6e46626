"""Uses of tensordict: tensors with names, of one batch."""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn

LIBRARY = "tensordict"


def modules_by_names() -> object:
    first = TensorDictModule(nn.Linear(3, 5), in_keys=["x"], out_keys=["h"])
    net = TensorDictSequential(first, TensorDictModule(nn.Linear(5, 2), in_keys=["h"], out_keys=["z"]))
    out = net(TensorDict({"x": torch.randn(6, 3)}, batch_size=[6]))
    out["z"].square().sum().backward()
    params = TensorDict.from_module(net)
    with params.data.zero_().to_module(net):
        zeroed = net(TensorDict({"x": torch.ones(1, 3)}, batch_size=[1]))["z"]
    return out["h"], out["z"], [p.grad for p in net.parameters()], zeroed
