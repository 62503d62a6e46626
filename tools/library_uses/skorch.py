"""Uses of skorch."""

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier, NeuralNetRegressor
from torch import nn

LIBRARY = "skorch"


class _Net(nn.Module):
    def __init__(self, width: int = 8, out: int = 2) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


def _data() -> tuple:
    x = np.random.default_rng(0).standard_normal((40, 4)).astype("f")
    return x, (x.sum(1) > 0).astype("int64")


def classification() -> object:
    net = NeuralNetClassifier(
        _Net, criterion=nn.CrossEntropyLoss, max_epochs=4, lr=0.2, verbose=0, batch_size=8
    )
    net.fit(*_data())
    return net.history[:, "train_loss"], net.history[:, "valid_acc"], net.predict(_data()[0])


def a_search_of_widths() -> object:
    net = NeuralNetClassifier(
        _Net, criterion=nn.CrossEntropyLoss, max_epochs=2, verbose=0, train_split=None
    )
    search = GridSearchCV(net, {"module__width": [4, 8]}, cv=2, scoring="accuracy")
    search.fit(*_data())
    return search.cv_results_["mean_test_score"]


def regression_saved_and_loaded() -> object:
    x, y = _data()
    net = NeuralNetRegressor(_Net, module__out=1, max_epochs=2, verbose=0)
    net.fit(x, y.astype("f")[:, None])
    net.save_params(f_params="p.pt")
    other = NeuralNetRegressor(_Net, module__out=1).initialize()
    other.load_params(f_params="p.pt")
    return other.predict(x[:3])
