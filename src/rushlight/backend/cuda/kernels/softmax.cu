// softmax and its relatives along one dim: (outer, n, inner) with the dim in the middle.
// KIND: 0 softmax, 1 log_softmax, 2 softmax that answers zeros for a row of -inf.
#ifndef KIND
#define KIND 0
#endif

__device__ __forceinline__ A ex(float v) { return expf(v); }
__device__ __forceinline__ A ex(double v) { return exp(v); }
__device__ __forceinline__ A lg(float v) { return logf(v); }
__device__ __forceinline__ A lg(double v) { return log(v); }
__device__ __forceinline__ A top_of(A m) { return KIND == 2 && m == -infinity() ? (A)0 : m; }
__device__ __forceinline__ A last_of(A v, A m, A sum, A log_sum) {
    if (KIND == 1) return (v - m) - log_sum;
    if (KIND == 2 && sum == (A)0) return (A)0;
    return ex(v - m) / sum;
}

// inner == 1: a warp per row.
extern "C" __global__ void rows_warp(const T* x, T* y, i64 rows, int n) {
    i64 row = blockIdx.x * (i64)(blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    int lane = threadIdx.x & 31;
    const T* p = x + row * n;
    A m = -infinity();
    for (int i = lane; i < n; i += 32) {
        A v = up(p[i]);
        m = (v > m || v != v) ? v : m;
    }
    m = top_of(warp_max(m));
    A sum = (A)0;
    for (int i = lane; i < n; i += 32) sum += ex(up(p[i]) - m);
    sum = warp_sum(sum);
    A ls = lg(sum);
    for (int i = lane; i < n; i += 32) y[row * n + i] = dn(last_of(up(p[i]), m, sum, ls));
}

// inner == 1, long rows: a block per row, each thread keeping its own maximum and sum in one pass.
extern "C" __global__ void rows_block(const T* x, T* y, i64 rows, int n) {
    __shared__ A hold[32];
    i64 row = blockIdx.x;
    const T* p = x + row * n;
    A m = -infinity(), sum = (A)0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        A v = up(p[i]);
        if (v > m) { sum = m == -infinity() ? (A)0 : sum * ex(m - v); m = v; }
        sum += v == -infinity() ? (A)0 : ex(v - m);
    }
    A all = block_max(m, hold);
    A top = top_of(all);
    A part = m == -infinity() ? sum : sum * ex(m - top);
    if (all == -infinity() && KIND != 2) part = infinity() - infinity();  // as exp(-inf - -inf)
    sum = block_sum(part, hold);
    A ls = lg(sum);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[row * n + i] = dn(last_of(up(p[i]), top, sum, ls));
}

// inner > 1: a thread per column; neighbours lie side by side in memory.
extern "C" __global__ void columns(const T* x, T* y, i64 count, int n, i64 inner) {
    i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i >= count) return;
    const T* p = x + i / inner * inner * n + i % inner;
    T* q = y + (p - x);
    A m = -infinity();
    for (int k = 0; k < n; k++) {
        A v = up(p[k * inner]);
        m = (v > m || v != v) ? v : m;
    }
    m = top_of(m);
    A sum = (A)0;
    for (int k = 0; k < n; k++) sum += ex(up(p[k * inner]) - m);
    A ls = lg(sum);
    for (int k = 0; k < n; k++) q[k * inner] = dn(last_of(up(p[k * inner]), m, sum, ls));
}

__device__ __forceinline__ A term(A g, A y) { return KIND == 1 ? g : g * y; }
__device__ __forceinline__ A slope(A g, A y, A sum) {
    return KIND == 1 ? g - ex(y) * sum : y * (g - sum);
}

extern "C" __global__ void grad_warp(const T* g, const T* y, T* gx, i64 rows, int n) {
    i64 row = blockIdx.x * (i64)(blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    A sum = (A)0;
    for (int i = threadIdx.x & 31; i < n; i += 32)
        sum += term(up(g[row * n + i]), up(y[row * n + i]));
    sum = warp_sum(sum);
    for (int i = threadIdx.x & 31; i < n; i += 32)
        gx[row * n + i] = dn(slope(up(g[row * n + i]), up(y[row * n + i]), sum));
}
extern "C" __global__ void grad_block(const T* g, const T* y, T* gx, i64 rows, int n) {
    __shared__ A hold[32];
    i64 row = blockIdx.x;
    A sum = (A)0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += term(up(g[row * n + i]), up(y[row * n + i]));
    sum = block_sum(sum, hold);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        gx[row * n + i] = dn(slope(up(g[row * n + i]), up(y[row * n + i]), sum));
}
extern "C" __global__ void grad_columns(const T* g, const T* y, T* gx, i64 count, int n, i64 inner) {
    i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i >= count) return;
    i64 at = i / inner * inner * n + i % inner;
    A sum = (A)0;
    for (int k = 0; k < n; k++) sum += term(up(g[at + k * inner]), up(y[at + k * inner]));
    for (int k = 0; k < n; k++)
        gx[at + k * inner] = dn(slope(up(g[at + k * inner]), up(y[at + k * inner]), sum));
}

// -- cross entropy of logits (rows, n) with class numbers ----------------------------------------
// MODE: 0 none, 1 mean, 2 sum. `parts` holds two numbers a block; `counter` rests at 0.

#ifndef LABEL
#define LABEL i64
#endif
#ifndef MODE
#define MODE 1
#endif

__device__ __forceinline__ void finish_loss(A loss, A seen, T* out, A* parts, unsigned* counter) {
    __shared__ A hold[32];
    A l = block_sum(loss, hold), s = block_sum(seen, hold);
    if (gridDim.x == 1) {
        if (threadIdx.x == 0) *out = dn(MODE == 1 ? l / s : l);
        return;
    }
    if (threadIdx.x == 0) { parts[2 * blockIdx.x] = l; parts[2 * blockIdx.x + 1] = s; }
    if (!last_block(counter, gridDim.x)) return;
    l = s = (A)0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) {
        l += __ldcg(parts + 2 * k);
        s += __ldcg(parts + 2 * k + 1);
    }
    l = block_sum(l, hold);
    s = block_sum(s, hold);
    if (threadIdx.x == 0) *out = dn(MODE == 1 ? l / s : l);
}

// Short rows: LANES threads share a row.
#ifndef LANES
#define LANES 32
#endif
extern "C" __global__ void cross_entropy(const T* x, const LABEL* target, T* out, T* probs,
                                         A* parts, unsigned* counter, i64 rows, int n, i64 ignore) {
    A loss = (A)0, seen = (A)0;
    const int lane = threadIdx.x % LANES;
    const i64 step = (i64)gridDim.x * (blockDim.x / LANES);
    // Every thread of a warp takes every turn, so that shuffles always have all lanes.
    for (i64 first = blockIdx.x * (i64)(blockDim.x / LANES); first < rows; first += step) {
        i64 row = first + threadIdx.x / LANES;
        bool live = row < rows;
        const T* p = x + (live ? row : 0) * n;
        A m = -infinity();
        for (int i = lane; i < n; i += LANES) {
            A v = up(p[i]);
            m = (v > m || v != v) ? v : m;
        }
#pragma unroll
        for (int d = LANES / 2; d; d >>= 1) {
            A o = __shfl_xor_sync(0xffffffffu, m, d);
            m = (o > m || o != o) ? o : m;
        }
        A sum = (A)0;
        for (int i = lane; i < n; i += LANES) sum += ex(up(p[i]) - m);
#pragma unroll
        for (int d = LANES / 2; d; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (live) {
            A inverse = (A)1 / sum;
            for (int i = lane; i < n; i += LANES) probs[row * n + i] = dn(ex(up(p[i]) - m) * inverse);
            if (lane == 0) {
                i64 t = (i64)target[row];
                bool valid = t != ignore;
                A here = (A)0;
                if (valid && t >= 0 && t < n) here = lg(sum) - (up(p[t]) - m);
                else if (valid) here = infinity() - infinity();
                if (MODE == 0) out[row] = dn(here);
                loss += here;
                seen += valid ? (A)1 : (A)0;
            }
        }
    }
    if (MODE != 0) finish_loss(loss, seen, out, parts, counter);
}

extern "C" __global__ void cross_entropy_block(const T* x, const LABEL* target, T* out, T* probs,
                                               A* parts, unsigned* counter, i64 rows, int n,
                                               i64 ignore) {
    __shared__ A hold[32];
    A loss = (A)0, seen = (A)0;
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const T* p = x + row * n;
        A m = -infinity(), sum = (A)0;
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            A v = up(p[i]);
            m = (v > m || v != v) ? v : m;
        }
        m = block_max(m, hold);
        for (int i = threadIdx.x; i < n; i += blockDim.x) sum += ex(up(p[i]) - m);
        sum = block_sum(sum, hold);
        A inverse = (A)1 / sum;
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            probs[row * n + i] = dn(ex(up(p[i]) - m) * inverse);
        if (threadIdx.x == 0) {
            i64 t = (i64)target[row];
            bool valid = t != ignore;
            A here = (A)0;
            if (valid && t >= 0 && t < n) here = lg(sum) - (up(p[t]) - m);
            else if (valid) here = infinity() - infinity();
            if (MODE == 0) out[row] = dn(here);
            loss += here;
            seen += valid ? (A)1 : (A)0;
        }
    }
    if (MODE != 0) finish_loss(loss, seen, out, parts, counter);
}

extern "C" __global__ void count_valid(const LABEL* target, A* seen, i64 rows, i64 ignore) {
    __shared__ A hold[32];
    A mine = (A)0;
    for (i64 i = threadIdx.x; i < rows; i += blockDim.x) mine += (i64)target[i] != ignore;
    mine = block_sum(mine, hold);
    if (threadIdx.x == 0) *seen = mine;
}

// `seen` holds the number of valid targets; without it (0) every block counts them itself.
extern "C" __global__ void cross_entropy_grad(const T* gy, const T* probs, const LABEL* target, T* gx,
                                              const A* seen, i64 rows, int n, i64 ignore) {
    __shared__ A hold[32];
    A by = (A)1;
    if (MODE == 1) {
        if (seen) by = *seen;
        else {
            A mine = (A)0;
            for (i64 i = threadIdx.x; i < rows; i += blockDim.x) mine += (i64)target[i] != ignore;
            by = block_sum(mine, hold);
        }
    }
    i64 count = rows * n;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        i64 row = i / n;
        i64 t = (i64)target[row];
        A g = t == ignore ? (A)0 : up(gy[MODE == 0 ? row : 0]) / by;
        A v = up(probs[i]) * g;
        if (i - row * n == t && t != ignore) v -= g;
        gx[i] = dn(v);
    }
}
