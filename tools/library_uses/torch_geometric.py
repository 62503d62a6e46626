"""Uses of torch_geometric."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool

LIBRARY = "torch-geometric"
EDGES = torch.tensor([[0, 1, 1, 2, 3, 0], [1, 0, 2, 1, 0, 3]])


def convolutions() -> object:
    x = torch.randn(4, 3)
    layers = GCNConv(3, 5), GATConv(3, 4, heads=2), SAGEConv(3, 4)
    return [layer(x, EDGES) for layer in layers]


def training_on_a_graph() -> object:
    x, y = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
    one, two = GCNConv(3, 8), GCNConv(8, 2)
    optimizer = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.05)
    losses = []
    for _ in range(4):
        loss = torch.nn.functional.cross_entropy(two(one(x, EDGES).relu(), EDGES), y)
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        losses.append(loss)
    return losses


def batches_of_graphs() -> object:
    graphs = [Data(x=torch.randn(4, 3), edge_index=EDGES) for _ in range(4)]
    found = [global_mean_pool(b.x, b.batch) for b in DataLoader(graphs, batch_size=2)]
    return found, Batch.from_data_list(graphs).num_edges
