"""A row group on a GPU: a kernel is generated in which a warp or a block has a row in its registers."""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy

from ...base.arrays import DeviceArray
from ...base.bounded import Bounded
from ...base.dtypes import by_name, from_np
from ...runtime.cuda.code.compile import kernel
from ...runtime.cuda.code.generate import PRELUDE, TYPES, narrow_line
from ...runtime.cuda.joins import expression_of, row_team
from ...runtime.door import KERNELS, kernel_for
from .fused import Step, literal
from .row_group import FULL, LARGE, ROW, SOME, VIEW

_ROWS_PER_BLOCK = 4  # where a warp has a row

# Every thread of a team gets the value of all; sums are made in the same order in every run.
_TEAM = """
template <class V, class J> __device__ __forceinline__ V team(V v, J join) {
    #pragma unroll
    for (int d = 16; d; d >>= 1) v = join(v, __shfl_xor_sync(0xffffffffu, v, d));
    if (TEAM > 32) {
        __shared__ V hold[32];
        __syncthreads();
        if (!(threadIdx.x & 31)) hold[threadIdx.x / 32] = v;
        __syncthreads();
        v = hold[0];
        for (int i = 1; i < TEAM / 32; i++) v = join(v, hold[i]);
    }
    return v;
}
#define EACH _Pragma("unroll") for (int e = 0; e < HELD; e++)
#define PLACE(e) ((e) / V * (TEAM * V) + lane * V + (e) % V)
#define THERE(e) (EVEN || PLACE(e) < N)
template <class E, class W> __device__ __forceinline__ void read(const E* p, W* v, int lane) {
    _Pragma("unroll") for (int e = 0; e < HELD; e += V) {
        Pack<E, V> some;
        _Pragma("unroll") for (int j = 0; j < V; j++) some.v[j] = E();
        if (THERE(e)) some = *(const Pack<E, V>*)(p + PLACE(e));
        _Pragma("unroll") for (int j = 0; j < V; j++) v[e + j] = widen(some.v[j]);
    }
}
template <class E, class W> __device__ __forceinline__ void write(E* p, const W* v, int lane) {
    _Pragma("unroll") for (int e = 0; e < HELD; e += V) {
        Pack<E, V> some;
        _Pragma("unroll") for (int j = 0; j < V; j++) some.v[j] = narrow(To<E>(), v[e + j]);
        if (THERE(e)) *(Pack<E, V>*)(p + PLACE(e)) = some;
    }
}
"""
_JOINS = {"top": "top(a, b)", "bottom": "bottom(a, b)"}
_FIRSTS = {"top": "T(-inf_of<T>())", "bottom": "T(inf_of<T>())"}


class Shape(NamedTuple):
    """How threads share a row: so many of them, each with so many numbers, in packs of `pack`."""

    columns: int
    team: int
    held: int
    pack: int


def _type(name: str) -> str:
    """What a value of a dtype is computed in."""
    return f"Wide<{TYPES[name][0]}>::type"


def _operand(kind: str, value: Any, kinds: str, made: str) -> str:
    """An operand's text inside a loop over the numbers of a row."""
    if kind == "number":
        return literal(value)
    if kind == "in":
        return f"a{value}[e]" if kinds[value] in LARGE else f"a{value}"
    return f"v{value}[e]" if made[value] == FULL else f"v{value}"


def _expression(step: Step, operands: list[str], dtype: str) -> str:
    """One pointwise step as text, whose result has dtype `dtype`; a square needs no power."""
    attrs = dict(step.attrs)
    if step.kernel == "pow" and step.operands[1] == ("number", 2):
        return f"[&] {{ const auto x = {operands[0]}; return x * x; }}()"
    e = expression_of(step.kernel, attrs)
    assert e is not None
    bound = [narrow_line(dtype)] if "NARROW" in e.text["f"] else []
    for name, text in zip(e.inputs, operands):
        bound.append(f"const auto {name} = {text};")
    for attr in e.attrs:
        name, _, kind = attr.partition(":")
        value = attrs[name]
        number = f"const int {name} = {int(value)};" if kind else f"const T {name} = {literal(value)};"
        bound.append(number)
    return f"[&] {{ {' '.join(bound)} return {e.text['f']}; }}()"


def _rounded(text: str, dtype: str) -> str:
    """A step's value as the next kernel would have read it."""
    kind = TYPES[dtype][0]
    return f"widen(narrow(To<{kind}>(), {text}))"


def _largest(number: int, operand: str) -> list[str]:
    """The largest number of a row, as m followed by the step's number."""
    return [
        f"    T b{number} = T(-inf_of<T>());",
        f"    EACH if (THERE(e)) b{number} = top(b{number}, T({operand}));",
        f"    const T m{number} = team(b{number}, [](T a, T b) {{ return top(a, b); }});",
    ]


def _log_sum(number: int, operand: str, dtype: str) -> list[str]:
    """The logarithm of a sum of exponentials; a row whose largest number is infinite is not moved by it."""
    n = number
    value = f"log(team(r{n}, [](T a, T b) {{ return a + b; }})) + c{n}"
    return [
        *_largest(n, operand),
        f"    const T c{n} = fabs(m{n}) == T(inf_of<T>()) ? T(0) : m{n};",
        f"    T r{n} = T(0);",
        f"    EACH if (THERE(e)) r{n} += exp(T({operand}) - c{n});",
        f"    const T v{n} = {_rounded(value, dtype)};",
    ]


def _reduction(number: int, step: Step, operand: str, columns: int, dtype: str) -> list[str]:
    fold = KERNELS[step.kernel].facts.fold
    if fold == "log_plus":
        return _log_sum(number, operand, dtype)
    join = _JOINS.get(fold, "a + b")
    value = f"team(r{number}, [](T a, T b) {{ return {join}; }})"
    if fold == "average":
        value += f" / T({columns})"
    return [
        f"    T r{number} = {_FIRSTS.get(fold, 'T(0)')};",
        f"    EACH if (THERE(e)) {{ const T a = r{number}, b = {operand}; r{number} = {join}; }}",
        f"    const T v{number} = {_rounded(value, dtype)};",
    ]


# Softmax and its like over x, or over gy and y: what a thread sums up, and its numbers from the sum s.
_WHOLE = {
    "shares": ("exp(x - m)", "exp(x - m) / s"),
    "log_shares": ("exp(x - m)", "x - m - log(s)"),
    "shares_back": ("x * y", "(x - s) * y"),
    "log_shares_back": ("x", "x - exp(y) * s"),
}


def _whole_row(number: int, step: Step, operands: list[str], dtype: str) -> list[str]:
    """Every number of a row from a sum over all of them; in front of it, for softmax, their largest."""
    term, value = _WHOLE[KERNELS[step.kernel].facts.fold]
    n, x = number, operands[0]
    bound = f"const T x = {x};"
    lines = []
    if len(operands) > 1:
        bound += f" const T y = {operands[1]};"
    else:
        lines = _largest(n, x)
        bound += f" const T m = m{n};"
    return [
        *lines,
        f"    T r{n} = T(0);",
        f"    EACH if (THERE(e)) {{ {bound} r{n} += {term}; }}",
        f"    const T s{n} = team(r{n}, [](T a, T b) {{ return a + b; }});",
        f"    T v{n}[HELD];",
        f"    EACH {{ {bound} const T s = s{n}; v{n}[e] = {_rounded(value, dtype)}; }}",
    ]


def source(shape: Shape, inputs: tuple[tuple[str, str], ...], attrs: dict[str, Any]) -> str:
    """The kernel's text; `inputs` are pairs of dtype and kind."""
    steps, made, dtypes, outs = (attrs[k] for k in ("steps", "made", "dtypes", "outs"))
    kinds = "".join(kind for _, kind in inputs)
    wide = "double" if any(d == "float64" for d in (*dtypes, *[d for d, _ in inputs])) else "float"
    params = [f"const {TYPES[d][0]}* __restrict__ p{i}" for i, (d, _) in enumerate(inputs)]
    params += [f"{TYPES[dtypes[o]][0]}* __restrict__ q{i}" for i, o in enumerate(outs)]
    lines = []
    for i, (d, kind) in enumerate(inputs):
        if kind in LARGE:
            every, count = attrs["turns"][i]
            at = {FULL: " + row * N", SOME: f" + row / {every} % {count} * N"}.get(kind, "")
            lines += [f"    {_type(d)} a{i}[HELD];", f"    read(p{i}{at}, a{i}, lane);"]
        else:
            lines.append(f"    const auto a{i} = widen(p{i}[{'row' if kind == ROW else 0}]);")
    for number, step in enumerate(steps):
        operands = [_operand(kind, value, kinds, made) for kind, value in step.operands]
        kind, dtype = made[number], dtypes[number]
        if kind == VIEW:
            continue
        facts = KERNELS[step.kernel].facts
        if facts.is_of("reduction"):
            lines += _reduction(number, step, operands[0], shape.columns, dtype)
            continue
        if facts.is_of("row"):
            lines += _whole_row(number, step, operands, dtype)
            continue
        text = _rounded(_expression(step, operands, dtype), dtype)
        if kind == FULL:
            lines.append(f"    {_type(dtype)} v{number}[HELD];")
            lines.append(f"    EACH v{number}[e] = {text};")
        else:
            lines.append(f"    const auto v{number} = {text};")
    for i, o in enumerate(outs):
        if made[o] == FULL:
            lines.append(f"    write(q{i} + row * N, v{o}, lane);")
        else:
            kind = TYPES[dtypes[o]][0]
            lines.append(f"    if (!lane) q{i}[row] = narrow(To<{kind}>(), v{o});")
    rows = _ROWS_PER_BLOCK if shape.team == 32 else 1
    even = int(shape.team * shape.held == shape.columns)
    return "\n".join([
        PRELUDE,
        f"typedef {wide} T; typedef {wide} R;",
        f"static const int N = {shape.columns}, TEAM = {shape.team}, HELD = {shape.held};",
        f"static const int V = {shape.pack}, EVEN = {even};",
        _TEAM,
        f'extern "C" __global__ void __launch_bounds__({shape.team * rows})',
        f"k(i64 rows, {', '.join(params)}) {{",
        "    depend();",
        f"    const i64 row = blockIdx.x * (i64){rows} + threadIdx.x / TEAM;",
        "    const int lane = threadIdx.x % TEAM;",
        "    if (row >= rows) return;",
        *lines,
        "}",
    ])  # fmt: skip


_ready: dict[tuple, Any] = Bounded(1024)


def _aliased(attrs: dict[str, Any]) -> dict[str, Any]:
    """The steps with every view's value named as the value that it shows."""
    stands: dict[int, tuple[str, Any]] = {}
    steps = []
    for number, step in enumerate(attrs["steps"]):
        operands = tuple([stands.get(v, (k, v)) if k == "step" else (k, v) for k, v in step.operands])
        if attrs["made"][number] == VIEW:
            stands[number] = operands[0]
        steps.append(Step(step.kernel, operands, step.attrs))
    return {**attrs, "steps": tuple(steps)}


@kernel_for("cuda", "row_group")
def row_group(*arrays: DeviceArray, **attrs: Any) -> Any:
    """One launch for all steps."""
    kinds, columns, outs = attrs["kinds"], attrs["columns"], attrs["outs"]
    rows = next(a.size for a, k in zip(arrays, kinds) if k == FULL) // columns
    aligned = all(a.data.ptr % 16 == 0 for a, k in zip(arrays, kinds) if k in LARGE)
    # -0.0 is no 0.0
    key = (tuple([a.dtype for a in arrays]), aligned, repr(sorted(attrs.items())))
    found = _ready.get(key)
    if found is None:
        found = _ready[key] = _prepared(arrays, aligned, attrs)
    launch, threads, per_block = found
    made = [cupy.ndarray(shape, by_name(attrs["dtypes"][o]).np) for shape, o in zip(attrs["shapes"], outs)]
    if rows:
        pointers = [a.data.ptr for a in (*arrays, *made)]
        launch.go(-(-rows // per_block), threads, rows, *pointers)
    return tuple(made)


def _prepared(arrays: tuple, aligned: bool, attrs: dict[str, Any]) -> tuple:
    inputs = tuple([(from_np(a.dtype).name, k) for a, k in zip(arrays, attrs["kinds"])])
    sizes = [TYPES[d][2] for d, k in inputs if k in LARGE]
    sizes += [TYPES[attrs["dtypes"][o]][2] for o in attrs["outs"] if attrs["made"][o] == FULL]
    full = attrs["made"].count(FULL) + sum(k in LARGE for k in attrs["kinds"])
    team, held = row_team(attrs["columns"], full)
    pack = max(16 // max(sizes), 1) if aligned else 1
    while pack > 1 and (attrs["columns"] % pack or held % pack):
        pack //= 2
    shape = Shape(attrs["columns"], team, held, pack)
    text = source(shape, inputs, _aliased(attrs))
    launch = kernel(text, "k")
    per_block = _ROWS_PER_BLOCK if team == 32 else 1
    return launch, team * per_block, per_block
