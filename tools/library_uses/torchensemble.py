"""Uses of torchensemble: several nets that vote."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchensemble import BaggingClassifier, GradientBoostingRegressor, VotingClassifier

LIBRARY = "torchensemble"


class _Net(nn.Module):
    def __init__(self, out: int = 3) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


def _data() -> tuple:
    x = torch.randn(48, 4)
    return x, x.argmax(1).clamp(max=2)


def _fitted(kind: type) -> object:
    x, y = _data()
    model = kind(estimator=_Net, n_estimators=2, cuda=False, n_jobs=1)
    model.set_criterion(nn.CrossEntropyLoss())
    model.set_optimizer("Adam", lr=0.01)
    model.fit(DataLoader(TensorDataset(x, y), 16), epochs=2, save_model=False)
    return model.predict(x[:5])


def voting() -> object:
    return _fitted(VotingClassifier)


def bagging() -> object:
    return _fitted(BaggingClassifier)


def boosting() -> object:
    x, _ = _data()
    model = GradientBoostingRegressor(estimator=_Net, estimator_args={"out": 1}, n_estimators=2, cuda=False)
    model.set_criterion(nn.MSELoss())
    model.set_optimizer("SGD", lr=0.05)
    model.fit(DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 16), epochs=2, save_model=False)
    return model.predict(x[:5])
