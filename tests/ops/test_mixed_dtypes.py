"""Arguments of several dtypes: what PyTorch refuses is refused, what it takes has its dtype."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")

KINDS = ("float32", "bfloat16", "float64", "float16")


def _losses(lib: Any, x: Any, w: Any) -> dict[str, Any]:
    F = lib.nn.functional
    rows, classes = x[:, :, 0], lib.tensor([0, 1])
    return {
        "nll_loss": lambda: F.nll_loss(rows, classes, w),
        "cross_entropy": lambda: F.cross_entropy(rows, classes, w),
        "cross_entropy smoothed": lambda: F.cross_entropy(rows, classes, w, label_smoothing=0.1),
        "cross_entropy of maps": lambda: F.cross_entropy(x, lib.zeros(2, 3, dtype=lib.long), w),
        "huber_loss": lambda: F.huber_loss(rows[0], w),
        "smooth_l1_loss": lambda: F.smooth_l1_loss(rows[0], w),
        "mse_loss": lambda: F.mse_loss(rows[0], w),
    }


def _layers(lib: Any, x: Any, w: Any) -> dict[str, Any]:
    F = lib.nn.functional
    return {
        "layer_norm": lambda: F.layer_norm(x.transpose(1, 2), (4,), w, w),
        "layer_norm, no bias": lambda: F.layer_norm(x.transpose(1, 2), (4,), w),
        "layer_norm, bias only": lambda: F.layer_norm(x.transpose(1, 2), (4,), None, w),
        "layer_norm, one of both": lambda: F.layer_norm(x.transpose(1, 2), (4,), w.to(x.dtype), w),
        "group_norm": lambda: F.group_norm(x, 2, w, w),
        "batch_norm": lambda: F.batch_norm(x, w * 0, w + 0, w, w, True),
        "batch_norm, eval": lambda: F.batch_norm(x, w * 0, w, w, w),
        "batch_norm, statistics": lambda: F.batch_norm(x, w * 0, w),
        "instance_norm": lambda: F.instance_norm(x, weight=w, bias=w),
        "rms_norm": lambda: F.rms_norm(x.transpose(1, 2), (4,), w),
        "embedding_bag": lambda: F.embedding_bag(
            lib.tensor([[0]]), x[0], per_sample_weights=w[:1].view(1, 1), mode="sum"
        ),
    }


def _said(call: Any) -> str:
    try:
        return str(call().dtype).split(".")[-1]
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:60]}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cases", [_losses, _layers])
@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, KINDS)), ids="-".join)
def test_as_pytorch(cases: Any, kinds: tuple[str, str]) -> None:
    ours, theirs = (
        {
            name: _said(call)
            for name, call in cases(
                lib, lib.ones(2, 4, 3, dtype=getattr(lib, kinds[0])), lib.ones(4, dtype=getattr(lib, kinds[1]))
            ).items()
        }
        for lib in (rushlight, torch)
    )
    assert ours == theirs


@pytest.mark.parametrize("kinds", [("float32", "float64"), ("float64", "float32")], ids="-".join)
def test_without_half_precision(kinds: tuple[str, str]) -> None:
    def said(lib: Any) -> list[str]:
        x, y = (lib.ones(2, 3, dtype=getattr(lib, k)) for k in kinds)
        margin = lib.nn.functional.multi_margin_loss
        return [_said(lambda: lib.cdist(x, y)), _said(lambda: margin(x, lib.tensor([0, 1]), weight=y[0]))]

    assert said(rushlight) == said(torch)


def test_layers_of_half_precision_refuse_wide_inputs() -> None:
    # the pattern of CLIP: a layer norm that widens its input, in a network cast to bfloat16
    norm = rushlight.nn.LayerNorm(4).to(rushlight.bfloat16)
    with pytest.raises(RuntimeError, match="mixed dtype"):
        norm(rushlight.ones(2, 4))
    with rushlight.autocast("cpu"):
        loss = rushlight.nn.functional.cross_entropy(
            rushlight.ones(2, 4, dtype=rushlight.bfloat16), rushlight.tensor([0, 1]), rushlight.ones(4)
        )
    assert loss.dtype == rushlight.float32
