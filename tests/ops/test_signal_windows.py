"""`torch.signal.windows`: every window equals PyTorch's, and so do its errors."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")

WINDOWS: list[tuple[str, dict[str, Any]]] = [
    ("bartlett", {}),
    ("blackman", {}),
    ("cosine", {}),
    ("exponential", {}),
    ("exponential", {"tau": 2.5}),
    ("gaussian", {}),
    ("gaussian", {"std": 3.0}),
    ("general_cosine", {"a": [0.4, 0.5, 0.1]}),
    ("general_hamming", {}),
    ("general_hamming", {"alpha": 0.7}),
    ("hamming", {}),
    ("hann", {}),
    ("kaiser", {}),
    ("kaiser", {"beta": 3.0}),
    ("nuttall", {}),
]


@pytest.mark.parametrize(
    ("name", "options"), WINDOWS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(WINDOWS)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_windows(name: str, options: dict[str, Any], dtype: str) -> None:
    """Symmetric and periodic, of no, one, few, even and odd numbers of elements."""
    for length in (0, 1, 2, 3, 8, 51):
        for sym in (True, False):
            ours = getattr(rushlight.signal.windows, name)(
                length, sym=sym, dtype=getattr(rushlight, dtype), **options
            )
            theirs = getattr(torch.signal.windows, name)(
                length, sym=sym, dtype=getattr(torch, dtype), **options
            )
            assert ours.dtype is getattr(rushlight, dtype)
            close = {"rtol": 1e-5, "atol": 2e-6} if dtype == "float32" else {}
            torch.testing.assert_close(torch.from_numpy(ours.numpy().copy()), theirs, **close)


def test_a_centre() -> None:
    """A periodic exponential window may have its centre anywhere."""
    ours = rushlight.signal.windows.exponential(6, center=1.5, sym=False)
    theirs = torch.signal.windows.exponential(6, center=1.5, sym=False)
    torch.testing.assert_close(torch.from_numpy(ours.numpy()), theirs)


def test_the_default_dtype_and_gradients() -> None:
    """The dtype is the default one; a window may be a leaf of a graph as PyTorch's is."""
    assert rushlight.signal.windows.hann(4).dtype is rushlight.get_default_dtype()
    ours = rushlight.signal.windows.gaussian(4, requires_grad=True)
    theirs = torch.signal.windows.gaussian(4, requires_grad=True)
    assert ours.requires_grad and theirs.requires_grad
    assert (ours.grad_fn is None) == (theirs.grad_fn is None)


WRONG: list[tuple[str, tuple, dict[str, Any]]] = [
    ("hann", (-1,), {}),
    ("blackman", (-1,), {}),
    ("exponential", (3,), {"tau": 0.0}),
    ("exponential", (3,), {"center": 1.0}),
    ("gaussian", (3,), {"std": -1.0}),
    ("kaiser", (3,), {"beta": -1.0}),
    ("general_cosine", (3,), {"a": []}),
    ("general_cosine", (3,), {"a": 0.5}),
    ("bartlett", (3,), {"dtype": "int64"}),
    ("cosine", (3,), {"layout": "sparse_coo"}),
]


@pytest.mark.parametrize(("name", "args", "options"), WRONG)
def test_errors(name: str, args: tuple, options: dict[str, Any]) -> None:
    """The types and words of PyTorch's errors."""
    said = []
    for module in (torch, rushlight):
        given = {k: getattr(module, v) if isinstance(v, str) else v for k, v in options.items()}
        with pytest.raises((ValueError, TypeError)) as caught:
            getattr(module.signal.windows, name)(*args, **given)
        said.append((caught.type, str(caught.value).replace("rushlight.", "torch.")))
    assert said[0] == said[1]
