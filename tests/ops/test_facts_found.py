"""Facts of kernels are found by running them: every kernel of the op table is called again with other values.

A kernel that raises because of values, whose result has another shape when values differ, or whose result shares memory
with an operand has to say so (`runtime/facts.py`): traced loops, programs and dead code are decided by it. None warns of
nan and infinity, not even one that says it only moves numbers.
RUSHLIGHT_EVERY_ROW=1 calls the whole op table; without it, one row of each function.
"""

from __future__ import annotations

import os
import pickle
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from optable import Row, all_rows, call, flat
from rushlight.core.values import HOST_READ
from rushlight.runtime.door import KERNELS, Kernel, listening, run

EVERY = os.environ.get("RUSHLIGHT_EVERY_ROW") == "1"
SAMPLES = 12 if EVERY else 3  # calls of one kernel
PARTS = 8
WHOLE = (-1, 10_000, 0)
REAL = (float("nan"), -1.5, float("inf"), 0.0)


class Samples:
    """A listener that keeps some calls of each kernel, with copies of the operands."""

    def __init__(self) -> None:
        self.calls: dict[str, list[tuple[list[Any], dict]]] = {}

    def __call__(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict, call: Callable[[], Any]) -> Any:
        kept = self.calls.setdefault(kernel.name, [])
        if len(kept) < SAMPLES and any(isinstance(a, np.ndarray) for a in arrays):
            kept.append(([_copy(a) for a in arrays], dict(attrs)))
        return call()


def _copy(a: Any) -> Any:
    """A copy that lies in its memory as the array does."""
    if not isinstance(a, np.ndarray) or not a.size:
        return a
    below = -sum((n - 1) * s for n, s in zip(a.shape, a.strides) if s < 0)
    above = sum((n - 1) * s for n, s in zip(a.shape, a.strides) if s > 0)
    memory = np.zeros(below + above + a.itemsize, np.uint8)
    lying = np.ndarray(a.shape, a.dtype, memory, below, a.strides)
    lying[...] = a
    return lying


def _rows(part: int) -> list[Row]:
    seen: set[str] = set()
    found = []
    for row in all_rows():
        if zlib.crc32(row.name.encode()) % PARTS != part or (row.name in seen and not EVERY):
            continue
        seen.add(row.name)
        found.append(row)
    return found


def _sampled(part: int) -> dict[str, list[tuple[list[Any], dict]]]:
    samples = Samples()
    for row in _rows(part):
        for kind in row.dtypes[:1]:
            tensors = [
                rl.tensor(a, requires_grad=spec.grad and row.grad) for spec, a in zip(row.specs(), row.arrays(kind))
            ]
            with listening(samples):
                out = [t for t in flat(call(rl, row, tensors)) if isinstance(t, rl.Tensor)]
                wanted = [t for t in out if t.requires_grad and not t.is_sparse]
                if wanted:
                    rl.autograd.backward(wanted, [rl.ones_like(t) for t in wanted])
    return samples.calls


def _others(arrays: list[Any]) -> Iterator[list[Any]]:
    """The operands with other values in one of them: everywhere, or in one place."""
    for i, a in enumerate(arrays):
        if not isinstance(a, np.ndarray) or not a.size or a.dtype.kind not in "iufb":
            continue
        for value in WHOLE if a.dtype.kind in "iu" else REAL if a.dtype.kind == "f" else (0, 1):
            if a.dtype.kind == "u" and value < 0:
                continue
            for place in (..., (-1,) * a.ndim):
                changed = [_copy(b) for b in arrays]
                with np.errstate(all="ignore"):
                    changed[i][place] = np.asarray(value).astype(a.dtype)
                yield changed


def _shapes(out: Any) -> tuple:
    return tuple([getattr(o, "shape", None) for o in (out if isinstance(out, tuple) else (out,))])


def _shared(kernel: Kernel, arrays: list[Any], attrs: dict, out: Any) -> bool:
    said = kernel.mutates(arrays, attrs) if callable(kernel.mutates) else kernel.mutates
    operands = [a for i, a in enumerate(arrays) if isinstance(a, np.ndarray) and i not in set(said)]
    outs = out if isinstance(out, tuple) else (out,)
    return any(np.may_share_memory(o, a) for o in outs if isinstance(o, np.ndarray) and o.size for a in operands)


def _found(kernel: Kernel, calls: list[tuple[list[Any], dict]]) -> set[str]:
    """What a kernel does when values differ; in a process of its own, as it may trust them."""
    found = set()
    for arrays, attrs in calls:
        try:
            given = [_copy(a) for a in arrays]
            out = run(kernel, np.ndarray, given, attrs)
        except Exception:  # noqa: BLE001 - it was called beside other arrays, or with a tensor
            continue
        if _shared(kernel, given, attrs, out):
            found.add("shares memory")
        shapes = _shapes(out)
        for changed in _others(arrays):
            try:
                other = run(kernel, np.ndarray, changed, attrs)
            except RuntimeWarning:  # NumPy's, of nan and infinity, which are ordinary numbers here
                found.add("warns")
            except Exception:  # noqa: BLE001 - what is looked for
                found.add("refuses")
            else:
                if _shapes(other) != shapes:
                    found.add("shape by values")
    return found


def _in_a_process(kernel: Kernel, calls: list[tuple[list[Any], dict]]) -> set[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        answer = b""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                answer = pickle.dumps(_found(kernel, calls))
        finally:
            os.write(writing, answer)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(answer) if answer else {"dies"}


def _said(kernel: Kernel) -> set[str]:
    facts, said = kernel.facts, set()
    if facts.refuses or facts.positions:
        said.add("refuses")
    if facts.shape_by_values:
        said |= {"shape by values", "refuses"}  # no program and no stretch holds it
    if kernel.is_view or kernel is HOST_READ:
        said.add("shares memory")
    return said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_kernels_say_what_other_values_do_to_them(part: int) -> None:
    silent = {}
    for name, calls in sorted(_sampled(part).items()):
        if KERNELS[name].facts.refuses is True:
            continue  # it is run where it comes, whatever else it does
        found = _in_a_process(KERNELS[name], calls) - _said(KERNELS[name])
        if found:
            silent[name] = found
    assert silent == {}


def test_products_of_infinities_do_not_warn() -> None:
    """NumPy's `dot` warns for some shapes and dtypes; the suite makes every warning an error."""
    for kind in (rl.float32, rl.float64, rl.complex64):
        x, y = rl.ones(17, 40).to(kind), rl.ones(40, 5).to(kind)
        x[0, 0], x[1, 1], y[0, 0], y[-1, -1] = float("inf"), float("-inf"), 0.0, float("inf")
        for found in (x @ y, x.t().contiguous().t() @ y, x @ y[:, 0], x[0] @ y[:, 0], x[None] @ y[None]):
            assert found.isnan().any()
        assert rl.einsum("ij,jk->ik", x, y).isnan().any()
