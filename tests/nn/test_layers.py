"""Every layer against PyTorch's: printed form, state, initial values, outputs and gradients."""

from __future__ import annotations

import warnings
from collections import OrderedDict

import numpy as np
import pytest

import rushlight
from layer_rows import LAYERS, In, Layer
from rushlight import nn

torch = pytest.importorskip("torch")

SEED = 7


def _module(frame, row: Layer):
    frame.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = eval(f"nn.{row.text}", {"nn": frame.nn, "OrderedDict": OrderedDict})
    return made.train(row.train)


def _inputs(frame, row: Layer, rng):
    def one(spec):
        if isinstance(spec, tuple) and not isinstance(spec, In):
            return tuple(one(s) for s in spec)
        t = frame.from_numpy(spec.make(rng))
        return t.requires_grad_() if spec.grad and t.is_floating_point() else t

    return [one(spec) for spec in row.inputs]


def _flat(value):
    if value is None:
        return []
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _flat(v)]
    return [value]


def _close(ours, theirs, tol, what):
    a, b = ours.detach().numpy(), theirs.detach().numpy()
    assert a.shape == b.shape, f"{what}: {a.shape} is not {b.shape}"
    assert a.dtype == b.dtype, f"{what}: {a.dtype} is not {b.dtype}"
    np.testing.assert_allclose(a, b, rtol=tol * 10, atol=tol, err_msg=what)


def _copy_state(mine, theirs):
    state = {k: rushlight.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()}
    mine.load_state_dict(state)


def _run(module, inputs):
    outs = [t for t in _flat(module(*inputs)) if t.is_floating_point()]
    loss = sum((t * t).sum() for t in outs) + sum(t.sum() for t in outs)
    if loss.requires_grad:
        loss.backward()
    return outs


@pytest.mark.parametrize("row", LAYERS, ids=lambda row: row.text)
def test_layer(row: Layer) -> None:
    theirs, mine = _module(torch, row), _module(rushlight, row)
    assert repr(mine) == repr(theirs)
    given = [_inputs(frame, row, np.random.default_rng(3)) for frame in (rushlight, torch)]
    if "Lazy" in row.text:  # shapes are known after one call; the same seed draws the same values
        for module, inputs, frame in zip((mine, theirs), given, (rushlight, torch)):
            frame.manual_seed(SEED)
            module.eval()(*inputs)
            module.train(row.train)
        assert repr(mine) == repr(theirs)
    state, expected = mine.state_dict(), theirs.state_dict()
    assert list(state) == list(expected)
    for name in expected:
        _close(state[name], expected[name], 1e-6, f"initial {name}")
    _copy_state(mine, theirs)
    outs = _run(mine, given[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's about its own kernels
        wanted = _run(theirs, given[1])
    assert len(outs) == len(wanted)
    for i, (a, b) in enumerate(zip(outs, wanted)):
        _close(a, b, row.tol, f"output {i}")
    if not row.grad:
        return
    for i, (a, b) in enumerate(zip(_flat(given[0]), _flat(given[1]))):
        assert (a.grad is None) == (b.grad is None), f"gradient of input {i}"
        if b.grad is not None:
            _close(a.grad, b.grad, row.tol * 5, f"gradient of input {i}")
    for (name, a), (_, b) in zip(mine.named_parameters(), theirs.named_parameters()):
        assert (a.grad is None) == (b.grad is None), f"gradient of {name}"
        if b.grad is not None:
            _close(a.grad, b.grad, row.tol * 5, f"gradient of {name}")
    for name, b in theirs.named_buffers():
        _close(mine.get_buffer(name), b, row.tol, f"buffer {name}")


def test_every_layer_has_a_row() -> None:
    text = " ".join(row.text for row in LAYERS)
    without = {
        "Module", "Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList",
        "RNNBase", "RNNCellBase", "NLLLoss2d", "Parameter", "Buffer",
        "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",  # test_nn_layers_more.py
        "FractionalMaxPool2d", "FractionalMaxPool3d",
    }  # fmt: skip
    names = [n for n in nn.__all__ if isinstance(getattr(nn, n), type) and issubclass(getattr(nn, n), nn.Module)]
    missing = [n for n in names if f"{n}(" not in text and n not in without]
    assert not missing


def test_every_layer_of_torch_is_here() -> None:
    assert not [n for n in torch.nn.modules.__all__ if not hasattr(nn, n)]
