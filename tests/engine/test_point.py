"""Records of pointwise ops: their one text is what the bodies compute, and the build reads them as Python does."""

import math
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight.runtime import point
from rushlight.runtime.door import KERNELS, run

POINTS = {name: k.facts.point for name, k in KERNELS.whole().items() if k.facts.point is not None}
ATTRS = {
    "alpha": 1.5, "scale": 1.05, "inner": 0.8, "beta": 1.3, "limit": 2.0, "lambd": 0.5, "slope": 0.1, "low": -1.0,
    "high": 1.5, "threshold": 0.3, "value": 2.0, "rtol": 0.1, "atol": 0.2, "equal_nan": True, "eps": 0.1,
}  # fmt: skip
# What a text may call, of one number. Those that only CUDA spells are compared on GPUs.
CALLS = {
    "max": lambda a, b: a if a != a or a > b else b, "min": lambda a, b: a if a != a or a < b else b,
    "abs": abs, "T": float, "exp": math.exp, "log": math.log, "log1p": math.log1p, "expm1": math.expm1, "sqrt": math.sqrt,
    "tanh": math.tanh, "sin": math.sin, "cos": math.cos, "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "isinf": math.isinf,
    "isfinite": math.isfinite, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil, "rint": round, "fmod": math.fmod,
    "hypot": math.hypot, "copysign": math.copysign, "atan2": math.atan2, "truth": bool, "inf": math.inf, "nan": math.nan,
    "softplus1": lambda x: math.log1p(math.exp(-abs(x))) + max(x, 0.0), "erf": math.erf, "lgamma": math.lgamma, "pow": pow,
    "cdf": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)), "NARROW": False,
    "gelu_inner": lambda x: math.sqrt(2 / math.pi) * (x + 0.044715 * x**3),
    "gelu_inner_slope": lambda x: math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2),
}  # fmt: skip
NUMBERS = [0.3, -0.7, 1.2, -2.5, 0.05, 3.4, -3.6, 0.5]


# Their attributes are other numbers than the kernel's, or their numbers no floats.
OTHERWISE = ("cast", "complex", "round_decimals", "nan_to_num")


def _calls(text):
    nodes = point.ast.walk(point.parsed(text))
    return {n.func.id for n in nodes if isinstance(n, point.ast.Call)}


def _texts():
    for name, p in POINTS.items():
        text = p.texts.get("f")
        for choice, one in {"": text}.items() if isinstance(text, str) else (text or {}).items():
            if one and _calls(one) <= set(CALLS) and name not in OTHERWISE:
                yield pytest.param(name, one, choice, id=f"{name} {choice}".strip())


@pytest.mark.parametrize("name, text, choice", list(_texts()))
def test_a_text_is_what_the_body_computes(name: str, text: str, choice: str) -> None:
    p = POINTS[name]
    names = [a.partition(":")[0] for a in p.attrs]
    attrs = {p.attrs[0]: choice} if choice else {a: ATTRS[a] for a in names}
    given = [np.array(NUMBERS[i:] + NUMBERS[:i]) for i in range(len(p.inputs))]
    if name in ("log", "log2", "log10", "sqrt", "rsqrt", "pow", "xlogy", "xlog1py", "log1p", "logit", "entr", "lgamma"):
        given = [np.abs(a) % 0.9 + 0.05 for a in given]
    given = [a > 0 if n in ("condition", "mask") else a for n, a in zip(p.inputs, given)]
    for i, n in enumerate(p.inputs):
        if n in p.optional:
            given[i] = ATTRS[n]
    code = compile(text, name, "eval")
    rows = np.broadcast_arrays(*given)
    expected = [
        eval(code, {**CALLS, **attrs, **{n: a[i].item() for n, a in zip(p.inputs, rows)}}) for i in range(len(NUMBERS))
    ]
    more = {"to": None} if name == "where" else {}
    found = run(KERNELS[name], np.ndarray, given, {**attrs, **more}, alone=True)
    limit = 1e-6 if name == "add_scaled" else 1e-12  # which is in float32, for half precision
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), limit)


def test_the_build_reads_records_as_python_does() -> None:
    read: dict[str, point.Point] = {}
    for path in sorted((Path(rl.__file__).parent / "operators").rglob("*.py")):
        read |= point.records(path.read_text())
    losses = {name: k.facts.each for name, k in KERNELS.whole().items() if k.facts.each is not None}
    built = {name: p for name, p in (POINTS | losses).items() if p.cost}
    assert built.keys() == read.keys()
    for name, p in built.items():
        for what in point.Point.__slots__:
            assert getattr(p, what) == getattr(read[name], what), (name, what)


def test_bounds_that_are_none_are_left_out() -> None:
    clamp = POINTS["clamp"].texts["f"]
    assert point.cuda(clamp, ("x", "low", "high")) == "bottom(top(x, low), high)"
    assert point.cuda(clamp, ("x", "low"), {"high"}) == "top(x, low)"
    assert point.cuda(POINTS["logit"].texts["f"], ("x",), {"eps"}) == "log(x / (T(1) - x))"
    inside = POINTS["clamp_backward"].texts["f"]
    assert point.cuda(inside, ("dy", "x", "low"), {"high"}) == "x >= low ? dy : T(0)"
