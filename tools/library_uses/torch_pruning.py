"""Uses of torch-pruning: channels that belong together, found from the graph of a network."""

import torch
import torch_pruning as tp

LIBRARY = "torch-pruning"


class _Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.n, self.head = nn.BatchNorm2d(8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.a(x))
        x = torch.relu(self.n(self.b(x)) + x)
        return self.head(x.mean((2, 3)))


def groups_of_layers() -> object:
    net, x = _Net().eval(), torch.randn(1, 3, 8, 8)
    graph = tp.DependencyGraph().build_dependency(net, example_inputs=x)
    group = graph.get_pruning_group(net.a, tp.prune_conv_out_channels, idxs=[1, 3])
    group.prune()
    return [p.shape for p in net.parameters()], net(x)


def half_of_the_channels() -> object:
    net, x = _Net().eval(), torch.randn(1, 3, 8, 8)
    pruner = tp.pruner.MagnitudePruner(
        net, x, importance=tp.importance.MagnitudeImportance(p=2), pruning_ratio=0.5, ignored_layers=[net.head]
    )
    pruner.step()
    return [p.shape for p in net.parameters()], net(x), tp.utils.count_ops_and_params(net, x)
