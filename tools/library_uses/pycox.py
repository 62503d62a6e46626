"""Uses of pycox: networks of survival."""

import numpy as np
import torchtuples
from pycox.models import CoxPH, LogisticHazard

LIBRARY = "pycox"


def survival() -> object:
    rng = np.random.default_rng(0)
    x, time = rng.normal(size=(60, 4)).astype("float32"), rng.uniform(0.1, 5, 60).astype("float32")
    event = rng.integers(0, 2, 60).astype("float32")
    cox = CoxPH(torchtuples.practical.MLPVanilla(4, [8], 1, True, 0.1), torchtuples.optim.Adam(0.01))
    log = cox.fit(x, (time, event), 20, 2, verbose=False)
    cox.compute_baseline_hazards()
    steps = LogisticHazard.label_transform(6)
    y = steps.fit_transform(time, event)
    net = torchtuples.practical.MLPVanilla(4, [8], steps.out_features, True)
    hazard = LogisticHazard(net, torchtuples.optim.Adam(0.01), duration_index=steps.cuts)
    hazard.fit(x, y, 20, 2, verbose=False)
    losses = log.to_pandas()["train_loss"].tolist()
    return losses, cox.predict_surv_df(x[:3]).to_numpy()[:5], hazard.predict_surv(x[:5])
