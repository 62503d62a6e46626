"""CUDA sources of pointwise kernels, written out from expressions."""

from __future__ import annotations

from pathlib import Path

from .expressions import Expression, named

# NumPy's dtype names to the types of the prelude, their kinds of arithmetic and sizes in bytes.
TYPES = {
    "bool": ("bool", "b", 1),
    "uint8": ("unsigned char", "u", 1),
    "int8": ("signed char", "i", 1),
    "uint16": ("unsigned short", "u", 2),
    "int16": ("short", "i", 2),
    "uint32": ("unsigned", "u", 4),
    "int32": ("int", "i", 4),
    "uint64": ("u64", "u", 8),
    "int64": ("i64", "i", 8),
    "float16": ("half_t", "f", 2),
    "bfloat16": ("bf16_t", "f", 2),
    "float32": ("float", "f", 4),
    "float64": ("double", "f", 8),
    "complex64": ("cplx<float>", "c", 8),
    "complex128": ("cplx<double>", "c", 16),
}

PRELUDE = (Path(__file__).parents[1] / "kernels" / "prelude.cuh").read_text()

# How an operand arrives: an array, one element for all, or a Python number.
ARRAY, ONE, NUMBER = "a", "1", "n"


def stored(name: str | Expression, main: str) -> str | None:
    """The dtype an expression stores when its main input has dtype `main`."""
    out = named(name).out
    if out == "bool":
        return "bool"
    if out == "real":
        return {"complex64": "float32", "complex128": "float64"}.get(main, main)
    if out == "complex":
        return {"float32": "complex64", "float64": "complex128"}.get(main)
    return main


def narrow_line(stored: str) -> str:
    """NARROW, by which an expression knows that its result is stored in half precision."""
    return f"constexpr bool NARROW = {str(stored in ('float16', 'bfloat16')).lower()};"


def number_type(main: str) -> tuple[str, str]:
    """The C parameters that carry a Python number, and their struct format."""
    kind = TYPES[main][1]
    if kind == "c":
        return "double {0}_re, double {0}_im", "dd"
    if kind in "ib":
        return "i64 {0}_n", "q"
    return ("u64 {0}_n", "Q") if kind == "u" else ("double {0}_n", "d")


def compute(name: str | Expression, dtypes: tuple[str, ...], ways: tuple[str, ...]) -> str:
    """The device function `f` of an expression, with `T` and `R` defined."""
    e = named(name)
    main = dtypes[e.main]
    text = e.text[TYPES[main][1]]
    lines = [f"typedef Wide<{TYPES[main][0]}>::type T;", "typedef Real<T>::type R;"]
    lines.append(f"static {narrow_line(main)}")
    params = []
    for given, d, way in zip(e.inputs, dtypes, ways):
        wide = "T" if way == NUMBER else f"Wide<{TYPES[d][0]}>::type"
        params.append(f"{wide} {given}")
    for attr in e.attrs:
        given, _, kind = attr.partition(":")
        params.append(f"{kind or 'T'} {given}")
    lines.append(f"__device__ __forceinline__ auto f({', '.join(params)}) {{ return {text}; }}")
    return "\n".join(lines)


def _parameters(
    name: str | Expression, dtypes: tuple[str, ...], ways: tuple[str, ...], out: str
) -> tuple[list[str], list[str]]:
    """The kernel's parameters after the count, and what each number is as an argument of f."""
    e = named(name)
    main = dtypes[e.main]
    params = [f"{TYPES[out][0]}* __restrict__ out"]
    for i, (d, way) in enumerate(zip(dtypes, ways)):
        if way != NUMBER:
            params.append(f"const {TYPES[d][0]}* __restrict__ p{i}")
    form, _ = number_type(main)
    made = "Make<T>::of({0}_re, {0}_im)" if TYPES[main][1] == "c" else "Make<T>::of({0}_n)"
    args = []
    for given, way in zip(e.inputs, ways):
        if way == NUMBER:
            params.append(form.format(given))
            args.append(made.format(given))
        else:
            args.append("")
    for attr in e.attrs:
        given, _, kind = attr.partition(":")
        if kind == "int":
            params.append(f"int {given}_n")
            args.append(f"{given}_n")
        else:
            params.append(form.format(given))
            args.append(made.format(given))
    return params, args


def width(dtypes: tuple[str, ...], ways: tuple[str, ...], out: str) -> int:
    """How many elements one 16-byte access moves of the widest operand."""
    sizes = [TYPES[out][2]] + [TYPES[d][2] for d, w in zip(dtypes, ways) if w == ARRAY]
    return max(16 // max(sizes), 1)


def flat_source(
    name: str | Expression, dtypes: tuple[str, ...], ways: tuple[str, ...], out: str, vector: int, index: str
) -> str:
    """Operands that lie in memory alike: one loop, `vector` elements at a time."""
    params, args = _parameters(name, dtypes, ways, out)
    loads, picked, single = [], list(args), list(args)
    ones = []
    for i, (d, way) in enumerate(zip(dtypes, ways)):
        kind = TYPES[d][0]
        if way == ONE:
            ones.append(f"    const auto s{i} = widen(p{i}[0]);")
            picked[i] = single[i] = f"s{i}"
        elif way == ARRAY:
            loads.append(f"        auto v{i} = ((const Pack<{kind}, V>*)p{i})[i];")
            picked[i] = f"widen(v{i}.v[j])"
            single[i] = f"widen(p{i}[i])"
    kind = TYPES[out][0]
    body = [
        PRELUDE,
        compute(name, dtypes, ways),
        f"typedef {index} I;",
        f"static const int V = {vector};",
        f'extern "C" __global__ void __launch_bounds__(256) k(I n, {", ".join(params)}) {{',
        "    depend();",
        "    const I at = (I)blockIdx.x * blockDim.x + threadIdx.x;",
        "    const I step = (I)gridDim.x * blockDim.x;",
        *ones,
        "    const I whole = n / V;",
        "    for (I i = at; i < whole; i += step) {",
        *loads,
        f"        Pack<{kind}, V> r;",
        "        #pragma unroll",
        f"        for (int j = 0; j < V; j++) r.v[j] = narrow(To<{kind}>(), f({', '.join(picked)}));",
        f"        ((Pack<{kind}, V>*)out)[i] = r;",
        "    }",
        "    for (I i = whole * V + at; i < n; i += step)",
        f"        out[i] = narrow(To<{kind}>(), f({', '.join(single)}));",
        "}",
    ]
    return "\n".join(body)


def summed_source(name: str | Expression, dtypes: tuple[str, ...], ways: tuple[str, ...], vector: int) -> str:
    """Rows of n numbers, `vector` of them at a time, and the sums of the result over parts of the rows, as it is stored.

    A block has 32 packs of columns, and 8 warps that take rows in turn. Sums are in an order that the grid decides.
    """
    kind = TYPES[dtypes[0]][0]
    arrays = range(len(dtypes))
    params = ", ".join(f"const {kind}* __restrict__ p{i}" for i in arrays)
    loads = [f"        auto v{i} = *(const Pack<{kind}, V>*)(p{i} + at);" for i in arrays]
    picked = ", ".join(f"widen(v{i}.v[j])" for i in arrays)
    body = [
        PRELUDE,
        compute(name, dtypes, ways),
        f"static const int V = {vector};",
        f'extern "C" __global__ void __launch_bounds__(256) k(T* __restrict__ parts, {kind}* __restrict__ out, {params}, '
        "unsigned rows, unsigned n) {",
        "    depend();",
        "    __shared__ T room[8][32 * V + 1];",
        "    const unsigned lane = threadIdx.x % 32, team = threadIdx.x / 32, column = (blockIdx.x * 32 + lane) * V;",
        "    T sums[V];",
        "    #pragma unroll",
        "    for (int j = 0; j < V; j++) sums[j] = T(0);",
        "    if (column < n)",
        "    for (unsigned row = blockIdx.y * 8 + team; row < rows; row += gridDim.y * 8) {",
        "        const unsigned at = row * n + column;",
        *loads,
        f"        Pack<{kind}, V> r;",
        "        #pragma unroll",
        "        for (int j = 0; j < V; j++) {",
        f"            r.v[j] = narrow(To<{kind}>(), f({picked}));",
        "            sums[j] += widen(r.v[j]);",
        "        }",
        f"        *(Pack<{kind}, V>*)(out + at) = r;",
        "    }",
        "    #pragma unroll",
        "    for (int j = 0; j < V; j++) room[team][lane * V + j] = sums[j];",
        "    __syncthreads();",
        "    for (unsigned i = threadIdx.x; i < 32 * V; i += 256) {",
        "        T all = room[0][i];",
        "        for (int k = 1; k < 8; k++) all += room[k][i];",
        "        const unsigned to = blockIdx.x * 32 * V + i;",
        "        if (to < n) parts[blockIdx.y * n + to] = all;",
        "    }",
        "}",
    ]
    return "\n".join(body)


def strided_source(
    name: str | Expression,
    dtypes: tuple[str, ...],
    ways: tuple[str, ...],
    out: str,
    dims: int,
    index: str,
    vector: int = 1,
    inner: tuple[int, ...] = (),
) -> str:
    """Operands with strides of their own over `dims` common dims, the last one running quickest.

    With `vector` > 1 the last dim is walked by that many elements at a time: operands whose `inner`
    is 1 lie next to each other along it, those with 0 have one element for all.
    """
    params, args = _parameters(name, dtypes, ways, out)
    arrays = [i for i, way in enumerate(ways) if way != NUMBER]
    names = ["at"] + [f"o{i}" for i in arrays]
    signed = "int" if index == "unsigned" else "i64"
    kind = TYPES[out][0]
    picked, loads = list(args), []
    for k, i in enumerate(arrays):
        if vector > 1 and inner[k]:
            loads.append(f"auto v{i} = *(const Pack<{TYPES[dtypes[i]][0]}, V>*)(p{i} + o{i});")
            picked[i] = f"widen(v{i}.v[j])"
        else:
            loads.append(f"auto v{i} = widen(p{i}[o{i}]);")
            picked[i] = f"v{i}"
    value = f"narrow(To<{kind}>(), f({', '.join(picked)}))"
    if vector > 1:
        writes = [f"Pack<{kind}, V> w;", "#pragma unroll",
                  f"for (int j = 0; j < V; j++) w.v[j] = {value};",
                  f"*(Pack<{kind}, V>*)(out + at) = w;"]  # fmt: skip
    else:
        writes = [f"out[at] = {value};"]
    body = [
        PRELUDE,
        compute(name, dtypes, ways),
        f"typedef {index} I; typedef {signed} S;",
        f"static const int V = {vector};",
        f"struct Geometry {{ S size[{dims}]; S stride[{len(arrays) + 1}][{dims}]; }};",
        f'extern "C" __global__ void __launch_bounds__(256) k(I n, {", ".join(params)}, Geometry g) {{',
        "    depend();",
        "    const I step = (I)gridDim.x * blockDim.x;",
        "    for (I i = (I)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {",
        "        I rest = i;",
        f"        S {', '.join(f'{n} = 0' for n in names)};",
        *_walk(names, dims),
        *[f"        {line}" for line in (*loads, *writes)],
        "    }",
        "}",
    ]
    return "\n".join(body)


def _walk(names: list[str], dims: int) -> list[str]:
    """The offsets of all operands from a running number, dim by dim."""
    lines = []
    for d in range(dims - 1, -1, -1):
        if d:
            lines.append(f"        {{ const I q = rest / (I)g.size[{d}], r = rest - q * (I)g.size[{d}];")
            lines.append("          rest = q;")
        else:
            lines.append("        { const I r = rest;")
        steps = [f"{n} += (S)r * g.stride[{k}][{d}];" for k, n in enumerate(names)]
        lines.append("          " + " ".join(steps) + " }")
    return lines
