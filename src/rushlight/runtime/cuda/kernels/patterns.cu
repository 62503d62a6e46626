// Results that follow from positions: arrays joined and turned round, triangles, numbers in order, classes as vectors,
// likelihoods.
#ifndef UNIT
#define UNIT int
#endif
#ifndef MOST
#define MOST 32
#endif
#ifndef LABEL
#define LABEL i64
#endif
#ifndef WEIGHTED
#define WEIGHTED 0
#endif
struct alignas(8) bytes_8 { unsigned v[2]; };
struct alignas(16) bytes_16 { unsigned v[4]; };
#ifndef DIMS
#define DIMS 1
#endif
struct Turns { i64 size[DIMS], by[DIMS]; };
struct Parts { i64 from[MOST], width[MOST], start[MOST]; };

// A part has `rows` rows of its width, which lie in rows of `whole` words from its start on.
__device__ __forceinline__ void lay(UNIT* __restrict__ to, const UNIT* __restrict__ from, i64 rows, i64 width, i64 whole) {
    const i64 step = (i64)gridDim.x * blockDim.x, n = rows * width;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const i64 row = rows == 1 ? 0 : i / width;
        to[row * whole + i - row * width] = from[i];
    }
}
KERNEL(join)(UNIT* __restrict__ out, i64 rows, i64 whole, Parts parts) {
    depend();
    const int k = blockIdx.y;
    lay(out + parts.start[k], (const UNIT*)parts.from[k], rows, parts.width[k], whole);
}
// The same of up to four parts, whose addresses are parameters of their own.
struct Four { i64 width[4], start[4]; };
KERNEL(join_few)(UNIT* __restrict__ out, const UNIT* a, const UNIT* b, const UNIT* c, const UNIT* d, i64 rows, i64 whole,
                 Four parts) {
    depend();
    const int k = blockIdx.y;
    lay(out + parts.start[k], k == 0 ? a : k == 1 ? b : k == 2 ? c : d, rows, parts.width[k], whole);
}

// x in the middle of a value: element i of `size` lies `before` behind that of x, which has `given` of them.
struct Frame { i64 size[DIMS], given[DIMS], before[DIMS]; };
KERNEL(pad)(const UNIT* __restrict__ x, UNIT* __restrict__ out, i64 n, unsigned long long value, Frame frame) {
    depend();
    union { unsigned long long bits; UNIT word; } around = {value};
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        i64 rest = i, from = 0, stride = 1;
        bool inside = true;
#pragma unroll
        for (int d = DIMS - 1; d >= 0; d--) {
            const i64 q = rest / frame.size[d], at = rest - q * frame.size[d] - frame.before[d];
            inside &= at >= 0 && at < frame.given[d];
            from += at * stride;
            stride *= frame.given[d];
            rest = q;
        }
        out[i] = inside ? x[from] : around.word;
    }
}

// The elements on one side of a diagonal of (rows, columns) matrices, zeros on the other.
KERNEL(triangle)(const UNIT* __restrict__ x, UNIT* __restrict__ out, i64 n, i64 rows, i64 columns, i64 diagonal,
                 int upper) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const i64 line = i / columns, off = i - line * columns - line % rows;
        out[i] = (upper ? off >= diagonal : off <= diagonal) ? x[i] : UNIT{};
    }
}

KERNEL(one_hot)(const i64* __restrict__ x, i64* __restrict__ out, i64 n, i64 classes) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const i64 row = i / classes;
        out[i] = x[row] == i - row * classes;
    }
}

KERNEL(arange)(UNIT* __restrict__ out, i64 n, i64 start, i64 step_of) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) out[i] = (UNIT)(start + i * step_of);
}

// From both ends to the middle, so that the ends are exact; products and sums are rounded as on the CPU.
__device__ __forceinline__ double multiple(double gap, i64 i, double origin) {
    return sizeof(UNIT) == 8 ? fma(gap, (double)i, origin) : __dadd_rn(origin, __dmul_rn(gap, (double)i));
}
KERNEL(linspace)(UNIT* __restrict__ out, i64 n, double start, double end, double gap) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        out[i] = (UNIT)(i < n / 2 ? multiple(gap, i, start) : multiple(-gap, n - 1 - i, end));
}

// Element i comes from `by` positions before it along each of DIMS dims; what leaves at the end comes back in front.
// Where `by` is negative the dim is turned round.
KERNEL(roll)(const UNIT* __restrict__ x, UNIT* __restrict__ out, i64 n, Turns turns) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        i64 rest = i, from = 0, stride = 1;
#pragma unroll
        for (int d = DIMS - 1; d >= 0; d--) {
            const i64 q = rest / turns.size[d], here = rest - q * turns.size[d], at = here - turns.by[d];
            from += (turns.by[d] < 0 ? turns.size[d] - 1 - here : at < 0 ? at + turns.size[d] : at) * stride;
            stride *= turns.size[d];
            rest = q;
        }
        out[i] = x[from];
    }
}

// Negative log likelihoods of (batch, classes, rest). `weight` may be 0; a label that is ignored counts nothing.
__device__ __forceinline__ i64 class_of(i64 label, i64 classes) {
    return label < 0 ? 0 : label >= classes ? classes - 1 : label;
}
__device__ __forceinline__ A weight_of(const A* weight, i64 label, i64 classes) {
    return WEIGHTED ? weight[class_of(label, classes)] : A(1);
}
// each: a loss for every label; otherwise (loss, total weight) of all, folded in one order.
KERNEL(likelihood)(const T* __restrict__ x, const LABEL* __restrict__ labels, const A* __restrict__ weight, T* loss,
                   A* total, A* sums, unsigned* counter, i64 n, i64 classes, i64 rest, i64 ignored, int each, int mean) {
    depend();
    __shared__ A hold[32];
    A sum = 0, share = 0;
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const i64 label = labels[i];
        const bool counts = label != ignored;
        const A w = counts ? weight_of(weight, label, classes) : A(0);
        const i64 row = i / rest, at = class_of(label, classes);
        const A v = counts ? -w * up(x[(row * classes + at) * rest + i - row * rest]) : A(0);
        if (each) loss[i] = dn(v);
        sum += v;
        share += w;
    }
    sum = block_sum(sum, hold);
    share = block_sum(share, hold);
    if (threadIdx.x == 0) sums[2 * blockIdx.x] = sum, sums[2 * blockIdx.x + 1] = share;
    if (!last_block(counter, gridDim.x)) return;
    sum = share = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        sum += ((volatile A*)sums)[2 * i], share += ((volatile A*)sums)[2 * i + 1];
    sum = block_sum(sum, hold);
    share = block_sum(share, hold);
    if (threadIdx.x == 0) {
        *total = share;
        if (!each) *loss = dn(mean ? sum / share : sum);
    }
}

KERNEL(likelihood_grad)(const T* __restrict__ gy, const LABEL* __restrict__ labels, const A* __restrict__ weight,
                        const A* __restrict__ total, T* __restrict__ out, i64 n, i64 classes, i64 rest, i64 ignored,
                        int each, int mean) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const i64 line = i / rest, row = line / classes, c = line - row * classes, place = row * rest + i - line * rest;
        const i64 label = labels[place];
        A g = 0;
        if (label == c && label != ignored) {
            g = -weight_of(weight, label, classes) * up(gy[each ? place : 0]);
            if (mean) g /= *total;
        }
        out[i] = dn(g);
    }
}
