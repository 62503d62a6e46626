"""Uses of rtdl-num-embeddings: numbers of a table as vectors."""

import torch
from rtdl_num_embeddings import LinearReLUEmbeddings, PeriodicEmbeddings, PiecewiseLinearEmbeddings, compute_bins

LIBRARY = "rtdl-num-embeddings"


def columns_as_vectors() -> object:
    x = torch.randn(40, 3)
    layers = (
        PeriodicEmbeddings(3, 8, lite=False),
        LinearReLUEmbeddings(3, 8),
        PiecewiseLinearEmbeddings(compute_bins(x, n_bins=6), 8, activation=False, version="B"),
    )
    outputs = [layer(x) for layer in layers]
    sum(y.square().mean() for y in outputs).backward()
    return [y[0] for y in outputs], [p.grad.norm() for layer in layers for p in layer.parameters()]
