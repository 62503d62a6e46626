"""Uses of pytorch-tabnet: attentive networks for tables."""

import numpy as np
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

LIBRARY = "pytorch-tabnet"


def classification() -> object:
    x = np.random.RandomState(0).randn(64, 6).astype(np.float32)
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=1, verbose=0, device_name="cpu")
    model.fit(x, y, eval_set=[(x, y)], max_epochs=3, batch_size=32, virtual_batch_size=16, drop_last=False)
    return model.predict_proba(x[:4]), model.history["loss"]


def regression_and_masks() -> object:
    x = np.random.RandomState(0).randn(48, 5).astype(np.float32)
    y = (x[:, :1] * 2 - x[:, 1:2]).astype(np.float32)
    model = TabNetRegressor(n_d=4, n_a=4, n_steps=2, seed=1, verbose=0, device_name="cpu")
    model.fit(x, y, max_epochs=2, batch_size=24, virtual_batch_size=12, drop_last=False)
    explained, _ = model.explain(x[:3])
    return model.predict(x[:4]), explained
