"""Uses of deepctr-torch: clicks."""

import numpy as np
from deepctr_torch.inputs import DenseFeat, SparseFeat, get_feature_names
from deepctr_torch.models import DCN, AutoInt, DeepFM

LIBRARY = "deepctr-torch"


def clicks() -> object:
    rng = np.random.default_rng(0)
    columns = [SparseFeat("user", 10, 4), SparseFeat("item", 8, 4), DenseFeat("age", 1)]
    rows = {"user": rng.integers(10, size=64), "item": rng.integers(8, size=64), "age": rng.random(64)}
    y, found = rng.integers(2, size=64), []
    assert get_feature_names(columns) == list(rows)
    for kind in (DeepFM, DCN, AutoInt):
        model = kind(columns, columns, task="binary", device="cpu", seed=3, dnn_hidden_units=(8, 8))
        model.compile("adam", "binary_crossentropy", metrics=["auc"])
        model.fit(rows, y, batch_size=16, epochs=2, verbose=0, shuffle=False)
        found.append(model.predict(rows, 32))
    return found
