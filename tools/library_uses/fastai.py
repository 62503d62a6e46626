"""Uses of fastai."""

import fastai.callback.progress
import fastai.callback.schedule  # noqa: F401 - both add methods to Learner
import torch
from fastai.basics import DataLoader, DataLoaders, Learner, accuracy
from fastai.optimizer import Adam
from torch import nn

LIBRARY = "fastai"


def _learner() -> Learner:
    x = torch.randn(32, 4)
    rows = [(row, int(row.sum() > 0)) for row in x]
    loaders = DataLoaders(DataLoader(rows, bs=8), DataLoader(rows, bs=8))
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    return Learner(loaders, net, loss_func=nn.CrossEntropyLoss(), metrics=accuracy, opt_func=Adam)


def training_in_one_cycle() -> object:
    learner = _learner()
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(2, 1e-2)
    return list(learner.recorder.losses), [list(row) for row in learner.recorder.values]


def saved_and_loaded() -> object:
    learner = _learner()
    with learner.no_bar(), learner.no_logging():
        learner.fit(1, 1e-2)
    learner.save("kept")
    other = _learner().load("kept")
    return other.model(torch.ones(1, 4)), learner.model(torch.ones(1, 4))
