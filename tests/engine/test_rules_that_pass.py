"""Rules say which inputs they give back as they got them: C calls no rule for those. NumPy's bodies in C, beside Python's."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.core.op import OPS
from rushlight.operators.pointwise import (  # noqa: F401 - their ops are looked at
    bitwise,
    compare,
    pairs,
    rounding,
    special,
)
from rushlight.runtime.cpu import layouts
from rushlight.runtime.cpu.quiet import context
from rushlight.runtime.facts import Facts
from rushlight.runtime.point import Point

native = pytest.importorskip("rushlight.runtime.cpu._native", exc_type=ImportError)

DTYPES = {
    "f": (torch.float16, torch.float32, torch.float64),
    "V": (torch.bfloat16,),
    "c": (torch.complex64,),
    "i": (torch.int8, torch.int32, torch.int64),
    "u": (torch.uint8,),
    "b": (torch.bool,),
}
SHAPES = (((2, 3), (2, 3)), ((2, 1), (1, 3)), ((2, 3), ()), ((), (2, 3)), ((4, 2, 3), (3,)))
NUMBERS = (2, -3, 1.5, float("inf"), 2**40)

MARKED = sorted(name for name, op in OPS.items() if op.passes)


def test_the_common_ones_are_marked() -> None:
    assert {"add", "sub", "mul", "div", "eq", "lt", "neg", "pow", "bitwise_and", "maximum"} <= set(MARKED)


def passed(op: Any) -> list[tuple]:
    """Inputs that C lets pass (`passes_pair` of core/native/call.c)."""
    found: list[tuple] = []
    for d in [d for kind in op.passes if kind in DTYPES for d in DTYPES[kind]]:
        if len(op.inputs) == 1:
            found += [(torch.ones(shape, dtype=d),) for shape in ((2, 3), ())]
            continue
        half = d in (torch.float16, torch.bfloat16)
        for a, b in SHAPES:
            if a == b or not half:
                found.append((torch.ones(a, dtype=d), torch.ones(b, dtype=d)))
        for number in NUMBERS:
            whole = d is torch.int64 and isinstance(number, int)
            if whole or d in (torch.float32, torch.float64):
                x = torch.ones(2, 3, dtype=d)
                found += [(x, number)] if "n" in op.passes else []
                found += [(number, x)] if "r" in op.passes else []
    return found


@pytest.mark.parametrize("name", MARKED)
def test_a_rule_gives_back_what_it_says(name: str) -> None:
    op = OPS[name]
    calls = passed(op)
    assert calls
    for inputs in calls:
        given_back = op.rule(inputs)
        assert [id(v) for v in given_back] == [id(v) for v in inputs], inputs


@pytest.mark.parametrize("name", ["sub", "bitwise_or", "eq", "maximum", "pow"])
def test_what_is_refused_still_is(name: str) -> None:
    x, mask = torch.ones(2), torch.ones(2, dtype=torch.bool)
    wrong = {"sub": (mask, mask), "bitwise_or": (x, x), "eq": (1.0, x), "maximum": (x, 1.0), "pow": (mask, mask)}
    with pytest.raises((RuntimeError, TypeError, NotImplementedError)):
        OPS[name](*wrong[name])


# -- NumPy's bodies ------------------------------------------------------------------------------


def arrays() -> list[np.ndarray]:
    r = np.random.default_rng(0)
    x = r.standard_normal((2, 3, 4, 5)).astype("f")
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    wide = np.ascontiguousarray(np.concatenate([x, x], -1))[..., ::2]
    return [
        x, last, wide, np.ascontiguousarray(x.transpose(1, 0, 2, 3)).transpose(1, 0, 2, 3), np.broadcast_to(x[:, :1], x.shape),
        np.broadcast_to(x[0, 0, 0, 0], x.shape), x[:, :, ::-1], x[:, :, :, :1],
    ]  # fmt: skip


KINDS = [Facts(), Facts(point=Point("x y")), *[Facts(layout=name) for name in layouts.RULES]]


@pytest.mark.parametrize("facts", KINDS, ids=["others", "pointwise", *layouts.RULES])
def test_results_lie_as_in_python(facts: Facts) -> None:
    if facts.point is not None or facts.layout is None:
        body: Any = np.add
    else:
        body = lambda x, y: np.multiply(x, 2)  # noqa: E731
    in_c = native.behind(body, layouts.kind_of(facts), layouts.lying(facts), *context())
    in_python = layouts.laid_out(facts, body)
    for x, y in product(arrays(), arrays()):
        if x.shape != y.shape and facts.layout is None and facts.point is None:
            continue
        got, wanted = in_c(x, y), in_python(x, y)
        assert got.strides == wanted.strides, (x.strides, y.strides)
        assert np.array_equal(got, wanted)


def test_nothing_warns_and_errors_pass() -> None:
    in_c = native.behind(np.divide, 1, layouts.lying(Facts(point=Point("x y"))), *context())
    one = np.ones(3, "f")
    assert np.isinf(in_c(one, np.zeros(3, "f"))).all()
    with pytest.raises(ValueError, match="broadcast"):
        in_c(one, np.ones(2, "f"))
    with pytest.warns(RuntimeWarning, match="divide"):  # NumPy's context is as it was
        np.divide(one, np.zeros(3, "f"))
