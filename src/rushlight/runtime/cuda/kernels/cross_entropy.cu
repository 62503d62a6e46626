// Cross entropy of logits (rows, n) with class numbers; mode: 0 none, 1 mean, 2 sum.
// `parts` holds two numbers a block; `counter` rests at 0. `stats` has two numbers a row, its maximum and the sum of
// exp(x - maximum): the derivative computes the probabilities again from them and the logits.

__device__ __forceinline__ A ex(float v) { return expf(v); }
__device__ __forceinline__ A ex(double v) { return exp(v); }
__device__ __forceinline__ A lg(float v) { return logf(v); }
__device__ __forceinline__ A lg(double v) { return log(v); }

#ifndef LABEL
#define LABEL i64
#endif
#ifndef WIDE
#define WIDE 0
#endif
#if WIDE  // losses and their gradients in the type computed with, whatever the logits are stored in
typedef A L;
#else
typedef T L;
#endif
__device__ __forceinline__ L loss_of(A v) { return Down<L>::of(v); }

__device__ __forceinline__ void finish_loss(A loss, A seen, L* out, A* parts, unsigned* counter,
                                            int mode) {
    __shared__ A hold[32];
    A l = block_sum(loss, hold), s = block_sum(seen, hold);
    if (gridDim.x == 1) {
        if (threadIdx.x == 0) *out = loss_of(mode == 1 ? l / s : l);
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
    if (threadIdx.x == 0) *out = loss_of(mode == 1 ? l / s : l);
}

__device__ __forceinline__ A count_targets(const LABEL* target, i64 rows, i64 ignore, A* hold) {
    A mine = (A)0;
    for (i64 i = threadIdx.x; i < rows; i += blockDim.x) mine += (i64)target[i] != ignore;
    return block_sum(mine, hold);
}

// What a row adds to the loss, given its maximum and its sum.
__device__ __forceinline__ A row_loss(const T* p, i64 t, bool valid, int n, A m, A sum) {
    if (!valid) return (A)0;
    return t >= 0 && t < n ? lg(sum) - (up(p[t]) - m) : infinity() - infinity();
}

// Short rows: LANES threads share a row, HELD numbers of it each (0: the row is read again where it is needed). With
// STEP the gradient is written, without it what the gradient is computed from.
template <int LANES, int HELD, bool STEP>
__device__ __forceinline__ void short_rows(const T* __restrict__ x, const LABEL* __restrict__ target,
                                           const L* __restrict__ gy, L* __restrict__ out, T* __restrict__ gx,
                                           A* __restrict__ stats, A* parts, unsigned* counter, i64 rows, int n, i64 ignore, int mode) {
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
        if (STEP) {
            const A inverse = (A)1 / sum, g = valid ? (mode ? slope : up(gy[row])) / by : (A)0;
#pragma unroll(HELD ? HELD : 4)  // left alone it unrolls the endless loop far: 11 s of NVRTC
            for (int j = 0; j < (HELD ? HELD : 1 << 30); j++) {
                const int i = lane + j * LANES;
                if (i >= n) break;
                const A v = (HELD ? held[HELD ? j : 0] : ex(up(p[i]) - m)) * inverse;
                gx[row * n + i] = dn(i == t && valid ? v * g - g : v * g);
            }
        }
        if (lane == 0) {
            const A here = row_loss(p, t, valid, n, m, sum);
            if (mode == 0) out[row] = loss_of(here);
            if (!STEP) { stats[2 * row] = m; stats[2 * row + 1] = sum; }
            loss += here;
            seen += valid ? (A)1 : (A)0;
        }
    }
    if (mode != 0) finish_loss(loss, seen, out, parts, counter, mode);
}

#define SHORT(LANES, HELD)                                                                                 \
    KERNEL(cross_entropy_##LANES)(                                                                         \
        const T* __restrict__ x, const LABEL* __restrict__ target, L* __restrict__ out,                    \
        A* __restrict__ stats, A* parts, unsigned* counter,                                                \
        i64 rows, int n, i64 ignore, int mode) {                                                           \
        depend();                                                                                          \
        short_rows<LANES, HELD, false>(x, target, 0, out, 0, stats, parts, counter, rows, n, ignore, mode); \
    }                                                                                                      \
    KERNEL(cross_entropy_step_##LANES)(                                                                    \
        const T* __restrict__ x, const LABEL* __restrict__ target, const L* __restrict__ gy,               \
        L* __restrict__ out, T* __restrict__ gx, A* parts, unsigned* counter,                              \
        i64 rows, int n, i64 ignore, int mode) {                                                           \
        depend();                                                                                          \
        short_rows<LANES, HELD, true>(x, target, gy, out, gx, 0, parts, counter, rows, n, ignore, mode);   \
    }
SHORT(4, 4)
SHORT(8, 4)
SHORT(16, 4)
SHORT(32, 0)

// Long rows are read by eights, by 16 bytes where every eight is aligned: threads hold the same numbers of a row whatever
// type they are stored in, so that half precision gives bit for bit what its float32 copy would.
constexpr int PER = 16 / sizeof(T);
__device__ __forceinline__ bool by_vectors(const void* p, int n) { return n % 8 == 0 && (i64)p % 16 == 0; }
__device__ __forceinline__ void read_eight(const T* p, bool whole, int left, A* v) {
    if (whole) {
#pragma unroll
        for (int k = 0; k < 8; k += PER) {
            const Vec<T, PER> some = *(const Vec<T, PER>*)(p + k);
#pragma unroll
            for (int j = 0; j < PER; j++) v[k + j] = up(some.v[j]);
        }
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = j < left ? up(p[j]) : -infinity();
    }
}
// 16 bytes at once. The compiler writes a struct number by number here, which takes four times as long.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ unsigned word_of(const float* v) { return __float_as_uint(v[0]); }
__device__ __forceinline__ unsigned word_of(const half_t* v) { return v[0].b | (unsigned)v[1].b << 16; }
__device__ __forceinline__ unsigned word_of(const bf16_t* v) { return v[0].b | (unsigned)v[1].b << 16; }
template <typename E> __device__ __forceinline__ void write_16(E* p, const E* v) {
    constexpr int S = 4 / sizeof(E);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(word_of(v)), "r"(word_of(v + S)),
                 "r"(word_of(v + 2 * S)), "r"(word_of(v + 3 * S))
                 : "memory");
}
__device__ __forceinline__ void write_16(double* p, const double* v) {
    asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(p), "d"(v[0]), "d"(v[1]) : "memory");
}
#else
__device__ __forceinline__ void write_16(T* p, const T* v) {
    for (int i = 0; i < PER; i++) p[i] = v[i];
}
#endif
__device__ __forceinline__ void write_eight(T* p, bool whole, int left, const A* v) {
    if (whole) {
#pragma unroll
        for (int k = 0; k < 8; k += PER) {
            T some[PER];
#pragma unroll
            for (int j = 0; j < PER; j++) some[j] = dn(v[k + j]);
            write_16(p + k, some);
        }
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (j < left) p[j] = dn(v[j]);
    }
}

// Numbers that end in a sum of many: the hardware's power of two, which is off by 2 units in the last place more for
// each 2 that v is below 0, where it adds as much less. expf alone costs more time than reading a number does.
__device__ __forceinline__ float term(float v) {
#if __CUDA_ARCH__ >= 800
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v * 1.44269504088896340736f));
    return power;
#else
    return expf(v);
#endif
}
__device__ __forceinline__ double term(double v) { return exp(v); }
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }  // a NaN is seen by the sum
__device__ __forceinline__ double larger(double a, double b) { return fmax(a, b); }

// A block per row, which is read once: each thread keeps a maximum and a sum that is scaled when the maximum grows.
constexpr int EIGHTS = 8 / sizeof(T);  // eights that a thread asks for before it looks at the first
__device__ __forceinline__ void add_eight(const A* v, A& m, A& base, A& sum) {
    A top = v[0];
#pragma unroll
    for (int j = 1; j < 8; j++) top = larger(top, v[j]);
    if (top > m) {
        sum = m == -infinity() ? sum : sum * ex(m - top);
        m = base = top;
    }
#pragma unroll
    for (int j = 0; j < 8; j++) sum += term(v[j] - base);  // the base is finite, so that -inf adds 0
}
KERNEL(cross_entropy_block)(const T* __restrict__ x, const LABEL* __restrict__ target, L* __restrict__ out,
                            A* __restrict__ stats, A* parts, unsigned* counter, i64 rows, int n,
                            i64 ignore, int mode) {
    depend();
    __shared__ A hold[32];
    A loss = (A)0, seen = (A)0;
    const bool whole = by_vectors(x, n);
    const int step = 8 * blockDim.x;
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const T* p = x + row * n;
        A m = -infinity(), base = (A)0, sum = (A)0;
        int i = 8 * threadIdx.x;
        if (whole)
            for (; i + (EIGHTS - 1) * step < n; i += EIGHTS * step) {
                Vec<T, PER> some[EIGHTS][8 / PER];
#pragma unroll
                for (int u = 0; u < EIGHTS; u++)
#pragma unroll
                    for (int k = 0; k < 8 / PER; k++) some[u][k] = *(const Vec<T, PER>*)(p + i + u * step + k * PER);
#pragma unroll
                for (int u = 0; u < EIGHTS; u++) {
                    A v[8];
#pragma unroll
                    for (int j = 0; j < 8; j++) v[j] = up(some[u][j / PER].v[j % PER]);
                    add_eight(v, m, base, sum);
                }
            }
        for (; i < n; i += step) {
            A v[8];
            read_eight(p + i, whole, n - i, v);
            add_eight(v, m, base, sum);
        }
        const A all = block_max(m, hold);
        sum = block_sum(m == -infinity() ? sum : sum * ex(m - all), hold);
        if (all == -infinity()) sum = infinity() - infinity();  // as exp(-inf - -inf)
        if (threadIdx.x == 0) {
            const i64 t = (i64)target[row];
            const bool valid = t != ignore;
            const A here = row_loss(p, t, valid, n, all, sum);
            if (mode == 0) out[row] = loss_of(here);
            stats[2 * row] = all;
            stats[2 * row + 1] = sum;
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
__device__ __forceinline__ A divisor(const LABEL* target, const A* seen, i64 rows, i64 ignore, int mode) {
    __shared__ A hold[32];
    if (mode != 1) return (A)1;
    return seen ? *seen : count_targets(target, rows, ignore, hold);
}

// Of both kernels: gx may be x, since every thread writes what it has read, and nothing else.
KERNEL(cross_entropy_grad)(const L* __restrict__ gy, const T* x, const A* __restrict__ stats,
                           const LABEL* __restrict__ target, T* gx, const A* seen, i64 rows, int n,
                           i64 ignore, int mode) {
    depend();
    const A by = divisor(target, seen, rows, ignore, mode);
    const i64 count = rows * n;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < count;
         i += (i64)gridDim.x * blockDim.x) {
        const i64 row = i / n, t = (i64)target[row];
        const A g = t == ignore ? (A)0 : up(gy[mode == 0 ? row : 0]) / by;
        const A v = ex(up(x[i]) - stats[2 * row]) * ((A)1 / stats[2 * row + 1]) * g;
        gx[i] = dn(i - row * n == t && t != ignore ? v - g : v);
    }
}

// Long rows: a block per row.
KERNEL(cross_entropy_grad_block)(const L* __restrict__ gy, const T* x, const A* __restrict__ stats,
                                 const LABEL* __restrict__ target, T* gx, const A* seen, i64 rows,
                                 int n, i64 ignore, int mode) {
    depend();
    const A by = divisor(target, seen, rows, ignore, mode);
    const bool whole = by_vectors(x, n) && by_vectors(gx, n);
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const i64 t = (i64)target[row];
        const bool valid = t != ignore;
        const A g = valid ? up(gy[mode == 0 ? row : 0]) / by : (A)0;
        const A m = stats[2 * row], inverse = (A)1 / stats[2 * row + 1];
        for (int i = 8 * threadIdx.x; i < n; i += 8 * blockDim.x) {
            A v[8];
            read_eight(x + row * n + i, whole, n - i, v);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                v[j] = ex(v[j] - m) * inverse * g;
                if (valid && i + j == t) v[j] -= g;
            }
            write_eight(gx + row * n + i, whole, n - i, v);
        }
    }
}
