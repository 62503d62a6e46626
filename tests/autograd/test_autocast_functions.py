"""Every row of the op table under autocast: the results have PyTorch's dtypes, whatever the inputs' are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from optable import Row, all_rows, call, flat
from rushlight.core.tensor import wrap

torch = pytest.importorskip("torch")

# Where we differ, and why.
DIFFERENT = {"lstm": "one op of low precision here, as oneDNN's in PyTorch on x86"}
KINDS = ("half", "float", "first half", "second half")
ROWS = [r for r in all_rows() if any(s.dtype == "float" for s in r.specs())]


def _inputs(lib: Any, row: Row, kind: str) -> list:
    made, count = [], 0
    for spec, a in zip(row.specs(), row.arrays("float32")):
        t = torch.from_numpy(np.array(a)) if lib is torch else wrap(np.array(a))
        if spec.dtype == "float":
            if kind == "half" or kind == ("first half", "second half")[count % 2]:
                t = t.to(lib.bfloat16)
            count += 1
        made.append(t)
    return made


def _dtypes(lib: Any, row: Row, kind: str) -> list[str]:
    with lib.autocast("cpu", lib.bfloat16):
        out = call(lib, row, _inputs(lib, row, kind))
    return [str(getattr(o, "dtype", type(o))).rpartition(".")[2] for o in flat(out)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(8))
def test_results_have_pytorchs_dtypes(kind: str, part: int) -> None:
    differ = []
    for row in ROWS[part::8]:
        if row.name in DIFFERENT:
            continue
        try:
            want = _dtypes(torch, row, kind)
        except Exception:  # noqa: BLE001 - what PyTorch refuses is another test's matter
            continue
        try:
            found = _dtypes(rl, row, kind)
        except Exception as e:  # noqa: BLE001 - part of the answer
            found = [f"{type(e).__name__}: {e}"[:90]]
        if found != want:
            differ.append(f"{row}: {found}, PyTorch {want}")
    assert not differ, "\n".join(differ)


def test_attention_takes_tensors_of_several_dtypes() -> None:
    """As rotary embeddings give them: queries and keys in float32, values in bfloat16."""
    q, v = rl.randn(1, 2, 4, 8, requires_grad=True), rl.randn(1, 2, 4, 8).bfloat16()
    with rl.autocast("cpu", rl.bfloat16):
        out = rl.nn.functional.scaled_dot_product_attention(q, q, v, rl.zeros(4, 4))
    assert out.dtype == rl.bfloat16
    out.float().sum().backward()
    assert q.grad is not None and q.grad.dtype == rl.float32


def test_what_writes_into_its_argument_is_not_cast() -> None:
    """As in PyTorch: in-place forms and `out=` keep all digits, and refuse tensors of two dtypes."""
    a, b = np.random.default_rng(0).standard_normal((2, 8, 8)).astype(np.float32)
    exact = a.astype(np.float64) @ b
    for lib in (torch, rl):
        x, y, out, total = lib.tensor(a), lib.tensor(b), lib.zeros(8, 8), lib.zeros(8, 8)
        with lib.autocast("cpu", lib.bfloat16):
            lib.mm(x, y, out=out)
            total.addmm_(x, y)
            with pytest.raises(RuntimeError):
                total.addmm_(x.bfloat16(), y.bfloat16())
        for found in (out, total):
            np.testing.assert_allclose(found.numpy(), exact, rtol=1e-4, atol=1e-4)


def test_a_function_is_itself_in_and_out_of_autocast() -> None:
    function = rl.nn.functional.scaled_dot_product_attention
    with rl.autocast("cpu", rl.bfloat16):
        assert rl.nn.functional.scaled_dot_product_attention is function
    q = rl.randn(1, 2, 4, 8)
    assert function(q, q, q).dtype == rl.float32
    assert function(query=q, key=q, value=q, is_causal=True).dtype == rl.float32
