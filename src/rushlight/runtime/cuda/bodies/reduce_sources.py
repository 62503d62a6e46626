"""CUDA sources of reductions, apart from CuPy, so that tools/check_kernels.py compiles them anywhere: what each accumulates, and how its parts join."""

from __future__ import annotations

from pathlib import Path

from ..code.generate import PRELUDE, TYPES

BODY = (Path(__file__).parents[1] / "kernels" / "reduce.cu").read_text()

# name -> (initial value, map, join, final), in CUDA; v is a widened element, r its number.
_SUMS = {
    "sum": ("A(0)", "A(v)", "(a) + (b)", "a"),
    "mean": ("A(0)", "A(v)", "(a) + (b)", "(a) / A(n)"),
    "prod": ("A(1)", "A(v)", "(a) * (b)", "a"),
    "nansum": ("A(0)", "((v) != (v) ? A(0) : A(v))", "(a) + (b)", "a"),
    "count_nonzero": ("A(0)", "A(truth(v))", "(a) + (b)", "a"),
    "norm1": ("A(0)", "A(fabs(v))", "(a) + (b)", "a"),
    "norm2": ("A(0)", "A(v) * A(v)", "(a) + (b)", "sqrt(a)"),
    "norminf": ("A(0)", "A(fabs(v))", "top(a, b)", "a"),
    "norm0": ("A(0)", "A(v != 0)", "(a) + (b)", "a"),
    "norm-inf": ("inf_of<A>()", "A(fabs(v))", "bottom(a, b)", "a"),
    "squares": ("A(0)", "A(v) * A(v)", "(a) + (b)", "a"),
}
PAIRS = ("argmax", "argmin", "aminmax")  # two results
_LOGIC = {"any": ("false", "truth(v)", "(a) || (b)", "a"), "all": ("true", "truth(v)", "(a) && (b)", "a")}
_LOWEST = {"f": "-inf_of<A>()", "b": "false"}
_HIGHEST = {"f": "inf_of<A>()", "b": "true"}


def _limits(name: str) -> tuple[str, str]:
    """The smallest and largest value of a dtype, as CUDA text."""
    kind, size = TYPES[name][1], TYPES[name][2]
    if kind in "fb":
        return _LOWEST[kind], _HIGHEST[kind]
    bits = 8 * size
    if kind == "u":
        return "A(0)", f"A({2**bits - 1}ull)"
    return f"A({-(2 ** (bits - 1)) + 1}ll - 1)", f"A({2 ** (bits - 1) - 1}ll)"


def accumulator(kind: str, name: str) -> str:
    """The type a reduction of dtype `name` accumulates in."""
    c, group, _ = TYPES[name]
    if kind in _LOGIC:
        return "bool"
    if kind in ("count_nonzero", "norm0"):
        return "i64"
    if kind in _SUMS and group in "iub":
        return "i64"
    return {"half_t": "float", "bf16_t": "float"}.get(c, c)


def supports(kind: str, name: str) -> bool:
    """Whether the sources below can be written for a dtype."""
    kind = kind.partition(" ")[0]
    group = TYPES[name][1]
    if group == "c":
        return kind in ("sum", "mean", "prod", "any", "all", "count_nonzero")
    if kind in ("mean", "nansum", "variance", "deviation") or kind.startswith("norm"):
        return group == "f"
    return True


def size_of(kind: str, name: str) -> int:
    """Bytes of one accumulator."""
    if kind in ("argmax", "argmin"):
        return 16
    a = accumulator(kind, name)
    if kind.startswith(("variance", "deviation")):
        return 24 if a == "double" else 12
    if kind == "aminmax":
        return 2 * size_of("max", name)
    sizes = {"bool": 1, "i64": 8, "float": 4, "double": 8, "cplx<float>": 8, "cplx<double>": 16}
    return sizes.get(a, TYPES[name][2])


def reduction_source(kind: str, name: str, out: str, index: str, kept: int, gone: int) -> str:
    """The kernels `rows`, `columns` and `join` of one reduction; a number that it needs stands behind its name."""
    stored, result = TYPES[name][0], TYPES[out][0]
    lines = [PRELUDE, f"typedef {stored} S; typedef {result} O; typedef {index} I;"]
    lines.append(f"#define KEPT {kept}\n#define GONE {gone}")
    what, _, number = kind.partition(" ")
    if kind in ("argmax", "argmin"):
        lines.append(_best(kind, name))
    elif kind == "aminmax":
        lines.append(_both_ends(name))
    elif what in ("variance", "deviation"):
        lines.append(_moments(accumulator(kind, name), number, what == "deviation"))
    else:
        a = accumulator(kind, name)
        lines.append(f"typedef {a} A;")
        if kind in ("max", "min"):
            low, high = _limits(name)
            join = ("(a) || (b)" if kind == "max" else "(a) && (b)") if name == "bool" else (
                "top<A>(a, b)" if kind == "max" else "bottom<A>(a, b)"
            )  # fmt: skip
            init, mapped, final = low if kind == "max" else high, "A(v)", "a"
        else:
            init, mapped, join, final = _power(float(number)) if what == "normp" else {**_SUMS, **_LOGIC}[kind]
            if kind == "mean" and a.startswith("cplx"):
                final = "cscale(a, Real<A>::type(1) / Real<A>::type(n))"
        lines.append(f"#define INIT {init}")
        lines.append(f"__device__ __forceinline__ A map_(Wide<S>::type v) {{ return {mapped}; }}")
        lines.append(f"__device__ __forceinline__ A join_(A a, A b) {{ return {join}; }}")
        lines.append("#define MAP(v, r) map_(v)\n#define JOIN(a, b) join_(a, b)")
        lines.append(f"#define FINAL(a, n) ({final})")
    return "\n".join([*lines, BODY])


def _power(p: float) -> tuple[str, str, str, str]:
    """The norm of an order that is neither 0 nor infinite."""
    mapped = {-1.0: "A(1) / A(fabs(v))", 0.5: "sqrt(A(fabs(v)))", 3.0: "A(fabs(v)) * A(v) * A(v)"}
    power = mapped.get(p, f"pow(A(fabs(v)), A({p!r}))")
    return "A(0)", power, "(a) + (b)", "A(1) / (a)" if p == -1 else f"pow(a, A({1 / p!r}))"


def _moments(a: str, correction: str, root: bool) -> str:
    """An accumulator of a count, a mean and the squares of what is off it, joined as Chan, Golub and LeVeque say."""
    final = f"(a).m / R((double)(n) - {correction})"
    return f"""typedef {a} R;
struct A {{ R n, mean, m; }};
__device__ __forceinline__ A none() {{ A a; a.n = a.mean = a.m = 0; return a; }}
// An infinity has no distance from the mean that it makes infinite.
__device__ __forceinline__ A map_(R v) {{ A a; a.n = 1; a.mean = v; a.m = v - v; return a; }}
__device__ __forceinline__ A join_(A a, A b) {{
    if (b.n == 0) return a;
    if (a.n == 0) return b;
    A c;
    c.n = a.n + b.n;
    const R off = b.mean - a.mean, share = b.n / c.n;
    c.mean = a.mean + off * share;
    c.m = a.m + b.m + off * off * (a.n * share);
    return c;
}}
#define INIT none()
#define MAP(v, r) map_(v)
#define JOIN(a, b) join_(a, b)
#define FINAL(a, n) ({f"sqrt({final})" if root else final})"""


def _both_ends(name: str) -> str:
    """An accumulator of the smallest and the largest; nan before everything."""
    low, high = _limits(name)
    less, more = ("a.v && b.v", "a.i || b.i") if name == "bool" else ("bottom<V>(a.v, b.v)", "top<V>(a.i, b.i)")
    return f"""#define PAIR 1
typedef O J;
typedef Wide<S>::type V;
struct A {{ V v, i; }};
__device__ __forceinline__ A none() {{ A a; a.v = {high.replace("A", "V")}; a.i = {low.replace("A", "V")}; return a; }}
__device__ __forceinline__ A map_(V v) {{ A a; a.v = a.i = v; return a; }}
__device__ __forceinline__ A join_(A a, A b) {{ A c; c.v = {less}; c.i = {more}; return c; }}
#define INIT none()
#define MAP(v, r) map_(v)
#define JOIN(a, b) join_(a, b)"""


def _best(kind: str, name: str) -> str:
    """An accumulator of a value and its number: the first of equals, nan before everything."""
    better = ">" if kind == "argmax" else "<"
    return f"""#define PAIR 1
typedef i64 J;
typedef Wide<S>::type V;
struct A {{ V v; i64 i; }};
__device__ __forceinline__ A none() {{ A a; a.v = V(0); a.i = -1; return a; }}
__device__ __forceinline__ A map_(V v, i64 r) {{ A a; a.v = v; a.i = r; return a; }}
__device__ __forceinline__ A join_(A a, A b) {{
    if (b.i < 0) return a;
    if (a.i < 0) return b;
    bool nan_a = a.v != a.v, nan_b = b.v != b.v;
    if (nan_a != nan_b) return nan_a ? a : b;
    if (nan_a || a.v == b.v) return a.i < b.i ? a : b;
    return a.v {better} b.v ? a : b;
}}
#define INIT none()
#define MAP(v, r) map_(v, (i64)(r))
#define JOIN(a, b) join_(a, b)"""
