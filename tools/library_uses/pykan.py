"""Uses of pykan: networks whose edges are splines."""

import torch
from kan import KAN

LIBRARY = "pykan"
REQUIRES = ["matplotlib", "scikit-learn", "pandas", "tqdm", "sympy", "pyyaml"]


def splines_trained() -> object:
    model = KAN(width=[2, 4, 1], grid=3, k=3, seed=0, auto_save=False)
    x = torch.rand(64, 2) * 2 - 1
    y = torch.exp(torch.sin(torch.pi * x[:, :1]) + x[:, 1:] ** 2)
    told = {"train_input": x, "train_label": y, "test_input": x, "test_label": y}
    first = model(x)
    losses = model.fit(told, opt="Adam", steps=5, lr=0.01, update_grid=True)
    return (
        first,
        torch.tensor(
            losses["train_loss"].tolist()
            if hasattr(losses["train_loss"], "tolist")
            else [float(v) for v in losses["train_loss"]]
        ),
        model(x),
    )
