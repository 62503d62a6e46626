"""Uses of rtdl_revisiting_models: nets for tables."""

import torch
from rtdl_num_embeddings import PeriodicEmbeddings, PiecewiseLinearEmbeddings, compute_bins
from rtdl_revisiting_models import FTTransformer, ResNet

LIBRARY = "rtdl-revisiting-models"
REQUIRES = ["rtdl-num-embeddings", "scikit-learn"]


def a_transformer() -> object:
    net = FTTransformer(
        n_cont_features=3, cat_cardinalities=[4, 5], d_out=2, **FTTransformer.get_default_kwargs(n_blocks=1)
    )
    x, c = torch.randn(6, 3), torch.randint(4, (6, 2))
    net.eval()
    y = net(x, c)
    y.square().mean().backward()
    return y, [p.grad.norm() for p in net.parameters() if p.grad is not None]


def numbers_embedded() -> object:
    x = torch.randn(40, 3)
    piecewise = PiecewiseLinearEmbeddings(compute_bins(x, n_bins=5), 4, activation=False, version="B")
    periodic = PeriodicEmbeddings(3, 4, lite=False)
    net = ResNet(
        d_in=3, d_out=1, n_blocks=1, d_block=8, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.1, dropout2=0.0
    )
    return piecewise(x[:4]), periodic(x[:4]), net(x)
