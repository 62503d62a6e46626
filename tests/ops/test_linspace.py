"""linspace and what is made of it, bit for bit as PyTorch rounds it."""

from __future__ import annotations

import pytest

import rushlight as rl
import rushlight.nn.functional as F

torch = pytest.importorskip("torch")

ENDS = [(-1, 1), (0, 10), (0.3, 7.7), (-3, 9), (5, -2), (2, 2), (-3e38, 3e38)]


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "int64"])
def test_the_step_is_rounded_where_pytorch_rounds_it(kind: str) -> None:
    for ends in ENDS[: 6 if kind in ("float16", "int64") else 7]:
        for n in (0, 1, 2, 3, 7, 28, 100, 1000):
            theirs = torch.linspace(*ends, n, dtype=getattr(torch, kind)).tolist()
            ours = rl.linspace(*ends, n, dtype=getattr(rl, kind)).tolist()
            assert str(theirs) == str(ours), (ends, n)


@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_exponents_are_rounded_with_their_powers(kind: str) -> None:
    for ends in ((0, 1, 7), (0.5, 2.5, 9), (0, 4, 5), (1, 3, 28), (0, 3, 100)):
        theirs = torch.logspace(*ends, dtype=getattr(torch, kind)).tolist()
        assert rl.logspace(*ends, dtype=getattr(rl, kind)).tolist() == theirs, ends


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(2, 1, 28, 28), (1, 3, 7, 5), (1, 1, 3, 4, 5)])
def test_an_identity_map_samples_exactly_where_pytorch_does(size: tuple, align: bool) -> None:
    """On a pixel the last bit decides from which side the gradient comes."""
    n = len(size) - 2
    same = [[[float(i == j) for j in range(n + 1)] for i in range(n)]] * size[0]
    theirs = torch.nn.functional.affine_grid(torch.tensor(same), size, align_corners=align)
    ours = F.affine_grid(rl.tensor(same), size, align_corners=align)
    assert theirs.tolist() == ours.tolist()
