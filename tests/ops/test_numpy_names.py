"""`axis`, NumPy's name for `dim`: functions of PyTorch take both, and so do ours."""

from __future__ import annotations

import pytest

import rushlight
import rushlight.fft

torch = pytest.importorskip("torch")

FUNCTIONS = {
    "cat": lambda t, x, i, **k: t.cat([x, x], **k),
    "stack": lambda t, x, i, **k: t.stack([x, x], **k),
    "unsqueeze": lambda t, x, i, **k: x.unsqueeze(**k),
    "squeeze": lambda t, x, i, **k: x[:, :1].squeeze(**k),
    "unbind": lambda t, x, i, **k: x.unbind(**k),
    "chunk": lambda t, x, i, **k: x.chunk(2, **k),
    "tensor_split": lambda t, x, i, **k: x.tensor_split(2, **k),
    "select": lambda t, x, i, **k: x.select(index=1, **k),
    "narrow": lambda t, x, i, **k: x.narrow(start=0, length=1, **k),
    "unflatten": lambda t, x, i, **k: t.unflatten(x, sizes=(2, 2), **k),
    "repeat_interleave": lambda t, x, i, **k: x.repeat_interleave(2, **k),
    "softmax": lambda t, x, i, **k: t.softmax(x, **k),
    "log_softmax": lambda t, x, i, **k: x.log_softmax(**k),
    "diff": lambda t, x, i, **k: t.diff(x, **k),
    "cross": lambda t, x, i, **k: t.cross(x[:, :3], x[:, 1:], **k),
    "renorm": lambda t, x, i, **k: t.renorm(x, 2, maxnorm=1.0, **k),
    "gather": lambda t, x, i, **k: x.gather(index=i, **k),
    "index_select": lambda t, x, i, **k: x.index_select(index=i[0], **k),
    "take_along_dim": lambda t, x, i, **k: t.take_along_dim(x, i, **k),
    "scatter": lambda t, x, i, **k: x.scatter(index=i, src=x + 1, **k),
    "vector_norm": lambda t, x, i, **k: t.linalg.vector_norm(x, **k),
    "norm": lambda t, x, i, **k: t.linalg.norm(x, **k),
    "fft": lambda t, x, i, **k: t.fft.fft(x, **k).abs(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_axis_is_another_name_of_dim(name):
    def run(t, key):
        x = t.arange(12.0).view(3, 4) / 7
        out = FUNCTIONS[name](t, x, t.zeros(3, 4, dtype=t.long) + 1, **{key: 1})
        return [part.tolist() for part in out] if isinstance(out, (tuple, list)) else out.tolist()

    assert run(rushlight, "axis") == run(rushlight, "dim")
    ours, theirs = rushlight.tensor(run(rushlight, "axis")), run(torch, "axis")
    assert rushlight.allclose(ours, rushlight.tensor(theirs), atol=1e-6)


def test_unsqueeze_says_that_dim_is_missing():
    for t in (rushlight, torch):
        with pytest.raises(TypeError, match='missing 1 required positional arguments: "dim"'):
            t.ones(2).unsqueeze()


@pytest.mark.parametrize("name", ["sum", "mean", "argmax", "argmin", "unsqueeze", "softmax", "diff", "amax"])
def test_both_names_at_once_are_refused(name):
    for t in (torch, rushlight):
        with pytest.raises(TypeError):
            getattr(t, name)(t.ones(2, 3), dim=0, axis=1)
