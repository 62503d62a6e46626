"""Generic pointwise bodies as one kernel on the emulated GPU, beside NumPy: special functions, numbers, edges."""

from __future__ import annotations

from typing import Any

import emulated_capture
import numpy as np
from emulated_capture import on_gpu

import rushlight as rl
from rushlight.runtime.cuda.code import traced
from rushlight.runtime.cuda.code.traced import in_one_kernel
from rushlight.runtime.door import KERNELS

random = np.random.default_rng(0)
EDGES = [0.0, -0.0, 1, -1, 2, -2, np.inf, -np.inf, np.nan, 0.5, -0.5, 10, -10.5]
CASES: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("digamma", 1, {}), ("polygamma", 1, {"n": 1}), ("polygamma", 1, {"n": 4}), ("zeta", 2, {}),
    ("log_ndtr", 1, {}), ("i0e", 1, {}), ("i1e", 1, {}),
)  # fmt: skip


def equals_the_host(name: str, count: int, attrs: dict[str, Any], kind: Any) -> None:
    x = np.concatenate([random.normal(size=40) * 3, random.random(40), EDGES]).astype(kind)
    operands = (x, x[::-1].copy())[:count]
    generic = KERNELS[name].generic
    there = in_one_kernel(generic)(*[on_gpu(a) for a in operands], **attrs)
    with np.errstate(all="ignore"):
        here = generic(np, *operands, **attrs)
    assert there.dtype == kind
    most = 3e-6 if kind == np.float32 else 1e-11
    np.testing.assert_allclose(emulated_capture.on_host(there), here, most, err_msg=name)


def what_cannot_be_told() -> None:
    """Bodies that look at values, or take whole numbers, are left to the library."""
    x = on_gpu(np.ones(3, np.float32))
    assert in_one_kernel(KERNELS["gammainc"].generic)(x, x) is NotImplemented
    assert in_one_kernel(KERNELS["digamma"].generic)(on_gpu(np.ones(3, np.int64))) is NotImplemented
    assert in_one_kernel(lambda xp, x: x if bool(x > 0) else -x)(x) is NotImplemented


def numbers_are_folded() -> None:
    """What follows from known numbers is computed once, when the text is written."""
    x = on_gpu(np.array([1.5, -2.0], np.float64))
    made = traced._expression(lambda xp, x: xp.where(xp.asarray(3.0) % 2 == 0, xp.exp(x), x**-2), (x,), {})
    assert made is not None and "exp" in made.text["f"]  # written, and dropped by the compiler
    assert "pow" not in made.text["f"] and "fmod" not in made.text["f"]
    got = in_one_kernel(lambda xp, x: xp.where((x > 0) & ~xp.isnan(x), x**-2, x % 3))(x)
    np.testing.assert_allclose(emulated_capture.on_host(got), [1 / 2.25, 1.0])


if __name__ == "__main__":
    rl.special.digamma, rl.special.zeta, rl.special.i1e, rl.special.log_ndtr, rl.special.gammainc
    for case in CASES:
        for kind in (np.float32, np.float64):
            equals_the_host(*case, kind)
    what_cannot_be_told()
    numbers_are_folded()
    print("equal")
