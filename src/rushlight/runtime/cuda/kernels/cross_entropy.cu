// Cross entropy of logits (rows, n) with class numbers; mode: 0 none, 1 mean, 2 sum.
// `parts` holds two numbers a block; `counter` rests at 0.

__device__ __forceinline__ A ex(float v) { return expf(v); }
__device__ __forceinline__ A ex(double v) { return exp(v); }
__device__ __forceinline__ A lg(float v) { return logf(v); }
__device__ __forceinline__ A lg(double v) { return log(v); }

#ifndef LABEL
#define LABEL i64
#endif

__device__ __forceinline__ void finish_loss(A loss, A seen, T* out, A* parts, unsigned* counter,
                                            int mode) {
    __shared__ A hold[32];
    A l = block_sum(loss, hold), s = block_sum(seen, hold);
    if (gridDim.x == 1) {
        if (threadIdx.x == 0) *out = dn(mode == 1 ? l / s : l);
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
    if (threadIdx.x == 0) *out = dn(mode == 1 ? l / s : l);
}

__device__ __forceinline__ A count_targets(const LABEL* target, i64 rows, i64 ignore, A* hold) {
    A mine = (A)0;
    for (i64 i = threadIdx.x; i < rows; i += blockDim.x) mine += (i64)target[i] != ignore;
    return block_sum(mine, hold);
}

// Short rows: LANES threads share a row, HELD numbers of it each (0: the row is read again where it is needed). With
// STEP the gradient is written in place of the probabilities.
template <int LANES, int HELD, bool STEP>
__device__ __forceinline__ void short_rows(const T* __restrict__ x, const LABEL* __restrict__ target,
                                           const T* __restrict__ gy, T* __restrict__ out, T* __restrict__ probs,
                                           A* parts, unsigned* counter, i64 rows, int n, i64 ignore, int mode) {
    __shared__ A counted[32];
    A loss = (A)0, seen = (A)0, by = (A)1, slope = STEP && mode ? up(gy[0]) : (A)0;
    if (STEP && mode == 1) {
        if (rows <= 128) {  // every warp counts for itself
            A mine = (A)0;
            for (i64 i = threadIdx.x % 32; i < rows; i += 32) mine += (i64)target[i] != ignore;
            by = warp_sum(mine);
        } else by = count_targets(target, rows, ignore, counted);
    }
    const int lane = threadIdx.x % LANES;
    const i64 step = (i64)gridDim.x * (blockDim.x / LANES);
    // Every thread of a warp takes every turn, so that shuffles always have all lanes.
    for (i64 first = blockIdx.x * (i64)(blockDim.x / LANES); first < rows; first += step) {
        const i64 row = first + threadIdx.x / LANES;
        const bool live = row < rows;
        const T* p = x + (live ? row : 0) * n;
        const i64 t = (i64)target[live ? row : 0];
        A held[HELD ? HELD : 1], m = -infinity(), sum = (A)0;
        if (HELD) {
#pragma unroll
            for (int j = 0; j < HELD; j++) held[j] = lane + j * LANES < n ? up(p[lane + j * LANES]) : -infinity();
#pragma unroll
            for (int j = 0; j < HELD; j++) m = (held[j] > m || held[j] != held[j]) ? held[j] : m;
        } else
            for (int i = lane; i < n; i += LANES) {
                A v = up(p[i]);
                m = (v > m || v != v) ? v : m;
            }
#pragma unroll
        for (int d = LANES / 2; d; d >>= 1) {
            A o = __shfl_xor_sync(0xffffffffu, m, d);
            m = (o > m || o != o) ? o : m;
        }
        if (HELD) {
#pragma unroll
            for (int j = 0; j < HELD; j++) {
                held[j] = lane + j * LANES < n ? ex(held[j] - m) : (A)0;
                sum += held[j];
            }
        } else
            for (int i = lane; i < n; i += LANES) sum += ex(up(p[i]) - m);
#pragma unroll
        for (int d = LANES / 2; d; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (!live) continue;
        const bool valid = t != ignore;
        const A inverse = (A)1 / sum;
        const A g = STEP && valid ? (mode ? slope : up(gy[row])) / by : (A)0;
#pragma unroll(HELD ? HELD : 4)  // left alone it unrolls the endless loop far: 11 s of NVRTC
        for (int j = 0; j < (HELD ? HELD : 1 << 30); j++) {
            const int i = lane + j * LANES;
            if (i >= n) break;
            A v = (HELD ? held[HELD ? j : 0] : ex(up(p[i]) - m)) * inverse;
            if (STEP) v = i == t && valid ? v * g - g : v * g;
            probs[row * n + i] = dn(v);
        }
        if (lane == 0) {
            A here = (A)0;
            if (valid && t >= 0 && t < n) here = lg(sum) - (up(p[t]) - m);
            else if (valid) here = infinity() - infinity();
            if (mode == 0) out[row] = dn(here);
            loss += here;
            seen += valid ? (A)1 : (A)0;
        }
    }
    if (mode != 0) finish_loss(loss, seen, out, parts, counter, mode);
}

#define SHORT(LANES, HELD)                                                                               \
    KERNEL(cross_entropy_##LANES)(                                                                       \
        const T* __restrict__ x, const LABEL* __restrict__ target, T* __restrict__ out,                  \
        T* __restrict__ probs, A* parts, unsigned* counter,                                              \
        i64 rows, int n, i64 ignore, int mode) {                                                         \
        depend();                                                                                        \
        short_rows<LANES, HELD, false>(x, target, 0, out, probs, parts, counter, rows, n, ignore, mode); \
    }                                                                                                    \
    KERNEL(cross_entropy_step_##LANES)(                                                                  \
        const T* __restrict__ x, const LABEL* __restrict__ target, const T* __restrict__ gy,             \
        T* __restrict__ out, T* __restrict__ gx, A* parts, unsigned* counter,                            \
        i64 rows, int n, i64 ignore, int mode) {                                                         \
        depend();                                                                                        \
        short_rows<LANES, HELD, true>(x, target, gy, out, gx, parts, counter, rows, n, ignore, mode);    \
    }
SHORT(4, 4)
SHORT(8, 4)
SHORT(16, 4)
SHORT(32, 0)

KERNEL(cross_entropy_block)(const T* x, const LABEL* target, T* out, T* probs,
                            A* parts, unsigned* counter, i64 rows, int n,
                            i64 ignore, int mode) {
    depend();
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
            if (mode == 0) out[row] = dn(here);
            loss += here;
            seen += valid ? (A)1 : (A)0;
        }
    }
    if (mode != 0) finish_loss(loss, seen, out, parts, counter, mode);
}

KERNEL(count_valid)(const LABEL* target, A* seen, i64 rows, i64 ignore) {
    depend();
    __shared__ A hold[32];
    A all = count_targets(target, rows, ignore, hold);
    if (threadIdx.x == 0) *seen = all;
}

// `seen` holds the number of valid targets; without it (0) every block counts them itself.
KERNEL(cross_entropy_grad)(const T* gy, const T* probs, const LABEL* target, T* gx,
                           const A* seen, i64 rows, int n, i64 ignore, int mode) {
    depend();
    __shared__ A hold[32];
    A by = (A)1;
    if (mode == 1) {
        by = seen ? *seen : count_targets(target, rows, ignore, hold);
    }
    i64 count = rows * n;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        i64 row = i / n;
        i64 t = (i64)target[row];
        A g = t == ignore ? (A)0 : up(gy[mode == 0 ? row : 0]) / by;
        A v = up(probs[i]) * g;
        if (i - row * n == t && t != ignore) v -= g;
        gx[i] = dn(v);
    }
}
