"""The model of many GPUs (benchmarks/scaling_model.py): what it takes from measured files, and what it makes of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def scaling(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import scaling

    yield scaling
    for name in ("scaling", "scaling_model"):
        sys.modules.pop(name, None)


def side(forward: float, backward: float, update: float) -> dict[str, float]:
    return {"step": forward + backward + update, "forward": forward, "backward": backward, "update": update}


def test_what_a_swinging_host_says_is_not_taken_for_the_networks(scaling) -> None:
    rows = {
        "device": "cuda", "all_reduce": {"1000": 3e-5, "1000000": 1.02e-3}, "plain": side(1, 3, 1), "two_ranks": side(2, 8, 1),
        "ddp_alone": side(2, 6, 2), "one_process": side(1, 2, 1), "ddp_exchanging": side(3, 9, 3), "nccl_captured": {"captured_ms": 0.5},
    }  # fmt: skip
    found = scaling.fit(rows)
    assert (found["latency_s"], found["bytes_per_s"]) == (pytest.approx(1.45e-5, rel=1e-2), pytest.approx(1e9, rel=2e-2))  # fmt: skip
    assert found["backward_share"] == pytest.approx(0.6) and found["update_share"] == pytest.approx(0.2)
    assert found["buckets_s"] == 0  # three times as slow, but so was its forward
    assert scaling.fit({**rows, "ddp_exchanging": side(1, 4, 1)})["buckets_s"] == pytest.approx(1)
    from scaling_model import NETWORKS, fitted_to

    net = fitted_to(NETWORKS[0], {**rows, **found})
    assert (net.backward_share, net.call_s) == (pytest.approx(0.6), pytest.approx(5e-4))


def test_predictions_rest_on_the_newest_measurement(scaling) -> None:
    gpu = scaling.newest("cuda")
    assert gpu is not None and gpu["machine"].startswith("NVIDIA")
    with_it, without = scaling.predictions(gpu), scaling.predictions(None)
    assert [r["gpus"] for r in with_it] == [r["gpus"] for r in without]
    for r in with_it:
        assert r["exposed"] >= 0 and (r["gpus"] > 1 or r["efficiency"] > 0.999999)
    said = scaling.told(gpu, scaling.newest("cpu"))
    assert "Measured on a GPU" in said and "Assumed: GPT-2" in said
